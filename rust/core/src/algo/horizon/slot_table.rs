//! Free slots, or another thing, of each node where several jobs share one.
//!
//! Counts are stored as bit planes: a *plane* holds one bit of the counts of 64 nodes, and the nodes that have enough
//! are found for all 64 at once, from the lowest bit to the highest.

const BITS: usize = u64::BITS as usize;

/// Free slots of each node.
///
/// Counts are below zero where more is held than there is: what was held can be given back in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotTable {
    /// The planes of the counts of each 64 nodes, the lowest bit first, the sign last.
    words: Vec<u64>,
    /// Number of planes for each 64 nodes.
    depth: usize,
}

impl SlotTable {
    /// Table with the given free slots of each node, mostly not more than `whole`.
    #[must_use]
    pub fn new(whole: i64, free: impl IntoIterator<Item = i64>) -> Self {
        let mut table = Self::default();
        table.refill(whole, free);
        table
    }

    /// The same in the memory of this one.
    pub fn refill(&mut self, whole: i64, free: impl IntoIterator<Item = i64>) {
        self.words.clear();
        self.depth = (i64::BITS - whole.max(0).leading_zeros()) as usize + 1;
        for (node, count) in free.into_iter().enumerate() {
            self.make_room(count);
            let bit = node % BITS;
            if bit == 0 {
                self.words.resize(self.words.len() + self.depth, 0);
            }
            let first = self.words.len() - self.depth;
            for (place, plane) in self.words[first..].iter_mut().enumerate() {
                *plane |= (all_if_bit(count, place) & 1) << bit;
            }
        }
    }

    /// Makes this equal to `other`, keeping its memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.words.clone_from(&other.words);
        self.depth = other.depth;
    }

    /// Free slots of a node.
    #[must_use]
    pub fn of(&self, node: u32) -> i64 {
        let (group, bit) = (node as usize / BITS, node as usize % BITS);
        let is_set = |plane: &u64| i64::from(plane >> bit & 1 == 1);
        self.planes(group)
            .split_last()
            .map_or(0, |(sign, low)| low.iter().rev().fold(-is_set(sign), |high, plane| high << 1 | is_set(plane)))
    }

    fn planes(&self, group: usize) -> &[u64] {
        &self.words[group * self.depth..][..self.depth]
    }

    /// Bit mask of the nodes of a group of 64 that have at least `slots` free slots; `slots` is not below zero.
    #[must_use]
    pub fn having(&self, group: usize, slots: i64) -> u64 {
        if !self.has_room(slots) {
            return 0;
        }
        let (planes, low) = (self.planes(group), self.depth - 1);
        if slots == 0 {
            return !planes[low];
        }
        // Subtracts the slots from all counts: a node that must borrow lacks slots. Counts below zero lack any.
        let (mut lacking, mut left) = (0, slots);
        for plane in &planes[..low] {
            lacking = if left & 1 == 1 { !plane | lacking } else { !plane & lacking };
            left >>= 1;
        }
        !(lacking | planes[low])
    }

    /// Changes the counts of nodes.
    pub fn add(&mut self, nodes: &[u32], amount: i64) {
        if amount == 0 {
            return;
        }
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
    fn add_in(&mut self, group: usize, nodes: u64, amount: i64) -> u64 {
        let (mut carried, mut before) = (0, 0);
        for (place, plane) in self.words[group * self.depth..][..self.depth].iter_mut().enumerate() {
            let more = nodes & all_if_bit(amount, place);
            let differs = *plane ^ more;
            before = carried;
            carried = *plane & more | carried & differs;
            *plane = differs ^ before;
        }
        before ^ carried
    }

    /// True if the planes can hold this count.
    fn has_room(&self, count: i64) -> bool {
        let rest = count >> (self.depth - 1).min(i64::BITS as usize - 1);
        rest == 0 || rest == -1
    }

    fn make_room(&mut self, count: i64) {
        while !self.has_room(count) {
            self.widen();
        }
    }

    /// Makes room for one bit more by repeating the sign.
    fn widen(&mut self) {
        let depth = self.depth;
        let wider = self.words.chunks_exact(depth).flat_map(|words| words.iter().copied().chain([words[depth - 1]]));
        self.words = wider.collect();
        self.depth += 1;
    }
}

/// A word of ones if a bit of a count is set, else 0; bits beyond the count are those of its sign.
fn all_if_bit(count: i64, place: usize) -> u64 {
    let bit = count >> place.min(i64::BITS as usize - 1) & 1;
    (-bit).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NODES: u32 = 70;

    /// Nodes with so many free slots.
    fn having(table: &SlotTable, slots: i64) -> Vec<u32> {
        (0..NODES)
            .filter(|&node| table.having(node as usize / BITS, slots) >> (node as usize % BITS) & 1 == 1)
            .collect()
    }

    /// A table and its twin: a number for each node.
    fn agree(table: &SlotTable, twin: &[i64], slots: i64) -> Result<(), TestCaseError> {
        let all: Vec<_> = (0..NODES).filter(|&node| twin[node as usize] >= slots).collect();
        prop_assert_eq!(having(table, slots), all);
        prop_assert!((0..NODES).all(|node| table.of(node) == twin[node as usize]));
        Ok(())
    }

    proptest! {
        /// Twin: a list of numbers.
        #[test]
        fn planes_count_as_numbers_do(
            whole in prop_oneof![0..20_i64, Just(i64::MAX >> 8)],
            steps in prop::collection::vec((any::<bool>(), 0..20_i64, prop::collection::btree_set(0..NODES, 1..9)), 0..40),
            slots in prop_oneof![0..40_i64, Just(i64::MAX >> 9)],
        ) {
            let free = (0..NODES).map(|node| i64::from(node) % (whole + 1));
            let mut table = SlotTable::new(7, [3; 3]);
            table.refill(whole, free.clone());
            let mut twin: Vec<_> = free.collect();
            for (takes, count, chosen) in steps {
                let (own, amount): (Vec<_>, _) = (chosen.into_iter().collect(), if takes { -count } else { count });
                table.add(&own, amount);
                for &node in &own {
                    twin[node as usize] += amount;
                }
                agree(&table, &twin, slots)?;
                agree(&table, &twin, count)?;
                let mut copy = SlotTable::new(1, [0]);
                copy.copy_from(&table);
                prop_assert_eq!(&copy, &table);
            }
        }
    }

    #[test]
    fn there_is_room_for_what_no_machine_has() {
        let (mut table, far) = (SlotTable::new(1, [0, 1]), i64::MAX / 2);
        table.add(&[0], -far);
        table.add(&[1], far);
        assert_eq!((table.of(0), table.of(1)), (-far, far + 1));
        assert_eq!((table.having(0, far) & 3, table.having(0, 0) & 3), (2, 2));
        table.add(&[0], far);
        assert_eq!(table.having(0, 0) & 3, 3);
        assert_eq!(SlotTable::new(8, [8]).having(0, i64::MAX) & 1, 0);
    }
}
