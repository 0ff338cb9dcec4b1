//! Certificates of optimality: a check that the duals prove a matching to be of least cost.
//!
//! By weak duality (Kuhn 1955; equations 7 to 9 of the COA paper): if `u[i] + v[j] <= cost[i, j]` for every pair and
//! `v <= 0`, then every matching of all rows costs at least `sum u + sum v`; if the pairs of one matching and its
//! free columns hold with equality, it costs just that. Only sums and comparisons are needed, and no solver.

use super::{Assignment, Costs, TypesAssignment};

/// Tolerance of a pair, relative to the largest cost: covers the rounding error of a few thousand additions.
pub const TOLERANCE: f64 = 1e-10;

/// Checks an [`Assignment`] by its duals alone.
///
/// # Errors
/// A description of what does not hold, and where.
pub fn certify(costs: &Costs<'_>, found: &Assignment) -> Result<(), String> {
    if found.columns.len() != costs.rows() {
        return Err(format!("{} columns for {} rows", found.columns.len(), costs.rows()));
    }
    let columns = |row: usize| &found.columns[row..=row];
    check(costs, &found.row_duals, &found.column_duals, columns, found.cost)
}

/// Checks a [`TypesAssignment`] by its duals alone.
///
/// # Errors
/// A description of what does not hold, and where.
pub fn certify_types(costs: &Costs<'_>, counts: &[u32], found: &TypesAssignment) -> Result<(), String> {
    if found.columns.len() != costs.rows() || counts.len() != costs.rows() {
        return Err(format!("{} lists, {} counts for {} rows", found.columns.len(), counts.len(), costs.rows()));
    }
    for (row, (columns, &count)) in found.columns.iter().zip(counts).enumerate() {
        if columns.len() != count as usize {
            return Err(format!("row {row} has {} columns, not {count}", columns.len()));
        }
    }
    check(costs, &found.row_duals, &found.column_duals, |row| &found.columns[row], found.cost)
}

fn check<'f>(
    costs: &Costs<'_>,
    row_duals: &[f64],
    column_duals: &[f64],
    columns: impl Fn(usize) -> &'f [u32],
    cost: f64,
) -> Result<(), String> {
    if row_duals.len() != costs.rows() || column_duals.len() != costs.columns() {
        return Err(format!("{} row duals and {} column duals", row_duals.len(), column_duals.len()));
    }
    let slack = TOLERANCE * scale(costs);
    let mut used = vec![false; costs.columns()];
    let mut sum = 0.0;
    for (row, &dual) in row_duals.iter().enumerate() {
        let numbers = costs.row(row);
        for &column in columns(row) {
            let column = column as usize;
            if used.get(column).is_none_or(|&twice| twice) {
                return Err(format!("row {row} has column {column}, which is none or another's"));
            }
            used[column] = true;
            sum += numbers[column];
            let off = numbers[column] - dual - column_duals[column];
            if off.is_nan() || off.abs() > slack {
                return Err(format!("row {row}, column {column}: matched, but off by {off:e}"));
            }
        }
        let fine = |(&number, &other): (&f64, &f64)| number - dual - other >= -slack;
        if let Some(column) = numbers.iter().zip(column_duals).position(|pair| !fine(pair)) {
            let off = numbers[column] - dual - column_duals[column];
            return Err(format!("row {row}, column {column}: below its duals by {off:e}"));
        }
    }
    for (column, (&dual, used)) in column_duals.iter().zip(used).enumerate() {
        if dual.is_nan() || dual > 0.0 || (!used && dual != 0.0) {
            let state = if used { "used" } else { "free" };
            return Err(format!("column {column}, which is {state}, has the dual {dual:e}"));
        }
    }
    let rounding = slack * (1.0 + costs.columns() as f64);
    if (cost - sum).abs() <= rounding { Ok(()) } else { Err(format!("the cost is {sum}, not {cost}")) }
}

/// The largest absolute value of the finite costs.
fn scale(costs: &Costs<'_>) -> f64 {
    let rows = costs.distinct().first_rows().iter().map(|&row| costs.row(row as usize));
    rows.flatten().map(|number| number.abs()).filter(|number| number.is_finite()).fold(0.0, f64::max)
}
