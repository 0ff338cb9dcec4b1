//! Who has waited too long: served before all others, the longest wait first (VAHRM, section III-B).

use std::collections::VecDeque;

use crate::policy::{Jobs, View};
use crate::units::SimDuration;
use crate::workload::JobId;

/// Queued jobs by submit, of which those that have waited longer than a limit are starving.
#[derive(Clone, Debug)]
pub struct Starvation {
    limit: SimDuration,
    /// By submit; some may have started.
    queued: VecDeque<JobId>,
}

impl Starvation {
    /// Jobs starve that have waited longer than `limit`.
    #[must_use]
    pub fn new(limit: SimDuration) -> Self {
        Self { limit, queued: VecDeque::new() }
    }

    /// Notes a job that joins the queue: in the order of submits, but for those that were held.
    pub fn queue(&mut self, jobs: Jobs<'_>, job: JobId) {
        let key = |job: JobId| (jobs.submit(job), job);
        match self.queued.back() {
            Some(&last) if key(last) > key(job) => {
                let place = self.queued.partition_point(|&other| key(other) < key(job));
                self.queued.insert(place, job);
            }
            _ => self.queued.push_back(job),
        }
    }

    /// The starving job that has waited longest, if it has not started; to be followed by [`Starvation::forget`] if it has.
    #[must_use]
    pub fn longest(&self, view: &View<'_>) -> Option<JobId> {
        self.queued.front().copied().filter(|&job| view.now - view.jobs.submit(job) > self.limit)
    }

    /// Drops the job at the front: it has started.
    pub fn forget(&mut self) {
        self.queued.pop_front();
    }
}
