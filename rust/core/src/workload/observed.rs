//! What a log says of where and when its jobs ran: for policies that repeat it, and for schedules made elsewhere.

use crate::error::Result;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobColumns;

/// Columns as a caller has them; each may be empty, and has one value a job otherwise.
#[derive(Clone, Debug, Default)]
pub struct ObservedColumns {
    /// Start instants, s; NaN = unknown.
    pub start_s: Vec<f64>,
    /// End instants, s, of jobs whose start is known; NaN = the engine works it out.
    pub end_s: Vec<f64>,
    /// Where each job's nodes begin in `nodes`, and one more; a job without nodes = unknown.
    pub node_offsets: Vec<i64>,
    /// Nodes of all jobs, row after row.
    pub nodes: Vec<i64>,
}

/// The same, checked.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// [`SimTime::NEVER`] = unknown.
    start: Vec<SimTime>,
    /// [`SimDuration::FOREVER`] = unknown.
    length: Vec<SimDuration>,
    first_node: Vec<usize>,
    nodes: Vec<u32>,
}

impl Observed {
    /// Checks every value.
    ///
    /// # Errors
    /// With the row, the column and the value of the first fault.
    pub(super) fn new(jobs: &JobColumns) -> Result<Self> {
        let ObservedColumns { start_s, end_s, node_offsets, nodes } = &jobs.observed;
        let instant =
            |seconds: f64| if seconds.is_nan() { Some(SimTime::NEVER) } else { SimTime::from_seconds(seconds) };
        let expected = "seconds from -1e12 to 1e12, or null";
        let start = jobs.column("observed_start_s", start_s, expected, instant)?;
        let end = jobs.column("observed_end_s", end_s, expected, instant)?;
        let spans: Vec<_> = start.iter().zip(&end).map(|(&start, &end)| length(start, end)).collect();
        jobs.column("observed_end_s", &spans, "microseconds from 0 on after the start", |span| {
            (span >= 0).then_some(())
        })?;
        let places = i64::try_from(nodes.len()).unwrap_or(i64::MAX);
        let mut last = 0;
        let first_node =
            jobs.column("observed_node_offsets", node_offsets, "places in the list, ascending", |place| {
                let rises = (last..=places).contains(&place);
                last = place;
                usize::try_from(place).ok().filter(|_| rises)
            })?;
        let nodes = jobs.column("observed_nodes", nodes, "a node's number, from 0", |node| u32::try_from(node).ok())?;
        Ok(Self { start, length: spans.into_iter().map(SimDuration::from_micros).collect(), first_node, nodes })
    }

    pub(super) fn start(&self, row: usize) -> Option<SimTime> {
        self.start.get(row).copied().filter(|&start| start != SimTime::NEVER)
    }

    pub(super) fn length(&self, row: usize) -> Option<SimDuration> {
        self.length.get(row).copied().filter(|&length| length != SimDuration::FOREVER)
    }

    pub(super) fn nodes(&self, row: usize) -> Option<&[u32]> {
        let (&first, &next) = (self.first_node.get(row)?, self.first_node.get(row + 1)?);
        (first < next).then(|| &self.nodes[first..next])
    }
}

/// Microseconds between two instants; for ever if one of them is unknown.
fn length(start: SimTime, end: SimTime) -> i64 {
    match (start, end) {
        (SimTime::NEVER, _) | (_, SimTime::NEVER) => SimDuration::FOREVER.micros(),
        (start, end) => (end - start).micros(),
    }
}
