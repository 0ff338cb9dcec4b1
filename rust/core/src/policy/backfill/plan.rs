//! Plan of the future: the nodes and, where a budget may bind, the watts that waiting jobs are promised, and when.
//!
//! Any number of reservations needs a profile of the future. A single one needs less: running jobs only give back, so
//! the head's start is the first instant with enough of both (its shadow time), and what it leaves over is least at
//! that instant. Both are found by adding up releases (Mu'alem & Feitelson 2001).

use crate::algo::fit_list::{FitList, Place, Room, Waiting};
use crate::algo::releases::Claim;
use crate::algo::staircase::Refused;
use crate::error::Result;
use crate::policy::backfill::profile::Profile;
use crate::policy::backfill::shadow::ShadowTime;
use crate::policy::desk::{Desk, Offer};
use crate::units::{SimDuration, SimTime};

/// A plan of the future, made again in every pass unless it is kept.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Profile for any number of reservations.
    pub(super) profile: Profile,
    /// Shadow time for one reservation, while only jobs take capacity; the budget must not fall.
    shadow: Option<ShadowTime>,
    /// True if the short cut serves in this pass.
    is_short: bool,
    /// Most microwatts that the plan has at any time once all running jobs have ended, before promises are taken off.
    most: i64,
}

/// Upper bound on the microwatts by which two plans of the same state can differ. At any time they differ by roundings,
/// each of less than one: of what is free now, of the runs of the first plan that have ended by then, and of those of
/// the second.
fn widest_margin(desk: &Desk<'_>) -> i64 {
    4 * (desk.view.units() + 1)
}

impl Plan {
    /// A plan for any number of reservations.
    pub(super) fn of_many() -> Self {
        Self { profile: Profile::default(), shadow: None, is_short: false, most: 0 }
    }

    /// A plan for one reservation.
    pub(super) fn of_one() -> Self {
        Self { shadow: Some(ShadowTime::default()), ..Self::of_many() }
    }

    /// True if the short cut serves in some passes.
    pub(super) fn may_be_short(&self) -> bool {
        self.shadow.is_some()
    }

    /// True if the short cut serves in this pass.
    pub(super) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Forgets all promises: running jobs, and those started in this pass, end as planned.
    pub(super) fn reset(&mut self, desk: &mut Desk<'_>) -> Result<()> {
        self.is_short = self.shadow.is_some() && !desk.expects_a_fall();
        let free = desk.free()?;
        self.most = desk.most_planned(free.microwatts);
        match self.short() {
            Some(shadow) => shadow.reset(desk, free),
            None => self.profile.reset(desk, free),
        }
        Ok(())
    }

    /// Goes on with the promises of earlier passes. Those that come true now, `due`, are taken as free.
    ///
    /// Returns the number of microwatts by which the plan was corrected; none if it disagrees with the desk about what
    /// is free.
    pub(super) fn resume(&mut self, desk: &mut Desk<'_>, due: Claim) -> Result<Option<i64>> {
        let (free, planned) = (desk.free()?, self.profile.free_now() + due);
        self.most = desk.most_planned(free.microwatts);
        let missing = free.microwatts - planned.microwatts;
        if free.units != planned.units || missing.abs() > widest_margin(desk) {
            return Ok(None);
        }
        if missing != 0 {
            self.profile.lift_watts(missing);
        }
        Ok(Some(missing))
    }

    /// Starts tracking the margin in microwatts within which the promises would stay the same.
    pub(super) fn watch_margin(&mut self, desk: &Desk<'_>) {
        self.profile.watch_margin(if desk.counts_watts() { widest_margin(desk) } else { 0 });
    }

    /// Returns the number of microwatts by which the plan may drift without changing a promise made since the last
    /// call; none if no possible drift could.
    pub(super) fn take_margin(&mut self, desk: &Desk<'_>) -> Option<i64> {
        if !desk.counts_watts() {
            return None;
        }
        Some(self.profile.take_margin()).filter(|&margin| margin < widest_margin(desk))
    }

    /// Returns the number of microwatts by which the plan may drift such that all promises made so far still hold
    /// alongside a start of this pass, which takes precedence once it runs; none if no possible drift could break them.
    pub(super) fn margin_beside(&self, desk: &Desk<'_>, waiting: &Waiting) -> Option<i64> {
        if !desk.counts_watts() || waiting.length == SimDuration::ZERO {
            return None;
        }
        Some(self.profile.margin_beside(waiting.length)).filter(|&margin| margin < widest_margin(desk))
    }

    fn short(&mut self) -> Option<&mut ShadowTime> {
        self.shadow.as_mut().filter(|_| self.is_short)
    }

    /// True if a waiting job can start now without breaking the promises made so far, as far as counts tell. Where
    /// watts are counted this requires an offer: the given one or a new one, which is left in `offer` if the job fits.
    pub(super) fn fits_now(
        &mut self,
        desk: &mut Desk<'_>,
        waiting: &Waiting,
        offer: &mut Option<Offer>,
    ) -> Result<bool> {
        // The watts that it takes depend on where it would go; its least claim does not.
        let may_fit = self.holds(desk.least(waiting), waiting.length);
        if !desk.counts_watts() {
            return Ok(may_fit);
        }
        if may_fit && offer.is_none() {
            let most = self.short().map_or(i64::MAX, |shadow| shadow.most_watts(waiting.length));
            *offer = desk.offer_within(waiting, most)?;
        }
        let Some(mut made) = offer.take() else { return Ok(false) };
        // A job of length zero ends as it starts: it delays no other, so its watts need not be known.
        let is_short = waiting.length == SimDuration::ZERO;
        if may_fit && (is_short || self.holds(desk.claim(&mut made)?, waiting.length)) {
            *offer = Some(made);
            return Ok(true);
        }
        desk.decline(made);
        Ok(false)
    }

    /// True if the claim is free from now on for the whole length.
    fn holds(&mut self, claim: Claim, length: SimDuration) -> bool {
        length == SimDuration::ZERO
            || match self.short() {
                Some(shadow) => shadow.holds(claim, length),
                None => self.profile.holds(claim, length),
            }
    }

    /// Takes the job of an offer out of the plan: it starts now.
    pub(super) fn start(&mut self, desk: &mut Desk<'_>, waiting: &Waiting, offer: &mut Offer) -> Result<()> {
        if waiting.length == SimDuration::ZERO {
            return Ok(());
        }
        let claim = desk.claim(offer)?;
        match self.short() {
            Some(shadow) => shadow.start(claim, waiting),
            None => self.profile.start(claim, waiting.length),
        }
        Ok(())
    }

    /// Promises the earliest starts to `count` jobs alike, of which this is the first, each with its mean watts.
    /// Returns the number of them that hold a reservation: those that fit at some instant.
    pub(super) fn reserve(&mut self, desk: &mut Desk<'_>, waiting: &Waiting, count: usize) -> usize {
        if desk.can_never_hold(waiting) {
            return 0;
        }
        let need = self.need(desk, waiting);
        match self.short() {
            Some(shadow) => shadow.reserve(desk, need),
            None => self.profile.reserve(need, waiting.length, count),
        }
    }

    /// Claim that a reservation holds for a waiting job.
    pub(super) fn need(&self, desk: &mut Desk<'_>, waiting: &Waiting) -> Claim {
        desk.need(waiting, self.most)
    }

    /// First job at or after `from` that may fit now. It passes over only jobs that certainly do not.
    pub(super) fn next(&self, desk: &mut Desk<'_>, queue: &FitList, from: Place) -> Option<Place> {
        let mut room = desk.whole_room();
        let refused = self.narrow(&mut room);
        desk.bound_beside(&mut room);
        queue.first_fit_unless(from, &room, refused)
    }

    /// First job at or after `from` that does not certainly fail to fit now, by its least claim.
    pub(super) fn next_that_may(&mut self, desk: &mut Desk<'_>, queue: &FitList, from: Place) -> Result<Option<Place>> {
        let mut place = from;
        while let Some(found) = self.next(desk, queue, place) {
            desk.examine()?;
            let Some(waiting) = queue.get(found) else { break };
            if self.holds(desk.least(waiting), waiting.length) {
                return Ok(Some(found));
            }
            place = queue.after(found);
        }
        Ok(None)
    }

    /// First job from one place on and before another that may fit before `until`, which is not before now.
    pub(super) fn first_before(
        &mut self,
        desk: &mut Desk<'_>,
        queue: &FitList,
        (from, to): (Place, Place),
        until: SimTime,
    ) -> Result<Option<Place>> {
        if self.is_short {
            return Ok(Some(from));
        }
        let profile = &mut self.profile;
        let (mut place, room) = (from, Room::of(i64::MAX));
        while let Some(found) = queue.first_fit_unless(place, &room, profile.not_before(until)).filter(|&at| at < to) {
            desk.examine()?;
            let Some(waiting) = queue.get(found) else { break };
            if profile.fits_before(until, desk.mean(waiting), waiting.length) {
                return Ok(Some(found));
            }
            place = queue.after(found);
        }
        Ok(None)
    }

    /// Narrows a room to the part in which a job can fit alongside the promises made so far; returns the needs in it that
    /// are known not to.
    fn narrow(&self, room: &mut Room) -> &Refused {
        match self.shadow.as_ref().filter(|_| self.is_short) {
            Some(shadow) => {
                shadow.narrow(room);
                Refused::NOTHING
            }
            None => self.profile.refused(),
        }
    }
}
