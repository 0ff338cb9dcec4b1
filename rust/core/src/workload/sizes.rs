//! Sizes that moldable jobs can have, and their runtimes at each.

use crate::error::{Error, Result, TraceError};
use crate::units::SimDuration;
use crate::workload::JobId;
use crate::workload::checks::{CheckedTable, added, flag};

/// The sizes of jobs as a caller has them. All empty: every job has the one size that it asks for.
#[derive(Clone, Debug, Default)]
pub struct SizeColumns {
    /// Fewest nodes of each job.
    pub min_nodes: Vec<i64>,
    /// Offsets of each job's ratios in `time_ratios`, one more than there are jobs.
    pub offsets: Vec<i64>,
    /// Runtimes of a job as multiples of that at the size it asks for: at its fewest nodes, at one more, and so on.
    pub time_ratios: Vec<f64>,
    /// 1 = the job's size may change while it runs. May be empty: no job's may.
    pub malleable: Vec<i64>,
    /// Time for which a job makes no progress after such a change, s; NaN = none. May be empty.
    pub resize_s: Vec<f64>,
}

/// The same, checked.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    min_nodes: Vec<u32>,
    offsets: Vec<usize>,
    time_ratios: Vec<f64>,
    /// Empty where no job is malleable.
    malleable: Vec<bool>,
    /// Empty where no job pauses.
    pause: Vec<SimDuration>,
}

impl Sizes {
    /// The sizes of all jobs, which ask for these numbers of nodes; none if each has only one.
    pub(super) fn new(table: CheckedTable<'_>, columns: &SizeColumns, node_count: &[i32]) -> Result<Option<Self>> {
        let SizeColumns { min_nodes, offsets, time_ratios, malleable, resize_s } = columns;
        if min_nodes.is_empty() {
            return Ok(None);
        }
        let rows = node_count.len();
        let fault = |row: usize, what: String| {
            let expected =
                "sizes around `node_count`, with a ratio of 1 at it and ratios above 0 and up to 1e6 elsewhere";
            let fault = table.whole_table("min_nodes", what, expected);
            Error::Trace(TraceError { line: Some(row as u64), ..fault })
        };
        if min_nodes.len() != rows || offsets.len() != rows + 1 {
            return Err(fault(0, format!("{} jobs with sizes of {rows}", min_nodes.len())));
        }
        let malleable = table.column("malleable", malleable, "0 or 1", flag)?;
        let pause = table.column("resize_s", resize_s, "seconds from 0 to 1e12, or null", added)?;
        let mut sizes = Self { time_ratios: time_ratios.clone(), malleable, pause, ..Self::default() };
        for row in 0..rows {
            let (low, asked) = (min_nodes[row], i64::from(node_count[row]));
            let bounds = usize::try_from(offsets[row]).ok().zip(usize::try_from(offsets[row + 1]).ok());
            let own = bounds.and_then(|(first, end)| time_ratios.get(first..end)).unwrap_or_default();
            let at_asked = usize::try_from(asked - low).ok().and_then(|place| own.get(place).copied());
            let is_good = |ratio: &f64| *ratio > 0.0 && *ratio <= 1e6;
            if low < 1 || at_asked != Some(1.0) || !own.iter().all(is_good) {
                return Err(fault(row, format!("{} sizes from {low} on for {asked} nodes", own.len())));
            }
            sizes.min_nodes.push(u32::try_from(low).unwrap_or(u32::MAX));
            sizes.offsets.extend(bounds.map(|(first, _)| first));
        }
        sizes.offsets.push(time_ratios.len());
        Ok(Some(sizes))
    }

    fn own(&self, job: JobId) -> &[f64] {
        let row = job.0 as usize;
        &self.time_ratios[self.offsets[row]..self.offsets[row + 1]]
    }

    /// Fewest and most nodes.
    pub(super) fn range(&self, job: JobId) -> (u32, u32) {
        let low = self.min_nodes[job.0 as usize];
        (low, low + u32::try_from(self.own(job).len()).unwrap_or(u32::MAX) - 1)
    }

    /// True if some job may change its size while it runs.
    pub(super) fn any_malleable(&self) -> bool {
        self.malleable.contains(&true)
    }

    /// True if the job may change its size while it runs.
    pub(super) fn is_malleable(&self, job: JobId) -> bool {
        self.malleable.get(job.0 as usize).copied().unwrap_or(false)
    }

    /// Time for which the job makes no progress after such a change.
    pub(super) fn pause(&self, job: JobId) -> SimDuration {
        self.pause.get(job.0 as usize).copied().unwrap_or(SimDuration::ZERO)
    }

    /// Runtime of the job on `nodes` nodes, as a multiple of that at the size it asks for.
    pub(super) fn time_ratio(&self, job: JobId, nodes: u32) -> f64 {
        let place = nodes.saturating_sub(self.min_nodes[job.0 as usize]) as usize;
        self.own(job).get(place).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{JobColumns, Workload};

    fn workload(sizes: SizeColumns) -> Result<Workload> {
        let columns = JobColumns {
            job_id: vec![1, 2],
            submit_s: vec![0.0; 2],
            runtime_s: vec![1.0; 2],
            node_count: vec![2, 3],
            sizes,
            ..JobColumns::default()
        };
        columns.into_workload()
    }

    fn ranges() -> SizeColumns {
        SizeColumns {
            min_nodes: vec![1, 3],
            offsets: vec![0, 2, 3],
            time_ratios: vec![2.0, 1.0, 1.0],
            ..SizeColumns::default()
        }
    }

    #[test]
    fn only_jobs_of_several_sizes_are_malleable() {
        let jobs = workload(SizeColumns { malleable: vec![1, 1], resize_s: vec![f64::NAN, 2.0], ..ranges() }).unwrap();
        assert_eq!([JobId(0), JobId(1)].map(|job| jobs.is_malleable(job)), [true, false]);
        assert_eq!([JobId(0), JobId(1)].map(|job| jobs.pause(job).seconds()), [0.0, 2.0]);
        assert!(jobs.has_malleable() && !workload(ranges()).unwrap().has_malleable());
    }

    #[test]
    fn what_is_said_of_changes_is_checked() {
        for wrong in [vec![1], vec![2, 0]] {
            assert!(workload(SizeColumns { malleable: wrong, ..ranges() }).is_err());
        }
        assert!(workload(SizeColumns { resize_s: vec![-1.0, 0.0], ..ranges() }).is_err());
    }
}
