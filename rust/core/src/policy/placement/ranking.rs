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
    /// Sorts some of `count` nodes by their keys, ties to the lower id. No others are ever free.
    #[must_use]
    pub fn sorted<K>(
        count: u32,
        nodes: impl Iterator<Item = u32>,
        key: impl Fn(u32) -> K,
        compare: impl Fn(&K, &K) -> Ordering,
    ) -> Self {
        let mut keyed: Vec<_> = nodes.map(|node| (key(node), node)).collect();
        keyed.sort_by(|a, b| compare(&a.0, &b.0).then(a.1.cmp(&b.1)));
        let nodes: Vec<_> = keyed.into_iter().map(|(_, node)| node).collect();
        let mut ranks = vec![0; count as usize];
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
        let Self { nodes, ranks, free, .. } = self;
        match changed {
            Some(changed) => changed.iter().for_each(|&node| update(free, (ranks, nodes), slots, node)),
            None => nodes.iter().for_each(|&node| update(free, (ranks, nodes), slots, node)),
        }
        self.seen = all;
    }
}

fn update(free: &mut NodeSet, (ranks, nodes): (&[u32], &[u32]), slots: &Slots, node: u32) {
    let rank = ranks[node as usize];
    if slots.holding(1).contains(node) {
        free.insert(rank);
    } else if nodes.get(rank as usize) == Some(&node) {
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
            let key = |node: u32| watts[node as usize];
            let (mut ranking, mut slots) = (Ranking::sorted(count, 0..count, key, u32::cmp), Slots::new(count, 1));
            for (node, wanted) in steps {
                let node = u32::try_from(node.index(watts.len())).unwrap();
                if !slots.take(node, 1) {
                    slots.give(node, 1);
                }
                let mut expected: Vec<_> = slots.holding(1).iter().collect();
                expected.sort_by_key(|&node| (key(node), node));
                expected.truncate(wanted as usize);
                let (mut free, mut taken) = (slots.holding(1).clone(), Vec::new());
                ranking.take_best(&slots, &mut free, wanted, &mut taken);
                prop_assert_eq!(taken, expected);
            }
        }
    }
}
