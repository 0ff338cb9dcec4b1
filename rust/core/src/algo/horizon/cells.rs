//! Free amounts of several things over time, for needs that some of the things meet together: nodes of any of these
//! kinds, and so much of each of those.
//!
//! A [`Profile`](super::Profile) checks each thing separately. Here a job takes its nodes from several cells, and what
//! counts is what it could have of each throughout its length: two cells that are free one after the other are not
//! enough.

use crate::units::{SimDuration, SimTime};

/// Amounts by thing.
pub type NodesByCell = Vec<(u16, i64)>;

/// A number of some things together, and an amount of each of others.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// Things that count together, the first to be taken first.
    pub any_of: &'a [u16],
    /// Number of them.
    pub count: i64,
    /// Further needs, by thing.
    pub each: &'a [(u16, i64)],
    /// One more need, if there is one.
    pub also: Option<(u16, i64)>,
}

impl Wish<'_> {
    /// Number available of the things that count together; 0 if something else is short.
    #[must_use]
    pub fn room(&self, free: &[i64]) -> i64 {
        let is_short = self.each.iter().chain(&self.also).any(|&(thing, need)| free[usize::from(thing)] < need);
        if is_short { 0 } else { self.any_of.iter().map(|&thing| free[usize::from(thing)].max(0)).sum() }
    }

    /// Amount taken of each thing, if there is enough.
    #[must_use]
    pub fn split(&self, free: &[i64]) -> Option<NodesByCell> {
        if self.room(free) < self.count {
            return None;
        }
        let mut left = self.count;
        let mut split = NodesByCell::with_capacity(self.any_of.len() + self.each.len() + 1);
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

/// Free amounts of several things over future time, each thing separately, since most changes concern few of them. A
/// step holds until the next; the last holds for ever.
///
/// Free amounts may be below zero where a plan promised more than there is.
#[derive(Clone, Debug, Default)]
pub struct CellProfile {
    /// Steps of each thing from the first instant on: an instant and what is free from then on.
    steps: Vec<Vec<(SimTime, i64)>>,
}

/// A walk along the steps of one thing, from some instant on.
struct Look<'a> {
    steps: &'a [(SimTime, i64)],
    thing: u16,
    /// The next step to come.
    next: usize,
    /// The least amount so far.
    least: i64,
    /// The step after the last at which it was that low.
    spent: usize,
}

impl<'a> Look<'a> {
    fn new(steps: &'a [(SimTime, i64)], thing: u16, start: SimTime) -> Self {
        let next = in_force(steps, start) + 1;
        Self { steps, thing, next, least: steps[next - 1].1, spent: next }
    }

    /// Time of its next change.
    fn next_at(&self) -> SimTime {
        self.steps.get(self.next).map_or(SimTime::NEVER, |step| step.0)
    }

    /// End of the last step at which it was that low.
    fn spent_at(&self) -> SimTime {
        self.steps.get(self.spent).map_or(SimTime::NEVER, |step| step.0)
    }

    /// Goes on to its next step.
    fn pass(&mut self) {
        let amount = self.steps[self.next].1;
        self.next += 1;
        if amount <= self.least {
            (self.least, self.spent) = (amount, self.next);
        }
    }
}

/// Proof that a wish cannot be met from some instant on.
struct Short {
    /// Time at which something is short.
    at: SimTime,
    /// Room for the wish up to then.
    room: i64,
    /// Instant from which there may be more.
    until: SimTime,
}

impl CellProfile {
    /// Starts at `now` with nothing free, for `width` things.
    pub fn reset(&mut self, now: SimTime, width: usize) {
        self.steps.resize(width, Vec::new());
        for steps in &mut self.steps {
            steps.clear();
            steps.push((now, 0));
        }
    }

    /// Starts at `now` with `free` amounts, to which changes of single things are added, in order of time.
    pub fn fill(&mut self, now: SimTime, free: &[i64], changes: impl Iterator<Item = (SimTime, u16, i64)>) {
        self.reset(now, free.len());
        self.lift(free);
        for (at, thing, amount) in changes {
            let steps = &mut self.steps[usize::from(thing)];
            let last = steps.len() - 1;
            if at > steps[last].0 {
                steps.push((at, steps[last].1 + amount));
            } else {
                steps[last].1 += amount;
            }
        }
    }

    /// Number of things.
    #[must_use]
    pub fn width(&self) -> usize {
        self.steps.len()
    }

    /// Amounts of each thing at the first instant.
    pub fn first(&self) -> impl Iterator<Item = i64> + '_ {
        self.steps.iter().map(|steps| steps[0].1)
    }

    /// The last step of each thing: its instant, and the amount from then on.
    pub fn last(&self) -> impl Iterator<Item = (SimTime, i64)> + '_ {
        self.steps.iter().map(|steps| steps[steps.len() - 1])
    }

    /// Steps of one thing in order of time: an instant and what is free from then on.
    pub fn steps_of(&self, thing: u16) -> impl Iterator<Item = (SimTime, i64)> + '_ {
        self.steps[usize::from(thing)].iter().copied()
    }

    /// Amount of one thing at an instant.
    #[must_use]
    pub fn at(&self, instant: SimTime, thing: u16) -> i64 {
        let steps = &self.steps[usize::from(thing)];
        steps[in_force(steps, instant)].1
    }

    /// Writes the most of each thing up to an instant into `most`.
    pub fn most_by(&self, instant: SimTime, most: &mut Vec<i64>) {
        most.clear();
        let by_then = |steps: &Vec<(SimTime, i64)>| {
            let within = steps.iter().take_while(|step| step.0 <= instant);
            within.map(|step| step.1).max().unwrap_or(0)
        };
        most.extend(self.steps.iter().map(by_then));
    }

    /// Copies `other`, with each thing raised or lowered for ever such that `free` is free at the first instant.
    pub fn copy(&mut self, other: &Self, free: &[i64]) {
        self.steps.clone_from(&other.steps);
        for (steps, free) in self.steps.iter_mut().zip(free) {
            let more = free - steps[0].1;
            for step in steps {
                step.1 += more;
            }
        }
    }

    /// Adds an amount of each thing, for ever.
    pub fn lift(&mut self, more: &[i64]) {
        for (steps, more) in self.steps.iter_mut().zip(more) {
            for step in steps {
                step.1 += more;
            }
        }
    }

    /// Forgets what was before `now`.
    pub fn advance(&mut self, now: SimTime) {
        for steps in &mut self.steps {
            let over = in_force(steps, now);
            steps.drain(..over);
            steps[0].0 = steps[0].0.max(now);
        }
    }

    /// Adds a split from `at` on for ever, or takes it away, by `sign`; from the first instant on if that is later.
    pub fn add_from(&mut self, at: SimTime, split: &[(u16, i64)], sign: i64) {
        for &(thing, amount) in split {
            let steps = &mut self.steps[usize::from(thing)];
            let first = if at > steps[0].0 { cut(steps, at) } else { 0 };
            steps[first..].iter_mut().for_each(|step| step.1 += sign * amount);
            if first > 0 && steps[first].1 == steps[first - 1].1 {
                steps.remove(first);
            }
        }
    }

    /// True if `need` of one thing is free throughout `length`, which is longer than zero, from `start` on.
    #[must_use]
    pub fn holds(&self, start: SimTime, length: SimDuration, (thing, need): (u16, i64)) -> bool {
        let (steps, end) = (&self.steps[usize::from(thing)], start.saturating_add(length));
        steps[in_force(steps, start)..].iter().take_while(|step| step.0 < end).all(|step| step.1 >= need)
    }

    /// Least amount of one thing from an instant until before another; at the first if that is not later.
    #[must_use]
    pub fn least_of(&self, thing: u16, from: SimTime, until: SimTime) -> i64 {
        let steps = &self.steps[usize::from(thing)];
        let within = steps[in_force(steps, from)..].iter().take_while(|step| step.0 < until || step.0 <= from);
        within.map(|step| step.1).min().unwrap_or(0)
    }

    /// Lowers `free` to what is free of each thing of `wish` throughout `length`, which is longer than zero, from
    /// `start` on.
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
        let mut looks = Vec::new();
        self.look(&mut looks, start, wish);
        for look in &mut looks {
            look.least = look.least.min(free[usize::from(look.thing)]);
        }
        run(&mut looks, (start, length), wish).map_err(|short| (short.at, short.room))?;
        for look in &looks {
            free[usize::from(look.thing)] = look.least;
        }
        Ok(())
    }

    /// The earliest instant, not before `from`, from which `wish` can be had for `length`, which is longer than zero, and
    /// what it takes then; none if there is no such instant.
    #[must_use]
    pub fn earliest(&self, from: SimTime, length: SimDuration, wish: &Wish<'_>) -> Option<(SimTime, NodesByCell)> {
        self.earliest_by(from, SimTime::NEVER, length, wish)
    }

    /// The same, if it is before `by`.
    #[must_use]
    pub fn earliest_by(
        &self,
        from: SimTime,
        by: SimTime,
        length: SimDuration,
        wish: &Wish<'_>,
    ) -> Option<(SimTime, NodesByCell)> {
        let (mut start, mut looks) = (from, Vec::new());
        while start < by {
            self.look(&mut looks, start, wish);
            match run(&mut looks, (start, length), wish) {
                Ok(()) => {
                    let mut free = vec![0; self.width()];
                    for look in &looks {
                        free[usize::from(look.thing)] = look.least;
                    }
                    return wish.split(&free).map(|split| (start, split));
                }
                Err(short) => start = short.until,
            }
        }
        None
    }

    /// Starts a walk for each thing of a wish, in its order.
    fn look<'a>(&'a self, looks: &mut Vec<Look<'a>>, start: SimTime, wish: &Wish<'_>) {
        let besides = wish.each.iter().chain(&wish.also).map(|&(thing, _)| thing);
        looks.clear();
        for thing in wish.any_of.iter().copied().chain(besides) {
            looks.push(Look::new(&self.steps[usize::from(thing)], thing, start));
        }
    }

    /// Takes `split` away from `start` on for `length`.
    pub fn reserve(&mut self, start: SimTime, length: SimDuration, split: &[(u16, i64)]) {
        let end = start.saturating_add(length);
        if end <= start {
            return;
        }
        for &(thing, amount) in split {
            let steps = &mut self.steps[usize::from(thing)];
            let (first, last) = (cut(steps, start), cut(steps, end));
            steps[first..last].iter_mut().for_each(|step| step.1 -= amount);
        }
    }
}

/// Walks on through the whole length, until something is short.
fn run(looks: &mut [Look<'_>], (start, length): (SimTime, SimDuration), wish: &Wish<'_>) -> Result<(), Short> {
    let (mut at, end, several) = (start, start.saturating_add(length), wish.any_of.len());
    loop {
        let (any_of, besides) = looks.split_at(several);
        let needs = wish.each.iter().chain(&wish.also);
        let lacking = besides.iter().zip(needs).filter(|(look, (_, need))| look.least < *need);
        if let Some(until) = lacking.map(|(look, _)| look.spent_at()).max().filter(|_| wish.count > 0) {
            return Err(Short { at, room: 0, until });
        }
        let room = any_of.iter().map(|look| look.least.max(0)).sum();
        if room < wish.count {
            let until = any_of.iter().map(Look::spent_at).min().unwrap_or(SimTime::NEVER);
            return Err(Short { at, room, until });
        }
        let next = looks.iter().map(Look::next_at).min().unwrap_or(SimTime::NEVER);
        if next >= end {
            return Ok(());
        }
        at = next;
        looks.iter_mut().filter(|look| look.next_at() == at).for_each(Look::pass);
    }
}

/// Makes a step begin at `at`; returns its index.
fn cut(steps: &mut Vec<(SimTime, i64)>, at: SimTime) -> usize {
    let step = in_force(steps, at);
    if steps[step].0 >= at {
        return step;
    }
    steps.insert(step + 1, (at, steps[step].1));
    step + 1
}

/// The step that holds at `at`, or the first.
fn in_force(steps: &[(SimTime, i64)], at: SimTime) -> usize {
    steps.partition_point(|step| step.0 <= at).saturating_sub(1)
}

/// Adds a split to amounts, or takes it away.
pub fn change(amounts: &mut [i64], split: &[(u16, i64)], sign: i64) {
    for &(thing, amount) in split {
        amounts[usize::from(thing)] += sign * amount;
    }
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

    /// Free amounts by instant and thing.
    type Every = Vec<[i64; THINGS]>;

    fn throughout(every: &Every, start: usize, length: usize) -> [i64; THINGS] {
        let during = &every[start.min(INSTANTS - 1)..(start + length).clamp(start.min(INSTANTS - 1) + 1, INSTANTS)];
        std::array::from_fn(|thing| during.iter().map(|free| free[thing]).min().unwrap())
    }

    fn by_definition(every: &Every, from: usize, length: usize, wish: &Wish<'_>) -> Option<(SimTime, NodesByCell)> {
        (from..INSTANTS).find_map(|start| Some((at(start), wish.split(&throughout(every, start, length))?)))
    }

    proptest! {
        /// Twin: every instant by itself.
        #[test]
        fn agrees_with_amounts_for_every_instant(
            free in prop::array::uniform4(0..5_i64),
            releases in prop::collection::vec((0..40_usize, 0..3_u16, 1..4_i64, 0..2_i64), 0..12),
            wishes in prop::collection::vec((0..7_usize, 1..9_i64, 0..3_i64, 1..25_usize, 0..30_usize), 1..20),
            by in 0..60_usize,
        ) {
            let mut releases: Vec<(usize, NodesByCell)> =
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
                let least_of = |thing| profile.least_of(thing, at(from), at(from + length));
                prop_assert_eq!([0, 1, 2, 3].map(least_of), throughout(&every, from, length));
                let found = profile.earliest(at(from), span, &wish);
                prop_assert_eq!(&found, &by_definition(&every, from, length, &wish));
                let before = profile.earliest_by(at(from), at(by), span, &wish);
                prop_assert_eq!(before, found.clone().filter(|(start, _)| *start < at(by)));
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
                    let (end, split): (usize, NodesByCell) = there.remove(end % there.len());
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
                    let there = copy.steps.iter().map(|steps| steps[in_force(steps, at(instant))].1);
                    prop_assert_eq!(there.collect::<Vec<_>>(), expected);
                }
            }
        }
    }

    #[test]
    fn cells_that_are_free_one_after_the_other_are_not_enough() {
        let releases: [(SimTime, NodesByCell); 2] = [(at(10), vec![(0, 2)]), (at(30), vec![(1, 2)])];
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
