//! Auction with falling steps: better initial duals where most rows want the same columns.
//!
//! Bertsekas, "The auction algorithm: a distributed relaxation method for the assignment problem", Annals of Operations
//! Research 14 (1988), pages 105-123. Each row in turn takes the column that is cheapest for it and raises its price
//! (lowers its dual) until a second one is cheaper by a step; the row that held the column bids again. From round to
//! round the steps fall and the prices stay. With more columns than rows, the ones that are left over have to be the
//! least wanted: bidders without any costs, as many as there are columns to spare, bid all at once when the rows are
//! done (Bertsekas & Castanon, "The auction algorithm for the transportation problem", Annals of Operations Research 20
//! (1989), pages 67-96, on bidders that are alike).
//!
//! The prices are optimal only up to the last step; the shortest paths that follow make them exact.

use super::matching::State;
use super::rows::Rows;
use super::search::NONE;
use super::{Interrupted, Stop};

/// The first step, as a share of the widest row.
const FIRST: f64 = 1.0 / 16.0;

/// Factor by which the step falls from round to round.
const FALL: f64 = 6.0;

const ROUNDS: usize = 7;

/// Bids per row after which the auction is given up: forbidden pairs may leave no matching at all.
const MOST_BIDS: usize = 100;

/// Number of bids between two checks for interruption.
const LOOK_EVERY: usize = 256;

/// Improves the duals. All rows lose their columns.
pub(super) fn improve(state: &mut State, rows: &mut Rows<'_>, interrupted: Interrupted<'_>) -> Result<(), Stop> {
    let mut auction = Auction { step: FIRST * widest(state, rows), bids: 0, most: MOST_BIDS * rows.len() };
    let mut goes_on = auction.step.is_finite();
    state.is_uneven = true;
    for _ in 0..ROUNDS {
        state.clear();
        goes_on = goes_on && auction.round(state, rows, interrupted)?;
        auction.step /= FALL;
    }
    state.clear();
    Ok(())
}

/// The widest range of reduced costs in a row.
fn widest(state: &State, rows: &Rows<'_>) -> f64 {
    let range = |row: usize| {
        let allowed = rows.row(row).iter().zip(&state.duals).filter(|(cost, _)| **cost < f64::INFINITY);
        let reduced = allowed.map(|(cost, dual)| cost - dual);
        let (least, most) = reduced.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), it| (a.min(it), b.max(it)));
        most - least
    };
    (0..rows.len()).map(range).fold(0.0, f64::max)
}

struct Auction {
    step: f64,
    bids: usize,
    most: usize,
}

impl Auction {
    /// Runs one round at the current step; true if every row got a column.
    fn round(&mut self, state: &mut State, rows: &mut Rows<'_>, interrupted: Interrupted<'_>) -> Result<bool, Stop> {
        // Last in, first out: a displaced row bids again at once.
        let mut queue: Vec<u32> = (0..).take(rows.len()).collect();
        loop {
            while let Some(row) = queue.pop() {
                self.bids += 1;
                if self.bids.is_multiple_of(LOOK_EVERY) && interrupted() {
                    return Err(Stop::Interrupted);
                }
                let Some(best) = rows.best(row as usize, &state.duals, |column| state.is_free(column)) else {
                    return Ok(false);
                };
                if self.bids > self.most {
                    return Ok(false);
                }
                let lead = if best.second < f64::INFINITY { best.second - best.least } else { 0.0 };
                state.duals[best.column as usize] -= lead + self.step;
                queue.extend(Some(state.give(best.column, row)).filter(|&displaced| displaced != NONE));
            }
            if rows.len() < rows.columns() {
                self.bid_without_costs(state, rows.len(), &mut queue);
            }
            if queue.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Lets the bidders without costs bid, unless the columns that are left to them are the cheapest ones.
    fn bid_without_costs(&mut self, state: &mut State, rows: usize, queue: &mut Vec<u32>) {
        let columns = state.duals.len();
        let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
        for (column, &dual) in (0..).zip(&state.duals) {
            if state.is_free(column) {
                lowest = lowest.min(dual);
            } else {
                highest = highest.max(dual);
            }
        }
        if lowest + self.step >= highest {
            return;
        }
        let spare = columns - rows;
        let mut order: Vec<u32> = (0..).take(columns).collect();
        let dual = |column: u32| state.duals[column as usize];
        let first = |a: &u32, b: &u32| dual(*b).total_cmp(&dual(*a)).then(state.is_free(*b).cmp(&state.is_free(*a)));
        order.sort_by(first);
        let price = dual(order[spare]) - self.step;
        for &column in &order[..spare] {
            state.duals[column as usize] = price;
            queue.extend(Some(state.take(column)).filter(|&displaced| displaced != NONE));
        }
        self.bids += columns / 16;
    }
}
