//! Instants at which jobs joined the queue, if that may be later than their submission.

use crate::units::SimTime;
use crate::workload::JobId;

/// Instant at which each job joined the queue; `NEVER` for those that have not.
#[derive(Clone, Debug)]
pub struct Eligible(Vec<SimTime>);

impl Eligible {
    /// No job has joined yet.
    #[must_use]
    pub fn new(jobs: usize) -> Self {
        Self(vec![SimTime::NEVER; jobs])
    }

    /// Makes room for more jobs.
    pub fn grow(&mut self, jobs: usize) {
        self.0.resize(jobs, SimTime::NEVER);
    }

    /// Notes that a job joins the queue. Not called for a requeued job, which keeps its place.
    pub fn note(&mut self, job: JobId, now: SimTime) {
        self.0[job.0 as usize] = now;
    }

    /// Instant at which a job joined, if it has.
    #[must_use]
    pub fn of(&self, job: JobId) -> Option<SimTime> {
        self.0.get(job.0 as usize).copied().filter(|&since| since != SimTime::NEVER)
    }
}
