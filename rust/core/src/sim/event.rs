//! What can happen beside the ends of runs and submissions, and in which order within one instant.

use crate::algo::span::Span;
use crate::units::SimTime;
use crate::workload::JobId;

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Booting nodes are ready.
    NodeReady(Span),
    /// Nodes that shut down are off.
    NodeOff(Span),
    /// A node that has failed is repaired.
    NodeRepaired(u32),
    /// A window of maintenance of a node ends.
    MaintenanceEnds(u32),
    /// A node fails, and the jobs on it with it.
    NodeFailed(u32),
    /// A window of maintenance of a node begins, until then: the jobs on it lose it.
    MaintenanceBegins(u32, SimTime),
    /// A budget from outside begins to hold, or ends.
    Budget,
    /// A job is withdrawn.
    Cancel(JobId),
    /// A timer runs out.
    Timer,
    /// A pass that waited for its interval is due.
    PassDue,
}

impl Event {
    /// Place within an instant (engine rule 2): ends, node transitions, failures, budget changes, submits, withdrawals,
    /// timers.
    #[must_use]
    pub fn rank(self) -> u8 {
        match self {
            Self::NodeReady(_) | Self::NodeOff(_) | Self::NodeRepaired(_) | Self::MaintenanceEnds(_) => Self::NODES,
            Self::NodeFailed(_) | Self::MaintenanceBegins(..) => 2,
            Self::Budget => 3,
            Self::Cancel(_) => Self::CANCEL,
            Self::Timer | Self::PassDue => 6,
        }
    }

    /// Whether it befalls the machine from outside; the others are what a run brings about itself.
    #[must_use]
    pub fn is_from_outside(self) -> bool {
        match self {
            Self::NodeRepaired(_)
            | Self::NodeFailed(_)
            | Self::MaintenanceBegins(..)
            | Self::MaintenanceEnds(_)
            | Self::Budget
            | Self::Cancel(_) => true,
            Self::NodeReady(_) | Self::NodeOff(_) | Self::Timer | Self::PassDue => false,
        }
    }

    /// Whether both say whether the same node has failed.
    #[must_use]
    pub fn is_about(self, other: Self) -> bool {
        match (self, other) {
            (Self::NodeRepaired(one) | Self::NodeFailed(one), Self::NodeRepaired(other) | Self::NodeFailed(other)) => {
                one == other
            }
            _ => false,
        }
    }

    /// The rank of what happens to nodes before any fails.
    pub const NODES: u8 = 1;

    /// The rank of a submission.
    pub const SUBMIT: u8 = 4;

    /// The rank of a withdrawal.
    pub const CANCEL: u8 = 5;
}
