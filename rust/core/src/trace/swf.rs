//! The Standard Workload Format, read strictly by the Parallel Workloads Archive's definition.
//!
//! A line is a comment (`;`), blank, or a job of 18 numbers, perhaps with further columns of a log behind them. This
//! file selects the jobs to keep, and counts; `job` checks what a field holds, `line` finds it.

use std::collections::BTreeSet;

use crate::error::{Result, TraceError, config};

use super::decompress::{self, ReadWatch, look};
use super::fault::{TEXT, file_fault, is_binary, line_fault, quoted};
use super::job::{Job, Refusal};
use super::line::{self, FIELDS, Fields, field};
use super::number::Number;
use super::unique::{RowLines, first_repeated};

pub use super::columns::SwfColumns;
pub use super::header::SwfHeader;
pub use super::report::SwfReport;

/// Lines between two calls of the watch.
const LINES_A_LOOK: u64 = 1 << 16;

/// Shortest job line: 18 digits, 17 blanks and an end.
const SHORTEST_LINE: usize = 2 * FIELDS;

/// Number of leading bytes by which a file is judged to be text.
const HEAD: usize = 1024;

/// Description of a valid job number.
const OWN_NUMBER: &str = "a number that no other job has";

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Options for reading a log.
#[derive(Clone, Copy, Debug)]
pub struct SwfOptions<'a> {
    /// The name of the file in errors.
    pub file: &'a str,
    /// Processors of one node, >= 1; sizes are rounded up to whole nodes. `None`: one processor is one node.
    pub procs_per_node: Option<u32>,
    /// True if job lines that violate the format's definition are skipped and counted, as long as most lines do not.
    pub skip_bad_lines: bool,
}

/// Reads a log from `data`, which may be packed by gzip or zstd.
///
/// `watch` is called repeatedly with the bytes read and the bytes there are (zero read while a packed file is
/// unpacked); it stops the read by a break.
///
/// # Errors
///
/// [`TraceError`] for the first line that violates the format's definition (unless such lines are skipped and are not
/// in the majority), or for the file if it is packed badly or holds no job; [`ConfigError`](crate::error::ConfigError)
/// for nodes of no processors; [`Error::Interrupted`](crate::error::Error::Interrupted) if `watch` broke off.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use hetsched_core::trace::swf::{SwfOptions, read_swf};
///
/// let log = b"; MaxNodes: 4\n 1 0 5 60 7 -1 -1 8 100 -1 1 3 -1 7 2 -1 -1 -1\n";
/// let options = SwfOptions { file: "tiny.swf", procs_per_node: Some(4), skip_bad_lines: false };
/// let (jobs, report) = read_swf(log, &options, &mut |_, _| ControlFlow::Continue(()))?;
/// assert_eq!((jobs.node_count[0], jobs.observed_start_s[0]), (2, 5.0));
/// assert_eq!(report.header.max_nodes, Some(4));
/// # Ok::<(), hetsched_core::error::Error>(())
/// ```
pub fn read_swf(data: &[u8], options: &SwfOptions<'_>, watch: &mut ReadWatch<'_>) -> Result<(SwfColumns, SwfReport)> {
    if options.procs_per_node == Some(0) {
        return Err(config("procs_per_node", "0", "a whole number of at least 1"));
    }
    if data.is_empty() {
        return Err(file_fault(options.file, "an empty file", TEXT));
    }
    let text = decompress::text(data, options.file, watch)?;
    let mut reader = Reader::new(&text, options);
    reader.make_room()?;
    reader.read_lines(watch)?;
    reader.finish()
}

struct Reader<'a> {
    text: &'a [u8],
    file: &'a str,
    procs_per_node: u64,
    fields: Fields,
    columns: SwfColumns,
    row_lines: RowLines,
    /// The numbers of the jobs kept so far, where a repeated one is skipped.
    ids: Option<BTreeSet<i64>>,
    last_submit_s: f64,
    report: SwfReport,
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8], options: &SwfOptions<'a>) -> Self {
        Self {
            text,
            file: options.file,
            procs_per_node: options.procs_per_node.map_or(1, u64::from),
            fields: [Number::Whole(0); FIELDS],
            columns: SwfColumns::default(),
            row_lines: RowLines::default(),
            ids: options.skip_bad_lines.then(BTreeSet::new),
            last_submit_s: f64::NEG_INFINITY,
            report: SwfReport { procs_per_node: options.procs_per_node, ..SwfReport::default() },
        }
    }

    /// Reserves memory for all jobs: a small packed file may hold more lines than fit into memory.
    fn make_room(&mut self) -> Result<()> {
        let rows = likely_rows(self.text);
        let found = || format!("at least {rows} lines, more than memory can hold");
        self.columns.try_reserve(rows).map_err(|_| file_fault(self.file, found(), TEXT))
    }

    fn read_lines(&mut self, watch: &mut ReadWatch<'_>) -> Result<()> {
        let mut start = if self.text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        while start < self.text.len() {
            if self.report.lines.is_multiple_of(LINES_A_LOOK) {
                look(watch, start, self.text.len())?;
            }
            self.report.lines += 1;
            let end = self.read_line(line::skip_blanks(self.text, start))?;
            start = line::next_line(self.text, end);
        }
        look(watch, start, start)
    }

    /// Reads the line whose first character stands at `start`; returns its end.
    fn read_line(&mut self, start: usize) -> Result<usize> {
        match self.text.get(start) {
            None | Some(b'\n' | b'\r') => Ok(start),
            Some(b';') => self.read_comment(start),
            Some(_) => self.read_job(start),
        }
    }

    fn read_comment(&mut self, start: usize) -> Result<usize> {
        let end = line::line_end(self.text, start);
        let comment = &self.text[start..end];
        if is_binary(comment) {
            return Err(self.binary().into());
        }
        self.report.header.read(comment);
        Ok(end)
    }

    fn read_job(&mut self, start: usize) -> Result<usize> {
        match self.job(start) {
            Ok(after) => {
                let end = line::line_end(self.text, after);
                self.report.extra_columns += u64::from(end > after);
                Ok(end)
            }
            Err(refusal) => self.skip(start, &refusal),
        }
    }

    /// Reads the job on the line at `start`; returns the position of what follows its 18 numbers.
    fn job(&mut self, start: usize) -> Result<usize, Refusal> {
        let after = line::scan(self.text, start, &mut self.fields).map_err(Refusal::of)?;
        let job = Job::check(&self.fields)?;
        self.take(&job)?;
        Ok(after)
    }

    /// Skips a line that is refused and returns its end, if bad lines are skipped.
    fn skip(&mut self, start: usize, refusal: &Refusal) -> Result<usize> {
        let fault = self.refuse(start, refusal)?;
        if self.ids.is_none() {
            return Err(fault.into());
        }
        self.report.count_bad(fault);
        Ok(line::line_end(self.text, start))
    }

    /// Keeps the job, or drops and counts it.
    fn take(&mut self, job: &Job) -> Result<(), Refusal> {
        let kept = if job.submit_s >= 0.0 && job.runtime_s >= 0.0 { self.size(job)? } else { None };
        self.report.out_of_order += u64::from(job.submit_s < self.last_submit_s);
        self.last_submit_s = job.submit_s;
        if let Some((nodes, field, fills_nodes)) = kept {
            self.report.count_kept(job, field, fills_nodes);
            self.row_lines.push(self.columns.len(), self.report.lines);
            self.columns.push(job, nodes);
        } else if job.procs().is_none() {
            self.report.dropped_no_size += 1;
        } else if job.submit_s < 0.0 {
            self.report.dropped_no_submit += 1;
        } else {
            self.report.dropped_no_runtime += 1;
        }
        Ok(())
    }

    /// Number of nodes of a job to keep, the field that it is from, and whether it fills them; notes its number.
    fn size(&mut self, job: &Job) -> Result<Option<(i32, usize, bool)>, Refusal> {
        let Some((procs, field)) = job.procs() else { return Ok(None) };
        let nodes = i32::try_from(procs.div_ceil(self.procs_per_node));
        let nodes = nodes.map_err(|_| Refusal { field, expected: "at most 2,147,483,647 nodes" })?;
        if self.ids.as_mut().is_some_and(|ids| !ids.insert(job.id)) {
            return Err(Refusal { field: field::JOB, expected: OWN_NUMBER });
        }
        Ok(Some((nodes, field, procs.is_multiple_of(self.procs_per_node))))
    }

    fn finish(mut self) -> Result<(SwfColumns, SwfReport)> {
        if let Some(fault) = self.report.mostly_bad() {
            return Err(fault.into());
        }
        if self.report.job_lines() == 0 {
            let found = format!("no job on {} lines", self.report.lines);
            return Err(file_fault(self.file, found, "at least one job line of 18 fields"));
        }
        if let Some((earlier, later)) = first_repeated(&self.columns.job_id) {
            return Err(self.repeated(earlier, later).into());
        }
        self.columns.sort_by_submit();
        Ok((self.columns, self.report))
    }

    /// Fault of the line at `start`, given the refusal of a field; binary data is refused as such.
    fn refuse(&self, start: usize, refusal: &Refusal) -> Result<TraceError> {
        let line = &self.text[start..line::line_end(self.text, start)];
        if is_binary(line) || is_binary(&self.text[..self.text.len().min(HEAD)]) {
            return Err(self.binary().into());
        }
        let Some(token) = line::tokens(line).nth(refusal.field) else {
            let found = format!("{} fields in {}", refusal.field, quoted(line));
            return Ok(line_fault(self.file, self.report.lines, None, found, "18 fields"));
        };
        let field = Some(line::name(refusal.field));
        Ok(line_fault(self.file, self.report.lines, field, quoted(token), refusal.expected))
    }

    fn binary(&self) -> TraceError {
        line_fault(self.file, self.report.lines, None, "binary data".to_owned(), TEXT)
    }

    fn repeated(&self, earlier: usize, later: usize) -> TraceError {
        let first = self.row_lines.line(earlier);
        let found = format!("`{}`, the number of the job on line {first}", self.columns.job_id[later]);
        let field = Some(line::name(field::JOB));
        line_fault(self.file, self.row_lines.line(later), field, found, OWN_NUMBER)
    }
}

/// Upper bound on the number of rows: no more than lines, and no more than the shortest lines fill.
fn likely_rows(text: &[u8]) -> usize {
    let ends = |part: &[u8]| part.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    let lines: usize = text.chunks(usize::from(u8::MAX)).map(|part| usize::from(ends(part))).sum();
    (lines + 1).min(text.len() / SHORTEST_LINE + 1)
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::error::Error;

    const OPTIONS: SwfOptions<'_> = SwfOptions { file: "log.swf", procs_per_node: None, skip_bad_lines: false };

    fn read(text: &str) -> Result<(SwfColumns, SwfReport)> {
        read_swf(text.as_bytes(), &OPTIONS, &mut |_, _| ControlFlow::Continue(()))
    }

    fn read_on_nodes_of(procs: u32, text: &str) -> Result<(SwfColumns, SwfReport)> {
        let options = SwfOptions { procs_per_node: Some(procs), ..OPTIONS };
        read_swf(text.as_bytes(), &options, &mut |_, _| ControlFlow::Continue(()))
    }

    fn read_leniently(text: &str) -> Result<(SwfColumns, SwfReport)> {
        let options = SwfOptions { skip_bad_lines: true, ..OPTIONS };
        read_swf(text.as_bytes(), &options, &mut |_, _| ControlFlow::Continue(()))
    }

    fn fault_of(outcome: Result<(SwfColumns, SwfReport)>) -> TraceError {
        match outcome {
            Err(Error::Trace(fault)) => fault,
            other => panic!("{other:?}"),
        }
    }

    fn fault(text: &str) -> TraceError {
        fault_of(read(text))
    }

    /// A job line with some fields (counted from 1, as in the format) replaced.
    fn job(id: u32, fields: &[(usize, &str)]) -> String {
        let id = id.to_string();
        let mut line =
            [&id, "0", "5", "60", "4", "-1", "-1", "4", "100", "-1", "1", "3", "2", "7", "2", "1", "-1", "-1"];
        for (field, value) in fields {
            line[field - 1] = value;
        }
        line.join(" ") + "\n"
    }

    #[test]
    fn every_used_field_has_its_column() {
        let line = "12 300.25 9.5 60 4 1.5 2 8 100 3 5 21 22 23 24 25 11 13\n";
        let (jobs, report) = read(line).unwrap();
        let expected = SwfColumns {
            job_id: vec![12],
            submit_s: vec![300.25],
            runtime_s: vec![60.0],
            node_count: vec![8],
            walltime_s: vec![100.0],
            user: vec![21],
            queue: vec![24],
            app: vec![23],
            depends_on: vec![11],
            think_s: vec![13.0],
            trace_status: vec![5],
            observed_start_s: vec![309.75],
        };
        assert_eq!(jobs, expected);
        assert_eq!((report.jobs, report.lines, report.depends_on), (1, 1, 1));
    }

    #[test]
    fn unknown_names_stay_minus_one() {
        let (jobs, report) = read(&job(1, &[(11, "-1"), (12, "-1"), (14, "-1"), (15, "-1"), (17, "-1")])).unwrap();
        assert_eq!(
            (jobs.trace_status[0], jobs.user[0], jobs.app[0], jobs.queue[0], &jobs.depends_on[..]),
            (-1, -1, -1, -1, &[][..])
        );
        assert_eq!(report.depends_on, 0);
    }

    #[test]
    fn what_is_known_of_no_job_has_no_column() {
        let (jobs, _) = read(&(job(1, &[(3, "-1")]) + &job(2, &[(3, "-1")]))).unwrap();
        assert!(jobs.observed_start_s.is_empty() && jobs.depends_on.is_empty() && jobs.think_s.is_empty());
        let text = job(1, &[(2, "9"), (3, "-1")])
            + &job(2, &[(2, "8"), (3, "-1"), (17, "1"), (18, "5")])
            + &job(3, &[(2, "7"), (3, "4")]);
        let (jobs, _) = read(&text).unwrap();
        assert_eq!(jobs.observed_start_s[0], 11.0);
        assert!(jobs.observed_start_s[1..].iter().all(|start_s| start_s.is_nan()));
        assert_eq!((jobs.depends_on, jobs.think_s), (vec![-1, 1, -1], vec![-1.0, 5.0, -1.0]));
    }

    #[test]
    fn requested_processors_are_the_size_else_allocated_ones() {
        let text = job(1, &[(8, "16")])
            + &job(2, &[(8, "-1")])
            + &job(3, &[(8, "0"), (5, "2")])
            + &job(4, &[(8, "0"), (5, "0")]);
        let (jobs, report) = read(&text).unwrap();
        assert_eq!(jobs.node_count, [16, 4, 2]);
        assert_eq!((report.size_from_allocated, report.dropped_no_size, report.jobs), (2, 1, 3));
    }

    #[test]
    fn sizes_are_rounded_up_to_whole_nodes() {
        let (jobs, report) =
            read_on_nodes_of(4, &(job(1, &[(8, "8")]) + &job(2, &[(8, "9")]) + &job(3, &[(8, "1")]))).unwrap();
        assert_eq!(jobs.node_count, [2, 3, 1]);
        assert_eq!((report.rounded_up_nodes, report.procs_per_node), (2, Some(4)));
    }

    #[test]
    fn a_size_fits_after_it_is_rounded() {
        let large = job(1, &[(8, "4294967295")]);
        assert_eq!(read_on_nodes_of(4, &large).unwrap().0.node_count, [1 << 30]);
        assert_eq!(fault(&large).expected, "at most 2,147,483,647 nodes");
        assert_eq!(fault(&job(1, &[(8, "-1"), (5, "4294967295")])).field.unwrap(), "field 5 (allocated processors)");
    }

    #[test]
    fn a_node_has_processors() {
        let Err(Error::Config(error)) = read_on_nodes_of(0, &job(1, &[])) else { panic!("nodes of no processors") };
        assert_eq!(error.faults[0].parameter, "procs_per_node");
    }

    #[test]
    fn without_requested_time_there_is_no_walltime() {
        let (jobs, report) = read(&(job(1, &[(9, "-1")]) + &job(2, &[(9, "0")]) + &job(3, &[]))).unwrap();
        assert_eq!(jobs.walltime_s.iter().map(|walltime| walltime.is_nan()).collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(report.no_walltime, 2);
    }

    #[test]
    fn a_job_without_submit_or_runtime_is_dropped_and_counted() {
        let text = job(1, &[(2, "-1")]) + &job(2, &[(4, "-1")]) + &job(3, &[]) + &job(4, &[(2, "-7.5"), (4, "-1")]);
        let (jobs, report) = read(&text).unwrap();
        assert_eq!(jobs.job_id, [3]);
        assert_eq!((report.dropped_no_submit, report.dropped_no_runtime, report.lines), (2, 1, 4));
    }

    #[test]
    fn a_log_of_dropped_jobs_is_an_empty_workload() {
        let (jobs, report) = read(&job(1, &[(2, "-1")])).unwrap();
        assert!(jobs.is_empty());
        assert_eq!((report.jobs, report.dropped_no_submit), (0, 1));
    }

    #[test]
    fn short_failed_and_cancelled_jobs_are_kept_and_counted() {
        let text =
            job(1, &[(4, "0")]) + &job(2, &[(11, "0")]) + &job(3, &[(11, "5")]) + &job(4, &[(4, "0"), (11, "5")]);
        let (jobs, report) = read(&text).unwrap();
        assert_eq!(jobs.trace_status, [1, 0, 5, 5]);
        assert_eq!((report.kept_zero_runtime, report.kept_cancelled_or_failed), (2, 2));
    }

    #[test]
    fn an_unknown_wait_is_no_observed_start() {
        let (jobs, _) = read(&(job(1, &[(3, "-1")]) + &job(2, &[(2, "10")]))).unwrap();
        assert!(jobs.observed_start_s[0].is_nan());
        assert!((jobs.observed_start_s[1] - 15.0).abs() < 1e-12);
    }

    #[test]
    fn late_submits_are_sorted_stably_and_counted() {
        let submits = ["5", "3", "5", "3", "9"];
        let text: String = (1..).zip(submits).map(|(id, submit)| job(id, &[(2, submit), (12, submit)])).collect();
        let (jobs, report) = read(&text).unwrap();
        assert_eq!(jobs.job_id, [2, 4, 1, 3, 5]);
        assert_eq!(jobs.user, [3, 3, 5, 5, 9]);
        assert_eq!(report.out_of_order, 2);
    }

    #[test]
    fn dropped_jobs_count_as_out_of_order_too() {
        let text = job(1, &[(2, "5")]) + &job(2, &[(2, "-1")]) + &job(3, &[(2, "6")]);
        let (jobs, report) = read(&text).unwrap();
        assert_eq!((jobs.job_id, report.out_of_order, report.dropped_no_submit), (vec![1, 3], 1, 1));
    }

    #[test]
    fn further_columns_are_counted() {
        let (jobs, report) = read(
            "1 0 5 60 4 -1 -1 4 100 -1 1 3 2 7 2 1 -1 -1 0.5 more\r\n2 0 5 60 4 -1 -1 4 100 -1 1 3 2 7 2 1 -1 -1 \n",
        )
        .unwrap();
        assert_eq!((jobs.len(), report.extra_columns), (2, 1));
    }

    #[test]
    fn layout_does_not_matter() {
        let line = job(1, &[]);
        let plain = read(&line).unwrap().0;
        let tabs = line.replace(' ', "\t");
        for text in [
            line.trim_end().to_owned(),
            line.replace('\n', "\r\n"),
            line.replace('\n', "\r"),
            format!("  \t{line}"),
            format!("\u{feff}{line}"),
            format!("\n\r\n{tabs}\n\n"),
            format!("; Note: Zürich\n{line}; the end"),
        ] {
            assert_eq!(read(&text).unwrap().0, plain, "{text:?}");
        }
    }

    #[test]
    fn header_lines_may_stand_anywhere() {
        let text = format!("; Computer: Loom\n{} ;MaxProcs: 8\n{}; MaxNodes: 4 of 5", job(1, &[]), job(2, &[]));
        let (_, report) = read(&text).unwrap();
        assert_eq!((report.header.max_procs, report.header.max_nodes, report.lines), (Some(8), Some(4), 5));
        assert_eq!(report.header.computer.as_deref(), Some("Loom"));
    }

    #[test]
    fn a_fault_names_line_field_value_and_rule() {
        let text = format!("; head\n\n{}{}", job(1, &[]), job(2, &[(4, "12:30")]));
        let expected =
            "log.swf, line 4, field 4 (run time): found `12:30`, expected seconds from 0 to 1e12, or -1 for unknown";
        assert_eq!(fault(&text).to_string(), expected);
    }

    #[test]
    fn letters_in_a_number_are_found_in_every_field() {
        for field in 1..=18 {
            for token in ["1x", "nan", "inf", "-", "1,5", "ü"] {
                let fault = fault(&job(1, &[(field, token)]));
                assert!(fault.field.unwrap().starts_with(&format!("field {field} (")));
                assert_eq!(fault.found, format!("`{token}`"));
            }
        }
    }

    #[test]
    fn used_fields_are_in_range() {
        for (field, token) in
            [(1, "-1"), (2, "1e300"), (3, "-1e300"), (4, "1e13"), (5, "1.5"), (8, "1e300"), (9, "1e999"), (12, "-2")]
        {
            let fault = fault(&job(1, &[(field, token)]));
            assert!(fault.field.unwrap().starts_with(&format!("field {field} (")));
            assert_eq!((fault.line, fault.found), (Some(1), format!("`{token}`")));
        }
    }

    #[test]
    fn a_negative_runtime_is_malformed() {
        let fault = fault(&(job(1, &[]) + &job(2, &[(4, "-60")])));
        assert_eq!(
            fault.to_string(),
            "log.swf, line 2, field 4 (run time): found `-60`, expected seconds from 0 to 1e12, or -1 for unknown"
        );
    }

    #[test]
    fn a_short_line_says_how_many_fields_it_has() {
        let fault = fault("1 0 5 60 4 -1 -1 4 100 -1 1 3 2 7 2 1 -1\n");
        let expected =
            "log.swf, line 1: found 17 fields in `1 0 5 60 4 -1 -1 4 100 -1 1 3 2 7 2 1 -1`, expected 18 fields";
        assert_eq!(fault.to_string(), expected);
    }

    #[test]
    fn a_repeated_job_number_names_both_lines() {
        let text = format!("; head\n{}\n{}{}{}", job(8, &[]), job(3, &[(2, "-1")]), job(7, &[]), job(8, &[]));
        let fault = fault(&text);
        assert_eq!((fault.line, fault.field.as_deref()), (Some(6), Some("field 1 (job number)")));
        assert_eq!(fault.found, "`8`, the number of the job on line 2");
    }

    #[test]
    fn a_dropped_job_takes_no_number() {
        assert_eq!(read(&(job(1, &[(2, "-1")]) + &job(1, &[]))).unwrap().0.len(), 1);
    }

    #[test]
    fn a_status_of_no_known_meaning_is_unknown_and_counted() {
        let (jobs, report) = read(&(job(1, &[(11, "17")]) + &job(2, &[(11, "-9")]) + &job(3, &[]))).unwrap();
        assert_eq!(jobs.trace_status, [-1, -1, 1]);
        assert_eq!(report.unknown_status, 2);
    }

    #[test]
    fn a_walltime_too_short_for_the_clock_is_raised_and_counted() {
        let (jobs, report) = read(&(job(1, &[(9, "4e-7")]) + &job(2, &[]))).unwrap();
        assert_eq!(jobs.walltime_s, [1e-6, 100.0]);
        assert_eq!(report.walltime_raised, 1);
    }

    #[test]
    fn bad_lines_can_be_skipped_and_are_told() {
        let good: String = (1..=6).map(|id| job(id, &[])).collect();
        let bad = job(7, &[(4, "12:30")]) + "8 0 5\n" + &job(3, &[(2, "9")]) + &job(9, &[(8, "1e300")]);
        let (jobs, report) = read_leniently(&(good.clone() + &bad + "; the end")).unwrap();
        assert_eq!((jobs, report.jobs, report.out_of_order), (read(&good).unwrap().0, 6, 0));
        assert_eq!((report.bad_lines, report.lines), (4, 11));
        let told: Vec<_> = report.first_bad_lines.iter().map(ToString::to_string).collect();
        let expected = [
            "log.swf, line 7, field 4 (run time): found `12:30`, expected seconds from 0 to 1e12, or -1 for unknown",
            "log.swf, line 8: found 3 fields in `8 0 5`, expected 18 fields",
            "log.swf, line 9, field 1 (job number): found `3`, expected a number that no other job has",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_whole_log_reads_the_same_with_and_without_skipping() {
        let text = job(4, &[(2, "5")]) + &job(1, &[(2, "-1")]) + &job(1, &[(8, "-1")]) + &job(2, &[(4, "-1")]);
        assert_eq!(read_leniently(&text).unwrap(), read(&text).unwrap());
    }

    #[test]
    fn half_of_the_lines_may_be_bad_and_no_more() {
        let half = job(1, &[]) + "x\n";
        assert_eq!(read_leniently(&half).unwrap().1.bad_lines, 1);
        let fault = fault_of(read_leniently(&(half + "1 y\n")));
        assert_eq!((fault.line, fault.found.as_str()), (Some(2), "`x` (the first of 2 bad lines among 3)"));
        assert_eq!(fault_of(read_leniently("x\n")).line, Some(1));
    }

    #[test]
    fn binary_data_is_never_skipped() {
        let text: String = (1..9).map(|id| job(id, &[])).collect();
        assert_eq!(fault_of(read_leniently(&(text + "9 0 \0\n"))).found, "binary data");
    }

    #[test]
    fn a_file_without_jobs_says_so() {
        assert_eq!(fault("").found, "an empty file");
        assert_eq!(fault("; MaxNodes: 4\n\n").found, "no job on 2 lines");
        assert_eq!(fault(" \n").expected, "at least one job line of 18 fields");
    }

    #[test]
    fn binary_data_is_called_so() {
        for text in ["\0\0\0\0", "\u{7f}ELF\u{2}\n1 2", "; fine\n1 2 \0\0\0\0", ";\0", &(job(1, &[]) + "\0")] {
            assert_eq!(fault(text).found, "binary data", "{text:?}");
        }
    }

    #[test]
    fn the_watch_sees_every_stretch_and_can_stop_it() {
        let text: String = (0..200_000).map(|id| job(id, &[])).collect();
        let mut seen = Vec::new();
        read_swf(text.as_bytes(), &OPTIONS, &mut |done, all| {
            seen.push((done, all));
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(seen.len(), 5);
        assert!(seen.is_sorted());
        assert_eq!(seen[4], (text.len(), text.len()));

        let stopped = read_swf(text.as_bytes(), &OPTIONS, &mut |_, _| ControlFlow::Break(()));
        assert!(matches!(stopped, Err(Error::Interrupted)));
    }
}
