//! An analyzer: how long jobs will run, asked for all that join the queue in a pass at once.

use hetsched_core::error::Result;
use hetsched_core::policy::View;
use hetsched_core::policy::analyzer::forecast::Forecast;
use hetsched_core::units::SimDuration;
use hetsched_core::workload::JobId;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::roles::answers::{self, Wrong};
use crate::roles::view::View as Sight;
use crate::roles::{Part, failed, for_jobs};

/// What an object that learns is told by.
const LEARN: &str = "learn";

/// An object that estimates.
#[derive(Clone)]
pub(crate) struct OwnAnalyzer {
    part: Part,
    /// Whether it wants to know how long jobs have run.
    learns: bool,
    /// Jobs that are over since it was last told, and for how long they ran.
    over: Vec<(JobId, f64)>,
}

impl OwnAnalyzer {
    /// An object with a method `estimate`, and perhaps `learn`.
    pub(crate) fn new(part: Part) -> PyResult<Self> {
        let learns = Python::attach(|py| part.object.bind(py).hasattr(LEARN))?;
        Ok(Self { part, learns, over: Vec::new() })
    }
}

/// Tells an object how long jobs have run.
fn tell(part: &Part, py: Python<'_>, (view, lent): (&View<'_>, &Py<Sight>), over: Vec<(JobId, f64)>) -> Result<()> {
    if over.is_empty() {
        return Ok(());
    }
    let (jobs, ran): (Vec<_>, Vec<_>) = over.into_iter().unzip();
    let asked = for_jobs(view, &jobs);
    let arguments = (part.lender.jobs(jobs), PyArray1::from_vec(py, ran), lent);
    part.call_to(LEARN, py, view, arguments, || asked).map(drop)
}

impl Forecast for OwnAnalyzer {
    fn lengths(&mut self, view: &View<'_>, jobs: &[JobId], lengths: &mut Vec<SimDuration>) -> Result<()> {
        let (part, over) = (&self.part, std::mem::take(&mut self.over));
        Python::attach(|py| {
            part.lender.lend(view, None, |lent| {
                tell(part, py, (view, lent), over)?;
                let arguments = (part.lender.jobs(jobs.to_vec()), lent);
                let answer = part.call(py, view, arguments, || for_jobs(view, jobs))?;
                let whose = |place: usize| format!("job {}", view.jobs.job_id(jobs[place]));
                let what = if jobs.len() == 1 { "job" } else { "jobs" };
                let numbers = match answers::numbers(&answer, jobs.len(), what, whose) {
                    Ok(numbers) => numbers,
                    Err(Wrong::Said(what)) => return Err(part.wrong(view, &what)),
                    Err(Wrong::Raised(raised)) => return Err(failed(raised)),
                };
                for (place, seconds) in numbers.into_iter().enumerate() {
                    let wrong = || {
                        let what = format!("gave {seconds} for {}, where seconds from 0 were asked for", whose(place));
                        part.wrong(view, &what)
                    };
                    let length = SimDuration::from_seconds(seconds).filter(|_| seconds >= 0.0);
                    lengths.push(length.ok_or_else(wrong)?);
                }
                Ok(())
            })
        })
    }

    fn learn(&mut self, job: JobId, ran: SimDuration) {
        if self.learns {
            self.over.push((job, ran.seconds()));
        }
    }
}
