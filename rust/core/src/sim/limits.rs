//! Limits on the lengths of runs.

use crate::error::{Result, config};
use crate::sim::Options;
use crate::units::{MAX_SECONDS, SimDuration};

/// Nodes for which walltimes are meant, and the planned lengths of jobs without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walltimes {
    /// Meant for any nodes that a job gets.
    #[default]
    Fixed,
    /// Meant for nominal speed: longer on slower nodes, shorter on faster ones.
    Stretch,
}

impl Walltimes {
    /// Parses the name of the option.
    ///
    /// # Errors
    /// If it is unknown.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "fixed" => Ok(Self::Fixed),
            "stretch" => Ok(Self::Stretch),
            other => Err(config("walltimes", format!("`{other}`"), "one of fixed, stretch")),
        }
    }
}

/// Grace: time after its walltime at which a job is killed.
///
/// # Errors
/// If this is not a time from 0 to [`MAX_SECONDS`].
pub fn kill_grace(seconds: f64) -> Result<SimDuration> {
    let grace = SimDuration::from_seconds(seconds).filter(|&grace| grace >= SimDuration::ZERO);
    grace.ok_or_else(|| config("kill_grace_s", seconds.to_string(), format!("seconds from 0 to {MAX_SECONDS:e}")))
}

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
