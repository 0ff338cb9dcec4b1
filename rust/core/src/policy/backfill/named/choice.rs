//! Choice of the nodes that a job takes.

use crate::algo::horizon::{NodeNeed, Planes};
use crate::algo::node_set::NodeSet;
use crate::cluster::standby::Standby;
use crate::policy::View;
use crate::policy::budget::price::OnNodes;
use crate::workload::JobId;

/// Rule by which a job takes nodes: sorted by [`Claim`], then by cell, then fullest or emptiest first, then lowest.
pub(super) struct Choice<'a> {
    need: &'a NodeNeed<'a>,
    job: JobId,
    /// Nodes that are off or shutting down.
    asleep: Option<&'a NodeSet>,
    /// Nodes that were woken for a job and have not served since, by number.
    kept: &'a [(u32, JobId)],
    /// True if the emptiest nodes are taken first.
    spreads: bool,
}

/// Claim on a node, in the order in which a job takes nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    /// It was woken for the job.
    Own,
    /// It is on, or boots for no job that still waits.
    None,
    /// It is off or shutting down.
    Asleep,
    /// It was woken for another job.
    Other,
}

impl<'a> Choice<'a> {
    /// Choice of a job, where these nodes are off or shutting down.
    pub(super) fn new(view: &View<'a>, need: &'a NodeNeed<'a>, job: JobId, asleep: Option<&'a NodeSet>) -> Self {
        let kept = view.standby.map(Standby::kept).unwrap_or_default();
        let spreads = view.queues.is_some_and(|queues| queues.spreads(job));
        Self { need, job, asleep, kept, spreads }
    }

    /// Makes `chosen` the nodes that the job takes out of those that have enough throughout, where this is free at its
    /// start.
    pub(super) fn of(&self, free: &Planes, throughout: &NodeSet, chosen: &mut Vec<u32>) {
        chosen.clear();
        if free.is_whole() && self.need.cells.is_none() && self.kept.is_empty() && self.asleep.is_none() {
            return throughout.copy_lowest(self.need.nodes, chosen);
        }
        self.take_first(throughout, chosen, |place, node| self.place_of(free, place, node));
    }

    /// The same for the nodes where the job takes the fewest watts; of those alike in that, the first by the rule.
    pub(super) fn cheapest(&self, free: &Planes, throughout: &NodeSet, on: &OnNodes<'_>, chosen: &mut Vec<u32>) {
        chosen.clear();
        self.take_first(throughout, chosen, |place, node| (on.on_whole(node), self.place_of(free, place, node)));
    }

    /// Place of a node of the cell at `place` in the order in which the job takes nodes; lowest numbers break ties.
    fn place_of(&self, free: &Planes, place: usize, node: u32) -> (Claim, usize, i64) {
        let slots = free.slots_of(node);
        (self.claim(node), place, if self.spreads { -slots } else { slots })
    }

    /// Appends as many nodes as the job needs, least by `key`, then by number.
    fn take_first<K: Ord>(&self, nodes: &NodeSet, chosen: &mut Vec<u32>, key: impl Fn(usize, u32) -> K) {
        let nodes = self.need.by_cell(nodes).map(|(place, node)| (key(place, node), node));
        if self.need.nodes == 1 {
            return chosen.extend(nodes.min().map(|(_, node)| node));
        }
        let mut keyed: Vec<_> = nodes.collect();
        let count = (self.need.nodes as usize).min(keyed.len());
        if count > 0 && count < keyed.len() {
            keyed.select_nth_unstable(count - 1);
            keyed.truncate(count);
        }
        keyed.sort_unstable();
        chosen.extend(keyed.iter().map(|&(_, node)| node));
    }

    fn claim(&self, node: u32) -> Claim {
        match self.kept.binary_search_by_key(&node, |&(node, _)| node) {
            Ok(place) if self.kept[place].1 == self.job => Claim::Own,
            Ok(_) => Claim::Other,
            Err(_) if self.asleep.is_some_and(|asleep| asleep.contains(node)) => Claim::Asleep,
            Err(_) => Claim::None,
        }
    }
}
