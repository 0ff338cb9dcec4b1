//! When jobs joined the queue, where that may be later than their submission.

use crate::units::SimTime;
use crate::workload::JobId;

/// An instant a job; none yet of those that have not joined.
#[derive(Clone, Debug)]
pub struct Eligible(Vec<SimTime>);

impl Eligible {
    /// No job has joined.
    #[must_use]
    pub fn new(jobs: usize) -> Self {
        Self(vec![SimTime::NEVER; jobs])
    }

    /// There are more jobs.
    pub fn grow(&mut self, jobs: usize) {
        self.0.resize(jobs, SimTime::NEVER);
    }

    /// A job joins the queue; one that is queued again keeps its place.
    pub fn note(&mut self, job: JobId, now: SimTime) {
        self.0[job.0 as usize] = now;
    }

    /// When a job joined, if it has.
    #[must_use]
    pub fn of(&self, job: JobId) -> Option<SimTime> {
        self.0.get(job.0 as usize).copied().filter(|&since| since != SimTime::NEVER)
    }
}
