//! Counts of reading a log: what was kept, changed and dropped.

use crate::error::TraceError;

use super::header::SwfHeader;
use super::job::Job;
use super::line::field;

/// Maximum number of bad lines that are reported one by one.
const FAULTS_KEPT: usize = 3;

/// Counts of one read.
///
/// Every job line is counted in `jobs`, in `bad_lines` or in one of the `dropped_` counts, the first that applies in
/// the order below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwfReport {
    /// Jobs kept.
    pub jobs: u64,
    /// Lines of the file, with header and blank ones.
    pub lines: u64,
    /// Properties of the machine, from the header.
    pub header: SwfHeader,
    /// Processors of one node, if given; otherwise one processor is one node.
    pub procs_per_node: Option<u32>,
    /// Jobs dropped because no processors were requested or allocated.
    pub dropped_no_size: u64,
    /// Jobs dropped because they were submitted before second 0, -1 = unknown included.
    pub dropped_no_submit: u64,
    /// Jobs dropped because their run time is unknown.
    pub dropped_no_runtime: u64,
    /// Kept jobs that ran for no time at all.
    pub kept_zero_runtime: u64,
    /// Kept jobs that failed (status 0) or were cancelled (status 5) after they ran for some time.
    pub kept_cancelled_or_failed: u64,
    /// Job lines with an earlier submit time than the job line in front of them, whether kept or dropped.
    pub out_of_order: u64,
    /// Job lines with more than 18 fields.
    pub extra_columns: u64,
    /// Kept jobs without a requested time.
    pub no_walltime: u64,
    /// Kept jobs whose processors do not fill their last node.
    pub rounded_up_nodes: u64,
    /// Kept jobs whose size is what they were allocated, as nothing was requested.
    pub size_from_allocated: u64,
    /// Kept jobs that name a preceding job, for which they wait.
    pub depends_on: u64,
    /// Kept jobs whose status is none of the format's codes; it becomes unknown.
    pub unknown_status: u64,
    /// Kept jobs whose requested time is shorter than a microsecond; it becomes a microsecond.
    pub walltime_raised: u64,
    /// Job lines that violate the format's definition, and were skipped.
    pub bad_lines: u64,
    /// Faults of the first of them.
    pub first_bad_lines: Vec<TraceError>,
}

impl SwfReport {
    /// The counts by name.
    #[must_use]
    pub fn counts(&self) -> [(&'static str, u64); 16] {
        [
            ("jobs", self.jobs),
            ("lines", self.lines),
            ("dropped_no_size", self.dropped_no_size),
            ("dropped_no_submit", self.dropped_no_submit),
            ("dropped_no_runtime", self.dropped_no_runtime),
            ("kept_zero_runtime", self.kept_zero_runtime),
            ("kept_cancelled_or_failed", self.kept_cancelled_or_failed),
            ("out_of_order", self.out_of_order),
            ("extra_columns", self.extra_columns),
            ("no_walltime", self.no_walltime),
            ("rounded_up_nodes", self.rounded_up_nodes),
            ("size_from_allocated", self.size_from_allocated),
            ("depends_on", self.depends_on),
            ("unknown_status", self.unknown_status),
            ("walltime_raised", self.walltime_raised),
            ("bad_lines", self.bad_lines),
        ]
    }

    /// Counts a kept job whose size stands in field `size` and fills its nodes or not.
    pub(super) fn count_kept(&mut self, job: &Job, size: usize, fills_nodes: bool) {
        self.jobs += 1;
        self.kept_zero_runtime += u64::from(job.runtime_s == 0.0);
        self.kept_cancelled_or_failed += u64::from(job.runtime_s > 0.0 && matches!(job.status, 0 | 5));
        self.no_walltime += u64::from(job.requested_s <= 0.0);
        self.rounded_up_nodes += u64::from(!fills_nodes);
        self.size_from_allocated += u64::from(size == field::ALLOCATED_PROCS);
        self.depends_on += u64::from(job.depends_on >= 0);
        self.unknown_status += u64::from(job.is_odd_status);
        self.walltime_raised += u64::from(job.is_walltime_raised());
    }

    /// Counts a line that is skipped, with its fault.
    pub(super) fn count_bad(&mut self, fault: TraceError) {
        self.bad_lines += 1;
        if self.first_bad_lines.len() < FAULTS_KEPT {
            self.first_bad_lines.push(fault);
        }
    }

    /// The fault of the first bad line, if most job lines are bad: such a file is no log.
    pub(super) fn mostly_bad(&self) -> Option<TraceError> {
        let (bad, all) = (self.bad_lines, self.job_lines() + self.bad_lines);
        let mut first = self.first_bad_lines.first().filter(|_| bad * 2 > all)?.clone();
        if bad > 1 {
            first.found = format!("{} (the first of {bad} bad lines among {all})", first.found);
        }
        Some(first)
    }

    /// All job lines, kept or dropped.
    pub(super) fn job_lines(&self) -> u64 {
        self.jobs + self.dropped_no_size + self.dropped_no_submit + self.dropped_no_runtime
    }
}
