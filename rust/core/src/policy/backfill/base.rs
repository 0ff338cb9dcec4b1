//! Base of every plan: what the running jobs hold and when they give it back.
//!
//! It is kept from pass to pass and follows the list of releases, so that a plan copies it instead of adding up all
//! running jobs.

use crate::algo::horizon::Profile;
use crate::algo::releases::{Change, Claim, Release, Releases};
use crate::policy::backfill::free::Free;
use crate::units::SimTime;

/// Free capacity over time, relative to its final level: zero once all running jobs have ended, and negative before.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct Base {
    free: Free,
    /// Instant of the last call, and the number of changes of the releases followed by then.
    seen: Option<(SimTime, u64)>,
}

impl Base {
    /// Returns the base as of `now`, with units alone or with microwatts.
    pub(super) fn of(&mut self, releases: &Releases, now: SimTime, counts_watts: bool) -> &Free {
        let seen = self.seen.filter(|&(then, _)| then <= now && self.free.counts_watts() == counts_watts);
        let (news, all) = releases.changes(seen.map_or(u64::MAX, |(_, seen)| seen));
        match news.filter(|news| news.len() <= releases.len()) {
            Some(news) => self.follow(news, now),
            None => self.make(releases, now, counts_watts),
        }
        self.seen = Some((now, all));
        &self.free
    }

    /// Becomes the base as of `now`, with units alone.
    pub(in crate::policy) fn keep_up(&mut self, releases: &Releases, now: SimTime) {
        self.of(releases, now, false);
    }

    /// Writes the units of the last base over time into `units`, with `all` of them at its end.
    pub(in crate::policy) fn copy_units(&self, all: i64, units: &mut Profile<i64>) {
        if let Free::Units(base) = &self.free {
            units.copy(base, all);
        }
    }

    fn make(&mut self, releases: &Releases, now: SimTime, counts_watts: bool) {
        let ends = releases.iter().map(|release| (release.at.max(now), release.claim));
        let taken = Claim::default() - releases.total();
        if counts_watts {
            self.free.reset_both(now, taken, ends);
        } else {
            self.free.reset_units(now, taken.units, ends.map(|(at, claim)| (at, claim.units)));
        }
    }

    /// Applies changes of the releases. Those that end by now no longer matter, whether they came or went.
    fn follow(&mut self, news: &[Change], now: SimTime) {
        self.free.advance(now);
        for change in news {
            match *change {
                Change::Came(Release { at, claim, .. }) if at > now => self.free.reserve(now, at - now, claim),
                Change::Went(Release { at, claim, .. }) if at > now => self.free.give_until(at, claim),
                Change::Came(_) | Change::Went(_) => {}
            }
        }
    }
}
