//! When passes are made.

use crate::units::SimDuration;

/// When a policy decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timing {
    /// Whenever something happened.
    #[default]
    AtOnce,
    /// At multiples of this, to gather jobs.
    Every(SimDuration),
    /// Whenever something happened; what is submitted, and nothing else, waits for a multiple of this.
    Gathering(SimDuration),
}

impl Timing {
    /// At multiples of `interval`; at once if that is zero.
    #[must_use]
    pub fn every(interval: SimDuration) -> Self {
        if interval == SimDuration::ZERO { Self::AtOnce } else { Self::Every(interval) }
    }

    /// At once, but for submissions, which wait for multiples of `interval`; at once for them too if that is zero.
    #[must_use]
    pub fn gathering(interval: SimDuration) -> Self {
        if interval == SimDuration::ZERO { Self::AtOnce } else { Self::Gathering(interval) }
    }

    /// Multiples of what passes wait for: always, or where nothing but submissions happened, as `submits_only` says; zero:
    /// they wait for nothing.
    #[must_use]
    pub fn interval(self, submits_only: bool) -> SimDuration {
        match self {
            Self::Every(interval) => interval,
            Self::Gathering(interval) if submits_only => interval,
            Self::Gathering(_) | Self::AtOnce => SimDuration::ZERO,
        }
    }
}
