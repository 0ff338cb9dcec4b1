//! Translation of a job's row into a simulation's terms.

use super::hosts::Hosts;
use super::index::Texts;
use super::kept::{Entry, flag};
use super::name::{Name, Part};
use super::row::Row;
use super::state::{self, State};
use super::times::Times;
use super::value::Per;

/// Value for an unknown number of processors.
pub(super) const UNKNOWN_CPUS: u32 = u32::MAX;

const MOST_NODES: i64 = i32::MAX as i64;
const MOST_GPUS: i64 = 1024;
const MOST_MEMORY_GB: f64 = 1e9;

/// A value that no row can have, as words, and what is valid.
pub(super) type Misfit = (String, &'static str);

/// The state of a row: its word, and the state that it stands for.
pub(super) fn state_of<'a>(row: &Row<'a>) -> (&'a [u8], State) {
    let word = state::word(row.state);
    (word, State::of(word))
}

/// True if the row's job had started.
pub(super) fn has_run(row: &Row<'_>, times: &Times) -> bool {
    let (word, state) = state_of(row);
    if state == State::Waiting || row.has.start && times.start.is_nan() {
        return false;
    }
    if row.has.hosts {
        return !row.hosts.is_empty();
    }
    if row.has.alloc_nodes {
        return row.alloc_nodes > 0;
    }
    if row.has.allocated {
        return !row.allocated.is_empty;
    }
    let is_withdrawn = word.eq_ignore_ascii_case(b"CANCELLED") || word.eq_ignore_ascii_case(b"DEADLINE");
    let is_empty = if row.has.start { times.start == times.end } else { row.elapsed_s == 0.0 };
    !(is_withdrawn && is_empty)
}

/// True if the row's job waits, neither started nor withdrawn.
pub(super) fn is_waiting(state: State, has_run: bool, end_s: f64) -> bool {
    let may_run = match state {
        State::Completed | State::Failed | State::Cancelled | State::Revoked => false,
        State::Waiting | State::Again | State::Running | State::Resizing => true,
        State::Unknown | State::None => end_s.is_nan(),
    };
    may_run && !has_run
}

/// End of a row, computed from its length where the dump has no such column.
pub(super) fn end_of(row: &Row<'_>, times: &Times, state: State) -> f64 {
    if row.has.end || matches!(state, State::Waiting | State::Running) {
        return times.end;
    }
    times.start + row.elapsed_s + if row.suspended_s.is_nan() { 0.0 } else { row.suspended_s }
}

/// Entry for a row of a job.
pub(super) fn settled(row: &Row<'_>, times: Times, texts: &mut Texts, hosts: &mut Hosts) -> Result<Entry, Misfit> {
    let (word, state) = state_of(row);
    let ran = has_run(row, &times);
    let end_s = end_of(row, &times, state);
    let is_running = ran && (state == State::Running || !state.is_final() && end_s.is_nan());
    let mut flags = if ran { flag::RAN } else { 0 };
    flags |= if is_waiting(state, ran, end_s) { flag::PENDING } else { 0 };
    flags |= if is_running { flag::RUNNING } else { 0 };
    flags |= if state == State::Unknown { flag::UNKNOWN_STATE } else { 0 };
    flags |= if row.has.user { flag::HAS_USER } else { 0 };
    flags |= if row.has.job_name { flag::HAS_JOB_NAME } else { 0 };
    let start_s = if ran { times.start } else { f64::NAN };
    let span_s = if is_running { f64::NAN } else { end_s - start_s };
    let (suspended_s, is_consistent) = suspended(row, span_s, ran);
    flags |= if is_consistent { 0 } else { flag::INCONSISTENT };
    let hosts_code = if row.hosts.is_empty() { 0 } else { hosts.code(row.hosts, row.line).unwrap_or(0) };
    let nodes = node_count(row, hosts.count(hosts_code))?;
    let cpus = processors(row, ran);
    let (memory_gb, is_all) = memory(row, nodes, cpus)?;
    flags |= if is_all { flag::ALL_MEMORY } else { 0 };
    let (gpus, is_rounded) = gpus(row, nodes)?;
    flags |= if is_rounded { flag::ROUNDED_GPUS } else { 0 };
    let is_later = times.eligible > times.submit && (start_s.is_nan() || times.eligible <= start_s);
    let queue = row.queue.split(|byte| *byte == b',').next().unwrap_or_default();
    Ok(Entry {
        name: Name { number: 0, part: Part::Whole },
        raw: row.raw,
        submit_s: times.submit,
        start_at_s: if is_later { times.eligible } else { f64::NAN },
        start_s,
        end_s: if is_running { f64::NAN } else { end_s },
        runtime_s: if ran { length(row, span_s, suspended_s, is_running) } else { 0.0 },
        suspended_s,
        walltime_s: if row.walltime_s > 0.0 { row.walltime_s } else { f64::NAN },
        node_count: i32::try_from(nodes).expect("at most as many"),
        cpus: u32::try_from(cpus).unwrap_or(UNKNOWN_CPUS),
        gpus,
        memory_gb,
        energy_j: if row.energy_j.is_nan() { row.allocated.energy_j } else { row.energy_j },
        step_rank: 0,
        step_j: 0.0,
        step_node_s: 0.0,
        hosts: hosts_code,
        constraint: texts.code(row.constraint),
        licences: texts.code(licences(row)),
        user: texts.code(row.user),
        account: texts.code(row.account),
        queue: texts.code(queue),
        qos: texts.code(row.qos),
        reservation: texts.code(row.reservation),
        job_name: texts.code(row.job_name),
        app: texts.code(row.app),
        state: texts.code(word),
        priority: row.priority,
        restarts: i32::try_from(row.restarts).unwrap_or(i32::MAX),
        status: i8::try_from(state.status()).expect("a digit"),
        flags,
    })
}

/// Seconds for which a run was suspended, and whether its times agree with its length.
fn suspended(row: &Row<'_>, span_s: f64, ran: bool) -> (f64, bool) {
    let rest_s = span_s - row.elapsed_s;
    if !ran || rest_s.is_nan() {
        return (row.suspended_s, true);
    }
    if row.suspended_s.is_nan() {
        return (if rest_s > 1.0 { rest_s } else { 0.0 }, rest_s >= -1.0);
    }
    (row.suspended_s, (rest_s - row.suspended_s).abs() <= 1.0)
}

/// Seconds of a run; NaN for one that still runs and has no length.
fn length(row: &Row<'_>, span_s: f64, suspended_s: f64, is_running: bool) -> f64 {
    if !row.elapsed_s.is_nan() {
        return row.elapsed_s;
    }
    let stood_s = if suspended_s.is_nan() { 0.0 } else { suspended_s };
    if is_running { f64::NAN } else { (span_s - stood_s).max(0.0) }
}

/// Nodes of a row; 0 if unknown.
fn node_count(row: &Row<'_>, listed: usize) -> Result<i64, Misfit> {
    let listed = i64::try_from(listed).unwrap_or(i64::MAX);
    let known = [row.n_nodes, row.alloc_nodes, row.allocated.nodes, listed, row.req_nodes, row.requested.nodes];
    let nodes = known.into_iter().find(|nodes| *nodes > 0).unwrap_or(0);
    if nodes > MOST_NODES { Err((format!("{nodes} nodes"), "at most 2,147,483,647 nodes")) } else { Ok(nodes) }
}

/// Processors of a row; -1 if unknown.
fn processors(row: &Row<'_>, ran: bool) -> i64 {
    let own = [row.alloc_cpus, row.n_cpus];
    let of_resources = [row.allocated.cpus, row.requested.cpus];
    let own_first = own.into_iter().filter(|_| ran);
    let mut known = own_first.chain([row.req_cpus]).chain(own).chain(of_resources);
    known.find(|cpus| *cpus > 0).unwrap_or(-1)
}

/// GB in each node, and whether all memory of the node was requested.
fn memory(row: &Row<'_>, nodes: i64, cpus: i64) -> Result<(f64, bool), Misfit> {
    let nodes = nodes.max(1);
    let (mb, per) = match row.memory {
        Some(memory) => memory,
        None if row.has.memory => return Ok((f64::NAN, false)),
        None if row.requested.memory_mb.is_nan() => (row.allocated.memory_mb, Per::Job),
        None => (row.requested.memory_mb, Per::Job),
    };
    if mb == 0.0 {
        return Ok((f64::NAN, true));
    }
    let of_node = match per {
        Per::Job => mb / nodes as f64,
        Per::Node => mb,
        Per::Cpu if cpus < 0 => f64::NAN,
        Per::Cpu => mb * ((cpus + nodes - 1) / nodes) as f64,
    };
    let gb = of_node / 1024.0;
    if gb > MOST_MEMORY_GB { Err((format!("{gb} GB in a node"), "at most 1e9 GB")) } else { Ok((gb, false)) }
}

/// GPUs in each node, -1 if unknown; and whether they were rounded up.
fn gpus(row: &Row<'_>, nodes: i64) -> Result<(i16, bool), Misfit> {
    let Some(all) = row.allocated.gpus().or(row.requested.gpus()) else { return Ok((-1, false)) };
    let nodes = nodes.max(1);
    let each = all / nodes + i64::from(all % nodes > 0);
    if each > MOST_GPUS {
        return Err((format!("{each} GPUs in a node"), "at most 1,024"));
    }
    Ok((i16::try_from(each).expect("at most 1,024"), all % nodes > 0))
}

fn licences<'a>(row: &'a Row<'_>) -> &'a [u8] {
    [row.licences, &row.allocated.licences, &row.requested.licences]
        .into_iter()
        .find(|text| !text.is_empty())
        .unwrap_or_default()
}
