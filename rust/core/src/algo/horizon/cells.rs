//! How much of several things is free when, where a need may be met by some of them together: nodes of any of these kinds,
//! and so much of each of those.
//!
//! A [`Profile`](super::Profile) asks of every thing by itself whether there is enough. Here a job takes its nodes from
//! several cells, and what it could have of each for all its length is what counts: two cells that are free one after the
//! other are not enough.

use crate::units::{SimDuration, SimTime};

/// How much of which thing.
pub type Split = Vec<(u16, i64)>;

/// So many of some things together, and so much of each of others.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Things that count together, the first to be taken first.
    pub any_of: &'a [u16],
    /// How many of them.
    pub count: i64,
    /// What it takes besides.
    pub each: &'a [(u16, i64)],
    /// And of one thing more, if it does.
    pub also: Option<(u16, i64)>,
}

impl Wish<'_> {
    /// How many there are of the things that count together; none if something else is short.
    #[must_use]
    pub fn room(&self, free: &[i64]) -> i64 {
        let is_short = self.each.iter().chain(&self.also).any(|&(thing, need)| free[usize::from(thing)] < need);
        if is_short { 0 } else { self.any_of.iter().map(|&thing| free[usize::from(thing)].max(0)).sum() }
    }

    /// What it takes of each thing, if there is enough.
    #[must_use]
    pub fn split(&self, free: &[i64]) -> Option<Split> {
        if self.room(free) < self.count {
            return None;
        }
        let mut left = self.count;
        let mut split = Split::with_capacity(self.any_of.len() + self.each.len() + 1);
        for &thing in self.any_of {
            let taken = free[usize::from(thing)].clamp(0, left);
            if taken > 0 {
                split.push((thing, taken));
                left -= taken;
            }
        }
        split.extend(self.each.iter().chain(&self.also));
        Some(split)
    }
}

/// Free amounts of several things over future time. Each step holds until the next; the last holds for ever.
///
/// What is free may be below zero where a plan promised more than there is.
#[derive(Clone, Debug, Default)]
pub struct CellProfile {
    /// How many things.
    width: usize,
    at: Vec<SimTime>,
    /// The amounts of one step after those of the other.
    free: Vec<i64>,
}

impl CellProfile {
    /// Nothing is free of so many things from `now` on.
    pub fn reset(&mut self, now: SimTime, width: usize) {
        self.width = width;
        self.at.clear();
        self.at.push(now);
        self.free.clear();
        self.free.resize(width, 0);
    }

    /// How many things.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// What `other` says, from its first instant on, with as much more or less for ever as makes `free` free then.
    pub fn copy(&mut self, other: &Self, free: &[i64]) {
        self.width = other.width;
        self.at.clone_from(&other.at);
        self.free.clone_from(&other.free);
        let more: Vec<i64> = free.iter().zip(other.step(0)).map(|(free, was)| free - was).collect();
        self.lift(&more);
    }

    /// Adds so much of each thing, for ever.
    pub fn lift(&mut self, more: &[i64]) {
        for step in self.free.chunks_exact_mut(self.width) {
            step.iter_mut().zip(more).for_each(|(own, more)| *own += more);
        }
    }

    /// Forgets what was before `now`.
    pub fn advance(&mut self, now: SimTime) {
        let over = self.in_force(now);
        self.at.drain(..over);
        self.free.drain(..over * self.width);
        self.at[0] = self.at[0].max(now);
    }

    /// Adds a split from `at` on for ever, or takes it away: from the first instant on if that is later.
    pub fn add_from(&mut self, at: SimTime, split: &[(u16, i64)], sign: i64) {
        let first = if at > self.at[0] { self.cut(at) } else { 0 };
        for step in self.free[first * self.width..].chunks_exact_mut(self.width) {
            change(step, split, sign);
        }
        if first > 0 && self.step(first) == self.step(first - 1) {
            self.at.remove(first);
            self.free.drain(first * self.width..(first + 1) * self.width);
        }
    }

    /// Whether there is so much of one thing for all of `length`, which is longer than zero, from `start` on.
    #[must_use]
    pub fn holds(&self, start: SimTime, length: SimDuration, (thing, need): (u16, i64)) -> bool {
        let end = start.saturating_add(length);
        let steps = (self.in_force(start)..self.at.len()).take_while(|&step| self.at[step] < end);
        steps.into_iter().all(|step| self.step(step)[usize::from(thing)] >= need)
    }

    /// What is free of each thing for all of `length`, which is longer than zero, from `start` on, and never more than
    /// `free`; or how many there are for `wish`, and when, as soon as these are too few.
    ///
    /// # Errors
    /// The instant at which something is short, and the room for the wish up to then.
    pub fn least(
        &self,
        start: SimTime,
        length: SimDuration,
        wish: &Wish<'_>,
        free: &mut [i64],
    ) -> Result<(), (SimTime, i64)> {
        let end = start.saturating_add(length);
        for step in self.in_force(start)..self.at.len() {
            if self.at[step] >= end {
                break;
            }
            keep_least(free, self.step(step));
            let room = wish.room(free);
            if room < wish.count {
                return Err((self.at[step].max(start), room));
            }
        }
        Ok(())
    }

    /// The earliest instant, not before `from`, from which `wish` can be had for `length`, which is longer than zero, and
    /// what it takes then; none if there is no such instant.
    #[must_use]
    pub fn earliest(&self, from: SimTime, length: SimDuration, wish: &Wish<'_>) -> Option<(SimTime, Split)> {
        let mut free = vec![i64::MAX; self.width];
        let mut first = self.in_force(from);
        while first < self.at.len() {
            // A step that is too little by itself spoils all that begin before it.
            if wish.room(self.step(first)) < wish.count {
                first += 1;
                continue;
            }
            let start = self.at[first].max(from);
            free.fill(i64::MAX);
            match self.least(start, length, wish, &mut free) {
                Ok(()) => return wish.split(&free).map(|split| (start, split)),
                Err((at, _)) => first = self.after(first, at, wish),
            }
        }
        None
    }

    /// The step to begin with next, when a search from `first` on was short at `at`.
    fn after(&self, first: usize, at: SimTime, wish: &Wish<'_>) -> usize {
        let short = self.in_force(at);
        if wish.room(self.step(short)) < wish.count { short + 1 } else { first + 1 }
    }

    /// Takes `split` away from `start` on for `length`.
    pub fn reserve(&mut self, start: SimTime, length: SimDuration, split: &[(u16, i64)]) {
        let end = start.saturating_add(length);
        if end <= start || self.at.is_empty() {
            return;
        }
        let (first, last) = (self.cut(start), self.cut(end));
        for step in first..last {
            change(&mut self.free[step * self.width..][..self.width], split, -1);
        }
    }

    /// Has a step begin at `at`; returns which.
    fn cut(&mut self, at: SimTime) -> usize {
        let step = self.in_force(at);
        if self.at[step] >= at {
            return step;
        }
        let here = step * self.width..(step + 1) * self.width;
        self.at.insert(step + 1, at);
        let amounts: Vec<i64> = self.free[here.clone()].to_vec();
        self.free.splice(here.end..here.end, amounts);
        step + 1
    }

    fn step(&self, step: usize) -> &[i64] {
        &self.free[step * self.width..][..self.width]
    }

    /// The step that holds at `at`, or the first.
    fn in_force(&self, at: SimTime) -> usize {
        self.at.partition_point(|&begins| begins <= at).saturating_sub(1)
    }
}

/// Adds a split to amounts, or takes it away.
pub fn change(amounts: &mut [i64], split: &[(u16, i64)], sign: i64) {
    for &(thing, amount) in split {
        amounts[usize::from(thing)] += sign * amount;
    }
}

fn keep_least(free: &mut [i64], other: &[i64]) {
    free.iter_mut().zip(other).for_each(|(free, &other)| *free = (*free).min(other));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INSTANTS: usize = 700;
    const THINGS: usize = 4;

    fn at(micros: usize) -> SimTime {
        SimTime::from_micros(i64::try_from(micros).unwrap())
    }

    /// What is free at every instant by itself.
    type Every = Vec<[i64; THINGS]>;

    fn throughout(every: &Every, start: usize, length: usize) -> [i64; THINGS] {
        let during = &every[start.min(INSTANTS - 1)..(start + length).clamp(start.min(INSTANTS - 1) + 1, INSTANTS)];
        std::array::from_fn(|thing| during.iter().map(|free| free[thing]).min().unwrap())
    }

    fn by_definition(every: &Every, from: usize, length: usize, wish: &Wish<'_>) -> Option<(SimTime, Split)> {
        (from..INSTANTS).find_map(|start| Some((at(start), wish.split(&throughout(every, start, length))?)))
    }

    proptest! {
        /// Twin: every instant by itself.
        #[test]
        fn agrees_with_amounts_for_every_instant(
            free in prop::array::uniform4(0..5_i64),
            releases in prop::collection::vec((0..40_usize, 0..3_u16, 1..4_i64, 0..2_i64), 0..12),
            wishes in prop::collection::vec((0..7_usize, 1..9_i64, 0..3_i64, 1..25_usize, 0..30_usize), 1..20),
        ) {
            let mut releases: Vec<(usize, Split)> =
                releases.into_iter().map(|(end, cell, nodes, tokens)| (end, vec![(cell, nodes), (3, tokens)])).collect();
            releases.sort_by_key(|release| release.0);
            let mut every: Every = vec![free; INSTANTS];
            for (end, split) in &releases {
                every[*end..].iter_mut().for_each(|free| change(free, split, 1));
            }
            let mut profile = CellProfile::default();
            let mut base = CellProfile::default();
            base.reset(at(0), THINGS);
            for (end, split) in &releases {
                base.add_from(at(*end), split, 1);
            }
            let here = releases.iter().filter(|(end, _)| *end == 0).flat_map(|(_, split)| split);
            let mut first = free.to_vec();
            here.for_each(|&(thing, amount)| first[usize::from(thing)] += amount);
            profile.copy(&base, &first);
            let groups: [&[u16]; 7] = [&[0], &[1], &[2], &[0, 1], &[2, 0], &[1, 2, 0], &[]];
            for (group, count, tokens, length, from) in wishes {
                let each = [(3, tokens)];
                let count = if groups[group].is_empty() { 0 } else { count };
                let wish = Wish { any_of: groups[group], count, each: &each, also: None };
                let span = SimDuration::from_micros(i64::try_from(length).unwrap());
                let found = profile.earliest(at(from), span, &wish);
                prop_assert_eq!(&found, &by_definition(&every, from, length, &wish));
                let mut least = free.to_vec();
                let fits = profile.least(at(from), span, &wish, &mut least).is_ok();
                let bounded: Vec<i64> =
                    throughout(&every, from, length).iter().zip(free).map(|(one, other)| (*one).min(other)).collect();
                prop_assert_eq!(fits, wish.split(&bounded).is_some());
                if let Some((start, split)) = found {
                    profile.reserve(start, span, &split);
                    let first = usize::try_from(start.micros()).unwrap();
                    every[first..(first + length).min(INSTANTS)].iter_mut().for_each(|free| change(free, &split, -1));
                }
            }
        }
    }

    proptest! {
        /// Twin: what was added and not taken away since, at every instant by itself.
        #[test]
        fn what_comes_and_goes_leaves_what_is_there(
            changes in prop::collection::vec((0..40_usize, 0..3_u16, 1..4_i64, any::<bool>(), 0..3_usize), 0..30),
        ) {
            let (mut profile, mut there, mut now) = (CellProfile::default(), Vec::new(), 0);
            profile.reset(at(0), THINGS);
            for (end, thing, amount, goes, passes) in changes {
                now += passes;
                profile.advance(at(now));
                if goes && !there.is_empty() {
                    let (end, split): (usize, Split) = there.remove(end % there.len());
                    profile.add_from(at(end), &split, -1);
                } else {
                    let split = vec![(thing, amount)];
                    profile.add_from(at(now + end), &split, 1);
                    there.push((now + end, split));
                }
                let mut copy = CellProfile::default();
                copy.copy(&profile, &[7; THINGS]);
                for instant in now..90 {
                    let mut expected = [7; THINGS];
                    let since = there.iter().filter(|(end, _)| (now + 1..=instant).contains(end));
                    since.for_each(|(_, split)| change(&mut expected, split, 1));
                    prop_assert_eq!(copy.step(copy.in_force(at(instant))), expected);
                }
            }
        }
    }

    #[test]
    fn cells_that_are_free_one_after_the_other_are_not_enough() {
        let releases: [(SimTime, Split); 2] = [(at(10), vec![(0, 2)]), (at(30), vec![(1, 2)])];
        let mut profile = CellProfile::default();
        profile.reset(at(0), 2);
        profile.add_from(at(0), &[(1, 2)], 1);
        for (at, split) in &releases {
            profile.add_from(*at, split, 1);
        }
        profile.reserve(at(20), SimDuration::from_micros(10), &[(1, 2)]);
        let wish = Wish { any_of: &[0, 1], count: 2, each: &[], also: None };
        let length = |micros| SimDuration::from_micros(micros);
        assert_eq!(profile.earliest(at(0), length(20), &wish), Some((at(0), vec![(1, 2)])));
        assert_eq!(profile.earliest(at(0), length(21), &wish), Some((at(10), vec![(0, 2)])));
    }
}
