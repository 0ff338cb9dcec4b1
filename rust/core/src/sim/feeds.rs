//! Feeds from outside: jobs, and events of the machine. Both are sorted and read through a cursor.

use std::sync::Arc;

use crate::sim::event::Event;
use crate::units::{SimTime, soonest};
use crate::workload::{JobId, Workload};

/// Submissions and events to come.
#[derive(Clone, Debug)]
pub(super) struct Feeds {
    workload: Arc<Workload>,
    /// All jobs by submission.
    submits: Arc<[JobId]>,
    next_submit: usize,
    /// Instant of the next submission, if there is one.
    submit_at: Option<SimTime>,
    /// The first submission that belongs to the round under way.
    round: usize,
    /// No job of `submits` from `next_submit` to just before this index will ever start.
    viable: usize,
    /// Events from outside, by instant and rank; equal ones in the order in which they were announced.
    outside: Vec<(SimTime, u8, Event)>,
    next_outside: usize,
    /// Jobs that have joined the queue in the present round, sorted; kept only if jobs may join later than their
    /// submission.
    joined: Option<Vec<JobId>>,
}

/// Rank of events from before the run: they come first in its first instant.
const EARLY: u8 = 0;

impl Feeds {
    pub(super) fn new(workload: Arc<Workload>) -> Self {
        let submits = workload.submit_order().into();
        let joined = workload.has_waits().then(Vec::new);
        let (next_submit, submit_at, outside) = (0, None, Vec::new());
        let mut feeds =
            Self { workload, submits, next_submit, submit_at, round: 0, viable: 0, outside, next_outside: 0, joined };
        feeds.look_up_submit();
        feeds
    }

    fn look_up_submit(&mut self) {
        self.submit_at = self.submits.get(self.next_submit).map(|&job| self.workload.submit(job));
    }

    /// Takes a workload with more jobs, none of which is submitted before those that already were.
    pub(super) fn grow(&mut self, workload: Arc<Workload>) {
        let before = self.submits.len();
        let known = self.submits[self.next_submit..].iter().copied();
        let mut to_come: Vec<_> = known.chain(workload.jobs().skip(before)).collect();
        to_come.sort_by_key(|&job| (workload.submit(job), job));
        let past = self.submits[..self.next_submit].iter().copied();
        self.submits = past.chain(to_come).collect();
        self.viable = self.next_submit;
        if workload.has_waits() {
            self.joined.get_or_insert_default();
        }
        self.workload = workload;
        self.look_up_submit();
    }

    /// All jobs by submission.
    pub(super) fn submits(&self) -> &[JobId] {
        &self.submits
    }

    /// Adds an event from outside at `at`, or now if that is past. Such an early event replaces an earlier one that
    /// says whether the same node has failed.
    pub(super) fn announce(&mut self, at: SimTime, now: SimTime, event: Event) {
        let rank = if at < now { EARLY } else { event.rank() };
        if rank == EARLY {
            let next = self.next_outside;
            let same = |other: &(SimTime, u8, Event)| (other.0, other.1) == (now, EARLY) && other.2.is_about(event);
            if let Some(place) = self.outside[next..].iter().position(same) {
                self.outside.remove(next + place);
            }
        }
        let at = at.max(now);
        let to_come = &self.outside[self.next_outside..];
        let place = self.next_outside + to_come.partition_point(|other| (other.0, other.1) <= (at, rank));
        self.outside.insert(place, (at, rank, event));
    }

    /// The instant of the next submission or event.
    pub(super) fn next_time(&self) -> Option<SimTime> {
        let outside = self.outside.get(self.next_outside).map(|next| next.0);
        soonest([self.submit_at, outside])
    }

    /// The next event at `now` of a rank up to `rank`.
    pub(super) fn pop_outside(&mut self, now: SimTime, rank: u8) -> Option<Event> {
        let &(_, _, event) = self.outside.get(self.next_outside).filter(|next| next.0 == now && next.1 <= rank)?;
        self.next_outside += 1;
        Some(event)
    }

    /// Number of begins and ends of budgets at an instant that are still to come.
    pub(super) fn ends_of_budgets(&self, at: SimTime) -> usize {
        let to_come = &self.outside[self.next_outside..];
        to_come.iter().filter(|&&(when, _, event)| when == at && event == Event::Budget).count()
    }

    /// Begins a round.
    pub(super) fn begin_round(&mut self) {
        self.round = self.next_submit;
        if let Some(joined) = &mut self.joined {
            joined.clear();
        }
    }

    /// Notes that a job joins the queue, and keeps those of the round in the order of rows.
    pub(super) fn note_joined(&mut self, job: JobId) {
        if let Some(joined) = &mut self.joined {
            let place = joined.partition_point(|&other| other < job);
            joined.insert(place, job);
        }
    }

    /// The next job that is submitted at `now`.
    pub(super) fn pop_submit(&mut self, now: SimTime) -> Option<JobId> {
        if self.submit_at != Some(now) {
            return None;
        }
        let &job = self.submits.get(self.next_submit)?;
        self.next_submit += 1;
        self.look_up_submit();
        Some(job)
    }

    /// True if the job has joined the queue in this round.
    pub(super) fn joined_now(&self, job: JobId) -> bool {
        if let Some(joined) = &self.joined {
            return joined.binary_search(&job).is_ok();
        }
        // Submissions of one instant are in the order of their rows.
        self.submits[self.round..self.next_submit].binary_search(&job).is_ok()
    }

    /// True if a job to come may start; `hopeless` says which ones will not. Amortised: a cursor skips hopeless jobs
    /// once for all calls.
    pub(super) fn may_start_one(&mut self, mut hopeless: impl FnMut(JobId) -> bool) -> bool {
        self.viable = self.viable.max(self.next_submit);
        while self.submits.get(self.viable).is_some_and(|&job| hopeless(job)) {
            self.viable += 1;
        }
        self.viable < self.submits.len()
    }

    /// Jobs that are not submitted yet.
    pub(super) fn to_come(&self) -> &[JobId] {
        &self.submits[self.next_submit..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::JobColumns;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn feeds() -> Feeds {
        Feeds::new(Arc::new(JobColumns::default().into_workload().unwrap()))
    }

    fn all(feeds: &mut Feeds, now: i64) -> Vec<Event> {
        std::iter::from_fn(|| feeds.pop_outside(at(now), Event::CANCEL)).collect()
    }

    #[test]
    fn of_one_instant_repairs_come_before_failures_and_withdrawals_last() {
        let (mut feeds, until) = (feeds(), at(99));
        let cancel = Event::Cancel(JobId(0));
        let events = [cancel, Event::Budget, Event::MaintenanceBegins(2, until), Event::NodeFailed(1)];
        for event in [&events[..], &[Event::MaintenanceEnds(3), Event::NodeRepaired(1)]].concat() {
            feeds.announce(at(10), at(0), event);
        }
        assert_eq!(feeds.next_time(), Some(at(10)));
        assert_eq!(feeds.pop_outside(at(10), Event::NODES), Some(Event::MaintenanceEnds(3)));
        assert_eq!(feeds.pop_outside(at(10), Event::NODES), Some(Event::NodeRepaired(1)));
        assert_eq!(feeds.pop_outside(at(10), Event::NODES), None);
        let [begins, fails] = [events[2], events[3]];
        assert_eq!(all(&mut feeds, 10), [begins, fails, Event::Budget, cancel]);
    }

    #[test]
    fn of_what_was_before_the_run_the_last_word_on_a_node_counts_and_comes_first() {
        let mut feeds = feeds();
        for (when, event) in [(1, Event::NodeFailed(1)), (2, Event::NodeFailed(2)), (3, Event::NodeRepaired(1))] {
            feeds.announce(at(when), at(5), event);
        }
        feeds.announce(at(5), at(5), Event::NodeRepaired(2));
        // Node 2 failed before it was repaired, though within an instant repairs come first.
        assert_eq!(all(&mut feeds, 5), [Event::NodeFailed(2), Event::NodeRepaired(1), Event::NodeRepaired(2)]);
    }
}
