//! Starts of a run that begins with jobs under way: up to an instant the log decides them, and the policy from then on.

use std::sync::Arc;

use crate::units::SimTime;
use crate::workload::{JobId, Workload};

/// Starts that the log decides. The jobs start when the log says, on the nodes that it names if these are free, or else
/// on the lowest free ones; a job that does not fit is withdrawn. The policy makes its first pass when these are over,
/// and decides on all other jobs.
#[derive(Clone, Debug)]
pub(super) struct UnderWay {
    /// The instant of the policy's first pass.
    until: SimTime,
    /// Jobs that start by then, in the order of their starts.
    starts: Arc<[(SimTime, JobId)]>,
    next: usize,
    /// True once the policy decides.
    is_over: bool,
}

impl UnderWay {
    /// Starts of a log up to `until`.
    pub(super) fn new(workload: &Workload, until: SimTime) -> Self {
        let starts = workload.jobs().filter_map(|job| Some((workload.observed_start(job)?, job)));
        let mut starts: Vec<_> = starts.filter(|&(start, _)| start <= until).collect();
        starts.sort_unstable();
        Self { until, starts: starts.into(), next: 0, is_over: false }
    }

    /// The instant of the next start, or of the policy's first pass.
    pub(super) fn next_time(&self) -> Option<SimTime> {
        let next = self.starts.get(self.next).map_or(self.until, |&(start, _)| start);
        (!self.is_over).then_some(next)
    }

    /// True if the log decides the start of a job with this observed start, so that it joins no queue.
    pub(super) fn starts(&self, start: Option<SimTime>) -> bool {
        start.is_some_and(|start| start <= self.until)
    }

    /// Takes the next job that starts by now.
    pub(super) fn pop(&mut self, now: SimTime) -> Option<JobId> {
        let &(_, job) = self.starts.get(self.next).filter(|&&(start, _)| start <= now)?;
        self.next += 1;
        Some(job)
    }

    /// Hands over to the policy if its first pass is now; true if the policy decides.
    pub(super) fn hand_over(&mut self, now: SimTime) -> bool {
        self.is_over |= now >= self.until;
        self.is_over
    }

    /// True once the policy decides.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }
}
