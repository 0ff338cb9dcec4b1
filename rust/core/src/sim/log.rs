//! What happened in a run beside starts and ends, one row each, as it happened (operations pages, rules 37).

use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A budget from outside begins to hold or ends.
    Budget,
    /// The machine draws more than the budget.
    Alert,
    /// An emergency lowers the cap of a run.
    LowerCap,
    /// It is raised again.
    RaiseCap,
    /// A run stands still from now on.
    Suspend,
    /// It goes on.
    Resume,
    /// A run was ended and its job queued again.
    Requeue,
    /// A run was ended for good.
    Kill,
    /// A node has failed.
    Failed,
    /// It is repaired.
    Repaired,
    /// A node goes into maintenance.
    Out,
    /// Its maintenance is over.
    Back,
    /// A node boots from now on.
    Wake,
    /// It is ready.
    Ready,
    /// A node shuts down from now on.
    Sleep,
    /// It is off.
    Off,
    /// A job was withdrawn, or waits for what will not come.
    Cancel,
    /// A run has got nodes.
    Grow,
    /// A run has given nodes up.
    Shrink,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// When.
    pub at: SimTime,
    /// What.
    pub kind: Kind,
    /// To which job, if to one.
    pub job: Option<JobId>,
    /// To which node, if to one.
    pub node: Option<u32>,
    /// The budget or the cap from now on, W, or the nodes of a run; NaN: none.
    pub value_w: f64,
    /// What the machine drew just before.
    pub before: Watts,
    /// What it draws just after.
    pub after: Watts,
}

impl Entry {
    /// Of something that changes no draw, unless more is said.
    pub(super) fn new(at: SimTime, kind: Kind, draw: Watts) -> Self {
        Self { at, kind, job: None, node: None, value_w: f64::NAN, before: draw, after: draw }
    }
}

impl Kind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Alert => "alert",
            Self::LowerCap => "lower-cap",
            Self::RaiseCap => "raise-cap",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
            Self::Requeue => "requeue",
            Self::Kill => "kill",
            Self::Failed => "failed",
            Self::Repaired => "repaired",
            Self::Out => "out",
            Self::Back => "back",
            Self::Wake => "wake",
            Self::Ready => "ready",
            Self::Sleep => "sleep",
            Self::Off => "off",
            Self::Cancel => "cancel",
            Self::Grow => "grow",
            Self::Shrink => "shrink",
        }
    }
}
