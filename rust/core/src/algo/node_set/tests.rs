use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

proptest! {
    /// Twin: a set of the standard library.
    #[test]
    fn a_set_counts_its_members(
        steps in prop::collection::vec((0..10_u8, prop::collection::vec(0..150_u32, 0..9)), 0..60),
    ) {
        let (mut set, mut twin) = (NodeSet::empty(150), BTreeSet::new());
        for (what, nodes) in steps {
            let mut distinct = nodes.clone();
            distinct.sort_unstable();
            distinct.dedup();
            match what {
                8 => {
                    let mut other = NodeSet::full(7);
                    other.fill(150);
                    other.remove_all(&nodes);
                    let mut common = set.clone();
                    common.keep_common(&other);
                    set.keep(|place| other.words()[place]);
                    prop_assert_eq!(&common, &set);
                    common.keep_common_to_all([&other, &set].into_iter());
                    prop_assert_eq!(&common, &set);
                    twin.retain(|node| !distinct.contains(node));
                }
                0 => for &node in &nodes {
                    prop_assert_eq!(set.insert(node), twin.insert(node));
                },
                1 => for &node in &nodes {
                    prop_assert_eq!(set.remove(node), twin.remove(&node));
                },
                2 => {
                    set.insert_all(&nodes);
                    twin.extend(&nodes);
                }
                3 => {
                    let missing = distinct.iter().copied().rfind(|node| !twin.contains(node));
                    prop_assert_eq!(set.remove_all(&distinct), missing);
                    twin.retain(|node| !distinct.contains(node));
                }
                4 => {
                    let mut other = NodeSet::empty(150);
                    other.insert_all(&nodes);
                    let common = distinct.iter().filter(|node| twin.contains(node)).count();
                    prop_assert_eq!(set.common(&other) as usize, common);
                    let both: Vec<_> = distinct.iter().copied().filter(|node| twin.contains(node)).collect();
                    prop_assert_eq!(set.common_nodes(&other).collect::<Vec<_>>(), both);
                    prop_assert_eq!(set.common_of_three(&other, &NodeSet::full(150)) as usize, common);
                    prop_assert_eq!(set.is_apart(&other), common == 0);
                    let (sets, mut counts) = ([other.clone(), NodeSet::full(150)], [1; 3]);
                    set.count_by_set(&sets, &mut counts);
                    prop_assert_eq!(counts.map(|count| count as usize), [1 + common, 1 + twin.len(), 1]);
                    let mut lowest = vec![7];
                    set.copy_lowest(other.len(), &mut lowest);
                    prop_assert_eq!(&lowest[1..], &set.iter().take(distinct.len()).collect::<Vec<_>>());
                    if nodes.len() % 2 == 0 {
                        prop_assert_eq!(set.insert_set(&other), distinct.iter().all(|node| !twin.contains(node)));
                        twin.extend(&nodes);
                    } else {
                        let mut low = NodeSet::empty(150);
                        low.insert_all(&(0..=70).collect::<Vec<_>>());
                        let both: Vec<_> = distinct.iter().copied().filter(|&node| node <= 70).collect();
                        let new = both.iter().filter(|node| !twin.contains(node)).count();
                        prop_assert_eq!(set.insert_common(&low, (&other, other.places())) as usize, new);
                        twin.extend(both);
                    }
                }
                5 => {
                    let mut other = NodeSet::empty(150);
                    other.insert_all(&nodes);
                    prop_assert_eq!(set.remove_set(&other), distinct.iter().all(|node| twin.contains(node)));
                    twin.retain(|node| !distinct.contains(node));
                }
                6 => if let (Some(&low), Some(&high)) = (distinct.first(), distinct.last()) {
                    let (mut up, mut down) = (Span::of(low), Span::of(high));
                    prop_assert!((low + 1..=high).all(|node| up.extend(node)));
                    prop_assert!((low..high).rev().all(|node| down.extend(node)));
                    let mut even = NodeSet::empty(150);
                    even.insert_all(&(0..150).filter(|node| node % 2 == 0).collect::<Vec<_>>());
                    let both: Vec<_> = twin.range(low..=high).copied().filter(|node| node % 2 == 0).collect();
                    prop_assert_eq!(set.both_within(&even, up).collect::<Vec<_>>(), both.clone());
                    prop_assert_eq!(set.both_within(&even, down).collect::<Vec<_>>(), both);
                    prop_assert_eq!(set.has_each(&nodes), nodes.iter().all(|node| twin.contains(node)));
                    if nodes.len() % 2 == 0 {
                        set.insert_span(up);
                        twin.extend(low..=high);
                    } else {
                        set.remove_span(down);
                        twin.retain(|node| !(low..=high).contains(node));
                    }
                },
                7 => {
                    let capacity = nodes.first().copied().unwrap_or(64);
                    let mut other = NodeSet::full(70);
                    other.clear(capacity);
                    prop_assert_eq!(other, NodeSet::empty(capacity));
                }
                _ => {
                    let mut taken = Vec::new();
                    let members: Vec<_> = twin.iter().copied().collect();
                    let ranks: Vec<_> = distinct.into_iter().filter(|&rank| (rank as usize) < members.len()).collect();
                    set.take_ranks(&ranks, &mut taken);
                    prop_assert_eq!(&taken, &ranks.iter().map(|&rank| members[rank as usize]).collect::<Vec<_>>());
                    twin.retain(|node| !taken.contains(node));
                }
            }
            prop_assert_eq!(set.len() as usize, twin.len());
            prop_assert_eq!(set.iter().collect::<Vec<_>>(), twin.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.descending().collect::<Vec<_>>(), twin.iter().rev().copied().collect::<Vec<_>>());
            prop_assert_eq!(set.stretches().flatten().collect::<Vec<_>>(), set.iter().collect::<Vec<_>>());
            prop_assert!(set.stretches().is_sorted_by(|one, next| one.end < next.start));
        }
    }
}

#[test]
fn a_full_set_holds_each_node_once() {
    for capacity in [0, 1, 63, 64, 65, 130] {
        let set = NodeSet::full(capacity);
        assert_eq!(set.iter().collect::<Vec<_>>(), (0..capacity).collect::<Vec<_>>());
        assert_eq!(set.len(), capacity);
    }
}

#[test]
fn taking_lowest_leaves_the_rest() {
    let mut set = NodeSet::full(130);
    set.remove(1);
    let mut taken = Vec::new();
    let mut kept = set.clone();
    kept.keep_lowest(65);
    assert_eq!((kept.len(), kept.iter().collect::<Vec<_>>()), (65, [0].into_iter().chain(2..66).collect()));
    set.take_lowest(65, &mut taken);
    assert_eq!(taken, [0].into_iter().chain(2..66).collect::<Vec<_>>());
    assert_eq!(set.iter().collect::<Vec<_>>(), (66..130).collect::<Vec<_>>());
    assert_eq!(set.len(), 64);
}

#[test]
fn what_two_sets_have_in_common() {
    let (mut one, mut other, mut common) = (NodeSet::full(130), NodeSet::empty(130), NodeSet::full(7));
    for node in [0, 64, 128, 129] {
        other.insert(node);
    }
    one.remove(64);
    common.copy_common(&one, &other);
    assert_eq!(common.iter().collect::<Vec<_>>(), [0, 128, 129]);
    assert_eq!((common.len(), common.capacity()), (3, 130));
    other.keep_common(&one);
    assert_eq!(other, common);
}

#[test]
fn taking_by_rank_counts_only_members() {
    let mut set = NodeSet::empty(200);
    for node in [3, 64, 65, 199] {
        set.insert(node);
    }
    let mut taken = Vec::new();
    set.take_ranks(&[0, 2, 3], &mut taken);
    assert_eq!(taken, [3, 65, 199]);
    assert_eq!(set.iter().collect::<Vec<_>>(), [64]);
}
