//! The incremental solver against a plain minimum-cost flow made from nothing at every stretch, and by hand.

use proptest::prelude::*;

use super::*;
use crate::error::Error;

/// Residual graph of a plain minimum-cost flow: Bellman-Ford finds one path after another.
#[derive(Default)]
struct Plain {
    /// From, to, room, cost; every arc is followed by its reverse.
    arcs: Vec<(usize, usize, u64, f64)>,
}

impl Plain {
    fn arc(&mut self, from: usize, to: usize, room: u64, cost: f64) {
        self.arcs.push((from, to, room, cost));
        self.arcs.push((to, from, 0, -cost));
    }

    /// Most units from vertex 0 to vertex 1, and their least cost.
    fn solve(&mut self, vertices: usize) -> (u64, f64) {
        let (mut units, mut cost) = (0, 0.0);
        loop {
            let mut reached = vec![(f64::INFINITY, usize::MAX); vertices];
            reached[0].0 = 0.0;
            for _ in 0..vertices {
                for (place, &(from, to, room, length)) in self.arcs.iter().enumerate() {
                    if room > 0 && reached[from].0 + length < reached[to].0 - 1e-9 {
                        reached[to] = (reached[from].0 + length, place);
                    }
                }
            }
            if reached[1].0 == f64::INFINITY {
                return (units, cost);
            }
            let (mut at, mut path) = (1, Vec::new());
            while at != 0 {
                path.push(reached[at].1);
                at = self.arcs[reached[at].1].0;
            }
            let amount = path.iter().map(|&place| self.arcs[place].2).min().unwrap();
            for place in path {
                self.arcs[place].2 -= amount;
                self.arcs[place ^ 1].2 += amount;
                cost += self.arcs[place].3 * amount as f64;
            }
            units += amount;
        }
    }
}

/// Most units of these that fit on nodes of this capacity, and the least cost of so many.
fn plainly(costs: &NodeCosts<'_>, all: &[Kind], units: &[u64], capacity: &[u64]) -> (u64, f64) {
    let (kinds, nodes, mut plain) = (all.len(), costs.nodes(), Plain::default());
    for (kind, &amount) in units.iter().enumerate() {
        plain.arc(0, 2 + kind, amount, 0.0);
        for (node, &cost) in costs.row(all[kind].row as usize).iter().enumerate().filter(|(_, cost)| cost.is_finite()) {
            plain.arc(2 + kind, 2 + kinds + node, u64::MAX / 4, cost * all[kind].scale);
        }
    }
    for (node, &room) in capacity.iter().enumerate() {
        plain.arc(2 + kinds + node, 1, room, 0.0);
    }
    plain.solve(2 + kinds + nodes)
}

fn there<T: Copy>(all: &[T], at: i64, span: impl Fn(&T) -> (i64, i64)) -> Vec<T> {
    all.iter().filter(|one| span(one).0 <= at && at < span(one).1).copied().collect()
}

/// The same by solving every stretch from nothing; `None` if something has no room at any time.
fn from_nothing(problem: &Problem<'_>) -> Option<f64> {
    let spans = problem.supplies.iter().map(|one| (one.from, one.until));
    let mut instants: Vec<i64> = spans
        .chain(problem.outages.iter().map(|one| (one.from, one.until)))
        .flat_map(|(from, until)| [from, until])
        .collect();
    instants.sort_unstable();
    instants.dedup();
    let mut total = 0.0;
    for pair in instants.windows(2) {
        let mut units = vec![0; problem.kinds.len()];
        for one in there(problem.supplies, pair[0], |one| (one.from, one.until)) {
            units[one.kind as usize] += one.amount;
        }
        let mut capacity = problem.capacity.to_vec();
        for one in there(problem.outages, pair[0], |one| (one.from, one.until)) {
            capacity[one.node as usize] -= one.amount;
        }
        let (placed, cost) = plainly(&problem.costs, problem.kinds, &units, &capacity);
        if placed < units.iter().sum() {
            return None;
        }
        total += cost * (pair[1] - pair[0]) as f64;
    }
    Some(total)
}

/// Costs with ties, and kinds that may not be everywhere.
fn cost() -> impl Strategy<Value = f64> {
    prop_oneof![4 => (0..4_i32).prop_map(f64::from), 4 => 0.0..400.0_f64, 1 => Just(f64::INFINITY)]
}

type Case = (usize, Vec<f64>, Vec<Kind>, Vec<u64>, Vec<Supply>, Vec<NodeOutage>);

fn case() -> impl Strategy<Value = Case> {
    (1..4_usize, 1..6_usize, 1..7_usize).prop_flat_map(|(rows, kinds, nodes)| {
        let kind = (0..rows, prop_oneof![Just(1.0), 0.1..3.0_f64])
            .prop_map(|(row, scale)| Kind { row: u32::try_from(row).unwrap(), scale });
        let supply = (0..kinds, 1..4_u64, 0..12_i64, 1..9_i64).prop_map(|(kind, amount, from, length)| Supply {
            kind: u32::try_from(kind).unwrap(),
            amount,
            from,
            until: from + length,
        });
        // Disjoint by node: the first node's is early, the second's late.
        let outage = (0..nodes, 0..12_i64, 1..9_i64).prop_map(|(node, from, length)| NodeOutage {
            node: u32::try_from(node).unwrap(),
            amount: 1,
            from,
            until: from + length,
        });
        (
            Just(rows),
            prop::collection::vec(cost(), rows * nodes),
            prop::collection::vec(kind, kinds),
            prop::collection::vec(1..4_u64, nodes),
            prop::collection::vec(supply, 0..8),
            prop::collection::vec(outage, 0..2),
        )
    })
}

fn problem(case: &Case) -> Problem<'_> {
    let (rows, values, kinds, capacity, supplies, outages) = case;
    let costs = NodeCosts::new(*rows, capacity.len(), values).unwrap();
    Problem { costs, kinds, capacity, supplies, outages }
}

fn cases() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        None => ProptestConfig::with_cases(2000),
        Some(_) => ProptestConfig::default(),
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_stretch_costs_what_a_flow_from_nothing_costs(case in case()) {
        let problem = problem(&case);
        let found = least_cost(&problem).unwrap();
        match from_nothing(&problem) {
            Some(expected) => {
                prop_assert_eq!(found.unplaced, 0);
                prop_assert!((found.total - expected).abs() <= 1e-9 * (1.0 + found.terms), "{} but {expected}", found.total);
            }
            None => prop_assert!(found.unplaced > 0),
        }
    }

    #[test]
    fn labels_prove_the_cost_of_the_placement(case in case()) {
        let problem = problem(&case);
        let mut wrong = Vec::new();
        let seen = &mut |stretch: &FlowStretch<'_, '_>| {
            let cost = stretch.flow.cost();
            if (cost - stretch.least).abs() > 1e-9 * (1.0 + cost) {
                wrong.push((stretch.from, cost, stretch.least));
            }
        };
        let found = least_cost_unless(&problem, seen, &mut || false).unwrap();
        prop_assert!(found.unplaced > 0 || wrong.is_empty(), "{wrong:?}");
    }
}

/// Two rows of costs as two kinds.
const AS_THEY_ARE: [Kind; 2] = [Kind { row: 0, scale: 1.0 }, Kind { row: 1, scale: 1.0 }];

fn one(kind: u32, amount: u64, from: i64, until: i64) -> Supply {
    Supply { kind, amount, from, until }
}

#[test]
fn a_job_that_comes_later_takes_the_better_node_and_gives_it_back() {
    // Kind 0 costs 1 or 2, kind 1 costs 1 or 10: while both run, kind 0 gives way.
    let values = [1.0, 2.0, 1.0, 10.0];
    let costs = NodeCosts::new(2, 2, &values).unwrap();
    let supplies = [one(0, 1, 0, 30), one(1, 1, 10, 20)];
    let problem =
        Problem { costs, kinds: &AS_THEY_ARE[..costs.rows()], capacity: &[1, 1], supplies: &supplies, outages: &[] };
    let least = least_cost(&problem).unwrap();
    assert_eq!((least.total, least.changes, least.unplaced), (10.0 + 30.0 + 10.0, 4, 0));
}

#[test]
fn nodes_out_of_service_serve_nothing() {
    let values = [1.0, 5.0];
    let costs = NodeCosts::new(1, 2, &values).unwrap();
    let outages = [NodeOutage { node: 0, amount: 1, from: 2, until: 4 }];
    let problem = Problem {
        costs,
        kinds: &AS_THEY_ARE[..costs.rows()],
        capacity: &[1, 1],
        supplies: &[one(0, 1, 0, 10)],
        outages: &outages,
    };
    assert_eq!(least_cost(&problem).unwrap().total, 8.0 + 10.0);
}

#[test]
fn what_ends_makes_room_for_what_begins_in_the_same_instant() {
    let costs = NodeCosts::new(1, 1, &[3.0]).unwrap();
    let supplies = [one(0, 1, 5, 9), one(0, 1, 0, 5), one(0, 1, 9, 9)];
    let problem =
        Problem { costs, kinds: &AS_THEY_ARE[..costs.rows()], capacity: &[1], supplies: &supplies, outages: &[] };
    let least = least_cost(&problem).unwrap();
    assert_eq!((least.total, least.unplaced), (27.0, 0));
}

#[test]
fn units_without_room_are_counted_and_left_out() {
    let costs = NodeCosts::new(2, 1, &[3.0, f64::INFINITY]).unwrap();
    let supplies = [one(0, 2, 0, 1), one(1, 1, 0, 1)];
    let problem =
        Problem { costs, kinds: &AS_THEY_ARE[..costs.rows()], capacity: &[1], supplies: &supplies, outages: &[] };
    let least = least_cost(&problem).unwrap();
    assert_eq!((least.total, least.unplaced), (3.0, 2));
}

#[test]
fn an_interruption_ends_it() {
    let costs = NodeCosts::new(1, 1, &[3.0]).unwrap();
    let problem = Problem {
        costs,
        kinds: &AS_THEY_ARE[..costs.rows()],
        capacity: &[1],
        supplies: &[one(0, 1, 0, 5)],
        outages: &[],
    };
    let ended = least_cost_unless(&problem, &mut |_| {}, &mut || true);
    assert!(matches!(ended, Err(Error::Interrupted)));
}

#[test]
fn faulty_numbers_are_named() {
    let error = NodeCosts::new(1, 2, &[1.0, f64::NAN]).unwrap_err().to_string();
    assert!(error.contains("cost[0, 1]"), "{error}");
    let costs = NodeCosts::new(1, 1, &[1.0]).unwrap();
    let faulty = Problem {
        costs,
        kinds: &AS_THEY_ARE[..costs.rows()],
        capacity: &[1],
        supplies: &[one(4, 1, 0, 5)],
        outages: &[],
    };
    let error = least_cost(&faulty).unwrap_err().to_string();
    assert!(error.contains("kind 4") && error.contains("a kind below 1"), "{error}");
    let faulty = Problem { kinds: &[Kind { row: 0, scale: 0.0 }], supplies: &[], ..faulty };
    let error = least_cost(&faulty).unwrap_err().to_string();
    assert!(error.contains("row 0 times 0") && error.contains("a factor above 0"), "{error}");
}
