//! Session: a run under way, stepped, forked and finished from Python.

use hetsched_core::sim::event::Event;
use hetsched_core::sim::{Progress, Simulation};
use hetsched_core::units::SimTime;
use hetsched_core::workload::JobId;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::columns::{BudgetColumns, MaintenanceColumns, budget_rows, instant, maintenance_rows, number};
use crate::errors::{gone, to_py};
use crate::live::{self, Sheet};
use crate::roles::copies;
use crate::roles::labels::Labels;
use crate::run::{Records, run_detached};
use crate::setup::{Ingredients, RunSetup};

type Floats<'py> = PyReadonlyArray1<'py, f64>;
type Longs<'py> = PyReadonlyArray1<'py, i64>;

/// Jobs on a machine under a policy, up to some instant.
#[pyclass(module = "hetsched._core")]
pub(crate) struct Session {
    /// The run; `None` once an instant has failed or the run was used up.
    pub(crate) simulation: Option<Simulation>,
    /// Instant up to which all events have happened.
    pub(crate) reached: SimTime,
    /// True if parts of its policy are Python objects, so that it runs with the interpreter held.
    pub(crate) holds: bool,
    /// Labels of jobs that these know besides the core's columns.
    pub(crate) labels: Labels,
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (setup, *, succeeds = None, extends = None))]
    fn new(
        py: Python<'_>,
        setup: &mut RunSetup,
        succeeds: Option<PyRef<'_, Self>>,
        extends: Option<PyRefMut<'_, Self>>,
    ) -> PyResult<Self> {
        let mut given = setup.take(py)?;
        let (labels, holds, rejects) = (given.labels(), given.objects.is_any(), given.rejects_between);
        if let Some(mut session) = extends {
            return session.extended(py, &mut given);
        }
        let before = succeeds.map(|session| session.forked(py)).transpose()?;
        let (before, reached) = before.map_or((None, BEFORE), |(run, reached)| (Some(run), reached));
        let setup = given.setup(py)?;
        let simulation = run_detached(
            py,
            false,
            None,
            |_, _, _| Ok(()),
            |_| {
                if let Some(run) = before {
                    return setup.succeeding(run, reached);
                }
                let mut simulation = setup.simulation()?;
                if let Some(rejects) = rejects {
                    simulation.budgets_go_on(rejects);
                }
                Ok(simulation)
            },
        )?;
        Ok(Self { reached, simulation: Some(simulation), holds, labels })
    }

    /// Runs up to and including `time_s`; None: to the end. True if no event is left.
    #[pyo3(signature = (time_s, *, progress = None))]
    fn step_until(
        &mut self,
        py: Python<'_>,
        time_s: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let until = time_s.map_or(Ok(SimTime::NEVER), |seconds| instant("t_s", seconds));
        let until = until.map_err(|error| to_py(py, error))?;
        let mut simulation = self.simulation.take().ok_or_else(|| to_py(py, gone()))?;
        let tell = |py: Python<'_>, progress: &Py<PyAny>, n: &[f64]| progress.call1(py, (n[0], n[1], n[2])).map(drop);
        let stepped = run_detached(py, self.holds, progress, tell, |look| {
            simulation
                .step_until(until, &mut |Progress { done, jobs, now }| look(&[done as f64, jobs as f64, now.seconds()]))
        });
        let reached = if stepped.is_ok() { until } else { simulation.now() };
        self.reached = self.reached.max(reached);
        self.simulation = Some(simulation).filter(|simulation| !simulation.is_broken());
        stepped
    }

    /// Schedules failures and repairs of nodes, in order of time, and adds budgets, windows of maintenance, withdrawals
    /// of jobs (by their rows) and holds (begins and ends), in which nothing is decided.
    #[pyo3(signature = (time_s, node, fails, *, budgets = None, maintenance = None, cancels = None, holds = None))]
    #[expect(clippy::too_many_arguments, reason = "one a kind")]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
    fn inject(
        &mut self,
        py: Python<'_>,
        time_s: PyReadonlyArray1<'_, f64>,
        node: PyReadonlyArray1<'_, i64>,
        fails: PyReadonlyArray1<'_, bool>,
        budgets: Option<BudgetColumns<'_>>,
        maintenance: Option<MaintenanceColumns<'_>>,
        cancels: Option<(Floats<'_>, Longs<'_>)>,
        holds: Option<(Floats<'_>, Floats<'_>)>,
    ) -> PyResult<()> {
        let rows = budgets.map(|columns| budget_rows(py, &columns)).transpose()?;
        let windows = maintenance.map(|columns| maintenance_rows(py, &columns)).transpose()?;
        let simulation = self.simulation.as_mut().ok_or_else(|| to_py(py, gone()))?;
        for ((&seconds, &node), &fails) in time_s.as_array().iter().zip(node.as_array()).zip(fails.as_array()) {
            let at = instant("time_s", seconds).map_err(|error| to_py(py, error))?;
            let node = number("node", node).map_err(|error| to_py(py, error))?;
            simulation.schedule(at, if fails { Event::NodeFailed(node) } else { Event::NodeRepaired(node) });
        }
        if let Some((time_s, row)) = cancels {
            for (&seconds, &row) in time_s.as_array().iter().zip(row.as_array()) {
                let at = instant("time_s", seconds).map_err(|error| to_py(py, error))?;
                let row = number("row", row).map_err(|error| to_py(py, error))?;
                simulation.schedule(at, Event::Cancel(JobId(row)));
            }
        }
        if let Some((from, until)) = holds {
            for (&from, &until) in from.as_array().iter().zip(until.as_array()) {
                let from = instant("time_s", from).map_err(|error| to_py(py, error))?;
                simulation.add_hold(from, instant("until_s", until).map_err(|error| to_py(py, error))?);
            }
        }
        if let Some(windows) = windows {
            simulation.add_maintenance(windows);
        }
        if let Some(rows) = rows {
            simulation.add_budgets(rows);
        }
        Ok(())
    }

    /// Forks the run: a copy that is independent from here on.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        let (simulation, labels) = self.copied(py)?;
        Ok(Self { simulation: Some(simulation), reached: self.reached, holds: self.holds, labels })
    }

    /// True if anything has happened.
    #[getter]
    fn has_begun(&self, py: Python<'_>) -> PyResult<bool> {
        self.simulation.as_ref().map(Simulation::has_begun).ok_or_else(|| to_py(py, gone()))
    }

    /// True if no event is left.
    #[getter]
    fn is_over(&mut self, py: Python<'_>) -> PyResult<bool> {
        self.simulation.as_mut().map(Simulation::has_ended).ok_or_else(|| to_py(py, gone()))
    }

    /// The last instant at which anything happened, seconds.
    #[getter]
    fn now_s(&self, py: Python<'_>) -> PyResult<f64> {
        self.simulation.as_ref().map(|simulation| simulation.now().seconds()).ok_or_else(|| to_py(py, gone()))
    }

    /// Number of jobs in a final state; and true if nothing runs and no job is to be submitted, so that the others only
    /// wait.
    #[getter]
    fn standing(&self, py: Python<'_>) -> PyResult<(usize, bool)> {
        let simulation = self.simulation.as_ref().ok_or_else(|| to_py(py, gone()))?;
        Ok((simulation.done(), simulation.only_waits()))
    }

    /// Keeps from now on what a live machine would report, and what it would be ordered.
    fn chronicle(&mut self, py: Python<'_>) -> PyResult<()> {
        self.simulation.as_mut().ok_or_else(|| to_py(py, gone()))?.chronicle();
        Ok(())
    }

    /// Takes the pages of the chronicle so far, one an instant: microseconds, reports and orders.
    fn take_pages(&mut self, py: Python<'_>) -> PyResult<Vec<Sheet>> {
        let simulation = self.simulation.as_mut().ok_or_else(|| to_py(py, gone()))?;
        Ok(simulation.take_pages().iter().map(live::page).collect())
    }

    /// Records of the run as if it stopped here; the run itself is used up.
    fn take_records(&mut self, py: Python<'_>) -> PyResult<Records> {
        let simulation = self.simulation.take().ok_or_else(|| to_py(py, gone()))?;
        let reached = self.reached;
        let records = run_detached(py, self.holds, None, |_, _, _| Ok(()), |_| simulation.finish(reached))?;
        Records::new(py, records)
    }
}

impl Session {
    /// Its run with more jobs. If these cannot join it, it keeps its run as it was.
    fn extended(&mut self, py: Python<'_>, given: &mut Ingredients) -> PyResult<Self> {
        let (labels, holds) = (given.labels(), given.objects.is_any());
        let setup = given.setup(py)?;
        let run = self.simulation.as_mut().ok_or_else(|| to_py(py, gone()))?;
        run_detached(py, false, None, |_, _, _| Ok(()), |_| setup.extending(run))?;
        self.labels.become_like(&labels);
        Ok(Self { reached: self.reached, simulation: self.simulation.take(), holds, labels: self.labels.clone() })
    }

    /// A copy of the run, and the instant up to which all events have happened.
    fn forked(&self, py: Python<'_>) -> PyResult<(Simulation, SimTime)> {
        self.copied(py).map(|(simulation, _)| (simulation, self.reached))
    }

    /// A copy of the run, and the labels of jobs that its objects know.
    fn copied(&self, py: Python<'_>) -> PyResult<(Simulation, Labels)> {
        let simulation = self.simulation.as_ref().ok_or_else(|| to_py(py, gone()))?;
        copies::forking(|| (simulation.clone(), copies::labels_of_fork(&self.labels)))
    }
}

/// Instant before all events.
const BEFORE: SimTime = SimTime::from_micros(i64::MIN);
