//! Bounds by hand, and against all placements of a few intervals.

use proptest::prelude::*;

use super::*;
use crate::algo::exchange::IntervalNode;
use crate::error::Error;

const NEVER: f64 = f64::INFINITY;

fn interval(row: u32, from: i64, until: i64) -> Interval {
    Interval { row, scale: 1.0, from, until }
}

fn raised(problem: &SizedIntervals<'_>, prices: &[f64], steps: u64) -> PriceBound {
    raise_unless(problem, prices, Climb { steps, target: NEVER }, &mut || false).unwrap()
}

#[test]
fn two_intervals_at_once_compete_for_the_better_node() {
    let values = [1.0, 3.0, 1.0, 9.0];
    let costs = NodeCosts::new(2, 2, &values).unwrap();
    let intervals = [interval(0, 0, 10), interval(1, 5, 15)];
    let problem = SizedIntervals { costs, intervals: &intervals, sizes: &[1, 1], closed: &[] };
    // At these prices the better node brings in the most of the two: 30 + 90 less max(20, 80).
    assert_eq!(raised(&problem, &[30.0, 90.0], 0).least, 40.0);
    let found = raised(&problem, &[0.0, 0.0], 200);
    assert_eq!(found.at_first, 0.0);
    assert!((found.least - 40.0).abs() < 1e-6, "{found:?}");
    assert_eq!(raised(&problem, &found.prices, 0).least, found.least);
}

#[test]
fn a_closed_node_brings_in_nothing() {
    let costs = NodeCosts::new(1, 2, &[1.0, 5.0]).unwrap();
    let intervals = [interval(0, 0, 10)];
    let closed = [Closed { node: 0, from: 9, until: 12 }];
    let problem = SizedIntervals { costs, intervals: &intervals, sizes: &[1], closed: &closed };
    assert_eq!(raised(&problem, &[50.0], 0).least, 50.0);
    assert_eq!(raised(&SizedIntervals { closed: &[], ..problem }, &[50.0], 0).least, 10.0);
    let nodes: Vec<_> = placed_unless(&problem, &[50.0], &mut || false).unwrap().unwrap();
    assert_eq!(nodes.iter().map(|place| place.node).collect::<Vec<_>>(), [1]);
}

#[test]
fn what_finds_no_room_is_not_placed() {
    let costs = NodeCosts::new(1, 1, &[1.0]).unwrap();
    let intervals = [interval(0, 0, 10), interval(0, 5, 12)];
    let problem = SizedIntervals { costs, intervals: &intervals, sizes: &[1, 1], closed: &[] };
    assert_eq!(placed_unless(&problem, &[1.0, 1.0], &mut || false).unwrap(), None);
}

#[test]
fn a_bound_that_comes_up_to_the_target_climbs_no_further() {
    let costs = NodeCosts::new(1, 2, &[1.0, 2.0]).unwrap();
    let intervals = [interval(0, 0, 10)];
    let problem = SizedIntervals { costs, intervals: &intervals, sizes: &[1], closed: &[] };
    let found = raise_unless(&problem, &[10.0], Climb { steps: 1000, target: 10.0 }, &mut || false).unwrap();
    assert_eq!(found.least, 10.0);
    assert!(found.passes < 30, "{}", found.passes);
}

#[test]
fn faults_are_named() {
    let costs = NodeCosts::new(1, 1, &[1.0]).unwrap();
    let one = [interval(0, 0, 10)];
    let text = |intervals: &[Interval], sizes: &[u32], prices: &[f64]| {
        let problem = SizedIntervals { costs, intervals, sizes, closed: &[] };
        let climb = Climb { steps: 1, target: NEVER };
        let placed = placed_unless(&problem, prices, &mut || false).unwrap_err().to_string();
        let raised = raise_unless(&problem, prices, climb, &mut || false).unwrap_err().to_string();
        assert_eq!(placed, raised);
        raised
    };
    assert!(text(&[interval(1, 0, 1)], &[1], &[0.0]).contains("a row below 1"));
    assert!(text(&one, &[], &[0.0]).contains("sizes"));
    assert!(text(&one, &[1], &[]).contains("prices"));
    assert!(text(&one, &[1], &[f64::NAN]).contains("prices[0]"));
}

#[test]
fn it_can_be_interrupted() {
    let costs = NodeCosts::new(1, 2, &[1.0, 2.0]).unwrap();
    let intervals = [interval(0, 0, 10)];
    let problem = SizedIntervals { costs, intervals: &intervals, sizes: &[1], closed: &[] };
    let climb = Climb { steps: 10, target: NEVER };
    assert!(matches!(raise_unless(&problem, &[0.0], climb, &mut || true), Err(Error::Interrupted)));
    assert!(matches!(placed_unless(&problem, &[0.0], &mut || true), Err(Error::Interrupted)));
}

#[derive(Clone, Debug)]
struct Case {
    values: Vec<f64>,
    intervals: Vec<Interval>,
    sizes: Vec<u32>,
    closed: Vec<Closed>,
    prices: Vec<f64>,
}

const NODES: usize = 4;

impl Case {
    fn problem(&self) -> SizedIntervals<'_> {
        let costs = NodeCosts::new(self.values.len() / NODES, NODES, &self.values).unwrap();
        SizedIntervals { costs, intervals: &self.intervals, sizes: &self.sizes, closed: &self.closed }
    }

    fn may(&self, own: usize, node: usize) -> bool {
        let one = &self.intervals[own];
        let is_closed = |span: &Closed| span.node as usize == node && span.from < one.until && one.from < span.until;
        self.problem().costs.row(one.row as usize)[node].is_finite() && !self.closed.iter().any(is_closed)
    }

    fn overlap(&self, own: usize, other: usize) -> bool {
        let (one, other) = (&self.intervals[own], &self.intervals[other]);
        one.from < other.until && other.from < one.until
    }

    /// Cost of the cheapest placement of the intervals from this one on; infinity if there is none.
    fn cheapest(&self, own: usize, sets: &mut Vec<u32>) -> f64 {
        let Some(one) = self.intervals.get(own) else { return 0.0 };
        let mut least = f64::INFINITY;
        for set in (0_u32..1 << NODES).filter(|set| set.count_ones() == self.sizes[own]) {
            let mut nodes = (0..NODES).filter(|node| set >> node & 1 == 1);
            let is_free = (0..own).all(|other| !self.overlap(own, other) || sets[other] & set == 0);
            if is_free && nodes.clone().all(|node| self.may(own, node)) {
                let row = self.problem().costs.row(one.row as usize);
                let cost: f64 = nodes.by_ref().map(|node| row[node] * weight(one)).sum();
                sets.push(set);
                least = least.min(cost + self.cheapest(own + 1, sets));
                sets.pop();
            }
        }
        least
    }

    /// The bound of prices, each node's best set found among all.
    fn plainly(&self, prices: &[f64]) -> f64 {
        let count = self.intervals.len();
        let worth: f64 = prices.iter().zip(&self.sizes).map(|(price, &size)| price * f64::from(size)).sum();
        let brings = |node: usize| {
            let of = |own: usize| {
                let one = &self.intervals[own];
                prices[own] - self.problem().costs.row(one.row as usize)[node] * weight(one)
            };
            let sets = (0_u32..1 << count).map(|set| (0..count).filter(move |own| set >> own & 1 == 1));
            let is_fair = |set: Vec<usize>| {
                let is_apart =
                    set.iter().all(|&own| set.iter().all(|&other| own == other || !self.overlap(own, other)));
                (is_apart && set.iter().all(|&own| self.may(own, node))).then_some(set)
            };
            let fair = sets.filter_map(|set| is_fair(set.collect()));
            fair.map(|set| set.iter().map(|&own| of(own)).sum::<f64>()).fold(0.0, f64::max)
        };
        worth - (0..NODES).map(brings).sum::<f64>()
    }
}

/// A case in which there may be no placement; intervals have whole numbers in all places.
fn case() -> impl Strategy<Value = Case> {
    let costs = prop::collection::vec(prop_oneof![8 => (1_u8..20).prop_map(f64::from), 1 => Just(f64::INFINITY)], 8);
    let one = (0_u32..2, 1_u8..4, 0_i64..12, 1_i64..8, 1_u32..3, -5_i32..400);
    let closed = prop::collection::vec((0_u32..4, 0_i64..16, 1_i64..5), 0..2);
    (costs, prop::collection::vec(one, 1..6), closed).prop_map(|(values, asked, closed)| {
        let closed = closed.into_iter().map(|(node, from, long)| Closed { node, from, until: from + long }).collect();
        let made = |&(row, scale, from, long, ..): &(u32, u8, i64, i64, u32, i32)| Interval {
            row,
            scale: f64::from(scale),
            from,
            until: from + long,
        };
        Case {
            values,
            intervals: asked.iter().map(made).collect(),
            sizes: asked.iter().map(|one| one.4).collect(),
            closed,
            prices: asked.iter().map(|one| f64::from(one.5)).collect(),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_prices_prove_more_than_the_cheapest_placement_costs(case in case(), steps in 0_u64..60) {
        let problem = case.problem();
        let least = case.cheapest(0, &mut Vec::new());
        let found = raised(&problem, &case.prices, steps);
        prop_assert_eq!(found.at_first, case.plainly(&case.prices));
        prop_assert!((found.least - case.plainly(&found.prices)).abs() <= 1e-12 * found.terms);
        prop_assert!(found.at_first <= found.least);
        prop_assert!(found.least - 1e-12 * found.terms <= least, "{} proved, {least} can be had", found.least);
        prop_assert_eq!(&found, &raised(&problem, &case.prices, steps));
    }

    #[test]
    fn placements_are_feasible_and_no_bound_is_above_them(case in case()) {
        let problem = case.problem();
        let Some(places) = placed_unless(&problem, &case.prices, &mut || false).unwrap() else {
            return Ok(());
        };
        let mut cost = 0.0;
        for (own, &size) in case.sizes.iter().enumerate() {
            let nodes: Vec<_> = places.iter().filter(|one| one.interval as usize == own).map(|one| one.node).collect();
            prop_assert_eq!(nodes.len(), size as usize);
            prop_assert!(nodes.windows(2).all(|two| two[0] < two[1]));
            for &node in &nodes {
                prop_assert!(case.may(own, node as usize));
                let row = case.intervals[own].row as usize;
                cost += problem.costs.row(row)[node as usize] * weight(&case.intervals[own]);
                let other = |one: &&IntervalNode| one.node == node && one.interval as usize != own;
                prop_assert!(places.iter().filter(other).all(|one| !case.overlap(own, one.interval as usize)));
            }
        }
        let found = raised(&problem, &case.prices, 40);
        prop_assert!(found.least - 1e-12 * found.terms <= cost);
    }
}
