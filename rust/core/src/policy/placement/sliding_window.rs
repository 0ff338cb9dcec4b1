//! Nodes of like speed for each job: a window slides along the ranking, from the best nodes down.
//!
//! Under node power caps a multi-node job runs at the pace of its slowest node, so a fast node next to a slow one is
//! wasted. SWA (Zhou, Fukazawa & Nakashima, section 2.3.2) takes the first window of `window` ranks that holds enough
//! free nodes, and its best free nodes.

use std::collections::BTreeMap;

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::platform::slots::Slots;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::class::JobClass;
use crate::policy::placement::rank_by::{ByApplication, RankBy};
use crate::policy::placement::ranking::Ranking;
use crate::policy::placement::{Choice, Placement, Verdict};
use crate::workload::JobId;

/// Treatment of a job for which no window holds enough free nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMiss {
    /// It takes the free nodes, consecutive in rank order, that span the fewest ranks; of several the best ranked.
    Narrowest,
    /// It waits, blocked like a job that does not fit.
    Wait,
}

/// Ranking that the window slides along.
#[derive(Clone, Debug)]
enum Rankings {
    /// One for all applications.
    ForAll(Option<Ranking>),
    /// The job's own.
    ByApplication(ByApplication),
}

/// The sliding window.
#[derive(Clone, Debug)]
pub struct SlidingWindow {
    window: u32,
    on_miss: OnMiss,
    rankings: Rankings,
    /// Ranks of the free nodes, ascending.
    ranks: Vec<u32>,
    refused: Refused,
    chosen: Vec<u32>,
}

/// Sizes that no window holds, as long as no node comes free.
///
/// Refusals are monotone in the size: a window that holds a larger size holds a smaller one, too, for windows wider
/// than `window` are free from end to end.
#[derive(Clone, Debug, Default)]
struct Refused {
    /// Least refused size; by class where each class has its own ranking.
    least: BTreeMap<Option<JobClass>, u32>,
    /// Changes of the machine that were looked at.
    seen: u64,
}

impl Refused {
    fn follow(&mut self, slots: &Slots) {
        let (changed, all) = slots.changes(self.seen);
        let only_taken = changed.is_some_and(|nodes| nodes.iter().all(|&node| !slots.holding(1).contains(node)));
        if !only_taken {
            self.least.clear();
        }
        self.seen = all;
    }

    fn holds(&self, key: Option<JobClass>, size: u32) -> bool {
        self.least.get(&key).is_some_and(|&least| size >= least)
    }
}

impl SlidingWindow {
    /// A window of `window` ranks, along the ranking of each job's own application if `application_aware`.
    #[must_use]
    pub fn new(window: u32, on_miss: OnMiss, application_aware: bool) -> Self {
        let rankings = if application_aware {
            Rankings::ByApplication(ByApplication::new(RankBy::Time))
        } else {
            Rankings::ForAll(None)
        };
        Self { window, on_miss, rankings, ranks: Vec::new(), refused: Refused::default(), chosen: Vec::new() }
    }

    /// Appends the job's nodes to `chosen`; false, and nothing appended, if it is to wait.
    fn find(&mut self, view: &View<'_>, job: JobId, free: &NodeSet, chosen: &mut Vec<u32>) -> bool {
        let ranking = match &mut self.rankings {
            Rankings::ForAll(ranking) => ranking.get_or_insert_with(|| RankBy::Time.for_all(view)),
            Rankings::ByApplication(rankings) => rankings.of(view, job),
        };
        let size = view.jobs.node_count(job);
        let window = first_window(ranking.free_ranks(view.slots, free), size, self.window.max(size), &mut self.ranks);
        let first = match self.on_miss {
            OnMiss::Narrowest => window.or_else(|| narrowest(&self.ranks, size)),
            OnMiss::Wait => window,
        };
        let Some(first) = first else { return false };
        let ranks = &self.ranks[first..first + size as usize];
        chosen.extend(ranks.iter().map(|&rank| ranking.nodes()[rank as usize]));
        true
    }

    /// The same, but fails at once for a job that is known to find nothing.
    fn find_unless_refused(&mut self, view: &View<'_>, job: JobId, free: &NodeSet, chosen: &mut Vec<u32>) -> bool {
        // Where nodes are shared, which of them are free depends on the job.
        if self.on_miss == OnMiss::Narrowest || !view.platform.is_exclusive() {
            return self.find(view, job, free, chosen);
        }
        let size = view.jobs.node_count(job);
        let by_application = matches!(self.rankings, Rankings::ByApplication(_));
        let key = by_application.then(|| JobClass::of(view, job));
        self.refused.follow(view.slots);
        if self.refused.holds(key, size) {
            return false;
        }
        let found = self.find(view, job, free, chosen);
        if !found {
            self.refused.least.insert(key, size);
        }
        found
    }
}

/// Index in `ranks` at which the best free nodes begin of the first window of `window` ranks that holds `size` free
/// ones.
///
/// Moves `free`, ranks of free nodes in ascending order, into `ranks` no further than it must. Sliding rank by rank,
/// the window ends at the first free node whose `size − 1` predecessors lie less than `window` ranks before it. It
/// holds no free node before these: with one, an earlier window would have done.
fn first_window(free: impl Iterator<Item = u32>, size: u32, window: u32, ranks: &mut Vec<u32>) -> Option<usize> {
    ranks.clear();
    for rank in free {
        ranks.push(rank);
        let first = ranks.len().checked_sub(size as usize);
        if first.is_some_and(|first| rank - ranks[first] < window) {
            return first;
        }
    }
    None
}

/// Index in `ranks` at which the `size` consecutive ones begin that span the least; the first of several.
fn narrowest(ranks: &[u32], size: u32) -> Option<usize> {
    let spans = ranks.windows(size.max(1) as usize).map(|held| held[held.len() - 1] - held[0]);
    spans.enumerate().min_by_key(|&(first, span)| (span, first)).map(|(first, _)| first)
}

impl Placement for SlidingWindow {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        let before = nodes.len();
        if !self.find_unless_refused(ask.view, job, free, nodes) {
            return Ok(Choice::Refused);
        }
        for &node in &nodes[before..] {
            free.remove(node);
        }
        Ok(Choice::Chosen)
    }

    fn judge(&mut self, ask: &Ask<'_>, job: JobId, free: &NodeSet) -> Verdict {
        if self.on_miss == OnMiss::Narrowest {
            return Verdict::Suits;
        }
        let mut chosen = std::mem::take(&mut self.chosen);
        chosen.clear();
        let found = self.find_unless_refused(ask.view, job, free, &mut chosen);
        self.chosen = chosen;
        if found { Verdict::Suits } else { Verdict::Refused }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Twin: slide the window as the paper says, rank by rank.
    fn slid(free: &[bool], size: u32, window: u32) -> Option<Vec<u32>> {
        let held = |first: usize| -> Vec<u32> {
            (0..).zip(free).skip(first).take(window as usize).filter(|(_, free)| **free).map(|(rank, _)| rank).collect()
        };
        let found = (0..free.len()).map(held).find(|held| held.len() >= size as usize);
        found.map(|held| held[..size as usize].to_vec())
    }

    proptest! {
        #[test]
        fn the_first_window_is_the_paper_s(
            free in prop::collection::vec(any::<bool>(), 1..60),
            size in 1..8_u32,
            wider in 0..12_u32,
        ) {
            let ranks: Vec<u32> = (0..).zip(&free).filter(|(_, free)| **free).map(|(rank, _)| rank).collect();
            let mut seen = Vec::new();
            let found = first_window(ranks.into_iter(), size, size + wider, &mut seen);
            let chosen = found.map(|first| seen[first..first + size as usize].to_vec());
            prop_assert_eq!(chosen, slid(&free, size, size + wider));
        }
    }

    #[test]
    fn a_window_that_holds_more_gives_its_best() {
        let mut seen = Vec::new();
        assert_eq!(first_window([1, 2, 3, 9].into_iter(), 2, 10, &mut seen), Some(0));
        assert_eq!(seen, [1, 2]);
    }

    #[test]
    fn the_paper_s_example_leaves_the_best_nodes_alone() {
        // Fig. 11: nodes 1, 2, 11, 12 and 21 to 28 are free; a job of 8 nodes goes to 21-28 with a window of 10.
        let ranks = [0, 1, 10, 11, 20, 21, 22, 23, 24, 25, 26, 27];
        assert_eq!(first_window(ranks.into_iter(), 8, 10, &mut Vec::new()), Some(4));
    }

    #[test]
    fn of_equally_narrow_spans_the_best_ranked_is_taken() {
        // Spans of two free nodes: 3, 2, 2.
        let ranks = [0, 3, 5, 7];
        assert_eq!(narrowest(&ranks, 2), Some(1));
        assert_eq!(first_window(ranks.into_iter(), 2, 2, &mut Vec::new()), None);
    }
}
