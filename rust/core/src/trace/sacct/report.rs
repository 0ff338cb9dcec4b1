//! Counts of reading a dump: what was kept, merged and dropped.

use crate::error::TraceError;

/// Maximum number of bad lines that are reported one by one.
const FAULTS_KEPT: usize = 3;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of one read.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Report {
            $($(#[$doc])* pub $name: u64,)*
            /// Faults of the first bad lines.
            pub first_bad_lines: Vec<TraceError>,
        }

        impl Report {
            /// The counts by name.
            #[must_use]
            pub fn counts(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counts! {
    /// Jobs kept.
    jobs,
    /// Rows, headers not counted.
    rows,
    /// Rows of steps.
    steps,
    /// Rows that are an attempt of a job whose last attempt is another row.
    merged,
    /// Jobs of several attempts.
    requeued,
    /// Rows after which a run was resized.
    resized,
    /// Rows that are replaced by a later one of the same submission.
    dropped_duplicate,
    /// Jobs that waited when the dump was made.
    dropped_pending,
    /// Jobs that ended before they ran, if such jobs are dropped.
    dropped_never_ran,
    /// Jobs that ended before they ran, if such jobs are kept.
    never_ran,
    /// Jobs without a size.
    dropped_no_size,
    /// Rows without a submission time.
    dropped_no_submit,
    /// Rows of a federation that another cluster has run.
    dropped_revoked,
    /// Jobs that ran when the dump was made.
    cut_by_end,
    /// Rows added by expanding lists of tasks, each of which is a job.
    expanded,
    /// Lists of tasks that Slurm cut.
    array_cut,
    /// Jobs that are tasks of arrays.
    array_tasks,
    /// Jobs that are components of heterogeneous jobs.
    het_components,
    /// Jobs that share their number with another one.
    reused_ids,
    /// Jobs whose state is unknown.
    unknown_states,
    /// Jobs that failed or were cancelled after they had started.
    kept_cancelled_or_failed,
    /// Jobs that were submitted after they started, according to the dump.
    submit_after_start,
    /// Jobs whose times contradict each other.
    inconsistent_times,
    /// Rows whose local times have more than one reading.
    ambiguous_times,
    /// Jobs whose GPUs are not a multiple of their nodes.
    rounded_up_gpus,
    /// Jobs that asked for all memory of their nodes.
    all_memory,
    /// Jobs whose list of nodes does not have as many as the job's size.
    nodes_disagree,
    /// Rows with separators in a text.
    repaired_separators,
    /// Lines that belong to the row before them.
    joined_lines,
    /// 1 if the last line is cut, else 0.
    cut_last_line,
    /// Rows that could not be parsed, and were skipped.
    bad_lines,
}

impl Report {
    pub(super) fn skip(&mut self, fault: TraceError) {
        self.bad_lines += 1;
        if self.first_bad_lines.len() < FAULTS_KEPT {
            self.first_bad_lines.push(fault);
        }
    }
}
