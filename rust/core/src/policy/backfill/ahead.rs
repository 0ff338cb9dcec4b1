//! Free nodes and watts from now on, for a host that plans by itself, counted as reservations count them.

use crate::algo::releases::{Claim, merged};
use crate::error::Result;
use crate::policy::View;
use crate::policy::backfill::free::Free;
use crate::policy::desk::Desk;
use crate::units::{SimDuration, SimTime};

/// Units, and microwatts where a budget may bind, that are free over time if running jobs end as planned.
#[derive(Clone, Debug)]
pub struct Ahead {
    now: SimTime,
    free: Free,
}

impl Ahead {
    /// Looks ahead at units alone.
    #[must_use]
    pub fn of(view: &View<'_>) -> Self {
        let (now, mut free) = (view.now, Free::default());
        let ends = view.releases.iter().map(|release| (release.at.max(now), release.claim.units));
        free.reset_units(now, view.slots.free_units(), ends);
        Self { now, free }
    }

    /// Looks ahead within a pass: its starts so far are taken off.
    ///
    /// # Errors
    /// If a placement fails.
    pub fn of_pass(desk: &mut Desk<'_>) -> Result<Self> {
        let (claim, to_come, now) = (desk.free()?, desk.to_come().collect::<Vec<_>>(), desk.view.now);
        let ends = merged(desk.view.releases.iter().copied(), &to_come).map(|one| (one.at.max(now), one.claim));
        let mut free = Free::default();
        if desk.counts_watts() {
            free.reset_both(now, claim, ends);
        } else {
            free.reset_units(now, claim.units, ends.map(|(at, claim)| (at, claim.units)));
        }
        Ok(Self { now, free })
    }

    /// The instant from which it looks ahead.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// True if watts are counted.
    #[must_use]
    pub fn counts_watts(&self) -> bool {
        self.free.counts_watts()
    }

    /// Steps of the free capacity in order of time, each with the instant from which it holds.
    #[must_use]
    pub fn steps(&self) -> Vec<(SimTime, Claim)> {
        self.free.steps()
    }

    /// Earliest instant, not before `from`, from which a need is free for `length`; [`SimTime::NEVER`] if there is
    /// none.
    #[must_use]
    pub fn earliest(&self, from: SimTime, need: Claim, length: SimDuration) -> SimTime {
        self.free.earliest_fit(from.max(self.now), need, length)
    }

    /// True if a need is free from now on for `length`.
    #[must_use]
    pub fn fits_now(&self, need: Claim, length: SimDuration) -> bool {
        self.free.first_lack(need, length).is_none()
    }

    /// Takes a need away from `start` on, which is not before now, for `length`; for one tick if that is zero.
    pub fn reserve(&mut self, start: SimTime, need: Claim, length: SimDuration) {
        self.free.reserve(start, length.max(SimDuration::TICK), need);
    }
}
