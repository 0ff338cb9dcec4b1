//! The solvers against brute force, against each other and against their own certificates.

use proptest::prelude::*;

use super::*;

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

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
        let found = assign_types(&costs, counts);
        if total > width {
            prop_assert!(found.is_err());
            return Ok(());
        }
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
        let Ok(found) = assign(&costs) else { return Ok(()) };
        prop_assume!(p > 0);
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
    assert_eq!(error, "cost: found 2 rows and 1 columns, expected at least as many columns as rows");
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
