//! How long jobs are believed to run, by what others have run: in place of what they asked for.
//!
//! A forecast decides only what is planned. Jobs run as long as they do, and are killed at their walltimes.

use dyn_clone::DynClone;

use crate::error::Result;
use crate::policy::View;
use crate::units::SimDuration;
use crate::workload::JobId;

/// Says how long jobs will run (the power analyzer's `estimate_job_time`, without a cap).
pub trait Forecast: DynClone + Send + Sync {
    /// How long jobs that join the queue will run at nominal speed, as many to the end of `lengths` and in their order.
    ///
    /// # Errors
    /// If they cannot be told.
    fn lengths(&mut self, view: &View<'_>, jobs: &[JobId], lengths: &mut Vec<SimDuration>) -> Result<()>;

    /// A job is over that ran for so long.
    fn learn(&mut self, job: JobId, ran: SimDuration);
}

dyn_clone::clone_trait_object!(Forecast);

/// What is believed of each job; nothing of those that were not asked about.
#[derive(Clone, Debug)]
pub struct Forecasts(Vec<SimDuration>);

impl Forecasts {
    /// Nothing is believed yet.
    #[must_use]
    pub fn new(jobs: usize) -> Self {
        Self(vec![SimDuration::FOREVER; jobs])
    }

    /// A job is believed to run so long, which is longer than no time at all.
    pub fn note(&mut self, job: JobId, length: SimDuration) {
        self.0[job.0 as usize] = length.max(SimDuration::from_micros(1));
    }

    /// How long the job is believed to run, if anything is.
    #[must_use]
    pub fn of(&self, job: JobId) -> Option<SimDuration> {
        self.0.get(job.0 as usize).copied().filter(|&length| length != SimDuration::FOREVER)
    }
}
