//! Free capacity over time: units alone, or units and microwatts together where the budget may bind.

use crate::algo::horizon::{Amount, Profile};
use crate::algo::releases::Claim;
use crate::units::{SimDuration, SimTime};

/// A profile of exactly what a pass counts.
///
/// Needed microwatts are rounded up, free ones down.
#[derive(Clone, Debug)]
pub(super) enum Free {
    /// Units.
    Units(Profile<i64>),
    /// Units and microwatts.
    Both(Profile<[i64; 2]>),
}

fn both(claim: Claim) -> [i64; 2] {
    [claim.units, claim.microwatts]
}

impl Default for Free {
    fn default() -> Self {
        Self::Units(Profile::default())
    }
}

impl Free {
    pub(super) fn counts_watts(&self) -> bool {
        matches!(self, Self::Both(_))
    }

    /// Resets to units alone.
    pub(super) fn reset_units(&mut self, now: SimTime, free: i64, releases: impl Iterator<Item = (SimTime, i64)>) {
        if let Self::Both(_) = self {
            *self = Self::default();
        }
        if let Self::Units(units) = self {
            units.reset(now, free, releases);
        }
    }

    /// Resets to units and microwatts.
    pub(super) fn reset_both(&mut self, now: SimTime, free: Claim, releases: impl Iterator<Item = (SimTime, Claim)>) {
        if let Self::Units(_) = self {
            *self = Self::Both(Profile::default());
        }
        if let Self::Both(profile) = self {
            profile.reset(now, both(free), releases.map(|(at, claim)| (at, both(claim))));
        }
    }

    /// Becomes a copy of another with `more` at all times.
    pub(super) fn copy(&mut self, other: &Self, more: Claim) {
        match (&mut *self, other) {
            (Self::Units(units), Self::Units(others)) => units.copy(others, more.units),
            (Self::Both(profile), Self::Both(others)) => profile.copy(others, both(more)),
            _ => {
                *self = other.clone();
                self.add(more);
            }
        }
    }

    /// Adds a claim, which may be below zero, at all times.
    fn add(&mut self, claim: Claim) {
        match self {
            Self::Units(units) => units.lift(claim.units),
            Self::Both(profile) => profile.lift(both(claim)),
        }
    }

    /// Adds a claim, which may be below zero, from `start` on.
    pub(super) fn add_from(&mut self, start: SimTime, claim: Claim) {
        match self {
            Self::Units(units) => units.add_from(start, claim.units),
            Self::Both(profile) => profile.add_from(start, both(claim)),
        }
    }

    /// Gives back what was taken from now on until `end`.
    pub(super) fn give_until(&mut self, end: SimTime, claim: Claim) {
        match self {
            Self::Units(units) => units.give_until(end, claim.units),
            Self::Both(profile) => profile.give_until(end, both(claim)),
        }
    }

    /// Forgets what was before `now`.
    pub(super) fn advance(&mut self, now: SimTime) {
        match self {
            Self::Units(profile) => profile.advance(now),
            Self::Both(profile) => profile.advance(now),
        }
    }

    /// Steps of the free capacity in order of time, each with the instant from which it holds.
    pub(super) fn steps(&self) -> Vec<(SimTime, Claim)> {
        match self {
            Self::Units(profile) => {
                profile.steps().map(|(at, units)| (at, Claim { units, microwatts: i64::MAX })).collect()
            }
            Self::Both(profile) => {
                profile.steps().map(|(at, [units, microwatts])| (at, Claim { units, microwatts })).collect()
            }
        }
    }

    /// Instant at which what is free changes first, if it does.
    pub(super) fn changes_at(&self) -> Option<SimTime> {
        match self {
            Self::Units(profile) => profile.changes_at(),
            Self::Both(profile) => profile.changes_at(),
        }
    }

    /// Capacity free now.
    pub(super) fn now(&self) -> Claim {
        match self {
            Self::Units(profile) => Claim { units: profile.first(), microwatts: 0 },
            Self::Both(profile) => {
                let [units, microwatts] = profile.first();
                Claim { units, microwatts }
            }
        }
    }

    /// Adds microwatts at all times, where they are counted.
    pub(super) fn lift_watts(&mut self, microwatts: i64) {
        if let Self::Both(profile) = self {
            profile.lift([0, microwatts]);
        }
    }

    /// Takes microwatts away from `start` on, where they are counted.
    pub(super) fn take_watts_from(&mut self, start: SimTime, microwatts: i64) {
        if let Self::Both(profile) = self {
            profile.take_from(start, [0, microwatts]);
        }
    }

    /// First instant within `length` from now at which less than the claim is free, and what is free then.
    pub(super) fn first_lack(&self, claim: Claim, length: SimDuration) -> Option<(SimTime, Claim)> {
        match self {
            Self::Units(profile) => {
                let (at, units) = profile.first_lack(claim.units, length)?;
                Some((at, Claim { units, microwatts: i64::MAX }))
            }
            Self::Both(profile) => {
                let (at, [units, microwatts]) = profile.first_lack(both(claim), length)?;
                Some((at, Claim { units, microwatts }))
            }
        }
    }

    pub(super) fn fits_between(&self, from: SimTime, until: SimTime, need: Claim, length: SimDuration) -> bool {
        match self {
            Self::Units(units) => units.fits_between(from, until, need.units, length),
            Self::Both(profile) => profile.fits_between(from, until, both(need), length),
        }
    }

    pub(super) fn earliest_fit(&self, from: SimTime, need: Claim, length: SimDuration) -> SimTime {
        match self {
            Self::Units(units) => units.earliest_fit_from(from, need.units, length),
            Self::Both(profile) => profile.earliest_fit_from(from, both(need), length),
        }
    }

    /// Fewest microwatts that are free from `start` on for `length`, which is longer than zero; no bound where they are
    /// not counted.
    pub(super) fn least_watts(&self, start: SimTime, length: SimDuration) -> i64 {
        match self {
            Self::Units(_) => i64::MAX,
            Self::Both(profile) => profile.least_between(start, length)[1],
        }
    }

    /// True if `need` is free from `start` on for `length`, which is longer than zero.
    pub(super) fn fits_at(&self, start: SimTime, need: Claim, length: SimDuration) -> bool {
        match self {
            Self::Units(units) => units.least_between(start, length).holds(need.units),
            Self::Both(profile) => profile.least_between(start, length).holds(both(need)),
        }
    }

    /// Number of times that `need` fits together from `start` on for `length`, which is longer than zero.
    pub(super) fn fit_together(&self, start: SimTime, need: Claim, length: SimDuration) -> i64 {
        match self {
            Self::Units(units) => units.least_between(start, length).how_often(need.units),
            Self::Both(profile) => profile.least_between(start, length).how_often(both(need)),
        }
    }

    pub(super) fn reserve(&mut self, start: SimTime, length: SimDuration, claim: Claim) {
        match self {
            Self::Units(units) => units.reserve(start, length, claim.units),
            Self::Both(profile) => profile.reserve(start, length, both(claim)),
        }
    }
}
