//! Events other than ends of runs and submissions, and the order of events within one instant.

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
    /// A window of maintenance of a node begins, and lasts until the given instant: the jobs on the node lose it.
    MaintenanceBegins(u32, SimTime),
    /// A budget from outside begins to hold, or ends.
    Budget,
    /// A job is withdrawn.
    Cancel(JobId),
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
        }
    }

    /// True if the event comes from outside; the others are caused by the run itself.
    #[must_use]
    pub fn is_from_outside(self) -> bool {
        match self {
            Self::NodeRepaired(_)
            | Self::NodeFailed(_)
            | Self::MaintenanceBegins(..)
            | Self::MaintenanceEnds(_)
            | Self::Budget
            | Self::Cancel(_) => true,
            Self::NodeReady(_) | Self::NodeOff(_) => false,
        }
    }

    /// True if both are failures or repairs of the same node.
    #[must_use]
    pub fn is_about(self, other: Self) -> bool {
        match (self, other) {
            (Self::NodeRepaired(one) | Self::NodeFailed(one), Self::NodeRepaired(other) | Self::NodeFailed(other)) => {
                one == other
            }
            _ => false,
        }
    }

    /// Rank of node transitions, which come before failures.
    pub const NODES: u8 = 1;

    /// Rank of a submission.
    pub const SUBMIT: u8 = 4;

    /// Rank of a withdrawal.
    pub const CANCEL: u8 = 5;
}
