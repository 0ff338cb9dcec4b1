//! What can happen beside the ends of runs and submissions, and in which order within one instant.

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A booting node is ready.
    NodeReady(u32),
    /// A node that shuts down is off.
    NodeOff(u32),
    /// A node comes back into service.
    NodeRepaired(u32),
    /// A node fails, and the jobs on it with it.
    NodeFailed(u32),
    /// A budget from outside begins to hold, or ends.
    Budget,
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
            Self::NodeReady(_) | Self::NodeOff(_) | Self::NodeRepaired(_) => 1,
            Self::NodeFailed(_) => 2,
            Self::Budget => 3,
            Self::Timer | Self::PassDue => 5,
        }
    }

    /// Whether it befalls the machine from outside; the others are what a run brings about itself.
    #[must_use]
    pub fn is_from_outside(self) -> bool {
        match self {
            Self::NodeRepaired(_) | Self::NodeFailed(_) | Self::Budget => true,
            Self::NodeReady(_) | Self::NodeOff(_) | Self::Timer | Self::PassDue => false,
        }
    }

    /// Whether both say what has become of the same node.
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
}
