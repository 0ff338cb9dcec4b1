//! Any of the free nodes, each set equally likely.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::placement::{Choice, Placement};
use crate::policy::recollection::Recollection;
use crate::random::Stream;
use crate::workload::JobId;

/// Name under which the stream of placements is kept.
pub(super) const DRAWN: &str = "drawn";

/// Draws random nodes from sets, by the run's stream `placement` or another.
#[derive(Clone, Debug)]
pub struct Lots {
    stream: Stream,
    ranks: Vec<u32>,
}

/// Random nodes: Random of the pools paper, VU of the VAHRM paper.
#[derive(Clone, Debug)]
pub struct Random(Lots);

impl Lots {
    /// Draws of the run with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::of_stream(seed, "placement")
    }

    /// Draws from another of its streams.
    #[must_use]
    pub fn of_stream(seed: u64, name: &str) -> Self {
        Self { stream: Stream::new(seed, name), ranks: Vec::new() }
    }

    /// Moves `count` nodes of `free` to the end of `taken`, each set of that size equally likely. If there are no more
    /// than that, moves all and uses no random number.
    pub fn take(&mut self, count: u32, free: &mut NodeSet, taken: &mut Vec<u32>) {
        if count >= free.len() {
            free.take_lowest(count, taken);
            return;
        }
        self.draw(count, free.len());
        free.take_ranks(&self.ranks, taken);
    }

    /// Keeps how far the stream has come.
    pub(super) fn remember(&self, name: &str, kept: &mut Recollection) {
        kept.keep(name, vec![self.stream.drawn().cast_signed()]);
    }

    /// Goes on from there.
    pub(super) fn recall(&mut self, name: &str, kept: &Recollection) {
        kept.of(name).iter().for_each(|drawn| self.stream.go_to(drawn.cast_unsigned()));
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

impl Random {
    /// Random nodes in the run with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Lots::new(seed))
    }
}

impl Placement for Random {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        self.0.take(ask.view.jobs.node_count(job), free, nodes);
        Ok(Choice::Chosen)
    }

    fn remember(&self, kept: &mut Recollection) {
        self.0.remember(DRAWN, kept);
    }

    fn recall(&mut self, _view: &View<'_>, kept: &Recollection) {
        self.0.recall(DRAWN, kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_nodes_is_equally_likely() {
        let mut lots = Lots::new(3);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..10_000 {
            let mut taken = Vec::new();
            lots.take(2, &mut NodeSet::full(5), &mut taken);
            *seen.entry(taken).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 10);
        // 1,000 of each are expected; the standard deviation is 30.
        assert!(seen.values().all(|&count: &i32| (850..1150).contains(&count)), "{seen:?}");
    }
}
