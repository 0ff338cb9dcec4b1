//! Promises of the plan of a pass, job by job.

use crate::algo::fit_list::Waiting;
use crate::algo::horizon::Planes;
use crate::algo::node_set::NodeSet;
use crate::policy::View;
use crate::policy::backfill::named::Memory;
use crate::policy::backfill::named::bounds::{Bounds, Like};
use crate::policy::backfill::named::choice::Choice;
use crate::policy::backfill::named::future::{Future, asleep};
use crate::policy::backfill::named::needs::need;
use crate::units::SimTime;
use crate::workload::JobId;

/// Free nodes after the promises made so far.
pub(super) struct Promises<'a> {
    view: &'a View<'a>,
    future: Future<'a>,
    bounds: Bounds,
    asleep: Option<NodeSet>,
    /// Nodes promised last.
    nodes: Vec<u32>,
}

impl<'a> Promises<'a> {
    /// No promises yet.
    pub(super) fn new(view: &'a View<'a>, future: Future<'a>, memory: &mut Memory) -> Self {
        memory.bounds.forget();
        Self::of_last(view, future, memory)
    }

    /// Goes on with the promises of an earlier pass.
    pub(super) fn of_last(view: &'a View<'a>, future: Future<'a>, memory: &mut Memory) -> Self {
        let bounds = std::mem::take(&mut memory.bounds);
        Self { view, future, bounds, asleep: asleep(view), nodes: Vec::new() }
    }

    /// True if a job may start now. Once false it stays false: promises only fill the plan up.
    pub(super) fn may_start(&mut self, waiting: &Waiting) -> bool {
        let is_bound = self.bounds.of(&Like::of(self.view, waiting)) > self.view.now;
        !is_bound && self.future.may_start(&need(self.view, waiting))
    }

    /// Promises a job the first nodes at the earliest instant at which it fits, if that is not after `until`.
    pub(super) fn add(&mut self, waiting: &Waiting, until: SimTime) -> Option<SimTime> {
        let (need, like) = (need(self.view, waiting), Like::of(self.view, waiting));
        let from = self.bounds.of(&like).max(self.view.now);
        let choice = Choice::new(self.view, &need, JobId(waiting.key.row), self.asleep.as_ref());
        let nodes = &mut self.nodes;
        let pick = |free: &Planes, throughout: &NodeSet| {
            choice.of(free, throughout, nodes);
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
        memory.plan = Some(self.future.into_windows());
    }
}
