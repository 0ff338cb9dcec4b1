//! Roles in Python: objects of a user that play a part in a policy, with one file per role.
//!
//! Each adapter has a trait of the core on one side and one method of an object on the other. Answers of the object are
//! checked here; its exceptions are passed on as they are, with a note of where they were raised.

pub(crate) mod allocator;
pub(crate) mod analyzer;
pub(crate) mod answers;
pub(crate) mod arrays;
pub(crate) mod backfill;
pub(crate) mod copies;
pub(crate) mod jobs;
pub(crate) mod labels;
pub(crate) mod learner;
pub(crate) mod loan;
pub(crate) mod monitor;
pub(crate) mod order;
pub(crate) mod placement;
pub(crate) mod profile;
pub(crate) mod running;
pub(crate) mod scheduler;
pub(crate) mod sizing;
pub(crate) mod sleep;
pub(crate) mod view;

use std::sync::Arc;

use hetsched_core::cluster::jobs::Jobs;
use hetsched_core::error::{Error, PolicyError, Result, SimulationError};
use hetsched_core::policy;
use hetsched_core::policy::usage::Learner;
use hetsched_core::sim::own_parts::OwnParts;
use hetsched_core::workload::{JobId, Workload};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::roles::allocator::OwnAllocator;
use crate::roles::analyzer::OwnAnalyzer;
use crate::roles::answers::Wrong;
use crate::roles::backfill::OwnBackfill;
use crate::roles::labels::Labels;
use crate::roles::learner::{LEARN, OwnLearner};
use crate::roles::monitor::OwnMonitor;
use crate::roles::order::OwnOrder;
use crate::roles::placement::OwnPlacement;
use crate::roles::scheduler::{Numbers, OwnScheduler};
use crate::roles::sizing::OwnSizing;
use crate::roles::sleep::OwnSleep;
use crate::roles::view::Lender;

/// The objects of a policy, by role.
pub(crate) struct Objects {
    pub(crate) order: Option<Py<PyAny>>,
    pub(crate) backfill: Option<Py<PyAny>>,
    pub(crate) placement: Option<Py<PyAny>>,
    pub(crate) scheduler: Option<Py<PyAny>>,
    pub(crate) allocator: Option<Py<PyAny>>,
    pub(crate) monitor: Option<Py<PyAny>>,
    pub(crate) analyzer: Option<Py<PyAny>>,
    pub(crate) sizing: Option<Py<PyAny>>,
    pub(crate) sleep: Option<Py<PyAny>>,
    /// Labels of jobs that they may know besides the core's columns.
    pub(crate) labels: Labels,
}

impl Objects {
    /// Reads them from a policy, in which they are given in place of dictionaries.
    pub(crate) fn of(policy: &Bound<'_, PyDict>, labels: Labels) -> PyResult<Self> {
        let object = |role: &str| {
            let part = policy.get_item(role)?.filter(|part| !part.is_none() && !part.is_instance_of::<PyDict>());
            Ok::<_, PyErr>(part.map(Bound::unbind))
        };
        Ok(Self {
            order: object("order")?,
            backfill: object("backfill")?,
            placement: object("placement")?,
            scheduler: object("scheduler")?,
            allocator: object("allocator")?,
            monitor: object("monitor")?,
            analyzer: object("analyzer")?,
            sizing: object("sizing")?,
            sleep: object("sleep")?,
            labels,
        })
    }

    /// True if there is any; the interpreter is then held during the run.
    pub(crate) fn is_any(&self) -> bool {
        self.all().iter().any(|(_, object)| object.is_some())
    }

    /// All of them, each with its role.
    fn all(&self) -> [(&'static str, &Option<Py<PyAny>>); 9] {
        [
            ("policy.order", &self.order),
            ("policy.backfill", &self.backfill),
            ("policy.placement", &self.placement),
            ("policy.scheduler", &self.scheduler),
            ("policy.power.allocator", &self.allocator),
            ("policy.power.monitor", &self.monitor),
            ("policy.analyzer", &self.analyzer),
            ("policy.backfill.sizing", &self.sizing),
            ("policy.sleep", &self.sleep),
        ]
    }

    /// The objects that learn, each once however many roles it has.
    fn learners(&self, py: Python<'_>) -> PyResult<Vec<Box<dyn Learner>>> {
        let (mut seen, mut learners): (Vec<&Py<PyAny>>, Vec<Box<dyn Learner>>) = (Vec::new(), Vec::new());
        for (role, object) in self.all().into_iter().filter_map(|(role, object)| Some((role, object.as_ref()?))) {
            let learns = object.bind(py).getattr_opt(LEARN)?.is_some_and(|method| method.is_callable());
            if learns && !seen.iter().any(|other| other.is(object)) {
                seen.push(object);
                learners.push(Box::new(OwnLearner::new(py, self.part(py, role, LEARN, object)?)?));
            }
        }
        Ok(learners)
    }

    /// The parts that they play, in a policy of this name for these jobs.
    pub(crate) fn parts(&self, py: Python<'_>, name: &str, jobs: &Workload) -> PyResult<OwnParts> {
        let mut own = OwnParts { learners: self.learners(py)?, ..OwnParts::default() };
        if let Some(object) = &self.order {
            own.order = Some(Box::new(OwnOrder::new(self.part(py, "policy.order", "rank", object)?)?));
        }
        if let Some(object) = &self.backfill {
            let part = self.part(py, "policy.backfill", "select", object)?;
            own.backfill = Some(Box::new(OwnBackfill { part, numbers: Arc::new(Numbers::of(Jobs::new(jobs))) }));
        }
        if let Some(object) = &self.monitor {
            own.monitor = Some(Box::new(OwnMonitor(self.part(py, "policy.power.monitor", "read", object)?)));
        }
        if let Some(object) = &self.analyzer {
            let part = self.part(py, "policy.analyzer", "estimate", object)?;
            own.forecast = Some(Box::new(OwnAnalyzer::new(part)?));
        }
        if let Some(object) = &self.sizing {
            let part = self.part(py, "policy.backfill.sizing", "sizes", object)?;
            own.sizing = Some(Box::new(OwnSizing::new(py, part)?));
        }
        if let Some(object) = &self.sleep {
            let rest = OwnSleep(self.part(py, "policy.sleep", "rest", object)?);
            own.sleep = Some(policy::sleep::rules::Rules::unlimited(Box::new(rest)));
        }
        if let Some(object) = &self.placement {
            own.placement = Some(Box::new(OwnPlacement(self.part(py, "policy.placement", "choose", object)?)));
        }
        if let Some(object) = &self.allocator {
            let part = self.part(py, "policy.power.allocator", "allot", object)?;
            own.allocator = Some(Box::new(OwnAllocator::new(py, part)?));
        }
        if let Some(object) = &self.scheduler {
            let part = self.part(py, "policy.scheduler", "decide", object)?;
            let learners = std::mem::take(&mut own.learners);
            own.scheduler = Some(Box::new(OwnScheduler::new(name.to_owned(), part, learners, jobs)));
        }
        Ok(own)
    }

    /// An object in a role.
    fn part(&self, py: Python<'_>, role: &'static str, method: &'static str, object: &Py<PyAny>) -> PyResult<Part> {
        let class = object.bind(py).get_type().name()?.to_string();
        Ok(Part { object: object.clone_ref(py), lender: Lender::new(py, &self.labels)?, role, method, class })
    }
}

/// An object in a role.
pub(crate) struct Part {
    object: Py<PyAny>,
    lender: Lender,
    /// Its place in a policy.
    role: &'static str,
    /// The method that is called.
    method: &'static str,
    /// Name of its class.
    class: String,
}

impl Clone for Part {
    /// The part for a forked run, with a copy of the object.
    fn clone(&self) -> Self {
        Python::attach(|py| Self {
            object: copies::copied(py, self.role, &self.object),
            lender: self.lender.again(py),
            role: self.role,
            method: self.method,
            class: self.class.clone(),
        })
    }
}

impl Part {
    /// Another handle to the same part, with the same object.
    fn again(&self) -> Self {
        Python::attach(|py| Self {
            object: self.object.clone_ref(py),
            lender: self.lender.again(py),
            role: self.role,
            method: self.method,
            class: self.class.clone(),
        })
    }

    /// Calls the object's method; its exceptions are passed on as they are, with a note of where they were raised.
    fn call<'py>(
        &self,
        py: Python<'py>,
        view: &policy::View<'_>,
        arguments: impl PyCallArgs<'py>,
        asked: impl FnOnce() -> String,
    ) -> Result<Bound<'py, PyAny>> {
        self.call_to(self.method, py, view, arguments, asked)
    }

    /// Calls another method of the object in the same way.
    fn call_to<'py>(
        &self,
        method: &'static str,
        py: Python<'py>,
        view: &policy::View<'_>,
        arguments: impl PyCallArgs<'py>,
        asked: impl FnOnce() -> String,
    ) -> Result<Bound<'py, PyAny>> {
        if (view.interrupted)() {
            return Err(Error::Interrupted);
        }
        let answer = self.object.bind(py).call_method1(method, arguments);
        answer.map_err(|raised| self.noted(method, py, view, raised, asked))
    }

    fn noted(
        &self,
        method: &str,
        py: Python<'_>,
        view: &policy::View<'_>,
        raised: PyErr,
        asked: impl FnOnce() -> String,
    ) -> Error {
        let Self { role, class, .. } = self;
        let note = format!("{role}: `{method}` of {class}{} at {} s", asked(), view.now.seconds());
        copies::add_note(py, &raised, &note);
        failed(raised)
    }

    /// Error for a wrong answer; an exception raised by reading it is passed on as it is, with the note of a call.
    fn refused(&self, view: &policy::View<'_>, wrong: Wrong, asked: impl FnOnce() -> String) -> Error {
        self.refused_by(self.method, view, wrong, asked)
    }

    /// Error for a wrong answer of another method.
    fn refused_by(&self, method: &str, view: &policy::View<'_>, wrong: Wrong, asked: impl FnOnce() -> String) -> Error {
        match wrong {
            Wrong::Said(what) => self.wrong_by(method, view, &what),
            Wrong::Raised(raised) => Python::attach(|py| self.noted(method, py, view, raised, asked)),
        }
    }

    /// Error that says what is wrong with an answer.
    fn wrong(&self, view: &policy::View<'_>, what: &str) -> Error {
        self.wrong_by(self.method, view, what)
    }

    /// Error that says what is wrong with an answer of another method.
    fn wrong_by(&self, method: &str, view: &policy::View<'_>, what: &str) -> Error {
        let (Self { role, class, .. }, at) = (self, view.now.seconds());
        Error::Simulation(SimulationError(format!("{role}: `{method}` of {class} {what} at {at} s")))
    }
}

/// A Python exception on its way through the core.
pub(crate) fn failed(raised: PyErr) -> Error {
    Error::Policy(PolicyError(Box::new(raised)))
}

/// Number of waiting jobs, as a note states it.
fn with_waiting(queue: &[JobId]) -> String {
    format!(", with {} waiting,", counted(queue.len(), "job"))
}

/// A number of things.
fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Jobs, as a note names them.
fn for_jobs(view: &policy::View<'_>, jobs: &[JobId]) -> String {
    match jobs {
        [] => String::new(),
        [job] => format!(", for job {}", view.jobs.job_id(*job)),
        [first, ..] => format!(", for {} jobs, the first of them job {},", jobs.len(), view.jobs.job_id(*first)),
    }
}
