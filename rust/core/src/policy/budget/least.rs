//! Least caps: the lowest that an allocator may set for a job (operations page, rule 13), and what they make of its length.

use crate::policy::View;
use crate::policy::budget::levels::Levels;
use crate::power::caps::CapsKind;
use crate::power::in_force::{Allotted, CapsInForce};
use crate::units::SimDuration;
use crate::workload::JobId;

/// What an allocator may bring a job down to.
#[derive(Clone, Debug, Default)]
pub enum LeastCaps {
    /// It sets no caps.
    #[default]
    None,
    /// So many watts a node.
    Watts(f64),
    /// A speed so many times lower than its own, from 1: by levels of watts where there are tables by cap.
    Slowdown(f64, Levels),
}

impl LeastCaps {
    /// The least cap of a job.
    #[must_use]
    pub fn of(&self, view: &View<'_>, job: JobId) -> Allotted {
        match self {
            Self::None => Allotted::None,
            Self::Watts(watts) => Allotted::Watts(*watts),
            Self::Slowdown(limit, levels) => match view.predicted.caps_kind() {
                Some(CapsKind::Tables) => levels.lowest_within(view, job, *limit),
                Some(CapsKind::Model) => Allotted::Slowdown(*limit),
                None => Allotted::None,
            },
        }
    }

    /// The least length of a job (rule 14): its planned length, as much longer as its least cap slows it.
    #[must_use]
    pub fn length(&self, view: &View<'_>, job: JobId) -> SimDuration {
        let (planned, least) = (view.jobs.planned(job), self.of(view, job));
        if least == Allotted::None {
            return planned;
        }
        let (of, caps) = (view.profile(job), CapsInForce::own(view.jobs.cap_w(job)).allotting(least));
        planned.stretched(view.predicted.slowdown(of.app, of.own, caps.own_w, |node| caps.on(view.predicted, of, node)))
    }
}
