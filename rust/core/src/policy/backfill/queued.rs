//! What is free of each node where jobs take those of their queue: whole nodes, or slots.

use crate::algo::horizon::{Freedom, Need};
use crate::algo::node_set::NodeSet;
use crate::policy::View;
use crate::policy::backfill::named::{Chosen, Own, Part};
use crate::workload::JobId;

/// The same with queues. A job stands for what it takes.
#[derive(Clone)]
pub(super) struct Queued<'a, F> {
    view: &'a View<'a>,
    free: F,
}

impl<F: PartialEq> PartialEq for Queued<'_, F> {
    fn eq(&self, other: &Self) -> bool {
        self.free == other.free
    }
}

impl<'a, F> Queued<'a, F> {
    /// So much is free.
    pub(super) fn new(view: &'a View<'a>, free: F) -> Self {
        Self { view, free }
    }

    /// What is free.
    pub(super) fn free(&self) -> &F {
        &self.free
    }
}

impl<'a, F: Part<'a>> Queued<'a, F> {
    /// What the job that stands in a need takes of each node.
    fn need(&self, need: &Need) -> Need {
        Need { slots: self.slots(need.slots), ..*need }
    }

    fn slots(&self, told: i32) -> i32 {
        F::told(self.view, job_of(told))
    }

    /// The nodes of a job's queue; all where there is none.
    fn own(&self, told: i32) -> Option<&'a NodeSet> {
        self.view.queues.map(|queues| queues.nodes(job_of(told)))
    }
}

/// The job whose row stands in place of slots.
fn job_of(told: i32) -> JobId {
    JobId(told.cast_unsigned())
}

impl<'a, F: Part<'a>> Freedom for Queued<'a, F> {
    fn meet(&mut self, other: &Self) {
        self.free.meet(&other.free);
    }

    fn copy_from(&mut self, other: &Self) {
        self.free.copy_from(&other.free);
    }

    fn suffices(&self, need: &Need) -> bool {
        let inner = self.need(need);
        self.own(need.slots).is_none_or(|own| self.free.suffices_of(own, &inner))
    }

    fn take(&mut self, nodes: &[u32], told: i32) {
        self.free.take(nodes, self.slots(told));
    }

    fn give(&mut self, nodes: &[u32], told: i32) {
        self.free.give(nodes, self.slots(told));
    }

    fn open(&mut self, node: u32, slots: i32) {
        self.free.open(node, slots);
    }

    fn close(&mut self, node: u32) {
        self.free.close(node);
    }
}

impl<'a, F: Part<'a>> Chosen<'a> for Queued<'a, F> {
    fn now(view: &'a View<'a>) -> Self {
        Self { view, free: F::now(view) }
    }

    fn likeness(view: &View<'_>, job: JobId) -> (usize, u32) {
        (view.queues.map_or(0, |queues| usize::from(queues.number(job))), view.jobs.need(job, view.platform))
    }

    fn told(_view: &View<'_>, job: JobId) -> i32 {
        job.0.cast_signed()
    }

    fn choose(&self, throughout: &Self, asleep: Option<&NodeSet>, need: &Need, nodes: &mut Vec<u32>) {
        let (inner, job) = (self.need(need), job_of(need.slots));
        if let Some(queues) = self.view.queues {
            let own = Own { nodes: queues.nodes(job), spreads: queues.spreads(job), asleep };
            self.free.choose_of(own, &throughout.free, &inner, nodes);
        }
    }
}
