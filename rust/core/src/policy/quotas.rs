//! Jobs of which only so many may run at once, of an array or of a queue: those beyond are passed over in a pass as if they
//! were not queued (operations page on machines, rules 3 and 28).
//!
//! They are taken out of the queue for as long as a group of theirs is full, so that no part has to know of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::algo::fit_list::{FitList, QueueKey, Waiting};
use crate::policy::Jobs;
use crate::policy::queues::{Group, Queues};
use crate::workload::JobId;

/// What is known of the groups that have a limit.
#[derive(Clone, Debug, Default)]
pub struct Quotas {
    queues: Option<Arc<Queues>>,
    groups: BTreeMap<Group, Quota>,
    /// Those that have changed since they were looked at.
    changed: BTreeSet<Group>,
    /// Jobs that are kept out of the queue.
    aside: BTreeMap<QueueKey, Waiting>,
}

#[derive(Clone, Debug, Default)]
struct Quota {
    limit: u32,
    /// How many of its jobs run.
    active: u32,
    /// Those in the queue.
    queued: BTreeSet<QueueKey>,
    /// Those that are kept out of it, for this group or another.
    aside: BTreeSet<QueueKey>,
}

impl Quota {
    fn is_full(&self) -> bool {
        self.active >= self.limit
    }
}

impl Quotas {
    /// From now on these queues have limits, too.
    pub(super) fn line_up(&mut self, queues: &Arc<Queues>) {
        self.queues = Some(Arc::clone(queues));
    }

    /// There are more jobs, of the same queues.
    pub(super) fn grow(&mut self, queues: Option<&Arc<Queues>>) {
        if self.queues.is_some() {
            self.queues = queues.cloned();
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The groups with a limit that a job is in.
    fn of(&self, jobs: Jobs<'_>, job: JobId) -> impl Iterator<Item = (Group, u32)> + use<> {
        let array = jobs.array(job).map(|(array, limit)| (Group::Array(array), limit));
        let [queue, user] = self.queues.as_ref().map_or([None; 2], |queues| queues.limits(job));
        [array, queue, user].into_iter().flatten()
    }

    /// A job has joined the queue.
    pub(super) fn join(&mut self, jobs: Jobs<'_>, key: QueueKey) {
        for (group, limit) in self.of(jobs, JobId(key.row)) {
            let quota = self.groups.entry(group).or_default();
            quota.limit = limit;
            quota.queued.insert(key);
            self.changed.insert(group);
        }
    }

    /// A job leaves the queue without a start.
    pub(super) fn leave(&mut self, jobs: Jobs<'_>, job: JobId) {
        if self.is_empty() {
            return;
        }
        let is_other = |key: &QueueKey| key.row != job.0;
        for (group, _) in self.of(jobs, job) {
            if let Some(quota) = self.groups.get_mut(&group) {
                quota.queued.retain(is_other);
                quota.aside.retain(is_other);
            }
        }
        self.aside.retain(|key, _| is_other(key));
    }

    /// A job starts.
    pub(super) fn start(&mut self, jobs: Jobs<'_>, key: QueueKey) {
        for (group, _) in self.of(jobs, JobId(key.row)) {
            if let Some(quota) = self.groups.get_mut(&group) {
                quota.queued.remove(&key);
                quota.active += 1;
            }
        }
    }

    /// A job of the same array starts that is not this queue's to start.
    pub(super) fn start_elsewhere(&mut self, jobs: Jobs<'_>, job: JobId) {
        if let Some((array, limit)) = jobs.array(job) {
            let group = Group::Array(array);
            let quota = self.groups.entry(group).or_default();
            quota.limit = limit;
            quota.active += 1;
            self.changed.insert(group);
        }
    }

    /// A job runs that was started before this queue was kept.
    pub(super) fn inherit(&mut self, jobs: Jobs<'_>, job: JobId) {
        for (group, limit) in self.of(jobs, job) {
            let quota = self.groups.entry(group).or_default();
            quota.limit = limit;
            quota.active += 1;
            self.changed.insert(group);
        }
    }

    /// A run of a job is over.
    pub(super) fn end(&mut self, jobs: Jobs<'_>, job: JobId) {
        if self.is_empty() {
            return;
        }
        for (group, _) in self.of(jobs, job) {
            if let Some(quota) = self.groups.get_mut(&group) {
                quota.active = quota.active.saturating_sub(1);
                self.changed.insert(group);
            }
        }
    }

    /// Puts those back into the queue of which no group is full any more.
    pub(super) fn put_back(&mut self, jobs: Jobs<'_>, queue: &mut FitList) {
        let mut keys: BTreeSet<QueueKey> = BTreeSet::new();
        for group in &self.changed {
            if let Some(quota) = self.groups.get(group).filter(|quota| !quota.is_full()) {
                keys.extend(&quota.aside);
            }
        }
        keys.retain(|key| !self.is_held(jobs, JobId(key.row)));
        for key in keys {
            self.restore(jobs, queue, key);
        }
    }

    /// Puts all back into the queue, which is about to be sorted anew.
    pub(super) fn put_all_back(&mut self, jobs: Jobs<'_>, queue: &mut FitList) {
        let keys: Vec<_> = self.aside.keys().copied().collect();
        for key in keys {
            self.restore(jobs, queue, key);
            self.changed.extend(self.of(jobs, JobId(key.row)).map(|(group, _)| group));
        }
    }

    /// The queue was sorted anew.
    pub(super) fn resort(&mut self, jobs: Jobs<'_>, queue: &FitList) {
        self.groups.values_mut().for_each(|quota| quota.queued.clear());
        queue.iter().for_each(|waiting| self.join(jobs, waiting.key));
    }

    /// A pass begins: takes those out of the queue of which a group is full.
    pub(super) fn begin(&mut self, jobs: Jobs<'_>, queue: &mut FitList) {
        for group in std::mem::take(&mut self.changed) {
            if self.is_full(group) {
                self.set_aside(jobs, queue, group, None);
            }
        }
    }

    /// A job has started: if a group of it is full by that, takes the others of that group that come after it out of the
    /// queue, or all; true if so.
    pub(super) fn hold_back(&mut self, jobs: Jobs<'_>, queue: &mut FitList, started: QueueKey, all: bool) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut is_full = false;
        for (group, _) in self.of(jobs, JobId(started.row)) {
            if self.is_full(group) {
                is_full = true;
                self.set_aside(jobs, queue, group, Some(started).filter(|_| !all));
                // Those before it had their turn, and are taken out when the next pass begins.
                self.changed.insert(group);
            }
        }
        is_full
    }

    fn is_full(&self, group: Group) -> bool {
        self.groups.get(&group).is_some_and(Quota::is_full)
    }

    pub(super) fn is_held(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        self.of(jobs, job).any(|(group, _)| self.is_full(group))
    }

    fn restore(&mut self, jobs: Jobs<'_>, queue: &mut FitList, key: QueueKey) {
        let Some(waiting) = self.aside.remove(&key) else { return };
        for (group, _) in self.of(jobs, JobId(key.row)) {
            if let Some(quota) = self.groups.get_mut(&group) {
                quota.aside.remove(&key);
                quota.queued.insert(key);
            }
        }
        queue.insert(waiting);
    }

    /// Takes jobs of a group out of the queue: those that come after one, or all.
    fn set_aside(&mut self, jobs: Jobs<'_>, queue: &mut FitList, group: Group, after: Option<QueueKey>) {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let Some(quota) = self.groups.get(&group) else { return };
        let keys: Vec<_> = quota.queued.range((from, Bound::Unbounded)).copied().collect();
        for key in keys {
            for (group, _) in self.of(jobs, JobId(key.row)) {
                if let Some(quota) = self.groups.get_mut(&group) {
                    quota.queued.remove(&key);
                    quota.aside.insert(key);
                }
            }
            self.aside.extend(queue.remove(key).map(|waiting| (key, waiting)));
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
        QueueKey { tier: 0, rank: 0, submit: SimTime::default(), row }
    }

    fn rows(queue: &FitList) -> Vec<u32> {
        queue.iter().map(|waiting| waiting.key.row).collect()
    }

    #[test]
    fn jobs_of_a_full_array_are_out_of_the_queue_until_one_of_it_ends() {
        let workload = workload();
        let (jobs, mut queue, mut quotas) = (Jobs::new(&workload), FitList::default(), Quotas::default());
        for row in 0..4 {
            let length = SimDuration::from_micros(1);
            queue.insert(Waiting { key: key(row), units: 1, length, watts: 0, kind: Kind::OTHER });
            quotas.join(jobs, key(row));
        }
        quotas.begin(jobs, &mut queue);
        assert_eq!(rows(&queue), [0, 1, 2, 3]);
        queue.remove(key(1));
        quotas.start(jobs, key(1));
        assert!(!quotas.hold_back(jobs, &mut queue, key(2), false), "it is of no array");
        assert!(quotas.hold_back(jobs, &mut queue, key(1), false));
        assert_eq!(rows(&queue), [0, 2], "who comes before had its turn");
        quotas.put_back(jobs, &mut queue);
        quotas.begin(jobs, &mut queue);
        assert_eq!(rows(&queue), [2]);
        quotas.leave(jobs, JobId(3));
        quotas.end(jobs, JobId(1));
        quotas.put_back(jobs, &mut queue);
        assert_eq!(rows(&queue), [0, 2]);
    }
}
