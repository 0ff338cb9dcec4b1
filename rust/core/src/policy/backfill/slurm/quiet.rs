//! Beats that change nothing: once both loops have found nothing to start, they find nothing until something changes or
//! a comparison with the present turns out otherwise.

use crate::units::SimDuration;

/// Outcome of a backfill cycle that started nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fruitless {
    /// First second from which the outcome may be another one.
    pub(super) until: i64,
    /// Length of the cycle.
    pub(super) length: SimDuration,
    /// True if it made a plan, which counts as a change (rule 10).
    pub(super) has_planned: bool,
}

/// Knowledge of the beats to come, as long as nothing changes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quiet {
    /// True if a full run of the main loop started nothing.
    pub(super) main: bool,
    /// The last cycle, if it started nothing.
    pub(super) cycle: Option<Fruitless>,
}

impl Quiet {
    /// The cycle that all cycles repeat up to a second, if main runs start nothing either.
    pub(super) fn holds_at(&self, second: i64) -> Option<Fruitless> {
        self.cycle.filter(|cycle| self.main && second < cycle.until)
    }
}
