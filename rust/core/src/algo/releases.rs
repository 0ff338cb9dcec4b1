//! When running jobs are planned to give back what they hold.

use crate::algo::sorted_blocks::{Keyed, SortedBlocks, Summary};
use crate::units::SimTime;

/// What one running job gives back, and when by its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Planned end.
    pub at: SimTime,
    /// The job's row: the last word on equal instants.
    pub row: u32,
    /// Nodes, or slots where nodes are shared.
    pub units: u32,
}

/// How much a block releases in all.
#[derive(Clone, Copy, Debug)]
pub struct Sum(u32);

impl Keyed for Release {
    type Key = (SimTime, u32);
    fn key(&self) -> Self::Key {
        (self.at, self.row)
    }
}

impl Summary<Release> for Sum {
    const EMPTY: Self = Self(0);
    fn with(self, item: &Release) -> Self {
        Self(self.0 + item.units)
    }
}

/// Running jobs by planned end.
pub type Releases = SortedBlocks<Release, Sum>;

/// When a job that does not fit now will fit, and what is left beside it then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shadow {
    /// The earliest instant at which enough is free; [`SimTime::NEVER`] if all releases together are not enough.
    pub at: SimTime,
    /// What is free then beyond the need, all releases at exactly that instant counted.
    pub extra: u32,
}

impl Releases {
    /// The shadow time of a job that needs `units` when `free` are free now, and the extra units then.
    ///
    /// `added` are releases not yet in the list, sorted. A planned end that has passed counts as `now`.
    #[must_use]
    pub fn shadow(&self, now: SimTime, free: u32, units: u32, added: &[Release]) -> Shadow {
        let mut walk = Walk { free, units, at: if units <= free { Some(now) } else { None }, now, added };
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
}

/// A walk along the releases, in order of time.
struct Walk<'a> {
    free: u32,
    units: u32,
    at: Option<SimTime>,
    now: SimTime,
    added: &'a [Release],
}

impl Walk<'_> {
    /// Takes a whole block at once if the need is not met at its end.
    fn passes_over(&mut self, block: &[Release], sum: Sum) -> bool {
        let (None, Some(last)) = (self.at, block.last()) else { return false };
        let with = self.added.partition_point(|release| release.at <= last.at);
        let gained = sum.0 + self.added[..with].iter().map(|release| release.units).sum::<u32>();
        let short = self.free + gained < self.units;
        if short {
            self.free += gained;
            self.added = &self.added[with..];
        }
        short
    }

    /// Takes one release and the added ones before it; true once nothing more can count.
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
        self.free += release.units;
        if self.at.is_none() && self.free >= self.units {
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
        Shadow { at: self.at.unwrap_or(SimTime::NEVER), extra: self.free.saturating_sub(self.units) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    /// The rule in so many words: try every instant, count everything released by then.
    fn by_definition(now: SimTime, free: u32, units: u32, all: &[Release]) -> Shadow {
        let by =
            |instant: SimTime| free + all.iter().filter(|r| r.at.max(now) <= instant).map(|r| r.units).sum::<u32>();
        let mut instants: Vec<_> = all.iter().map(|release| release.at.max(now)).chain([now]).collect();
        instants.sort_unstable();
        match instants.into_iter().find(|&instant| by(instant) >= units) {
            Some(instant) => Shadow { at: instant, extra: by(instant) - units },
            None => Shadow { at: SimTime::NEVER, extra: 0 },
        }
    }

    proptest! {
        #[test]
        fn is_the_earliest_instant_with_enough_and_counts_all_of_it(
            running in prop::collection::vec((-5..60_i64, 1..5_u32), 0..200),
            added in prop::collection::vec((0..60_i64, 1..5_u32), 0..6),
            free in 0..10_u32,
            units in 1..400_u32,
        ) {
            let mut releases = Releases::default();
            let mut all = Vec::new();
            for (row, &(end, units)) in (0..).zip(&running) {
                let release = Release { at: at(end), row, units };
                releases.insert(release);
                all.push(release);
            }
            let mut added: Vec<_> =
                (1000..).zip(&added).map(|(row, &(end, units))| Release { at: at(end), row, units }).collect();
            added.sort_unstable();
            all.extend(&added);
            prop_assert_eq!(releases.shadow(at(0), free, units, &added), by_definition(at(0), free, units, &all));
        }
    }
}
