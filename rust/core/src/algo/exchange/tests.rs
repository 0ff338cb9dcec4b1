//! Exchanges by hand, and against all placements of a few intervals.

use proptest::prelude::*;

use super::*;
use crate::error::Error;

const NONE: Effort = Effort { rounds: 0, seed: 1 };

fn interval(row: u32, from: i64, until: i64) -> Interval {
    Interval { row, scale: 1.0, from, until }
}

fn places(nodes: &[u32]) -> Vec<IntervalNode> {
    (0..).zip(nodes).map(|(interval, &node)| IntervalNode { interval, node }).collect()
}

fn cost(problem: &PlacedIntervals<'_>, places: &[IntervalNode]) -> f64 {
    let of = |place: &IntervalNode| {
        let one = &problem.intervals[place.interval as usize];
        problem.costs.row(one.row as usize)[place.node as usize] * one.scale * (one.until - one.from) as f64
    };
    places.iter().map(of).sum()
}

fn found(problem: &PlacedIntervals<'_>, effort: Effort) -> Found {
    cheaper_unless(problem, effort, &mut || false).unwrap()
}

#[test]
fn a_part_changes_sides_as_a_whole() {
    // Interval 0 overlaps 1, and 1 overlaps 2: for 0 alone an exchange would pay, for the three it does not.
    let values = [1.0, 2.0, 9.0, 1.0];
    let costs = NodeCosts::new(2, 2, &values).unwrap();
    let intervals = [interval(0, 0, 10), interval(0, 5, 20), interval(1, 15, 30), interval(0, 30, 40)];
    let places = places(&[1, 0, 1, 1]);
    let problem = PlacedIntervals { costs, intervals: &intervals, places: &places, closed: &[] };
    let one = found(&problem, NONE);
    assert_eq!(one.places.iter().map(|place| place.node).collect::<Vec<_>>(), [1, 0, 1, 0]);
    assert_eq!((one.of_pairs, one.change), (-10.0, -10.0));
}

#[test]
fn a_closed_node_takes_nothing_and_what_is_on_it_stays() {
    let costs = NodeCosts::new(1, 2, &[5.0, 1.0]).unwrap();
    let intervals = [interval(0, 0, 10), interval(0, 10, 20), interval(0, 20, 30)];
    let places = places(&[0, 0, 0]);
    let closed = [Closed { node: 1, from: 5, until: 6 }, Closed { node: 0, from: 20, until: 21 }];
    let one = found(&PlacedIntervals { costs, intervals: &intervals, places: &places, closed: &closed }, NONE);
    assert_eq!(one.places.iter().map(|place| place.node).collect::<Vec<_>>(), [0, 1, 0]);
}

#[test]
fn faults_are_named() {
    let costs = NodeCosts::new(1, 1, &[1.0]).unwrap();
    let text = |intervals: &[Interval], places: &[IntervalNode], closed: &[Closed]| {
        let problem = PlacedIntervals { costs, intervals, places, closed };
        cheaper_unless(&problem, NONE, &mut || false).unwrap_err().to_string()
    };
    let two = [interval(0, 0, 10), interval(0, 9, 12)];
    assert!(text(&two, &places(&[0, 0]), &[]).contains("interval 1 while it serves interval 0"));
    assert!(text(&[interval(1, 0, 1)], &[], &[]).contains("a row below 1"));
    assert!(text(&[interval(0, 1, 1)], &[], &[]).contains("an end after the start"));
    assert!(text(&two, &places(&[0, 1]), &[]).contains("interval 1 on node 1"));
    assert!(text(&[], &[], &[Closed { node: 2, from: 0, until: 1 }]).contains("node 2"));
}

#[test]
fn it_can_be_interrupted() {
    let costs = NodeCosts::new(1, 1, &[1.0]).unwrap();
    let problem = PlacedIntervals { costs, intervals: &[], places: &[], closed: &[] };
    assert!(matches!(cheaper_unless(&problem, NONE, &mut || true), Err(Error::Interrupted)));
}

#[derive(Clone, Debug)]
struct Case {
    nodes: usize,
    values: Vec<f64>,
    intervals: Vec<Interval>,
    places: Vec<IntervalNode>,
    closed: Vec<Closed>,
}

impl Case {
    fn problem(&self) -> PlacedIntervals<'_> {
        let costs = NodeCosts::new(self.values.len() / self.nodes, self.nodes, &self.values).unwrap();
        PlacedIntervals { costs, intervals: &self.intervals, places: &self.places, closed: &self.closed }
    }

    /// Nodes that an interval may have, as far as those of the intervals before it allow.
    fn free(&self, own: usize, taken: &[IntervalNode]) -> Vec<u32> {
        let one = &self.intervals[own];
        let overlaps = |from: i64, until: i64| from < one.until && one.from < until;
        let is_free = |&node: &u32| {
            let is_held = taken.iter().filter(|place| place.node == node).any(|place| {
                let other = &self.intervals[place.interval as usize];
                overlaps(other.from, other.until)
            });
            let is_closed = self.closed.iter().any(|span| span.node == node && overlaps(span.from, span.until));
            let is_allowed = self.problem().costs.row(one.row as usize)[node as usize].is_finite();
            is_allowed && !is_held && !is_closed
        };
        (0..u32::try_from(self.nodes).unwrap()).filter(is_free).collect()
    }

    /// Cost of the cheapest placement of the intervals from this one on, of `sizes` nodes each.
    fn cheapest(&self, own: usize, sizes: &[usize], taken: &mut Vec<IntervalNode>, nodes: &[u32]) -> f64 {
        if own == self.intervals.len() {
            return cost(&self.problem(), taken);
        }
        let free = self.free(own, taken);
        let mut least = f64::INFINITY;
        for set in 0_u32..1 << self.nodes {
            let chosen: Vec<u32> = free.iter().copied().filter(|node| set >> node & 1 == 1).collect();
            let is_fair = chosen.len() == sizes[own] && chosen.len() == set.count_ones() as usize;
            // Of two nodes in play at most, an interval keeps those that it has elsewhere.
            if is_fair && self.keeps(own, &chosen, nodes) {
                let before = taken.len();
                taken.extend(chosen.iter().map(|&node| IntervalNode { interval: u32::try_from(own).unwrap(), node }));
                least = least.min(self.cheapest(own + 1, sizes, taken, nodes));
                taken.truncate(before);
            }
        }
        least
    }

    fn keeps(&self, own: usize, chosen: &[u32], nodes: &[u32]) -> bool {
        let elsewhere = |node: &u32| !nodes.contains(node);
        let has: Vec<u32> = self.places.iter().filter(|place| place.interval as usize == own).map(|p| p.node).collect();
        has.iter().copied().filter(elsewhere).eq(chosen.iter().copied().filter(elsewhere))
    }

    fn sizes(&self) -> Vec<usize> {
        (0..self.intervals.len()).map(|own| self.places.iter().filter(|p| p.interval as usize == own).count()).collect()
    }
}

/// A case whose intervals hold the first nodes that are free; those that find none are left out.
fn case() -> impl Strategy<Value = Case> {
    let costs = prop::collection::vec(prop_oneof![6 => (1_u8..20).prop_map(f64::from), 1 => Just(f64::INFINITY)], 8);
    let intervals = prop::collection::vec((0_u32..2, 1_u8..4, 0_i64..12, 1_i64..8, 1_usize..3), 1..6);
    let closed = prop::collection::vec((0_u32..4, 0_i64..16, 1_i64..5), 0..3);
    (costs, intervals, closed).prop_map(|(values, asked, closed)| {
        let closed = closed.into_iter().map(|(node, from, long)| Closed { node, from, until: from + long }).collect();
        let mut case = Case { nodes: 4, values, intervals: Vec::new(), places: Vec::new(), closed };
        for (row, scale, from, long, size) in asked {
            let own = case.intervals.len();
            case.intervals.push(Interval { row, scale: f64::from(scale), from, until: from + long });
            let free = case.free(own, &case.places);
            if free.len() < size {
                case.intervals.pop();
                continue;
            }
            let interval = u32::try_from(own).unwrap();
            case.places.extend(free[..size].iter().map(|&node| IntervalNode { interval, node }));
        }
        case
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn placements_are_feasible_cheaper_and_cheapest_for_every_pair(case in case(), rounds in 0_u64..20) {
        let problem = case.problem();
        let one = found(&problem, Effort { rounds, seed: 7 });
        let (before, after) = (cost(&problem, &case.places), cost(&problem, &one.places));
        prop_assert!((after - before - one.change).abs() < 1e-9);
        prop_assert!(one.change <= one.of_pairs && one.of_pairs <= 0.0);
        let moved = Case { places: one.places.clone(), ..case.clone() };
        prop_assert_eq!(moved.sizes(), case.sizes());
        for own in 0..case.intervals.len() {
            let has = |place: &&IntervalNode| place.interval as usize == own;
            let others: Vec<_> = one.places.iter().filter(|place| !has(place)).copied().collect();
            let free = case.free(own, &others);
            prop_assert!(one.places.iter().filter(has).all(|place| free.contains(&place.node)));
        }
        for left in 0..4 {
            for right in 0..left {
                let least = moved.cheapest(0, &case.sizes(), &mut Vec::new(), &[left, right]);
                prop_assert!((after - least).abs() < 1e-9, "{after} on nodes {left} and {right}, {least} can be had");
            }
        }
        let all = moved.cheapest(0, &case.sizes(), &mut Vec::new(), &[0, 1, 2, 3]);
        prop_assert!(all <= after + 1e-9);
        prop_assert_eq!(&one, &found(&problem, Effort { rounds, seed: 7 }));
    }
}

mod with_lengths {
    use super::*;

    fn rule(runtime: i64) -> LengthRule {
        LengthRule {
            runtime,
            pace: 1.0,
            comm: 0,
            walltime: 1 << 62,
            walltime_pace: 1.0,
            grace: 0,
            stretches: false,
            left: 1 << 62,
        }
    }

    fn paced(problem: &PacedIntervals<'_>) -> PacedFound {
        cheaper_paced_unless(problem, &mut || false).unwrap()
    }

    #[test]
    fn lengths_are_rounded_up_once_cut_and_stretched() {
        assert_eq!(rule(10).at(1.04), 11);
        assert_eq!(LengthRule { comm: 3, ..rule(10) }.at(1.04), 14);
        assert_eq!(LengthRule { walltime: 12, grace: 1, ..rule(20) }.at(1.04), 13);
        assert_eq!(LengthRule { walltime: 12, grace: 1, stretches: true, ..rule(20) }.at(1.04), 14);
        assert_eq!(LengthRule { left: 5, ..rule(20) }.at(1.04), 5);
    }

    #[test]
    fn a_cheaper_node_that_is_too_slow_is_left_alone() {
        let costs = NodeCosts::new(1, 2, &[5.0, 1.0]).unwrap();
        let factors = [1.0, 2.0];
        let first = PacedInterval { row: 0, scale: 1.0, from: 0, length: rule(10) };
        let places = places(&[0]);
        let closed = |from: i64| [Closed { node: 1, from, until: 30 }];
        let problem =
            PacedIntervals { costs, factors: &factors, intervals: &[first], places: &places, closed: &closed(19) };
        assert_eq!(paced(&problem).change, 0.0);
        let one = paced(&PacedIntervals { closed: &closed(20), ..problem });
        assert_eq!((one.change, one.places[0].node), (20.0 - 50.0, 1));
    }

    #[test]
    fn the_slowest_node_sets_the_pace_on_all() {
        // On node 2 the wide interval lasts until 15: on its other node, too, where another may start before.
        let costs = NodeCosts::new(2, 3, &[5.0, 5.0, 1.0, 5.0, 5.0, f64::INFINITY]).unwrap();
        let factors = [1.0, 1.0, 1.5, 1.0, 1.0, 1.0];
        let wide = PacedInterval { row: 0, scale: 1.0, from: 0, length: rule(10) };
        let other = |from: i64| PacedInterval { row: 1, scale: 1.0, from, length: rule(4) };
        let places = [(0, 0), (0, 1), (1, 0), (2, 1)].map(|(interval, node)| IntervalNode { interval, node });
        for (from, nodes) in [(14, [0, 1, 0, 1]), (15, [1, 2, 0, 1])] {
            let intervals = [wide, other(from), other(from)];
            let problem =
                PacedIntervals { costs, factors: &factors, intervals: &intervals, places: &places, closed: &[] };
            let one = paced(&problem);
            assert_eq!(one.places.iter().map(|place| place.node).collect::<Vec<_>>(), nodes, "from {from}");
        }
    }

    #[test]
    fn faults_are_named_and_it_can_be_interrupted() {
        let costs = NodeCosts::new(1, 1, &[1.0]).unwrap();
        let one = [PacedInterval { row: 0, scale: 1.0, from: 0, length: rule(10) }];
        let places = places(&[0]);
        let problem = PacedIntervals { costs, factors: &[1.0], intervals: &one, places: &places, closed: &[] };
        let text = |problem: PacedIntervals<'_>| cheaper_paced_unless(&problem, &mut || false).unwrap_err().to_string();
        assert!(text(PacedIntervals { factors: &[], ..problem }).contains("factors"));
        assert!(text(PacedIntervals { factors: &[f64::NAN], ..problem }).contains("NaN"));
        assert!(text(PacedIntervals { intervals: &[], ..problem }).contains("interval 0 on node 0"));
        assert!(
            text(PacedIntervals { closed: &[Closed { node: 1, from: 0, until: 1 }], ..problem }).contains("node 1")
        );
        assert!(matches!(cheaper_paced_unless(&problem, &mut || true), Err(Error::Interrupted)));
    }

    /// The intervals of a case on nodes of some speeds, those that no longer fit left out.
    fn slower(case: &Case, factors: &[f64]) -> (Vec<PacedInterval>, Vec<IntervalNode>) {
        let (mut intervals, mut kept): (Vec<PacedInterval>, Vec<IntervalNode>) = (Vec::new(), Vec::new());
        for (own, one) in case.intervals.iter().enumerate() {
            let nodes: Vec<u32> =
                case.places.iter().filter(|place| place.interval as usize == own).map(|place| place.node).collect();
            let made =
                PacedInterval { row: one.row, scale: one.scale, from: one.from, length: rule(one.until - one.from) };
            let all = [intervals.as_slice(), &[made]].concat();
            let interval = u32::try_from(intervals.len()).unwrap();
            let more = nodes.iter().map(|&node| IntervalNode { interval, node });
            let places: Vec<_> = kept.iter().copied().chain(more).collect();
            if fits(case, &all, &places, factors) {
                (intervals, kept) = (all, places);
            }
        }
        (intervals, kept)
    }

    fn end(intervals: &[PacedInterval], own: usize, places: &[IntervalNode], factors: &[f64]) -> i64 {
        let one = &intervals[own];
        let nodes = places.iter().filter(|place| place.interval as usize == own);
        let slowest = nodes.map(|place| factors[one.row as usize * 4 + place.node as usize]).fold(0.0, f64::max);
        one.from + one.length.at(slowest)
    }

    fn fits(case: &Case, intervals: &[PacedInterval], places: &[IntervalNode], factors: &[f64]) -> bool {
        let span = |place: &IntervalNode| {
            let own = place.interval as usize;
            (intervals[own].from, end(intervals, own, places, factors))
        };
        let overlaps = |one: (i64, i64), other: (i64, i64)| one.0 < other.1 && other.0 < one.1;
        places.iter().enumerate().all(|(at, place)| {
            let is_open =
                |closed: &Closed| closed.node != place.node || !overlaps(span(place), (closed.from, closed.until));
            let is_apart = |other: &IntervalNode| other.node != place.node || !overlaps(span(place), span(other));
            case.closed.iter().all(is_open) && places[at + 1..].iter().all(is_apart)
        })
    }

    fn energy(case: &Case, intervals: &[PacedInterval], places: &[IntervalNode], factors: &[f64]) -> f64 {
        let of = |place: &IntervalNode| {
            let own = place.interval as usize;
            let one = &intervals[own];
            let length = end(intervals, own, places, factors) - one.from;
            case.problem().costs.row(one.row as usize)[place.node as usize] * one.scale * length as f64
        };
        places.iter().map(of).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

        #[test]
        fn placements_fit_and_cost_less_and_no_pair_has_more_to_gain(
            case in case(),
            factors in prop::collection::vec(prop_oneof![Just(1.0), Just(1.25), Just(0.8), Just(1.5)], 8),
        ) {
            let (intervals, places) = slower(&case, &factors);
            let problem = PacedIntervals {
                costs: case.problem().costs,
                factors: &factors,
                intervals: &intervals,
                places: &places,
                closed: &case.closed,
            };
            let one = paced(&problem);
            let (before, after) = [&places, &one.places]
                .map(|places| energy(&case, &intervals, places, &factors))
                .into();
            prop_assert!((after - before - one.change).abs() < 1e-9, "{before} {after} {one:?}");
            prop_assert!(one.change <= 0.0);
            prop_assert!(fits(&case, &intervals, &one.places, &factors));
            prop_assert_eq!(one.places.len(), places.len());
            let again = paced(&PacedIntervals { places: &one.places, ..problem });
            prop_assert_eq!((again.change, again.exchanges), (0.0, 0));
        }

        #[test]
        fn on_nodes_of_one_speed_no_pair_is_left_that_exchanges_make_cheaper(case in case()) {
            let factors = [1.0; 8];
            let (intervals, places) = slower(&case, &factors);
            prop_assert_eq!(intervals.len(), case.intervals.len());
            let problem = PacedIntervals {
                costs: case.problem().costs,
                factors: &factors,
                intervals: &intervals,
                places: &places,
                closed: &case.closed,
            };
            let plain = PlacedIntervals { places: &paced(&problem).places, ..case.problem() };
            prop_assert_eq!(found(&plain, NONE).change, 0.0);
        }
    }
}
