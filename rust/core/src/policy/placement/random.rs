//! Any of the free nodes, each set equally likely.

use crate::algo::node_set::NodeSet;
use crate::policy::placement::{Placement, Starting};
use crate::policy::{Decisions, View};
use crate::random::Stream;

/// By chance: Random of the pools paper, VU of the VAHRM paper.
#[derive(Clone, Debug)]
pub struct Random {
    stream: Stream,
    ranks: Vec<u32>,
}

impl Random {
    /// Draws from the run's stream `placement`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { stream: Stream::new(seed, "placement"), ranks: Vec::new() }
    }

    /// Draws `count` ranks below `free` without repetition, ascending (Floyd's algorithm, CACM 1987): as many draws as
    /// ranks, however many are free.
    fn draw(&mut self, count: u32, free: u32) {
        self.ranks.clear();
        for last in free - count..free {
            let rank = self.stream.below(last + 1);
            match self.ranks.binary_search(&rank) {
                Ok(_) => self.ranks.push(last),
                Err(place) => self.ranks.insert(place, rank),
            }
        }
    }
}

impl Placement for Random {
    fn place(&mut self, view: &View<'_>, starts: &[Starting], free: &mut NodeSet, out: &mut Decisions) {
        for start in starts {
            self.draw(view.jobs.node_count(start.job), free.len());
            out.start_with(start.job, start.overtakes, |nodes| free.take_ranks(&self.ranks, nodes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_nodes_is_equally_likely() {
        let mut random = Random::new(3);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..10_000 {
            random.draw(2, 5);
            *seen.entry(random.ranks.clone()).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 10);
        // 1,000 of each are expected; the standard deviation is 30.
        assert!(seen.values().all(|&count: &i32| (850..1150).contains(&count)), "{seen:?}");
    }
}
