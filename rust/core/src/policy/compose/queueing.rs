//! Jobs on their way into the queue, and out of it: gate, order and quotas.

use crate::algo::fit_list::{ClassId, QueueKey, Waiting};
use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::compose::Composed;
use crate::policy::order::Changes;
use crate::policy::placement::News;
use crate::policy::{Decisions, Jobs, View};
use crate::workload::JobId;

impl Composed {
    /// Asks the gate about submitted jobs, and rejects held jobs that can never start.
    pub(super) fn admit(&mut self, view: &View<'_>, out: &mut Decisions) {
        let Some(gate) = &mut self.parts.gate else {
            self.admitted.append(&mut self.submitted);
            return;
        };
        let ask = Ask { view, analyzer: self.parts.analyzer.as_ref(), least: &self.least };
        let power = &mut self.power;
        self.admitted.extend(self.submitted.drain(..).filter(|&job| gate.admits(&ask, power.as_mut(), job)));
        gate.reject().into_iter().for_each(|(job, why)| out.reject(job, why));
    }

    /// Removes withdrawn jobs from the queue.
    pub(super) fn let_go(&mut self, jobs: Jobs<'_>) {
        if self.withdrawn.is_empty() {
            return;
        }
        self.withdrawn.sort_unstable();
        let Self { withdrawn, submitted, admitted, queue, power, memory, parts, .. } = self;
        for &job in withdrawn.iter() {
            memory.quotas.leave(jobs, job);
            parts.backfill.note_left(job);
        }
        let is_gone = |job: &JobId| withdrawn.binary_search(job).is_ok();
        submitted.retain(|job| !is_gone(job));
        admitted.retain(|job| !is_gone(job));
        let keys: Vec<_> = queue.everyone().map(|waiting| waiting.key).filter(|key| is_gone(&JobId(key.row))).collect();
        for key in keys {
            queue.remove(key);
        }
        if let Some(power) = power {
            for &job in withdrawn.iter() {
                power.prices.forget(job);
            }
        }
        withdrawn.clear();
    }

    /// Sorts the admitted jobs into the queue. Sorts the whole queue again if its order changes as time passes.
    pub(super) fn arrange(&mut self, view: &View<'_>) -> Result<()> {
        let changes = self.parts.order.changes();
        let beat = changes.beat(view.now);
        let mut is_stale = beat != self.ranked;
        if changes == Changes::EachPass {
            let ask = Ask { view, analyzer: self.parts.analyzer.as_ref(), least: &self.least };
            is_stale = !self.parts.order.holds(&ask, &self.admitted);
        }
        if is_stale {
            self.rank_again(view)?;
            self.ranked = beat;
        }
        if self.admitted.is_empty() {
            return Ok(());
        }
        let mut admitted = std::mem::take(&mut self.admitted);
        self.join(view, &admitted)?;
        admitted.clear();
        self.admitted = admitted;
        Ok(())
    }

    /// Has the order rank all jobs of the queue again, and sorts it.
    pub(super) fn rank_again(&mut self, view: &View<'_>) -> Result<()> {
        self.memory.quotas.put_all_back(&mut self.queue);
        if self.queue.is_empty() {
            return Ok(());
        }
        let waiting: Vec<_> = self.queue.iter().map(|waiting| JobId(waiting.key.row)).collect();
        self.rank(view, &waiting)?;
        self.queue.rerank(&self.ranks);
        self.parts.backfill.note_sorted(&self.queue);
        if !self.memory.quotas.is_empty() {
            self.memory.quotas.resort(view.jobs, &self.queue);
        }
        Ok(())
    }

    /// Has the order rank some jobs of the queue.
    pub(super) fn rank(&mut self, view: &View<'_>, jobs: &[JobId]) -> Result<()> {
        let ask = Ask { view, analyzer: self.parts.analyzer.as_ref(), least: &self.least };
        self.ranks.clear();
        self.parts.order.rank_queued(&ask, jobs, &mut self.ranks)
    }

    /// Adds jobs to the queue.
    pub(super) fn join(&mut self, view: &View<'_>, jobs: &[JobId]) -> Result<()> {
        for &job in jobs {
            if let Some(power) = &mut self.power {
                power.ceiling.joined(view, job);
            }
            self.parts.placement.notice(view, News::Joined(job))?;
        }
        self.enqueue(view, jobs)
    }

    pub(super) fn enqueue(&mut self, view: &View<'_>, jobs: &[JobId]) -> Result<()> {
        if jobs.is_empty() {
            return Ok(());
        }
        self.rank(view, jobs)?;
        let Self { parts, power, queue, least, ranks, memory, .. } = self;
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        for (&job, &rank) in jobs.iter().zip(&*ranks) {
            let key = QueueKey { tier: view.tier(job), rank, submit: view.jobs.eligible(job), row: job.0 };
            memory.quotas.join(view.jobs, key);
            let (class, watts) = power.as_mut().map_or((ClassId::OTHER, 0), |power| {
                let class = power.prices.class_of(&ask, job);
                (class, power.prices.in_class(&ask, job, class).least.microwatts_down())
            });
            let waiting = Waiting {
                key,
                units: view.jobs.units(job, view.platform),
                length: least.length(view, job),
                watts,
                class: view.shares.map_or(class, |shares| shares.cells().in_slot(job, class)),
            };
            parts.backfill.note_queued(&waiting);
            queue.insert(waiting);
        }
        Ok(())
    }
}
