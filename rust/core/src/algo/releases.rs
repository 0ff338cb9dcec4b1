//! Planned releases of running jobs: what they give back, and when.

use std::ops::{Add, AddAssign, Deref, Sub, SubAssign};

use crate::algo::guide::Summary;
use crate::algo::sorted_blocks::{Keyed, SortedBlocks};
use crate::units::SimTime;

/// Share of the machine that a job holds while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// Nodes, or slots where nodes are shared.
    pub units: i64,
    /// Microwatts beyond idle; 0 where no budget counts them.
    pub microwatts: i64,
}

/// Source of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReleasedBy {
    /// The job in this row.
    Job(u32),
    /// Nodes of this cell that slept.
    Cell(u16),
    /// This node, which was out of service.
    Node(u32),
    /// The budget, which changes.
    Budget,
}

/// Planned release of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Planned end.
    pub at: SimTime,
    /// Its source: breaks ties of equal instants.
    pub by: ReleasedBy,
    /// Claim that is held until then.
    pub claim: Claim,
}

/// Total that a block releases.
#[derive(Clone, Copy, Debug)]
pub struct Sum(Claim);

impl Claim {
    /// True if there is at least as much of everything as in `need`.
    #[must_use]
    pub fn covers(self, need: Self) -> bool {
        self.units >= need.units && self.microwatts >= need.microwatts
    }

    /// The claim, `count` times.
    #[must_use]
    pub fn times(self, count: i64) -> Self {
        Self { units: self.units * count, microwatts: self.microwatts * count }
    }
}

impl Add for Claim {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { units: self.units + other.units, microwatts: self.microwatts + other.microwatts }
    }
}

impl Sub for Claim {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { units: self.units - other.units, microwatts: self.microwatts - other.microwatts }
    }
}

impl AddAssign for Claim {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Claim {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl std::iter::Sum for Claim {
    fn sum<I: Iterator<Item = Self>>(claims: I) -> Self {
        claims.fold(Self::default(), Add::add)
    }
}

impl Keyed for Release {
    type Key = (SimTime, ReleasedBy);
    fn key(&self) -> Self::Key {
        (self.at, self.by)
    }
}

impl Summary<Release> for Sum {
    const EMPTY: Self = Self(Claim { units: 0, microwatts: 0 });
    fn with(self, item: &Release) -> Self {
        Self(self.0 + item.claim)
    }
    fn without(self, item: &Release, _rest: &[Release]) -> Self {
        Self(self.0 - item.claim)
    }

    type Wide = ();
    const NOTHING: () = ();
    fn widen((): (), _: &Release) {}
    fn join((): (), (): ()) {}
}

/// Minimum number of changes that even a short list remembers.
const MEMORY: usize = 64;

/// Running jobs by planned end.
#[derive(Clone, Debug, Default)]
pub struct Releases {
    sorted: SortedBlocks<Release, Sum, 32>,
    total: Claim,
    /// Log of changes, oldest first; see [`Releases::changes`].
    changed: Vec<Change>,
    /// Number of changes forgotten before the first of `changed`; none where changes are not recorded.
    forgotten: Option<u64>,
}

/// Change of a list of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A job started.
    Came(Release),
    /// A job ended, or is planned to end at another time.
    Went(Release),
}

impl Deref for Releases {
    type Target = SortedBlocks<Release, Sum, 32>;
    fn deref(&self) -> &Self::Target {
        &self.sorted
    }
}

/// Shadow time of a job that does not fit now, and what is left over then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shadow {
    /// The earliest instant at which enough is free; [`SimTime::NEVER`] if all releases together are not enough.
    pub at: SimTime,
    /// Amount that is free then beyond the need, with all releases at exactly that instant counted; below zero where
    /// there is no such instant.
    pub extra: Claim,
}

impl Releases {
    /// An empty list whose changes can be followed.
    #[must_use]
    pub fn followed() -> Self {
        Self { forgotten: Some(0), ..Self::default() }
    }

    /// Adds a job's release.
    pub fn insert(&mut self, release: Release) {
        self.sorted.insert(release);
        self.total += release.claim;
        self.note(Change::Came(release));
    }

    /// Removes the release of this source at this planned end: it no longer holds anything.
    pub fn remove(&mut self, key: (SimTime, ReleasedBy)) -> Option<Release> {
        let release = self.sorted.remove(key)?;
        self.total -= release.claim;
        self.note(Change::Went(release));
        Some(release)
    }

    /// Total claim of all jobs.
    #[must_use]
    pub fn total(&self) -> Claim {
        self.total
    }

    /// Changes since a reader had seen `seen` of them, and the number of all changes so far; `None` in place of the
    /// changes if they are more than the reader should follow one by one.
    #[must_use]
    pub fn changes(&self, seen: u64) -> (Option<&[Change]>, u64) {
        let Some(forgotten) = self.forgotten else { return (None, u64::MAX) };
        let since = seen.checked_sub(forgotten).and_then(|from| self.changed.get(usize::try_from(from).ok()?..));
        (since, forgotten + self.changed.len() as u64)
    }

    fn note(&mut self, change: Change) {
        let Some(forgotten) = &mut self.forgotten else { return };
        let recent = MEMORY.max(self.sorted.len());
        if self.changed.len() > 2 * recent {
            // A reader that follows every pass has seen the older ones; one that has not would start from scratch
            // anyway.
            let older = self.changed.len() - recent;
            *forgotten += older as u64;
            self.changed.drain(..older);
        }
        self.changed.push(change);
    }

    /// The shadow time of a job that needs `need` when `free` is free now, and what is left over then.
    ///
    /// `added` are releases not yet in the list, sorted. A planned end that has passed counts as `now`.
    #[must_use]
    pub fn shadow(&self, now: SimTime, free: Claim, need: Claim, added: &[Release]) -> Shadow {
        let mut walk = Walk { free, need, at: free.covers(need).then_some(now), now, added };
        for (block, sum) in self.blocks() {
            if walk.passes_over(block, sum) {
                continue;
            }
            for release in block {
                if walk.step(release) {
                    return walk.shadow();
                }
            }
        }
        walk.rest();
        walk.shadow()
    }

    /// Total claim that is given back by an instant, itself included.
    #[must_use]
    pub fn until(&self, at: SimTime) -> Claim {
        let mut sum = Claim::default();
        for (block, of_block) in self.blocks() {
            if block.last().is_some_and(|last| last.at <= at) {
                sum += of_block.0;
                continue;
            }
            let within = block.iter().take_while(|release| release.at <= at);
            return sum + within.map(|release| release.claim).sum();
        }
        sum
    }

    /// Total claim of the jobs that still run past their planned end.
    #[must_use]
    pub fn overdue(&self, now: SimTime) -> Claim {
        self.until(now)
    }
}

/// A walk along the releases, in order of time.
struct Walk<'a> {
    free: Claim,
    need: Claim,
    at: Option<SimTime>,
    now: SimTime,
    added: &'a [Release],
}

impl Walk<'_> {
    /// Takes a whole block at once if the need is not met at its end.
    fn passes_over(&mut self, block: &[Release], sum: Sum) -> bool {
        let (None, Some(last)) = (self.at, block.last()) else { return false };
        let with = self.added.partition_point(|release| release.at <= last.at);
        let gained = self.added[..with].iter().map(|release| release.claim).fold(sum.0, Add::add);
        let short = !(self.free + gained).covers(self.need);
        if short {
            self.free += gained;
            self.added = &self.added[with..];
        }
        short
    }

    /// Takes one release and the added ones before it; true once no further one can count.
    fn step(&mut self, release: &Release) -> bool {
        while let Some((first, rest)) = self.added.split_first().filter(|(first, _)| first.at <= release.at) {
            self.added = rest;
            if self.take(first) {
                return true;
            }
        }
        self.take(release)
    }

    fn take(&mut self, release: &Release) -> bool {
        let at = release.at.max(self.now);
        if self.at.is_some_and(|reached| at > reached) {
            return true;
        }
        self.free += release.claim;
        if self.at.is_none() && self.free.covers(self.need) {
            self.at = Some(at);
        }
        false
    }

    fn rest(&mut self) {
        while let Some((first, rest)) = self.added.split_first() {
            self.added = rest;
            if self.take(first) {
                return;
            }
        }
    }

    fn shadow(&self) -> Shadow {
        Shadow { at: self.at.unwrap_or(SimTime::NEVER), extra: self.free - self.need }
    }
}

/// Merges two sorted lists of releases by time; at one instant, the `others` come first.
pub fn merged<'a>(
    running: impl Iterator<Item = Release> + 'a,
    others: &'a [Release],
) -> impl Iterator<Item = Release> + 'a {
    let (mut running, mut others) = (running.peekable(), others.iter().copied().peekable());
    std::iter::from_fn(move || {
        let next = running.peek().map_or(SimTime::NEVER, |release| release.at);
        others.next_if(|other| other.at <= next).or_else(|| running.next())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn release(row: u32, (end, units, microwatts): (i64, i64, i64)) -> Release {
        Release { at: at(end), by: ReleasedBy::Job(row), claim: Claim { units, microwatts } }
    }

    /// The rule in so many words: try every instant, count everything released by then.
    fn by_definition(now: SimTime, free: Claim, need: Claim, all: &[Release]) -> Shadow {
        let by = |instant: SimTime| {
            let released = all.iter().filter(|release| release.at.max(now) <= instant);
            free + released.map(|release| release.claim).sum()
        };
        let mut instants: Vec<_> = all.iter().map(|release| release.at.max(now)).chain([now]).collect();
        instants.sort_unstable();
        let found = instants.into_iter().find(|&instant| by(instant).covers(need));
        Shadow { at: found.unwrap_or(SimTime::NEVER), extra: by(found.unwrap_or(SimTime::NEVER)) - need }
    }

    #[test]
    fn a_reader_that_follows_every_change_is_told_each_once() {
        let mut releases = Releases::followed();
        let (_, mut seen) = releases.changes(u64::MAX);
        for row in 0..2000 {
            let one = release(row, (i64::from(row), 1, 0));
            releases.insert(one);
            let (news, all) = releases.changes(seen);
            assert_eq!(news, Some(&[Change::Came(one)][..]));
            seen = all;
            if row >= 100 {
                let gone = releases.remove((at(i64::from(row) - 100), ReleasedBy::Job(row - 100))).unwrap();
                let (news, all) = releases.changes(seen);
                assert_eq!(news, Some(&[Change::Went(gone)][..]));
                seen = all;
            }
        }
        assert_eq!(releases.changes(0).0, None);
    }

    proptest! {
        #[test]
        fn is_given_back_until_an_instant_what_ends_by_then(
            running in prop::collection::vec((-5..60_i64, 1..5_i64, 0..7_i64), 0..300),
            by in -9..70_i64,
        ) {
            let mut releases = Releases::default();
            (0..).zip(&running).for_each(|(row, &one)| releases.insert(release(row, one)));
            let ended = releases.iter().filter(|release| release.at <= at(by)).map(|release| release.claim);
            prop_assert_eq!(releases.until(at(by)), ended.sum());
        }

        #[test]
        fn is_the_earliest_instant_with_enough_and_counts_all_of_it(
            running in prop::collection::vec((-5..60_i64, 1..5_i64, 0..7_i64), 0..200),
            added in prop::collection::vec((0..60_i64, 1..5_i64, 0..7_i64), 0..6),
            free in (0..10_i64, 0..10_i64),
            need in (1..400_i64, 0..600_i64),
        ) {
            let mut releases = Releases::default();
            let running: Vec<_> = (0..).zip(running).map(|(row, given)| release(row, given)).collect();
            for &release in &running {
                releases.insert(release);
            }
            let mut added: Vec<_> = (1000..).zip(added).map(|(row, given)| release(row, given)).collect();
            added.sort_unstable();
            let all: Vec<_> = running.iter().chain(&added).copied().collect();
            let claim = |(units, microwatts)| Claim { units, microwatts };
            let shadow = releases.shadow(at(0), claim(free), claim(need), &added);
            prop_assert_eq!(shadow, by_definition(at(0), claim(free), claim(need), &all));
            let overdue: Claim = running.iter().filter(|release| release.at <= at(0)).map(|release| release.claim).sum();
            prop_assert_eq!(releases.overdue(at(0)), overdue);
        }
    }
}
