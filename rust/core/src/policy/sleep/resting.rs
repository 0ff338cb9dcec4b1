//! Nodes that have been idle for long enough, kept from pass to pass.

use std::collections::VecDeque;

use crate::algo::node_set::NodeSet;
use crate::algo::span::Span;
use crate::cluster::standby::Standby;
use crate::policy::View;
use crate::units::{SimDuration, SimTime};

/// Idle nodes: those that have been idle for long enough, and the others by the start of their idle period.
#[derive(Clone, Debug, Default)]
pub(super) struct Resting {
    min_idle: SimDuration,
    /// Nodes that count.
    own: NodeSet,
    ripe: NodeSet,
    /// Starts of idle periods with their nodes, in that order; some nodes may have got work since.
    recent: VecDeque<(SimTime, Span)>,
    /// Instant of the last look, and the numbers of beginnings of idle periods and of changes of free nodes seen so far;
    /// none before the first pass.
    seen: Option<(SimTime, u64, u64)>,
    fresh: Vec<(SimTime, Span)>,
}

impl Resting {
    /// Follows only the nodes `own`.
    pub(super) fn new(min_idle: SimDuration, own: NodeSet) -> Self {
        Self { min_idle, ripe: NodeSet::empty(own.capacity()), own, ..Self::default() }
    }

    /// Nodes that have been idle for long enough.
    pub(super) fn ripe(&self) -> &NodeSet {
        &self.ripe
    }

    /// Time at which the next node will have been idle for long enough.
    pub(super) fn next(&self) -> Option<SimTime> {
        self.recent.front().map(|(since, _)| since.saturating_add(self.min_idle))
    }

    /// Follows what has changed.
    pub(super) fn follow(&mut self, view: &View<'_>) {
        let Some(standby) = view.standby else { return };
        let (new, all) = standby.came_to_idle(self.seen.map_or(0, |(_, seen, _)| seen));
        let looked = Some((view.now, all, view.slots.changes(u64::MAX).1));
        if self.seen == looked {
            return;
        }
        match new.filter(|_| self.seen.is_some()) {
            Some(new) => self.fresh.extend_from_slice(new),
            None => self.begin_anew(view, standby),
        }
        self.seen = looked;
        // A pool may learn late of the start of an idle period.
        if !self.fresh.is_sorted_by_key(|fresh| fresh.0) {
            self.fresh.sort_by_key(|fresh| fresh.0);
        }
        if !self.ripe.is_empty() {
            self.fresh.iter().for_each(|&(_, nodes)| self.ripe.remove_span(nodes));
            self.ripe.keep_common(view.slots.holding(view.platform.shared_slots()));
        }
        let is_late = self.recent.back().zip(self.fresh.first()).is_some_and(|(last, first)| first.0 < last.0);
        self.recent.extend(self.fresh.drain(..));
        if is_late {
            self.recent.make_contiguous().sort_by_key(|recent| recent.0);
        }
        self.ripen(view, standby);
    }

    /// Looks at all idle nodes.
    fn begin_anew(&mut self, view: &View<'_>, standby: &Standby) {
        let free = view.slots.holding(view.platform.shared_slots());
        self.ripe = NodeSet::empty(free.capacity());
        self.recent.clear();
        for node in free.iter() {
            let since = standby.idle_since(node);
            match self.fresh.last_mut().filter(|last| last.0 == since) {
                Some((_, nodes)) if nodes.last() + 1 == node => _ = nodes.extend(node),
                _ => self.fresh.push((since, Span::of(node))),
            }
        }
    }

    /// Moves the nodes that have idled for long enough to the ripe ones, until the first stretch with others that still
    /// idle.
    fn ripen(&mut self, view: &View<'_>, standby: &Standby) {
        let free = view.slots.holding(view.platform.shared_slots());
        while let Some(&(since, nodes)) = self.recent.front() {
            // Most nodes have got work since, which a bit shows.
            let mut idle = free.both_within(&self.own, nodes).filter(|&node| standby.idle_since(node) == since);
            if since.saturating_add(self.min_idle) <= view.now {
                idle.for_each(|node| _ = self.ripe.insert(node));
            } else if idle.next().is_some() {
                return;
            }
            self.recent.pop_front();
        }
    }
}
