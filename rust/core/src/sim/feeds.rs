//! What comes from outside: jobs, and what befalls the machine. Both are sorted and read by a cursor.

use std::sync::Arc;

use crate::sim::event::Event;
use crate::units::SimTime;
use crate::workload::{JobId, Workload};

/// Submissions and events to come.
#[derive(Clone, Debug)]
pub(super) struct Feeds {
    workload: Arc<Workload>,
    /// All jobs by submission.
    submits: Arc<[JobId]>,
    next_submit: usize,
    /// The first submission that belongs to the round under way.
    round: usize,
    /// No job before this one, and after those that were submitted, will ever start.
    viable: usize,
    /// What befalls the machine, by instant and rank; of equal ones, in the order in which they were announced.
    outside: Vec<(SimTime, Event)>,
    next_outside: usize,
}

impl Feeds {
    pub(super) fn new(workload: Arc<Workload>) -> Self {
        let submits = workload.submit_order().into();
        Self { workload, submits, next_submit: 0, round: 0, viable: 0, outside: Vec::new(), next_outside: 0 }
    }

    /// All jobs by submission.
    pub(super) fn submits(&self) -> &[JobId] {
        &self.submits
    }

    /// Has something befall the machine at `at`, or now if that is past: then it is the last word on what was past before.
    pub(super) fn announce(&mut self, at: SimTime, now: SimTime, event: Event) {
        if at < now {
            let next = self.next_outside;
            let same = |other: &(SimTime, Event)| other.0 == now && other.1.is_about(event);
            if let Some(place) = self.outside[next..].iter().position(same) {
                self.outside.remove(next + place);
            }
        }
        let at = at.max(now);
        let key = |&(at, event): &(SimTime, Event)| (at, event.rank());
        let to_come = &self.outside[self.next_outside..];
        let place = self.next_outside + to_come.partition_point(|other| key(other) <= (at, event.rank()));
        self.outside.insert(place, (at, event));
    }

    /// The instant of the next submission or event.
    pub(super) fn next_time(&self) -> Option<SimTime> {
        let submit = self.submits.get(self.next_submit).map(|&job| self.workload.submit(job));
        let outside = self.outside.get(self.next_outside).map(|next| next.0);
        [submit, outside].into_iter().flatten().min()
    }

    /// The next event at `now` of a rank up to `rank`.
    pub(super) fn pop_outside(&mut self, now: SimTime, rank: u8) -> Option<Event> {
        let &(_, event) = self.outside.get(self.next_outside).filter(|next| next.0 == now && next.1.rank() <= rank)?;
        self.next_outside += 1;
        Some(event)
    }

    /// How many budgets begin or end at an instant, as far as is still to come.
    pub(super) fn ends_of_budgets(&self, at: SimTime) -> usize {
        let to_come = &self.outside[self.next_outside..];
        to_come.iter().filter(|&&(when, event)| when == at && event == Event::Budget).count()
    }

    /// A round begins.
    pub(super) fn begin_round(&mut self) {
        self.round = self.next_submit;
    }

    /// The next job that is submitted at `now`.
    pub(super) fn pop_submit(&mut self, now: SimTime) -> Option<JobId> {
        let &job = self.submits.get(self.next_submit).filter(|&&job| self.workload.submit(job) == now)?;
        self.next_submit += 1;
        Some(job)
    }

    /// Whether the job was submitted in this round.
    pub(super) fn joined_now(&self, job: JobId) -> bool {
        // Those of one instant stand in the order of their rows.
        self.submits[self.round..self.next_submit].binary_search(&job).is_ok()
    }

    /// Whether a job to come may start, where `hopeless` says which will not.
    pub(super) fn may_start_one(&mut self, mut hopeless: impl FnMut(JobId) -> bool) -> bool {
        self.viable = self.viable.max(self.next_submit);
        while self.submits.get(self.viable).is_some_and(|&job| hopeless(job)) {
            self.viable += 1;
        }
        self.viable < self.submits.len()
    }

    /// Jobs that were not submitted yet.
    pub(super) fn to_come(&self) -> &[JobId] {
        &self.submits[self.next_submit..]
    }
}
