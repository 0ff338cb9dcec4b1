//! Moves of the prices of whole stretches of time: of all intervals of a row, by as much as they overlap the stretch.
//!
//! A single interval's price says little: jobs that run at the same time compete, so that good prices rise and fall
//! together. A guess of the curvature that has these moves in it, from short stretches to long ones, makes the climb
//! reach in some hundred steps what took thousands.

use crate::algo::exchange::Interval;

/// Ratio of the numbers of stretches of one level and the next.
const RATIO: usize = 4;

/// Least number of stretches of a level.
const FEWEST: usize = 8;

/// Weight of these moves against those of single intervals.
const WEIGHT: f64 = 5.0;

/// The intervals of one row and stretches of time on several levels.
#[derive(Clone, Debug)]
struct OfRow {
    /// Starts and ends of the intervals, each once.
    times: Vec<i64>,
    /// Intervals, with the places of their starts and ends.
    intervals: Vec<(usize, usize, usize)>,
    levels: Vec<Level>,
}

/// Stretches one after another.
#[derive(Clone, Debug)]
struct Level {
    /// Places in the times: begins, and the end of the last.
    edges: Vec<usize>,
    /// Weights.
    weights: Vec<f64>,
}

/// The stretches of all rows.
#[derive(Clone, Debug)]
pub(super) struct Stretches {
    rows: Vec<OfRow>,
    slope: Vec<f64>,
    whole: Vec<f64>,
}

impl Stretches {
    /// Stretches for prices in units of `roots`.
    pub(super) fn new(intervals: &[Interval], rows: usize, roots: &[f64]) -> Self {
        let mut own = vec![Vec::new(); rows];
        for (place, one) in intervals.iter().enumerate() {
            own[one.row as usize].push(place);
        }
        let mut found = Self { rows: Vec::new(), slope: Vec::new(), whole: Vec::new() };
        for own in own.into_iter().filter(|own| !own.is_empty()) {
            let row = found.row(intervals, &own, roots);
            found.rows.push(row);
        }
        found
    }

    fn row(&mut self, intervals: &[Interval], own: &[usize], roots: &[f64]) -> OfRow {
        let mut times: Vec<i64> = own.iter().flat_map(|&one| [intervals[one].from, intervals[one].until]).collect();
        times.sort_unstable();
        times.dedup();
        let place = |at: i64| times.partition_point(|&time| time < at);
        let intervals: Vec<_> =
            own.iter().map(|&one| (one, place(intervals[one].from), place(intervals[one].until))).collect();
        let mut row = OfRow { times, intervals, levels: Vec::new() };
        self.gather(&row, |one| 1.0 / (roots[one] * roots[one]));
        let mut count = row.intervals.len();
        while count >= FEWEST {
            let last = row.times.len() - 1;
            let mut edges: Vec<usize> = (0..=count).map(|edge| edge * last / count).collect();
            edges.dedup();
            let weights = edges.windows(2).map(|ends| {
                let long = (row.times[ends[1]] - row.times[ends[0]]) as f64;
                let most = long * (self.whole[ends[1]] - self.whole[ends[0]]);
                if most > 0.0 { WEIGHT / most } else { 0.0 }
            });
            let weights = weights.collect();
            row.levels.push(Level { edges, weights });
            count /= RATIO;
        }
        row
    }

    /// Integrals over time, up to each of a row's times, of the sum of a number of each interval while it is there.
    fn gather(&mut self, row: &OfRow, number: impl Fn(usize) -> f64) {
        self.slope.clear();
        self.slope.resize(row.times.len(), 0.0);
        for &(one, from, until) in &row.intervals {
            self.slope[from] += number(one);
            self.slope[until] -= number(one);
        }
        self.whole.clear();
        let (mut rate, mut whole) = (0.0, 0.0);
        for (place, &time) in row.times.iter().enumerate() {
            if place > 0 {
                whole += rate * (time - row.times[place - 1]) as f64;
            }
            rate += self.slope[place];
            self.whole.push(whole);
        }
    }

    /// Adds the moves of stretches to moves of single intervals.
    pub(super) fn spread(&mut self, moves: &mut [f64], roots: &[f64]) {
        let rows = std::mem::take(&mut self.rows);
        for row in &rows {
            self.gather(row, |one| moves[one] / roots[one]);
            self.slope.fill(0.0);
            for level in &row.levels {
                for (ends, weight) in level.edges.windows(2).zip(&level.weights) {
                    let own = weight * (self.whole[ends[1]] - self.whole[ends[0]]);
                    self.slope[ends[0]..ends[1]].iter_mut().for_each(|slope| *slope += own);
                }
            }
            let mut whole = 0.0;
            self.whole.clear();
            for (place, &time) in row.times.iter().enumerate() {
                if place > 0 {
                    whole += self.slope[place - 1] * (time - row.times[place - 1]) as f64;
                }
                self.whole.push(whole);
            }
            for &(one, from, until) in &row.intervals {
                moves[one] += (self.whole[until] - self.whole[from]) / roots[one];
            }
        }
        self.rows = rows;
    }
}
