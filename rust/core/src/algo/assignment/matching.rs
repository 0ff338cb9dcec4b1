//! A matching in the making, with its duals: row reduction, and shortest paths for the rows that it leaves over.

use super::families::Families;
use super::rows::{Rows, highest};
use super::search::{NONE, Problem, Search, Source};
use super::{Assignment, Interrupted, Stop, Stuck};

/// Rounds of augmenting row reduction.
const ROUNDS: usize = 2;

/// A partial matching with duals that prove it optimal for the rows and columns it has.
pub(super) struct State {
    row_of: Vec<u32>,
    column_of: Vec<u32>,
    pub(super) duals: Vec<f64>,
    /// True if free columns may have duals below the highest.
    pub(super) is_uneven: bool,
}

impl State {
    pub(super) fn new(rows: &Rows<'_>, families: Option<&Families>) -> Self {
        let duals = match families {
            Some(families) => families.duals(),
            None if rows.len() == rows.columns() => column_minima(rows),
            None => vec![0.0; rows.columns()],
        };
        let is_uneven = families.is_some();
        Self { row_of: vec![NONE; rows.columns()], column_of: vec![NONE; rows.len()], duals, is_uneven }
    }

    /// Takes all columns back.
    pub(super) fn clear(&mut self) {
        self.row_of.fill(NONE);
        self.column_of.fill(NONE);
    }

    pub(super) fn is_free(&self, column: u32) -> bool {
        self.row_of[column as usize] == NONE
    }

    /// Gives a column to a row; returns its previous row.
    pub(super) fn give(&mut self, column: u32, row: u32) -> u32 {
        self.column_of[row as usize] = column;
        let before = std::mem::replace(&mut self.row_of[column as usize], row);
        if before != NONE {
            self.column_of[before as usize] = NONE;
        }
        before
    }

    /// Takes a column back; returns its previous row.
    pub(super) fn take(&mut self, column: u32) -> u32 {
        let before = std::mem::replace(&mut self.row_of[column as usize], NONE);
        if before != NONE {
            self.column_of[before as usize] = NONE;
        }
        before
    }

    /// Gives each row its cheapest column; returns the rows that are still without one after a few rounds.
    pub(super) fn reduce_rows(&mut self, rows: &mut Rows<'_>) -> Vec<u32> {
        let mut queue: Vec<u32> = (0..).take(rows.len()).collect();
        for _ in 0..ROUNDS {
            let mut later = Vec::new();
            // Prices that rise by roundings only must not keep rows displacing each other.
            let mut steps = 8 * queue.len();
            for row in queue {
                let mut next = row;
                while next != NONE {
                    let (row, goes_on) = (next, steps > 0);
                    steps -= usize::from(goes_on);
                    next = if goes_on { self.bid(row, rows) } else { row };
                    if next == row {
                        later.push(row);
                        break;
                    }
                }
            }
            queue = later;
        }
        queue.sort_unstable();
        queue
    }

    /// Gives a row its cheapest column and lowers that column's dual to where the second cheapest is as good; returns
    /// the row that lost it. The row stays as it is if it would displace another from a column that is no cheaper than
    /// its second one.
    fn bid(&mut self, row: u32, rows: &mut Rows<'_>) -> u32 {
        let Some(best) = rows.best(row as usize, &self.duals, |column| self.is_free(column)) else { return row };
        let dual = &mut self.duals[best.column as usize];
        let lowered = *dual - (best.second - best.least);
        if lowered.is_finite() && lowered < *dual {
            *dual = lowered;
        } else if !self.is_free(best.column) {
            return row;
        }
        self.give(best.column, row)
    }

    /// Places rows along shortest paths; gives up and returns false if more than `patience` numbers were read for the
    /// first half of them.
    pub(super) fn place(
        &mut self,
        unplaced: &[u32],
        problem: &mut Problem<'_, '_>,
        search: &mut Search,
        patience: u64,
        interrupted: Interrupted<'_>,
    ) -> Result<bool, Stop> {
        for (done, &row) in unplaced.iter().enumerate() {
            if interrupted() {
                return Err(Stop::Interrupted);
            }
            if search.effort() > patience && 2 * done < unplaced.len() {
                return Ok(false);
            }
            let Some(path) = search.run(&Source::Row(row), problem, &mut self.duals, &self.row_of) else {
                return Err(Stop::Stuck(self.stuck(row as usize, search)));
            };
            search.finish(path.length, &mut self.duals);
            self.flip(path.end, search);
        }
        Ok(true)
    }

    /// Places the remaining rows and brings the duals to their level.
    pub(super) fn complete(
        mut self,
        unplaced: &[u32],
        problem: &mut Problem<'_, '_>,
        mut search: Search,
        interrupted: Interrupted<'_>,
    ) -> Result<Assignment, Stop> {
        self.place(unplaced, problem, &mut search, u64::MAX, interrupted)?;
        let is_uneven = self.is_uneven && problem.rows.len() < problem.rows.columns();
        while is_uneven && self.raise_free(problem, &mut search) {
            if interrupted() {
                return Err(Stop::Interrupted);
            }
        }
        Ok(self.finish(problem.rows))
    }

    /// Moves columns along a path, from its end; returns the column that is left over if none was free at its start.
    fn flip(&mut self, end: u32, search: &Search) -> u32 {
        let mut column = end;
        while column != NONE {
            let row = search.from(column);
            self.row_of[column as usize] = row;
            if row == NONE {
                break;
            }
            column = std::mem::replace(&mut self.column_of[row as usize], column);
        }
        column
    }

    /// Brings one free column whose dual is below the highest to the level that all free columns must have; returns
    /// whether there was one.
    ///
    /// The free columns count as those of one further row, without costs, to be placed as often as there are columns to
    /// spare: it has the free columns with the highest dual and still looks for the others.
    fn raise_free(&mut self, problem: &mut Problem<'_, '_>, search: &mut Search) -> bool {
        let level = highest(&self.duals);
        let had: Vec<u32> = (0..)
            .zip(self.row_of.iter().zip(&self.duals))
            .filter(|&(_, (&row, &dual))| row == NONE && dual == level)
            .map(|(column, _)| column)
            .collect();
        if had.len() == problem.rows.columns() - problem.rows.len() {
            return false;
        }
        let distances: Vec<f64> = self.duals.iter().map(|dual| level - dual).collect();
        // No path ends at a column that this row has already.
        for &column in &had {
            self.duals[column as usize] = f64::NEG_INFINITY;
        }
        let Some(path) = search.run(&Source::Distances(&distances), problem, &mut self.duals, &self.row_of) else {
            return false;
        };
        search.finish(path.length, &mut self.duals);
        let freed = self.flip(path.end, search);
        for &column in had.iter().chain([&freed]) {
            self.duals[column as usize] = level - path.length;
        }
        true
    }

    fn stuck(&self, row: usize, search: &Search) -> Stuck {
        let mut columns: Vec<usize> = search.settled().map(|column| column as usize).collect();
        let mut rows: Vec<usize> = columns.iter().map(|&column| self.row_of[column] as usize).collect();
        rows.push(row);
        rows.sort_unstable();
        columns.sort_unstable();
        Stuck { row, rows, columns }
    }

    fn finish(mut self, rows: &Rows<'_>) -> Assignment {
        // If no column is free all duals may be shifted together.
        let level = highest(&self.duals);
        for (dual, &row) in self.duals.iter_mut().zip(&self.row_of) {
            *dual = if row == NONE { 0.0 } else { *dual - level };
        }
        let matched = self.column_of.iter().enumerate();
        let costs: Vec<f64> = matched.map(|(row, &column)| rows.row(row)[column as usize]).collect();
        let dual_of = |(cost, &column): (&f64, &u32)| cost - self.duals[column as usize];
        let row_duals = costs.iter().zip(&self.column_of).map(dual_of).collect();
        Assignment {
            columns: self.column_of,
            cost: costs.iter().fold(0.0, |sum, cost| sum + cost),
            row_duals,
            column_duals: self.duals,
        }
    }
}

/// The least cost of each column; 0 for one that no row can use.
fn column_minima(rows: &Rows<'_>) -> Vec<f64> {
    let mut minima = vec![f64::INFINITY; rows.columns()];
    for row in 0..rows.len() {
        for (minimum, &number) in minima.iter_mut().zip(rows.row(row)) {
            *minimum = if number < *minimum { number } else { *minimum };
        }
    }
    minima.into_iter().map(|minimum| if minimum < f64::INFINITY { minimum } else { 0.0 }).collect()
}
