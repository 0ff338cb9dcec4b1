//! Limits on the lengths of runs.

use crate::sim::options::{Options, Walltimes};
use crate::units::SimDuration;

/// Rule for the time after which jobs are killed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Time after its walltime at which a job is killed; `None` if no job is.
    grace: Option<SimDuration>,
    /// True if walltimes are meant for nominal speed.
    stretch: bool,
}

impl Limits {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            grace: options.kill_at_walltime.then_some(options.kill_grace),
            stretch: options.walltimes == Walltimes::Stretch,
        }
    }

    /// Time after its walltime at which a job is killed.
    pub(super) fn grace(self) -> SimDuration {
        self.grace.unwrap_or_default()
    }

    /// Time that a job with this walltime may run on nodes with the time factor `factor`, at a size at which it takes
    /// `size_time` times as long as at the size it asks for; `None` if there is no limit.
    pub(super) fn of(
        self,
        walltime: Option<SimDuration>,
        size_time: f64,
        factor: impl FnOnce() -> f64,
    ) -> Option<SimDuration> {
        let (walltime, grace) = (walltime?, self.grace?);
        let by = if self.stretch { factor() * size_time } else { size_time };
        Some(walltime.stretched(by).saturating_add(grace))
    }
}
