//! Promises of the plan of a pass, job by job.

use crate::algo::fit_list::Waiting;
use crate::algo::node_set::NodeSet;
use crate::cluster::standby::Standby;
use crate::policy::View;
use crate::policy::backfill::named::bounds::{Bounds, Like};
use crate::policy::backfill::named::chosen::{Chosen, Memory, Own};
use crate::policy::backfill::named::future::{Future, asleep, need};
use crate::units::SimTime;
use crate::workload::JobId;

/// Free nodes after the promises made so far.
pub(super) struct Promises<'a, F> {
    view: &'a View<'a>,
    future: Future<'a, F>,
    bounds: Bounds,
    asleep: Option<NodeSet>,
    /// Nodes promised last.
    nodes: Vec<u32>,
}

impl<'a, F: Chosen> Promises<'a, F> {
    /// No promises yet.
    pub(super) fn new(view: &'a View<'a>, future: Future<'a, F>, memory: &mut Memory) -> Self {
        memory.bounds.forget();
        Self::of_last(view, future, memory)
    }

    /// Goes on with the promises of an earlier pass.
    pub(super) fn of_last(view: &'a View<'a>, future: Future<'a, F>, memory: &mut Memory) -> Self {
        let bounds = std::mem::take(&mut memory.bounds);
        Self { view, future, bounds, asleep: asleep(view), nodes: Vec::new() }
    }

    /// True if a job may start now. Once false it stays false: promises only fill the plan up.
    pub(super) fn may_start(&mut self, waiting: &Waiting) -> bool {
        let is_bound = self.bounds.of(&Like::of::<F>(self.view, waiting)) > self.view.now;
        !is_bound && self.future.may_start(&need::<F>(self.view, waiting))
    }

    /// Promises a job the first nodes at the earliest instant at which it fits, if that is not after `until`.
    pub(super) fn add(&mut self, waiting: &Waiting, until: SimTime) -> Option<SimTime> {
        let (need, like) = (need::<F>(self.view, waiting), Like::of::<F>(self.view, waiting));
        let from = self.bounds.of(&like).max(self.view.now);
        let (nodes, asleep) = (&mut self.nodes, self.asleep.as_ref());
        let (kept, job) = (self.view.standby.map(Standby::kept).unwrap_or_default(), JobId(waiting.key.row));
        let pick = |free: &F, throughout: &NodeSet| {
            nodes.clear();
            free.choose(self.view, Own { nodes: throughout, spreads: false, asleep, kept, job }, &need, nodes);
            true
        };
        let found = if from > until { None } else { self.future.earliest(&need, (from, until), pick) };
        let at = found.unwrap_or(SimTime::NEVER);
        if at > from {
            self.bounds.note(like, at);
        }
        if found.is_some() {
            self.future.hold(at, &need, &self.nodes);
        }
        found
    }

    /// The nodes that were promised last.
    pub(super) fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// Leaves the memory to later passes.
    pub(super) fn leave(self, memory: &mut Memory) {
        memory.bounds = self.bounds;
        F::kept(memory).plan = Some(self.future.into_windows());
    }
}
