//! Reports: the facts that a host brings, in terms of rows and nodes.

use crate::control::orders::Which;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// A fact that the host reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// A run has ended; true if it has completed.
    Ended(Which, bool),
    /// A decided start did not take place, because of these nodes.
    StartFailed(Which, Vec<u32>),
    /// A node serves from now on.
    NodeUp(u32),
    /// A node that was shutting down is off.
    NodeOff(u32),
    /// A node is out of service.
    NodeDown(u32),
    /// A job whose run is over is queued again.
    Requeued(JobId),
    /// The machine draws so much.
    Power(Watts),
    /// The machine may draw so much from one instant, by default now, until another.
    Budget(Watts, Option<SimTime>, SimTime),
    /// A job was submitted.
    Submitted(JobId),
    /// A job has nothing to wait for any more.
    Eligible(JobId),
    /// A job was withdrawn.
    Withdrawn(JobId),
    /// A run has begun on these nodes, ascending.
    Started(Which, Vec<u32>),
}

impl Report {
    /// Place within an instant: kinds in the order of engine rule 2, then jobs by their rows, and nodes by their
    /// numbers.
    #[must_use]
    pub fn place(&self) -> (u8, u32) {
        match self {
            Self::Ended(which, _) => (0, which.job.0),
            Self::StartFailed(which, _) => (1, which.job.0),
            Self::NodeUp(node) => (2, *node),
            Self::NodeOff(node) => (3, *node),
            Self::NodeDown(node) => (4, *node),
            Self::Requeued(job) => (5, job.0),
            Self::Power(_) => (6, 0),
            Self::Budget(..) => (7, 0),
            Self::Submitted(job) => (8, job.0),
            Self::Eligible(job) => (9, job.0),
            Self::Withdrawn(job) => (10, job.0),
            Self::Started(which, _) => (11, which.job.0),
        }
    }

    /// True if it comes before submissions.
    pub(super) fn is_of_machine(&self) -> bool {
        self.place().0 < 8
    }
}
