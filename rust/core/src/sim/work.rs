//! Nominal node-time of jobs, and how much of it was done.

use crate::units::{SimDuration, in_units};
use crate::workload::{JobId, Workload};

const MICROS_PER_SECOND: i128 = 1_000_000;

/// The work of jobs that started and ended, in nominal node-microseconds.
///
/// A job's work is its nominal runtime and communication on each of its nodes. One that ran to its end did all of it, one
/// that was cut the same share of it as it ran of its whole run, rounded down to a node-microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    started: i128,
    completed: i128,
    /// Jobs that were killed at their walltime, and what they left undone.
    killed: usize,
    left_by_killed: i128,
}

impl Work {
    /// All there is in these jobs.
    #[must_use]
    pub fn started_node_s(self) -> f64 {
        in_units(self.started, MICROS_PER_SECOND)
    }

    /// What was done.
    #[must_use]
    pub fn completed_node_s(self) -> f64 {
        in_units(self.completed, MICROS_PER_SECOND)
    }

    /// What was not.
    #[must_use]
    pub fn lost_node_s(self) -> f64 {
        in_units(self.started - self.completed, MICROS_PER_SECOND)
    }

    /// Jobs that were killed at their walltime before they had done all of theirs.
    #[must_use]
    pub fn killed_jobs(self) -> usize {
        self.killed
    }

    /// What those did not do.
    #[must_use]
    pub fn killed_node_s(self) -> f64 {
        in_units(self.left_by_killed, MICROS_PER_SECOND)
    }

    /// A job ends; `cut` says after how much of which whole run, if before its end.
    pub(super) fn end(
        &mut self,
        workload: &Workload,
        job: JobId,
        cut: Option<(SimDuration, SimDuration)>,
        is_killed: bool,
    ) {
        let nominal = workload.runtime(job).saturating_add(workload.comm(job));
        let all = i128::from(nominal.micros()) * i128::from(workload.node_count(job));
        let done = cut.map_or(all, |(ran, whole)| share(all, ran.micros().into(), whole.micros().into()));
        self.started += all;
        self.completed += done;
        if is_killed {
            self.killed += 1;
            self.left_by_killed += all - done;
        }
    }
}

/// `all × ran / whole`, rounded down: in two parts, as the product may be too long.
fn share(all: i128, ran: i128, whole: i128) -> i128 {
    if ran >= whole { all } else { all / whole * ran + all % whole * ran / whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_down_and_never_overflows() {
        assert_eq!([share(100, 1, 3), share(100, 0, 3), share(100, 3, 3), share(0, 0, 0)], [33, 0, 100, 0]);
        let all = i128::from(i64::MAX) * i128::from(u32::MAX);
        let longest = i128::from(i64::MAX);
        assert_eq!(share(all, longest - 1, longest), all - i128::from(u32::MAX));
    }
}
