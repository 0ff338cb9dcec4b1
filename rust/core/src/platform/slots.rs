//! Free slots of each node.
//!
//! Where jobs get whole nodes, a node has one slot. Nodes that are off, in transition or down have no free ones.

use crate::algo::node_set::NodeSet;
use crate::algo::span::Span;

/// Free slots by node, and for each need the nodes that can serve it.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    /// Slots of a node.
    per_node: u32,
    /// Number of nodes.
    nodes: u32,
    free: Free,
    /// Slots of each node that are held twice: by suspended runs, and by the runs that use them meanwhile. Empty where
    /// slots are not lent.
    lent: Vec<u32>,
    /// Nodes in service.
    open: NodeSet,
    /// `holding[s - 1]`: nodes with at least `s` free slots.
    holding: Vec<NodeSet>,
    /// Free slots in all; more than 32 bits on large shared machines.
    units: i64,
    /// Nodes whose free slots have changed, oldest first, with repeats; see [`Slots::changes`].
    changed: Vec<u32>,
    /// Number of changes forgotten before the first of `changed`.
    forgotten: u64,
}

/// Free slots by node, apart from what `holding` says.
#[derive(Clone, Debug, PartialEq)]
enum Free {
    /// Nodes of one slot: those out of service whose slot a job still holds. Of nodes in service `holding` says all.
    Whole(NodeSet),
    /// Number of free slots of each node, in service or not.
    Parts(Vec<u32>),
}

impl Default for Free {
    fn default() -> Self {
        Self::Parts(Vec::new())
    }
}

impl Slots {
    /// All slots of `nodes` nodes, free.
    #[must_use]
    pub fn new(nodes: u32, per_node: u32) -> Self {
        Self {
            per_node,
            nodes,
            free: if per_node == 1 {
                Free::Whole(NodeSet::empty(nodes))
            } else {
                Free::Parts(vec![per_node; nodes as usize])
            },
            lent: Vec::new(),
            open: NodeSet::full(nodes),
            holding: vec![NodeSet::full(nodes); per_node as usize],
            units: i64::from(nodes) * i64::from(per_node),
            changed: Vec::new(),
            forgotten: 0,
        }
    }

    /// Makes slots that suspended runs hold available to others. To be called before anything is taken.
    pub fn lend(&mut self) {
        self.lent = vec![0; self.nodes as usize];
    }

    /// True if slots that suspended runs hold may be used by others.
    #[must_use]
    pub fn lends(&self) -> bool {
        !self.lent.is_empty()
    }

    /// True if a node is in service.
    #[must_use]
    pub fn is_open(&self, node: u32) -> bool {
        self.open.contains(node)
    }

    /// True if all of these neighbouring nodes are in service.
    #[must_use]
    pub fn are_open(&self, nodes: Span) -> bool {
        self.open.has_all(nodes)
    }

    /// Slots of a node.
    #[must_use]
    pub fn per_node(&self) -> u32 {
        self.per_node
    }

    /// Free slots in all: free nodes, where jobs get whole nodes.
    #[must_use]
    pub fn free_units(&self) -> i64 {
        self.units
    }

    /// Free slots of one node.
    #[must_use]
    pub fn free_on(&self, node: u32) -> u32 {
        if self.open.contains(node) { self.left_on(node) } else { 0 }
    }

    /// True if a job holds a slot of the node.
    #[must_use]
    pub fn is_held(&self, node: u32) -> bool {
        self.left_on(node) < self.per_node
    }

    /// Slots of a node that no job holds, in service or not.
    fn left_on(&self, node: u32) -> u32 {
        match &self.free {
            Free::Whole(_) if self.open.contains(node) => u32::from(self.holding[0].contains(node)),
            Free::Whole(held) => u32::from(!held.contains(node)),
            Free::Parts(free) => free[node as usize],
        }
    }

    /// Notes the number of slots of a node that no job holds.
    fn note_left(&mut self, node: u32, slots: u32) {
        match &mut self.free {
            Free::Whole(_) if self.open.contains(node) => {}
            Free::Whole(held) if slots == 0 => _ = held.insert(node),
            Free::Whole(held) => _ = held.remove(node),
            Free::Parts(free) => free[node as usize] = slots,
        }
    }

    /// Nodes with at least `need` free slots; `need` is 1 to [`Slots::per_node`].
    #[must_use]
    pub fn holding(&self, need: u32) -> &NodeSet {
        &self.holding[need as usize - 1]
    }

    /// Takes `need` slots of a node; false, and nothing taken, if fewer are free.
    pub fn take(&mut self, node: u32, need: u32) -> bool {
        let had = self.free_on(node);
        if need > had {
            return false;
        }
        self.note_left(node, had - need);
        self.units -= i64::from(need);
        for level in had - need..had {
            self.holding[level as usize].remove(node);
        }
        self.note(node);
        true
    }

    /// Takes `need` slots of a node: free ones first, then slots that suspended runs hold.
    pub fn take_lent(&mut self, node: u32, need: u32) {
        let free = self.free_on(node).min(need);
        self.take(node, free);
        self.lent[node as usize] += need - free;
    }

    /// Takes whole nodes of a machine that shares none; if some node is not free, takes the others and returns such a
    /// node.
    #[must_use]
    pub fn take_whole(&mut self, nodes: &[u32]) -> Option<u32> {
        let missing = self.holding[0].remove_all(nodes);
        self.units = i64::from(self.holding[0].len());
        self.note_all(nodes.iter().copied());
        missing
    }

    /// Gives whole nodes of a machine that shares none back.
    pub fn give_whole(&mut self, nodes: &[u32]) {
        if self.open.len() == self.nodes || self.open.has_each(nodes) {
            self.holding[0].insert_all(nodes);
        } else {
            for &node in nodes {
                self.note_left(node, 1);
                if self.open.contains(node) {
                    self.holding[0].insert(node);
                }
            }
        }
        self.units = i64::from(self.holding[0].len());
        self.note_all(nodes.iter().copied());
    }

    /// Gives `need` slots of a node back: first those that are held twice.
    pub fn give(&mut self, node: u32, need: u32) {
        let need = match self.lent.get_mut(node as usize) {
            Some(lent) => {
                let repaid = need.min(*lent);
                *lent -= repaid;
                need - repaid
            }
            None => need,
        };
        let had = self.left_on(node);
        self.note_left(node, had + need);
        if self.open.contains(node) {
            self.units += i64::from(need);
            for level in had..had + need {
                self.holding[level as usize].insert(node);
            }
            self.note(node);
        }
    }

    /// Takes nodes out of service: their free slots are not offered.
    pub fn close(&mut self, nodes: Span) {
        let is_whole = matches!(self.free, Free::Whole(_));
        if is_whole && self.open.has_all(nodes) && self.holding[0].has_all(nodes) {
            self.open.remove_span(nodes);
            self.holding[0].remove_span(nodes);
            self.units -= i64::from(nodes.len());
            return self.note_all(nodes.nodes());
        }
        for node in nodes.nodes() {
            let left = self.left_on(node);
            if self.open.remove(node) {
                self.units -= i64::from(left);
                self.note_left(node, left);
                for level in &mut self.holding {
                    level.remove(node);
                }
                self.note(node);
            }
        }
    }

    /// Puts nodes back into service with all their slots that no job holds.
    pub fn open(&mut self, nodes: Span) {
        if matches!(&self.free, Free::Whole(held) if held.has_none(nodes)) && self.open.has_none(nodes) {
            self.open.insert_span(nodes);
            self.holding[0].insert_span(nodes);
            self.units += i64::from(nodes.len());
            return self.note_all(nodes.nodes());
        }
        for node in nodes.nodes() {
            let left = self.left_on(node);
            if self.open.insert(node) {
                self.units += i64::from(left);
                for level in &mut self.holding[..left as usize] {
                    level.insert(node);
                }
                if let Free::Whole(held) = &mut self.free {
                    held.remove(node);
                }
                self.note(node);
            }
        }
    }

    /// The nodes that changed since a reader had seen `seen` changes, and the number of all changes so far; `None` in
    /// place of the nodes if they are more than the reader should follow one by one.
    ///
    /// By this, an index over the free nodes in some other order keeps up without a call at each change.
    #[must_use]
    pub fn changes(&self, seen: u64) -> (Option<&[u32]>, u64) {
        let all = self.forgotten + self.changed.len() as u64;
        let since = seen.checked_sub(self.forgotten).and_then(|from| self.changed.get(usize::try_from(from).ok()?..));
        (since, all)
    }

    fn note(&mut self, node: u32) {
        self.note_all(std::iter::once(node));
    }

    fn note_all(&mut self, nodes: impl Iterator<Item = u32>) {
        let all = self.nodes as usize;
        if self.changed.len() >= 2 * all {
            let older = self.changed.len() - all;
            self.forgotten += older as u64;
            self.changed.drain(..older);
        }
        self.changed.extend(nodes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_need_finds_the_nodes_that_can_serve_it() {
        let mut slots = Slots::new(2, 4);
        assert!(slots.take(0, 3));
        assert_eq!(slots.holding(1).iter().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(slots.holding(2).iter().collect::<Vec<_>>(), [1]);
        assert!(!slots.take(0, 2));
        slots.give(0, 3);
        assert_eq!(slots.holding(4).len(), 2);
        assert_eq!(slots.free_units(), 8);
    }

    proptest! {
        /// Twin: node by node.
        #[test]
        fn whole_nodes_go_and_come_together(steps in prop::collection::vec((0..8_u32, 0..9_u32, 0..5_u32), 0..60)) {
            let (mut together, mut one_by_one) = (Slots::new(9, 1), Slots::new(9, 1));
            for (what, node, more) in steps {
                let (nodes, mut span) = ([node, (node + 4) % 9], Span::of(node));
                (1..=more).filter_map(|by| node.checked_sub(by)).for_each(|next| assert!(span.extend(next)));
                match what {
                    0 => { together.close(span); span.nodes().for_each(|node| one_by_one.close(Span::of(node))) }
                    1 => { together.open(span); span.nodes().for_each(|node| one_by_one.open(Span::of(node))) }
                    2..5 if nodes.iter().all(|&node| one_by_one.free_on(node) == 1) => {
                        prop_assert_eq!(together.take_whole(&nodes), None);
                        prop_assert!(nodes.iter().all(|&node| one_by_one.take(node, 1)));
                    }
                    _ if nodes.iter().all(|&node| one_by_one.left_on(node) == 0) => {
                        together.give_whole(&nodes);
                        for node in nodes {
                            one_by_one.give(node, 1);
                        }
                    }
                    _ => {}
                }
                prop_assert_eq!((&together.free, &together.holding), (&one_by_one.free, &one_by_one.holding));
                prop_assert_eq!((together.units, &together.open), (one_by_one.units, &one_by_one.open));
            }
        }
    }

    #[test]
    fn what_is_lent_is_not_free_before_it_was_given_back() {
        let mut slots = Slots::new(2, 4);
        slots.lend();
        assert!(slots.take(0, 3));
        slots.take_lent(0, 4);
        assert_eq!((slots.free_on(0), slots.free_units()), (0, 4));
        slots.give(0, 3);
        assert_eq!((slots.free_on(0), slots.free_units()), (0, 4), "as many are held as there are");
        slots.give(0, 4);
        assert_eq!((slots.free_on(0), slots.free_units()), (4, 8));
    }

    #[test]
    fn a_closed_node_has_nothing_to_give_until_it_opens() {
        let mut slots = Slots::new(2, 4);
        slots.take(1, 1);
        slots.close(Span::of(1));
        assert_eq!((slots.free_units(), slots.free_on(1)), (4, 0));
        assert!(!slots.take(1, 1));
        slots.give(1, 1);
        slots.open(Span::of(1));
        assert_eq!((slots.free_units(), slots.free_on(1)), (8, 4));
    }

    #[test]
    fn a_reader_catches_up_or_is_told_to_start_over() {
        let mut slots = Slots::new(2, 1);
        let (_, seen) = slots.changes(0);
        slots.take(1, 1);
        assert_eq!(slots.changes(seen).0, Some(&[1][..]));
        for _ in 0..10 {
            slots.give(1, 1);
            slots.take(1, 1);
        }
        assert_eq!(slots.changes(seen).0, None);
    }
}
