//! Options of a run.

use crate::error::{Result, config};
use crate::units::{MAX_SECONDS, SimDuration, SimTime};

/// Options of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// True if a job with a walltime is killed at it.
    pub kill_at_walltime: bool,
    /// Grace: time after its walltime at which a job is killed.
    pub kill_grace: SimDuration,
    /// Speed for which walltimes were meant.
    pub walltimes: Walltimes,
    /// Treatment of jobs whose nodes go down.
    pub on_failure: OnFailure,
    /// The run stops after this instant; jobs that still run or wait stay as they are.
    pub until: SimTime,
}

/// Nodes for which walltimes are meant, and the planned lengths of jobs without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walltimes {
    /// Meant for any nodes that a job gets.
    #[default]
    Fixed,
    /// Meant for nominal speed: longer on slower nodes, shorter on faster ones.
    Stretch,
}

/// Treatment of jobs whose nodes go down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// They end.
    #[default]
    Fail,
    /// They are requeued, with all their work to do.
    Requeue,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kill_at_walltime: true,
            kill_grace: SimDuration::ZERO,
            walltimes: Walltimes::Fixed,
            on_failure: OnFailure::Fail,
            until: SimTime::NEVER,
        }
    }
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

impl OnFailure {
    /// Parses the name of the option.
    ///
    /// # Errors
    /// If it is unknown.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "fail" => Ok(Self::Fail),
            "requeue" => Ok(Self::Requeue),
            other => Err(config("on_failure", format!("`{other}`"), "one of fail, requeue")),
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
