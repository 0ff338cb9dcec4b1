//! Final states of jobs, and how they came to start.

use crate::platform::cells::Lack;
use crate::platform::queues::Bar;
use crate::sim::work::Cause;

/// Final state of a job, or its present one while the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Waits, or was never submitted before the run stopped.
    Pending,
    /// Is left out by the policy: nothing says when it would start.
    LeftOut,
    /// Runs when the run stopped.
    Running,
    /// Ran to its end.
    Completed,
    /// Was killed at its walltime.
    Timeout,
    /// Was killed by a node that failed.
    Failed,
    /// Its queue takes no jobs of its kind.
    Barred(Bar),
    /// Asks for more nodes than there are.
    RejectedNodes,
    /// Asks for more slots a node than nodes have.
    RejectedSlots,
    /// No node, or not enough, have what it asks for.
    Lacking(Lack),
    /// Would exceed the power budget on any nodes.
    RejectedPower,
    /// Fits between no two budgets to come, and was turned away.
    RejectedBetween,
    /// Fits between no two budgets to come, and waited.
    Between,
    /// Fits the power budget only with a profile that no queued job can give its application.
    RejectedProfile,
    /// Was killed because the machine drew more than its budget.
    Overdrawn,
    /// Is still waiting when no event is left that could let it start.
    Stranded,
    /// Was requeued in an emergency, and fits none of the budgets to come.
    Unpowered,
    /// Was ended by the maintenance of a node.
    Evicted,
    /// Was withdrawn.
    Cancelled,
    /// Depends on another job ending in a way in which it did not end.
    Hopeless,
    /// Depends on another job, which never ends.
    Unmet,
}

/// Way in which a job came to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartedBy {
    /// Started in the round of its submission (of becoming eligible, if that is later), with no earlier job left
    /// waiting.
    Immediate,
    /// Started while an earlier job in policy order stayed queued.
    Backfill,
    /// Started in its turn, after waiting.
    Reservation,
}

impl JobState {
    /// The cause that ended a job in this state before its work was done; none if nothing did.
    pub(super) fn cut_by(self) -> Option<Cause> {
        match self {
            Self::Completed => None,
            Self::Timeout => Some(Cause::Walltime),
            _ => Some(Cause::Failure),
        }
    }

    /// Name of the state.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending | Self::LeftOut | Self::Between | Self::Stranded | Self::Unmet => "pending",
            Self::Cancelled | Self::Hopeless => "cancelled",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Timeout => "timeout",
            Self::Failed | Self::Evicted | Self::Overdrawn | Self::Unpowered => "failed",
            Self::RejectedNodes
            | Self::RejectedSlots
            | Self::Barred(_)
            | Self::Lacking(_)
            | Self::RejectedPower
            | Self::RejectedBetween
            | Self::RejectedProfile => "rejected",
        }
    }

    /// Reason for the state, if it needs one.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::LeftOut => Some("no start is known for it"),
            Self::Stranded => Some("could not start, and nothing was to come that would have let it"),
            Self::RejectedNodes => Some("asks for more nodes than the platform has"),
            Self::RejectedSlots => Some("asks for more slots a node than the platform's nodes have"),
            Self::Barred(bar) => Some(barred(bar)),
            Self::Lacking(lack) => Some(lacking(lack)),
            Self::RejectedPower => Some("would exceed the power budget on any nodes"),
            Self::RejectedBetween | Self::Between => Some("fits between no two changes of the power budget"),
            Self::Overdrawn => Some("was killed: the machine drew more than its power budget"),
            Self::Unpowered => Some("was queued again in an emergency, and exceeds every power budget to come"),
            Self::RejectedProfile => {
                Some("fits the power budget only once its application has a profile, and no queued job can give it one")
            }
            Self::Failed => Some("a node failed"),
            Self::Evicted => Some("a node went into maintenance"),
            Self::Cancelled => Some("was cancelled before it ran"),
            Self::Hopeless => Some("the job that it depends on did not end as it asks"),
            Self::Unmet => Some("waits for a job that never ends"),
            Self::Timeout => Some("killed at its walltime"),
            Self::Pending | Self::Running | Self::Completed => None,
        }
    }
}

fn barred(bar: Bar) -> &'static str {
    match bar {
        Bar::Nodes => "asks for more nodes than its queue has",
        Bar::MaxNodes => "asks for more nodes than its queue allows (max_nodes)",
        Bar::MaxSlots => "asks for more slots in all than its queue allows (max_slots)",
        Bar::MaxWalltime => "asks for a longer walltime than its queue allows (max_walltime_s)",
        Bar::Users => "its queue does not take jobs of its user (users)",
    }
}

fn lacking(lack: Lack) -> &'static str {
    match lack {
        Lack::Constraint => "no node satisfies its constraint",
        Lack::Gpus => "no node that it may use has as many GPUs as it asks for",
        Lack::Memory => "no node that it may use has as much memory as it asks for",
        Lack::Nodes => "asks for more nodes than have what it asks for",
        Lack::Licences => "asks for licences that the platform does not have, or not as many",
    }
}

impl StartedBy {
    /// Name of the way.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Backfill => "backfill",
            Self::Reservation => "reservation",
        }
    }
}
