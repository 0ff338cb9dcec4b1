//! Running jobs as columns.

use std::sync::Arc;

use hetsched_core::cluster::counted::Counted;
use hetsched_core::cluster::runs::{Run, RunId};
use hetsched_core::policy;
use hetsched_core::policy::allocator::draw_of;
use hetsched_core::power::in_force::{Allotted, CapsInForce, NodeCaps};
use numpy::{Element, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::roles::arrays::{fixed, seconds};
use crate::roles::jobs::{range, time_ratio};
use crate::roles::labels::Labels;
use crate::roles::loan::Loan;

/// The running jobs, by start: each attribute is a read-only array. Readable during the call only.
#[pyclass(frozen, module = "hetsched.roles")]
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
    pub(crate) fn of(runs: Vec<RunId>, loan: &Arc<Loan>, labels: &Labels) -> Self {
        Self { runs, loan: Arc::clone(loan), labels: labels.clone() }
    }

    /// A number for each run, under one cap per run, one per node of each, or one for all.
    fn under<'py>(
        &self,
        cap_w: &Bound<'py, PyAny>,
        value: impl Fn(&policy::View<'_>, &Run, &Allotted) -> f64,
    ) -> Floats<'py> {
        self.many_under(cap_w, |view, run, cap, values| values.push(value(view, run, cap)))
    }

    /// Several numbers for each run, under such caps.
    fn many_under<'py>(
        &self,
        cap_w: &Bound<'py, PyAny>,
        add: impl Fn(&policy::View<'_>, &Run, &Allotted, &mut Vec<f64>),
    ) -> Floats<'py> {
        let py = cap_w.py();
        let each_w = match cap_w.extract::<f64>() {
            Ok(watts) => vec![watts; self.runs.len()],
            Err(_) => cap_w.extract::<Vec<f64>>()?,
        };
        let view = self.loan.read()?;
        let runs: Vec<_> = self.runs.iter().filter_map(|&id| view.runs.get(id)).collect();
        let nodes = node_total(&view, &runs);
        if ![runs.len(), nodes].contains(&each_w.len()) || each_w.iter().any(|watts| watts.is_nan()) {
            let count = runs.len();
            let what = format!("one cap for all, {count} caps, one a job, or {nodes}, one a node, none of them NaN");
            return Err(PyValueError::new_err(what));
        }
        let caps = each_allotted(&view, &runs, &each_w);
        let mut values = Vec::with_capacity(nodes);
        for (run, cap) in runs.iter().zip(&caps) {
            add(&view, run, cap, &mut values);
        }
        Ok(fixed(py, &values))
    }

    fn each<T>(&self, mut value: impl FnMut(&policy::View<'_>, &Run) -> T) -> PyResult<Vec<T>> {
        let view = self.loan.read()?;
        Ok(self.runs.iter().filter_map(|&id| Some(value(&view, view.runs.get(id)?))).collect())
    }

    fn column<'py, T: Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(&policy::View<'_>, &Run) -> T,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        Ok(fixed(py, &self.each(value)?))
    }
}

/// A cap as an allocator sets it, W per node; infinity: none.
fn allotted(cap_w: f64) -> Allotted {
    if cap_w == f64::INFINITY { Allotted::None } else { Allotted::Watts(cap_w) }
}

/// Total number of nodes of some runs.
pub(crate) fn node_total(view: &policy::View<'_>, runs: &[&Run]) -> usize {
    runs.iter().map(|run| view.runs.nodes(run).len()).sum()
}

/// Caps of some runs, W: one per run, or one per node of each, run after run.
pub(crate) fn each_allotted(view: &policy::View<'_>, runs: &[&Run], caps_w: &[f64]) -> Vec<Allotted> {
    if caps_w.len() == runs.len() {
        return caps_w.iter().map(|&cap_w| allotted(cap_w)).collect();
    }
    let mut rest = caps_w;
    let each = runs.iter().map(|run| {
        let nodes = view.runs.nodes(run);
        let (own, others) = rest.split_at(nodes.len());
        rest = others;
        let is_one = own.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits());
        let unlike = || Allotted::Nodes(NodeCaps::new(nodes.to_vec(), own.to_vec()).into());
        own.first().filter(|_| is_one).map_or_else(unlike, |&cap_w| allotted(cap_w))
    });
    each.collect()
}

/// The cap that an allocator has set, W per node; infinity: none.
fn set_w(view: &policy::View<'_>, run: &Run) -> f64 {
    let (of, nodes) = (view.profile(run.job), view.runs.nodes(run));
    let mean = |allotted: &Allotted| {
        let caps = CapsInForce::own(f64::INFINITY).allotting(allotted.clone());
        nodes.iter().map(|&node| caps.on(view.predicted, of, node)).sum::<f64>() / nodes.len() as f64
    };
    match &run.caps.allotted {
        Allotted::Watts(watts) => *watts,
        unlike @ Allotted::Nodes(_) => mean(unlike),
        Allotted::None | Allotted::Slowdown(_) => f64::INFINITY,
    }
}

/// Predicted slowdown of a run under an allocator's cap, relative to its own cap alone.
fn slowdown(view: &policy::View<'_>, run: &Run, cap: &Allotted) -> f64 {
    if !view.predicted.has_caps() {
        return 1.0;
    }
    let of = view.profile(run.job);
    let pace = |caps: &CapsInForce| {
        let nodes = view.runs.nodes(run).iter();
        view.predicted.slowest_under(of.app, of.own, nodes.map(|&node| (node, caps.on(view.predicted, of, node))))
    };
    let own = CapsInForce::own(run.caps.own_w);
    pace(&own.allotting(cap.clone())) / pace(&own)
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

    /// Numbers of nodes that they ask for.
    #[getter]
    fn asked_nodes<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, run| i64::from(view.jobs.asked_nodes(run.job)))
    }

    /// Fewest nodes that they can run on.
    #[getter]
    fn min_nodes<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, run| range(view, run.job).0)
    }

    /// Most nodes that they can run on.
    #[getter]
    fn max_nodes<'py>(&self, py: Python<'py>) -> Longs<'py> {
        self.column(py, |view, run| range(view, run.job).1)
    }

    /// True for jobs whose nodes may change while they run.
    #[getter]
    fn malleable<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        self.column(py, |view, run| view.jobs.is_malleable(run.job))
    }

    /// Pauses in their progress after such a change, seconds.
    #[getter]
    fn resize_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |view, run| view.jobs.pause(run.job).seconds())
    }

    /// Length of each on so many nodes, one number per job, relative to that on the nodes it asks for.
    #[expect(clippy::needless_pass_by_value, reason = "what Python gives")]
    fn size_time_ratio<'py>(&self, py: Python<'py>, node_count: Vec<i64>) -> Floats<'py> {
        let count = self.runs.len();
        if node_count.len() != count {
            return Err(PyValueError::new_err(format!("{} numbers of nodes for {count} jobs", node_count.len())));
        }
        let mut sizes = node_count.iter();
        let each = self.each(|view, run| sizes.next().map(|&nodes| time_ratio(view, run.job, nodes)))?;
        Ok(fixed(py, &each.into_iter().flatten().collect::<PyResult<Vec<_>>>()?))
    }

    /// Slots that they take of each of their nodes; 1 if jobs get whole nodes.
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
        let labels = self.labels.columns();
        self.column(py, |_, run| labels.user(run.job))
    }

    /// Accounts, as places in `View.accounts`; -1: unknown.
    #[getter]
    fn account<'py>(&self, py: Python<'py>) -> Longs<'py> {
        let labels = self.labels.columns();
        self.column(py, |_, run| labels.account(run.job))
    }

    /// Queues, as places in `View.queues`; -1: unknown.
    #[getter]
    fn queue<'py>(&self, py: Python<'py>) -> Longs<'py> {
        let labels = self.labels.columns();
        self.column(py, |_, run| labels.queue(run.job))
    }

    /// Caps in force that an allocator has set, W per node, the mean if those of its nodes differ; infinite: none.
    #[getter]
    fn cap_w<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, set_w)
    }

    /// Their own caps, W per node; infinite: none.
    #[getter]
    fn own_cap_w<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |_, run| run.caps.own_w)
    }

    /// Caps in force of an emergency, W per node; infinite: none.
    #[getter]
    fn emergency_cap_w<'py>(&self, py: Python<'py>) -> Floats<'py> {
        self.column(py, |_, run| run.caps.emergency_w)
    }

    /// Predicted draw of each beyond idle if an allocator caps it, W: of its nodes, or of its slots on shared ones. Under
    /// one cap for all, one per job, or one for each of `nodes`; caps are in watts of a whole node.
    fn draw_w<'py>(&self, cap_w: &Bound<'py, PyAny>) -> Floats<'py> {
        self.under(cap_w, |view, run, cap| draw_of(view, run, cap).watts())
    }

    /// Predicted draw of each of `nodes` then, including its idle draw, W; of shared ones with the job on all slots.
    fn node_draw_w<'py>(&self, cap_w: &Bound<'py, PyAny>) -> Floats<'py> {
        self.many_under(cap_w, |view, run, cap, values| {
            let (of, caps) = (view.profile(run.job), run.caps.allotting(cap.clone()));
            let counted = Counted::new(view.platform, view.predicted, of, caps, run.basis.estimate);
            let draw = |&node: &u32| (view.platform.node(node).idle + counted.on(node)).watts();
            values.extend(view.runs.nodes(run).iter().map(draw));
        })
    }

    /// Predicted slowdown of each then, relative to its own cap alone.
    fn slowdown<'py>(&self, cap_w: &Bound<'py, PyAny>) -> Floats<'py> {
        self.under(cap_w, slowdown)
    }

    /// The nodes of all, job after job, ascending within each.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> Longs<'py> {
        let nodes = self.each(|view, run| view.runs.nodes(run).to_vec())?;
        Ok(fixed(py, &nodes.into_iter().flatten().map(i64::from).collect::<Vec<_>>()))
    }

    /// Offsets in `nodes` at which those of each begin, and the end of the last.
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
