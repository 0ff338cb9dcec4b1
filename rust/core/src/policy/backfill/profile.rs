//! Reservations in a profile of the future: how much is free when.

use std::collections::BTreeMap;

use crate::algo::availability::Availability;
use crate::algo::floors::Floors;
use crate::algo::releases::{Claim, Release, Releases};
use crate::algo::staircase::Staircase;
use crate::error::Result;
use crate::policy::backfill::plan::TICK;
use crate::policy::desk::Desk;
use crate::units::{SimDuration, SimTime};

/// What is free from now on, less what was promised.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    now: SimTime,
    units: Availability,
    /// Microwatts, where the budget may bind; a need is rounded up, what is free down.
    microwatts: Option<Availability>,
    /// Needs that do not fit now: in a pass there is only ever less.
    refused: Staircase,
    /// Where a need and length was promised last: those alike fit no earlier.
    last: BTreeMap<(Claim, SimDuration), SimTime>,
    /// Before when larger and longer needs do not fit, where only units are counted.
    floors: Floors,
    /// Which starts the last call of `reserve` has promised, and to how many jobs.
    promised: Vec<(SimTime, usize)>,
}

impl Profile {
    pub(super) fn reset(&mut self, desk: &mut Desk<'_>) -> Result<()> {
        let free = desk.free()?;
        let desk = &*desk;
        let now = desk.view.now;
        self.now = now;
        self.refused.clear();
        self.last.clear();
        self.floors.reset(now, desk.view.platform.units());
        let ends = || Merged::new(desk.view.releases, desk.added());
        self.units.reset(now, free.units, ends().map(|release| (release.at.max(now), release.claim.units)));
        self.microwatts = desk.counts_watts().then(|| {
            let mut microwatts = Availability::default();
            let given = ends().map(|release| (release.at.max(now), release.claim.microwatts));
            microwatts.reset(now, free.microwatts, given);
            microwatts
        });
        Ok(())
    }

    /// Goes on with the same promises at a later instant; returns what is free then beside them.
    pub(super) fn advance(&mut self, now: SimTime) -> i64 {
        self.now = now;
        self.refused.clear();
        self.units.advance(now)
    }

    pub(super) fn holds(&mut self, claim: Claim, length: SimDuration) -> bool {
        if !self.units.fits_now(claim.units, length) {
            self.refused.refuse(claim.units, length);
            return false;
        }
        self.microwatts.as_ref().is_none_or(|microwatts| microwatts.fits_now(claim.microwatts, length))
    }

    pub(super) fn start(&mut self, claim: Claim, length: SimDuration) {
        self.take(self.now, claim, length);
    }

    /// Promises `count` jobs that are alike, one after the other.
    pub(super) fn reserve(&mut self, need: Claim, length: SimDuration, count: usize) {
        self.promised.clear();
        let mut left = count;
        while left > 0 {
            let start = self.earliest_fit(self.floor(need, length), need, length);
            self.raise(need, length, start);
            // Those that follow fit at the same instant as long as enough is left for them.
            let together = match start {
                SimTime::NEVER => left,
                _ if left == 1 => 1,
                _ => self.fit_together(start, need, length).clamp(1, left),
            };
            self.promised.push((start, together));
            if start != SimTime::NEVER {
                self.take(start, need.times(i64::try_from(together).unwrap_or(i64::MAX)), length.max(TICK));
            }
            left -= together;
        }
    }

    /// What the last call of [`Profile::reserve`] has promised: starts, and how many jobs have each.
    pub(super) fn promised(&self) -> &[(SimTime, usize)] {
        &self.promised
    }

    /// An instant before which `need` does not fit: in a pass there is only ever less.
    fn floor(&self, need: Claim, length: SimDuration) -> SimTime {
        let last = self.last.get(&(need, length)).copied().unwrap_or(self.now);
        let floor = if self.microwatts.is_some() { last } else { last.max(self.floors.of(need.units, length)) };
        floor.max(self.now)
    }

    fn raise(&mut self, need: Claim, length: SimDuration, start: SimTime) {
        let new = self.last.insert((need, length), start).is_none();
        if new && self.microwatts.is_none() {
            self.floors.raise(need.units, length, start);
        }
    }

    /// How many times `need` fits at `start`.
    fn fit_together(&self, start: SimTime, need: Claim, length: SimDuration) -> usize {
        let length = length.max(TICK);
        let times =
            |of: &Availability, need: i64| if need > 0 { of.least_between(start, length) / need } else { i64::MAX };
        let watts = self.microwatts.as_ref().map_or(i64::MAX, |microwatts| times(microwatts, need.microwatts));
        usize::try_from(times(&self.units, need.units).min(watts)).unwrap_or(0)
    }

    /// Needs of units and lengths that do not fit now.
    pub(super) fn refused(&self) -> &Staircase {
        &self.refused
    }

    fn take(&mut self, start: SimTime, claim: Claim, length: SimDuration) {
        self.units.reserve(start, length, claim.units);
        if let Some(microwatts) = &mut self.microwatts {
            microwatts.reserve(start, length, claim.microwatts);
        }
    }

    fn earliest_fit(&self, from: SimTime, need: Claim, length: SimDuration) -> SimTime {
        if from == SimTime::NEVER {
            return from;
        }
        let mut start = self.units.earliest_fit_from(from, need.units, length);
        let Some(microwatts) = &self.microwatts else { return start };
        while start != SimTime::NEVER {
            let both = microwatts.earliest_fit_from(start, need.microwatts, length);
            if both == start {
                break;
            }
            start = both;
            if start != SimTime::NEVER {
                start = self.units.earliest_fit_from(start, need.units, length);
            }
        }
        start
    }
}

/// Releases of running jobs and of those started in this pass, by time.
struct Merged<'a, I: Iterator<Item = &'a Release>> {
    running: std::iter::Peekable<I>,
    added: &'a [Release],
}

impl<'a> Merged<'a, Box<dyn Iterator<Item = &'a Release> + 'a>> {
    fn new(running: &'a Releases, added: &'a [Release]) -> Self {
        let running: Box<dyn Iterator<Item = &'a Release> + 'a> = Box::new(running.iter());
        Self { running: running.peekable(), added }
    }
}

impl<'a, I: Iterator<Item = &'a Release>> Iterator for Merged<'a, I> {
    type Item = Release;
    fn next(&mut self) -> Option<Release> {
        let (first, rest) = match self.added.split_first() {
            Some((first, rest)) if self.running.peek().is_none_or(|running| first.at <= running.at) => (first, rest),
            _ => return self.running.next().copied(),
        };
        self.added = rest;
        Some(*first)
    }
}
