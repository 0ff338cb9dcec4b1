//! What can happen, and in which order within one instant.

use crate::units::Watts;
use crate::workload::JobId;

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A running job ends.
    End(JobId),
    /// A booting node is ready.
    NodeReady(u32),
    /// A node that shuts down is off.
    NodeOff(u32),
    /// A node comes back into service.
    NodeRepaired(u32),
    /// A node fails, and the jobs on it with it.
    NodeFailed(u32),
    /// The system's power budget changes; `None` = no budget.
    BudgetChanged(Option<Watts>),
    /// A job is submitted.
    Submit(JobId),
    /// A timer runs out.
    Timer,
    /// A pass that waited for its interval is due.
    PassDue,
}

impl Event {
    /// Place within an instant (engine rule 2): ends, node transitions, failures, budget changes, submits, timers.
    #[must_use]
    pub fn rank(self) -> u8 {
        match self {
            Self::End(_) => 0,
            Self::NodeReady(_) | Self::NodeOff(_) | Self::NodeRepaired(_) => 1,
            Self::NodeFailed(_) => 2,
            Self::BudgetChanged(_) => 3,
            Self::Submit(_) => Self::SUBMIT_RANK,
            Self::Timer | Self::PassDue => 5,
        }
    }

    /// The rank of a submission.
    pub const SUBMIT_RANK: u8 = 4;
}
