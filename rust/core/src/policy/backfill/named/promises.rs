//! Promises of the plan of a pass, job by job.

use crate::algo::fit_list::Waiting;
use crate::algo::horizon::windows::Throughout;
use crate::algo::horizon::{NodeNeed, Planes};
use crate::algo::node_set::NodeSet;
use crate::policy::View;
use crate::policy::backfill::named::Memory;
use crate::policy::backfill::named::bounds::{Bounds, Like};
use crate::policy::backfill::named::choice::Choice;
use crate::policy::backfill::named::future::{Future, asleep};
use crate::policy::backfill::named::needs::need;
use crate::policy::budget::price::OnNodes;
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
    /// The same as a set, where only that is needed.
    lowest: NodeSet,
    /// True if these are those that the job takes first, whatever they cost.
    are_first: bool,
    /// Scratch memory: nodes that a job would take.
    cheapest: Vec<u32>,
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
        let (nodes, lowest, cheapest) = (Vec::new(), NodeSet::default(), Vec::new());
        Self { view, future, bounds, asleep: asleep(view), nodes, lowest, are_first: true, cheapest }
    }

    /// True if a job may start now, given its watts where they count. Once false it stays false: promises only fill the
    /// plan up.
    pub(super) fn may_start(&mut self, waiting: &Waiting, on: Option<&OnNodes<'_>>) -> bool {
        if self.bounds.of(&Like::of(self.view, waiting, on)) > self.view.now {
            return false;
        }
        let (need, cheapest) = (self.need(waiting, on), &mut self.cheapest);
        let choice = Choice::new(self.view, &need, JobId(waiting.key.row), None);
        self.future.may_start(&need, |throughout| {
            on.is_none_or(|on| {
                on.are_same_anywhere() || {
                    choice.cheapest(&Planes::default(), throughout.nodes, on, cheapest);
                    on.on_all(cheapest.iter().copied()) <= throughout.watts
                }
            })
        })
    }

    fn need(&self, waiting: &Waiting, on: Option<&OnNodes<'_>>) -> NodeNeed<'a> {
        NodeNeed { watts: on.map(OnNodes::least), ..need(self.view, waiting) }
    }

    /// Promises a job the first nodes at the earliest instant at which it fits, if that is not after `until`. Where watts
    /// count (`on`), it is the first at which some nodes have them: if the first nodes do not, it gets the cheapest.
    pub(super) fn add(&mut self, waiting: &Waiting, until: SimTime, on: Option<&OnNodes<'_>>) -> Option<SimTime> {
        let (need, like) = (self.need(waiting, on), Like::of(self.view, waiting, on));
        let from = self.bounds.of(&like).max(self.view.now);
        let choice = Choice::new(self.view, &need, JobId(waiting.key.row), self.asleep.as_ref());
        let (nodes, are_first, mut taken) = (&mut self.nodes, &mut self.are_first, need.watts);
        *are_first = true;
        let pick = |free: &Planes, throughout: Throughout<'_>| {
            choice.of(free, throughout.nodes, nodes);
            let Some(on) = on else { return true };
            let mut watts = on.on_all(nodes.iter().copied());
            *are_first = watts <= throughout.watts;
            if !*are_first {
                choice.cheapest(free, throughout.nodes, on, nodes);
                watts = on.on_all(nodes.iter().copied());
            }
            taken = Some(watts);
            watts <= throughout.watts
        };
        let found = if from > until { None } else { self.future.earliest(&need, (from, until), pick) };
        let at = found.unwrap_or(SimTime::NEVER);
        if at > from {
            self.bounds.note(like, at);
        }
        if found.is_some() {
            self.future.hold(at, &NodeNeed { watts: taken, ..need }, &self.nodes);
        }
        found
    }

    /// Promises a job the lowest nodes at an instant at which it fits, where jobs take whole nodes that are alike.
    pub(super) fn add_lowest(&mut self, waiting: &Waiting, at: SimTime) {
        let need = self.need(waiting, None);
        self.future.hold_lowest(at, &need, &mut self.lowest);
    }

    /// The nodes that [`Self::add_lowest`] has promised last.
    pub(super) fn lowest(&mut self) -> &[u32] {
        self.nodes.clear();
        self.nodes.extend(self.lowest.iter());
        &self.nodes
    }

    /// Free nodes over time.
    pub(super) fn future(&mut self) -> &mut Future<'a> {
        &mut self.future
    }

    /// The last window: its beginning, and what is free from then on.
    pub(super) fn last(&self) -> (SimTime, &Planes) {
        self.future.windows().last()
    }

    /// Holds the nodes of a job that has started in this pass before anything was planned.
    pub(super) fn hold(&mut self, at: SimTime, need: &NodeNeed<'_>, nodes: &[u32]) {
        self.future.hold(at, need, nodes);
    }

    /// True if the job that was promised nodes last got those that it takes first.
    pub(super) fn are_first(&self) -> bool {
        self.are_first
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
