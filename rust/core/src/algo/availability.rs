//! How much is free when: the future as a staircase, asked for the earliest fit.

use crate::units::{SimDuration, SimTime};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    at: SimTime,
    free: i64,
}

/// Free units over future time. Each step holds until the next; the last holds for ever.
///
/// What is free may be negative where a plan promised more than there is: nothing fits there.
#[derive(Clone, Debug, Default)]
pub struct Availability {
    steps: Vec<Step>,
}

impl Availability {
    /// Starts anew at `now` with `free` units, and with `releases` (units by instant, ascending) coming back later; those
    /// due before `now` count as of `now`.
    pub fn reset(&mut self, now: SimTime, free: u32, releases: impl Iterator<Item = (SimTime, u32)>) {
        self.steps.clear();
        self.steps.push(Step { at: now, free: i64::from(free) });
        for (at, units) in releases {
            let last = self.steps[self.steps.len() - 1];
            if at > last.at {
                self.steps.push(Step { at, free: last.free });
            }
            if let Some(step) = self.steps.last_mut() {
                step.free += i64::from(units);
            }
        }
    }

    /// The earliest instant from which `units` are free for `length`; [`SimTime::NEVER`] if there is none.
    ///
    /// A length of zero needs the units at the instant itself.
    #[must_use]
    pub fn earliest_fit(&self, units: u32, length: SimDuration) -> SimTime {
        let units = i64::from(units);
        let mut index = 0;
        while let Some(start) = self.steps[index..].iter().position(|step| step.free >= units) {
            let first = index + start;
            let end = self.steps[first].at.saturating_add(length);
            let held = self.steps[first..].iter().skip(1).take_while(|step| step.at < end);
            match held.clone().position(|step| step.free < units) {
                Some(short) => index = first + 1 + short,
                None => return self.steps[first].at,
            }
        }
        SimTime::NEVER
    }

    /// Whether `units` are free from now on for `length`.
    #[must_use]
    pub fn fits_now(&self, units: u32, length: SimDuration) -> bool {
        let Some(first) = self.steps.first() else { return false };
        let end = first.at.saturating_add(length);
        first.free >= i64::from(units)
            && self.steps[1..].iter().take_while(|step| step.at < end).all(|step| step.free >= i64::from(units))
    }

    /// Takes `units` away from `start` for `length`.
    pub fn reserve(&mut self, start: SimTime, length: SimDuration, units: u32) {
        let end = start.saturating_add(length);
        if start == end {
            return;
        }
        let first = self.split(start);
        let last = self.split(end);
        for step in &mut self.steps[first..last] {
            step.free -= i64::from(units);
        }
    }

    /// Makes sure that a step begins at `at` and returns its index.
    fn split(&mut self, at: SimTime) -> usize {
        let index = self.steps.partition_point(|step| step.at < at);
        if self.steps.get(index).is_none_or(|step| step.at != at) {
            let free = self.steps[index.saturating_sub(1)].free;
            self.steps.insert(index, Step { at, free });
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
            releases in prop::collection::vec((0..30_i64, 1..4_u32), 0..8),
            wishes in prop::collection::vec((1..8_u32, 0..12_i64), 1..12),
        ) {
            const HORIZON: usize = 400;
            let mut releases = releases;
            releases.sort_unstable();
            let mut profile = Availability::default();
            profile.reset(at(0), 3, releases.iter().map(|&(end, units)| (at(end), units)));
            let mut cells: Vec<i64> = (0..400)
                .map(|t| 3 + releases.iter().filter(|(end, _)| *end <= t).map(|(_, u)| i64::from(*u)).sum::<i64>())
                .collect();
            for (units, length) in wishes {
                let cell_count = usize::try_from(length).unwrap().max(1);
                let expected = (0..HORIZON - cell_count)
                    .find(|&t| cells[t..t + cell_count].iter().all(|&free| free >= i64::from(units)));
                let found = profile.earliest_fit(units, span(length));
                prop_assert_eq!(expected.map_or(SimTime::NEVER, |t| at(i64::try_from(t).unwrap())), found);
                prop_assert_eq!(profile.fits_now(units, span(length)), found == at(0));
                if let Some(t) = expected {
                    profile.reserve(found, span(length), units);
                    let taken = usize::try_from(length).unwrap();
                    cells[t..t + taken].iter_mut().for_each(|free| *free -= i64::from(units));
                }
            }
        }
    }
}
