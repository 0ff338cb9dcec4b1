//! What happened in a run about power, one row each, as it happened (operations page, rule 37).

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
    /// The budget or the cap from now on, W; NaN: none.
    pub value_w: f64,
    /// What the machine drew just before.
    pub before: Watts,
    /// What it draws just after.
    pub after: Watts,
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
        }
    }
}
