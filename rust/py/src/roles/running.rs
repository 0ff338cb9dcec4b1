//! The jobs that run, as columns.

use std::sync::Arc;

use hetsched_core::policy;
use hetsched_core::policy::runs::{Run, RunId};
use numpy::{Element, PyArray1};
use pyo3::prelude::*;

use crate::roles::view::{Labels, Loan, fixed, seconds};

/// The jobs that run, by start: each attribute a read-only array. To be read while the call lasts.
#[pyclass(frozen, module = "hetsched._core")]
pub(crate) struct Running {
    runs: Vec<RunId>,
    loan: Arc<Loan>,
    labels: Labels,
}

type Longs<'py> = PyResult<Bound<'py, PyArray1<i64>>>;
type Floats<'py> = PyResult<Bound<'py, PyArray1<f64>>>;

impl Running {
    pub(crate) fn new(loan: &Arc<Loan>, labels: &Labels) -> PyResult<Self> {
        let view = loan.read()?;
        let mut runs: Vec<_> = view.runs.iter().map(|(id, run)| ((run.started, run.job.0), id)).collect();
        runs.sort_unstable_by_key(|(key, _)| *key);
        let runs = runs.into_iter().map(|(_, id)| id).collect();
        Ok(Self { runs, loan: Arc::clone(loan), labels: labels.clone() })
    }

    fn each<T>(&self, value: impl Fn(policy::View<'_>, &Run) -> T) -> PyResult<Vec<T>> {
        let view = self.loan.read()?;
        Ok(self.runs.iter().filter_map(|&id| Some(value(view, view.runs.get(id)?))).collect())
    }

    fn column<'py, T: Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(policy::View<'_>, &Run) -> T,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        Ok(fixed(py, &self.each(value)?))
    }
}

#[pymethods]
impl Running {
    fn __len__(&self) -> usize {
        self.runs.len()
    }

    /// Their numbers in the log.
    #[getter]
    fn job_id<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, run| view.jobs.job_id(run.job))
    }

    /// Starts, seconds on the log's clock.
    #[getter]
    fn start_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |_, run| run.started.seconds())
    }

    /// Planned ends, seconds on the log's clock; one that has passed is of a job that runs longer than planned.
    #[getter]
    fn planned_end_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |_, run| seconds(run.planned_end))
    }

    /// Numbers of nodes.
    #[getter]
    fn node_count<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, run| i64::from(view.jobs.node_count(run.job)))
    }

    /// Slots that they take of each of their nodes; 1 where jobs get whole nodes.
    #[getter]
    fn slots<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, run| i64::from(view.jobs.need(run.job, view.platform)))
    }

    /// Applications, as places in `View.apps`; -1: unknown.
    #[getter]
    fn app<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, run| view.jobs.app(run.job).map_or(-1, |app| i64::from(app.0)))
    }

    /// Users, as places in `View.users`; -1: unknown.
    #[getter]
    fn user<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |_, run| self.labels.user(run.job))
    }

    /// The nodes of all, one job's after the other's, each job's ascending.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> Longs<'py> {
        let nodes = self.each(|view, run| view.runs.nodes(run).to_vec())?;
        Ok(fixed(py, &nodes.into_iter().flatten().map(i64::from).collect::<Vec<_>>()))
    }

    /// Where in `nodes` those of each begin, and where those of the last end.
    #[getter]
    fn node_offsets<'py>(&self, py: Python<'py>) -> Longs<'py> {
        let counts = self.each(|view, run| i64::from(view.jobs.node_count(run.job)))?;
        let ends = counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        });
        Ok(fixed(py, &[0].into_iter().chain(ends).collect::<Vec<_>>()))
    }
}
