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
}

impl Timing {
    /// At multiples of `interval`; at once if that is zero.
    #[must_use]
    pub fn every(interval: SimDuration) -> Self {
        if interval == SimDuration::ZERO { Self::AtOnce } else { Self::Every(interval) }
    }

    /// Passes are made at multiples of this only; zero = whenever something happened.
    #[must_use]
    pub fn interval(self) -> SimDuration {
        match self {
            Self::AtOnce => SimDuration::ZERO,
            Self::Every(interval) => interval,
        }
    }
}
