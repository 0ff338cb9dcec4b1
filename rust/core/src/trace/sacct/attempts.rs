//! Several rows with one name: later accounts of one submission, attempts of one job, or jobs with one number.

use std::collections::BTreeMap;

use super::book::Book;
use super::energy::Counted;
use super::kept::flag;
use super::state;

/// Attempts that ran, by the job's row: start and end of each.
pub(super) type Segments = Vec<(u32, Vec<f64>)>;

/// Jobs of a dump.
pub(super) struct Jobs {
    /// The row of each.
    pub(super) rows: Vec<u32>,
    pub(super) segments: Segments,
    /// The first row of a job with several, by the job's row.
    pub(super) first: BTreeMap<u32, u32>,
}

/// The rows that are jobs, each with the values of its attempts merged in, and the times of several attempts.
pub(super) fn joined(book: &mut Book) -> Jobs {
    let mut jobs = Vec::with_capacity(book.rows.len());
    let mut segments = Segments::new();
    let mut first = BTreeMap::new();
    for last in 0..u32::try_from(book.rows.len()).expect("counted so") {
        if book.rows.is(last, flag::SUPERSEDED) {
            continue;
        }
        if !book.before.contains_key(&last) {
            take_loose(book, last);
            advance_submit(book, last as usize, last as usize);
            jobs.push(last);
            continue;
        }
        let rows = submissions(book, last);
        let position = rows.iter().map(|(_, first)| *first).min().unwrap_or(last);
        let rows: Vec<u32> = rows.into_iter().map(|(row, _)| row).collect();
        let mut is_second = false;
        let of_one = |row: &u32, next: &u32| is_next_attempt(book, *row, *next);
        let own: Vec<Vec<u32>> = rows.chunk_by(of_one).map(<[u32]>::to_vec).collect();
        for job in own {
            let last = join(book, &job, &mut segments);
            first.insert(last, position);
            book.rows.flags[last as usize] |= if is_second { flag::REUSED } else { 0 };
            is_second = true;
            jobs.push(last);
        }
    }
    Jobs { rows: jobs, segments, first }
}

/// Charges the energy of steps outside of all attempts to the row of a job that has only one.
fn take_loose(book: &mut Book, row: u32) {
    if let Some(loose) = book.loose.remove(&row) {
        let steps = book.rows.steps(row).with(loose);
        book.rows.set_steps(row, steps);
    }
}

/// The last row of each submission, in order, each with the first row of that submission.
fn submissions(book: &mut Book, last: u32) -> Vec<(u32, u32)> {
    let mut rows: Vec<u32> = std::iter::successors(Some(last), |row| book.before.get(row).copied()).collect();
    rows.reverse();
    let submit_s = |row: &u32| book.rows.submit_s[*row as usize];
    rows.sort_by(|row, other| submit_s(row).total_cmp(&submit_s(other)));
    let kept: Vec<(u32, u32)> = rows
        .chunk_by(|row, other| submit_s(row) == submit_s(other))
        .map(|same| (same[same.len() - 1], same[0]))
        .collect();
    book.report.dropped_duplicate += (rows.len() - kept.len()) as u64;
    kept
}

fn is_next_attempt(book: &Book, row: u32, next: u32) -> bool {
    let rows = &book.rows;
    let is_same = |column: &[u32], has: u16| {
        !(rows.is(row, has) && rows.is(next, has)) || column[row as usize] == column[next as usize]
    };
    state::is_followed(book.texts.get(rows.state[row as usize]))
        || is_same(&rows.user, flag::HAS_USER) && is_same(&rows.job_name, flag::HAS_JOB_NAME)
}

/// Moves the submission to no later than the start of the first attempt: Slurm sets it again where it resizes a job.
fn advance_submit(book: &mut Book, first: usize, last: usize) {
    let rows = &mut book.rows;
    let started_s = rows.start_s[first];
    if rows.submit_s[last] > started_s {
        rows.submit_s[last] = started_s;
        rows.flags[last] |= flag::LATE_SUBMIT;
    }
}

/// Merges a job's attempts into the last of them.
fn join(book: &mut Book, attempts: &[u32], segments: &mut Segments) -> u32 {
    let (first, last) = (attempts[0] as usize, attempts[attempts.len() - 1] as usize);
    let row = attempts[attempts.len() - 1];
    if attempts.len() == 1 {
        take_loose(book, row);
    }
    let is_one_run = |book: &Book, row: u32, next: u32| {
        let is_resizing = book.texts.get(book.rows.state[row as usize]).eq_ignore_ascii_case(b"RESIZING");
        is_resizing && book.rows.start_s[row as usize] == book.rows.start_s[next as usize]
    };
    let runs: Vec<&[u32]> = attempts.chunk_by(|row, next| is_one_run(book, *row, *next)).collect();
    let mut ran = Vec::new();
    for run in &runs {
        let end = run[run.len() - 1] as usize;
        if book.rows.is(run[run.len() - 1], flag::RAN) {
            ran.extend([book.rows.start_s[run[0] as usize], book.rows.end_s[end]]);
        }
    }
    let last_run = runs[runs.len() - 1];
    let is_resized = last_run.len() > 1;
    let energy = last_run.iter().fold(Counted::NONE, |sum, row| sum.with(book.rows.steps(*row)));
    let (merged, more) = (attempts.len() - 1, runs.len() - 1);
    book.report.merged += merged as u64;
    book.report.resized += (attempts.len() - runs.len()) as u64;
    let rows = &mut book.rows;
    rows.set_steps(row, energy);
    if is_resized {
        rows.node_count[last] = rows.node_count[last_run[0] as usize];
        rows.flags[last] |= flag::RESIZED;
    }
    if first != last {
        rows.submit_s[last] = rows.submit_s[first];
        rows.start_at_s[last] = rows.start_at_s[first];
        rows.restarts[last] = rows.restarts[last].max(i32::try_from(more).unwrap_or(i32::MAX));
    }
    advance_submit(book, first, last);
    if more > 0 {
        book.rows.flags[last] |= flag::REQUEUED;
    }
    if ran.len() > 2 && book.rows.is(row, flag::RAN) {
        segments.push((row, ran));
    }
    row
}
