//! Timing of passes.

use crate::units::SimDuration;

/// Instants at which a policy decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// Whenever something happened.
    #[default]
    AtOnce,
    /// Only at multiples of this, to gather jobs.
    Every(SimDuration),
    /// Whenever something happened; at the next multiple of this if that was nothing but submissions.
    Gathering(SimDuration),
}

impl Timing {
    /// Passes at multiples of `interval`; at once if that is zero.
    #[must_use]
    pub fn every(interval: SimDuration) -> Self {
        if interval == SimDuration::ZERO { Self::AtOnce } else { Self::Every(interval) }
    }

    /// Passes at once, except that submissions wait for multiples of `interval`; if that is zero, they do not wait
    /// either.
    #[must_use]
    pub fn gathering(interval: SimDuration) -> Self {
        if interval == SimDuration::ZERO { Self::AtOnce } else { Self::Gathering(interval) }
    }

    /// Interval whose next multiple a pass waits for; zero: it waits for nothing. `submits_only`: nothing but
    /// submissions happened.
    #[must_use]
    pub fn interval(self, submits_only: bool) -> SimDuration {
        match self {
            Self::Every(interval) => interval,
            Self::Gathering(interval) if submits_only => interval,
            Self::Gathering(_) | Self::AtOnce => SimDuration::ZERO,
        }
    }
}
