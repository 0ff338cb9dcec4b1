//! Rows with short lists of their cheapest columns.
//!
//! Few columns of a row ever matter. Column duals only fall while a problem is being solved, so that reduced costs
//! `cost - dual` only rise: what was above a bound when a row was read is above it for good, and a list of the columns
//! below the bound answers for the whole row until its answers reach the bound. Only then is the row read again.

use super::Costs;

/// Rows shorter than this are listed whole.
const SHORT: usize = 48;

/// A list that is longer than this is cut down to this length.
const LONGEST: usize = 160;

/// The rows to be matched, in order.
pub(crate) struct Rows<'c> {
    costs: Vec<&'c [f64]>,
    columns: usize,
    lists: Vec<List>,
    minima: Vec<f64>,
}

/// A row's cheapest columns, in their order.
#[derive(Default)]
struct List {
    entries: Vec<Entry>,
    /// Lower bound of the reduced costs of all columns outside the list.
    beyond: f64,
    /// Answers since the list was made.
    served: u32,
}

/// A column with its cost.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) cost: f64,
    pub(super) column: u32,
}

/// A row's two cheapest columns at the current duals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Best {
    pub(super) column: u32,
    pub(super) least: f64,
    /// Least reduced cost of the other columns; +inf if there is none.
    pub(super) second: f64,
}

impl<'c> Rows<'c> {
    pub(crate) fn all(costs: &Costs<'c>) -> Self {
        Self::new((0..costs.rows()).map(|row| costs.row(row)).collect(), costs.columns())
    }

    pub(crate) fn new(costs: Vec<&'c [f64]>, columns: usize) -> Self {
        let lists = costs.iter().map(|_| List { beyond: f64::NEG_INFINITY, ..List::default() }).collect();
        Self { costs, columns, lists, minima: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.costs.len()
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn row(&self, row: usize) -> &'c [f64] {
        self.costs[row]
    }

    pub(super) fn all_costs(&self) -> &[&'c [f64]] {
        &self.costs
    }

    /// The listed columns, and the bound of the others.
    pub(super) fn list(&self, row: usize) -> (&[Entry], f64) {
        (&self.lists[row].entries, self.lists[row].beyond)
    }

    /// The two cheapest columns; of equal ones the first that `is_free`, or else the first. None if all are forbidden.
    pub(super) fn best(&mut self, row: usize, duals: &[f64], is_free: impl Fn(u32) -> bool) -> Option<Best> {
        let list = &mut self.lists[row];
        let (found, certain) = list.best(duals, &is_free);
        if certain {
            list.served += 1;
            return found;
        }
        if list.served >= 2 || list.beyond == f64::NEG_INFINITY {
            self.relist(row, duals);
            let (found, certain) = self.lists[row].best(duals, &is_free);
            if certain {
                return found;
            }
        }
        best_of_all(self.costs[row], duals, is_free)
    }

    /// Reads a row and lists its cheapest columns: the bound is such that more than every third of some 64 stretches
    /// has a column in the list.
    pub(super) fn relist(&mut self, row: usize, duals: &[f64]) {
        let (numbers, list) = (self.costs[row], &mut self.lists[row]);
        list.entries.clear();
        list.served = 0;
        let stretch = if numbers.len() < SHORT { numbers.len().max(1) } else { (numbers.len() / 512).max(1) * 8 };
        self.minima.clear();
        self.minima.extend(numbers.chunks(stretch).zip(duals.chunks(stretch)).map(|(n, d)| least(n, d)));
        let bound = if numbers.len() < SHORT {
            f64::INFINITY
        } else {
            let mut sorted = self.minima.clone();
            let place = sorted.len() * 3 / 8;
            *sorted.select_nth_unstable_by(place, f64::total_cmp).1
        };
        for (index, &minimum) in self.minima.iter().enumerate() {
            if minimum <= bound {
                list.take(numbers, duals, index * stretch..numbers.len().min((index + 1) * stretch), bound);
            }
        }
        list.beyond = bound;
        list.cut(duals);
    }
}

impl List {
    /// The best of the listed columns, and whether no other can be better, or free at the same cost.
    fn best(&self, duals: &[f64], is_free: impl Fn(u32) -> bool) -> (Option<Best>, bool) {
        let mut best = Best { column: u32::MAX, least: f64::INFINITY, second: f64::INFINITY };
        for entry in &self.entries {
            let reduced = entry.cost - duals[entry.column as usize];
            if reduced < best.least {
                best.second = best.least;
                (best.least, best.column) = (reduced, entry.column);
            } else if reduced < best.second {
                best.second = reduced;
            }
        }
        if best.column == u32::MAX {
            return (None, self.beyond == f64::INFINITY);
        }
        if best.least == best.second && !is_free(best.column) {
            let tied = |entry: &&Entry| entry.cost - duals[entry.column as usize] == best.least;
            match self.entries.iter().filter(tied).find(|entry| is_free(entry.column)) {
                Some(entry) => best.column = entry.column,
                None if best.least >= self.beyond => return (None, false),
                None => {}
            }
        }
        let certain = best.second <= self.beyond && (best.least < self.beyond || is_free(best.column));
        (Some(best), certain)
    }

    fn take(&mut self, numbers: &[f64], duals: &[f64], range: std::ops::Range<usize>, bound: f64) {
        let start = u32::try_from(range.start).unwrap_or(u32::MAX);
        for (column, (&cost, dual)) in (start..).zip(numbers[range.clone()].iter().zip(&duals[range])) {
            if cost - dual <= bound && cost < f64::INFINITY {
                self.entries.push(Entry { cost, column });
            }
        }
    }

    /// Shortens a list that equal costs have made long.
    fn cut(&mut self, duals: &[f64]) {
        if self.entries.len() > LONGEST {
            let reduced = |entry: &Entry| entry.cost - duals[entry.column as usize];
            let by = |a: &Entry, b: &Entry| reduced(a).total_cmp(&reduced(b)).then(a.column.cmp(&b.column));
            let (_, first_left_out, _) = self.entries.select_nth_unstable_by(LONGEST, by);
            self.beyond = reduced(first_left_out);
            self.entries.truncate(LONGEST);
            self.entries.sort_unstable_by_key(|entry| entry.column);
        }
    }
}

fn least(numbers: &[f64], duals: &[f64]) -> f64 {
    let (blocks, rest) = numbers.as_chunks::<8>();
    let (duals_of_blocks, duals_of_rest) = duals.as_chunks::<8>();
    let mut least = [f64::INFINITY; 8];
    for (block, duals) in blocks.iter().zip(duals_of_blocks) {
        for lane in 0..8 {
            least[lane] = lower(block[lane] - duals[lane], least[lane]);
        }
    }
    let rest = rest.iter().zip(duals_of_rest).map(|(number, dual)| number - dual);
    rest.chain(least).fold(f64::INFINITY, lower)
}

/// The largest of some numbers.
pub(super) fn highest(numbers: &[f64]) -> f64 {
    let (blocks, rest) = numbers.as_chunks::<8>();
    let mut highest = [f64::NEG_INFINITY; 8];
    for block in blocks {
        for lane in 0..8 {
            highest[lane] = if block[lane] > highest[lane] { block[lane] } else { highest[lane] };
        }
    }
    rest.iter().copied().chain(highest).fold(f64::NEG_INFINITY, f64::max)
}

/// The lower of two numbers in one instruction, where `f64::min` has to handle NaN.
pub(super) fn lower(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// [`Rows::best`] without a list.
fn best_of_all(numbers: &[f64], duals: &[f64], is_free: impl Fn(u32) -> bool) -> Option<Best> {
    let (least, second) = two_least(numbers, duals);
    if least == f64::INFINITY {
        return None;
    }
    let reduced = numbers.iter().zip(duals).map(|(number, dual)| number - dual);
    let mut tied = (0_u32..).zip(reduced).filter(|&(_, reduced)| reduced == least).map(|(column, _)| column);
    let first = tied.next()?;
    let column = if least == second && !is_free(first) { tied.find(|&column| is_free(column)) } else { None };
    Some(Best { column: column.unwrap_or(first), least, second })
}

/// The least and the second least reduced cost.
fn two_least(numbers: &[f64], duals: &[f64]) -> (f64, f64) {
    let (blocks, rest) = numbers.as_chunks::<8>();
    let (duals_of_blocks, duals_of_rest) = duals.as_chunks::<8>();
    let (mut first, mut second) = ([f64::INFINITY; 8], [f64::INFINITY; 8]);
    for (block, duals) in blocks.iter().zip(duals_of_blocks) {
        for lane in 0..8 {
            let reduced = block[lane] - duals[lane];
            let higher = if reduced < first[lane] { first[lane] } else { reduced };
            second[lane] = lower(higher, second[lane]);
            first[lane] = lower(reduced, first[lane]);
        }
    }
    let rest = rest.iter().zip(duals_of_rest).map(|(number, dual)| number - dual);
    let all = rest.chain(first).chain(second);
    all.fold((f64::INFINITY, f64::INFINITY), |(first, second), reduced| {
        let higher = if reduced < first { first } else { reduced };
        (lower(reduced, first), lower(higher, second))
    })
}
