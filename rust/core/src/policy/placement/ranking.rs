//! An order of the nodes, and the free ones among them in that order.
//!
//! A ranking is sorted once. Its bitset of free nodes, in its own order, follows the machine lazily: a ranking that no job
//! asks for costs nothing, however many there are.

use std::cmp::Ordering;

use crate::algo::node_set::NodeSet;
use crate::platform::slots::Slots;

/// Nodes from best to worst.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// Node at each rank.
    nodes: Vec<u32>,
    /// Rank of each node.
    ranks: Vec<u32>,
    /// Ranks whose node may serve a job, as of `seen` changes.
    free: NodeSet,
    seen: u64,
}

impl Ranking {
    /// Sorts nodes `0..count` by `compare`, ties to the lower id.
    #[must_use]
    pub fn sorted(count: u32, compare: impl Fn(u32, u32) -> Ordering) -> Self {
        let mut nodes: Vec<u32> = (0..count).collect();
        nodes.sort_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
        let mut ranks = vec![0; nodes.len()];
        for (rank, &node) in (0..).zip(&nodes) {
            ranks[node as usize] = rank;
        }
        // Nodes not looked at yet count as busy: the first look goes through all of them.
        Self { nodes, ranks, free: NodeSet::empty(count), seen: u64::MAX }
    }

    /// Moves the `count` best nodes of `free` to the end of `taken`. `free` may hold fewer nodes than `slots` says, never
    /// others.
    pub fn take_best(&mut self, slots: &Slots, free: &mut NodeSet, count: u32, taken: &mut Vec<u32>) {
        self.follow(slots);
        let best = self.free.iter().map(|rank| self.nodes[rank as usize]);
        taken.extend(best.filter(|&node| free.remove(node)).take(count as usize));
    }

    /// The nodes of `free` from best to worst, as ranks. `free` may hold fewer nodes than `slots` says, never others.
    pub fn free_ranks<'a>(&'a mut self, slots: &Slots, free: &'a NodeSet) -> impl Iterator<Item = u32> + 'a {
        self.follow(slots);
        let nodes = &self.nodes;
        self.free.iter().filter(|&rank| free.contains(nodes[rank as usize]))
    }

    /// The nodes of `free` from best to worst.
    pub fn free_nodes<'a>(&'a mut self, slots: &Slots, free: &'a NodeSet) -> impl Iterator<Item = u32> + 'a {
        self.follow(slots);
        let nodes = &self.nodes;
        self.free.iter().map(|rank| nodes[rank as usize]).filter(|&node| free.contains(node))
    }

    /// All nodes, from best to worst.
    #[must_use]
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    fn follow(&mut self, slots: &Slots) {
        let (changed, all) = slots.changes(self.seen);
        match changed {
            Some(changed) => changed.iter().for_each(|&node| update(&mut self.free, &self.ranks, slots, node)),
            None => (0..slots.holding(1).capacity()).for_each(|node| update(&mut self.free, &self.ranks, slots, node)),
        }
        self.seen = all;
    }
}

fn update(free: &mut NodeSet, ranks: &[u32], slots: &Slots, node: u32) {
    let rank = ranks[node as usize];
    if slots.holding(1).contains(node) {
        free.insert(rank);
    } else {
        free.remove(rank);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Twin: sort the free nodes each time.
        #[test]
        fn takes_the_best_free_nodes(
            watts in prop::collection::vec(0..5_u32, 1..40),
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u32), 0..150),
        ) {
            let count = u32::try_from(watts.len()).unwrap();
            let compare = |a: u32, b: u32| watts[a as usize].cmp(&watts[b as usize]);
            let (mut ranking, mut slots) = (Ranking::sorted(count, compare), Slots::new(count, 1));
            for (node, wanted) in steps {
                let node = u32::try_from(node.index(watts.len())).unwrap();
                if !slots.take(node, 1) {
                    slots.give(node, 1);
                }
                let mut expected: Vec<_> = slots.holding(1).iter().collect();
                expected.sort_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
                expected.truncate(wanted as usize);
                let (mut free, mut taken) = (slots.holding(1).clone(), Vec::new());
                ranking.take_best(&slots, &mut free, wanted, &mut taken);
                prop_assert_eq!(taken, expected);
            }
        }
    }
}
