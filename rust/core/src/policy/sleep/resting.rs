//! Which nodes have been idle for long enough, kept from pass to pass.

use std::collections::VecDeque;

use crate::algo::node_set::NodeSet;
use crate::platform::node_state::NodeState;
use crate::policy::View;
use crate::units::{SimDuration, SimTime};

/// Idle nodes: those that have been so for long enough, and the others by the instant since when they have.
#[derive(Clone, Debug, Default)]
pub(super) struct Resting {
    min_idle: SimDuration,
    ripe: NodeSet,
    /// Since when which nodes idle, in that order; some may have got work since.
    recent: VecDeque<(SimTime, u32)>,
    /// Since when each node idles that is known to.
    known: Vec<Option<SimTime>>,
    /// How many changes of free nodes have been seen; none: not even which nodes there were at first.
    seen: Option<u64>,
    fresh: Vec<(SimTime, u32)>,
}

impl Resting {
    pub(super) fn new(min_idle: SimDuration, nodes: u32) -> Self {
        Self { min_idle, ripe: NodeSet::empty(nodes), known: vec![None; nodes as usize], ..Self::default() }
    }

    /// The nodes that have been idle for long enough.
    pub(super) fn ripe(&self) -> &NodeSet {
        &self.ripe
    }

    /// When the next node will have been.
    pub(super) fn next(&self) -> Option<SimTime> {
        self.recent.front().map(|(since, _)| since.saturating_add(self.min_idle))
    }

    /// Finds out what has changed; only such nodes count as `counts` says.
    pub(super) fn follow(&mut self, view: &View<'_>, counts: impl Fn(u32) -> bool) {
        let (changed, all) = view.slots.changes(self.seen.unwrap_or(0));
        match changed.filter(|_| self.seen.is_some()) {
            Some(nodes) => nodes.iter().for_each(|&node| self.look_at(view, node, &counts)),
            None => (0..view.platform.len()).for_each(|node| self.look_at(view, node, &counts)),
        }
        self.seen = Some(all);
        // A node may have changed twice, and stand before others that have idled for longer.
        if !self.fresh.is_sorted() {
            self.fresh.sort_unstable();
        }
        self.recent.extend(self.fresh.drain(..));
        while let Some(&(since, node)) = self.recent.front() {
            let idles = self.known[node as usize] == Some(since);
            if idles && since.saturating_add(self.min_idle) > view.now {
                break;
            }
            self.recent.pop_front();
            if idles {
                self.ripe.insert(node);
            }
        }
    }

    fn look_at(&mut self, view: &View<'_>, node: u32, counts: impl Fn(u32) -> bool) {
        let idles = view.nodes[node as usize] == NodeState::Idle && counts(node);
        let since = view.standby.filter(|_| idles).map(|standby| standby.idle_since(node));
        if self.known[node as usize] != since {
            self.known[node as usize] = since;
            self.ripe.remove(node);
            self.fresh.extend(since.map(|since| (since, node)));
        }
    }
}
