//! Live machines: a controller in the hands of a host in Python.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hetsched_core::control::live::Live as Core;
use hetsched_core::control::live::report::Report;
use hetsched_core::control::live::snapshot::Snapshot;
use hetsched_core::control::live::standing::Standing;
use hetsched_core::control::orders::{HostOrder, Which};
use hetsched_core::error::{Error, Result, SimulationError, config};
use hetsched_core::policy::recollection::Recollection;
use hetsched_core::power::budgets::BudgetRow;
use hetsched_core::sim::chronicle::Page;
use hetsched_core::units::{SimTime, Watts};
use hetsched_core::workload::JobId;
use pyo3::prelude::*;

use crate::errors::to_py;
use crate::roles::copies;
use crate::roles::labels::Labels;
use crate::run::run_detached;
use crate::setup::RunSetup;

/// A report or an order: its kind, the job's row (-1: none) or a budget's begin in microseconds, attempt, nodes, a word,
/// and two numbers (NaN: none).
pub(crate) type Told = (String, i64, u32, Vec<u32>, String, f64, f64);

/// An instant: microseconds, reports and orders.
pub(crate) type Sheet = (i64, Vec<Told>, Vec<Told>);

/// State of a machine: jobs that wait with their attempts so far and since when, runs with their nodes and begins, jobs
/// that are over, whether they have completed and when, jobs that wait for others, nodes out of service, and budgets
/// (watts, begin, end, announcement).
type State = (
    Vec<((i64, u32), i64)>,
    Vec<((i64, u32), Vec<u32>, i64)>,
    Vec<((i64, u32), bool, Option<i64>)>,
    Vec<i64>,
    Vec<(u32, String)>,
    Vec<(f64, i64, i64, i64)>,
);

/// A policy at work on a machine that its host watches and steers.
#[pyclass(module = "hetsched._core")]
pub(crate) struct Live {
    /// `None` once an instant has failed and could not be taken back.
    core: Option<Core>,
    /// True if parts of its policy are Python objects, so that it runs with the interpreter held.
    holds: bool,
    labels: Labels,
}

#[pymethods]
impl Live {
    #[new]
    #[pyo3(signature = (setup, *, start_us, extends = None))]
    fn new(
        py: Python<'_>,
        setup: &mut RunSetup,
        start_us: i64,
        mut extends: Option<PyRefMut<'_, Self>>,
    ) -> PyResult<Self> {
        let mut given = setup.take(py)?;
        given.check_live().map_err(|error| to_py(py, error))?;
        let (labels, holds, rejects) = (given.labels(), given.objects.is_any(), given.rejects_between);
        let growing = extends.as_ref().map(|live| live.copied(py)).transpose()?;
        let setup = given.setup(py)?;
        let core = run_detached(
            py,
            false,
            None,
            |_, _, _| Ok(()),
            |_| {
                if let Some((mut live, _)) = growing {
                    setup.growing(&mut live)?;
                    return Ok(live);
                }
                let mut live = setup.live(SimTime::from_micros(start_us))?;
                if let Some(rejects) = rejects {
                    live.controller_mut().budgets_go_on(rejects);
                }
                Ok(live)
            },
        )?;
        if let Some(live) = &mut extends {
            live.labels.become_like(&labels);
        }
        let labels = extends.as_ref().map_or(labels, |live| live.labels.clone());
        Ok(Self { core: Some(core), holds, labels })
    }

    /// Takes the reports of an instant into account and decides; returns the orders. If it raises, nothing has changed.
    fn step(&mut self, py: Python<'_>, t_us: i64, reports: Vec<Told>) -> PyResult<Vec<Told>> {
        let core = self.core.as_ref().ok_or_else(|| to_py(py, gone()))?;
        let (jobs, nodes) = (core.cluster().workload().len(), core.nodes());
        let read = reports.into_iter().map(|told| report(told, jobs, nodes));
        let reports = read.collect::<Result<Vec<_>>>().map_err(|error| to_py(py, error))?;
        let (before, labels) = self.copied(py)?;
        let mut core = self.core.take().ok_or_else(|| to_py(py, gone()))?;
        let orders = run_detached(
            py,
            self.holds,
            None,
            |_, _, _| Ok(()),
            |look| {
                let look = std::cell::RefCell::new(look);
                core.step(SimTime::from_micros(t_us), reports, &|| (look.borrow_mut())(&[]).is_break())
            },
        );
        if orders.is_err() {
            (core, self.labels) = (before, labels);
        }
        self.core = Some(core);
        Ok(orders?.iter().map(order).collect())
    }

    /// State of the machine and its jobs by now.
    fn snapshot(&self, py: Python<'_>) -> PyResult<State> {
        let core = self.core.as_ref().ok_or_else(|| to_py(py, gone()))?;
        let Snapshot { waiting, running, over, held, nodes, budgets } = core.snapshot();
        let row = |which: Which| (i64::from(which.job.0), which.attempt);
        Ok((
            waiting.into_iter().map(|(which, since)| (row(which), since.micros())).collect(),
            running.into_iter().map(|(which, nodes, since)| (row(which), nodes, since.micros())).collect(),
            over.into_iter().map(|(which, ok, end)| (row(which), ok, end.map(SimTime::micros))).collect(),
            held.into_iter().map(|job| i64::from(job.0)).collect(),
            nodes.into_iter().map(|(node, standing)| (node, word(standing).to_owned())).collect(),
            (budgets.iter())
                .map(|row| (row.watts.watts(), row.from.micros(), row.until.micros(), row.announced.micros()))
                .collect(),
        ))
    }

    /// True if a rebuild from its snapshot and what it remembers lacks nothing.
    #[getter]
    fn is_plain(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.core.as_ref().ok_or_else(|| to_py(py, gone()))?.is_plain())
    }

    /// The part of its policy's knowledge that no snapshot shows: whole numbers by name.
    fn remember(&mut self, py: Python<'_>) -> PyResult<BTreeMap<String, Vec<i64>>> {
        Ok(self.core.as_mut().ok_or_else(|| to_py(py, gone()))?.remember().0)
    }

    /// Lets its policy go on with what was kept about applications and groups that it has just heard of.
    fn recall(&mut self, py: Python<'_>, kept: BTreeMap<String, Vec<i64>>) -> PyResult<()> {
        self.core.as_mut().ok_or_else(|| to_py(py, gone()))?.recall(&Recollection(kept));
        Ok(())
    }

    /// Begins with a machine in this state, before anything has happened, and with what a policy remembers.
    #[pyo3(signature = (t_us, state, kept = None))]
    fn rebuild(
        &mut self,
        py: Python<'_>,
        t_us: i64,
        state: State,
        kept: Option<BTreeMap<String, Vec<i64>>>,
    ) -> PyResult<()> {
        let kept = Recollection(kept.unwrap_or_default());
        let holds = self.holds;
        let core = self.core.as_mut().ok_or_else(|| to_py(py, gone()))?;
        let snapshot = snapshot(core, state).map_err(|error| to_py(py, error))?;
        let work =
            |_: &mut dyn FnMut(&[f64]) -> ControlFlow<()>| core.rebuild(SimTime::from_micros(t_us), &snapshot, &kept);
        run_detached(py, holds, None, |_, _, _| Ok(()), work)
    }

    /// The next instant at which a step is wanted even if nothing is reported, microseconds.
    #[getter]
    fn next_us(&mut self, py: Python<'_>) -> PyResult<Option<i64>> {
        let core = self.core.as_mut().ok_or_else(|| to_py(py, gone()))?;
        Ok(core.next_time().filter(|&next| next < SimTime::NEVER).map(SimTime::micros))
    }

    /// Number of reports that came too late to change anything.
    #[getter]
    fn late(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.core.as_ref().ok_or_else(|| to_py(py, gone()))?.late())
    }
}

impl Live {
    fn copied(&self, py: Python<'_>) -> PyResult<(Core, Labels)> {
        let core = self.core.as_ref().ok_or_else(|| to_py(py, gone()))?;
        copies::forking(|| (core.clone(), copies::labels_of_fork(&self.labels)))
    }
}

fn gone() -> Error {
    Error::Simulation(SimulationError("this controller failed: nothing can be done with it".to_owned()))
}

fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Off => "off",
        Standing::Booting => "booting",
        Standing::Stopping => "stopping",
        Standing::Down => "down",
    }
}

fn snapshot(core: &Core, (waiting, running, over, held, nodes, budgets): State) -> Result<Snapshot> {
    let (jobs, count) = (core.cluster().workload().len(), core.nodes());
    let which = |(row, attempt): (i64, u32)| Ok::<_, Error>(Which { job: known(row, jobs)?, attempt });
    let at = SimTime::from_micros;
    for &node in running.iter().flat_map(|run| &run.1).chain(nodes.iter().map(|(node, _)| node)) {
        check_node(node, count)?;
    }
    let standing = |word: &str| match word {
        "off" => Ok(Standing::Off),
        "booting" => Ok(Standing::Booting),
        "stopping" => Ok(Standing::Stopping),
        "down" => Ok(Standing::Down),
        other => Err(config("snapshot.nodes", format!("`{other}`"), "one of off, booting, stopping, down")),
    };
    Ok(Snapshot {
        waiting: waiting.into_iter().map(|(own, since)| Ok((which(own)?, at(since)))).collect::<Result<_>>()?,
        running: (running.into_iter())
            .map(|(own, nodes, since)| Ok((which(own)?, nodes, at(since))))
            .collect::<Result<_>>()?,
        over: (over.into_iter()).map(|(own, ok, end)| Ok((which(own)?, ok, end.map(at)))).collect::<Result<_>>()?,
        held: held.into_iter().map(|row| known(row, jobs)).collect::<Result<_>>()?,
        nodes: nodes.into_iter().map(|(node, word)| Ok((node, standing(&word)?))).collect::<Result<_>>()?,
        budgets: (budgets.into_iter())
            .map(|(watts, from, until, announced)| BudgetRow {
                from: at(from),
                until: at(until),
                announced: at(announced),
                watts: Watts::of_system(watts),
            })
            .collect(),
    })
}

fn known(row: i64, jobs: usize) -> Result<JobId> {
    match u32::try_from(row) {
        Ok(row) if (row as usize) < jobs => Ok(JobId(row)),
        _ => Err(config("notices", format!("the job in row {row}"), "a job that was added")),
    }
}

fn check_node(node: u32, count: u32) -> Result<()> {
    let expected = || format!("a number below {count}");
    if node < count { Ok(()) } else { Err(config("notices", format!("node {node}"), expected())) }
}

fn report((kind, row, attempt, nodes, _, one, other): Told, jobs: usize, machine: u32) -> Result<Report> {
    let job = || known(row, jobs);
    nodes.iter().try_for_each(|&node| check_node(node, machine))?;
    let which = || Ok::<_, Error>(Which { job: job()?, attempt });
    let node = nodes.first().copied().unwrap_or_default();
    Ok(match kind.as_str() {
        "ended" => Report::Ended(which()?, one > 0.0),
        "start_failed" => Report::StartFailed(which()?, nodes),
        "node_up" => Report::NodeUp(node),
        "node_off" => Report::NodeOff(node),
        "node_down" => Report::NodeDown(node),
        "requeued" => Report::Requeued(job()?),
        "power" => Report::Power(Watts::of_system(one)),
        "budget" => {
            let from = Some(row).filter(|&from| from != NOW).map(SimTime::from_micros);
            Report::Budget(Watts::of_system(one), from, until(other))
        }
        "submitted" => Report::Submitted(job()?),
        "eligible" => Report::Eligible(job()?),
        "withdrawn" => Report::Withdrawn(job()?),
        "started" => Report::Started(which()?, nodes),
        other => return Err(config("notices", format!("`{other}`"), "a kind of notices")),
    })
}

/// Begin of a budget that begins now.
const NOW: i64 = i64::MIN;

/// Instant of a number of microseconds; never, if it is none.
#[expect(clippy::cast_possible_truncation, reason = "instants are whole microseconds within the range of the clock")]
fn until(micros: f64) -> SimTime {
    if micros.is_nan() { SimTime::NEVER } else { SimTime::from_micros(micros as i64) }
}

/// A page of a chronicle.
pub(crate) fn page(page: &Page) -> Sheet {
    let reports = page.reports.iter().map(|(report, how)| told(report, how.map_or("", |how| how.name())));
    (page.at.micros(), reports.collect(), page.orders.iter().map(order).collect())
}

fn told(report: &Report, word: &str) -> Told {
    let none = f64::NAN;
    let of_run = |kind: &str, which: &Which, nodes: &[u32]| {
        (kind.to_owned(), i64::from(which.job.0), which.attempt, nodes.to_vec(), word.to_owned(), none, none)
    };
    let of_job =
        |kind: &str, job: &JobId| (kind.to_owned(), i64::from(job.0), 0, Vec::new(), String::new(), none, none);
    let of_node = |kind: &str, number: &u32| (kind.to_owned(), -1, 0, vec![*number], String::new(), none, none);
    let of_power = |kind: &str, watts: &Watts, from: i64, until: f64| {
        (kind.to_owned(), from, 0, Vec::new(), String::new(), watts.watts(), until)
    };
    match report {
        Report::Ended(which, _) => of_run("ended", which, &[]),
        Report::StartFailed(which, nodes) => of_run("start_failed", which, nodes),
        Report::Started(which, nodes) => of_run("started", which, nodes),
        Report::NodeUp(number) => of_node("node_up", number),
        Report::NodeOff(number) => of_node("node_off", number),
        Report::NodeDown(number) => of_node("node_down", number),
        Report::Requeued(job) => of_job("requeued", job),
        Report::Submitted(job) => of_job("submitted", job),
        Report::Eligible(job) => of_job("eligible", job),
        Report::Withdrawn(job) => of_job("withdrawn", job),
        Report::Power(watts) => of_power("power", watts, -1, none),
        Report::Budget(watts, from, until) => {
            let until = if *until == SimTime::NEVER { none } else { until.micros() as f64 };
            of_power("budget", watts, from.map_or(NOW, SimTime::micros), until)
        }
    }
}

fn order(order: &HostOrder) -> Told {
    let none = f64::NAN;
    let of_run = |kind: &str, which: &Which, nodes: &[u32], why: &str| {
        (kind.to_owned(), i64::from(which.job.0), which.attempt, nodes.to_vec(), why.to_owned(), none, none)
    };
    let of_nodes = |kind: &str, nodes: &[u32]| (kind.to_owned(), -1, 0, nodes.to_vec(), String::new(), none, none);
    match order {
        HostOrder::Start { run, nodes, cap_w, granted_w } => {
            let (kind, row, attempt, nodes, why, ..) = of_run("start", run, nodes, "");
            (kind, row, attempt, nodes, why, cap_w.unwrap_or(none), granted_w.unwrap_or(none))
        }
        HostOrder::Reject(job, why) => {
            ("reject".to_owned(), i64::from(job.0), 0, Vec::new(), (*why).to_owned(), none, none)
        }
        HostOrder::Cap(which, cap_w) => {
            let (kind, row, attempt, nodes, why, _, other) = of_run("cap", which, &[], "");
            (kind, row, attempt, nodes, why, cap_w.unwrap_or(none), other)
        }
        HostOrder::Suspend(which) => of_run("suspend", which, &[], ""),
        HostOrder::Resume(which) => of_run("resume", which, &[], ""),
        HostOrder::Requeue(which) => of_run("requeue", which, &[], ""),
        HostOrder::Kill(which, why) => of_run("kill", which, &[], why),
        HostOrder::Resize(which, nodes) => of_run("resize", which, nodes, ""),
        HostOrder::Wake(nodes) => of_nodes("wake", nodes),
        HostOrder::Sleep(nodes) => of_nodes("sleep", nodes),
    }
}
