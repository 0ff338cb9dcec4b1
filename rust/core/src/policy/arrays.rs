//! Arrays of jobs of which only so many may run at once: those beyond are passed over in a pass as if they were not queued
//! (operations page on machines, rules 3 and 28).
//!
//! They are taken out of the queue for as long as their array is full, so that no part has to know of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::algo::fit_list::{FitList, QueueKey, Waiting};
use crate::policy::Jobs;
use crate::workload::JobId;

/// What is known of the arrays that have a limit.
#[derive(Clone, Debug, Default)]
pub struct Arrays {
    by_number: BTreeMap<u32, Array>,
    /// Those that have changed since they were looked at.
    changed: BTreeSet<u32>,
}

#[derive(Clone, Debug, Default)]
struct Array {
    limit: u32,
    /// How many of its jobs run.
    active: u32,
    /// Those in the queue.
    queued: BTreeSet<QueueKey>,
    /// Those that are kept out of it.
    aside: Vec<Waiting>,
}

impl Array {
    fn is_full(&self) -> bool {
        self.active >= self.limit
    }
}

impl Arrays {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_number.is_empty()
    }

    /// A job has joined the queue.
    pub(super) fn join(&mut self, jobs: Jobs<'_>, key: QueueKey) {
        if let Some((number, limit)) = jobs.array(JobId(key.row)) {
            let array = self.by_number.entry(number).or_default();
            array.limit = limit;
            array.queued.insert(key);
            self.changed.insert(number);
        }
    }

    /// A job leaves the queue without a start.
    pub(super) fn leave(&mut self, jobs: Jobs<'_>, job: JobId) {
        let number = jobs.array(job).map(|array| array.0);
        if let Some(array) = number.and_then(|number| self.by_number.get_mut(&number)) {
            array.queued.retain(|key| key.row != job.0);
            array.aside.retain(|waiting| waiting.key.row != job.0);
        }
    }

    /// A job starts.
    pub(super) fn start(&mut self, jobs: Jobs<'_>, key: QueueKey) {
        let number = jobs.array(JobId(key.row)).map(|array| array.0);
        if let Some(array) = number.and_then(|number| self.by_number.get_mut(&number)) {
            array.queued.remove(&key);
            array.active += 1;
        }
    }

    /// A run of a job is over.
    pub(super) fn end(&mut self, jobs: Jobs<'_>, job: JobId) {
        let number = jobs.array(job).map(|array| array.0);
        if let Some((number, array)) = number.and_then(|number| Some((number, self.by_number.get_mut(&number)?))) {
            array.active = array.active.saturating_sub(1);
            self.changed.insert(number);
        }
    }

    /// Puts those back into the queue whose arrays are not full any more.
    pub(super) fn put_back(&mut self, queue: &mut FitList) {
        for number in &self.changed {
            if let Some(array) = self.by_number.get_mut(number).filter(|array| !array.is_full()) {
                array.restore(queue);
            }
        }
    }

    /// Puts all back into the queue, which is about to be sorted anew.
    pub(super) fn put_all_back(&mut self, queue: &mut FitList) {
        for (number, array) in &mut self.by_number {
            if !array.aside.is_empty() {
                array.restore(queue);
                self.changed.insert(*number);
            }
        }
    }

    /// The queue was sorted anew.
    pub(super) fn resort(&mut self, jobs: Jobs<'_>, queue: &FitList) {
        self.by_number.values_mut().for_each(|array| array.queued.clear());
        queue.iter().for_each(|waiting| self.join(jobs, waiting.key));
    }

    /// A pass begins: takes those out of the queue whose arrays are full.
    pub(super) fn begin(&mut self, queue: &mut FitList) {
        for number in std::mem::take(&mut self.changed) {
            if let Some(array) = self.by_number.get_mut(&number).filter(|array| array.is_full()) {
                array.set_aside(queue, None);
            }
        }
    }

    /// A job has started: if its array is full by that, takes the others that come after it out of the queue, or all; true if
    /// so.
    pub(super) fn hold_back(&mut self, jobs: Jobs<'_>, queue: &mut FitList, started: QueueKey, all: bool) -> bool {
        if self.is_empty() {
            return false;
        }
        let number = jobs.array(JobId(started.row)).map(|array| array.0);
        let array = number.and_then(|number| Some((number, self.by_number.get_mut(&number)?)));
        let Some((number, array)) = array.filter(|(_, array)| array.is_full()) else { return false };
        array.set_aside(queue, Some(started).filter(|_| !all));
        // Those before it had their turn, and are taken out when the next pass begins.
        self.changed.insert(number);
        true
    }
}

impl Array {
    fn restore(&mut self, queue: &mut FitList) {
        for waiting in self.aside.drain(..) {
            self.queued.insert(waiting.key);
            queue.insert(waiting);
        }
    }

    /// Takes jobs out of the queue: those that come after one, or all.
    fn set_aside(&mut self, queue: &mut FitList, after: Option<QueueKey>) {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let keys: Vec<_> = self.queued.range((from, Bound::Unbounded)).copied().collect();
        for key in keys {
            self.queued.remove(&key);
            self.aside.extend(queue.remove(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::fit_list::Kind;
    use crate::units::{SimDuration, SimTime};
    use crate::workload::{JobColumns, WaitColumns, Workload};

    fn workload() -> Workload {
        let waits = WaitColumns { array: vec![0, 0, -1, 0], array_limits: vec![1], ..WaitColumns::default() };
        let columns = JobColumns {
            job_id: vec![1, 2, 3, 4],
            submit_s: vec![0.0; 4],
            runtime_s: vec![1.0; 4],
            node_count: vec![1; 4],
            waits,
            ..JobColumns::default()
        };
        columns.into_workload().unwrap()
    }

    fn key(row: u32) -> QueueKey {
        QueueKey { rank: 0, submit: SimTime::default(), row }
    }

    fn rows(queue: &FitList) -> Vec<u32> {
        queue.iter().map(|waiting| waiting.key.row).collect()
    }

    #[test]
    fn jobs_of_a_full_array_are_out_of_the_queue_until_one_of_it_ends() {
        let workload = workload();
        let (jobs, mut queue, mut arrays) = (Jobs::new(&workload), FitList::default(), Arrays::default());
        for row in 0..4 {
            let length = SimDuration::from_micros(1);
            queue.insert(Waiting { key: key(row), units: 1, length, watts: 0, kind: Kind::OTHER });
            arrays.join(jobs, key(row));
        }
        arrays.begin(&mut queue);
        assert_eq!(rows(&queue), [0, 1, 2, 3]);
        queue.remove(key(1));
        arrays.start(jobs, key(1));
        assert!(!arrays.hold_back(jobs, &mut queue, key(2), false), "it is of no array");
        assert!(arrays.hold_back(jobs, &mut queue, key(1), false));
        assert_eq!(rows(&queue), [0, 2], "who comes before had its turn");
        arrays.put_back(&mut queue);
        arrays.begin(&mut queue);
        assert_eq!(rows(&queue), [2]);
        arrays.leave(jobs, JobId(3));
        arrays.end(jobs, JobId(1));
        arrays.put_back(&mut queue);
        assert_eq!(rows(&queue), [0, 2]);
    }
}
