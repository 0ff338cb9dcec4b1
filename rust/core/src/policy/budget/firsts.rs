//! Watts of the first free nodes, without a look at each: sums of prices by words of 64 nodes, and by groups of words.
//!
//! The sums are those of the nodes that were free when they were last brought up to date. Starts and ends of runs cost
//! nothing here: what has come and gone since is found by comparing bits.

use crate::algo::fit_list::ClassId;
use crate::algo::node_set::NodeSet;
use crate::units::Watts;

/// Picowatts by slot of the class: all classes change together, so that a node costs one row.
type Row = [i64; ClassId::SLOTS];

const WORD: usize = 64;
/// Words in a group.
const WORDS: usize = 8;
/// Most picowatts of a node: those of a group then fit into a number.
const MOST: i64 = i64::MAX / (WORD * WORDS) as i64;

/// Sums of the prices of free nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Firsts {
    /// Prices on each node.
    on: Vec<Row>,
    /// The free nodes.
    bits: Vec<u64>,
    words: Vec<Row>,
    groups: Vec<Row>,
    /// Free nodes of each group.
    counts: Vec<usize>,
}

/// Nodes that fit, and their watts.
#[derive(Clone, Copy)]
struct Found {
    count: usize,
    sum: Watts,
}

impl Firsts {
    /// Sums for the prices of one more class, which has a slot. False if a price is too high for that.
    pub(super) fn add(&mut self, class: ClassId, prices: &[Watts]) -> bool {
        let known: Option<Vec<i64>> = prices.iter().map(|price| price.picowatts().filter(|&own| own <= MOST)).collect();
        let Some(known) = known else { return false };
        let words = prices.len().div_ceil(WORD);
        self.on.resize(prices.len(), Row::default());
        for (row, price) in self.on.iter_mut().zip(known) {
            row[class.slot()] = price;
        }
        // No node counts as free: the next look adds all that are.
        self.bits = vec![0; words];
        self.words = vec![Row::default(); words];
        self.groups = vec![Row::default(); words.div_ceil(WORDS)];
        self.counts = vec![0; words.div_ceil(WORDS)];
        true
    }

    /// Brings the sums up to date with the free nodes.
    pub(super) fn follow(&mut self, free: &NodeSet) {
        for (group, words) in free.words().chunks(WORDS).enumerate() {
            let first = group * WORDS;
            if self.bits.get(first..first + words.len()).is_some_and(|own| own != words) {
                (first..).zip(words).for_each(|(place, &bits)| self.turn(place, bits));
            }
        }
    }

    /// Makes these the free nodes of a word.
    fn turn(&mut self, place: usize, bits: u64) {
        let (old, group) = (std::mem::replace(&mut self.bits[place], bits), place / WORDS);
        if old == bits {
            return;
        }
        self.counts[group] += bits.count_ones() as usize;
        self.counts[group] -= old.count_ones() as usize;
        let mut change = Row::default();
        let on = &self.on[WORD * place..];
        each(bits & !old, |node| change.iter_mut().zip(&on[node]).for_each(|(sum, own)| *sum += own));
        each(old & !bits, |node| change.iter_mut().zip(&on[node]).for_each(|(sum, own)| *sum -= own));
        for sums in [&mut self.words[place], &mut self.groups[group]] {
            sums.iter_mut().zip(&change).for_each(|(sum, change)| *sum += change);
        }
    }

    /// Watts of a class on the `count` first free nodes; on all free ones if these are fewer.
    pub(super) fn on(&self, class: ClassId, count: usize) -> Watts {
        self.search(class, |found| found.count <= count).sum
    }

    /// Number of the first free nodes whose watts are at most `most`.
    pub(super) fn fitting(&self, class: ClassId, most: Watts) -> usize {
        self.search(class, |found| found.sum <= most).count
    }

    /// As many of the first free nodes as pass a test, which more of them pass no sooner than fewer.
    fn search(&self, class: ClassId, passes: impl Fn(Found) -> bool) -> Found {
        let (slot, mut found) = (class.slot(), Found { count: 0, sum: Watts::ZERO });
        let mut take = |count: usize, picowatts: i64| {
            let more = Found { count: found.count + count, sum: found.sum + Watts::of_picowatts(picowatts) };
            let does = passes(more);
            found = if does { more } else { found };
            does
        };
        let mut groups = self.counts.iter().zip(&self.groups);
        let Some(group) = groups.position(|(&count, sums)| !take(count, sums[slot])) else { return found };
        let mut words = self.bits.iter().zip(&self.words).skip(group * WORDS);
        let Some(word) = words.position(|(bits, sums)| !take(bits.count_ones() as usize, sums[slot])) else {
            return found;
        };
        let (place, mut bits) = (group * WORDS + word, self.bits[group * WORDS + word]);
        while bits != 0 && take(1, self.on[WORD * place + bits.trailing_zeros() as usize][slot]) {
            bits &= bits - 1;
        }
        found
    }
}

/// Calls `act` with the place of each bit.
fn each(mut bits: u64, mut act: impl FnMut(usize)) {
    while bits != 0 {
        act(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Twin: add up node by node.
        #[test]
        fn adds_up_the_first_free_nodes(
            prices in prop::collection::vec((0..9_i64, 0..9_i64), 1..1_300),
            steps in prop::collection::vec(
                (prop::collection::vec(any::<prop::sample::Index>(), 0..60), 0..1_320_usize, 0..4_000_i64),
                1..30,
            ),
        ) {
            let of = |pick: fn(&(i64, i64)) -> i64| -> Vec<_> {
                prices.iter().map(|price| Watts::of_microwatts(pick(price))).collect()
            };
            let prices = [of(|price| price.0), of(|price| price.1)];
            let classes = [0, 5].map(|index| ClassId::numbered(index).in_slot(index));
            let (mut free, mut firsts) = (NodeSet::full(u32::try_from(prices[0].len()).unwrap()), Firsts::default());
            let mut known = 0;
            for (turned, count, most) in steps {
                if known < 2 {
                    prop_assert!(firsts.add(classes[known], &prices[known]));
                    known += 1;
                }
                for node in turned {
                    let node = u32::try_from(node.index(prices[0].len())).unwrap();
                    if !free.remove(node) {
                        free.insert(node);
                    }
                }
                firsts.follow(&free);
                let most = Watts::of_microwatts(most);
                for (&class, on) in classes.iter().zip(&prices).take(known) {
                    let sum = |count: usize| free.iter().take(count).map(|node| on[node as usize]).sum::<Watts>();
                    prop_assert_eq!(firsts.on(class, count), sum(count));
                    let all = free.len() as usize;
                    let fitting = (0..all).find(|&count| sum(count + 1) > most).unwrap_or(all);
                    prop_assert_eq!(firsts.fitting(class, most), fitting);
                }
            }
        }
    }

    #[test]
    fn prices_too_high_for_the_sums_are_refused() {
        let class = ClassId::numbered(0).in_slot(0);
        assert!(Firsts::default().add(class, &[Watts::of_system(18_000.0)]));
        assert!(!Firsts::default().add(class, &[Watts::of_system(19_000.0)]));
    }
}
