//! Outcomes of jobs.

use super::jobs::{Jobs, NO_STATUS, flag, number};

/// Exit status of a job that was killed at its walltime.
const TIMEOUT: i32 = -29;

/// Outcome of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Completed,
    Timeout,
    Failed,
    Cancelled,
    /// It was withdrawn before it ran.
    NeverRan,
    Running,
    Unknown,
    /// It waited at the log's end.
    Pending,
}

impl Outcome {
    pub(super) fn of(jobs: &Jobs, job: usize) -> Self {
        let columns = &jobs.columns;
        let has_started = !columns.start[job].is_nan();
        match (jobs.is(job, flag::ENDED), has_started) {
            (false, true) => Self::Running,
            (false, false) if !jobs.rare.gone.contains_key(&number(job)) => Self::Pending,
            (_, false) => Self::NeverRan,
            _ if jobs.is(job, flag::DELETED) => Self::Cancelled,
            _ => match columns.exit_status[job] {
                0 => Self::Completed,
                TIMEOUT => Self::Timeout,
                NO_STATUS => Self::Unknown,
                _ => Self::Failed,
            },
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Completed => "COMPLETED",
            Self::Timeout => "TIMEOUT",
            Self::Failed => "FAILED",
            Self::Cancelled | Self::NeverRan => "CANCELLED",
            Self::Running => "RUNNING",
            Self::Pending | Self::Unknown => "",
        }
    }

    pub(super) fn status(self) -> i32 {
        match self {
            Self::Completed => 1,
            Self::Timeout | Self::Failed => 0,
            Self::Cancelled | Self::NeverRan => 5,
            Self::Running | Self::Pending | Self::Unknown => -1,
        }
    }
}
