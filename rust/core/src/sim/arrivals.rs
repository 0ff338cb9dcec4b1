//! Line 5 of an instant: submissions, then withdrawals, then the jobs that have become eligible or hopeless (operations
//! page on machines, rule 27).

use crate::sim::Simulation;
use crate::sim::event::Event;
use crate::sim::log::{Entry, Kind};
use crate::sim::record::JobState;
use crate::sim::waiting::{Verdict, Waiting};
use crate::units::SimTime;
use crate::workload::JobId;

impl Simulation {
    /// Processes all of line 5; returns the number of events that changed anything.
    pub(super) fn arrive(&mut self, now: SimTime) -> u64 {
        let mut events = 0;
        while let Some(job) = self.feeds.pop_submit(now) {
            events += 1;
            self.submit(job);
        }
        while let Some(event) = self.feeds.pop_outside(now, Event::CANCEL) {
            if let Event::Cancel(job) = event {
                events += u64::from(self.withdraw(job, JobState::Cancelled));
            }
        }
        if self.waiting.is_some() {
            while let Some(job) = self.waiting.as_mut().and_then(|waiting| waiting.pop_cancel(now)) {
                events += u64::from(self.withdraw(job, JobState::Cancelled));
            }
            events += self.admit_all(now);
        }
        events
    }

    /// Submits a job: it joins the queue, or is held first if jobs of this run may have to wait for something, or it is
    /// turned away.
    fn submit(&mut self, job: JobId) {
        let Self { controller, waiting, history, tally, under_way, .. } = self;
        let start = controller.cluster().workload().observed_start(job);
        if under_way.as_ref().is_some_and(|log| log.starts(start)) {
            return;
        }
        if let Some(need) = controller.between(job) {
            history.note_between(job, need);
        }
        let refusal = if waiting.is_some() { controller.hold(job) } else { controller.submit(job) };
        if let Some(refusal) = refusal {
            history.turn_away(job, refusal);
            self.note_refused(job);
        } else if let Some(waiting) = waiting {
            waiting.submit(job);
        } else if let Some(tally) = tally {
            tally.join(controller.cluster().workload(), job);
        }
    }

    /// Notes that a job will not join the queue. That counts as its end, unless it is only left out because no start is
    /// known for it.
    pub(super) fn note_refused(&mut self, job: JobId) {
        if self.history.is_rejected(job) {
            self.note_end(job, false);
        }
    }

    /// Notes that a job has ended, for which others may wait.
    pub(super) fn note_end(&mut self, job: JobId, ok: bool) {
        if let Some(waiting) = &mut self.waiting {
            waiting.end(job, self.controller.cluster().now(), ok);
        }
    }

    /// Withdraws a job; false if it runs or has ended.
    pub(super) fn withdraw(&mut self, job: JobId, why: JobState) -> bool {
        let Some(was_queued) = self.controller.withdraw(job) else { return false };
        if let Some(tally) = self.tally.as_mut().filter(|_| was_queued) {
            tally.leave(self.controller.cluster().workload(), job);
        }
        self.history.cancel(job, why);
        let (at, draw) = (self.now(), self.plant.draw());
        self.history.note(Entry { job: Some(job), ..Entry::new(at, Kind::Cancel, draw) });
        self.note_end(job, false);
        true
    }

    /// Admits the jobs that have nothing to wait for any more, and withdraws those that wait for something that will
    /// not come, until nothing changes. Returns their number.
    fn admit_all(&mut self, now: SimTime) -> u64 {
        let mut events = 0;
        loop {
            let mut eligible = Vec::new();
            while let Some(job) = self.waiting.as_mut().and_then(|waiting| waiting.pop_news(now)) {
                events += u64::from(self.look_at(job, now, &mut eligible));
            }
            if eligible.is_empty() {
                return events;
            }
            eligible.sort_unstable();
            eligible.dedup();
            events += eligible.len() as u64;
            for job in eligible {
                self.admit(job);
            }
        }
    }

    /// Looks at a job that may have nothing to wait for any more; true if it is withdrawn.
    fn look_at(&mut self, job: JobId, now: SimTime, eligible: &mut Vec<JobId>) -> bool {
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
            Verdict::Hopeless => self.withdraw(job, JobState::Hopeless),
        }
    }

    /// Lets a held job join the queue, or turns it away if the budget has changed since and it does not fit any more.
    fn admit(&mut self, job: JobId) {
        let Self { controller, history, tally, feeds, .. } = self;
        if let Some(refusal) = controller.admit(job) {
            history.turn_away(job, refusal);
            self.note_refused(job);
            return;
        }
        feeds.note_joined(job);
        if let Some(tally) = tally {
            tally.join(controller.cluster().workload(), job);
        }
    }

    /// True if a submitted job is still to join the queue or to be withdrawn.
    pub(super) fn may_still_join(&mut self) -> bool {
        let Self { controller, waiting, .. } = self;
        waiting.as_mut().is_some_and(|waiting| waiting.may_change(|job| controller.cluster().is_held(job)))
    }

    /// True if jobs are still to be looked at in this instant, as they were submitted or the job that they depend on
    /// has ended.
    pub(super) fn has_news(&self) -> bool {
        self.waiting.as_ref().is_some_and(Waiting::has_news)
    }
}
