//! Python orders: they return one number per job, and are asked for all jobs of a pass at once.

use hetsched_core::error::{Result, config};
use hetsched_core::policy::analyzer::Ask;
use hetsched_core::policy::order::{Changes, Order, rank_of};
use hetsched_core::units::SimDuration;
use hetsched_core::workload::JobId;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::to_py;
use crate::roles::answers;
use crate::roles::{Part, for_jobs};

/// An object that ranks jobs.
#[derive(Clone)]
pub(crate) struct OwnOrder {
    part: Part,
    changes: Changes,
}

impl OwnOrder {
    /// Wraps an object with a method `rank`; its `changes` is read once.
    pub(crate) fn new(part: Part) -> PyResult<Self> {
        let changes = Python::attach(|py| changes(part.object.bind(py)))?;
        Ok(Self { part, changes })
    }
}

/// Reads when the ranks of an object change.
fn changes(object: &Bound<'_, PyAny>) -> PyResult<Changes> {
    let Some(value) = object.getattr_opt("changes")?.filter(|value| !value.is_none()) else {
        return Ok(Changes::Never);
    };
    let refused = || {
        let found = value.repr().map_or_else(|_| "an object".to_owned(), |text| format!("`{text}`"));
        let expected = "\"never\", \"each-pass\", or seconds from 1e-6 between two rankings";
        to_py(object.py(), config("policy.order.changes", found, expected))
    };
    if let Ok(word) = value.cast::<PyString>() {
        return match word.to_str()? {
            "never" => Ok(Changes::Never),
            "each-pass" => Ok(Changes::EachPass),
            _ => Err(refused()),
        };
    }
    let seconds = value.extract::<f64>().ok().and_then(SimDuration::from_seconds);
    seconds.filter(|period| *period > SimDuration::ZERO).map(Changes::Every).ok_or_else(refused)
}

impl Order for OwnOrder {
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        let (view, part) = (ask.view, &self.part);
        Python::attach(|py| {
            part.lender.lend(view, None, |lent| {
                let answer = part.call(py, view, (part.lender.jobs(jobs.to_vec()), lent), || for_jobs(view, jobs))?;
                let whose = |place: usize| format!("job {}", view.jobs.job_id(jobs[place]));
                let what = if jobs.len() == 1 { "job" } else { "jobs" };
                match answers::numbers(&answer, jobs.len(), what, whose) {
                    Ok(numbers) => {
                        ranks.extend(numbers.into_iter().map(rank_of));
                        Ok(())
                    }
                    Err(wrong) => Err(part.refused(view, wrong, || for_jobs(view, jobs))),
                }
            })
        })
    }

    fn changes(&self) -> Changes {
        self.changes
    }
}
