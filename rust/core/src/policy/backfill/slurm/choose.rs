//! Nodes for a job: best fit by runs of neighbours of equal weight, the lowest weight first (rule 27).

use std::cmp::Reverse;
use std::ops::Range;

use crate::algo::node_set::NodeSet;

/// Neighbours of equal weight.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    weight: u64,
    first: u32,
    len: u32,
}

/// Nodes of `usable` for a job that needs so many; none if they are too few. Nodes are numbered in configuration order;
/// without weights all weigh the same.
pub(super) fn choose(usable: &NodeSet, weights: Option<&[u64]>, need: u32) -> Option<Vec<u32>> {
    if usable.len() < need {
        return None;
    }
    let mut stretches: Vec<Stretch> = match weights {
        None => usable.stretches().map(|nodes| Stretch::new(0, nodes)).collect(),
        Some(weights) => usable.stretches().flat_map(|nodes| by_weight(weights, nodes)).collect(),
    };
    if weights.is_some() {
        stretches.sort_by_key(|one| one.weight);
    }
    let mut chosen = Vec::with_capacity(need as usize);
    for alike in stretches.chunk_by_mut(|one, other| one.weight == other.weight) {
        let missing = need - u32::try_from(chosen.len()).unwrap_or(need);
        if missing > 0 {
            fill(&mut chosen, alike, missing);
        }
    }
    Some(chosen)
}

/// Takes so many nodes, or all, from stretches of one weight: the shortest stretch that suffices, else the longest and
/// then more of them; the lowest among equal ones.
fn fill(chosen: &mut Vec<u32>, stretches: &mut [Stretch], mut missing: u32) {
    let mut left = &stretches[..];
    if stretches.iter().all(|one| one.len < missing) {
        stretches.sort_unstable_by_key(|one| (Reverse(one.len), one.first));
        left = &stretches[..];
        while let [longest, rest @ ..] = left
            && longest.len < missing
        {
            chosen.extend(longest.nodes(longest.len));
            missing -= longest.len;
            left = rest;
        }
    }
    if let Some(best) = left.iter().filter(|one| one.len >= missing).min_by_key(|one| (one.len, one.first)) {
        chosen.extend(best.nodes(missing));
    }
}

impl Stretch {
    fn new(weight: u64, nodes: Range<u32>) -> Self {
        Self { weight, first: nodes.start, len: nodes.end - nodes.start }
    }

    /// Its first nodes.
    fn nodes(&self, count: u32) -> Range<u32> {
        self.first..self.first + count
    }
}

/// Consecutive nodes, cut where their weights change.
fn by_weight(weights: &[u64], nodes: Range<u32>) -> impl Iterator<Item = Stretch> {
    let mut first = nodes.start;
    weights[nodes.start as usize..nodes.end as usize].chunk_by(|one, other| one == other).map(move |alike| {
        let end = first + u32::try_from(alike.len()).unwrap_or(u32::MAX);
        Stretch::new(alike[0], std::mem::replace(&mut first, end)..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(nodes: &[u32]) -> NodeSet {
        let mut set = NodeSet::empty(64);
        set.insert_all(nodes);
        set
    }

    #[test]
    fn the_shortest_stretch_that_suffices_is_taken_else_the_longest_and_then_the_rest() {
        let free = set(&[0, 1, 3, 4, 5, 7, 9]);
        assert_eq!(choose(&free, None, 1).unwrap(), [7]);
        assert_eq!(choose(&free, None, 2).unwrap(), [0, 1]);
        assert_eq!(choose(&free, None, 4).unwrap(), [3, 4, 5, 7]);
        assert_eq!(choose(&free, None, 8), None);
    }

    #[test]
    fn low_weights_are_filled_first_even_where_a_higher_one_had_a_fitting_stretch() {
        let free = set(&[0, 2, 4, 5, 6]);
        let weights = [vec![1; 4], vec![2; 60]].concat();
        assert_eq!(choose(&free, Some(&weights), 3).unwrap(), [0, 2, 4]);
    }
}
