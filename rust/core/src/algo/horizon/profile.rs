//! Free amounts over time: a step function with a search for the earliest fit.
//!
//! The steps stand in blocks that know their lowest and highest amount, so that a search passes over whole blocks that
//! cannot begin a fit or cannot end one, and a reservation lowers whole blocks at once.

use crate::algo::horizon::amount::Amount;
use crate::algo::horizon::steps::{Head, MOST, Steps};
use crate::units::{SimDuration, SimTime};

/// Free amounts over future time. Each step holds until the next; the last holds for ever.
///
/// Free amounts may be below zero where a plan promised more than there is: nothing fits there.
#[derive(Clone, Debug)]
pub struct Profile<A> {
    /// One for each block.
    heads: Vec<Head<A>>,
    /// The blocks, followed by spare memory.
    blocks: Vec<Steps<A>>,
}

impl<A> Default for Profile<A> {
    fn default() -> Self {
        Self { heads: Vec::new(), blocks: Vec::new() }
    }
}

/// A search for the earliest fit, block after block.
struct Search<A> {
    need: A,
    length: SimDuration,
    /// Lower bound of the start.
    from: SimTime,
    /// Instant since which enough has been free.
    start: Option<SimTime>,
}

impl<A: Amount> Search<A> {
    /// True if the fit found so far is over by `at`, which is after `from`: nothing that comes then can spoil it.
    fn is_over_by(&self, at: SimTime) -> bool {
        self.start.is_some_and(|start| at >= start.saturating_add(self.length))
    }

    /// True if a block changes nothing: it begins no fit, or spoils none.
    fn passes_over(&self, head: &Head<A>) -> bool {
        if self.start.is_some() { head.lowest.holds(self.need) } else { !head.highest.holds(self.need) }
    }

    /// Looks through a block from step `first` on; true once a fit is found.
    fn look_through(&mut self, head: &Head<A>, steps: &Steps<A>, first: usize) -> bool {
        let bits = steps.that_hold(self.need, head.lift);
        let mut place = first;
        loop {
            if self.start.is_none() {
                let ahead = bits & (u64::MAX << place);
                if ahead == 0 {
                    return false;
                }
                place = ahead.trailing_zeros() as usize;
                self.start = Some(steps.at[place].max(self.from));
            }
            let short = !bits & (u64::MAX << place);
            place = short.trailing_zeros() as usize;
            // Bits beyond the last step are meaningless.
            if place >= steps.len() {
                return false;
            }
            if self.is_over_by(steps.at[place]) {
                return true;
            }
            self.start = None;
        }
    }
}

impl<A: Amount> Profile<A> {
    /// Restarts at `now` with `free`, and with `releases` (amounts by instant, ascending) coming back later; those due
    /// before `now` count as of `now`.
    pub fn reset(&mut self, now: SimTime, free: A, releases: impl Iterator<Item = (SimTime, A)>) {
        let (mut at, mut sums) = ([now; MOST / 2], [free; MOST / 2]);
        let mut count = 0;
        self.heads.clear();
        releases.for_each(|(then, amount)| {
            let mut sum = sums[count];
            if then > at[count] {
                count += 1;
                if count == at.len() {
                    self.append(&at, &sums);
                    count = 0;
                }
                at[count] = then;
            }
            sum = sum.plus(amount);
            sums[count] = sum;
        });
        self.append(&at[..=count], &sums[..=count]);
    }

    /// Becomes a copy of another with `more` at all times.
    pub fn copy(&mut self, other: &Self, more: A) {
        self.heads.clear();
        self.heads.extend(other.heads.iter().map(|head| head.lifted(more)));
        let used = other.heads.len();
        self.blocks.resize_with(used.max(self.blocks.len()), Steps::new);
        self.blocks.iter_mut().zip(&other.blocks[..used]).for_each(|(steps, others)| steps.copy(others));
    }

    /// Adds a block of steps.
    fn append(&mut self, at: &[SimTime], free: &[A]) {
        let used = self.heads.len();
        if self.blocks.len() == used {
            self.blocks.push(Steps::new());
        }
        let steps = &mut self.blocks[used];
        steps.set(at, free);
        self.heads.push(Head::of(steps, A::NONE));
    }

    /// Amount that is free from the first step on.
    #[must_use]
    pub fn first(&self) -> A {
        let steps = self.heads.first().zip(self.blocks.first());
        steps.map_or(A::NONE, |(head, steps)| steps.free[0].plus(head.lift))
    }

    /// The last step: its instant, and the amount that is free from then on.
    #[must_use]
    pub fn last(&self) -> (SimTime, A) {
        self.steps().last().unwrap_or((SimTime::NEVER, A::NONE))
    }

    /// Instant of the second step, at which what is free changes first, if there is one.
    #[must_use]
    pub fn changes_at(&self) -> Option<SimTime> {
        self.steps().nth(1).map(|step| step.0)
    }

    /// Number of steps.
    #[must_use]
    pub fn count(&self) -> usize {
        self.blocks[..self.heads.len()].iter().map(Steps::len).sum()
    }

    /// All steps in order: an instant and what is free from then on.
    pub fn steps(&self) -> impl Iterator<Item = (SimTime, A)> + '_ {
        let of = |(head, steps): (&Head<A>, _)| {
            let (lift, Steps { at, free }): (A, &Steps<A>) = (head.lift, steps);
            at.iter().zip(free).map(move |(&at, free)| (at, free.plus(lift)))
        };
        self.heads.iter().zip(&self.blocks).flat_map(of)
    }

    /// Forgets what was before `now`, which is not before the first step.
    pub fn advance(&mut self, now: SimTime) {
        let past = self.block_at(now);
        self.heads.drain(..past);
        self.blocks[..].rotate_left(past);
        let (Some(head), Some(steps)) = (self.heads.first_mut(), self.blocks.first_mut()) else { return };
        let past = steps.in_force(now);
        steps.at.drain(..past);
        steps.free.drain(..past);
        steps.at[0] = now;
        *head = Head::of(steps, head.lift);
    }

    /// The earliest instant from which `need` is free for `length`; [`SimTime::NEVER`] if there is none.
    ///
    /// A length of zero needs `need` at the instant itself.
    #[must_use]
    pub fn earliest_fit(&self, need: A, length: SimDuration) -> SimTime {
        let first = self.heads.first().map_or(SimTime::NEVER, |head| head.begins);
        self.earliest_fit_from(first, need, length)
    }

    /// The same, no earlier than `from`.
    #[must_use]
    pub fn earliest_fit_from(&self, from: SimTime, need: A, length: SimDuration) -> SimTime {
        self.search(from, SimTime::NEVER, need, length).unwrap_or(SimTime::NEVER)
    }

    /// True if there is a fit that begins no earlier than `from` and before `until`.
    #[must_use]
    pub fn fits_between(&self, from: SimTime, until: SimTime, need: A, length: SimDuration) -> bool {
        self.fit_before(from, until, need, length).is_some()
    }

    /// The earliest fit that begins no earlier than `from`, if it begins before `until`.
    #[must_use]
    pub fn fit_before(&self, from: SimTime, until: SimTime, need: A, length: SimDuration) -> Option<SimTime> {
        let found = if from < until { self.search(from, until, need, length) } else { None };
        found.filter(|&start| start < until)
    }

    /// The earliest fit from `from` on; a fit that does not begin before `until` need not be found.
    fn search(&self, from: SimTime, until: SimTime, need: A, length: SimDuration) -> Option<SimTime> {
        let mut search = Search { need, length, from, start: None };
        let first = self.block_at(from);
        let blocks = self.heads.iter().zip(&self.blocks).skip(first);
        for (index, (head, steps)) in blocks.enumerate() {
            let over = if search.start.is_none() { head.begins >= until } else { search.is_over_by(head.begins) };
            if index > 0 && over {
                break;
            }
            if search.passes_over(head) {
                continue;
            }
            let step = if index == 0 { steps.in_force(from) } else { 0 };
            if search.look_through(head, steps, step) {
                break;
            }
        }
        search.start
    }

    /// The least that is free from `start` on for `length`, which is longer than zero.
    #[must_use]
    pub fn least_between(&self, start: SimTime, length: SimDuration) -> A {
        let end = start.saturating_add(length);
        let mut least = A::UNBOUNDED;
        for index in self.block_at(start)..self.heads.len() {
            let (head, steps) = (&self.heads[index], &self.blocks[index]);
            if head.begins >= end {
                break;
            }
            // A part of a block is no lower than the whole block.
            if head.lowest.holds(least) {
                continue;
            }
            let ends = self.heads.get(index + 1).map(|next| next.begins);
            let during = if head.begins >= start && ends.is_some_and(|ends| ends <= end) {
                head.lowest
            } else {
                let during = &steps.free[steps.in_force(start)..steps.before(end)];
                during.iter().fold(A::UNBOUNDED, |least, &free| least.least(free)).plus(head.lift)
            };
            least = least.least(during);
        }
        least
    }

    /// True if `need` is free from the first step on for `length`.
    #[must_use]
    pub fn fits_now(&self, need: A, length: SimDuration) -> bool {
        !self.heads.is_empty() && self.first_lack(need, length).is_none()
    }

    /// The first instant at which `need` is lacking, from the first step on for `length`, and what is free then.
    ///
    /// A length of zero needs `need` at the instant itself.
    #[must_use]
    pub fn first_lack(&self, need: A, length: SimDuration) -> Option<(SimTime, A)> {
        let first = self.heads.first()?;
        let end = first.begins.saturating_add(length.max(SimDuration::TICK));
        let blocks = self.heads.iter().zip(&self.blocks).take_while(|(head, _)| head.begins < end);
        for (head, steps) in blocks.filter(|(head, _)| !head.lowest.holds(need)) {
            let short = !steps.that_hold(need, head.lift);
            let place = short.trailing_zeros() as usize;
            if place < steps.len() {
                return (steps.at[place] < end).then(|| (steps.at[place], steps.free[place].plus(head.lift)));
            }
        }
        None
    }

    /// The first step that begins after an instant and lacks `need`: the instant from which it does.
    #[must_use]
    pub fn next_lack(&self, after: SimTime, need: A) -> Option<SimTime> {
        let blocks = self.heads.iter().zip(&self.blocks).skip(self.block_at(after));
        for (head, steps) in blocks.filter(|(head, _)| !head.lowest.holds(need)) {
            let ahead = u64::MAX.checked_shl(steps.up_to(after)).unwrap_or(0);
            let short = !steps.that_hold(need, head.lift) & ahead;
            // Bits beyond the last step are meaningless.
            if let Some(&at) = steps.at.get(short.trailing_zeros() as usize) {
                return Some(at);
            }
        }
        None
    }

    /// Takes `amount`, no component of which is below zero, away from `start` for `length`.
    pub fn reserve(&mut self, start: SimTime, length: SimDuration, amount: A) {
        let end = start.saturating_add(length);
        if start == end {
            return;
        }
        let first = self.split(start);
        self.split(end);
        self.lower(first, (start, end), amount);
    }

    /// The same from `start` on for ever.
    pub fn take_from(&mut self, start: SimTime, amount: A) {
        let first = self.split(start);
        self.lower(first, (start, SimTime::NEVER), amount);
    }

    /// Adds `amount`, which may be below zero, at all times.
    pub fn lift(&mut self, amount: A) {
        self.heads.iter_mut().for_each(|head| *head = head.lifted(amount));
    }

    /// Adds `amount`, which may be below zero, from `start` on.
    pub fn add_from(&mut self, start: SimTime, amount: A) {
        let first = self.split(start);
        self.shift(first, (start, SimTime::NEVER), amount);
    }

    /// Gives back what was taken from the first step on until `end`, and removes the step there if nothing else made
    /// it.
    pub fn give_until(&mut self, end: SimTime, amount: A) {
        let Some(first) = self.heads.first() else { return };
        self.shift(0, (first.begins, end), amount);
        self.join(end);
    }

    /// Adds `amount` to the steps of a stretch; steps must begin at both of its ends.
    fn shift(&mut self, first: usize, stretch: (SimTime, SimTime), amount: A) {
        self.change(
            first,
            stretch,
            |head| *head = head.lifted(amount),
            |steps, head, (from, to)| {
                steps.free[from..to].iter_mut().for_each(|free| *free = free.plus(amount));
                *head = Head::of(steps, head.lift);
            },
        );
    }

    /// Merges the step that begins at `at` into the one before, if as much is free in both.
    fn join(&mut self, at: SimTime) {
        let index = self.block_at(at);
        let Some(steps) = self.blocks.get(index).filter(|_| index < self.heads.len()) else { return };
        let place = steps.before(at);
        let free = |block: usize, place: usize| self.blocks[block].free[place].plus(self.heads[block].lift);
        let before = match place.checked_sub(1) {
            Some(before) => Some(free(index, before)),
            None => index.checked_sub(1).map(|block| free(block, self.blocks[block].len() - 1)),
        };
        if steps.at.get(place) != Some(&at) || before != Some(free(index, place)) {
            return;
        }
        let steps = &mut self.blocks[index];
        steps.at.remove(place);
        steps.free.remove(place);
        if steps.len() == 0 {
            self.heads.remove(index);
            let spare = self.blocks.remove(index);
            self.blocks.push(spare);
        } else {
            self.heads[index] = Head::of(steps, self.heads[index].lift);
            self.unite(index);
        }
    }

    /// Merges a block and the next if both are small.
    fn unite(&mut self, index: usize) {
        let small = |block: usize| block < self.heads.len() && self.blocks[block].len() <= MOST / 4;
        if !small(index) || !small(index + 1) {
            return;
        }
        let by = self.heads[index + 1].lift.minus(self.heads[index].lift);
        let mut next = self.blocks.remove(index + 1);
        self.heads.remove(index + 1);
        self.blocks[index].at.append(&mut next.at);
        self.blocks[index].free.extend(next.free.drain(..).map(|free| free.plus(by)));
        self.heads[index] = Head::of(&self.blocks[index], self.heads[index].lift);
        self.blocks.push(next);
    }

    /// Takes `amount` away from the steps of a stretch; steps must begin at both of its ends.
    fn lower(&mut self, first: usize, stretch: (SimTime, SimTime), amount: A) {
        self.change(first, stretch, |head| head.lower(amount), |steps, head, part| steps.lower(head, part, amount));
    }

    /// Changes the free amounts of a stretch: of whole blocks, and of parts of blocks at its ends.
    fn change(
        &mut self,
        first: usize,
        (start, end): (SimTime, SimTime),
        whole: impl Fn(&mut Head<A>),
        part: impl Fn(&mut Steps<A>, &mut Head<A>, (usize, usize)),
    ) {
        for index in first..self.heads.len() {
            if self.heads[index].begins >= end {
                break;
            }
            let ends_within = self.heads.get(index + 1).is_some_and(|next| next.begins <= end);
            let (head, steps) = (&mut self.heads[index], &mut self.blocks[index]);
            if head.begins >= start && ends_within {
                whole(head);
                continue;
            }
            let (from, to) = (steps.before(start), steps.before(end));
            if (from, to) == (0, steps.len()) {
                whole(head);
            } else if from < to {
                part(steps, head, (from, to));
            }
        }
    }

    /// The block that holds at `at`, or the first.
    fn block_at(&self, at: SimTime) -> usize {
        self.heads.partition_point(|head| head.begins <= at).saturating_sub(1)
    }

    /// Makes a step begin at `at`, which is not before the first, and returns its block, or the one before.
    fn split(&mut self, at: SimTime) -> usize {
        let index = self.block_at(at);
        if index == self.heads.len() {
            return 0;
        }
        let steps = &mut self.blocks[index];
        let place = steps.before(at);
        if steps.at.get(place) != Some(&at) {
            let free = steps.free[place.saturating_sub(1)];
            steps.at.insert(place, at);
            steps.free.insert(place, free);
            if steps.len() > MOST {
                self.halve(index);
            }
        }
        index
    }

    /// Splits a block in two.
    fn halve(&mut self, index: usize) {
        let mut upper =
            if self.blocks.len() > self.heads.len() { self.blocks.pop() } else { None }.unwrap_or_else(Steps::new);
        upper.clear();
        let (steps, lift) = (&mut self.blocks[index], self.heads[index].lift);
        steps.split_into(MOST / 2, &mut upper);
        self.heads[index] = Head::of(steps, lift);
        self.heads.insert(index + 1, Head::of(&upper, lift));
        self.blocks.insert(index + 1, upper);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn span(micros: i64) -> SimDuration {
        SimDuration::from_micros(micros)
    }

    #[test]
    fn what_is_past_is_forgotten() {
        let mut profile = Profile::default();
        profile.reset(at(0), 1_i64, (1..200).map(|end| (at(end), 1)));
        profile.reserve(at(90), span(20), 50);
        let fits = |profile: &Profile<i64>| {
            [1, 41, 60, 61, 130].map(|units| profile.earliest_fit_from(at(100), units, span(5)))
        };
        let before = fits(&profile);
        profile.advance(at(100));
        assert_eq!(profile.first(), 51);
        assert_eq!(fits(&profile), before);
        assert!(profile.fits_now(51, span(5)) && !profile.fits_now(52, span(1)));
    }

    #[test]
    fn a_length_of_zero_needs_the_units_at_its_instant() {
        let mut profile = Profile::default();
        profile.reset(at(0), 1_i64, [(at(5), 2)].into_iter());
        assert_eq!(profile.earliest_fit(3, SimDuration::ZERO), at(5));
        assert_eq!(profile.earliest_fit(1, SimDuration::ZERO), at(0));
        assert_eq!(profile.earliest_fit(4, SimDuration::ZERO), SimTime::NEVER);
    }

    #[test]
    fn two_things_must_be_there_at_once() {
        let mut profile = Profile::default();
        profile.reset(at(0), [9, 1], [(at(10), [0, 9]), (at(30), [9, 0])].into_iter());
        profile.reserve(at(10), span(10), [5, 0]);
        assert_eq!(profile.earliest_fit([9, 1], span(10)), at(0));
        assert_eq!(profile.earliest_fit([9, 1], span(11)), at(20));
        assert_eq!(profile.earliest_fit([9, 2], span(10)), at(20));
        assert_eq!(profile.earliest_fit([4, 2], span(10)), at(10));
        assert_eq!(profile.earliest_fit([10, 11], span(1)), SimTime::NEVER);
    }

    proptest! {
        /// Twin: a profile made anew of what is left.
        #[test]
        fn a_profile_that_follows_what_comes_and_goes_is_the_one_made_anew(
            steps in prop::collection::vec((0..40_i64, 1..400_i64, 1..5_i64, any::<prop::sample::Index>(), 0..3_u8), 1..300),
        ) {
            let (mut profile, mut copied) = (Profile::default(), Profile::default());
            profile.reset(at(0), 0, std::iter::empty());
            let (mut held, mut now) = (Vec::new(), 0);
            for (pace, length, units, which, kind) in steps {
                if kind == 0 {
                    now += pace;
                    profile.advance(at(now));
                    held.retain(|&(end, _)| end > now);
                } else if kind == 1 || held.is_empty() {
                    profile.reserve(at(now), span(length), units);
                    held.push((now + length, units));
                } else {
                    let (end, units) = held.swap_remove(which.index(held.len()));
                    profile.give_until(at(end), units);
                }
                held.sort_unstable();
                let total: i64 = held.iter().map(|held| held.1).sum();
                let mut anew = Profile::default();
                anew.reset(at(now), 9, held.iter().map(|&(end, units)| (at(end), units)));
                copied.copy(&profile, 9 + total);
                let listed = |profile: &Profile<i64>| -> Vec<_> {
                    let blocks = profile.heads.iter().zip(&profile.blocks);
                    blocks.flat_map(|(head, steps)| steps.at.iter().copied().zip(steps.free.iter().map(|free| free + head.lift)).collect::<Vec<_>>()).collect()
                };
                prop_assert_eq!(listed(&copied), listed(&anew));
                for (head, steps) in copied.heads.iter().zip(&copied.blocks) {
                    let fresh = Head::of(steps, head.lift);
                    prop_assert_eq!((head.begins, head.lowest, head.highest), (fresh.begins, fresh.lowest, fresh.highest));
                }
                copied.add_from(at(now + length), -units);
                let least = anew.least_between(at(now + length), span(9)) - units;
                prop_assert_eq!(copied.least_between(at(now + length), span(9)), least);
            }
        }
    }

    const CELLS: usize = 6000;

    /// Twin: an array with a cell for every microsecond.
    struct Cells<A>(Vec<A>);

    impl<A: Amount> Cells<A> {
        fn new(free: A, releases: &[(i64, A)]) -> Self {
            let by =
                |t: i64| releases.iter().filter(|(end, _)| *end <= t).fold(free, |sum, (_, amount)| sum.plus(*amount));
            Self((0..).take(CELLS).map(by).collect())
        }

        fn earliest(&self, from: usize, need: A, length: usize) -> SimTime {
            let cells = length.max(1);
            let fits = |&t: &usize| self.0[t..t + cells].iter().all(|free| free.holds(need));
            (from..CELLS - cells).find(fits).map_or(SimTime::NEVER, |t| at(i64::try_from(t).unwrap()))
        }

        fn least(&self, from: usize, length: usize) -> A {
            self.0[from..from + length.max(1)].iter().fold(A::UNBOUNDED, |least, &free| least.least(free))
        }

        fn first_lack(&self, from: usize, need: A, length: usize) -> Option<(SimTime, A)> {
            let lacks = |&t: &usize| !self.0[t].holds(need);
            let found = (from..from + length.max(1)).find(lacks)?;
            Some((at(i64::try_from(found).unwrap()), self.0[found]))
        }

        fn reserve(&mut self, start: usize, length: usize, amount: A) {
            self.0[start..start + length].iter_mut().for_each(|free| *free = free.minus(amount));
        }
    }

    /// Plans one wish after the other in both; now and then the past is forgotten.
    fn agrees<A: Amount>(free: A, releases: &[(i64, A)], wishes: &[(A, i64)], pace: i64) -> Result<(), TestCaseError> {
        let mut profile = Profile::default();
        // What a profile was before leaves no trace.
        profile.reset(at(5), A::UNBOUNDED, (6..200).map(|end| (at(end), A::NONE)));
        profile.reset(at(0), free, releases.iter().map(|&(end, amount)| (at(end), amount)));
        let (mut cells, mut now) = (Cells::new(free, releases), 0);
        for (index, &(need, length)) in (0..).zip(wishes) {
            let micros = usize::try_from(length).unwrap();
            for from in [now, now + 7, now + 90, now + 301] {
                let first = usize::try_from(from).unwrap();
                let earliest = cells.earliest(first, need, micros);
                prop_assert_eq!(profile.earliest_fit_from(at(from), need, span(length)), earliest);
                for until in [from, from + 20, from + 300] {
                    let fits = profile.fits_between(at(from), at(until), need, span(length));
                    prop_assert_eq!(fits, earliest < at(until));
                }
                prop_assert_eq!(profile.least_between(at(from), span(length.max(1))), cells.least(first, micros));
                let walked = profile.steps().find(|&(step, free)| step > at(from) && !free.holds(need));
                prop_assert_eq!(profile.next_lack(at(from), need), walked.map(|step| step.0));
            }
            let found = profile.earliest_fit(need, span(length));
            prop_assert_eq!(found, cells.earliest(usize::try_from(now).unwrap(), need, micros));
            prop_assert_eq!(profile.fits_now(need, span(length)), found == at(now));
            let lack = cells.first_lack(usize::try_from(now).unwrap(), need, micros);
            prop_assert_eq!(profile.first_lack(need, span(length)), lack);
            if found != SimTime::NEVER {
                profile.reserve(found, span(length), need);
                cells.reserve(usize::try_from(found.micros()).unwrap(), micros, need);
            }
            if index % 5 == 4 {
                let from = now + length / 2;
                profile.take_from(at(from), need);
                profile.lift(need);
                let first = usize::try_from(from).unwrap();
                cells.0.iter_mut().for_each(|free| *free = free.plus(need));
                cells.reserve(first, CELLS - first, need);
            }
            if index % 8 == 7 {
                now += pace;
                profile.advance(at(now));
                prop_assert_eq!(profile.first(), cells.0[usize::try_from(now).unwrap()]);
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn one_amount_agrees_with_a_cell_for_every_instant(
            mut releases in prop::collection::vec((0..300_i64, 1..4_i64), 0..150),
            wishes in prop::collection::vec((1..150_i64, 0..90_i64), 1..60),
            pace in 0..40_i64,
        ) {
            releases.sort_unstable();
            agrees(3, &releases, &wishes, pace)?;
        }

        #[test]
        fn two_amounts_agree_with_a_cell_for_every_instant(
            mut releases in prop::collection::vec((0..300_i64, [0..4_i64, 0..9_i64]), 0..150),
            wishes in prop::collection::vec(([1..120_i64, 0..250_i64], 0..90_i64), 1..60),
            pace in 0..40_i64,
        ) {
            releases.sort_unstable();
            agrees([3, 5], &releases, &wishes, pace)?;
        }
    }
}
