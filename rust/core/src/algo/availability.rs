//! How much is free when: the future as a staircase, asked for the earliest fit.
//!
//! The stairs stand in blocks that know their lowest and highest step, so that a search passes over whole blocks that
//! cannot begin a fit or cannot end one, and a reservation lowers whole blocks at once.

use crate::units::{SimDuration, SimTime};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    at: SimTime,
    /// Free units from `at` on, but for the block's `lift`.
    free: i64,
}

const BLOCK: usize = 64;

/// Some consecutive steps, never none.
#[derive(Clone, Debug)]
struct Block {
    steps: Vec<Step>,
    /// To be added to every step.
    lift: i64,
    lowest: i64,
    highest: i64,
}

/// Free units over future time. Each step holds until the next; the last holds for ever.
///
/// What is free may be negative where a plan promised more than there is: nothing fits there.
#[derive(Clone, Debug, Default)]
pub struct Availability {
    blocks: Vec<Block>,
}

impl Block {
    fn new(steps: Vec<Step>) -> Self {
        let mut block = Self { steps, lift: 0, lowest: 0, highest: 0 };
        block.summarize();
        block
    }

    fn summarize(&mut self) {
        let free = self.steps.iter().map(|step| step.free + self.lift);
        (self.lowest, self.highest) =
            free.fold((i64::MAX, i64::MIN), |(low, high), free| (low.min(free), high.max(free)));
    }

    fn begins(&self) -> SimTime {
        self.steps[0].at
    }

    /// Takes `units` away from every step.
    fn lower(&mut self, units: i64) {
        self.lift -= units;
        self.lowest -= units;
        self.highest -= units;
    }

    /// Takes `units` away from the steps from `start` on and before `end`.
    fn lower_between(&mut self, start: SimTime, end: SimTime, units: i64) {
        let first = self.steps.partition_point(|step| step.at < start);
        let last = self.steps.partition_point(|step| step.at < end);
        for step in &mut self.steps[first..last] {
            step.free -= units;
        }
        self.summarize();
    }
}

/// A search for the earliest fit, block after block and step after step.
struct Search {
    units: i64,
    length: SimDuration,
    /// No fit begins before.
    from: SimTime,
    /// Since when enough has been free.
    start: Option<SimTime>,
}

impl Search {
    /// Whether the fit found so far is over by `at`: nothing that comes then can spoil it.
    fn is_over_by(&self, at: SimTime) -> bool {
        // What is free at `from` itself is said by the step that begins there, if one does.
        at > self.from && self.start.is_some_and(|start| at >= start.saturating_add(self.length))
    }

    /// Whether a block changes nothing: it begins no fit, or spoils none.
    fn passes_over(&self, block: &Block) -> bool {
        if self.start.is_some() { block.lowest >= self.units } else { block.highest < self.units }
    }

    fn take(&mut self, at: SimTime, free: i64) {
        self.start = if free < self.units { None } else { self.start.or(Some(at.max(self.from))) };
    }
}

impl Availability {
    /// Starts anew at `now` with `free` units, and with `releases` (units by instant, ascending) coming back later; those
    /// due before `now` count as of `now`.
    pub fn reset<U: Into<i64>>(&mut self, now: SimTime, free: U, releases: impl Iterator<Item = (SimTime, U)>) {
        let mut steps = vec![Step { at: now, free: free.into() }];
        for (at, units) in releases {
            let last = steps[steps.len() - 1];
            if at > last.at {
                steps.push(Step { at, free: last.free });
            }
            if let Some(step) = steps.last_mut() {
                step.free += units.into();
            }
        }
        self.blocks.clear();
        self.blocks.extend(steps.chunks(BLOCK / 2).map(|steps| Block::new(steps.to_vec())));
    }

    /// Forgets what was before `now`, which is not before the first step; returns what is free now.
    pub fn advance(&mut self, now: SimTime) -> i64 {
        let past = self.blocks.partition_point(|block| block.begins() <= now).saturating_sub(1);
        self.blocks.drain(..past);
        let Some(block) = self.blocks.first_mut() else { return 0 };
        let past = block.steps.partition_point(|step| step.at <= now).saturating_sub(1);
        block.steps.drain(..past);
        block.steps[0].at = now;
        block.summarize();
        block.steps[0].free + block.lift
    }

    /// The earliest instant from which `units` are free for `length`; [`SimTime::NEVER`] if there is none.
    ///
    /// A length of zero needs the units at the instant itself.
    #[must_use]
    pub fn earliest_fit(&self, units: impl Into<i64>, length: SimDuration) -> SimTime {
        let first = self.blocks.first().map_or(SimTime::NEVER, Block::begins);
        self.earliest_fit_from(first, units, length)
    }

    /// The same, no earlier than `from`.
    #[must_use]
    pub fn earliest_fit_from(&self, from: SimTime, units: impl Into<i64>, length: SimDuration) -> SimTime {
        let mut search = Search { units: units.into(), length, from, start: None };
        let first = self.blocks.partition_point(|block| block.begins() <= from).saturating_sub(1);
        for block in &self.blocks[first..] {
            if search.is_over_by(block.begins()) {
                break;
            }
            if search.passes_over(block) {
                continue;
            }
            for step in &block.steps {
                if search.is_over_by(step.at) {
                    break;
                }
                search.take(step.at, step.free + block.lift);
            }
        }
        search.start.unwrap_or(SimTime::NEVER)
    }

    /// The least that is free from `start` on for `length`, which is longer than zero.
    #[must_use]
    pub fn least_between(&self, start: SimTime, length: SimDuration) -> i64 {
        let end = start.saturating_add(length);
        let first = self.blocks.partition_point(|block| block.begins() <= start).saturating_sub(1);
        let during = self.blocks[first..].iter().take_while(|block| block.begins() < end);
        let least = during.map(|block| {
            let from = block.steps.partition_point(|step| step.at <= start).saturating_sub(1);
            let to = block.steps.partition_point(|step| step.at < end);
            if from == 0 && to == block.steps.len() {
                return block.lowest;
            }
            block.steps[from..to].iter().map(|step| step.free + block.lift).min().unwrap_or(i64::MAX)
        });
        least.min().unwrap_or(0)
    }

    /// Whether `units` are free from now on for `length`.
    #[must_use]
    pub fn fits_now(&self, units: impl Into<i64>, length: SimDuration) -> bool {
        let Some(first) = self.blocks.first() else { return false };
        let (units, end) = (units.into(), first.begins().saturating_add(length));
        first.steps[0].free + first.lift >= units
            && self.blocks.iter().take_while(|block| block.begins() < end).all(|block| {
                let steps = block.steps.iter().take_while(|step| step.at < end);
                block.lowest >= units || steps.map(|step| step.free + block.lift).all(|free| free >= units)
            })
    }

    /// Takes `units` away from `start` for `length`.
    pub fn reserve(&mut self, start: SimTime, length: SimDuration, units: impl Into<i64>) {
        let end = start.saturating_add(length);
        if start == end {
            return;
        }
        let (first, units) = (self.split(start), units.into());
        self.split(end);
        for index in first..self.blocks.len() {
            if self.blocks[index].begins() >= end {
                break;
            }
            let ends = self.blocks.get(index + 1).map(Block::begins);
            let whole = self.blocks[index].begins() >= start && ends.is_some_and(|ends| ends <= end);
            if whole {
                self.blocks[index].lower(units);
            } else {
                self.blocks[index].lower_between(start, end, units);
            }
        }
    }

    /// Makes sure that a step begins at `at`, which is not before the first, and returns its block, or the one before.
    fn split(&mut self, at: SimTime) -> usize {
        let index = self.blocks.partition_point(|block| block.begins() <= at).saturating_sub(1);
        let Some(block) = self.blocks.get_mut(index) else { return 0 };
        let place = block.steps.partition_point(|step| step.at < at);
        if block.steps.get(place).is_none_or(|step| step.at != at) {
            let free = block.steps[place.saturating_sub(1)].free;
            block.steps.insert(place, Step { at, free });
        }
        if block.steps.len() > BLOCK {
            let mut upper = Block::new(block.steps.split_off(BLOCK / 2));
            upper.lower(-block.lift);
            block.summarize();
            self.blocks.insert(index + 1, upper);
        }
        index
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
        let mut profile = Availability::default();
        profile.reset(at(0), 1, (1..200).map(|end| (at(end), 1)));
        profile.reserve(at(90), span(20), 50);
        let fits = |profile: &Availability| {
            [1, 41, 60, 61, 130].map(|units| profile.earliest_fit_from(at(100), units, span(5)))
        };
        let before = fits(&profile);
        assert_eq!(profile.advance(at(100)), 51);
        assert_eq!(fits(&profile), before);
        assert!(profile.fits_now(51, span(5)) && !profile.fits_now(52, span(1)));
    }

    #[test]
    fn a_length_of_zero_needs_the_units_at_its_instant() {
        let mut profile = Availability::default();
        profile.reset(at(0), 1, [(at(5), 2)].into_iter());
        assert_eq!(profile.earliest_fit(3, SimDuration::ZERO), at(5));
        assert_eq!(profile.earliest_fit(1, SimDuration::ZERO), at(0));
        assert_eq!(profile.earliest_fit(4, SimDuration::ZERO), SimTime::NEVER);
    }

    proptest! {
        /// Twin: an array with a cell for every microsecond.
        #[test]
        fn agrees_with_a_cell_for_every_instant(
            releases in prop::collection::vec((0..300_i64, 1..4_u32), 0..150),
            wishes in prop::collection::vec((1..150_u32, 0..90_i64), 1..60),
        ) {
            const HORIZON: usize = 6000;
            let mut releases = releases;
            releases.sort_unstable();
            let mut profile = Availability::default();
            profile.reset(at(0), 3, releases.iter().map(|&(end, units)| (at(end), units)));
            let mut cells: Vec<i64> = (0..6000)
                .map(|t| 3 + releases.iter().filter(|(end, _)| *end <= t).map(|(_, u)| i64::from(*u)).sum::<i64>())
                .collect();
            for (units, length) in wishes {
                let cell_count = usize::try_from(length).unwrap().max(1);
                let expected = (0..HORIZON - cell_count)
                    .find(|&t| cells[t..t + cell_count].iter().all(|&free| free >= i64::from(units)));
                let found = profile.earliest_fit(units, span(length));
                for from in [0, 7, 90, 301_i64] {
                    let later = (usize::try_from(from).unwrap()..HORIZON - cell_count)
                        .find(|&t| cells[t..t + cell_count].iter().all(|&free| free >= i64::from(units)));
                    let later = later.map_or(SimTime::NEVER, |t| at(i64::try_from(t).unwrap()));
                    prop_assert_eq!(profile.earliest_fit_from(at(from), units, span(length)), later);
                }
                prop_assert_eq!(expected.map_or(SimTime::NEVER, |t| at(i64::try_from(t).unwrap())), found);
                prop_assert_eq!(profile.fits_now(units, span(length)), found == at(0));
                for from in [0, 11, 77, 250_i64] {
                    let first = usize::try_from(from).unwrap();
                    let least = cells[first..first + cell_count].iter().min().copied();
                    prop_assert_eq!(Some(profile.least_between(at(from), span(length.max(1)))), least);
                }
                if let Some(t) = expected {
                    profile.reserve(found, span(length), units);
                    let taken = usize::try_from(length).unwrap();
                    cells[t..t + taken].iter_mut().for_each(|free| *free -= i64::from(units));
                }
            }
        }
    }
}
