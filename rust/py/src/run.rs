//! Logs, and records of runs; the only place where the interpreter is released.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use hetsched_core::error::{Error, Result, SimulationError};
use hetsched_core::policy::budget::Between;
use hetsched_core::sim::job_state::{JobState, StartedBy};
use hetsched_core::sim::log::EntryKind;
use hetsched_core::sim::record::{self, Totals};
use hetsched_core::sim::work::Cause;
use hetsched_core::trace::decompress;
use hetsched_core::trace::swf::{self, SwfColumns, SwfOptions, SwfReport};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::{self, to_py};
use crate::frame::{self, Frame, Same, Values};

/// Interval at which a run checks for Ctrl-C and reports its progress.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Checks for Ctrl-C and reports progress now and then; keeps the exception that Python raised.
struct Lookout<'a> {
    tell: &'a (dyn Fn(Python<'_>, &[f64]) -> PyResult<()> + Sync),
    last: Instant,
    raised: Option<PyErr>,
    /// True if the interpreter is held, so that other threads have to be let in.
    holds: bool,
}

impl Lookout<'_> {
    #[expect(clippy::disallowed_methods, reason = "only when to look depends on the clock, never what is computed")]
    fn look(&mut self, numbers: &[f64]) -> ControlFlow<()> {
        if self.last.elapsed() < LOOK_EVERY {
            return ControlFlow::Continue(());
        }
        self.last = Instant::now();
        let seen = Python::attach(|py| {
            if self.holds {
                py.detach(std::thread::yield_now);
            }
            py.check_signals().and_then(|()| (self.tell)(py, numbers))
        });
        match seen {
            Ok(()) => ControlFlow::Continue(()),
            Err(raised) => {
                self.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }
}

/// Runs `work` without the interpreter; Ctrl-C, errors and even panics come back as Python exceptions.
///
/// Work that calls Python all the time holds the interpreter, and lets other threads in when it checks for Ctrl-C: if
/// it released it around every call, each call would have to wait for its turn among the other threads.
pub(crate) fn run_detached<T: Send>(
    py: Python<'_>,
    holds: bool,
    progress: Option<&Bound<'_, PyAny>>,
    call: impl Fn(Python<'_>, &Py<PyAny>, &[f64]) -> PyResult<()> + Sync,
    work: impl FnOnce(&mut dyn FnMut(&[f64]) -> ControlFlow<()>) -> Result<T> + Send,
) -> PyResult<T> {
    let progress = progress.map(|progress| progress.clone().unbind());
    let tell = |py: Python<'_>, numbers: &[f64]| progress.as_ref().map_or(Ok(()), |call_it| call(py, call_it, numbers));
    let run = || {
        #[expect(clippy::disallowed_methods, reason = "only when to look depends on the clock, never what is computed")]
        let mut lookout = Lookout { tell: &tell, last: Instant::now(), raised: None, holds };
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut |numbers| lookout.look(numbers))));
        (done, lookout.raised)
    };
    let (done, raised) = if holds { run() } else { py.detach(run) };
    match (raised, done) {
        (Some(raised), _) => Err(raised),
        (None, Ok(Ok(done))) => Ok(done),
        (None, Ok(Err(error))) => Err(to_py(py, error)),
        (None, Err(_)) => Err(to_py(py, Error::Simulation(SimulationError(BUG.to_owned())))),
    }
}

const BUG: &str = "hetsched itself failed (the lines above say where): please report it with the inputs of this run";

/// Reads a log in Standard Workload Format: its jobs, and a report on jobs found, kept, changed and dropped.
#[pyfunction]
#[pyo3(signature = (data, *, file, procs_per_node = None, skip_bad_lines = false, progress = None))]
pub(crate) fn read_swf<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyBytes>,
    file: &str,
    procs_per_node: Option<u32>,
    skip_bad_lines: bool,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Frame, Bound<'py, PyDict>)> {
    let bytes = data.as_bytes();
    let tell =
        |py: Python<'_>, progress: &Py<PyAny>, numbers: &[f64]| progress.call1(py, (numbers[0], numbers[1])).map(drop);
    let (jobs, report) = run_detached(py, false, progress, tell, |look| {
        let options = SwfOptions { file, procs_per_node, skip_bad_lines };
        swf::read_swf(bytes, &options, &mut |done, all| look(&[done as f64, all as f64]))
    })?;
    Ok((swf_frame(jobs)?, report_dict(py, &report)?))
}

/// The jobs of a log; a column of think times only if one is known.
fn swf_frame(mut jobs: SwfColumns) -> PyResult<Frame> {
    let rows = jobs.len();
    let depends_on = (!jobs.depends_on.is_empty()).then(|| frame::longs_or_null(jobs.depends_on));
    let observed_start_s = (!jobs.observed_start_s.is_empty()).then(|| frame::nullable(jobs.observed_start_s));
    let mut columns = vec![
        ("job_id", frame::longs(jobs.job_id).into()),
        ("submit_s", frame::floats(jobs.submit_s).into()),
        ("runtime_s", frame::floats(jobs.runtime_s).into()),
        ("node_count", frame::ints(jobs.node_count).into()),
        ("walltime_s", frame::nullable(jobs.walltime_s).into()),
    ];
    // Each column of numbers goes before the next one of words is made.
    for (name, numbers) in [("user", &mut jobs.user), ("queue", &mut jobs.queue), ("app", &mut jobs.app)] {
        columns.push((name, frame::names(&std::mem::take(numbers))?.into()));
    }
    columns.push(("depends_on", Values::known(depends_on, Same::NoLongs)));
    if !jobs.think_s.is_empty() {
        jobs.think_s.iter_mut().filter(|think_s| **think_s < 0.0).for_each(|think_s| *think_s = f64::NAN);
        columns.push(("think_s", frame::nullable(jobs.think_s).into()));
    }
    columns.push(("trace_status", frame::ints_or_null(jobs.trace_status).into()));
    columns.push(("observed_start_s", Values::known(observed_start_s, Same::NoFloats)));
    Frame::with_same(rows, columns)
}

fn report_dict<'py>(py: Python<'py>, report: &SwfReport) -> PyResult<Bound<'py, PyDict>> {
    let header = PyDict::new(py);
    header.set_item("computer", &report.header.computer)?;
    header.set_item("max_nodes", report.header.max_nodes)?;
    header.set_item("max_procs", report.header.max_procs)?;
    header.set_item("unix_start_time", report.header.unix_start_time)?;
    header.set_item("time_zone", report.header.time_zone)?;
    header.set_item("time_zone_name", &report.header.time_zone_name)?;
    let dict = PyDict::new(py);
    dict.set_item("header", header)?;
    dict.set_item("procs_per_node", report.procs_per_node)?;
    for (name, count) in report.counts() {
        dict.set_item(name, count)?;
    }
    let told = report.first_bad_lines.iter().map(|fault| errors::trace(py, fault)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("first_bad_lines", told)?;
    Ok(dict)
}

/// Unpacks `data` if gzip or zstd has packed it; returns `data` itself otherwise.
#[pyfunction]
#[pyo3(signature = (data, *, file))]
pub(crate) fn unpacked<'py>(py: Python<'py>, data: &Bound<'py, PyBytes>, file: &str) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = data.as_bytes();
    let text = run_detached(
        py,
        false,
        None,
        |_, _, _| Ok(()),
        |look| decompress::unpacked(bytes, file, &mut |done, all| look(&[done as f64, all as f64])),
    )?;
    match text {
        Cow::Borrowed(_) => Ok(data.clone()),
        Cow::Owned(text) => {
            let copied = PyBytes::new_with(py, text.len(), |copy| {
                copy.copy_from_slice(&text);
                Ok(())
            });
            copied.map_err(|_| to_py(py, decompress::beyond_memory(file, bytes.len(), text.len())))
        }
    }
}

type Floats<'py> = Bound<'py, PyArray1<f64>>;

/// Records of a run.
#[pyclass(module = "hetsched._core")]
pub(crate) struct Records {
    records: record::Records,
    /// Totals over the whole run.
    #[pyo3(get)]
    totals: Py<PyDict>,
}

impl Records {
    /// Wraps the records of the core.
    pub(crate) fn new(py: Python<'_>, records: record::Records) -> PyResult<Self> {
        Ok(Self { totals: totals_dict(py, &records.totals)?.unbind(), records })
    }
}

#[pymethods]
impl Records {
    /// Takes the jobs, and leaves their records empty.
    fn take_jobs(&mut self) -> PyResult<Frame> {
        let jobs = self.records.take_jobs();
        let rows = jobs.state.len();
        let has_reason = jobs.state.iter().any(|state| state.reason().is_some());
        let reason = has_reason.then(|| frame::sentences(&jobs.state, JobState::reason));
        let mut columns = vec![
            ("start_s", frame::floats_where(jobs.start_s, jobs.started.clone()).into()),
            ("end_s", frame::floats_where(jobs.end_s, jobs.ended).into()),
            ("energy_j", frame::floats_where(jobs.energy_j, jobs.charged).into()),
            ("started_by", frame::words(&jobs.started_by, Some(jobs.started.clone()), StartedBy::name)?.into()),
            ("state", frame::words(&jobs.state, None, JobState::name)?.into()),
            ("reason", Values::known(reason, Same::NoWords)),
            ("profiled", frame::bools(jobs.profiled).into()),
            ("nodes", frame::node_lists(jobs.node_offsets, jobs.nodes, jobs.started)?.into()),
        ];
        if let Some(eligible_s) = jobs.eligible_s {
            columns.push(("eligible_s", frame::nullable(eligible_s).into()));
        }
        if let Some(sums) = jobs.attempts {
            let told = [
                sums.attempts.map(|attempts| ("attempts", frame::ints(attempts))),
                sums.suspended_s.map(|stood| ("suspended_s", frame::floats(stood))),
                sums.lost_j.map(|lost| ("lost_energy_j", frame::floats(lost))),
                sums.lowest_cap_w.map(|caps| ("lowest_cap_w", frame::nullable(caps))),
                sums.last_j.map(|last| ("last_energy_j", frame::floats(last))),
            ];
            columns.extend(told.into_iter().flatten().map(|(name, column)| (name, column.into())));
        }
        Frame::with_same(rows, columns)
    }

    /// True if an attempt may have several stretches.
    #[getter]
    fn has_segments(&self) -> bool {
        self.records.segments.is_some()
    }

    /// True if there are lost attempts that no segments report.
    #[getter]
    fn has_lost_attempts(&self) -> bool {
        self.records.has_lost_attempts()
    }

    /// Takes the lost attempts, in order of their ends.
    fn take_attempts(&mut self) -> PyResult<Frame> {
        let lost = self.records.take_attempts();
        let all = vec![true; lost.row.len()];
        Frame::new(vec![
            ("row", frame::ints(lost.row)),
            ("attempt", frame::ints(lost.attempt)),
            ("start_s", frame::floats(lost.start_s)),
            ("end_s", frame::floats(lost.end_s)),
            ("nodes", frame::node_lists(lost.node_offsets, lost.nodes, all)?),
            ("energy_j", frame::floats(lost.energy_j)),
        ])
    }

    /// Takes the jobs that fit between no two budgets, by row: watts of the whole machine, the time for which they are
    /// needed, the longest for which they are available, and true if they are available after the last change.
    fn take_between(&mut self) -> PyResult<Frame> {
        let (rows, needs): (Vec<u32>, Vec<Between>) =
            std::mem::take(&mut self.records.jobs.between).into_iter().unzip();
        let of = |value: fn(&Between) -> f64| frame::floats(needs.iter().map(value).collect());
        Frame::new(vec![
            ("row", frame::longs(rows.into_iter().map(i64::from).collect())),
            ("watts", of(|need| need.watts.watts())),
            ("length_s", of(|need| need.length.seconds())),
            ("longest_s", of(|need| need.longest.seconds())),
            ("is_free_at_last", of(|need| f64::from(u8::from(need.is_free_at_last)))),
        ])
    }

    /// Takes the stretches of runs in which nothing changed; None if every attempt is one.
    fn take_segments(&mut self) -> PyResult<Option<Frame>> {
        let Some(segments) = self.records.take_segments() else { return Ok(None) };
        let all = vec![true; segments.job_id.len()];
        Frame::new(vec![
            ("job_id", frame::longs(segments.job_id)),
            ("attempt", frame::ints(segments.attempt)),
            ("start_s", frame::floats(segments.start_s)),
            ("end_s", frame::floats(segments.end_s)),
            ("nodes", frame::node_lists(segments.node_offsets, segments.nodes, all)?),
            ("cap_w", frame::nullable(segments.cap_w)),
            ("speed_ratio", frame::floats(segments.speed_ratio)),
            ("power_w", frame::floats(segments.power_w)),
            ("energy_j", frame::floats(segments.energy_j)),
            ("state", frame::words(&segments.suspended, None, |is| if is { "suspended" } else { "running" })?),
        ])
        .map(Some)
    }

    /// Time factors, relative to nominal, and total draws, W, of jobs without caps: those of the job in each of `rows`
    /// on the nodes from one offset to the next.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
    fn uncapped<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'py, u32>,
        offsets: PyReadonlyArray1<'py, i64>,
        nodes: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<(Floats<'py>, Floats<'py>)> {
        let offsets: Vec<_> = offsets.as_array().iter().map(|&at| usize::try_from(at).unwrap_or(usize::MAX)).collect();
        let (factors, watts) = self.records.uncapped(rows.as_slice()?, &offsets, nodes.as_slice()?);
        Ok((PyArray1::from_vec(py, factors), PyArray1::from_vec(py, watts)))
    }

    /// True if the log has entries other than starts and ends, or could have had entries about power.
    #[getter]
    fn has_events(&self) -> bool {
        self.records.has_log()
    }

    /// Takes the log of events other than starts and ends, in order; None if it is empty and no entries about power
    /// were possible.
    fn take_events(&mut self) -> PyResult<Option<Frame>> {
        let Some(log) = self.records.take_log() else { return Ok(None) };
        Frame::new(vec![
            ("time_s", frame::floats(log.time_s)),
            ("kind", frame::words(&log.kind, None, EntryKind::name)?),
            ("job_id", frame::longs_where(log.job_id, log.has_job)),
            ("node", frame::ints_or_null(log.node)),
            ("value", frame::nullable(log.value_w)),
            ("power_before_w", frame::floats(log.power_before_w)),
            ("power_after_w", frame::floats(log.power_after_w)),
        ])
        .map(Some)
    }

    /// Takes the timeline, and leaves it empty.
    fn take_timeline(&mut self) -> PyResult<Frame> {
        let timeline = std::mem::take(&mut self.records.timeline);
        let names = [
            "busy_nodes",
            "idle_nodes",
            "sleeping_nodes",
            "transition_nodes",
            "down_nodes",
            "queued_jobs",
            "running_jobs",
        ];
        let rows = timeline.time_s.len();
        let mut columns = vec![
            ("time_s", frame::floats(timeline.time_s).into()),
            ("power_w", frame::floats(timeline.power_w).into()),
        ];
        let counts = timeline.counts.map(|column| Values::known(column.into_counts().map(frame::ints), Same::ZeroInts));
        columns.extend(names.into_iter().zip(counts));
        if !timeline.budget_w.is_empty() {
            columns.push(("budget_w", frame::nullable(timeline.budget_w).into()));
        }
        if !timeline.suspended.is_empty() {
            columns.push(("suspended_jobs", frame::ints(timeline.suspended).into()));
        }
        Frame::with_same(rows, columns)
    }

    /// The nodes.
    fn take_nodes(&mut self) -> PyResult<Frame> {
        let nodes = self.records.node_frame();
        let ids = (0..).take(nodes.energy_j.len()).collect();
        let mut columns = vec![("node", frame::ints(ids))];
        let names = ["busy_s", "idle_s", "off_s", "transition_s", "down_s"];
        columns.extend(names.into_iter().zip(nodes.time_s.map(frame::floats)));
        columns.push(("energy_j", frame::floats(nodes.energy_j)));
        columns.push(("boots", frame::ints(self.records.boots.clone())));
        columns.push(("shutdowns", frame::ints(self.records.shutdowns.clone())));
        Frame::new(columns)
    }
}

fn totals_dict<'py>(py: Python<'py>, totals: &Totals) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("window_start_s", totals.window.map(|window| window.0.seconds()))?;
    dict.set_item("window_end_s", totals.window.map(|window| window.1.seconds()))?;
    for (name, energy) in [
        ("energy_j", totals.energy),
        ("job_energy_j", totals.job_energy),
        ("idle_energy_j", totals.idle_energy),
        ("transition_energy_j", totals.transition_energy),
        ("off_energy_j", totals.off_energy),
        ("down_energy_j", totals.down_energy),
        ("integral_j", totals.integral),
    ] {
        dict.set_item(name, energy.joules())?;
    }
    dict.set_item("balance_relative_error", totals.energy.relative_error(totals.integral))?;
    dict.set_item("busy_node_s", totals.busy_node_s)?;
    dict.set_item("work_started_node_s", totals.work.started_node_s())?;
    dict.set_item("work_completed_node_s", totals.work.completed_node_s())?;
    dict.set_item("work_lost_node_s", totals.work.lost_node_s())?;
    for (name, cause) in [("killed", Cause::Walltime), ("failed", Cause::Failure)] {
        dict.set_item(format!("work_{name}_jobs"), totals.work.cut_jobs(cause))?;
        dict.set_item(format!("work_{name}_node_s"), totals.work.cut_node_s(cause))?;
    }
    dict.set_item("peak_power_w", totals.peak.watts())?;
    dict.set_item("passes", totals.passes)?;
    dict.set_item("events", totals.events)?;
    dict.set_item("low_busy_rows", totals.below_idle)?;
    dict.set_item("clairvoyant_jobs", totals.clairvoyant)?;
    dict.set_item("measured_jobs", totals.measured)?;
    dict.set_item("profiled_jobs", totals.profiled)?;
    dict.set_item("left_out_jobs", totals.left_out)?;
    dict.set_item("late_starts", totals.late)?;
    dict.set_item("alerts", totals.alerts)?;
    dict.set_item("lost_energy_j", totals.lost_energy.joules())?;
    let over = totals.budget.map(|(_, over)| over).unwrap_or_default();
    dict.set_item("budget_w", totals.budget.map(|(budget, _)| budget.watts()))?;
    dict.set_item("over_budget_count", over.count)?;
    dict.set_item("over_budget_s", over.seconds)?;
    dict.set_item("over_budget_peak_w", over.most_w)?;
    Ok(dict)
}
