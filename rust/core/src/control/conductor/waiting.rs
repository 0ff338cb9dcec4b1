//! Submitted jobs that wait for something before they join the queue, and withdrawals to come (operations page on
//! machines, rules 24 to 27).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use crate::units::SimTime;
use crate::workload::{JobId, Workload};

/// Condition for a submitted job to join the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The end of another job, which has not ended yet.
    Another,
    /// An instant; the condition is met if it has come.
    Until(SimTime),
    /// An end that will not come any more.
    Hopeless,
}

/// Jobs that wait outside the queue.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    workload: Arc<Workload>,
    /// Jobs by the instant at which they become eligible, as far as it is known; some may have been withdrawn since.
    due: BinaryHeap<Reverse<(SimTime, JobId)>>,
    /// Jobs to be looked at in this instant: they were submitted in it, or the job that they depend on has ended.
    news: VecDeque<JobId>,
    /// End of each job that has ended, and true if it completed; empty if no job depends on another.
    ends: Vec<Option<(SimTime, bool)>>,
    /// Withdrawals, by instant and row.
    cancels: Vec<(SimTime, JobId)>,
    next_cancel: usize,
}

impl Waiting {
    /// State in which no job waits yet; `None` if none of the workload ever will.
    pub(super) fn new(workload: &Arc<Workload>) -> Option<Self> {
        if !workload.has_waits() {
            return None;
        }
        let mut cancels: Vec<_> = workload.jobs().filter_map(|job| Some((workload.cancel_at(job)?, job))).collect();
        cancels.sort_unstable();
        Some(Self {
            due: BinaryHeap::new(),
            news: VecDeque::new(),
            ends: if workload.has_dependencies() { vec![None; workload.len()] } else { Vec::new() },
            cancels,
            next_cancel: 0,
            workload: Arc::clone(workload),
        })
    }

    /// Takes a workload with more jobs.
    pub(super) fn grow(&mut self, workload: &Arc<Workload>) {
        let before = self.workload.len();
        let new = workload.jobs().skip(before).filter_map(|job| Some((workload.cancel_at(job)?, job)));
        self.cancels.extend(new);
        self.cancels[self.next_cancel..].sort_unstable();
        if workload.has_dependencies() {
            self.ends.resize(workload.len(), None);
        }
        self.workload = Arc::clone(workload);
    }

    /// True if ends of jobs are kept.
    pub(super) fn knows_ends(&self) -> bool {
        !self.ends.is_empty()
    }

    /// Records the end of a job from before ends were kept.
    pub(super) fn remember(&mut self, job: JobId, end: SimTime, ok: bool) {
        if let Some(own) = self.ends.get_mut(job.0 as usize) {
            *own = Some((end, ok));
        }
    }

    /// Instant at which a job has ended, if it is known.
    pub(super) fn end_of(&self, job: JobId) -> Option<SimTime> {
        Some(self.ends.get(job.0 as usize).copied()??.0)
    }

    /// Next instant at which a job becomes eligible or is withdrawn.
    pub(super) fn next_time(&self) -> Option<SimTime> {
        let due = self.due.peek().map(|next| next.0.0);
        let cancel = self.cancels.get(self.next_cancel).map(|next| next.0);
        [due, cancel].into_iter().flatten().min()
    }

    /// True if a job is still to be looked at in this instant.
    pub(super) fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// True if a waiting job, one for which `is_held` is true, is still to join the queue or to be withdrawn.
    pub(super) fn may_change(&mut self, is_held: impl Fn(JobId) -> bool) -> bool {
        while self.due.peek().is_some_and(|next| !is_held(next.0.1)) {
            self.due.pop();
        }
        self.has_news() || !self.due.is_empty() || self.cancels[self.next_cancel..].iter().any(|&(_, job)| is_held(job))
    }

    /// Adds a job that was submitted.
    pub(super) fn submit(&mut self, job: JobId) {
        self.news.push_back(job);
    }

    /// Records the end of a job, and queues its dependents to be looked at.
    pub(super) fn end(&mut self, job: JobId, now: SimTime, ok: bool) {
        if let Some(end) = self.ends.get_mut(job.0 as usize) {
            *end = Some((now, ok));
            self.news.extend(self.workload.dependents(job));
        }
    }

    /// Forgets the end of a job that is queued again: those that depend on it wait on.
    pub(super) fn forget(&mut self, job: JobId) {
        if let Some(end) = self.ends.get_mut(job.0 as usize) {
            *end = None;
        }
    }

    /// Lets a job wait until then.
    pub(super) fn delay(&mut self, job: JobId, until: SimTime) {
        self.due.push(Reverse((until, job)));
    }

    /// Takes the next job to be withdrawn now.
    pub(super) fn pop_cancel(&mut self, now: SimTime) -> Option<JobId> {
        let &(_, job) = self.cancels.get(self.next_cancel).filter(|next| next.0 <= now)?;
        self.next_cancel += 1;
        Some(job)
    }

    /// Takes the next job to be looked at now.
    pub(super) fn pop_news(&mut self, now: SimTime) -> Option<JobId> {
        if self.due.peek().is_some_and(|next| next.0.0 <= now) {
            return self.due.pop().map(|next| next.0.1);
        }
        self.news.pop_front()
    }

    /// Condition for a submitted job to join the queue.
    pub(super) fn verdict(&self, job: JobId) -> Verdict {
        let jobs = &self.workload;
        let earliest = jobs.start_at(job).map_or(jobs.submit(job), |start| start.max(jobs.submit(job)));
        let Some((other, how)) = jobs.dependency(job) else { return Verdict::Until(earliest) };
        match self.ends.get(other.0 as usize).copied().flatten() {
            None => Verdict::Another,
            Some((_, ok)) if !how.is_met(ok) => Verdict::Hopeless,
            Some((end, _)) => Verdict::Until(earliest.max(end.saturating_add(jobs.think(job)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{JobColumns, WaitColumns};

    fn at(seconds: i64) -> SimTime {
        SimTime::from_micros(seconds * 1_000_000)
    }

    /// Job 1 completes before 5 begins at 20; 1 waits for 0 and 7 s, 2 for that 0 fails, 3 for 10 s.
    fn waiting() -> Waiting {
        let waits = WaitColumns {
            start_s: vec![f64::NAN, f64::NAN, f64::NAN, 10.0],
            depends_on: vec![-1, 0, 0, -1],
            depends_how: vec![0, 1, 2, 0],
            think_s: vec![f64::NAN, 7.0, f64::NAN, 99.0],
            cancel_s: vec![3.0, f64::NAN, 1.0, f64::NAN],
            ..WaitColumns::default()
        };
        let columns = JobColumns {
            job_id: vec![1, 2, 3, 4],
            submit_s: vec![0.0, 0.0, 2.0, 2.0],
            runtime_s: vec![1.0; 4],
            node_count: vec![1; 4],
            waits,
            ..JobColumns::default()
        };
        Waiting::new(&Arc::new(columns.into_workload().unwrap())).unwrap()
    }

    #[test]
    fn a_job_is_eligible_at_the_latest_of_what_it_waits_for() {
        let mut waiting = waiting();
        assert_eq!(waiting.verdict(JobId(0)), Verdict::Until(at(0)));
        assert_eq!(waiting.verdict(JobId(3)), Verdict::Until(at(10)), "think time without a dependency says nothing");
        assert_eq!(waiting.verdict(JobId(1)), Verdict::Another);
        waiting.end(JobId(0), at(1), true);
        assert_eq!([waiting.pop_news(at(1)), waiting.pop_news(at(1))], [Some(JobId(1)), Some(JobId(2))]);
        assert_eq!(waiting.verdict(JobId(1)), Verdict::Until(at(8)));
        assert_eq!(waiting.verdict(JobId(2)), Verdict::Hopeless);
    }

    #[test]
    fn nobody_is_withdrawn_before_its_submission() {
        let mut waiting = waiting();
        assert_eq!((waiting.next_time(), waiting.pop_cancel(at(1))), (Some(at(2)), None));
        assert_eq!([waiting.pop_cancel(at(2)), waiting.pop_cancel(at(2))], [Some(JobId(2)), None]);
        assert_eq!(waiting.pop_cancel(at(3)), Some(JobId(0)));
    }

    #[test]
    fn what_was_withdrawn_changes_no_more() {
        let mut waiting = waiting();
        while waiting.pop_cancel(at(9)).is_some() {}
        waiting.delay(JobId(3), at(10));
        assert!(waiting.may_change(|_| true) && !waiting.may_change(|_| false));
        assert_eq!(waiting.next_time(), None);
    }
}
