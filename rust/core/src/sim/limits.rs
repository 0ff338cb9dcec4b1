//! How long jobs may run.

use crate::error::{Result, config};
use crate::sim::Options;
use crate::units::{MAX_SECONDS, SimDuration};

/// What walltimes, and the lengths by which jobs without one are planned, were meant for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walltimes {
    /// For whatever nodes a job gets.
    #[default]
    Fixed,
    /// For nominal speed: on slower nodes they are longer, on faster ones shorter.
    Stretch,
}

impl Walltimes {
    /// What the option's name means.
    ///
    /// # Errors
    /// If it means nothing.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "fixed" => Ok(Self::Fixed),
            "stretch" => Ok(Self::Stretch),
            other => Err(config("walltimes", format!("`{other}`"), "one of fixed, stretch")),
        }
    }
}

/// How long after its walltime a job is killed.
///
/// # Errors
/// If this is no time from 0 to [`MAX_SECONDS`].
pub fn kill_grace(seconds: f64) -> Result<SimDuration> {
    let grace = SimDuration::from_seconds(seconds).filter(|&grace| grace >= SimDuration::ZERO);
    grace.ok_or_else(|| config("kill_grace_s", seconds.to_string(), format!("seconds from 0 to {MAX_SECONDS:e}")))
}

/// After how long jobs are killed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How long after its walltime a job is killed, if it is at all.
    grace: Option<SimDuration>,
    /// Whether walltimes were meant for nominal speed.
    stretch: bool,
}

impl Limits {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            grace: options.kill_at_walltime.then_some(options.kill_grace),
            stretch: options.walltimes == Walltimes::Stretch,
        }
    }

    /// How long after its walltime a job is killed.
    pub(super) fn grace(self) -> SimDuration {
        self.grace.unwrap_or_default()
    }

    /// How long a job of this walltime may run on nodes that are as slow as `factor` says, at a size at which it takes
    /// `size_time` times as long as at the one it asks for; none if it may for ever.
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
