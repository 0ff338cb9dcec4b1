//! Rule of a node: the times by which plans count on it, and by which it may go to sleep.

use crate::units::SimDuration;

/// Rules for one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRule {
    /// V: time that stopping takes in plans.
    pub stop: SimDuration,
    /// W: time that starting takes in plans.
    pub start: SimDuration,
    /// Least distance of its next planned job; none: sleeping saves nothing, and it never sleeps.
    pub far: Option<SimDuration>,
    /// True if it is never put to sleep.
    pub is_excluded: bool,
    /// True if a wake-up takes no time, in plans and in fact: an off node is available at once.
    pub is_instant: bool,
}
