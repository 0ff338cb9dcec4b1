//! Watts of the first free nodes, without a look at each: sums of prices by quarters of words of 64 nodes, by words, and
//! by groups of words.
//!
//! The sums are those of the nodes that were free when they were last brought up to date. Starts and ends of runs cost
//! nothing here: what has come and gone since is found by comparing bits.

use crate::algo::fit_list::ClassId;
use crate::algo::node_set::NodeSet;
use crate::units::Watts;

/// Picowatts by slot of the class: all classes change together, so that a node costs one row.
type Row = [i64; ClassId::SLOTS];

const WORD: usize = 64;
/// Nodes in a quarter of a word.
const QUARTER: usize = WORD / 4;
/// Words in a group.
const WORDS: usize = 8;
/// Most picowatts of a node: those of a group then fit into a number.
#[expect(clippy::cast_possible_wrap, reason = "both are small")]
const MOST: i64 = i64::MAX / (WORD * WORDS) as i64;

/// Sums of the prices of free nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Firsts {
    /// Prices on each node.
    on: Vec<Row>,
    /// The free nodes.
    bits: Vec<u64>,
    quarters: Vec<Row>,
    words: Vec<Row>,
    groups: Vec<Row>,
    /// Free nodes of each group.
    counts: Vec<usize>,
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
        self.quarters = vec![Row::default(); words * WORD / QUARTER];
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
        let mut whole = Row::default();
        for quarter in 0..WORD / QUARTER {
            let first = WORD * place + QUARTER * quarter;
            let (come, gone) = (of_quarter(bits & !old, quarter), of_quarter(old & !bits, quarter));
            if come | gone != 0 {
                let mut change = Row::default();
                each(come, |node| add(&mut change, &self.on[first + node], 1));
                each(gone, |node| add(&mut change, &self.on[first + node], -1));
                add(&mut self.quarters[first / QUARTER], &change, 1);
                add(&mut whole, &change, 1);
            }
        }
        add(&mut self.words[place], &whole, 1);
        add(&mut self.groups[group], &whole, 1);
    }

    /// Watts of a class on the `count` first free nodes; on all free ones if these are fewer.
    pub(super) fn on(&self, class: ClassId, count: usize) -> Watts {
        let most = Watts::of_microwatts(i64::MAX);
        most - self.search(class, count, most).1
    }

    /// Number of the first free nodes whose watts are at most `most`.
    pub(super) fn fitting(&self, class: ClassId, most: Watts) -> usize {
        usize::MAX - self.search(class, usize::MAX, most).0
    }

    /// Takes the first free nodes, at most `count` of them and for at most `most` watts; returns what is left of both.
    fn search(&self, class: ClassId, mut count: usize, mut most: Watts) -> (usize, Watts) {
        let (slot, mut group) = (class.slot(), 0);
        while let Some((&here, sums)) = self.counts.get(group).zip(self.groups.get(group)) {
            let sum = Watts::of_picowatts(sums[slot]);
            if here > count || sum > most {
                break;
            }
            (count, most, group) = (count - here, most - sum, group + 1);
        }
        // What is left of the watts ends in this group, or is more than it takes.
        let bound = most.picowatts().unwrap_or(if most < Watts::ZERO { i64::MIN } else { i64::MAX });
        let mut left = bound;
        let mut takes = |nodes: usize, picowatts: i64| {
            let does = nodes <= count && picowatts <= left;
            if does {
                (count, left) = (count - nodes, left - picowatts);
            }
            does
        };
        let mut words = (group * WORDS..self.bits.len()).take(WORDS);
        let word = words.find(|&word| {
            let nodes = self.bits[word].count_ones() as usize;
            nodes > 0 && !takes(nodes, self.words[word][slot])
        });
        if let Some(word) = word {
            let quarters = (0..WORD / QUARTER).map(|quarter| of_quarter(self.bits[word], quarter));
            for (bits, quarter) in quarters.zip(word * WORD / QUARTER..) {
                if !takes(bits.count_ones() as usize, self.quarters[quarter][slot]) {
                    each_while(bits, |node| takes(1, self.on[QUARTER * quarter + node][slot]));
                    break;
                }
            }
        }
        (count, most - Watts::of_picowatts(bound - left))
    }
}

/// Adds a row to another, or takes it away.
#[inline]
fn add(sums: &mut Row, row: &Row, sign: i64) {
    for slot in 0..ClassId::SLOTS {
        sums[slot] += sign * row[slot];
    }
}

/// The bits of a quarter of a word.
fn of_quarter(bits: u64, quarter: usize) -> u64 {
    bits >> (QUARTER * quarter) & ((1 << QUARTER) - 1)
}

/// Calls `act` with the place of each bit.
fn each(bits: u64, mut act: impl FnMut(usize)) {
    each_while(bits, |place| {
        act(place);
        true
    });
}

/// The same until it returns false.
fn each_while(mut bits: u64, mut act: impl FnMut(usize) -> bool) {
    while bits != 0 && act(bits.trailing_zeros() as usize) {
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
                let most = Watts::of_microwatts(if most > 3_900 { i64::MAX } else { most - 9 });
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
