//! Watts of the first free nodes: sums of prices along these nodes, no further than they are asked for.
//!
//! A budget that binds leaves watts for few nodes, so that most questions end soon: the first nodes are added up one by
//! one, all classes at once, and what was added up is kept until other nodes are free. A start on the first of them only
//! moves the place where the sums begin. Beyond them whole words of 64 nodes are added, of which sums are kept from pass
//! to pass.

use crate::algo::fit_list::ClassId;
use crate::algo::node_set::NodeSet;
use crate::units::Watts;

/// Picowatts by slot of the class: all classes change together, so that a node costs one row.
type Row = [i64; ClassId::SLOTS];

const WORD: usize = 64;
/// Number of nodes that are still free from which on whole words are added; those of a word that was begun are added one
/// by one.
const NEAR: usize = 64;
/// The same of all nodes, those that were taken since included.
const ALL_NEAR: usize = 448;
/// Most picowatts of a node: those of all near ones then fit into a number.
#[expect(clippy::cast_possible_wrap, reason = "both are small")]
const MOST: i64 = i64::MAX / (ALL_NEAR + WORD) as i64;

/// Edition of the free nodes: numbers of their changes before the pass and in it, and of the classes that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edition {
    /// Changes before the pass.
    pub before: u64,
    /// Changes in the pass.
    pub within: u64,
    /// Classes that have slots in the queue's summaries.
    pub classes: usize,
}

/// Sums of the prices of free nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Firsts {
    /// Prices on each node.
    on: Vec<Row>,
    words: Words,
    /// Edition of the free nodes to which all below belongs, if it is known.
    of: Option<Edition>,
    /// Number of near nodes that are taken: the first ones.
    taken: usize,
    /// Sums over the first nodes, from none on.
    near: Vec<Row>,
    /// Nodes of the last word that was begun which are not among the near ones yet.
    rest: u64,
    /// Next word.
    next: usize,
    far: Vec<Far>,
}

/// Sums over the free nodes of each word, as of the last look at it.
#[derive(Clone, Debug, Default)]
struct Words {
    bits: Vec<u64>,
    sums: Vec<Row>,
}

/// Nodes behind the near ones, and their watts by class, up to the end of a word.
#[derive(Clone, Debug, Default)]
struct Far {
    word: usize,
    nodes: usize,
    sums: [Watts; ClassId::SLOTS],
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
        // No node counts as free: the next look at a word adds all that are.
        self.words = Words { bits: vec![0; words], sums: vec![Row::default(); words] };
        self.of = None;
        true
    }

    /// Begins with this edition of the free nodes, unless the sums are those of it.
    pub(super) fn follow(&mut self, edition: Edition) {
        if self.of == Some(edition) {
            return;
        }
        self.of = Some(edition);
        (self.taken, self.rest, self.next) = (0, 0, 0);
        self.near.clear();
        self.near.push(Row::default());
        self.far.clear();
    }

    /// Notes that the first `count` nodes are no longer free, which made one edition of them another.
    pub(super) fn take(&mut self, count: usize, (old, new): (Edition, Edition)) {
        self.taken += count;
        let are_near = self.taken < self.near.len() && (self.taken + NEAR <= ALL_NEAR || self.has_near());
        self.of = self.of.filter(|&of| of == old && are_near).map(|_| new);
    }

    /// Watts of a class on the `count` first free nodes, unless these are more than `most`, or there are fewer.
    pub(super) fn on(&mut self, class: ClassId, free: &NodeSet, count: usize, most: Watts) -> Option<Watts> {
        let (nodes, watts) = self.search(class, free, count, most);
        (nodes == count).then_some(watts)
    }

    /// Number of the first free nodes whose watts are at most `most`.
    pub(super) fn fitting(&mut self, class: ClassId, free: &NodeSet, most: Watts) -> usize {
        self.search(class, free, usize::MAX, most).0
    }

    /// The first free nodes, at most `count` of them and for at most `most` watts: their number, and their watts.
    fn search(&mut self, class: ClassId, free: &NodeSet, count: usize, most: Watts) -> (usize, Watts) {
        let (nodes, watts, is_end) = self.search_near(class.slot(), free, count, most);
        if is_end {
            return (nodes, watts);
        }
        let (more, on_more) = self.search_far(class.slot(), free, count - nodes, most - watts);
        (nodes + more, watts + on_more)
    }

    /// The same among the near nodes; true if there are no more behind them.
    fn search_near(&mut self, slot: usize, free: &NodeSet, count: usize, most: Watts) -> (usize, Watts, bool) {
        if most < Watts::ZERO {
            return (0, Watts::ZERO, true);
        }
        let first = self.near[self.taken][slot];
        let bound = first.saturating_add(most.picowatts().unwrap_or(i64::MAX));
        self.come_near(free, slot, bound, count.saturating_add(self.taken));
        let known = &self.near[self.taken..];
        let known = &known[..known.len().min(count.saturating_add(1))];
        let nodes = known.partition_point(|sums| sums[slot] <= bound) - 1;
        let is_end = nodes == count || nodes + 1 < known.len() || !self.has_near();
        (nodes, Watts::of_picowatts(known[nodes][slot] - first), is_end)
    }

    /// Adds near nodes until they are `count`, or take more than `bound` with those that are taken.
    fn come_near(&mut self, free: &NodeSet, slot: usize, bound: i64, count: usize) {
        let Some(&(mut sums)) = self.near.last() else { return };
        while sums[slot] <= bound && self.near.len() <= count {
            if self.rest == 0 {
                let Some(next) = (if self.has_near() { None } else { self.next_word(free) }) else { return };
                self.rest = free.words()[next];
            }
            let node = WORD * (self.next - 1) + self.rest.trailing_zeros() as usize;
            self.rest &= self.rest - 1;
            add(&mut sums, &self.on[node]);
            self.near.push(sums);
        }
    }

    /// True if the near nodes are all that there may be: others are far.
    fn has_near(&self) -> bool {
        self.near.len() > self.taken + NEAR || !self.far.is_empty()
    }

    /// The next word in which a node is free.
    fn next_word(&mut self, free: &NodeSet) -> Option<usize> {
        let found = free.words()[self.next..].iter().position(|&bits| bits != 0)?;
        self.next += found + 1;
        Some(self.next - 1)
    }

    /// The same search among the nodes behind the near ones.
    fn search_far(&mut self, slot: usize, free: &NodeSet, count: usize, most: Watts) -> (usize, Watts) {
        let holds = |far: &Far| far.nodes <= count && far.sums[slot] <= most;
        while self.far.last().is_none_or(holds) {
            let Some(word) = self.next_word(free) else { break };
            let mut far = self.far.last().cloned().unwrap_or_default();
            let bits = free.words()[word];
            self.words.turn(word, bits, &self.on);
            far.word = word;
            far.nodes += bits.count_ones() as usize;
            for (sum, &own) in far.sums.iter_mut().zip(&self.words.sums[word]) {
                *sum += Watts::of_picowatts(own);
            }
            self.far.push(far);
        }
        let whole = self.far.partition_point(holds);
        let before = whole.checked_sub(1).map(|last| &self.far[last]);
        let (mut nodes, mut watts) = before.map_or((0, Watts::ZERO), |far| (far.nodes, far.sums[slot]));
        if let Some(part) = self.far.get(whole) {
            each_while(free.words()[part.word], |node| {
                let with = watts + Watts::of_picowatts(self.on[WORD * part.word + node][slot]);
                let fits = nodes < count && with <= most;
                if fits {
                    (nodes, watts) = (nodes + 1, with);
                }
                fits
            });
        }
        (nodes, watts)
    }
}

impl Words {
    /// Makes these the free nodes of a word.
    fn turn(&mut self, word: usize, bits: u64, on: &[Row]) {
        let old = std::mem::replace(&mut self.bits[word], bits);
        let (come, gone, sums) = (bits & !old, old & !bits, &mut self.sums[word]);
        each_while(come, |node| {
            add(sums, &on[WORD * word + node]);
            true
        });
        each_while(gone, |node| {
            sums.iter_mut().zip(on[WORD * word + node]).for_each(|(sum, own)| *sum -= own);
            true
        });
    }
}

/// Adds a row to another.
#[inline]
fn add(sums: &mut Row, row: &Row) {
    sums.iter_mut().zip(row).for_each(|(sum, own)| *sum += own);
}

/// Calls `act` with the place of each bit until it returns false.
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
                (
                    prop::collection::vec(any::<prop::sample::Index>(), 0..60),
                    prop::collection::vec((1..1_320_usize, 0..5_000_i64), 1..4),
                    0..700_u32,
                ),
                1..30,
            ),
        ) {
            let of = |pick: fn(&(i64, i64)) -> i64| -> Vec<_> {
                prices.iter().map(|price| Watts::of_microwatts(pick(price))).collect()
            };
            let prices = [of(|price| price.0), of(|price| price.1)];
            let classes = [0, 5].map(|index| ClassId::numbered(index).in_slot(index));
            let (mut free, mut firsts) = (NodeSet::full(u32::try_from(prices[0].len()).unwrap()), Firsts::default());
            let mut edition = Edition { before: 0, within: 0, classes: 0 };
            for (turned, asked, taken) in steps {
                if edition.classes < 2 {
                    prop_assert!(firsts.add(classes[edition.classes], &prices[edition.classes]));
                    edition.classes += 1;
                }
                for node in turned {
                    let node = u32::try_from(node.index(prices[0].len())).unwrap();
                    if !free.remove(node) {
                        free.insert(node);
                    }
                    edition.before += 1;
                }
                // The first nodes are taken between two questions.
                for (round, (count, most)) in asked.into_iter().enumerate() {
                    firsts.follow(edition);
                    if round > 0 {
                        let next = Edition { within: edition.within + 1, ..edition };
                        let taken = taken.min(free.len());
                        free.take_lowest(taken, &mut Vec::new());
                        firsts.take(taken as usize, (edition, next));
                        edition = next;
                        firsts.follow(edition);
                    }
                    let most = Watts::of_microwatts(if most > 4_900 { i64::MAX } else { most - 9 });
                    for (&class, on) in classes.iter().zip(&prices).take(edition.classes) {
                        let sum = |count: usize| free.iter().take(count).map(|node| on[node as usize]).sum::<Watts>();
                        let (all, watts) = (free.len() as usize, sum(count));
                        let fits = count <= all && watts <= most;
                        prop_assert_eq!(firsts.on(class, &free, count, most), fits.then_some(watts));
                        let fitting = (0..all).find(|&count| sum(count + 1) > most).unwrap_or(all);
                        prop_assert_eq!(firsts.fitting(class, &free, most), fitting);
                    }
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
