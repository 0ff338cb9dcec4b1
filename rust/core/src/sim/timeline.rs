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
    /// The last row that is written, if any is, then those that are not yet: many at once cost less, column by column.
    /// The very last is the latest instant, which is a row if anything has changed in it.
    gathered: Vec<(SimTime, TimelineRow)>,
    /// Number of gathered rows that are written: none or one.
    written: usize,
    peak: Watts,
}

/// Most rows that are gathered before they are written.
const GATHERED: usize = 256;

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

    fn extend(&mut self, more: impl ExactSizeIterator<Item = i32> + Clone) {
        if self.counts.is_empty() {
            if more.clone().all(|count| count == 0) {
                self.zeros += more.len();
                return;
            }
            self.counts.reserve_exact(self.rows.max(self.zeros + more.len()));
            self.counts.resize(std::mem::take(&mut self.zeros), 0);
        }
        self.counts.extend(more);
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
            gathered: Vec::with_capacity(GATHERED.min(rows)),
            written: 0,
            peak: Watts::ZERO,
        }
    }

    /// Notes an instant, which becomes a row if anything has changed since the last one; of several notes of one instant
    /// the last counts.
    pub fn record(&mut self, now: SimTime, row: TimelineRow) {
        if let Some(latest) = self.latest_mut().filter(|latest| latest.0 == now) {
            latest.1 = row;
            return;
        }
        self.settle();
        if self.gathered.len() >= GATHERED {
            self.write();
        }
        self.gathered.push((now, row));
    }

    /// The latest instant, while it is not written.
    fn latest_mut(&mut self) -> Option<&mut (SimTime, TimelineRow)> {
        self.gathered[self.written..].last_mut()
    }

    /// Drops the latest instant, which is past, if nothing has changed in it.
    fn settle(&mut self) {
        if let [.., before, latest] = &self.gathered[..]
            && before.1 == latest.1
        {
            self.gathered.pop();
        }
    }

    /// Changes the last row and the latest instant, and shows the rows before the latter to `show`.
    fn revise(&mut self, show: impl FnOnce(&mut Self), change: impl Fn(TimelineRow) -> TimelineRow) {
        let latest = if self.gathered.len() > self.written { self.gathered.pop() } else { None };
        self.write();
        show(self);
        self.gathered.extend(latest);
        self.gathered.iter_mut().for_each(|(_, row)| *row = change(*row));
    }

    /// Counts suspended jobs from now on; the rows so far get 0.
    pub(super) fn tell_suspended(&mut self) {
        let zeros = |own: &mut Self| own.suspended = vec![0; own.time_s.len()];
        self.revise(zeros, |row| TimelineRow { suspended: Some(0), ..row });
    }

    /// Shows the budget in force from now on; the rows so far get `before`.
    pub(super) fn tell_budget(&mut self, before: Option<Watts>) {
        let before_w = before.map_or(f64::NAN, Watts::watts);
        let so_far = |own: &mut Self| own.budget_w = vec![before_w; own.time_s.len()];
        let budget_w = Some(before.map_or(f64::INFINITY, Watts::watts));
        self.revise(so_far, |row| TimelineRow { budget_w, ..row });
    }

    /// The highest draw recorded.
    #[must_use]
    pub fn peak(&self) -> Watts {
        self.peak
    }

    /// Makes `end` the instant of the last row.
    pub fn close(&mut self, end: SimTime) {
        self.settle();
        self.write();
        if let (Some(&(_, row)), Some(&last)) = (self.gathered.last(), self.time_s.last())
            && last < end.seconds()
        {
            self.gathered.push((end, row));
            self.write();
        }
    }

    /// Drops the rows after `end`; draw and counts at `end` stay.
    pub(super) fn go_back(&mut self, end: SimTime) {
        self.settle();
        self.write();
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

    /// Writes the gathered rows, column by column, and keeps the last.
    fn write(&mut self) {
        let rows = &self.gathered[self.written..];
        self.peak = rows.iter().fold(self.peak, |peak, (_, row)| peak.max(row.draw));
        self.time_s.extend(rows.iter().map(|(at, _)| at.seconds()));
        self.power_w.extend(rows.iter().map(|(_, row)| row.draw.watts()));
        for (number, column) in self.counts.iter_mut().enumerate() {
            column.extend(rows.iter().map(|(_, row)| row.counts[number]));
        }
        let budgets = rows.iter().filter_map(|(_, row)| row.budget_w);
        self.budget_w.extend(budgets.map(|budget_w| if budget_w == f64::INFINITY { f64::NAN } else { budget_w }));
        self.suspended.extend(rows.iter().filter_map(|(_, row)| row.suspended));
        self.gathered.drain(..self.gathered.len().saturating_sub(1));
        self.written = self.gathered.len();
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
        column.extend([0; 3].into_iter());
        column.truncate(2);
        assert_eq!(column.clone().into_vec(), [0, 0]);
        column.extend([5, 0].into_iter());
        column.truncate(3);
        assert_eq!(column.clone().into_vec(), [0, 0, 5]);
        column.truncate(0);
        column.extend([0].into_iter());
        assert_eq!(column.into_vec(), [0]);
    }

    #[test]
    fn rows_are_the_same_however_they_are_gathered() {
        let row = |second: i32| TimelineRow::new(Watts::of_system(f64::from(second)), [second; 7]);
        let (mut gathered, mut written) = (Timeline::default(), Timeline::default());
        for second in 0..600 {
            let at = SimTime::from_micros(i64::from(second) * 1_000_000);
            gathered.record(at, row(second));
            written.record(at, row(second));
            written.revise(|_| {}, |row| row);
        }
        let [gathered, written] = [gathered, written].map(|mut timeline| {
            timeline.close(SimTime::from_micros(600_000_000));
            let counts = timeline.counts.map(CountColumn::into_vec);
            (timeline.time_s, timeline.power_w, counts)
        });
        assert_eq!(gathered, written);
        assert_eq!((gathered.0.len(), gathered.1[599], gathered.2[6][600]), (601, 599.0, 599));
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
