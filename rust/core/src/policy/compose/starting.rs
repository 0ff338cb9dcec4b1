//! Starts of a pass: the queue is brought up to date, and the backfill asked.

use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::backfill::named::urgent;
use crate::policy::compose::Composed;
use crate::policy::desk::Desk;
use crate::policy::placement::News;
use crate::policy::{Decisions, View};
use crate::workload::JobId;

impl Composed {
    /// Starts jobs: admits those just submitted, sorts the queue, and asks the backfill.
    pub(super) fn start(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        self.memory.begin(!self.withdrawn.is_empty());
        self.let_go(view.jobs);
        self.memory.quotas.put_back(&mut self.queue);
        self.judge_new(view, out);
        if std::mem::take(&mut self.budget_changed) {
            self.judge_again(view, out);
        }
        self.admit(view, out);
        let mut free_units = if view.is_held { 0 } else { view.slots.free_units() };
        let is_beat = self.parts.order.changes().beat(view.now) != self.ranked;
        if is_beat {
            self.arrange(view)?;
        }
        let looks_ahead = self.looks_ahead(view);
        let is_urgent = self.is_urgent(view);
        // Every job needs a free unit or a node that can be woken. Until there is one, new jobs need not even be sorted
        // in.
        let is_any = is_urgent || !(self.queue.is_empty() && self.admitted.is_empty());
        let keeps_time = self.parts.backfill.keeps_time();
        if keeps_time || ((free_units > 0 || looks_ahead || is_urgent) && is_any) {
            self.arrange(view)?;
            match self.sized.take() {
                Some(jobs) => self.join_sized(view, &jobs)?,
                None if self.choose_sizes(view, out)? => return Ok(()),
                None => {}
            }
            self.memory.quotas.begin(&mut self.queue);
            if free_units > 0 || self.parts.backfill.names_nodes() {
                free_units = self.pass(view, out)?;
                self.settle(view, out)?;
            }
        }
        let free_units = if view.is_held { view.slots.free_units() } else { free_units };
        self.parts.placement.notice(view, News::Over(view.units() - free_units))
    }

    /// Starts the jobs that start now; returns the units that are free afterwards.
    pub(super) fn pass(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<i64> {
        let Self { parts, power, queue, memory, least, .. } = self;
        parts.placement.notice(view, News::Begins)?;
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        let mut desk = Desk::new(ask, parts.placement.as_mut(), power.as_mut(), memory, out);
        desk.stand_in(parts.order.as_mut());
        parts.backfill.select(&mut desk, queue)?;
        desk.finish(queue)
    }

    /// True if jobs may be suspended for urgent ones, or resumed, in this pass.
    pub(super) fn is_urgent(&self, view: &View<'_>) -> bool {
        if view.queues.is_none() {
            return false;
        }
        let front = self.queue.first().map(|waiting| JobId(waiting.key.row));
        urgent::matters(view, front.into_iter().chain(self.admitted.iter().copied()))
    }

    /// True if what is planned for later may wake nodes or put them to sleep. Tells the backfill which nodes these are.
    pub(super) fn looks_ahead(&mut self, view: &View<'_>) -> bool {
        let Some(sleep) = &mut self.sleep else { return false };
        let does = sleep.looks_ahead(view);
        if self.parts.backfill.names_nodes() {
            self.parts.backfill.look_ahead(sleep.awaited(view));
        }
        does
    }
}
