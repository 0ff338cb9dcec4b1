//! The solvers against brute force, against each other and against their own certificates.

use proptest::prelude::*;

use super::families::Families;
use super::matching::State;
use super::rows::Rows;
use super::search::{Problem, Search};
use super::*;
use crate::random::Stream;

/// The least cost of matching rows `row..` with the columns not yet used, by trying everything.
fn brute(costs: &Costs<'_>, row: usize, used: &mut Vec<bool>) -> f64 {
    if row == costs.rows() {
        return 0.0;
    }
    let mut best = f64::INFINITY;
    for column in 0..costs.columns() {
        if !used[column] {
            used[column] = true;
            best = best.min(costs.row(row)[column] + brute(costs, row + 1, used));
            used[column] = false;
        }
    }
    best
}

fn least(costs: &Costs<'_>) -> f64 {
    brute(costs, 0, &mut vec![false; costs.columns()])
}

fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-9 * scale.max(f64::MIN_POSITIVE)
}

/// Numbers of one of several kinds: whole and tied, spread out, forbidden now and then, tiny, huge.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (0..4_i32).prop_map(f64::from),
        4 => -10.0..10.0_f64,
        2 => Just(f64::INFINITY),
    ]
}

fn matrix(most: usize) -> impl Strategy<Value = (usize, usize, Vec<f64>)> {
    (0..=most, 0..=most, prop_oneof![Just(1.0), Just(1e-9), Just(1e12)]).prop_flat_map(|(a, b, scale)| {
        let (p, q) = (a.min(b), a.max(b));
        let values = prop::collection::vec(number().prop_map(move |number| number * scale), p * q);
        (Just(p), Just(q), values)
    })
}

/// Runs `unasked` cases, or as many as `PROPTEST_CASES` asks for.
fn cases(unasked: u32) -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        None => ProptestConfig::with_cases(unasked),
        Some(_) => ProptestConfig::default(),
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn costs_what_the_best_of_all_permutations_costs((p, q, values) in matrix(6)) {
        let costs = Costs::new(p, q, &values).unwrap();
        let scale = values.iter().filter(|value| value.is_finite()).fold(0.0_f64, |most, value| most.max(value.abs()));
        let expected = least(&costs);
        for found in [assign(&costs), assign_dense(&costs)] {
            match found {
                Ok(found) => {
                    prop_assert!(close(found.cost, expected, scale), "{} but {expected}", found.cost);
                    prop_assert_eq!(certify(&costs, &found), Ok(()));
                }
                Err(error) => {
                    prop_assert!(expected.is_infinite(), "{error}, but {expected}");
                }
            }
        }
    }

    #[test]
    fn both_solvers_agree_where_rows_repeat(
        (k, q, values) in matrix(7),
        counts in prop::collection::vec(0..9_u32, 7),
        more in 0..40_usize,
    ) {
        // Columns beyond the types' own, by repeating them: enough for every count.
        let width = q * (1 + more / q.max(1));
        let row = |t: usize| (0..width).map(move |j| (t, j));
        let wide: Vec<f64> = (0..k).flat_map(row).map(|(t, j)| values[t * q + j % q] + (j / q) as f64).collect();
        let costs = Costs::new(k, width, &wide).unwrap();
        let counts = &counts[..k];
        let total = counts.iter().sum::<u32>() as usize;
        if total > width {
            prop_assert!(assign_types(&costs, counts).is_err());
            return Ok(());
        }
        let rows: Vec<&[f64]> = (0..k).map(|t| costs.row(t)).collect();
        let by_types = types::solve(&rows, width, counts, &mut || false);
        let each_for_itself = one_by_one(&rows, width, counts, &mut || false);
        prop_assert_eq!(by_types.is_ok(), each_for_itself.is_ok());
        for found in [by_types, each_for_itself].into_iter().flatten() {
            prop_assert_eq!(certify_types(&costs, counts, &found), Ok(()));
            prop_assert!(found.columns.iter().all(|list| list.is_sorted()));
        }
        let found = assign_types(&costs, counts);
        let each = counts.iter().enumerate().flat_map(|(t, &count)| vec![t; count as usize]);
        let expanded: Vec<f64> = each.flat_map(|t| wide[t * width..][..width].to_vec()).collect();
        let full = Costs::new(total, width, &expanded).unwrap();
        match (found, assign_dense(&full)) {
            (Ok(found), Ok(dense)) => {
                let scale = wide.iter().filter(|x| x.is_finite()).fold(0.0_f64, |most, x| most.max(x.abs()));
                prop_assert!(close(found.cost, dense.cost, scale * 10.0), "{} but {}", found.cost, dense.cost);
                prop_assert_eq!(certify_types(&costs, counts, &found), Ok(()));
                prop_assert_eq!(certify(&full, &dense), Ok(()));
                prop_assert_eq!(certify(&full, &assign(&full).unwrap()), Ok(()));
                prop_assert!(found.columns.iter().all(|list| list.is_sorted()));
            }
            (Err(_), Err(_)) => {}
            (types, dense) => prop_assert!(false, "{types:?} but {dense:?}"),
        }
    }

    #[test]
    fn equal_costs_give_the_identity(p in 0..60_usize, more in 0..60_usize, cost in -5.0..5.0_f64) {
        let values = vec![cost; p * (p + more)];
        let costs = Costs::new(p, p + more, &values).unwrap();
        let identity: Vec<u32> = (0..).take(p).collect();
        prop_assert_eq!(&assign(&costs).unwrap().columns, &identity);
        prop_assert_eq!(&assign_dense(&costs).unwrap().columns, &identity);
    }

    #[test]
    fn a_damaged_certificate_is_refused((p, q, values) in matrix(6), place in 0..1000_usize, off in 0.01..10.0_f64) {
        let costs = Costs::new(p, q, &values).unwrap();
        // Without rows there is nothing to damage.
        let Some(found) = assign(&costs).ok().filter(|_| p > 0) else { return Ok(()) };
        let scale = values.iter().filter(|value| value.is_finite()).fold(0.0_f64, |most, value| most.max(value.abs()));
        let off = off * scale.max(1e-3);
        for sign in [-1.0, 1.0] {
            let mut damaged = found.clone();
            damaged.row_duals[place % p] += sign * off;
            prop_assert!(certify(&costs, &damaged).is_err());
            let mut damaged = found.clone();
            damaged.column_duals[found.columns[place % p] as usize] += sign * off;
            prop_assert!(certify(&costs, &damaged).is_err());
        }
        let mut damaged = found.clone();
        damaged.cost += off * 10.0;
        prop_assert!(certify(&costs, &damaged).is_err());
        if p > 1 {
            let mut damaged = found.clone();
            damaged.columns[place % p] = found.columns[(place + 1) % p];
            prop_assert!(certify(&costs, &damaged).is_err());
        }
    }
}

/// Solves by way of the auction, however few rows want the same columns.
fn by_auction(costs: &Costs<'_>) -> Result<Assignment, Stop> {
    let mut rows = Rows::all(costs);
    let mut state = State::new(&rows, None);
    auction::improve(&mut state, &mut rows, &mut || false)?;
    let unplaced = state.reduce_rows(&mut rows);
    let search = Search::new(costs.columns());
    state.complete(&unplaced, &mut Problem { rows: &mut rows, families: None }, search, &mut || false)
}

/// Rows and columns, factors with their family, and the families' bases: factors and bases are often tied.
fn scaled() -> impl Strategy<Value = (usize, Vec<(f64, usize)>, Vec<f64>)> {
    let of_rows =
        prop::collection::vec((prop_oneof![(1..5_i32).prop_map(f64::from), 0.01..100.0_f64], 0..3_usize), 40..70);
    let base = prop_oneof![(1..6_i32).prop_map(f64::from), 0.5..2.0_f64];
    (of_rows, 0..40_usize).prop_flat_map(move |(rows, more)| {
        let columns = rows.len() + more;
        (Just(columns), Just(rows), prop::collection::vec(base.clone(), 3 * columns))
    })
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn after_an_auction_the_answer_is_the_same((p, q, values) in matrix(24)) {
        let costs = Costs::new(p, q, &values).unwrap();
        match (assign_dense(&costs), by_auction(&costs)) {
            (Ok(dense), Ok(found)) => {
                let scale = values.iter().filter(|x| x.is_finite()).fold(0.0_f64, |most, x| most.max(x.abs()));
                prop_assert!(close(found.cost, dense.cost, scale), "{} but {}", found.cost, dense.cost);
                prop_assert_eq!(certify(&costs, &found), Ok(()));
                prop_assert_eq!(certify(&costs, &dense), Ok(()));
            }
            (Err(_), Err(_)) => {}
            (dense, found) => prop_assert!(false, "{dense:?} but {found:?}"),
        }
    }

    #[test]
    fn multiples_of_a_few_rows_are_placed_as_well_as_any((columns, of_rows, bases) in scaled()) {
        let row = |&(factor, family): &(f64, usize)| bases[family * columns..][..columns].iter().map(move |b| factor * b);
        let values: Vec<f64> = of_rows.iter().flat_map(row).collect();
        let costs = Costs::new(of_rows.len(), columns, &values).unwrap();
        prop_assert!(Families::find(&Rows::all(&costs)).is_some());
        let (found, plain) = (assign_dense(&costs).unwrap(), by_auction(&costs).unwrap());
        prop_assert_eq!(certify(&costs, &found), Ok(()));
        prop_assert_eq!(certify(&costs, &plain), Ok(()));
        prop_assert!(close(found.cost, plain.cost, plain.cost), "{} but {}", found.cost, plain.cost);
    }
}

#[test]
fn one_family_is_sorted_longest_job_to_cheapest_node() {
    let (lengths, watts) = ([3.0, 9.0, 1.0, 4.0], [250.0, 210.0, 290.0, 230.0, 270.0]);
    let lengths: Vec<f64> = lengths.iter().cycle().take(32).enumerate().map(|(i, x)| x + i as f64 / 64.0).collect();
    let watts: Vec<f64> = watts.iter().cycle().take(40).enumerate().map(|(i, x)| x + i as f64 / 8.0).collect();
    let values: Vec<f64> = lengths.iter().flat_map(|length| watts.iter().map(move |watt| length * watt)).collect();
    let found = assign_dense(&Costs::new(32, 40, &values).unwrap()).unwrap();
    let mut by_length: Vec<usize> = (0..32).collect();
    by_length.sort_by(|&a, &b| lengths[b].total_cmp(&lengths[a]));
    let mut by_watts: Vec<u32> = (0..40).collect();
    by_watts.sort_by(|&a, &b| watts[a as usize].total_cmp(&watts[b as usize]));
    assert!(by_length.iter().zip(&by_watts).all(|(&job, &node)| found.columns[job] == node));
}

#[test]
fn larger_matrices_of_every_kind_are_certified_and_solved_alike_twice() {
    let mut chance = Stream::new(7, "costs");
    for (p, q) in [(150, 150), (90, 300), (60, 900)] {
        for kind in 0..5 {
            let of_column: Vec<f64> = (0..q).map(|_| f64::from(chance.below(1000))).collect();
            let mut number = |j: usize| match kind {
                0 => f64::from(chance.below(1 << 30)),
                1 => f64::from(chance.below(6)),
                2 => f64::from(chance.below(100)) + of_column[j],
                3 => [f64::from(chance.below(1000)), f64::INFINITY][usize::from(chance.below(3) == 0)],
                _ => f64::from(chance.below(1000)) * 1e-9 + of_column[j] * 1e6,
            };
            let values: Vec<f64> = (0..p * q).map(|i| number(i % q)).collect();
            let costs = Costs::new(p, q, &values).unwrap();
            let found = assign(&costs).unwrap();
            assert_eq!(certify(&costs, &found), Ok(()), "kind {kind}, {p} x {q}");
            assert_eq!(found, assign(&costs).unwrap());
        }
    }
}

fn fault(p: usize, q: usize, values: &[f64]) -> [String; 2] {
    let costs = Costs::new(p, q, values).unwrap();
    [assign(&costs), assign_dense(&costs)].map(|found| found.unwrap_err().to_string())
}

#[test]
fn a_row_that_cannot_be_placed_is_named_with_those_it_competes_with() {
    const X: f64 = f64::INFINITY;
    let values = [1.0, 2.0, 3.0, 4.0, 1.0, X, X, X, 5.0, 1.0, 1.0, 1.0, 2.0, X, X, X];
    let expected =
        "cost: found no column left for row 3: rows 1, 3 can use only column 0, expected a column for every row";
    assert_eq!(fault(4, 4, &values), [expected; 2]);
    let [alone, _] = fault(1, 2, &[X, X]);
    assert_eq!(alone, "cost: found no column left for row 0: row 0 can use no column, expected a column for every row");
}

#[test]
fn more_rows_than_columns_and_wrong_lengths_are_refused() {
    let [error, _] = fault(2, 1, &[1.0, 1.0]);
    assert_eq!(error, "cost: found shape (2, 1), expected at least as many columns as rows");
    assert!(Costs::new(2, 2, &[1.0]).unwrap_err().to_string().contains("found 1 numbers, expected 2 rows of 2"));
    let costs = Costs::new(1, 2, &[1.0, 1.0]).unwrap();
    assert!(assign_types(&costs, &[1, 1]).unwrap_err().to_string().contains("counts: found 2 numbers, expected 1"));
    assert!(assign_types(&costs, &[3]).unwrap_err().to_string().contains("counts: found 3 in all, expected at most 2"));
}

#[test]
fn whoever_asks_is_heard() {
    let values: Vec<f64> = (0..300 * 300).map(|i| f64::from(i * 7919 % 1009)).collect();
    let costs = Costs::new(300, 300, &values).unwrap();
    assert!(matches!(assign_unless(&costs, &mut || true), Err(Error::Interrupted)));
    let costs = Costs::new(1, 300, &values[..300]).unwrap();
    assert!(matches!(assign_types_unless(&costs, &[300], &mut || true), Err(Error::Interrupted)));
}
