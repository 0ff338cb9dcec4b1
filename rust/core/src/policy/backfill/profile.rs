//! Reservations in a profile of the free capacity over time.

use std::collections::BTreeMap;

use crate::algo::floors::Floors;
use crate::algo::partial_plan::CountedUnits;
use crate::algo::recent::Recent;
use crate::algo::releases::{Claim, Release, merged};
use crate::algo::staircase::Refused;
use crate::policy::backfill::base::Base;
use crate::policy::backfill::free::Free;
use crate::policy::desk::Desk;
use crate::units::{SimDuration, SimTime};

/// Factor by which a margin is narrowed until a promise has it.
const NARROWER: i64 = 4;

/// With more new starts than this, plus a share of the running jobs, rebuilding the profile beats adding them one by
/// one.
const FEW: usize = 16;
const MOSTLY: usize = 8;

/// Free capacity from now on, minus promises.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    now: SimTime,
    free: Free,
    /// Releases of running jobs, without the starts of the pass.
    base: Base,
    /// Needs that do not fit now. They stay refused: within a pass capacity only shrinks.
    refused: Refused,
    /// Needs that do not fit before an instant, and the instant.
    late: Refused,
    late_from: SimTime,
    /// Last promised start of each need and length: jobs alike fit no earlier.
    last: BTreeMap<(Claim, SimDuration), SimTime>,
    /// Lower bounds on the starts of larger and longer needs, where only units are counted.
    floors: Floors,
    /// The same where watts are counted, too.
    recent: Recent,
    /// Microwatts by which the profile may be off at any time without a promise changing, if the plan is to be kept; 0
    /// if it is not.
    margin: i64,
    /// Least margin of the promises made since it was last asked for.
    least_margin: i64,
    /// Starts promised by the last call of `reserve`, each with its number of jobs.
    promised: Vec<(SimTime, usize)>,
}

impl Profile {
    pub(super) fn reset(&mut self, desk: &Desk<'_>, free: Claim) {
        let (now, releases) = (desk.view.now, desk.view.releases);
        self.now = now;
        self.refused.clear();
        self.late.clear();
        self.last.clear();
        self.recent.clear();
        self.watch_margin(0);
        self.floors.reset(now, desk.view.units());
        let to_come: Vec<_> = desk.to_come().collect();
        if to_come.len() > FEW + releases.len() / MOSTLY {
            self.make(desk, free, &to_come);
            return;
        }
        self.free.copy(self.base.of(releases, now, desk.counts_watts()), free + releases.total());
        for release in &to_come {
            self.free.add_from(release.at.max(now), release.claim);
        }
    }

    /// Rebuilds the profile from what is free and all releases.
    fn make(&mut self, desk: &Desk<'_>, free: Claim, to_come: &[Release]) {
        let (now, running) = (self.now, desk.view.releases.iter().copied());
        let ends = merged(running, to_come).map(|release| (release.at.max(now), release.claim));
        if desk.counts_watts() {
            self.free.reset_both(now, free, ends);
        } else {
            self.free.reset_units(now, free.units, ends.map(|(at, claim)| (at, claim.units)));
        }
    }

    /// Makes promises track their margin, the number of microwatts within which they would stay the same, up to
    /// `microwatts`; 0 turns this off.
    pub(super) fn watch_margin(&mut self, microwatts: i64) {
        self.margin = microwatts;
        self.least_margin = microwatts;
    }

    /// Returns the margin of all promises made since the last call: so many microwatts more or less would have changed
    /// none.
    pub(super) fn take_margin(&mut self) -> i64 {
        std::mem::replace(&mut self.least_margin, self.margin)
    }

    /// Free units after promises, where only units are counted.
    pub(super) fn counts(&mut self) -> Option<CountedUnits<'_>> {
        match &mut self.free {
            Free::Units(free) => Some(CountedUnits { free, floors: &mut self.floors }),
            Free::Both(_) => None,
        }
    }

    pub(super) fn counts_watts(&self) -> bool {
        self.free.counts_watts()
    }

    /// Takes away surplus that was given back, from its instants on.
    pub(super) fn take_excess(&mut self, excess: impl Iterator<Item = (SimTime, i64)>) {
        excess.for_each(|(at, microwatts)| self.free.take_watts_from(at.max(self.now), microwatts));
    }

    /// Corrects for roundings: so many more microwatts are free at all times.
    pub(super) fn lift_watts(&mut self, microwatts: i64) {
        self.free.lift_watts(microwatts);
    }

    /// Instant at which what is free changes first, if it does.
    pub(super) fn changes_at(&self) -> Option<SimTime> {
        self.free.changes_at()
    }

    /// Capacity free now after promises.
    pub(super) fn free_now(&self) -> Claim {
        self.free.now()
    }

    /// Goes on with the same promises at a later instant.
    pub(super) fn advance(&mut self, now: SimTime) {
        self.now = now;
        self.refused.clear();
        self.late.clear();
        self.free.advance(now);
    }

    pub(super) fn holds(&mut self, claim: Claim, length: SimDuration) -> bool {
        if self.refused.holds(claim.units, claim.microwatts, length) {
            return false;
        }
        let Some((at, free)) = self.free.first_lack(claim, length) else { return true };
        // A job that needs more than is free then, and lasts until then, does not fit either.
        let longer = at - self.now + SimDuration::TICK;
        if free.units < claim.units {
            self.refused.units.refuse(free.units + 1, longer);
        }
        if free.microwatts < claim.microwatts {
            self.refused.watts.refuse(free.microwatts + 1, longer);
        }
        false
    }

    pub(super) fn start(&mut self, claim: Claim, length: SimDuration) {
        self.take(self.now, claim, length);
    }

    /// Microwatts that a start of this pass leaves throughout its length, up to the margin that is tracked.
    pub(super) fn margin_beside(&self, length: SimDuration) -> i64 {
        self.free.least_watts(self.now, length).clamp(0, self.margin)
    }

    /// Needs that are known not to fit before `until`.
    pub(super) fn not_before(&mut self, until: SimTime) -> &Refused {
        if until > self.late_from {
            self.late.clear();
            self.late_from = until;
        }
        &self.late
    }

    /// True if `need` fits before `until`.
    pub(super) fn fits_before(&mut self, until: SimTime, need: Claim, length: SimDuration) -> bool {
        let from = self.floor(need, length);
        let fits = self.free.fits_between(from, until, need, length);
        if !fits {
            self.late.units.refuse(need.units, length);
            self.late_from = self.late_from.min(until);
        }
        fits
    }

    /// Promises `count` jobs that are alike, one after the other; returns how many fit at some instant.
    pub(super) fn reserve(&mut self, need: Claim, length: SimDuration, count: usize) -> usize {
        self.promised.clear();
        let mut left = count;
        while left > 0 {
            let start = self.earliest_fit(need, length);
            self.raise(need, length, start);
            // Those that follow fit at the same instant as long as enough is left for them.
            let together = match start {
                SimTime::NEVER => left,
                _ if left == 1 => 1,
                _ => self.fit_together(start, need, length).clamp(1, left),
            };
            self.promised.push((start, together));
            if start != SimTime::NEVER {
                self.take(
                    start,
                    need.times(i64::try_from(together).unwrap_or(i64::MAX)),
                    length.max(SimDuration::TICK),
                );
            }
            left -= together;
        }
        self.promised.iter().filter(|(start, _)| *start != SimTime::NEVER).map(|(_, together)| together).sum()
    }

    /// Starts promised by the last call of [`Profile::reserve`], each with its number of jobs.
    pub(super) fn promised(&self) -> &[(SimTime, usize)] {
        &self.promised
    }

    /// Lower bound on the start of `need`: within a pass capacity only shrinks.
    fn floor(&self, need: Claim, length: SimDuration) -> SimTime {
        let last = self.last.get(&(need, length)).copied().unwrap_or(self.now);
        let floor = match &self.free {
            Free::Units(_) => self.floors.of(need.units, length),
            Free::Both(_) => self.recent.floor(self.now, need, length),
        };
        floor.max(last).max(self.now)
    }

    fn raise(&mut self, need: Claim, length: SimDuration, start: SimTime) {
        let new = self.last.insert((need, length), start).is_none();
        match &self.free {
            Free::Units(_) if new => self.floors.raise(need.units, length, start),
            Free::Both(_) if start > self.recent.floor(self.now, need, length) => self.recent.note(need, length, start),
            _ => {}
        }
    }

    /// Number of times that `need` fits at `start`.
    fn fit_together(&self, start: SimTime, need: Claim, length: SimDuration) -> usize {
        usize::try_from(self.free.fit_together(start, need, length.max(SimDuration::TICK))).unwrap_or(0)
    }

    /// Needs that are known not to fit now.
    pub(super) fn refused(&self) -> &Refused {
        &self.refused
    }

    fn take(&mut self, start: SimTime, claim: Claim, length: SimDuration) {
        self.free.reserve(start, length, claim);
    }

    fn earliest_fit(&mut self, need: Claim, length: SimDuration) -> SimTime {
        let floor = match self.floor(need, length) {
            SimTime::NEVER => return SimTime::NEVER,
            floor => floor,
        };
        let more = |by: i64| Claim { microwatts: need.microwatts + by, ..need };
        let (mut start, mut margin) = (floor, self.margin);
        loop {
            // If it does not fit with less, it does not with more: the search goes on from there.
            start = self.free.earliest_fit(start, more(-margin), length);
            if margin == 0
                || start == SimTime::NEVER
                || self.free.fits_at(start, more(margin), length.max(SimDuration::TICK))
            {
                self.least_margin = self.least_margin.min(margin);
                return start;
            }
            margin /= NARROWER;
        }
    }
}
