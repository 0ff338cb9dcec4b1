//! Jobs as columns, and single jobs, as they stated they are at their submission.

use std::sync::Arc;

use hetsched_core::policy;
use hetsched_core::policy::usage::Over;
use hetsched_core::units::SimDuration;
use hetsched_core::workload::JobId;
use numpy::{Element, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::roles::arrays::fixed;
use crate::roles::labels::Labels;
use crate::roles::loan::Loan;

/// Jobs as columns: each attribute is a read-only array with one value per job. Readable during the call only.
#[pyclass(frozen, subclass, module = "hetsched.roles")]
pub(crate) struct Jobs {
    pub(crate) rows: Vec<JobId>,
    pub(crate) loan: Arc<Loan>,
    pub(crate) labels: Labels,
    /// Measured draws of jobs that are over, W per node; NaN if nothing was measured.
    pub(crate) drew: Option<Vec<f64>>,
}

/// Jobs that have ended: the columns of all jobs, and their outcomes.
#[pyclass(frozen, extends = Jobs, module = "hetsched.roles")]
pub(crate) struct Ended {
    over: Vec<Over>,
    /// Slots of a node.
    slots: u32,
}

/// One job, with attributes of the same names as the columns of several. Readable during the call only.
#[pyclass(frozen, module = "hetsched.roles")]
pub(crate) struct Job {
    pub(crate) row: JobId,
    pub(crate) loan: Arc<Loan>,
    pub(crate) labels: Labels,
}

type Longs<'py> = PyResult<Bound<'py, PyArray1<i64>>>;
type Floats<'py> = PyResult<Bound<'py, PyArray1<f64>>>;

fn app(view: &policy::View<'_>, job: JobId) -> i64 {
    view.jobs.app(job).map_or(-1, |app| i64::from(app.0))
}

fn walltime_s(view: &policy::View<'_>, job: JobId) -> f64 {
    view.jobs.walltime(job).map_or(f64::NAN, SimDuration::seconds)
}

fn slots(view: &policy::View<'_>, job: JobId) -> i64 {
    i64::from(view.jobs.need(job, view.platform))
}

fn power_w(view: &policy::View<'_>, job: JobId) -> f64 {
    view.known_draw(job).stated().unwrap_or(f64::NAN)
}

pub(crate) fn range(view: &policy::View<'_>, job: JobId) -> (i64, i64) {
    let (low, high) = view.size_range(job);
    (i64::from(low), i64::from(high))
}

pub(crate) fn time_ratio(view: &policy::View<'_>, job: JobId, nodes: i64) -> PyResult<f64> {
    let (low, high) = range(view, job);
    match u32::try_from(nodes) {
        Ok(count) if (low..=high).contains(&nodes) => Ok(view.jobs.time_at(job, count)),
        _ => Err(PyValueError::new_err(format!(
            "job {} runs on {low} to {high} nodes, not {nodes}",
            view.jobs.job_id(job)
        ))),
    }
}

fn want(view: &policy::View<'_>, job: JobId) -> i64 {
    view.shares.map_or(0, |shares| i64::try_from(shares.cells().number(job)).unwrap_or(i64::MAX))
}

impl Jobs {
    fn column<'py, T: Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(&policy::View<'_>, JobId) -> T,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        let view = self.loan.read()?;
        Ok(fixed(py, &self.rows.iter().map(|&job| value(&view, job)).collect::<Vec<_>>()))
    }
}

#[pymethods]
impl Jobs {
    fn __repr__(&self) -> String {
        format!("<Jobs: {}>", self.rows.len())
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// Their numbers in the log.
    #[getter]
    fn job_id<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, job| view.jobs.job_id(job))
    }

    /// Submit times, seconds on the log's clock.
    #[getter]
    fn submit_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |view, job| view.jobs.submit(job).seconds())
    }

    /// Times at which they joined the queue, seconds on the log's clock: their submit times, unless they waited for
    /// something.
    #[getter]
    fn eligible_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |view, job| view.jobs.eligible(job).seconds())
    }

    /// Planned lengths, seconds: walltimes, or nominal runtimes of jobs without one.
    #[getter]
    fn planned_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |view, job| view.jobs.planned(job).seconds())
    }

    /// Walltimes, seconds; NaN for jobs without one.
    #[getter]
    fn walltime_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, walltime_s)
    }

    /// Numbers of nodes.
    #[getter]
    fn node_count<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, job| i64::from(view.jobs.node_count(job)))
    }

    /// Slots that they take of each of their nodes; 1 if jobs get whole nodes.
    #[getter]
    fn slots<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, slots)
    }

    /// Applications, as places in `View.apps`; -1: unknown.
    #[getter]
    fn app<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, app)
    }

    /// Users, as places in `View.users`; -1: unknown.
    #[getter]
    fn user<'py>(&self, py: Python<'py>) -> Longs<'py> {
        let labels = self.labels.columns();
        self.column(py, |_, job| labels.user(job))
    }

    /// Accounts, as places in `View.accounts`; -1: unknown.
    #[getter]
    fn account<'py>(&self, py: Python<'py>) -> Longs<'py> {
        let labels = self.labels.columns();
        self.column(py, |_, job| labels.account(job))
    }

    /// Queues, as places in `View.queues`; -1: unknown.
    #[getter]
    fn queue<'py>(&self, py: Python<'py>) -> Longs<'py> {
        let labels = self.labels.columns();
        self.column(py, |_, job| labels.queue(job))
    }

    /// Numbers of nodes that they ask for.
    #[getter]
    fn asked_nodes<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, job| i64::from(view.jobs.asked_nodes(job)))
    }

    /// Fewest nodes that they can run on.
    #[getter]
    fn min_nodes<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, job| range(view, job).0)
    }

    /// Most nodes that they can run on.
    #[getter]
    fn max_nodes<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, job| range(view, job).1)
    }

    /// True for jobs whose nodes may change while they run.
    #[getter]
    fn malleable<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        self.column(py, |view, job| view.jobs.is_malleable(job))
    }

    /// Pauses in their progress after such a change, seconds.
    #[getter]
    fn resize_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |view, job| view.jobs.pause(job).seconds())
    }

    /// Length of each on so many nodes, one number per job, relative to that on the nodes it asks for.
    #[expect(clippy::needless_pass_by_value, reason = "what Python gives")]
    fn size_time_ratio<'py>(&self, py: Python<'py>, node_count: Vec<i64>) -> Floats<'py> {
        if node_count.len() != self.rows.len() {
            return Err(PyValueError::new_err(format!(
                "{} numbers of nodes for {} jobs",
                node_count.len(),
                self.rows.len()
            )));
        }
        let view = self.loan.read()?;
        let each = self.rows.iter().zip(&node_count).map(|(&job, &nodes)| time_ratio(&view, job, nodes));
        Ok(fixed(py, &each.collect::<PyResult<Vec<_>>>()?))
    }

    /// Known draws of their own, W per node; NaN if unknown. For jobs that are over, the measured draws.
    #[getter]
    fn power_w<'py>(&self, py: Python<'py>) -> Floats<'py> {
        match &self.drew {
            Some(drew) => Ok(fixed(py, drew)),
            None => self.column(py, power_w),
        }
    }

    /// Their own caps, W per node; infinite for jobs without one.
    #[getter]
    fn cap_w<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |view, job| view.jobs.cap_w(job))
    }

    /// True for jobs that compute on accelerators.
    #[getter]
    fn on_gpu<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        self.column(py, |view, job| view.jobs.on_gpu(job))
    }

    /// Their requests of nodes that differ, as numbers for `View.may_use`; 0 if nodes do not differ.
    #[getter]
    fn want<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, want)
    }
}

impl Ended {
    /// The same jobs with their ends, on nodes with so many slots.
    pub(crate) fn of(jobs: Jobs, over: Vec<Over>, slots: u32) -> PyClassInitializer<Self> {
        let drew = over.iter().map(|over| over.drew.stated().unwrap_or(f64::NAN)).collect();
        PyClassInitializer::from(Jobs { drew: Some(drew), ..jobs }).add_subclass(Self { over, slots })
    }

    fn each<'py, T: Element>(&self, py: Python<'py>, value: impl Fn(&Over) -> T) -> Bound<'py, PyArray1<T>> {
        fixed(py, &self.over.iter().map(value).collect::<Vec<_>>())
    }
}

#[pymethods]
impl Ended {
    fn __repr__(&self) -> String {
        format!("<Ended: {}>", self.over.len())
    }

    /// Times at which they started, seconds on the log's clock.
    #[getter]
    fn start_s<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |over| over.started.seconds())
    }

    /// Times at which they ended, seconds on the log's clock.
    #[getter]
    fn end_s<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |over| over.ended.seconds())
    }

    /// Times for which they ran, seconds, less those in which they were suspended.
    #[getter]
    fn runtime_s<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |over| over.ran.seconds())
    }

    /// Node-seconds that they used meanwhile; of a shared node, the share of its slots.
    #[getter]
    fn used_node_s<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.each(py, |over| over.used / 1e6 / f64::from(self.slots))
    }

    /// True for each that is in the queue again, as its nodes failed or it was preempted.
    #[getter]
    fn requeued<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.each(py, |over| over.requeued)
    }
}

impl Job {
    fn value<T>(&self, value: impl FnOnce(&policy::View<'_>, JobId) -> T) -> PyResult<T> {
        Ok(value(&self.loan.read()?, self.row))
    }
}

#[pymethods]
impl Job {
    fn __repr__(&self) -> String {
        let told = |view: &policy::View<'_>, job| {
            let (count, planned) = (view.jobs.node_count(job), view.jobs.planned(job).seconds());
            format!("<Job {}: {count} nodes, {planned} s>", view.jobs.job_id(job))
        };
        self.value(told).unwrap_or_else(|_| "<Job, to be read in the call that it was given to>".to_owned())
    }

    /// Its number in the log.
    #[getter]
    fn job_id(&self) -> PyResult<i64> {
        self.value(|view, job| view.jobs.job_id(job))
    }

    /// Submit time, seconds on the log's clock.
    #[getter]
    fn submit_s(&self) -> PyResult<f64> {
        self.value(|view, job| view.jobs.submit(job).seconds())
    }

    /// Time at which it joined the queue, seconds on the log's clock: its submit time, unless it waited for something.
    #[getter]
    fn eligible_s(&self) -> PyResult<f64> {
        self.value(|view, job| view.jobs.eligible(job).seconds())
    }

    /// Planned length, seconds: its walltime, or its nominal runtime if it has none.
    #[getter]
    fn planned_s(&self) -> PyResult<f64> {
        self.value(|view, job| view.jobs.planned(job).seconds())
    }

    /// Walltime, seconds; NaN if it has none.
    #[getter]
    fn walltime_s(&self) -> PyResult<f64> {
        self.value(walltime_s)
    }

    /// Number of nodes.
    #[getter]
    fn node_count(&self) -> PyResult<u32> {
        self.value(|view, job| view.jobs.node_count(job))
    }

    /// Slots that it takes of each of its nodes; 1 if jobs get whole nodes.
    #[getter]
    fn slots(&self) -> PyResult<i64> {
        self.value(slots)
    }

    /// Its application, as a place in `View.apps`; -1: unknown.
    #[getter]
    fn app(&self) -> PyResult<i64> {
        self.value(app)
    }

    /// Its user, as a place in `View.users`; -1: unknown.
    #[getter]
    fn user(&self) -> i64 {
        self.labels.columns().user(self.row)
    }

    /// Its account, as a place in `View.accounts`; -1: unknown.
    #[getter]
    fn account(&self) -> i64 {
        self.labels.columns().account(self.row)
    }

    /// Its queue, as a place in `View.queues`; -1: unknown.
    #[getter]
    fn queue(&self) -> i64 {
        self.labels.columns().queue(self.row)
    }

    /// Number of nodes that it asks for.
    #[getter]
    fn asked_nodes(&self) -> PyResult<u32> {
        self.value(|view, job| view.jobs.asked_nodes(job))
    }

    /// Fewest nodes that it can run on.
    #[getter]
    fn min_nodes(&self) -> PyResult<i64> {
        self.value(|view, job| range(view, job).0)
    }

    /// Most nodes that it can run on.
    #[getter]
    fn max_nodes(&self) -> PyResult<i64> {
        self.value(|view, job| range(view, job).1)
    }

    /// True if its nodes may change while it runs.
    #[getter]
    fn malleable(&self) -> PyResult<bool> {
        self.value(|view, job| view.jobs.is_malleable(job))
    }

    /// Pause in its progress after such a change, seconds.
    #[getter]
    fn resize_s(&self) -> PyResult<f64> {
        self.value(|view, job| view.jobs.pause(job).seconds())
    }

    /// Its length on so many nodes, relative to that on the nodes it asks for.
    fn size_time_ratio(&self, node_count: i64) -> PyResult<f64> {
        time_ratio(&self.loan.read()?, self.row, node_count)
    }

    /// Known draw of its own, W per node; NaN if unknown.
    #[getter]
    fn power_w(&self) -> PyResult<f64> {
        self.value(power_w)
    }

    /// Its own cap, W per node; infinite if it has none.
    #[getter]
    fn cap_w(&self) -> PyResult<f64> {
        self.value(|view, job| view.jobs.cap_w(job))
    }

    /// True if it computes on accelerators.
    #[getter]
    fn on_gpu(&self) -> PyResult<bool> {
        self.value(|view, job| view.jobs.on_gpu(job))
    }

    /// Its request of nodes that differ, as a number for `View.may_use`; 0 if nodes do not differ.
    #[getter]
    fn want(&self) -> PyResult<i64> {
        self.value(want)
    }
}
