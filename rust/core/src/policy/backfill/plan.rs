//! What is promised to whom and when: nodes and, where a budget may bind, watts.
//!
//! Any number of reservations need a profile of the future. One needs less: what runs only gives back, so the first
//! instant with enough of both is the head's (its shadow time), what is left over then is least at that instant, and both
//! are found by adding up (Mu'alem & Feitelson 2001).

use crate::algo::fit_list::{Room, Waiting};
use crate::algo::releases::Claim;
use crate::algo::sorted_blocks::Place;
use crate::algo::staircase::Staircase;
use crate::error::Result;
use crate::policy::backfill::profile::Profile;
use crate::policy::backfill::shadow::ShadowTime;
use crate::policy::pass::Pass;
use crate::units::SimDuration;

/// A job of length zero needs its nodes all the same: its reservation holds them for one tick.
pub(super) const TICK: SimDuration = SimDuration::from_micros(1);

/// A plan of the future, made anew in every pass.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    /// For any number of reservations.
    Profile(Profile),
    /// For one.
    Shadow(ShadowTime),
}

impl Plan {
    /// Forgets all promises: what runs, and what started in this pass, ends as planned.
    pub(super) fn reset(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        match self {
            Self::Profile(profile) => profile.reset(pass),
            Self::Shadow(shadow) => shadow.reset(pass),
        }
    }

    /// Whether a waiting job can start now beside the promises made so far.
    pub(super) fn fits_now(&mut self, pass: &mut Pass<'_>, waiting: &Waiting) -> Result<bool> {
        // Which watts it takes depends on where it would go; what it takes at least does not.
        if !self.holds(least(pass, waiting), waiting.length) {
            return Ok(false);
        }
        if !pass.counts_watts() {
            return Ok(true);
        }
        if !pass.fits(waiting)? {
            return Ok(false);
        }
        // A job of length zero ends as it starts: it delays no other, so its watts need not be known.
        Ok(waiting.length == SimDuration::ZERO || {
            let claim = pass.tried_claim(waiting)?;
            self.holds(claim, waiting.length)
        })
    }

    /// Whether so much is free from now on for so long.
    fn holds(&mut self, claim: Claim, length: SimDuration) -> bool {
        length == SimDuration::ZERO
            || match self {
                Self::Profile(profile) => profile.holds(claim, length),
                Self::Shadow(shadow) => shadow.holds(claim, length),
            }
    }

    /// A job starts that has just been found to fit.
    pub(super) fn start(&mut self, pass: &mut Pass<'_>, waiting: &Waiting) -> Result<()> {
        if waiting.length == SimDuration::ZERO {
            return Ok(());
        }
        let claim = if pass.counts_watts() {
            pass.tried_claim(waiting)?
        } else {
            Claim { units: waiting.units, microwatts: 0 }
        };
        match self {
            Self::Profile(profile) => profile.start(claim, waiting.length),
            Self::Shadow(shadow) => shadow.start(claim, waiting),
        }
        Ok(())
    }

    /// Promises a waiting job, and as many as make `count` with it that are alike, the earliest times at which they fit,
    /// with its mean watts.
    pub(super) fn reserve(&mut self, pass: &mut Pass<'_>, waiting: &Waiting, count: usize) {
        let need = pass.mean_need(waiting);
        match self {
            Self::Profile(profile) => profile.reserve(need, waiting.length, count),
            Self::Shadow(shadow) => shadow.reserve(pass, need),
        }
    }

    /// The first job at or after `from` that may fit now: only those are passed over that do not.
    pub(super) fn next(&self, pass: &Pass<'_>, from: Place) -> Option<Place> {
        let (room, refused) = self.within(pass.whole_room());
        match refused {
            Some(refused) => pass.queue.first_fit_unless(from, room, refused),
            None => pass.queue.first_fit(from, room),
        }
    }

    /// The first job at or after `from` of which it cannot be said without trying it that it does not fit now.
    pub(super) fn next_that_may(&mut self, pass: &mut Pass<'_>, from: Place) -> Result<Option<Place>> {
        let mut place = from;
        while let Some(found) = self.next(pass, place) {
            pass.examine()?;
            let Some(waiting) = pass.queue.get(found) else { break };
            if self.holds(least(pass, waiting), waiting.length) {
                return Ok(Some(found));
            }
            place = pass.queue.after(found);
        }
        Ok(None)
    }

    /// The part of a room in which a job fits beside the promises made so far.
    fn within(&self, room: Room) -> (Room, Option<&Staircase>) {
        match self {
            Self::Profile(profile) => (room, Some(profile.refused())),
            Self::Shadow(shadow) => (shadow.within(room), None),
        }
    }
}

/// What a waiting job takes at least. Where the budget cannot bind nobody counts what is left of the watts either.
fn least(pass: &Pass<'_>, waiting: &Waiting) -> Claim {
    Claim { units: waiting.units, microwatts: if pass.counts_watts() { waiting.watts } else { 0 } }
}
