//! View that an object may read during a call: the machine and its jobs as decisions know them.
//!
//! A view is lent for the length of one call. The actual table, by which runs are charged, cannot be reached from it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hetsched_core::algo::releases::Claim;
use hetsched_core::cluster::runs::RunId;
use hetsched_core::error::config;
use hetsched_core::policy;
use hetsched_core::policy::backfill::ahead::Ahead;
use hetsched_core::power::known::KnownDraw;
use hetsched_core::workload::{AppId, JobId};
use numpy::{Element, PyArray1};
use pyo3::exceptions::{PyAttributeError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::errors::to_py;
use crate::roles::arrays::{fixed, node_numbers, seconds};
use crate::roles::copies;
use crate::roles::jobs::{Job, Jobs};
use crate::roles::labels::Labels;
use crate::roles::loan::Loan;
use crate::roles::profile::{Profile, instant};
use crate::roles::running::Running;

/// Lends views to one object, always through the same `View`.
pub(crate) struct Lender {
    loan: Arc<Loan>,
    labels: Labels,
    view: Py<View>,
}

impl Lender {
    pub(crate) fn new(py: Python<'_>, labels: &Labels) -> PyResult<Self> {
        let loan = Arc::<Loan>::default();
        let view = View { loan: Arc::clone(&loan), labels: labels.clone(), rows: Mutex::default() };
        Ok(Self { loan, labels: labels.clone(), view: Py::new(py, view)? })
    }

    /// A lender for another object.
    pub(crate) fn again(&self, py: Python<'_>) -> Self {
        // Creating an object this small can only fail for lack of memory.
        let labels = copies::labels_of_fork(&self.labels);
        Self::new(py, &labels).unwrap_or_else(|_| Self {
            loan: Arc::clone(&self.loan),
            labels,
            view: self.view.clone_ref(py),
        })
    }

    /// Lends a view for the length of a call, with the waiting jobs if the object may see them.
    pub(crate) fn lend<T>(
        &self,
        view: &policy::View<'_>,
        queue: Option<&[JobId]>,
        call: impl FnOnce(&Py<View>) -> T,
    ) -> T {
        self.lend_ahead(view, queue, None, call)
    }

    /// Lends a view with the free nodes and watts from now on, if more is known about them than the view says.
    pub(crate) fn lend_ahead<T>(
        &self,
        view: &policy::View<'_>,
        queue: Option<&[JobId]>,
        ahead: Option<&Ahead>,
        call: impl FnOnce(&Py<View>) -> T,
    ) -> T {
        self.loan.during(view, queue, ahead, || call(&self.view))
    }

    /// Jobs as columns, to be read while a view is lent.
    pub(crate) fn jobs(&self, jobs: Vec<JobId>) -> Jobs {
        Jobs { rows: jobs, loan: Arc::clone(&self.loan), labels: self.labels.clone(), drew: None }
    }

    /// Runs, to be read while a view is lent.
    pub(crate) fn running(&self, runs: Vec<RunId>) -> Running {
        Running::of(runs, &self.loan, &self.labels)
    }

    pub(crate) fn loan(&self) -> &Arc<Loan> {
        &self.loan
    }

    pub(crate) fn labels(&self) -> &Labels {
        &self.labels
    }
}

/// Key of a cached row of predicted numbers: its kind, and the application.
type RowKey = (bool, Option<u32>);

/// The machine and its jobs as decisions know them: lent for the length of one call.
#[pyclass(frozen, module = "hetsched.roles")]
pub(crate) struct View {
    loan: Arc<Loan>,
    labels: Labels,
    /// Cache of rows of the predicted tables, which never change.
    rows: Mutex<BTreeMap<RowKey, Py<PyArray1<f64>>>>,
}

type Row<'py> = Bound<'py, PyArray1<f64>>;

impl View {
    /// Free nodes and watts from now on.
    fn ahead(&self) -> PyResult<Ahead> {
        let lent = self.loan.lent()?;
        if lent.view.shares.is_some() {
            let (found, expected) =
                ("nodes that differ in what jobs ask for", "nodes alike: a profile counts them all");
            return Err(Python::attach(|py| to_py(py, config("view.profile", found, expected))));
        }
        Ok(lent.ahead.cloned().unwrap_or_else(|| Ahead::of(&lent.view)))
    }

    /// Reads a job, given as such or, if it waits, by its number in the log.
    fn job(&self, job: &Bound<'_, PyAny>) -> PyResult<JobId> {
        if let Ok(job) = job.cast::<Job>() {
            return Ok(job.get().row);
        }
        let number: i64 = job.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "a job is one that was given to the call, or a job_id, not {}",
                job.get_type()
            ))
        })?;
        let lent = self.loan.lent()?;
        let mut waiting = lent.queue.unwrap_or_default().iter().copied();
        let found = waiting.find(|&job| lent.view.jobs.job_id(job) == number);
        found.ok_or_else(|| PyKeyError::new_err(format!("job {number} is not in the queue")))
    }

    /// Reads an application, given by number or name; `None` for -1 and None.
    fn app(&self, app: &Bound<'_, PyAny>) -> PyResult<Option<AppId>> {
        let names = &self.labels.columns().apps;
        if app.is_none() {
            return Ok(None);
        }
        if let Ok(name) = app.cast::<PyString>() {
            let name = name.to_str()?;
            let found = names.iter().position(|own| own == name).and_then(|place| u32::try_from(place).ok());
            return found.map(|place| Some(AppId(place))).ok_or_else(|| PyKeyError::new_err(name.to_owned()));
        }
        let number: i64 = app.extract().map_err(|_| {
            PyTypeError::new_err(format!("an application is a number, a name or None, not {}", app.get_type()))
        })?;
        match u32::try_from(number) {
            Ok(place) if (place as usize) < names.len() => Ok(Some(AppId(place))),
            Err(_) if number == -1 => Ok(None),
            _ => Err(PyKeyError::new_err(number)),
        }
    }

    fn row<'py>(
        &self,
        py: Python<'py>,
        key: RowKey,
        value: impl Fn(&policy::View<'_>, u32) -> f64,
    ) -> PyResult<Row<'py>> {
        let kept = |rows: &BTreeMap<RowKey, Py<PyArray1<f64>>>| rows.get(&key).map(|row| row.clone_ref(py));
        if let Some(row) = kept(&self.rows.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(row.into_bound(py));
        }
        let row = self.by_node(py, value)?;
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.insert(key, row.clone().unbind());
        Ok(row)
    }

    fn by_node<'py, T: Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(&policy::View<'_>, u32) -> T,
    ) -> PyResult<Bound<'py, PyArray1<T>>> {
        let view = self.loan.read()?;
        let values: Vec<_> = (0..view.platform.len()).map(|node| value(&view, node)).collect();
        Ok(fixed(py, &values))
    }
}

#[pymethods]
impl View {
    /// The instant, seconds on the log's clock.
    #[getter]
    fn now_s(&self) -> PyResult<f64> {
        Ok(self.loan.read()?.now.seconds())
    }

    /// Nodes with anything free at the start of this pass, ascending.
    #[getter]
    fn free<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let view = self.loan.read()?;
        Ok(node_numbers(py, view.slots.holding(1)))
    }

    /// Free slots of each node at the start of this pass; if jobs get whole nodes a node is one slot.
    #[getter]
    fn free_slots<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.by_node(py, |view, node| i64::from(view.slots.free_on(node)))
    }

    /// True for each node that can serve jobs whose `want` is this number.
    fn may_use<'py>(&self, py: Python<'py>, want: usize) -> PyResult<Bound<'py, PyArray1<bool>>> {
        self.by_node(py, |view, node| view.shares.is_none_or(|shares| shares.cells().serves(want, node)))
    }

    /// The waiting jobs, in order.
    #[getter]
    fn queue(&self) -> PyResult<Jobs> {
        let queue = self.loan.lent()?.queue.ok_or_else(|| {
            PyAttributeError::new_err("a view has a queue where a whole scheduler or a backfill reads it")
        })?;
        Ok(Jobs { rows: queue.to_vec(), loan: Arc::clone(&self.loan), labels: self.labels.clone(), drew: None })
    }

    /// The running jobs, by start.
    #[getter]
    fn running(&self) -> PyResult<Running> {
        Running::new(&self.loan, &self.labels)
    }

    /// Number of nodes.
    #[getter]
    fn nodes(&self) -> PyResult<u32> {
        Ok(self.loan.read()?.platform.len())
    }

    /// Slots of a node; 1 if jobs get whole nodes.
    #[getter]
    fn slots(&self) -> PyResult<u32> {
        Ok(self.loan.read()?.slots.per_node())
    }

    /// Draw of each node when idle, W.
    #[getter]
    fn idle_w<'py>(&self, py: Python<'py>) -> PyResult<Row<'py>> {
        self.by_node(py, |view, node| view.platform.node(node).idle.watts())
    }

    /// Thermal design power of each node, W.
    #[getter]
    fn tdp_w<'py>(&self, py: Python<'py>) -> PyResult<Row<'py>> {
        self.by_node(py, |view, node| view.platform.node(node).tdp.watts())
    }

    /// Names of the applications; a job's `app` is a place in it.
    #[getter]
    fn apps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.labels.columns().apps)
    }

    /// Names of the users.
    #[getter]
    fn users<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.labels.columns().users)
    }

    /// Names of the accounts.
    #[getter]
    fn accounts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.labels.columns().accounts)
    }

    /// Free nodes and watts from now on, by the planned ends of runs: a copy, in which more can be reserved.
    fn profile(&self) -> PyResult<Profile> {
        self.ahead().map(Profile)
    }

    /// The earliest time at which a job's nodes are free for its planned length, seconds on the log's clock, no earlier than
    /// `after_s`; infinite if there is none.
    #[pyo3(signature = (job, *, after_s = None))]
    fn earliest(&self, job: &Bound<'_, PyAny>, after_s: Option<f64>) -> PyResult<f64> {
        let (row, view) = (self.job(job)?, self.loan.read()?);
        let from = after_s.map_or(Ok(view.now), |after_s| instant("after_s", after_s))?;
        let need = Claim { units: view.jobs.units(row, view.platform), microwatts: 0 };
        Ok(seconds(self.ahead()?.earliest(from, need, view.jobs.planned(row))))
    }

    /// Names of the queues.
    #[getter]
    fn queues<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.labels.columns().queues)
    }

    /// Predicted draw of each node with a job of an application, W; `own_w`: the job's own draw, if it is known;
    /// `cap_w`: under a cap, W per node.
    #[pyo3(signature = (app, *, own_w = None, cap_w = None))]
    fn predicted_w<'py>(
        &self,
        py: Python<'py>,
        app: &Bound<'py, PyAny>,
        own_w: Option<f64>,
        cap_w: Option<f64>,
    ) -> PyResult<Row<'py>> {
        let app = self.app(app)?;
        if let Some(cap_w) = cap_w {
            let own = own_w.filter(|watts| !watts.is_nan()).map_or(KnownDraw::Unknown, KnownDraw::measured);
            return self.by_node(py, |view, node| view.predicted.draw_under(app, own, node, cap_w).watts());
        }
        match own_w.filter(|watts| !watts.is_nan()) {
            Some(watts) => {
                let own = KnownDraw::measured(watts);
                self.by_node(py, |view, node| view.predicted.draw(app, own, node).watts())
            }
            None => self.row(py, (false, app.map(|app| app.0)), |view, node| {
                view.predicted.draw(app, KnownDraw::Unknown, node).watts()
            }),
        }
    }

    /// Predicted time factor of an application on each node, relative to nominal; `own_w` and `cap_w` as for
    /// `predicted_w`.
    #[pyo3(signature = (app, *, own_w = None, cap_w = None))]
    fn predicted_time_ratio<'py>(
        &self,
        py: Python<'py>,
        app: &Bound<'py, PyAny>,
        own_w: Option<f64>,
        cap_w: Option<f64>,
    ) -> PyResult<Row<'py>> {
        let app = self.app(app)?;
        if let Some(cap_w) = cap_w {
            let own = own_w.filter(|watts| !watts.is_nan()).map_or(KnownDraw::Unknown, KnownDraw::measured);
            return self.by_node(py, |view, node| view.predicted.factor_under(app, own, node, cap_w));
        }
        self.row(py, (true, app.map(|app| app.0)), |view, node| view.predicted.time_ratio(app, node))
    }
}
