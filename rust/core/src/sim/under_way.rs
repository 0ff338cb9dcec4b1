//! Runs that begin with jobs under way: up to an instant the log decides what starts, and the policy from then on.

use std::sync::Arc;

use crate::control::conductor::{Conductor, Why};
use crate::error::Result;
use crate::sim::Simulation;
use crate::sim::world::World;
use crate::units::SimTime;
use crate::workload::{JobId, Workload};

/// Starts that the log decides.
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
    fn new(workload: &Workload, until: SimTime) -> Self {
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

    fn pop(&mut self, now: SimTime) -> Option<JobId> {
        let &(_, job) = self.starts.get(self.next).filter(|&&(start, _)| start <= now)?;
        self.next += 1;
        Some(job)
    }
}

impl Simulation {
    /// Lets the log decide up to `until`, before anything has happened. Jobs then start when the log says, on the nodes
    /// that it names if these are free, or else on the lowest free ones; a job that does not fit is withdrawn. The
    /// policy makes its first pass at `until`, and decides on all other jobs.
    pub(super) fn begin_under_way(&mut self, until: SimTime) {
        self.world.under_way = Some(UnderWay::new(self.workload(), until));
    }
}

impl World {
    /// True if the log, and not yet the policy, decides what starts.
    pub(super) fn follows_log(&self) -> bool {
        self.under_way.as_ref().is_some_and(|log| !log.is_over)
    }

    /// True if a job of the log starts now, or the policy's first pass is now.
    pub(super) fn has_start_due(&self, now: SimTime) -> bool {
        self.under_way.as_ref().and_then(UnderWay::next_time).is_some_and(|next| next <= now)
    }

    /// Starts the jobs that start now according to the log; true if the policy does not decide yet.
    pub(super) fn follow_log(&mut self, conductor: &mut Conductor) -> Result<bool> {
        let now = conductor.now();
        while let Some(job) = self.under_way.as_mut().and_then(|log| log.pop(now)) {
            self.take_up(conductor, job)?;
        }
        let Some(log) = &mut self.under_way else { return Ok(false) };
        log.is_over |= now >= log.until;
        Ok(!log.is_over)
    }

    fn take_up(&mut self, conductor: &mut Conductor, job: JobId) -> Result<()> {
        if let Some(refusal) = conductor.controller_mut().hold(job) {
            conductor.turn_away(job, refusal, self);
        } else if !conductor.take_up(job, self)? {
            conductor.withdraw(job, Why::Asked, self);
        }
        Ok(())
    }
}
