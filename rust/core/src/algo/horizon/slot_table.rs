//! Free slots of each node where several jobs share one.
//!
//! Counts are stored as bit planes: a *plane* holds one bit of the counts of 64 nodes, and the nodes that have enough
//! are found for all 64 at once, from the lowest bit to the highest.

use crate::algo::horizon::{Freedom, NodeNeed};
use crate::algo::node_set::NodeSet;

const BITS: usize = u64::BITS as usize;

/// Free slots of each node.
///
/// Counts are below zero where more is held than there is: a node that is out of service is held whole, whatever runs
/// on it, and what was held can be given back in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotTable {
    /// For each 64 nodes, a mask of those that are closed, then the planes of their counts, the lowest bit first, the
    /// sign last.
    words: Vec<u64>,
    /// Number of planes for each 64 nodes.
    depth: usize,
    nodes: u32,
}

impl SlotTable {
    /// Table with the given free slots of each node, mostly not more than `whole`.
    #[must_use]
    pub fn new(whole: i32, free: impl IntoIterator<Item = i32>) -> Self {
        let mut table = Self { words: Vec::new(), depth: 0, nodes: 0 };
        table.refill(whole, free);
        table
    }

    /// The same in the memory of this one.
    pub fn refill(&mut self, whole: i32, free: impl IntoIterator<Item = i32>) {
        self.words.clear();
        (self.depth, self.nodes) = ((i32::BITS - whole.max(0).leading_zeros()) as usize + 1, 0);
        for count in free {
            self.make_room(count);
            let bit = self.nodes as usize % BITS;
            if bit == 0 {
                self.words.resize(self.words.len() + self.depth + 1, 0);
            }
            let first = self.words.len() - self.depth;
            for (place, plane) in self.words[first..].iter_mut().enumerate() {
                *plane |= (all_if_bit(count, place) & 1) << bit;
            }
            self.nodes += 1;
        }
    }

    /// Free slots of a node, closed or not.
    #[must_use]
    pub fn of(&self, node: u32) -> i32 {
        let (group, bit) = (node as usize / BITS, node as usize % BITS);
        let planes = &self.words[group * (self.depth + 1) + 1..][..self.depth];
        let is_set = |plane: &u64| i32::from(plane >> bit & 1 == 1);
        planes
            .split_last()
            .map_or(0, |(sign, low)| low.iter().rev().fold(-is_set(sign), |high, plane| high << 1 | is_set(plane)))
    }

    /// Bit mask of the nodes of a group of 64 that have at least `slots` free slots; `slots` is not below zero.
    fn having(&self, group: usize, slots: i32) -> u64 {
        if !self.has_room(slots) {
            return 0;
        }
        let (closed, planes) = (self.words[group * (self.depth + 1)], &self.words[group * (self.depth + 1) + 1..]);
        // Subtracts the slots from all counts: a node that must borrow lacks slots. Counts below zero lack any.
        let borrow = |borrowed: u64, (place, plane): (usize, &u64)| {
            let less = all_if_bit(slots, place);
            !plane & (less | borrowed) | less & borrowed
        };
        let low = self.depth - 1;
        let lacking = planes[..low].iter().enumerate().fold(0, borrow);
        !(lacking | planes[low] | closed)
    }

    /// True if at least `nodes` of `own` have at least `slots` free slots.
    #[must_use]
    pub fn has(&self, own: &NodeSet, slots: i32, nodes: u32) -> bool {
        let mut found = 0;
        own.words().iter().enumerate().any(|(group, &own)| {
            if own != 0 {
                found += (own & self.having(group, slots)).count_ones();
            }
            found >= nodes
        })
    }

    /// Keeps of `nodes` those with at least so many free slots.
    pub fn keep_having(&self, nodes: &mut NodeSet, slots: i32) {
        nodes.keep(|group| self.having(group, slots));
    }

    /// Changes the counts of nodes.
    fn add(&mut self, nodes: &[u32], amount: i32) {
        self.make_room(amount);
        let group = |node: u32| node as usize / BITS;
        for near in nodes.chunk_by(|&one, &other| group(one) == group(other)) {
            let mask = near.iter().fold(0, |mask, node| mask | 1 << (node % u64::BITS));
            if self.add_in(group(near[0]), mask, amount) != 0 {
                // Overflow into the sign: one more bit is needed.
                self.add_in(group(near[0]), mask, amount.wrapping_neg());
                self.widen();
                self.add_in(group(near[0]), mask, amount);
            }
        }
    }

    /// Changes the counts of some of 64 nodes; returns those whose count the planes cannot hold.
    fn add_in(&mut self, group: usize, nodes: u64, amount: i32) -> u64 {
        let (mut carried, mut before) = (0, 0);
        for (place, plane) in self.words[group * (self.depth + 1) + 1..][..self.depth].iter_mut().enumerate() {
            let more = nodes & all_if_bit(amount, place);
            let differs = *plane ^ more;
            before = carried;
            carried = *plane & more | carried & differs;
            *plane = differs ^ before;
        }
        before ^ carried
    }

    /// True if the planes can hold this count.
    fn has_room(&self, count: i32) -> bool {
        let rest = count >> (self.depth - 1).min(i32::BITS as usize - 1);
        rest == 0 || rest == -1
    }

    fn make_room(&mut self, count: i32) {
        while !self.has_room(count) {
            self.widen();
        }
    }

    /// Makes room for one bit more by repeating the sign.
    fn widen(&mut self) {
        let group = self.depth + 1;
        let wider = self.words.chunks_exact(group).flat_map(|words| words.iter().copied().chain([words[group - 1]]));
        self.words = wider.collect();
        self.depth += 1;
    }
}

/// A word of ones if a bit of a count is set, else 0; bits beyond the count are those of its sign.
fn all_if_bit(count: i32, place: usize) -> u64 {
    let bit = count >> place.min(i32::BITS as usize - 1) & 1;
    i64::from(-bit).cast_unsigned()
}

impl Freedom for SlotTable {
    type Facts<'c> = ();

    type Ask<'c> = NodeNeed;

    type Lot<'c, 'n> = (&'n [u32], i32);

    fn ask(_facts: &(), need: &NodeNeed) -> NodeNeed {
        *need
    }

    fn lot<'n>(&self, _facts: &(), held: (&'n [u32], i32), _set: &'n mut NodeSet) -> (&'n [u32], i32) {
        held
    }

    fn fitting(&self, ask: &NodeNeed, nodes: &mut NodeSet) -> bool {
        nodes.fill(self.nodes);
        self.keep_fitting(ask, nodes)
    }

    fn keep_fitting(&self, ask: &NodeNeed, nodes: &mut NodeSet) -> bool {
        self.keep_having(nodes, ask.slots);
        nodes.len() >= ask.nodes
    }

    fn copy_from(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
        (self.depth, self.nodes) = (other.depth, other.nodes);
    }

    fn suffices(&self, ask: &NodeNeed) -> bool {
        let last = (1 << (self.nodes as usize % BITS)) - 1;
        let (mut found, groups) = (0, self.nodes.div_ceil(u64::BITS) as usize);
        (0..groups).any(|group| {
            let all = if group + 1 == groups && last != 0 { last } else { u64::MAX };
            found += (all & self.having(group, ask.slots)).count_ones();
            found >= ask.nodes
        })
    }

    fn take(&mut self, &(nodes, slots): &(&[u32], i32)) -> bool {
        self.add(nodes, -slots);
        true
    }

    fn give(&mut self, &(nodes, slots): &(&[u32], i32)) -> bool {
        self.add(nodes, slots);
        true
    }

    fn open(&mut self, _facts: &(), node: u32, slots: i32) -> bool {
        self.add(&[node], slots);
        true
    }

    fn close(&mut self, _facts: &(), node: u32) -> bool {
        self.words[node as usize / BITS * (self.depth + 1)] |= 1 << (node % u64::BITS);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NODES: u32 = 70;

    fn need(nodes: u32, slots: i32) -> NodeNeed {
        NodeNeed { nodes, slots, microwatts: 0, length: crate::units::SimDuration::ZERO }
    }

    /// A table and its twin: a number for each node, and whether the node is closed.
    fn agree(table: &SlotTable, twin: &[(i64, bool)], ask: &NodeNeed, own: &NodeSet) -> Result<(), TestCaseError> {
        let has = |&node: &u32| !twin[node as usize].1 && twin[node as usize].0 >= i64::from(ask.slots);
        let (all, some): (Vec<_>, Vec<_>) = ((0..NODES).filter(has).collect(), own.iter().filter(has).collect());
        let mut nodes = NodeSet::default();
        prop_assert_eq!(table.fitting(ask, &mut nodes), all.len() >= ask.nodes as usize);
        prop_assert_eq!(nodes.iter().collect::<Vec<_>>(), all.clone());
        prop_assert_eq!(table.suffices(ask), all.len() >= ask.nodes as usize);
        nodes.copy_from(own);
        prop_assert_eq!(table.keep_fitting(ask, &mut nodes), some.len() >= ask.nodes as usize);
        prop_assert_eq!(table.has(own, ask.slots, ask.nodes), some.len() >= ask.nodes as usize);
        prop_assert_eq!(nodes.iter().collect::<Vec<_>>(), some);
        prop_assert!((0..NODES).all(|node| i64::from(table.of(node)) == twin[node as usize].0));
        Ok(())
    }

    proptest! {
        /// Twin: a list of numbers.
        #[test]
        fn planes_count_as_numbers_do(
            whole in 0..20_i32,
            steps in prop::collection::vec((0..9_u8, 0..20_i32, prop::collection::btree_set(0..NODES, 1..9)), 0..40),
            (nodes, slots) in (1..NODES, 0..40_i32),
        ) {
            let mut table = SlotTable::new(7, [3; 3]);
            table.refill(whole, (0..NODES).map(|node| i32::try_from(node).unwrap() % (whole + 1)));
            let mut twin: Vec<_> = (0..NODES).map(|node| (i64::from(node) % i64::from(whole + 1), false)).collect();
            for (what, count, chosen) in steps {
                let own: Vec<_> = chosen.iter().copied().collect();
                let sign = match what {
                    0 => {
                        table.close(&(), own[0]);
                        twin[own[0] as usize].1 = true;
                        0
                    }
                    1..5 => {
                        table.take(&(&own, count));
                        -1
                    }
                    _ => {
                        table.give(&(&own, count));
                        1
                    }
                };
                for &node in &own {
                    twin[node as usize].0 += sign * i64::from(count);
                }
                let mut set = NodeSet::empty(NODES);
                set.insert_all(&own);
                agree(&table, &twin, &need(nodes, slots), &set)?;
                agree(&table, &twin, &need(1, count), &set)?;
            }
        }
    }

    #[test]
    fn there_is_room_for_what_no_machine_has() {
        let (mut table, far) = (SlotTable::new(1, [0, 1]), i32::MAX / 2);
        table.take(&(&[0], far));
        table.open(&(), 1, far);
        assert_eq!((table.of(0), table.of(1)), (-far, far + 1));
        assert!(table.suffices(&need(1, far)) && !table.suffices(&need(2, 0)));
        table.give(&(&[0], far));
        assert!(table.suffices(&need(2, 0)));
        assert!(!SlotTable::new(8, [8]).suffices(&need(1, i32::MAX)));
    }
}
