//! Sizes that moldable jobs can have, and how long they take at each.

use crate::error::{Error, Result, TraceError};
use crate::workload::{JobColumns, JobId};

/// The sizes of jobs as a caller has them. All empty: every job has the one size that it asks for.
#[derive(Clone, Debug, Default)]
pub struct SizeColumns {
    /// Fewest nodes of each job.
    pub min_nodes: Vec<i64>,
    /// Where the ratios of each job begin in `time_ratios`, and one more.
    pub offsets: Vec<i64>,
    /// How many times as long a job takes as at the size it asks for: at its fewest nodes, at one more, and so on.
    pub time_ratios: Vec<f64>,
}

/// The same, checked.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    min_nodes: Vec<u32>,
    offsets: Vec<usize>,
    time_ratios: Vec<f64>,
}

impl Sizes {
    /// The sizes of some jobs; none if each has but one.
    pub(super) fn new(columns: &JobColumns) -> Result<Option<Self>> {
        let SizeColumns { min_nodes, offsets, time_ratios } = &columns.sizes;
        if min_nodes.is_empty() {
            return Ok(None);
        }
        let rows = columns.job_id.len();
        let fault = |row: usize, what: String| {
            let expected =
                "sizes around `node_count`, with a ratio of 1 at it and ratios above 0 and up to 1e6 elsewhere";
            let fault = columns.whole_table("min_nodes", what, expected);
            Error::Trace(TraceError { line: Some(row as u64), ..fault })
        };
        if min_nodes.len() != rows || offsets.len() != rows + 1 {
            return Err(fault(0, format!("{} jobs with sizes of {rows}", min_nodes.len())));
        }
        let mut sizes = Self { time_ratios: time_ratios.clone(), ..Self::default() };
        for row in 0..rows {
            let (low, asked) = (min_nodes[row], columns.node_count[row]);
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

    /// How many times as long the job takes on so many nodes as on those it asks for.
    pub(super) fn time_ratio(&self, job: JobId, nodes: u32) -> f64 {
        let place = nodes.saturating_sub(self.min_nodes[job.0 as usize]) as usize;
        self.own(job).get(place).copied().unwrap_or(1.0)
    }
}
