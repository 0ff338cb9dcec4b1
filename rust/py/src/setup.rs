//! Setup of a run: jobs, machine, policy and options, which a session and a live controller have alike.

use std::sync::Arc;

use hetsched_core::error::{Result, config};
use hetsched_core::platform::cells::Cells;
use hetsched_core::platform::queues::Queues;
use hetsched_core::policy::agent::choices::Choices;
use hetsched_core::policy::registry::PolicySpec;
use hetsched_core::power::budgets::BudgetRow;
use hetsched_core::power::pvt::OnUnknownApp;
use hetsched_core::sim::options::{OnFailure, Options, Walltimes, kill_grace};
use hetsched_core::sim::setup::{Setup, Tables};
use hetsched_core::units::SimTime;
use hetsched_core::workload::Workload;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{BudgetColumns, JobColumns, Machine, budget_rows, instant};
use crate::errors::{gone, to_py};
use crate::parts::{choices, policy_spec};
use crate::roles::Objects;
use crate::roles::labels::Labels;

/// Indices into a list of names, one per job, -1 for unknown; and the names.
type Codes<'py> = (PyReadonlyArray1<'py, i64>, Vec<String>);

fn codes(column: Option<Codes<'_>>) -> (Vec<i64>, Vec<String>) {
    column.map(|(codes, names)| (codes.as_array().to_vec(), names)).unwrap_or_default()
}

/// Ingredients of a run, from which one run is made.
#[pyclass(module = "hetsched._core")]
pub(crate) struct RunSetup(Option<Ingredients>);

/// Ingredients of a run, as the core takes them.
pub(crate) struct Ingredients {
    workload: Arc<Workload>,
    machine: Py<Machine>,
    spec: PolicySpec,
    /// Parts of the policy that are Python objects.
    pub(crate) objects: Objects,
    seed: u64,
    options: Options,
    unknown: OnUnknownApp,
    forecast_w: Option<Vec<f64>>,
    budgets: Option<Vec<BudgetRow>>,
    /// True if jobs that fit between no two budgets are rejected; none: budgets do not go on like this.
    pub(crate) rejects_between: Option<bool>,
    agent: Option<Choices>,
    cells: Option<Cells>,
    queues: Option<Queues>,
    groups: Option<Arc<[u32]>>,
    from: Option<SimTime>,
}

#[pymethods]
impl RunSetup {
    #[new]
    #[pyo3(signature = (jobs, machine, policy, *, seed = 0, kill_at_walltime = true, kill_grace_s = 0.0,
        walltimes = "fixed", on_failure = "fail", on_unknown_app = "error", until_s = None, known_w = None,
        budgets = None, unfit = None, agent = None, users = None, accounts = None, queues = None, cells = None,
        queueing = None, groups = None, from_s = None))]
    #[expect(clippy::too_many_arguments, reason = "one an option")]
    fn new(
        py: Python<'_>,
        jobs: &JobColumns,
        machine: Py<Machine>,
        policy: &Bound<'_, PyDict>,
        seed: u64,
        kill_at_walltime: bool,
        kill_grace_s: f64,
        walltimes: &str,
        on_failure: &str,
        on_unknown_app: &str,
        until_s: Option<f64>,
        known_w: Option<PyReadonlyArray1<'_, f64>>,
        budgets: Option<BudgetColumns<'_>>,
        unfit: Option<&str>,
        agent: Option<&Bound<'_, PyDict>>,
        users: Option<Codes<'_>>,
        accounts: Option<Codes<'_>>,
        queues: Option<Codes<'_>>,
        cells: Option<&Bound<'_, PyDict>>,
        queueing: Option<&Bound<'_, PyDict>>,
        groups: Option<PyReadonlyArray1<'_, u32>>,
        from_s: Option<f64>,
    ) -> PyResult<Self> {
        let (count, nodes) = (jobs.0.len(), machine.get().platform.len());
        let options = || {
            Ok(Options {
                kill_at_walltime,
                kill_grace: kill_grace(kill_grace_s)?,
                walltimes: Walltimes::from_name(walltimes)?,
                on_failure: OnFailure::from_name(on_failure)?,
                until: until_s.map_or(Ok(SimTime::NEVER), |seconds| instant("until_s", seconds))?,
            })
        };
        let labels = Labels::new(codes(users), codes(accounts), codes(queues), jobs.0.app_names());
        Ok(Self(Some(Ingredients {
            workload: Arc::clone(&jobs.0),
            spec: policy_spec(policy)?,
            objects: Objects::of(policy, labels)?,
            seed,
            options: options().map_err(|error| to_py(py, error))?,
            unknown: OnUnknownApp::from_name(on_unknown_app).map_err(|error| to_py(py, error))?,
            forecast_w: known_w.map(|watts| watts.as_array().to_vec()),
            budgets: budgets.map(|columns| budget_rows(py, &columns)).transpose()?,
            rejects_between: unfit.map(|unfit| unfit == "reject"),
            agent: agent.map(choices).transpose()?,
            cells: cells.map(|given| crate::cells::read(given, count, nodes)).transpose()?,
            queues: queueing.map(|given| crate::queueing::read(given, count, nodes)).transpose()?,
            groups: groups.map(|groups| groups.as_array().iter().copied().collect()),
            from: from_s.map(|at| instant("from_s", at)).transpose().map_err(|error| to_py(py, error))?,
            machine,
        })))
    }
}

impl RunSetup {
    /// Takes the ingredients, of which one run is made.
    pub(crate) fn take(&mut self, py: Python<'_>) -> PyResult<Ingredients> {
        self.0.take().ok_or_else(|| to_py(py, gone()))
    }
}

impl Ingredients {
    /// Labels of jobs that the objects may know besides the core's columns.
    pub(crate) fn labels(&self) -> Labels {
        self.objects.labels.clone()
    }

    /// Checks that nothing is given that only a simulated run has.
    pub(crate) fn check_live(&self) -> Result<()> {
        let only = [
            ("until_s", self.options.until != SimTime::NEVER),
            ("budgets", self.budgets.is_some()),
            ("agent", self.agent.is_some()),
            ("from_s", self.from.is_some()),
        ];
        match only.into_iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => Err(config(name, "a value", "none: only a simulated run has it")),
            None => Ok(()),
        }
    }

    /// The setup of the core, which takes most of them.
    pub(crate) fn setup(&mut self, py: Python<'_>) -> PyResult<Setup<'_>> {
        let own = self.objects.parts(py, &self.spec.name, &self.workload)?;
        let Machine { platform, actual, predicted, caps, known_draws: known } = self.machine.get();
        Ok(Setup {
            workload: &self.workload,
            platform,
            tables: Tables {
                actual: actual.as_ref(),
                predicted: predicted.as_ref(),
                caps,
                unknown: self.unknown,
                known: *known,
                forecast_w: self.forecast_w.take(),
            },
            spec: self.spec.clone(),
            seed: self.seed,
            options: self.options,
            agent: self.agent.take(),
            cells: self.cells.take(),
            queues: self.queues.take(),
            budgets: self.budgets.take(),
            groups: self.groups.take(),
            from: self.from,
            own,
        })
    }
}
