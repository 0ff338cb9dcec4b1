//! Python analyzers: they forecast lengths and draws of jobs, asked once per pass for all jobs that have joined the
//! queue.

use hetsched_core::error::Result;
use hetsched_core::policy::View;
use hetsched_core::policy::analyzer::forecast::Forecast;
use hetsched_core::power::known::Belief;
use hetsched_core::units::{MAX_NODE_WATTS, SimDuration};
use hetsched_core::workload::JobId;
use pyo3::prelude::*;

use crate::roles::answers;
use crate::roles::view::View as Sight;
use crate::roles::{Part, for_jobs};

/// Name of the method that forecasts draws.
const DRAWS: &str = "draws";
/// Name of the method that forecasts bound ratios, which determine how caps slow jobs.
const BOUND_RATIOS: &str = "bound_ratios";

/// An object that makes forecasts.
#[derive(Clone)]
pub(crate) struct OwnAnalyzer {
    part: Part,
    tells_draws: bool,
    tells_bounds: bool,
}

impl OwnAnalyzer {
    /// Wraps an object with a method `estimate`, and perhaps more methods.
    pub(crate) fn new(part: Part) -> PyResult<Self> {
        let [tells_draws, tells_bounds] = Python::attach(|py| {
            let object = part.object.bind(py);
            Ok::<_, PyErr>([object.hasattr(DRAWS)?, object.hasattr(BOUND_RATIOS)?])
        })?;
        Ok(Self { part, tells_draws, tells_bounds })
    }

    /// Lends the object a view.
    fn lending<T>(&self, view: &View<'_>, call: impl FnOnce(&Asking<'_>) -> Result<T>) -> Result<T> {
        let part = &self.part;
        Python::attach(|py| part.lender.lend(view, None, |lent| call(&Asking { part, py, view, lent })))
    }
}

/// An object that has been lent a view.
struct Asking<'a> {
    part: &'a Part,
    py: Python<'a>,
    view: &'a View<'a>,
    lent: &'a Py<Sight>,
}

impl Asking<'_> {
    /// Asks the object for a number for each job; `read` returns `None` for a number that is not among the `expected`.
    fn ask<T>(
        &self,
        method: &'static str,
        jobs: &[JobId],
        expected: &str,
        read: impl Fn(f64) -> Option<T>,
    ) -> Result<Vec<T>> {
        let (part, view) = (self.part, self.view);
        let arguments = (part.lender.jobs(jobs.to_vec()), self.lent);
        let answer = part.call_to(method, self.py, view, arguments, || for_jobs(view, jobs))?;
        let what = if jobs.len() == 1 { "job" } else { "jobs" };
        let numbers = match answers::reals(&answer, (jobs.len(), what), (jobs.len(), what)) {
            Ok(numbers) => numbers,
            Err(wrong) => return Err(part.refused_by(method, view, wrong, || for_jobs(view, jobs))),
        };
        let wrong = |number: f64, job: JobId| {
            let whose = format!("job {}", view.jobs.job_id(job));
            let what = if number.is_nan() {
                format!("gave NaN for {whose}")
            } else {
                format!("gave {number} for {whose}, where {expected} were asked for")
            };
            part.wrong_by(method, view, &what)
        };
        let read = |(number, &job)| read(number).ok_or_else(|| wrong(number, job));
        numbers.into_iter().zip(jobs).map(read).collect()
    }
}

/// Reader of a number from 0 to `most`; NaN is read as `None`.
fn up_to(most: f64) -> impl Fn(f64) -> Option<Option<f64>> {
    move |number| {
        let known = Some(number).filter(|number| !number.is_nan());
        (known.is_none() || (0.0..=most).contains(&number)).then_some(known)
    }
}

impl Forecast for OwnAnalyzer {
    fn lengths(&mut self, view: &View<'_>, jobs: &[JobId], lengths: &mut Vec<SimDuration>) -> Result<()> {
        self.lending(view, |object| {
            let read = |seconds: f64| SimDuration::from_seconds(seconds).filter(|_| seconds >= 0.0);
            lengths.extend(object.ask(self.part.method, jobs, "seconds from 0", read)?);
            Ok(())
        })
    }

    fn tells_draws(&self) -> bool {
        self.tells_draws
    }

    fn tells_bounds(&self) -> bool {
        self.tells_bounds
    }

    fn draws(&mut self, view: &View<'_>, jobs: &[JobId], draws: &mut Vec<Option<Belief>>) -> Result<()> {
        self.lending(view, |object| {
            let watts = object.ask(DRAWS, jobs, "watts from 0 to 1e6", up_to(MAX_NODE_WATTS))?;
            let bounds = if self.tells_bounds {
                object.ask(BOUND_RATIOS, jobs, "shares from 0 to 1", up_to(1.0))?
            } else {
                vec![None; jobs.len()]
            };
            let each = watts.into_iter().zip(bounds);
            draws.extend(each.map(|(watts, bound_ratio)| watts.map(|watts| Belief { watts, bound_ratio })));
            Ok(())
        })
    }
}
