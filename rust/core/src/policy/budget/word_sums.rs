//! Sums of watts over a set of nodes by words of 64. A word's sum is cached and updated by the nodes that have changed
//! in it since the last question, so that no work is needed when nodes come and go.

use crate::algo::node_set::{NodeSet, bits};
use crate::units::Watts;

/// Each word of a set when it was last looked at, and the sum of its nodes' watts.
#[derive(Clone, Debug, Default)]
pub(super) struct WordSums(Vec<(u64, Watts)>);

impl WordSums {
    /// Number of the lowest nodes of `free`, at most `count`, whose summed watts still fit. `on` gives the watts of
    /// each node and is always the same; `fits` is monotone: what fits with some watts fits with fewer.
    pub(super) fn lowest_within(
        &mut self,
        on: &[Watts],
        free: &NodeSet,
        count: usize,
        fits: impl Fn(Watts) -> bool,
    ) -> usize {
        self.0.resize(free.words().len(), (0, Watts::ZERO));
        let (mut sum, mut fitting) = (Watts::ZERO, 0);
        let words = free.words().iter().zip(&mut self.0).zip((0..).step_by(64));
        for ((&word, known), base) in words.filter(|((word, _), _)| **word != 0) {
            let all = word.count_ones() as usize;
            if fitting + all <= count {
                let whole = sum + brought_up(known, word, base, on);
                if fits(whole) {
                    (sum, fitting) = (whole, fitting + all);
                    continue;
                }
            }
            // The last node that fits is in this word.
            for node in bits(word, base).take(count - fitting) {
                sum += on[node as usize];
                if !fits(sum) {
                    break;
                }
                fitting += 1;
            }
            return fitting;
        }
        fitting
    }
}

/// Brings the sum of a word up to date: adds the nodes that came and subtracts those that left.
fn brought_up((old, sum): &mut (u64, Watts), word: u64, base: u32, on: &[Watts]) -> Watts {
    bits(word & !*old, base).for_each(|node| *sum += on[node as usize]);
    bits(*old & !word, base).for_each(|node| *sum -= on[node as usize]);
    *old = word;
    *sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Twin: the nodes one by one.
        #[test]
        fn says_what_a_walk_over_the_nodes_says(
            on in prop::collection::vec(0..50_u32, 200),
            turns in prop::collection::vec((prop::collection::vec(0..200_u32, 0..60), 0..220_usize, 0..6000_u32), 1..12),
        ) {
            let on: Vec<_> = on.into_iter().map(|watts| Watts::from_watts(f64::from(watts)).unwrap()).collect();
            let (mut free, mut sums) = (NodeSet::full(200), WordSums::default());
            for (changed, count, most) in turns {
                for node in changed {
                    if !free.remove(node) {
                        free.insert(node);
                    }
                }
                let most = Watts::of_system(f64::from(most));
                let mut sum = Watts::ZERO;
                let within = free.iter().take(count).take_while(|&node| {
                    sum += on[node as usize];
                    sum <= most
                });
                prop_assert_eq!(sums.lowest_within(&on, &free, count, |watts| watts <= most), within.count());
            }
        }
    }
}
