//! Sizes of moldable jobs that wait, and of running ones.

use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::compose::Composed;
use crate::policy::{Decision, Decisions, View};
use crate::workload::JobId;
use std::collections::BTreeSet;

impl Composed {
    /// Chooses sizes of the jobs that wait. True if any changes: then nothing starts until the new sizes are in force.
    pub(super) fn choose_sizes(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<bool> {
        let Self { parts, power, queue, least, .. } = self;
        let Some(sizing) = &mut parts.sizing else { return Ok(false) };
        let jobs: Vec<_> = queue.iter().map(|waiting| JobId(waiting.key.row)).collect();
        let room = power.as_ref().map(|power| power.ceiling.room(view));
        let mut sizes = Vec::with_capacity(jobs.len());
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        sizing.sizes(&ask, room, &jobs, &mut sizes)?;
        let changed = jobs.into_iter().zip(sizes).filter(|&(job, size)| view.jobs.node_count(job) != size);
        let mut others = Vec::new();
        for (job, size) in changed {
            out.push(Decision::Size(job, size));
            others.push(job);
        }
        let is_any = !others.is_empty();
        self.sized = is_any.then_some(others);
        Ok(is_any)
    }

    /// Queues the jobs again that have another size: their units, lengths and prices change with it.
    pub(super) fn join_sized(&mut self, view: &View<'_>, jobs: &[JobId]) -> Result<()> {
        let rows: BTreeSet<u32> = jobs.iter().map(|job| job.0).collect();
        let keys: Vec<_> = self.queue.iter().map(|waiting| waiting.key).filter(|key| rows.contains(&key.row)).collect();
        for key in keys {
            self.queue.remove(key);
        }
        if let Some(power) = &mut self.power {
            for &job in jobs {
                power.prices.forget(job);
            }
        }
        self.enqueue(view, jobs)
    }

    /// Decides on sizes of running jobs.
    pub(super) fn resize(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        let Self { parts, power, least, growing, queue, admitted, submitted, withdrawn, .. } = self;
        let Some(sizing) = &mut parts.sizing else { return Ok(()) };
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        let room = power.as_ref().map(|power| power.ceiling.room(view));
        let waiting = || {
            let queued = queue.iter().map(|waiting| JobId(waiting.key.row));
            let all = queued.chain(admitted.iter().copied()).chain(submitted.iter().copied());
            all.filter(|job| !withdrawn.contains(job)).collect()
        };
        growing.decide(&ask, sizing.as_mut(), parts.placement.as_mut(), (room, waiting), out)
    }
}
