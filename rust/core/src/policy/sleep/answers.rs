//! Answers to which nodes are woken and which go to sleep: those of plans, and that of the part that chooses.

use crate::units::SimTime;

/// Nodes that are woken now, and the time of the next wake-up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wakes {
    /// Woken now.
    pub(super) now: Vec<u32>,
    /// The next wake-up.
    pub(super) due: Option<SimTime>,
}

/// Answer of the plans to whether a node may go to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// No plan needs it soon.
    Given,
    /// A plan needs it soon.
    Denied,
    /// A plan needs as many nodes of the same rules and cell as are left.
    DeniedToAllAlike,
}

/// Nodes chosen by the part that chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestChoice {
    /// Idle nodes that go to sleep, first to last.
    pub sleep: Vec<u32>,
    /// Nodes that are off and are woken.
    pub wake: Vec<u32>,
    /// Time to ask again, if nothing happens before.
    pub again: Option<SimTime>,
}

impl Leave {
    pub(super) fn given_if(is_far: bool) -> Self {
        if is_far { Self::Given } else { Self::Denied }
    }
}

impl Wakes {
    /// Adds nodes to wake, and a time to look again.
    pub(super) fn and(mut self, nodes: Vec<u32>, again: Option<SimTime>) -> Self {
        self.now.extend(nodes);
        self.due = [self.due, again].into_iter().flatten().min();
        self
    }
}
