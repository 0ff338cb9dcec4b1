//! Least caps: the lowest caps that an allocator may set for a job (operations page, rule 13), and the job's length
//! under them.

use crate::policy::View;
use crate::policy::budget::levels::Levels;
use crate::power::caps::CapsKind;
use crate::power::in_force::{Allotted, CapsInForce};
use crate::units::SimDuration;
use crate::workload::JobId;

/// Lower bound on the caps that an allocator sets for a job.
#[derive(Clone, Debug, Default)]
pub enum LeastCaps {
    /// It sets no caps.
    #[default]
    None,
    /// Watts per node.
    Watts(f64),
    /// Factor, from 1, by which its speed may be lowered: by levels of watts where there are tables by cap.
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

    /// Least length of a job (rule 14): its planned length, stretched by the slowdown of its least cap.
    #[must_use]
    pub fn length(&self, view: &View<'_>, job: JobId) -> SimDuration {
        let planned = view.jobs.planned(job);
        if let Self::None = self {
            return planned;
        }
        let least = self.of(view, job);
        if least == Allotted::None {
            return planned;
        }
        let (of, caps) = (view.profile(job), CapsInForce::own(view.jobs.cap_w(job)).allotting(least));
        let on = |node| caps.on(view.predicted, of, node);
        planned.stretched(view.predicted.slowdown(view.own_nodes(), (of.app, of.own), caps.own_w, on))
    }
}
