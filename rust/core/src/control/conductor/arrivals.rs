//! Line 5 of an instant: submissions, then withdrawals, then the jobs that have become eligible or hopeless (operations
//! page on machines, rule 27).

use crate::control::Refusal;
use crate::control::conductor::waiting::{Verdict, Waiting};
use crate::control::conductor::{Conductor, Fact, Plant, Why, Withdrawal};
use crate::error::Result;
use crate::units::SimTime;
use crate::workload::JobId;

impl Conductor {
    /// Processes all of line 5; returns the number of events that changed anything.
    pub(super) fn arrive(&mut self, now: SimTime, plant: &mut impl Plant) -> Result<u64> {
        let mut events = plant.bring_jobs(self)?;
        if self.waiting.is_some() {
            while let Some(job) = self.waiting.as_mut().and_then(|waiting| waiting.pop_cancel(now)) {
                events += u64::from(self.withdraw(job, Why::Foreseen, plant));
            }
            events += self.admit_all(now, plant);
        }
        Ok(events)
    }

    /// Submits a job: it joins the queue, or is held first if jobs of this run may have to wait for something, or it is
    /// turned away.
    pub fn submit(&mut self, job: JobId, plant: &mut impl Plant) {
        let Self { controller, waiting, .. } = self;
        if let Some(need) = controller.between(job) {
            plant.note(controller.cluster(), Fact::Between(job, need));
        }
        let refusal = if waiting.is_some() { controller.hold(job) } else { controller.submit(job) };
        if let Some(refusal) = refusal {
            self.turn_away(job, refusal, plant);
        } else if let Some(waiting) = waiting {
            waiting.submit(job);
        } else {
            plant.note(controller.cluster(), Fact::Joined(job));
        }
    }

    /// Notes that a job will not join the queue. That counts as its end, unless it is only left out because no start is
    /// known for it.
    pub fn turn_away(&mut self, job: JobId, refusal: Refusal, plant: &mut impl Plant) {
        plant.note(self.controller.cluster(), Fact::TurnedAway(job, refusal));
        if refusal != Refusal::LeftOut {
            self.note_end(job, false);
        }
    }

    /// Notes that a job has ended, for which others may wait; `ok`: it has completed.
    pub fn note_end(&mut self, job: JobId, ok: bool) {
        if let Some(waiting) = &mut self.waiting {
            waiting.end(job, self.controller.cluster().now(), ok);
        }
    }

    /// Notes that a job has ended at an instant that is past.
    pub fn note_past_end(&mut self, job: JobId, at: SimTime, ok: bool) {
        if let Some(waiting) = &mut self.waiting {
            waiting.end(job, at, ok);
        }
    }

    /// Instant at which a job has ended, if others may wait for it.
    #[must_use]
    pub fn end_of(&self, job: JobId) -> Option<SimTime> {
        self.waiting.as_ref().and_then(|waiting| waiting.end_of(job))
    }

    /// Queues a job again whose run is over; jobs that wait for its end go on waiting.
    pub fn requeue_over(&mut self, job: JobId) {
        self.controller.requeue_over(job);
        if let Some(waiting) = &mut self.waiting {
            waiting.forget(job);
        }
    }

    /// Withdraws a job; false if it runs or has ended.
    pub fn withdraw(&mut self, job: JobId, why: Why, plant: &mut impl Plant) -> bool {
        let Some(was_queued) = self.controller.withdraw(job) else { return false };
        plant.note(self.controller.cluster(), Fact::Withdrawn(Withdrawal { job, was_queued, why }));
        self.note_end(job, false);
        true
    }

    /// Admits the jobs that have nothing to wait for any more, and withdraws those that wait for something that will
    /// not come, until nothing changes. Returns their number.
    fn admit_all(&mut self, now: SimTime, plant: &mut impl Plant) -> u64 {
        let mut events = 0;
        loop {
            let mut eligible = Vec::new();
            while let Some(job) = self.waiting.as_mut().and_then(|waiting| waiting.pop_news(now)) {
                events += u64::from(self.look_at(job, now, &mut eligible, plant));
            }
            if eligible.is_empty() {
                return events;
            }
            eligible.sort_unstable();
            eligible.dedup();
            events += eligible.len() as u64;
            for job in eligible {
                self.admit(job, plant);
            }
        }
    }

    /// Looks at a job that may have nothing to wait for any more; true if it is withdrawn.
    fn look_at(&mut self, job: JobId, now: SimTime, eligible: &mut Vec<JobId>, plant: &mut impl Plant) -> bool {
        let Some(waiting) = self.waiting.as_mut().filter(|_| self.controller.cluster().is_held(job)) else {
            return false;
        };
        match waiting.verdict(job) {
            Verdict::Another => false,
            Verdict::Until(at) if at > now => {
                waiting.delay(job, at);
                false
            }
            Verdict::Until(_) => {
                eligible.push(job);
                false
            }
            Verdict::Hopeless => self.withdraw(job, Why::Hopeless, plant),
        }
    }

    /// Lets a held job join the queue, or turns it away if the budget has changed since and it does not fit any more.
    pub fn admit(&mut self, job: JobId, plant: &mut impl Plant) {
        match self.controller.admit(job) {
            Some(refusal) => self.turn_away(job, refusal, plant),
            None => plant.note(self.controller.cluster(), Fact::Joined(job)),
        }
    }

    /// True if a submitted job is still to join the queue or to be withdrawn.
    pub fn may_still_join(&mut self) -> bool {
        let Self { controller, waiting, .. } = self;
        waiting.as_mut().is_some_and(|waiting| waiting.may_change(|job| controller.cluster().is_held(job)))
    }

    /// True if jobs are still to be looked at in this instant, as they were submitted or the job that they depend on
    /// has ended.
    pub(super) fn has_news(&self) -> bool {
        self.waiting.as_ref().is_some_and(Waiting::has_news)
    }
}
