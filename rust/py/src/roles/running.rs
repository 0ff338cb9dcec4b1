//! The jobs that run, as columns.

use std::sync::Arc;

use hetsched_core::policy;
use hetsched_core::policy::allocator::draw_of;
use hetsched_core::policy::runs::{Run, RunId};
use hetsched_core::power::in_force::{Allotted, CapsInForce};
use numpy::{Element, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::roles::view::{Labels, Lender, Loan, fixed, seconds};

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

    /// These runs, in this order.
    pub(crate) fn of(runs: Vec<RunId>, lender: &Lender) -> Self {
        Self { runs, loan: Arc::clone(lender.loan()), labels: lender.labels().clone() }
    }

    /// A number for each run under a cap of its own, or one cap for all.
    fn under<'py>(
        &self,
        cap_w: &Bound<'py, PyAny>,
        value: impl Fn(policy::View<'_>, &Run, Allotted) -> f64,
    ) -> Floats<'py> {
        let py = cap_w.py();
        let each_w = match cap_w.extract::<f64>() {
            Ok(watts) => vec![watts; self.runs.len()],
            Err(_) => cap_w.extract::<Vec<f64>>()?,
        };
        if each_w.len() != self.runs.len() || each_w.iter().any(|watts| watts.is_nan()) {
            let what = format!("one cap for all, or {} caps, one a job, none of them NaN", self.runs.len());
            return Err(PyValueError::new_err(what));
        }
        let view = self.loan.read()?;
        let under = self.runs.iter().zip(each_w);
        let values = under.filter_map(|(&id, cap_w)| Some(value(view, view.runs.get(id)?, allotted(cap_w))));
        Ok(fixed(py, &values.collect::<Vec<_>>()))
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

/// A cap as an allocator sets it, W a node; infinity: none.
pub(crate) fn allotted(cap_w: f64) -> Allotted {
    if cap_w == f64::INFINITY { Allotted::None } else { Allotted::Watts(cap_w) }
}

/// The cap that an allocator has set, W a node; infinity: none.
fn set_w(run: &Run) -> f64 {
    match run.caps.allotted {
        Allotted::Watts(watts) => watts,
        Allotted::None | Allotted::Slowdown(_) => f64::INFINITY,
    }
}

/// How many times longer a run is predicted to take under an allocator's cap than under its own alone.
fn slowdown(view: policy::View<'_>, run: &Run, cap: Allotted) -> f64 {
    if !view.predicted.has_caps() {
        return 1.0;
    }
    let of = view.profile(run.job);
    let pace = |caps: CapsInForce| {
        let nodes = view.runs.nodes(run).iter();
        view.predicted.slowest_under(of.app, of.own, nodes.map(|&node| (node, caps.on(view.predicted, of, node))))
    };
    let own = CapsInForce::own(run.caps.own_w);
    pace(own.allotting(cap)) / pace(own)
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

    /// Caps in force that an allocator has set, W a node; infinite: none.
    #[getter]
    fn cap_w<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |_, run| set_w(run))
    }

    /// Their own caps, W a node; infinite: none.
    #[getter]
    fn own_cap_w<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |_, run| run.caps.own_w)
    }

    /// Caps in force of an emergency, W a node; infinite: none.
    #[getter]
    fn emergency_cap_w<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |_, run| run.caps.emergency_w)
    }

    /// What each is predicted to draw beyond its idle nodes if an allocator caps it, W: under one cap for all, or one each.
    fn draw_w<'py>(&self, cap_w: &Bound<'py, PyAny>) -> Floats<'py> {
        self.under(cap_w, |view, run, cap| draw_of(&view, run, cap).watts())
    }

    /// How many times longer each is predicted to take then than under its own cap alone.
    fn slowdown<'py>(&self, cap_w: &Bound<'py, PyAny>) -> Floats<'py> {
        self.under(cap_w, slowdown)
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
