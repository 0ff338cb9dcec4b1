//! Work of jobs in nominal node-time, and the part of it that was done.

use crate::units::{SimDuration, in_units};
use crate::workload::{JobId, Workload};

const MICROS_PER_SECOND: i128 = 1_000_000;

/// Work of jobs that started and ended, in nominal node-microseconds.
///
/// A job's work is its nominal runtime and communication time on each of its nodes. A job that ran to its end did all
/// of it; one that was cut did the same share of it as it ran of its whole run, rounded down to a node-microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    started: i128,
    completed: i128,
    /// Cut jobs, by `Cause`.
    cut: [Cut; 2],
}

/// Cause that ends jobs before their work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Their walltimes.
    Walltime,
    /// Failed nodes, maintenance, emergencies of power.
    Failure,
}

/// Number of jobs that were cut, and the work that they left undone, in nominal node-microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cut {
    jobs: usize,
    left: i128,
}

impl Work {
    /// Total work of these jobs, in nominal node-seconds.
    #[must_use]
    pub fn started_node_s(self) -> f64 {
        in_units(self.started, MICROS_PER_SECOND)
    }

    /// Work that was done.
    #[must_use]
    pub fn completed_node_s(self) -> f64 {
        in_units(self.completed, MICROS_PER_SECOND)
    }

    /// Work that was not done.
    #[must_use]
    pub fn lost_node_s(self) -> f64 {
        in_units(self.started - self.completed, MICROS_PER_SECOND)
    }

    /// Number of jobs that this cause ended before all of their work was done.
    #[must_use]
    pub fn cut_jobs(self, cause: Cause) -> usize {
        self.cut[cause as usize].jobs
    }

    /// Work that those jobs left undone.
    #[must_use]
    pub fn cut_node_s(self, cause: Cause) -> f64 {
        in_units(self.cut[cause as usize].left, MICROS_PER_SECOND)
    }

    /// Adds a job that ends. If it was cut, `cut` holds the cause, the time it ran and the length of its whole run.
    pub(super) fn end(&mut self, workload: &Workload, job: JobId, cut: Option<(Cause, SimDuration, SimDuration)>) {
        let nominal = workload.runtime(job).saturating_add(workload.comm(job));
        let all = i128::from(nominal.micros()) * i128::from(workload.node_count(job));
        let done = cut.map_or(all, |(_, ran, whole)| share(all, ran.micros().into(), whole.micros().into()));
        self.started += all;
        self.completed += done;
        if let Some((cause, ..)) = cut {
            let own = &mut self.cut[cause as usize];
            own.jobs += 1;
            own.left += all - done;
        }
    }
}

/// `all × ran / whole`, rounded down; in two parts, as the product may overflow.
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
