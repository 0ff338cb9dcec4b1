//! Nodes for a job: best fit by runs of neighbours of equal weight, the lowest weight first (rule 27).

use crate::algo::node_set::NodeSet;

/// Neighbours of equal weight.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: u32,
    len: u32,
}

/// Nodes of `usable` for a job that needs so many; none if they are too few. Nodes are numbered in configuration order.
pub(super) fn choose(usable: &NodeSet, weight: &dyn Fn(u32) -> u64, need: u32) -> Option<Vec<u32>> {
    if usable.len() < need {
        return None;
    }
    let mut stretches = stretches(usable, weight);
    stretches.sort_by_key(|(own, stretch)| (*own, stretch.first));
    let (mut chosen, mut missing) = (Vec::with_capacity(need as usize), need);
    let mut alike = stretches.chunk_by_mut(|(one, _), (other, _)| one == other);
    while missing > 0 {
        let mut left: Vec<Stretch> = alike.next()?.iter().map(|(_, stretch)| *stretch).collect();
        while missing > 0 && !left.is_empty() {
            let best = left.remove(best_of(&left, missing));
            let take = best.len.min(missing);
            chosen.extend(best.first..best.first + take);
            missing -= take;
        }
    }
    Some(chosen)
}

/// Place of the shortest stretch that suffices, else of the longest; the lowest among equal ones.
fn best_of(stretches: &[Stretch], missing: u32) -> usize {
    let fitting = stretches.iter().enumerate().filter(|(_, one)| one.len >= missing).min_by_key(|(_, one)| one.len);
    let longest = || stretches.iter().enumerate().max_by_key(|(place, one)| (one.len, usize::MAX - place));
    fitting.or_else(longest).map_or(0, |(place, _)| place)
}

/// Maximal runs of consecutive usable nodes of equal weight, each with that weight.
fn stretches(usable: &NodeSet, weight: &dyn Fn(u32) -> u64) -> Vec<(u64, Stretch)> {
    let mut all: Vec<(u64, Stretch)> = Vec::new();
    for node in usable.iter() {
        let own = weight(node);
        match all.last_mut() {
            Some((same, last)) if *same == own && last.first + last.len == node => last.len += 1,
            _ => all.push((own, Stretch { first: node, len: 1 })),
        }
    }
    all
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
        let alike = |_| 1;
        assert_eq!(choose(&free, &alike, 1).unwrap(), [7]);
        assert_eq!(choose(&free, &alike, 2).unwrap(), [0, 1]);
        assert_eq!(choose(&free, &alike, 4).unwrap(), [3, 4, 5, 7]);
        assert_eq!(choose(&free, &alike, 8), None);
    }

    #[test]
    fn low_weights_are_filled_first_even_where_a_higher_one_had_a_fitting_stretch() {
        let free = set(&[0, 2, 4, 5, 6]);
        let weight = |node| if node < 4 { 1 } else { 2 };
        assert_eq!(choose(&free, &weight, 3).unwrap(), [0, 2, 4]);
    }
}
