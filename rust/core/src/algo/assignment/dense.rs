//! The dense solver: shortest augmenting paths, rectangular without padding.
//!
//! After Jonker & Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment problems",
//! Computing 38 (1987), pages 325-340, and Crouse, "On implementing 2D rectangular assignment algorithms", IEEE
//! Transactions on Aerospace and Electronic Systems 52 (2016), pages 1679-1696: reduction of the columns (square
//! matrices only, as free columns have the dual 0), rounds of augmenting row reduction, then a shortest path for each
//! row that is still without a column.
//!
//! Such paths get long where most rows want the same columns. Then better duals are found first: from the structure, if
//! the rows are multiples of a few ([`super::families`]), or else by an auction ([`super::auction`]). Either may leave
//! columns that have lost their row with duals below the highest; paths that start at the free columns correct that.
//!
//! Ties: a row takes the first free one of its cheapest columns; of equally near columns, a path ends at the first free
//! one.

use super::families::Families;
use super::matching::State;
use super::rows::Rows;
use super::search::{Problem, Search};
use super::{Assignment, Interrupted, Stop, auction};

/// Paths may get long if more than one row in this many is still without a column after the row reduction.
const CROWD: usize = 4;

/// Budget for a crowd's paths, as a multiple of the numbers in the matrix. If fewer than half of the paths are found
/// within it, better duals are found first.
const PATIENCE: u64 = 5;

/// Matches every row.
pub(crate) fn solve(rows: &mut Rows<'_>, interrupted: Interrupted<'_>) -> Result<Assignment, Stop> {
    let families = Families::find(rows);
    let mut state = State::new(rows, families.as_ref());
    let mut search = Search::new(rows.columns());
    let mut unplaced = state.reduce_rows(rows);
    if let Some(families) = &families {
        // Rows with the most to lose first: later paths get shorter.
        let factor = |row: &u32| families.of(*row).1.factor;
        unplaced.sort_by(|a, b| factor(b).total_cmp(&factor(a)));
    } else if unplaced.len() > rows.len() / CROWD {
        let problem = &mut Problem { rows, families: None };
        let patience = PATIENCE * (problem.rows.len() * problem.rows.columns()) as u64;
        if state.place(&unplaced, problem, &mut search, patience, interrupted)? {
            unplaced.clear();
        } else {
            auction::improve(&mut state, rows, interrupted)?;
            unplaced = state.reduce_rows(rows);
        }
    }
    state.complete(&unplaced, &mut Problem { rows, families: families.as_ref() }, search, interrupted)
}
