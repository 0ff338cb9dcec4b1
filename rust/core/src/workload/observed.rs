//! Observed places and times of runs, from a log: for policies that repeat it, and for schedules made elsewhere.

use crate::error::Result;
use crate::units::{SimDuration, SimTime};
use crate::workload::checks::CheckedTable;

/// Columns as a caller has them; each may be empty, and otherwise has one value per job.
#[derive(Clone, Debug, Default)]
pub struct ObservedColumns {
    /// Start instants, s; NaN = unknown.
    pub start_s: Vec<f64>,
    /// End instants, s, of jobs whose start is known; NaN = the engine works it out.
    pub end_s: Vec<f64>,
    /// Offsets of each job's nodes in `nodes`, one more than there are jobs; a job without nodes = unknown.
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
    pub(super) fn new(table: CheckedTable<'_>, columns: &ObservedColumns) -> Result<Self> {
        let ObservedColumns { start_s, end_s, node_offsets, nodes } = columns;
        let instant =
            |seconds: f64| if seconds.is_nan() { Some(SimTime::NEVER) } else { SimTime::from_seconds(seconds) };
        let expected = "seconds from -1e12 to 1e12, or null";
        let start = table.column("observed_start_s", start_s, expected, instant)?;
        let end = table.column("observed_end_s", end_s, expected, instant)?;
        let spans: Vec<_> = start.iter().zip(&end).map(|(&start, &end)| length(start, end)).collect();
        table.column("observed_end_s", &spans, "microseconds from 0 on after the start", |span| {
            (span >= 0).then_some(())
        })?;
        let places = i64::try_from(nodes.len()).unwrap_or(i64::MAX);
        let mut last = 0;
        let first_node =
            table.column("observed_node_offsets", node_offsets, "places in the list, ascending", |place| {
                let rises = (last..=places).contains(&place);
                last = place;
                usize::try_from(place).ok().filter(|_| rises)
            })?;
        let nodes =
            table.column("observed_nodes", nodes, "a node's number, from 0", |node| u32::try_from(node).ok())?;
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

/// Microseconds between two instants; [`SimDuration::FOREVER`] if one of them is unknown.
fn length(start: SimTime, end: SimTime) -> i64 {
    match (start, end) {
        (SimTime::NEVER, _) | (_, SimTime::NEVER) => SimDuration::FOREVER.micros(),
        (start, end) => (end - start).micros(),
    }
}

#[cfg(test)]
mod tests {
    use crate::units::{SimDuration, SimTime};
    use crate::workload::{JobColumns, JobId, ObservedColumns};

    fn jobs(observed: ObservedColumns) -> JobColumns {
        JobColumns {
            job_id: vec![1, 2],
            submit_s: vec![0.0; 2],
            runtime_s: vec![0.0, 5.0],
            node_count: vec![2, 1],
            observed,
            source: "log".into(),
            ..JobColumns::default()
        }
    }

    fn known() -> ObservedColumns {
        ObservedColumns {
            start_s: vec![3.0, f64::NAN],
            end_s: vec![4.5, 9.0],
            node_offsets: vec![0, 2, 2],
            nodes: vec![4, 1],
        }
    }

    #[test]
    fn what_a_log_knows_is_told_and_the_rest_is_not() {
        let workload = jobs(known()).into_workload().unwrap();
        assert_eq!(workload.observed_start(JobId(0)), SimTime::from_seconds(3.0));
        assert_eq!(workload.observed_length(JobId(0)), SimDuration::from_seconds(1.5));
        assert_eq!(workload.observed_nodes(JobId(0)), Some(&[4, 1][..]));
        // Without a start, an end does not determine the length.
        assert_eq!(workload.observed_start(JobId(1)), None);
        assert_eq!(workload.observed_length(JobId(1)), None);
        assert_eq!(workload.observed_nodes(JobId(1)), None);
        let unknown = jobs(ObservedColumns::default()).into_workload().unwrap();
        assert_eq!((unknown.observed_start(JobId(0)), unknown.observed_nodes(JobId(1))), (None, None));
    }

    #[test]
    fn a_job_takes_no_time_if_it_did_not_or_else_if_its_run_is_of_no_length() {
        let told = jobs(known()).into_workload().unwrap();
        let own = jobs(ObservedColumns::default()).into_workload().unwrap();
        assert_eq!([0, 1].map(|row| told.takes_no_time(JobId(row))), [false, false]);
        assert_eq!([0, 1].map(|row| own.takes_no_time(JobId(row))), [true, false]);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_row() {
        for (bad, message) in [
            (ObservedColumns { start_s: vec![1e300; 2], ..known() }, "log, line 0, observed_start_s: found `1"),
            (ObservedColumns { end_s: vec![2.5, 9.0], ..known() }, "log, line 0, observed_end_s: found `-500000`"),
            (
                ObservedColumns { node_offsets: vec![0, 3, 2], ..known() },
                "log, line 1, observed_node_offsets: found `3`",
            ),
            (ObservedColumns { node_offsets: vec![0, 2], ..known() }, "log, observed_node_offsets: found 1"),
            (ObservedColumns { nodes: vec![4, -1], ..known() }, "log, line 1, observed_nodes: found `-1`"),
            (ObservedColumns { start_s: vec![1.0], ..known() }, "log, observed_start_s: found 1"),
        ] {
            let said = jobs(bad).into_workload().unwrap_err().to_string();
            assert!(said.starts_with(message), "{said}");
        }
    }
}
