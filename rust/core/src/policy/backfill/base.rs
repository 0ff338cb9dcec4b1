//! Base of every plan: what the running jobs hold and when they give it back.
//!
//! It is kept from pass to pass and follows the list of releases, so that a plan copies it instead of adding up all
//! running jobs.

use crate::algo::horizon::Profile;
use crate::algo::releases::{Change, Claim, Release, ReleasedBy, Releases};
use crate::policy::backfill::free::Free;
use crate::units::SimTime;

/// Number of releases that are added up in order in the time in which one change is followed.
const DEAR: usize = 12;
/// Most changes that are followed however few jobs run.
const FEW: usize = 8;

/// Free capacity over time, relative to its final level: zero once all running jobs have ended, and negative before.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct Base {
    free: Free,
    /// Instant of the last call, and the number of changes of the releases followed by then.
    seen: Option<(SimTime, u64)>,
    /// Releases of nodes that sleep which have come since then.
    moving: Vec<Release>,
}

impl Base {
    /// Returns the base as of `now`, with units alone or with microwatts.
    pub(super) fn of(&mut self, releases: &Releases, now: SimTime, counts_watts: bool) -> &Free {
        let seen = self.seen.filter(|&(then, _)| then <= now && self.free.counts_watts() == counts_watts);
        let (news, all) = releases.changes(seen.map_or(u64::MAX, |(_, seen)| seen));
        match news.filter(|news| news.len() <= FEW.max(releases.len() / DEAR)) {
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
    ///
    /// Nodes that are off could be back a boot after each pass: most of their releases have come and gone since the last
    /// call, and leave no trace.
    fn follow(&mut self, news: &[Change], now: SimTime) {
        self.free.advance(now);
        for change in news {
            match *change {
                Change::Came(release) if matches!(release.by, ReleasedBy::Cell(_)) => self.moving.push(release),
                Change::Came(release) => self.come(&release, now),
                Change::Went(release) => match self.moving.iter().rposition(|moving| *moving == release) {
                    Some(place) => _ = self.moving.swap_remove(place),
                    None if release.at > now => self.free.give_until(release.at, release.claim),
                    None => {}
                },
            }
        }
        let mut moving = std::mem::take(&mut self.moving);
        moving.drain(..).for_each(|release| self.come(&release, now));
        self.moving = moving;
    }

    fn come(&mut self, &Release { at, claim, .. }: &Release, now: SimTime) {
        if at > now {
            self.free.reserve(now, at - now, claim);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    /// Free units at each instant from `now` on, relative to the end.
    fn free(base: &Base, now: i64) -> Vec<i64> {
        let mut units = Profile::default();
        base.copy_units(0, &mut units);
        (now..130).map(|then| units.least_between(at(then), at(1) - at(0))).collect()
    }

    proptest! {
        /// Twin: a base made of the releases at once. Nodes that are off could be back a boot after each step.
        #[test]
        fn a_base_that_follows_the_releases_is_the_one_made_of_them(
            running in prop::collection::vec((1..120_i64, 1..5_i64), 0..150),
            steps in prop::collection::vec((0..3_i64, 0..4_u8, 1..90_i64, 0..4_i64, any::<bool>()), 1..40),
        ) {
            let (mut releases, mut rows, mut now) = (Releases::followed(), 0_u32.., 0);
            let release = |end: i64, by, units| Release { at: at(end), by, claim: Claim { units, microwatts: 0 } };
            for (end, units) in running {
                releases.insert(release(end, ReleasedBy::Job(rows.next().unwrap()), units));
            }
            let (mut base, mut off) = (Base::default(), None);
            for (gap, what, span, units, is_looked_at) in steps {
                now += gap;
                match what {
                    0 => releases.insert(release(now + span, ReleasedBy::Job(rows.next().unwrap()), units + 1)),
                    1 => {
                        let one = releases.iter().nth(usize::try_from(span).unwrap()).copied();
                        one.and_then(|one| releases.remove((one.at, one.by)));
                    }
                    _ => {
                        off.take().and_then(|key| releases.remove(key));
                        if units > 0 {
                            let back = release(now + 9, ReleasedBy::Cell(0), units);
                            releases.insert(back);
                            off = Some((back.at, back.by));
                        }
                    }
                }
                if is_looked_at {
                    let mut made = Base::default();
                    base.keep_up(&releases, at(now));
                    made.keep_up(&releases, at(now));
                    prop_assert_eq!(free(&base, now), free(&made, now));
                }
            }
        }
    }
}
