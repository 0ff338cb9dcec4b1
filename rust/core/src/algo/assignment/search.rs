//! Shortest alternating paths: Dijkstra's algorithm over columns, with rows read no further than needed.
//!
//! A column's distance is the least sum of reduced costs on a path that gets there by rows taking each other's columns.
//! Distances are kept in stretches, each with its minimum, so that the nearest column is found without a look at most
//! of them. A row that is reached first relaxes only the columns of its list, and a lower bound is kept for its other
//! columns; the whole row is read when the search gets as far as that bound.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::families::Families;
use super::rows::{Rows, lower};
use super::types::ordered;

const STRETCH: usize = 64;

/// No row, no column.
pub(super) const NONE: u32 = u32::MAX;

/// The labels of a search; all of them are back at their initial values between two searches.
pub(super) struct Search {
    distance: Vec<f64>,
    from: Vec<u32>,
    minima: Vec<f64>,
    /// Stretches whose labels were written.
    touched: Vec<usize>,
    /// Settled columns with their distance and dual.
    settled: Vec<(u32, f64, f64)>,
    /// Rows of which only the list was relaxed: the bound of their other columns, the row, and the amount to be added
    /// to reduced costs to make them distances.
    partly: BinaryHeap<Reverse<(u64, u32, u64)>>,
    nearest: Vec<usize>,
    effort: u64,
}

/// The rows of a problem and their families, if it has any.
pub(super) struct Problem<'p, 'c> {
    pub(super) rows: &'p mut Rows<'c>,
    pub(super) families: Option<&'p Families>,
}

/// Start of a search.
pub(super) enum Source<'s> {
    /// A row that has no column.
    Row(u32),
    /// Given distances of all columns.
    Distances(&'s [f64]),
}

/// Shortest path that a search found.
pub(super) struct Path {
    /// The column without a row where it ends.
    pub(super) end: u32,
    pub(super) length: f64,
}

impl Search {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            distance: vec![f64::INFINITY; columns],
            from: vec![NONE; columns],
            minima: vec![f64::INFINITY; columns.div_ceil(STRETCH)],
            touched: Vec::new(),
            settled: Vec::new(),
            partly: BinaryHeap::new(),
            nearest: Vec::new(),
            effort: 0,
        }
    }

    /// The shortest path to a column without a row. Duals of settled columns are -inf until [`Search::finish`].
    pub(super) fn run(
        &mut self,
        source: &Source<'_>,
        problem: &mut Problem<'_, '_>,
        duals: &mut [f64],
        row_of: &[u32],
    ) -> Option<Path> {
        match source {
            Source::Row(row) => self.reach(*row as usize, 0.0, problem, duals),
            Source::Distances(distances) => self.relax(NONE, distances, 0.0, duals, 0.0),
        }
        loop {
            let length = least(&self.minima);
            if let Some(&Reverse((bound, row, shift))) = self.partly.peek()
                && bound <= ordered(length)
            {
                // Some column of this row that is not in its list may be as near.
                self.partly.pop();
                self.relax(row, problem.rows.row(row as usize), f64::from_bits(shift), duals, 1.0);
                continue;
            }
            if length == f64::INFINITY {
                return None;
            }
            let first = self.settled.len();
            if let Some(end) = self.settle_nearest(length, duals, row_of) {
                return Some(Path { end, length });
            }
            for index in first..self.settled.len() {
                let (column, _, dual) = self.settled[index];
                let row = row_of[column as usize];
                if let Some(families) = problem.families {
                    self.reach_by_family(row, column, length + dual, families, row_of, duals);
                } else {
                    let shift = length + dual - problem.rows.row(row as usize)[column as usize];
                    self.reach(row as usize, shift, problem, duals);
                }
            }
        }
    }

    /// Settles all columns at this distance, or finds the first of them that has no row.
    fn settle_nearest(&mut self, length: f64, duals: &mut [f64], row_of: &[u32]) -> Option<u32> {
        self.nearest.clear();
        for (index, _) in self.minima.iter().enumerate().filter(|(_, minimum)| **minimum == length) {
            let labels = self.distance.iter().enumerate().skip(index * STRETCH).take(STRETCH);
            for (column, _) in labels.filter(|(_, distance)| **distance == length) {
                if row_of[column] == NONE {
                    return u32::try_from(column).ok();
                }
                self.nearest.push(column);
            }
        }
        for &column in &self.nearest {
            self.settled.push((u32::try_from(column).unwrap_or(NONE), length, duals[column]));
            duals[column] = f64::NEG_INFINITY;
            self.distance[column] = f64::INFINITY;
        }
        let mut last = usize::MAX;
        for stretch in self.nearest.iter().map(|column| column / STRETCH) {
            if stretch != last {
                let end = self.distance.len().min((stretch + 1) * STRETCH);
                self.minima[stretch] = least(&self.distance[stretch * STRETCH..end]);
                last = stretch;
            }
        }
        None
    }

    /// Relaxes a row, by its list if it has one.
    fn reach(&mut self, row: usize, shift: f64, problem: &mut Problem<'_, '_>, duals: &[f64]) {
        let (number, rows) = (u32::try_from(row).unwrap_or(NONE), &mut *problem.rows);
        let (list, beyond) = rows.list(row);
        self.effort += list.len() as u64;
        if beyond == f64::NEG_INFINITY {
            return self.relax(number, rows.row(row), shift, duals, 1.0);
        }
        for entry in list {
            let column = entry.column as usize;
            self.label(column, entry.cost - duals[column] + shift, number);
        }
        if beyond < f64::INFINITY {
            self.partly.push(Reverse((ordered(beyond + shift), number, shift.to_bits())));
        }
    }

    fn label(&mut self, column: usize, distance: f64, row: u32) {
        if distance < self.distance[column] {
            self.distance[column] = distance;
            self.from[column] = row;
            let minimum = &mut self.minima[column / STRETCH];
            if *minimum == f64::INFINITY {
                self.touched.push(column / STRETCH);
            }
            *minimum = lower(distance, *minimum);
        }
    }

    /// Relaxes the columns around a row's own up to the next ones of its family, see [`super::families`].
    fn reach_by_family(
        &mut self,
        row: u32,
        column: u32,
        offer: f64,
        families: &Families,
        row_of: &[u32],
        duals: &[f64],
    ) {
        let (family, own) = families.of(row);
        let start = family.places[column as usize] as usize;
        let shift = offer - own.factor * family.base[start];
        let mut relax = |(&column, base): (&u32, &f64)| {
            let place = column as usize;
            self.label(place, own.factor * base - duals[place] + shift, row);
            let owner = row_of[place];
            if owner == NONE {
                None
            } else {
                Some(families.members[owner as usize]).filter(|it| it.family == own.family)
            }
        };
        for pair in family.order[start + 1..].iter().zip(&family.base[start + 1..]) {
            if relax(pair).is_some_and(|next| next.factor <= own.factor) {
                break;
            }
        }
        for pair in family.order[..start].iter().zip(&family.base[..start]).rev() {
            if relax(pair).is_some_and(|next| next.factor >= own.factor) {
                break;
            }
        }
    }

    /// Relaxes all columns of a row: stretches where nothing gets nearer are only read.
    fn relax(&mut self, row: u32, numbers: &[f64], shift: f64, duals: &[f64], weight: f64) {
        self.effort += numbers.len() as u64;
        let labels = self.distance.chunks_mut(STRETCH).zip(self.from.chunks_mut(STRETCH)).zip(&mut self.minima);
        let stretches = numbers.chunks(STRETCH).zip(duals.chunks(STRETCH));
        for (index, (((distance, from), minimum), (numbers, duals))) in labels.zip(stretches).enumerate() {
            let reduced = |number: f64, dual: f64| number - weight * dual + shift;
            let nearer: u64 = distance
                .iter()
                .zip(numbers.iter().zip(duals))
                .map(|(distance, (&number, &dual))| u64::from(reduced(number, dual) < *distance))
                .sum();
            if nearer == 0 {
                continue;
            }
            if *minimum == f64::INFINITY {
                self.touched.push(index);
            }
            for (place, (&number, &dual)) in numbers.iter().zip(duals).enumerate() {
                let found = reduced(number, dual);
                if found < distance[place] {
                    distance[place] = found;
                    from[place] = row;
                    *minimum = lower(found, *minimum);
                }
            }
        }
    }

    /// Count of the numbers read so far.
    pub(super) fn effort(&self) -> u64 {
        self.effort
    }

    /// The row from which a column was reached.
    pub(super) fn from(&self, column: u32) -> u32 {
        self.from[column as usize]
    }

    /// Columns that were settled.
    pub(super) fn settled(&self) -> impl Iterator<Item = u32> + '_ {
        self.settled.iter().map(|settled| settled.0)
    }

    /// Restores the duals, lowered by how much nearer than `length` their columns are, and clears all labels.
    pub(super) fn finish(&mut self, length: f64, duals: &mut [f64]) {
        for (column, distance, dual) in self.settled.drain(..) {
            let nearer = if length < f64::INFINITY { (length - distance).max(0.0) } else { 0.0 };
            duals[column as usize] = dual - nearer;
        }
        for stretch in self.touched.drain(..) {
            let start = stretch * STRETCH;
            let end = self.distance.len().min(start + STRETCH);
            self.distance[start..end].fill(f64::INFINITY);
            self.minima[stretch] = f64::INFINITY;
        }
        self.partly.clear();
    }
}

fn least(numbers: &[f64]) -> f64 {
    let (blocks, rest) = numbers.as_chunks::<8>();
    let mut least = [f64::INFINITY; 8];
    for block in blocks {
        for lane in 0..8 {
            least[lane] = lower(block[lane], least[lane]);
        }
    }
    rest.iter().copied().chain(least).fold(f64::INFINITY, lower)
}
