//! Limits on how many jobs of an array, of a queue or of a user in a queue run at once: jobs beyond a limit are passed
//! over in a pass as if they were not queued (operations page on machines, rules 3 and 28).
//!
//! Such jobs are taken out of the queue for as long as one of their groups is full, so that no other part has to know
//! of limits. Jobs that are in the same groups come and go as a whole if there are many: they stand in a lane of the
//! queue, so that a start or an end costs no look at each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use crate::algo::fit_list::{FitList, Line, QueueKey};
use crate::platform::queues::{Group, Queues};
use crate::policy::Jobs;
use crate::workload::JobId;

/// Number of jobs up to which they come back into the queue one by one; more come back as a lane.
const FEW: usize = 64;

/// The groups with a limit that a job is in.
type Groups = [Option<Group>; 3];

/// State of the groups that have a limit, and the jobs passed over because of them.
#[derive(Clone, Debug, Default)]
pub struct Quotas {
    queues: Option<Arc<Queues>>,
    groups: BTreeMap<Group, Quota>,
    /// Groups that have changed since they were last looked at.
    changed: BTreeSet<Group>,
    /// Jobs by combination of groups; the index is also the number of their lane in the queue.
    alike: Vec<Alike>,
    numbers: BTreeMap<Groups, usize>,
    /// Indices into `alike` of those with jobs passed over.
    aside: BTreeSet<usize>,
}

#[derive(Clone, Debug, Default)]
struct Quota {
    limit: u32,
    /// Number of its jobs that run.
    active: u32,
    /// Indices into `alike` of its jobs, as far as any wait.
    alike: BTreeSet<usize>,
}

/// Jobs that are in the same groups.
#[derive(Clone, Debug)]
struct Alike {
    groups: Groups,
    /// Jobs in the queue that stand in no lane.
    queued: BTreeSet<QueueKey>,
    /// Jobs kept out of the queue.
    aside: Line,
}

impl Quota {
    fn is_full(&self) -> bool {
        self.active >= self.limit
    }
}

impl Quotas {
    /// Applies the limits of these queues, too.
    pub(super) fn line_up(&mut self, queues: &Arc<Queues>) {
        self.queues = Some(Arc::clone(queues));
    }

    /// Takes note that there are more jobs, of the same queues.
    pub(super) fn grow(&mut self, queues: Option<&Arc<Queues>>) {
        if self.queues.is_some() {
            self.queues = queues.cloned();
        }
    }

    /// True if no group with a limit has been seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The groups with a limit that a job is in, and their limits.
    fn of(&self, jobs: Jobs<'_>, job: JobId) -> [Option<(Group, u32)>; 3] {
        let array = jobs.array(job).map(|(array, limit)| (Group::Array(array), limit));
        let [queue, user] = self.queues.as_ref().map_or([None; 2], |queues| queues.limits(job));
        [array, queue, user]
    }

    fn groups(&self, jobs: Jobs<'_>, job: JobId) -> Groups {
        self.of(jobs, job).map(|group| group.map(|(group, _)| group))
    }

    /// Index into `alike` of the jobs in the same groups, if any such job has been queued.
    fn number(&self, jobs: Jobs<'_>, job: JobId) -> Option<usize> {
        self.numbers.get(&self.groups(jobs, job)).copied()
    }

    /// Notes that a job has joined the queue.
    pub(super) fn join(&mut self, jobs: Jobs<'_>, key: QueueKey) {
        let of = self.of(jobs, JobId(key.row));
        if of.iter().all(Option::is_none) {
            return;
        }
        let groups = of.map(|group| group.map(|(group, _)| group));
        let number = *self.numbers.entry(groups).or_insert(self.alike.len());
        if number == self.alike.len() {
            self.alike.push(Alike { groups, queued: BTreeSet::new(), aside: Line::default() });
        }
        self.alike[number].queued.insert(key);
        for (group, limit) in of.into_iter().flatten() {
            let quota = self.groups.entry(group).or_default();
            quota.limit = limit;
            quota.alike.insert(number);
            self.changed.insert(group);
        }
    }

    /// Notes that a job leaves the queue without a start.
    pub(super) fn leave(&mut self, jobs: Jobs<'_>, job: JobId) {
        let Some(number) = self.number(jobs, job) else { return };
        let Alike { queued, aside, .. } = &mut self.alike[number];
        queued.retain(|key| key.row != job.0);
        let key = aside.iter().map(|waiting| waiting.key).find(|key| key.row == job.0);
        key.map(|key| aside.remove(key));
    }

    /// Counts the start of a job.
    pub(super) fn start(&mut self, jobs: Jobs<'_>, key: QueueKey) {
        if let Some(number) = self.number(jobs, JobId(key.row)) {
            self.alike[number].queued.remove(&key);
        }
        for group in self.groups(jobs, JobId(key.row)).into_iter().flatten() {
            if let Some(quota) = self.groups.get_mut(&group) {
                quota.active += 1;
            }
        }
    }

    /// Counts the start of a job by another policy, against the limit of its array.
    pub(super) fn start_elsewhere(&mut self, jobs: Jobs<'_>, job: JobId) {
        if let Some((array, limit)) = jobs.array(job) {
            let group = Group::Array(array);
            let quota = self.groups.entry(group).or_default();
            quota.limit = limit;
            quota.active += 1;
            self.changed.insert(group);
        }
    }

    /// Counts a run that was started before this queue was kept.
    pub(super) fn inherit(&mut self, jobs: Jobs<'_>, job: JobId) {
        for (group, limit) in self.of(jobs, job).into_iter().flatten() {
            let quota = self.groups.entry(group).or_default();
            quota.limit = limit;
            quota.active += 1;
            self.changed.insert(group);
        }
    }

    /// Counts the end of a run.
    pub(super) fn end(&mut self, jobs: Jobs<'_>, job: JobId) {
        if self.is_empty() {
            return;
        }
        for group in self.groups(jobs, job).into_iter().flatten() {
            if let Some(quota) = self.groups.get_mut(&group) {
                quota.active = quota.active.saturating_sub(1);
                self.changed.insert(group);
            }
        }
    }

    /// Puts jobs back into the queue that are no longer in any full group.
    pub(super) fn put_back(&mut self, queue: &mut FitList) {
        if self.aside.is_empty() {
            return;
        }
        let free = self.changed.iter().filter_map(|group| self.groups.get(group)).filter(|quota| !quota.is_full());
        let numbers: BTreeSet<_> = free.flat_map(|quota| self.aside.intersection(&quota.alike)).copied().collect();
        for number in numbers {
            if !self.is_any_full(self.alike[number].groups) {
                self.restore(queue, number);
            }
        }
    }

    /// Puts all jobs back into the queue, which is about to be sorted again.
    pub(super) fn put_all_back(&mut self, queue: &mut FitList) {
        for number in self.aside.clone() {
            self.restore(queue, number);
            self.changed.extend(self.alike[number].groups.into_iter().flatten());
        }
    }

    /// Takes over the new keys of the queue, which was sorted again.
    pub(super) fn resort(&mut self, jobs: Jobs<'_>, queue: &FitList) {
        self.alike.iter_mut().for_each(|alike| alike.queued.clear());
        queue.main().for_each(|waiting| self.join(jobs, waiting.key));
    }

    /// Begins a pass: takes jobs that are in a full group out of the queue.
    pub(super) fn begin(&mut self, queue: &mut FitList) {
        if self.changed.is_empty() {
            return;
        }
        for group in std::mem::take(&mut self.changed) {
            if self.is_full(group) {
                self.set_aside(queue, group, None);
            }
        }
    }

    /// Handles a start. If it fills a group of the job, takes the jobs of that group that come after it out of the
    /// queue (with `all`, all of the group) and returns true.
    pub(super) fn hold_back(&mut self, jobs: Jobs<'_>, queue: &mut FitList, started: QueueKey, all: bool) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut is_full = false;
        for group in self.groups(jobs, JobId(started.row)).into_iter().flatten() {
            if self.is_full(group) {
                is_full = true;
                self.set_aside(queue, group, Some(started).filter(|_| !all));
                // Jobs before it had their turn; they are taken out when the next pass begins.
                self.changed.insert(group);
            }
        }
        is_full
    }

    fn is_full(&self, group: Group) -> bool {
        self.groups.get(&group).is_some_and(Quota::is_full)
    }

    fn is_any_full(&self, groups: Groups) -> bool {
        groups.into_iter().flatten().any(|group| self.is_full(group))
    }

    pub(super) fn is_held(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        self.is_any_full(self.groups(jobs, job))
    }

    /// Puts the jobs of one combination of groups back into the queue.
    fn restore(&mut self, queue: &mut FitList, number: usize) {
        self.aside.remove(&number);
        let Alike { queued, aside, .. } = &mut self.alike[number];
        queue.open_lane(number, aside);
        if aside.len() > FEW {
            return queue.add_lane(number, std::mem::take(aside));
        }
        for &waiting in aside.iter() {
            queued.insert(waiting.key);
            queue.insert(waiting);
        }
        aside.clear();
    }

    /// Takes jobs of a group out of the queue: those that come after `after`, or all.
    fn set_aside(&mut self, queue: &mut FitList, group: Group, after: Option<QueueKey>) {
        let Some(quota) = self.groups.get_mut(&group) else { return };
        let Self { alike, aside, .. } = self;
        quota.alike.retain(|&number| {
            let own = &mut alike[number];
            own.set_aside(queue, number, after);
            if !own.aside.is_empty() || queue.has_lane(number) {
                aside.insert(number);
                return true;
            }
            !own.queued.is_empty()
        });
    }
}

impl Alike {
    /// Takes these jobs out of the queue: those that come after `after`, or all.
    fn set_aside(&mut self, queue: &mut FitList, number: usize, after: Option<QueueKey>) {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let keys: Vec<_> = self.queued.range((from, Bound::Unbounded)).copied().collect();
        for key in keys {
            self.queued.remove(&key);
            queue.remove(key).into_iter().for_each(|waiting| self.aside.insert(waiting));
        }
        match after {
            Some(after) => queue.close_lane(number, after),
            None => {
                if let Some(mut line) = queue.take_lane(number) {
                    self.aside.iter().for_each(|&waiting| line.insert(waiting));
                    self.aside = line;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::fit_list::{ClassId, Waiting};
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
            queue.insert(Waiting { key: key(row), units: 1, length, watts: 0, class: ClassId::OTHER });
            quotas.join(jobs, key(row));
        }
        quotas.begin(&mut queue);
        assert_eq!(rows(&queue), [0, 1, 2, 3]);
        queue.remove(key(1));
        quotas.start(jobs, key(1));
        assert!(!quotas.hold_back(jobs, &mut queue, key(2), false), "it is of no array");
        assert!(quotas.hold_back(jobs, &mut queue, key(1), false));
        assert_eq!(rows(&queue), [0, 2], "who comes before had its turn");
        quotas.put_back(&mut queue);
        quotas.begin(&mut queue);
        assert_eq!(rows(&queue), [2]);
        quotas.leave(jobs, JobId(3));
        quotas.end(jobs, JobId(1));
        quotas.put_back(&mut queue);
        assert_eq!(rows(&queue), [0, 2]);
    }
}
