//! Waits and limits of jobs: dependencies before they join the queue, withdrawals, and arrays of which only so many
//! jobs may run at once.

use crate::error::Result;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;
use crate::workload::checks::CheckedTable;

/// Kind of end of a job that another one waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum How {
    /// Every end.
    #[default]
    Any,
    /// Its completion.
    Ok,
    /// Any other end.
    NotOk,
}

impl How {
    /// True if an end of this kind is waited for.
    #[must_use]
    pub fn is_met(self, ok: bool) -> bool {
        match self {
            Self::Any => true,
            Self::Ok => ok,
            Self::NotOk => !ok,
        }
    }
}

/// Columns as a caller has them; each may be empty, and otherwise has one value per job.
#[derive(Clone, Debug, Default)]
pub struct WaitColumns {
    /// Instants before which jobs do not join the queue, s; NaN = none.
    pub start_s: Vec<f64>,
    /// Row of the job that each waits for; -1 = none.
    pub depends_on: Vec<i64>,
    /// Kind of that end: 0 any, 1 completion, 2 any other.
    pub depends_how: Vec<i64>,
    /// Think time after that end, s; NaN = none.
    pub think_s: Vec<f64>,
    /// Instants at which jobs are withdrawn, s; NaN = never.
    pub cancel_s: Vec<f64>,
    /// Index of each job's array in `array_limits`; -1 = no array with a limit.
    pub array: Vec<i64>,
    /// Maximum number of jobs of each array that run at once.
    pub array_limits: Vec<i64>,
}

/// The same, checked.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// [`SimTime::NEVER`] = none.
    start: Vec<SimTime>,
    /// [`NOBODY`] = none.
    depends_on: Vec<u32>,
    how: Vec<How>,
    think: Vec<SimDuration>,
    /// [`SimTime::NEVER`] = none.
    cancel: Vec<SimTime>,
    /// [`NOBODY`] = none.
    array: Vec<u32>,
    limits: Vec<u32>,
    /// Jobs that depend on another, grouped by that one.
    dependents: Vec<JobId>,
    /// Offsets of each job's dependents, one more than there are jobs; empty without dependencies.
    first_dependent: Vec<u32>,
}

const NOBODY: u32 = u32::MAX;

impl WaitColumns {
    /// The columns' names, as errors call them, and their lengths.
    pub(super) fn lengths(&self) -> [(&'static str, usize); 6] {
        [
            ("start_at_s", self.start_s.len()),
            ("depends_on", self.depends_on.len()),
            ("depends_how", self.depends_how.len()),
            ("think_s", self.think_s.len()),
            ("cancel_s", self.cancel_s.len()),
            ("array_id", self.array.len()),
        ]
    }
}

impl Waits {
    /// Checks every value; none if there are no waits and no limits.
    ///
    /// # Errors
    /// With the row, the column and the value of the first fault.
    pub(super) fn new(table: CheckedTable<'_>, columns: &WaitColumns, rows: usize) -> Result<Option<Box<Self>>> {
        let WaitColumns { start_s, depends_on, depends_how, think_s, cancel_s, array, array_limits } = columns;
        if columns.lengths().iter().all(|&(_, len)| len == 0) {
            return Ok(None);
        }
        let instant =
            |seconds: f64| if seconds.is_nan() { Some(SimTime::NEVER) } else { SimTime::from_seconds(seconds) };
        let span = |seconds: f64| {
            let seconds = if seconds.is_nan() { 0.0 } else { seconds };
            SimDuration::from_seconds(seconds).filter(|&span| span >= SimDuration::ZERO)
        };
        let place = |below: usize| move |at: i64| if at == -1 { Some(NOBODY) } else { place_below(at, below) };
        let expected = "seconds from -1e12 to 1e12, or null";
        let depends_on = table.column("depends_on", depends_on, "a row of the table, or -1", place(rows))?;
        let (dependents, first_dependent) = by_predecessor(&depends_on);
        Ok(Some(Box::new(Self {
            start: table.column("start_at_s", start_s, expected, instant)?,
            how: table.column("depends_how", depends_how, "0, 1 or 2", how)?,
            think: table.column("think_s", think_s, "seconds from 0 to 1e12, or null", span)?,
            cancel: table.column("cancel_s", cancel_s, expected, instant)?,
            array: table.column(
                "array_id",
                array,
                "a place in the list of limits, or -1",
                place(array_limits.len()),
            )?,
            limits: table.column("array_limit", array_limits, "a whole number from 1", |limit| {
                u32::try_from(limit).ok().filter(|&limit| limit > 0)
            })?,
            depends_on,
            dependents,
            first_dependent,
        })))
    }

    pub(super) fn start(&self, row: usize) -> Option<SimTime> {
        self.start.get(row).copied().filter(|&start| start != SimTime::NEVER)
    }

    pub(super) fn dependency(&self, row: usize) -> Option<(JobId, How)> {
        let &other = self.depends_on.get(row).filter(|&&other| other != NOBODY)?;
        Some((JobId(other), self.how.get(row).copied().unwrap_or_default()))
    }

    pub(super) fn think(&self, row: usize) -> SimDuration {
        self.think.get(row).copied().unwrap_or(SimDuration::ZERO)
    }

    pub(super) fn cancel(&self, row: usize) -> Option<SimTime> {
        self.cancel.get(row).copied().filter(|&cancel| cancel != SimTime::NEVER)
    }

    pub(super) fn array(&self, row: usize) -> Option<(u32, u32)> {
        let &array = self.array.get(row).filter(|&&array| array != NOBODY)?;
        Some((array, self.limits[array as usize]))
    }

    pub(super) fn dependents(&self, row: usize) -> &[JobId] {
        let places = self.first_dependent.get(row).zip(self.first_dependent.get(row + 1));
        places.map_or(&[], |(&first, &next)| &self.dependents[first as usize..next as usize])
    }

    pub(super) fn has_dependencies(&self) -> bool {
        !self.dependents.is_empty()
    }

    pub(super) fn has_arrays(&self) -> bool {
        !self.limits.is_empty()
    }
}

fn place_below(at: i64, below: usize) -> Option<u32> {
    u32::try_from(at).ok().filter(|&at| (at as usize) < below)
}

fn how(code: i64) -> Option<How> {
    match code {
        0 => Some(How::Any),
        1 => Some(How::Ok),
        2 => Some(How::NotOk),
        _ => None,
    }
}

/// Jobs grouped by the one that they depend on, and the offset of each group.
fn by_predecessor(depends_on: &[u32]) -> (Vec<JobId>, Vec<u32>) {
    let mut dependents: Vec<_> =
        (0..).map(JobId).zip(depends_on).filter(|&(_, &other)| other != NOBODY).map(|(job, _)| job).collect();
    dependents.sort_by_key(|job| depends_on[job.0 as usize]);
    let (mut first, mut place) = (Vec::new(), 0);
    if !dependents.is_empty() {
        for row in 0..=depends_on.len() {
            while dependents.get(place).is_some_and(|job| (depends_on[job.0 as usize] as usize) < row) {
                place += 1;
            }
            first.push(u32::try_from(place).unwrap_or(NOBODY));
        }
    }
    (dependents, first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::JobColumns;

    fn jobs(waits: WaitColumns) -> JobColumns {
        JobColumns {
            job_id: vec![1, 2, 3, 4],
            submit_s: vec![0.0; 4],
            runtime_s: vec![1.0; 4],
            node_count: vec![1; 4],
            source: "table".into(),
            waits,
            ..JobColumns::default()
        }
    }

    #[test]
    fn dependents_stand_by_the_job_that_they_wait_for() {
        let depends_on = vec![2, -1, 1, 2];
        let waits = jobs(WaitColumns { depends_on, depends_how: vec![2, 0, 0, 1], ..WaitColumns::default() });
        let workload = waits.into_workload().unwrap();
        let of = |row| workload.dependents(JobId(row)).to_vec();
        assert_eq!([of(0), of(1), of(2), of(3)], [vec![], vec![JobId(2)], vec![JobId(0), JobId(3)], vec![]]);
        assert_eq!(workload.dependency(JobId(0)), Some((JobId(2), How::NotOk)));
        assert_eq!((workload.dependency(JobId(1)), workload.think(JobId(0))), (None, SimDuration::ZERO));
        assert!(jobs(WaitColumns::default()).into_workload().unwrap().dependents(JobId(2)).is_empty());
    }

    #[test]
    fn faults_name_row_column_and_value() {
        let refused = |waits| jobs(waits).into_workload().unwrap_err().to_string();
        let message = refused(WaitColumns { depends_on: vec![-1, -1, 4, -1], ..WaitColumns::default() });
        assert_eq!(message, "table, line 2, depends_on: found `4`, expected a row of the table, or -1");
        for waits in [
            WaitColumns { start_s: vec![0.0; 3], ..WaitColumns::default() },
            WaitColumns { depends_how: vec![3; 4], ..WaitColumns::default() },
            WaitColumns { think_s: vec![-1.0; 4], ..WaitColumns::default() },
            WaitColumns { cancel_s: vec![1e13; 4], ..WaitColumns::default() },
            WaitColumns { array: vec![1; 4], array_limits: vec![1], ..WaitColumns::default() },
            WaitColumns { array: vec![0; 4], array_limits: vec![0], ..WaitColumns::default() },
        ] {
            refused(waits);
        }
    }

    #[test]
    fn an_end_meets_what_is_asked_of_it() {
        assert_eq!(
            [How::Any, How::Ok, How::NotOk].map(|how| [how.is_met(true), how.is_met(false)]),
            [[true, true], [true, false], [false, true]]
        );
    }
}
