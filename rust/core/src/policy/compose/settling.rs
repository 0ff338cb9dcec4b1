//! End of a pass: what the starts teach, and on which basis they are counted.

use crate::error::Result;
use crate::policy::analyzer::lessons::Lessons;
use crate::policy::compose::Composed;
use crate::policy::{Basis, Decisions, View};
use crate::workload::JobId;

impl Composed {
    /// Finishes a pass: forgets the prices of the jobs that start, applies what first runs have taught, and notes the
    /// basis on which the starts are counted.
    pub(super) fn settle(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        if let Some(power) = &mut self.power {
            out.starts().for_each(|start| power.prices.forget(start.job));
        }
        self.teach(view, out)?;
        let Self { parts, least, power, .. } = self;
        if power.is_none() && parts.sizing.as_ref().is_none_or(|sizing| !sizing.resizes_runs()) {
            return Ok(());
        }
        let estimate = |job| parts.analyzer.estimate(view.jobs, job);
        out.revise(|start, _| start.basis = Basis { least: least.of(view, start.job), estimate: estimate(start.job) });
        Ok(())
    }

    /// Applies what the first runs of this pass teach: waiting jobs of their applications are queued again at their
    /// predicted draws, and those held for a profile join the queue.
    pub(super) fn teach(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        if !self.parts.analyzer.learns() {
            return Ok(());
        }
        let lessons = Lessons::learn(view, self.parts.analyzer.as_mut(), &self.least, out, self.power.is_some());
        if lessons.apps.is_empty() {
            return Ok(());
        }
        self.memory.quotas.put_all_back(&mut self.queue);
        let stale = self.queue.iter().filter(|waiting| lessons.concern(view.jobs, JobId(waiting.key.row)));
        let stale: Vec<_> = stale.map(|waiting| waiting.key).collect();
        for &key in &stale {
            self.memory.quotas.leave(view.jobs, JobId(key.row));
            self.queue.remove(key);
        }
        self.enqueue(view, &stale.iter().map(|key| JobId(key.row)).collect::<Vec<_>>())?;
        let gate = self.parts.gate.as_mut();
        let held: Vec<_> =
            gate.map_or_else(Vec::new, |gate| lessons.apps.iter().flat_map(|&app| gate.release(app)).collect());
        self.join(view, &held)
    }
}
