//! Objects in any role that learn from the jobs that have ended, at the start of a pass.

use hetsched_core::error::Result;
use hetsched_core::policy::View;
use hetsched_core::policy::usage::{Learner, Over};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::roles::jobs::Ended;
use crate::roles::{Part, failed, for_jobs};

/// Name of the method of an object that learns.
pub(crate) const LEARN: &str = "learn";

/// An object that learns, once for all of its roles.
#[derive(Clone)]
pub(crate) struct OwnLearner {
    part: Part,
    /// True if it takes run times by themselves, and only jobs that do not run again.
    takes_runtimes: bool,
}

impl OwnLearner {
    /// Wraps an object with a method `learn`.
    ///
    /// # Errors
    /// If the method takes other arguments.
    pub(crate) fn new(py: Python<'_>, part: Part) -> PyResult<Self> {
        let takes = py.import("hetsched.policy.objects")?.getattr("takes_runtimes")?;
        let takes_runtimes = takes.call1((part.object.bind(py), part.role))?.extract()?;
        Ok(Self { part, takes_runtimes })
    }
}

impl Learner for OwnLearner {
    fn learn(&mut self, view: &View<'_>, over: &[Over]) -> Result<()> {
        let over: Vec<Over> = over.iter().filter(|over| !(self.takes_runtimes && over.requeued)).copied().collect();
        if over.is_empty() {
            return Ok(());
        }
        let (part, jobs) = (&self.part, over.iter().map(|over| over.job).collect::<Vec<_>>());
        let ran: Vec<f64> = over.iter().map(|over| over.ran.seconds()).collect();
        Python::attach(|py| {
            part.lender.lend(view, None, |lent| {
                let about = || for_jobs(view, &jobs);
                let jobs = part.lender.jobs(over.iter().map(|over| over.job).collect());
                let ended = Ended::of(jobs, over, view.slots.per_node());
                let ended = Py::new(py, ended).map_err(failed)?;
                if self.takes_runtimes {
                    let arguments = (ended, PyArray1::from_vec(py, ran), lent);
                    return part.call_to(LEARN, py, view, arguments, about).map(drop);
                }
                part.call_to(LEARN, py, view, (ended, lent), about).map(drop)
            })
        })
    }
}
