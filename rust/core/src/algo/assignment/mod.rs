//! Matchings of least total cost: the linear assignment problem and its transportation form.
//!
//! Rows are to be matched to columns, every row to one column, every column to at most one row, at the least total
//! cost; there may be more columns than rows. Two solvers share the types of this file:
//!
//! | module | what it solves | time |
//! |---|---|---|
//! | `dense` | any matrix, by shortest augmenting paths | O(p² q) at worst |
//! | `types` | `k` distinct rows, each to be placed several times: a transportation problem | O(p k² log q) |
//! | [`distinct`] | which rows of a matrix are equal, found while its numbers are checked | O(p q) |
//! | [`certificate`] | whether duals prove a matching optimal | O(p q) |
//!
//! [`assign`] takes the second wherever rows repeat enough. Both return the duals `u` (one per row) and `v` (one per
//! column) that prove their answer: `cost[i, j] - u[i] - v[j] >= 0` for every pair and `= 0` for the matched ones,
//! `v <= 0`, and `v = 0` for columns that stay free. No other matching can then cost less, since the sum of the duals
//! is a lower bound of all of them (Kuhn, Naval Research Logistics Quarterly 2 (1955), pages 83-97).
//!
//! All answers are deterministic, ties included; a matrix of equal costs gives the identity.

mod auction;
pub mod certificate;
mod dense;
pub mod distinct;
mod families;
mod matching;
mod rows;
mod search;
mod types;

use self::distinct::Distinct;
use self::families::Families;
use self::rows::Rows;
use crate::error::{Error, Result, config};

pub use self::certificate::{certify, certify_types};

/// Minimum of rows per type, on average, for types to be placed in place of rows.
const FEWEST_OF_A_TYPE: usize = 8;

/// Up to this many types are always placed as types, if each has enough rows.
const FEW_TYPES: usize = 96;

/// A matrix of costs, rows to columns, checked: numbers, or +inf where a pair is forbidden.
#[derive(Clone, Debug)]
pub struct Costs<'a> {
    rows: usize,
    columns: usize,
    values: &'a [f64],
    distinct: Distinct,
}

/// The cheapest matching, with its proof.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The column of each row.
    pub columns: Vec<u32>,
    /// Sum of the matched pairs' costs.
    pub cost: f64,
    /// One dual per row.
    pub row_duals: Vec<f64>,
    /// One dual per column; 0 for columns that stay free, never above 0.
    pub column_duals: Vec<f64>,
}

/// The cheapest way to place each distinct row as often as it occurs, with its proof.
#[derive(Clone, Debug, PartialEq)]
pub struct TypesAssignment {
    /// The columns of each type, ascending.
    pub columns: Vec<Vec<u32>>,
    /// Sum of the matched pairs' costs.
    pub cost: f64,
    /// One dual per type.
    pub row_duals: Vec<f64>,
    /// One dual per column; 0 for columns that stay free, never above 0.
    pub column_duals: Vec<f64>,
}

/// Callback, called now and then; true if the solver should give up.
pub type Interrupted<'a> = &'a mut dyn FnMut() -> bool;

impl<'a> Costs<'a> {
    /// Takes a matrix, row after row, and finds the equal rows.
    ///
    /// # Errors
    /// If the length is not `rows * columns`, or for the first number that is NaN or -inf.
    pub fn new(rows: usize, columns: usize, values: &'a [f64]) -> Result<Self> {
        if rows.checked_mul(columns) != Some(values.len()) {
            let expected = format!("{rows} rows of {columns} columns");
            return Err(config("cost", format!("{} numbers", values.len()), expected));
        }
        if rows.max(columns) >= u32::MAX as usize {
            return Err(config("cost", format!("{rows} rows of {columns} columns"), "less than 2^32 - 1 of either"));
        }
        let distinct = Distinct::find(rows, columns, values)?;
        Ok(Self { rows, columns, values, distinct })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The costs of a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &'a [f64] {
        &self.values[row * self.columns..][..self.columns]
    }

    /// Classes of equal rows.
    #[must_use]
    pub fn distinct(&self) -> &Distinct {
        &self.distinct
    }
}

/// Infeasible set (Hall's condition): rows that have fewer columns between them than they need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stuck {
    /// The row that found none.
    row: usize,
    /// All rows that compete for the same columns, `row` included.
    rows: Vec<usize>,
    /// All columns that any of them can use.
    columns: Vec<usize>,
}

/// Reason why a solver stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    Stuck(Stuck),
    Interrupted,
}

/// The cheapest matching of all rows; as a transportation problem where rows repeat enough.
///
/// # Errors
/// If there are more rows than columns, or if forbidden pairs leave no matching: names a row that cannot be placed and
/// those it competes with.
pub fn assign(costs: &Costs<'_>) -> Result<Assignment> {
    assign_unless(costs, &mut || false)
}

/// [`assign`], given up as soon as `interrupted` returns true.
///
/// # Errors
/// As [`assign`]; and [`Error::Interrupted`].
pub fn assign_unless(costs: &Costs<'_>, interrupted: Interrupted<'_>) -> Result<Assignment> {
    enough_columns(costs)?;
    let firsts: Vec<&[f64]> = costs.distinct.first_rows().iter().map(|&row| costs.row(row as usize)).collect();
    if pays_by_types(&firsts, firsts.len(), costs.rows as u64) {
        by_types(costs, &firsts, interrupted)
    } else {
        dense::solve(&mut Rows::all(costs), interrupted).map_err(|stop| stop.of_rows(costs))
    }
}

/// The cheapest matching of all rows, by shortest augmenting paths however many rows are equal.
///
/// # Errors
/// As [`assign`].
pub fn assign_dense(costs: &Costs<'_>) -> Result<Assignment> {
    enough_columns(costs)?;
    dense::solve(&mut Rows::all(costs), &mut || false).map_err(|stop| stop.of_rows(costs))
}

/// The cheapest way to place row `t` of the matrix `counts[t]` times.
///
/// # Errors
/// If there is not one count per row, if the counts sum to more than there are columns, or if forbidden pairs leave no
/// way: names a row that cannot be placed and those it competes with.
pub fn assign_types(costs: &Costs<'_>, counts: &[u32]) -> Result<TypesAssignment> {
    assign_types_unless(costs, counts, &mut || false)
}

/// [`assign_types`], given up as soon as `interrupted` returns true.
///
/// # Errors
/// As [`assign_types`]; and [`Error::Interrupted`].
pub fn assign_types_unless(costs: &Costs<'_>, counts: &[u32], interrupted: Interrupted<'_>) -> Result<TypesAssignment> {
    if counts.len() != costs.rows {
        let expected = format!("{}, one a row of `cost`", costs.rows);
        return Err(config("counts", format!("{} numbers", counts.len()), expected));
    }
    let wanted: u64 = counts.iter().map(|&count| u64::from(count)).sum();
    if wanted > costs.columns as u64 {
        let expected = format!("at most {}, the number of columns of `cost`", costs.columns);
        return Err(config("counts", format!("{wanted} in all"), expected));
    }
    let rows: Vec<&[f64]> = (0..costs.rows).map(|row| costs.row(row)).collect();
    let kinds = counts.iter().filter(|&&count| count > 0).count();
    let found = if pays_by_types(&rows, kinds, wanted) {
        types::solve(&rows, costs.columns, counts, interrupted)
    } else {
        one_by_one(&rows, costs.columns, counts, interrupted)
    };
    found.map_err(|stop| stop.of_types(counts))
}

/// True if it pays to place rows by type, of which there are `kinds`, and not one by one.
fn pays_by_types(types: &[&[f64]], kinds: usize, rows: u64) -> bool {
    // With few families, even many different rows are placed quickly one by one.
    (kinds <= 1 && rows > 1)
        || ((kinds * FEWEST_OF_A_TYPE) as u64 <= rows && (kinds <= FEW_TYPES || !Families::are(types)))
}

/// Places copies of rows as separate rows.
fn one_by_one(
    types: &[&[f64]],
    columns: usize,
    counts: &[u32],
    interrupted: Interrupted<'_>,
) -> Result<TypesAssignment, Stop> {
    let copies = |(kind, &count): (usize, &u32)| std::iter::repeat_n(kind, count as usize);
    let kinds: Vec<usize> = counts.iter().enumerate().flat_map(copies).collect();
    let rows = kinds.iter().map(|&kind| types[kind]).collect();
    let found = dense::solve(&mut Rows::new(rows, columns), interrupted).map_err(|stop| stop.of_copies(&kinds))?;
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); types.len()];
    let mut row_duals: Vec<f64> = types.iter().map(|row| types::highest_dual(row, &found.column_duals)).collect();
    for ((&kind, &column), &dual) in kinds.iter().zip(&found.columns).zip(&found.row_duals) {
        lists[kind].push(column);
        row_duals[kind] = dual;
    }
    for list in &mut lists {
        list.sort_unstable();
    }
    Ok(TypesAssignment { columns: lists, cost: found.cost, row_duals, column_duals: found.column_duals })
}

fn enough_columns(costs: &Costs<'_>) -> Result<()> {
    if costs.rows > costs.columns {
        let value = format!("shape ({}, {})", costs.rows, costs.columns);
        return Err(config("cost", value, "at least as many columns as rows"));
    }
    Ok(())
}

/// Solves for the distinct rows and distributes their columns: of equal rows, the first gets the first column.
fn by_types(costs: &Costs<'_>, rows: &[&[f64]], interrupted: Interrupted<'_>) -> Result<Assignment> {
    let distinct = &costs.distinct;
    let counts = distinct.counts();
    let found =
        types::solve(rows, costs.columns, &counts, interrupted).map_err(|stop| stop.of_classes(distinct, costs))?;
    let mut next = vec![0; rows.len()];
    let columns: Vec<u32> = distinct.of_rows().iter().map(|&class| deal(&found.columns, &mut next, class)).collect();
    let row_duals = distinct.of_rows().iter().map(|&class| found.row_duals[class as usize]).collect();
    let matched = columns.iter().enumerate();
    let cost = matched.fold(0.0, |sum, (row, &column)| sum + costs.row(row)[column as usize]);
    Ok(Assignment { columns, cost, row_duals, column_duals: found.column_duals })
}

fn deal(columns: &[Vec<u32>], next: &mut [usize], class: u32) -> u32 {
    let place = &mut next[class as usize];
    *place += 1;
    columns[class as usize][*place - 1]
}

impl Stop {
    /// Error for a matrix whose rows the solver saw one by one.
    fn of_rows(self, costs: &Costs<'_>) -> Error {
        match self {
            Self::Interrupted => Error::Interrupted,
            Self::Stuck(stuck) => stuck.fault(costs.rows),
        }
    }

    /// Error for a matrix of which the solver saw the distinct rows.
    fn of_classes(self, distinct: &Distinct, costs: &Costs<'_>) -> Error {
        match self {
            Self::Interrupted => Error::Interrupted,
            Self::Stuck(stuck) => {
                let classes = distinct.of_rows();
                let is_in = |row: &usize| stuck.rows.contains(&(classes[*row] as usize));
                let rows: Vec<usize> = (0..costs.rows).filter(is_in).collect();
                let row = classes.iter().rposition(|&class| class as usize == stuck.row).unwrap_or(stuck.row);
                Stuck { row, rows, columns: stuck.columns }.fault(costs.rows)
            }
        }
    }

    /// Restates the error in terms of the rows that these are copies of.
    fn of_copies(self, kinds: &[usize]) -> Self {
        match self {
            Self::Interrupted => self,
            Self::Stuck(stuck) => {
                let mut rows: Vec<usize> = stuck.rows.iter().map(|&row| kinds[row]).collect();
                rows.dedup();
                Self::Stuck(Stuck { row: kinds[stuck.row], rows, columns: stuck.columns })
            }
        }
    }

    /// Error for distinct rows with counts.
    fn of_types(self, counts: &[u32]) -> Error {
        match self {
            Self::Interrupted => Error::Interrupted,
            Self::Stuck(stuck) => {
                let wanted: u64 = stuck.rows.iter().map(|&row| u64::from(counts[row])).sum();
                let copies = format!(" ({wanted} times in all)");
                config("cost", stuck.sentence(counts.len(), &copies), EVERY_ROW)
            }
        }
    }
}

const EVERY_ROW: &str = "a column for every row";

impl Stuck {
    fn fault(self, rows: usize) -> Error {
        config("cost", self.sentence(rows, ""), EVERY_ROW)
    }

    /// Message such as "row 3 without a column: rows 1, 3 can use column 0 only".
    fn sentence(&self, all_rows: usize, copies: &str) -> String {
        let rows = match self.rows.len() {
            1 => format!("row {}", self.row),
            many if many == all_rows => "all rows together".to_owned(),
            _ => numbered("row", &self.rows),
        };
        let columns = match self.columns.len() {
            0 => "no column".to_owned(),
            _ => format!("only {}", numbered("column", &self.columns)),
        };
        format!("no column left for row {}: {rows}{copies} can use {columns}", self.row)
    }
}

/// Words such as "column 3" or "columns 3, 5", or the first few and how many there are.
fn numbered(what: &str, numbers: &[usize]) -> String {
    const SHOWN: usize = 8;
    let plural = if numbers.len() == 1 { "" } else { "s" };
    let first: Vec<String> = numbers.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if numbers.len() > SHOWN { format!(", ... ({} in all)", numbers.len()) } else { String::new() };
    format!("{what}{plural} {}{more}", first.join(", "))
}

#[cfg(test)]
mod tests;
