//! Accounting logs of PBS Pro, `OpenPBS` and Torque: a record per line, several per job.
//!
//! Lines are cut (`record`) and read by their keys (`fields`, `value`), their local stamps become instants (`stamps`),
//! and the records of a job are gathered (`jobs`, `log`) until the log is over (`done`).

mod done;
mod fields;
mod jobs;
mod log;
mod outcome;
mod record;
mod stamps;
mod value;

use std::io::BufRead;

use crate::error::{Result, TraceError};

use super::decompress::{self, ReadWatch};
use super::fault::file_fault;
pub use super::sacct::Zone;
pub use done::{Done, PbsCountColumn, PbsNumberColumn, PbsTextColumn, PbsWholeColumn};

/// Maximum number of bad lines that are reported one by one.
const FAULTS_KEPT: usize = 3;

/// Options for reading a log.
#[derive(Clone, Debug)]
pub struct PbsOptions<'a> {
    /// Name for messages.
    pub file: &'a str,
    /// Zone of local stamps; None: derived from the records that also have instants.
    pub zone: Option<Zone>,
    /// True if jobs that never ran are left out.
    pub drop_never_ran: bool,
    /// True if lines that cannot be parsed are left out and counted.
    pub skip_bad_lines: bool,
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of one read: what was kept and dropped.
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
    /// Lines that are not empty.
    rows,
    /// Records of kinds that are not read.
    other_records,
    /// Records that are exact repetitions.
    dropped_duplicate,
    /// Arrays, whose tasks are the jobs.
    array_parents,
    /// Jobs that are tasks of arrays.
    array_tasks,
    /// Jobs that waited at the log's end.
    dropped_pending,
    /// Jobs that ended before they ran, if such jobs are dropped.
    dropped_never_ran,
    /// Jobs that ended before they ran, if such jobs are kept.
    never_ran,
    /// Jobs without a submission time.
    dropped_no_submit,
    /// Jobs without a size.
    dropped_no_size,
    /// Jobs that ran at the log's end.
    cut_by_end,
    /// Jobs of several attempts.
    requeued,
    /// Jobs with the number of an earlier one.
    reused_ids,
    /// Jobs that waited for something that is not simulated, or for a job that is not in the log.
    depends_cleared,
    /// Jobs whose GPUs are not a multiple of their nodes.
    rounded_up_gpus,
    /// Jobs with properties of nodes that no constraint can name.
    constraint_unread,
    /// Jobs that failed or were cancelled after they had started.
    kept_cancelled_or_failed,
    /// 1 if the last line is cut, else 0.
    cut_last_line,
    /// Lines that could not be parsed, and were skipped.
    bad_lines,
}

impl Report {
    fn skip(&mut self, fault: TraceError) {
        self.bad_lines += 1;
        if self.first_bad_lines.len() < FAULTS_KEPT {
            self.first_bad_lines.push(fault);
        }
    }
}

/// Reads a log, packed or not, as it comes.
///
/// # Errors
///
/// For the first line that cannot be parsed, with its number; if the data is cut short or damaged, or there is no job
/// at all.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use hetsched_core::trace::pbs::{PbsNumberColumn, PbsOptions, read_pbs};
///
/// let text = b"05/01/2024 12:01:00;E;7.srv;ctime=60 start=70 end=130 Resource_List.nodect=2 Exit_status=0\n";
/// let options = PbsOptions { file: "log", zone: None, drop_never_ran: false, skip_bad_lines: false };
/// let mut done = read_pbs(Box::new(&text[..]), &options, &mut |_, _| ControlFlow::Continue(()))?;
/// assert_eq!(done.take_numbers(PbsNumberColumn::Runtime), [60.0]);
/// # Ok::<(), hetsched_core::error::Error>(())
/// ```
pub fn read_pbs(source: Box<dyn BufRead + '_>, options: &PbsOptions<'_>, watch: &mut ReadWatch<'_>) -> Result<Done> {
    let mut source = decompress::stream(source, options.file)?;
    let head = source.fill_buf().map_err(|error| super::sacct::text::unread(options.file, &error))?;
    if matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..]) {
        return Err(file_fault(options.file, "text in UTF-16", "text in UTF-8"));
    }
    let mut seen = 0;
    let mut look = |step: usize| {
        seen += step;
        decompress::look(watch, seen, 0)
    };
    let log = log::read(source, options, &mut look)?;
    let first_bad = log.report.first_bad_lines.first().cloned();
    let done = Done::new(log, options.drop_never_ran);
    if done.is_empty() {
        let none = || file_fault(options.file, "no job", "at least one job that had ended or was running");
        return Err(first_bad.map_or_else(none, Into::into));
    }
    Ok(done)
}
