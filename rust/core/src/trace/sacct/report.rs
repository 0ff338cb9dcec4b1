//! What reading a dump kept, merged, dropped and counted.

use crate::error::TraceError;

/// Bad lines that are told one by one.
const FAULTS_KEPT: usize = 3;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of one read.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Report {
            $($(#[$doc])* pub $name: u64,)*
            /// What is wrong with the first bad lines.
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
    /// Rows that a run was resized after.
    resized,
    /// Rows that a later one of the same submission replaces.
    dropped_duplicate,
    /// Jobs that waited when the dump was made.
    dropped_pending,
    /// Jobs that ended before they ran, where those are not kept.
    dropped_never_ran,
    /// The same, where they are.
    never_ran,
    /// Jobs of no size.
    dropped_no_size,
    /// Rows without a submission.
    dropped_no_submit,
    /// Rows of a federation that another cluster has run.
    dropped_revoked,
    /// Jobs that ran when the dump was made.
    cut_by_end,
    /// Rows more by lists of tasks, each of which is a job.
    expanded,
    /// Lists of tasks that Slurm cut.
    array_cut,
    /// Jobs that are tasks of arrays.
    array_tasks,
    /// Jobs that are components of heterogeneous jobs.
    het_components,
    /// Jobs whose number another one has.
    reused_ids,
    /// Jobs whose state is unknown.
    unknown_states,
    /// Jobs that failed or were cancelled after they had started.
    kept_cancelled_or_failed,
    /// Jobs that were submitted after they started, by what the dump says.
    submit_after_start,
    /// Jobs whose times contradict each other.
    inconsistent_times,
    /// Rows whose local times may be meant in more than one way.
    ambiguous_times,
    /// Jobs whose GPUs do not divide by their nodes.
    rounded_up_gpus,
    /// Jobs that asked for all memory of their nodes.
    all_memory,
    /// Jobs whose list of nodes is not as long as their size.
    nodes_disagree,
    /// Rows with separators in a text.
    repaired_separators,
    /// Lines that belong to the row before them.
    joined_lines,
    /// Whether the last line is cut.
    cut_last_line,
    /// Rows that do not read, and were skipped.
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
