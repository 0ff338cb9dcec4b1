//! Timeline: draw and occupancy of the machine, instant by instant.

use crate::units::{SimTime, Watts};

/// Step functions of time: a row for each instant at which draw or occupancy changed, whose values hold until the next
/// row.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Instants, s.
    pub time_s: Vec<f64>,
    /// System draw, W.
    pub power_w: Vec<f64>,
    /// Nodes by class, jobs waiting and jobs running: see [`Counts`].
    pub counts: [CountColumn; 7],
    /// Budget in force, W, NaN if there is none; empty if it never changes.
    pub budget_w: Vec<f64>,
    /// Number of suspended jobs; empty if none ever is.
    pub suspended: Vec<i32>,
    /// The last row.
    last: Option<TimelineRow>,
    /// The latest instant, which becomes a row once it is past, if anything has changed in it.
    latest: Option<(SimTime, TimelineRow)>,
    peak: Watts,
}

/// Numbers of nodes that are busy, idle, off, in transition and down, and of jobs that wait and run.
pub type Counts = [i32; 7];

/// Column of counts. It takes no memory as long as all are zero: most machines never switch a node off.
#[derive(Clone, Debug, Default)]
pub struct CountColumn {
    /// Number of zeros before the first other count, while there is none.
    zeros: usize,
    /// The counts, once one of them is not zero.
    counts: Vec<i32>,
    /// Number of rows to make room for.
    rows: usize,
}

impl CountColumn {
    fn with_capacity(rows: usize) -> Self {
        Self { rows, ..Self::default() }
    }

    #[inline]
    fn push(&mut self, count: i32) {
        if self.counts.is_empty() {
            if count == 0 {
                self.zeros += 1;
                return;
            }
            self.counts.reserve_exact(self.rows.max(self.zeros + 1));
            self.counts.resize(std::mem::take(&mut self.zeros), 0);
        }
        self.counts.push(count);
    }

    fn truncate(&mut self, rows: usize) {
        self.counts.truncate(rows);
        self.zeros = self.zeros.min(rows);
    }

    /// The counts, row by row; none if all are zero.
    #[must_use]
    pub fn into_counts(self) -> Option<Vec<i32>> {
        (!self.counts.is_empty()).then_some(self.counts)
    }

    /// The counts, row by row.
    #[must_use]
    pub fn into_vec(self) -> Vec<i32> {
        if self.counts.is_empty() { vec![0; self.zeros] } else { self.counts }
    }
}

/// One row of the timeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelineRow {
    /// Draw of the machine.
    pub draw: Watts,
    /// Numbers of nodes and jobs.
    pub counts: Counts,
    /// Budget in force, W, if budgets change; infinity if there is none.
    pub budget_w: Option<f64>,
    /// Number of suspended jobs, if some may be.
    pub suspended: Option<i32>,
}

impl TimelineRow {
    /// Row of a run in which neither budgets change nor jobs are suspended.
    #[must_use]
    pub fn new(draw: Watts, counts: Counts) -> Self {
        Self { draw, counts, budget_w: None, suspended: None }
    }
}

/// Overdraw: how often, how long and how far the system's draw exceeded a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overdraw {
    /// Stretches of time spent above it.
    pub count: usize,
    /// Their length, s.
    pub seconds: f64,
    /// Largest excess, W.
    pub most_w: f64,
}

impl Timeline {
    /// An empty timeline with memory for so many rows.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            time_s: Vec::with_capacity(rows),
            power_w: Vec::with_capacity(rows),
            counts: std::array::from_fn(|_| CountColumn::with_capacity(rows)),
            budget_w: Vec::new(),
            suspended: Vec::new(),
            last: None,
            latest: None,
            peak: Watts::ZERO,
        }
    }

    /// Notes an instant, which becomes a row if anything has changed since the last one; of several notes of one instant
    /// the last counts.
    pub fn record(&mut self, now: SimTime, row: TimelineRow) {
        if let Some((at, before)) = self.latest.replace((now, row))
            && at != now
        {
            self.add(at, before);
        }
    }

    /// Adds a row if anything has changed since the last one.
    fn add(&mut self, at: SimTime, row: TimelineRow) {
        if self.last != Some(row) {
            self.last = Some(row);
            self.peak = self.peak.max(row.draw);
            self.push(at, row);
        }
    }

    /// Adds the latest instant: it is past.
    fn add_latest(&mut self) {
        if let Some((at, row)) = self.latest.take() {
            self.add(at, row);
        }
    }

    /// Changes the last row and the latest instant.
    fn revise(&mut self, change: impl Fn(TimelineRow) -> TimelineRow) {
        self.last = self.last.map(&change);
        self.latest = self.latest.map(|(at, row)| (at, change(row)));
    }

    /// Counts suspended jobs from now on; the rows so far get 0.
    pub(super) fn tell_suspended(&mut self) {
        self.suspended = vec![0; self.time_s.len()];
        self.revise(|row| TimelineRow { suspended: Some(0), ..row });
    }

    /// Shows the budget in force from now on; the rows so far get `before`.
    pub(super) fn tell_budget(&mut self, before: Option<Watts>) {
        self.budget_w = vec![before.map_or(f64::NAN, Watts::watts); self.time_s.len()];
        let budget_w = Some(before.map_or(f64::INFINITY, Watts::watts));
        self.revise(|row| TimelineRow { budget_w, ..row });
    }

    /// The highest draw recorded.
    #[must_use]
    pub fn peak(&self) -> Watts {
        self.peak
    }

    /// Makes `end` the instant of the last row.
    pub fn close(&mut self, end: SimTime) {
        self.add_latest();
        if let (Some(row), Some(&last)) = (self.last, self.time_s.last())
            && last < end.seconds()
        {
            self.push(end, row);
        }
    }

    /// Drops the rows after `end`; draw and counts at `end` stay.
    pub(super) fn go_back(&mut self, end: SimTime) {
        self.add_latest();
        let rows = self.time_s.partition_point(|&time_s| time_s <= end.seconds());
        if rows < self.time_s.len() {
            self.truncate(rows);
            self.peak = Watts::of_system(self.power_w.iter().copied().fold(0.0, f64::max));
        }
    }

    fn truncate(&mut self, rows: usize) {
        self.time_s.truncate(rows);
        self.power_w.truncate(rows);
        self.counts.iter_mut().for_each(|column| column.truncate(rows));
        self.budget_w.truncate(rows);
        self.suspended.truncate(rows);
    }

    /// Overdraw beyond the budget in force, or beyond this one if budgets never change. An excess of up to one part in
    /// 10⁹ counts as rounding.
    #[must_use]
    pub fn beyond(&self, budget: Watts) -> Overdraw {
        let (mut found, mut above) = (Overdraw::default(), false);
        let ends = self.time_s.iter().skip(1).chain(self.time_s.last());
        for (row, ((&power, &from), &to)) in self.power_w.iter().zip(&self.time_s).zip(ends).enumerate() {
            let in_force = self.budget_w.get(row).copied().unwrap_or(budget.watts());
            let budget_w = if in_force.is_nan() { f64::INFINITY } else { in_force };
            let beyond = power > budget_w * (1.0 + 1e-9) && to > from;
            if beyond {
                found.count += usize::from(!above);
                found.seconds += to - from;
                found.most_w = found.most_w.max(power - budget_w);
            }
            above = beyond;
        }
        found
    }

    fn push(&mut self, now: SimTime, row: TimelineRow) {
        self.time_s.push(now.seconds());
        self.power_w.push(row.draw.watts());
        for (column, count) in self.counts.iter_mut().zip(row.counts) {
            column.push(count);
        }
        if let Some(budget_w) = row.budget_w {
            self.budget_w.push(if budget_w == f64::INFINITY { f64::NAN } else { budget_w });
        }
        if let Some(suspended) = row.suspended {
            self.suspended.push(suspended);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_that_of_the_rows_that_are_kept() {
        let mut timeline = Timeline::default();
        for (second, watts) in [(0, 100), (10, 150), (20, 900)] {
            let row = TimelineRow::new(Watts::of_system(f64::from(watts)), [0; 7]);
            timeline.record(SimTime::from_micros(second * 1_000_000), row);
        }
        timeline.go_back(SimTime::from_micros(15_000_000));
        assert_eq!((timeline.peak(), timeline.time_s.len()), (Watts::of_system(150.0), 2));
    }

    #[test]
    fn counts_are_zero_until_one_is_not() {
        let mut column = CountColumn::with_capacity(1);
        column.truncate(0);
        (0..3).for_each(|_| column.push(0));
        column.truncate(2);
        assert_eq!(column.clone().into_vec(), [0, 0]);
        column.push(5);
        column.push(0);
        column.truncate(3);
        assert_eq!(column.clone().into_vec(), [0, 0, 5]);
        column.truncate(0);
        column.push(0);
        assert_eq!(column.into_vec(), [0]);
    }

    #[test]
    fn time_above_a_budget_is_counted_by_stretch() {
        let mut timeline = Timeline::default();
        // 100 W, above twice in a row with no gap, at the budget, above again until the end, which closes at 60 s.
        for (second, watts) in [(0, 100), (10, 150), (20, 170), (25, 120), (40, 121)] {
            let row = TimelineRow::new(Watts::of_system(f64::from(watts)), [0; 7]);
            timeline.record(SimTime::from_micros(second * 1_000_000), row);
        }
        timeline.close(SimTime::from_micros(60_000_000));
        let now = SimTime::from_micros(60_000_000);
        // What is written down of an instant twice was never so in between.
        timeline.record(now, TimelineRow::new(Watts::of_system(900.0), [0; 7]));
        timeline.record(now, TimelineRow::new(Watts::of_system(121.0), [0; 7]));
        timeline.close(now);
        assert_eq!((timeline.peak(), timeline.time_s.len()), (Watts::of_system(170.0), 6));
        let over = timeline.beyond(Watts::of_system(120.0));
        assert_eq!(over, Overdraw { count: 2, seconds: 35.0, most_w: 50.0 });
        assert_eq!(timeline.beyond(Watts::of_system(170.0)), Overdraw::default());
    }
}
