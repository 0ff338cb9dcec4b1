//! The least needs of a set, as a Pareto front: none of them is dominated by another in units and length.

use crate::algo::staircase::Staircase;
use crate::units::SimDuration;

/// Up to `N` needs, units ascending and lengths descending. Of more, the two nearest in units are merged into one that
/// asks for the minimum of both: a lower bound.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Front<const N: usize> {
    len: usize,
    units: [i64; N],
    lengths: [SimDuration; N],
}

impl<const N: usize> Front<N> {
    /// No need.
    pub const EMPTY: Self = Self { units: [i64::MAX; N], lengths: [SimDuration::FOREVER; N], len: 0 };

    /// Adds a need.
    pub fn note(&mut self, units: i64, length: SimDuration) {
        let count = self.count_up_to(units);
        if count > 0 && self.lengths[count - 1] <= length {
            return;
        }
        // These needs dominate the new one: they ask for no less, and for no shorter.
        let first = if count > 0 && self.units[count - 1] == units { count - 1 } else { count };
        let above = self.lengths[first..self.len].iter().take_while(|&&other| other >= length).count();
        if above == 0 && self.len == N {
            self.merge();
            return self.note(units, length);
        }
        self.units.copy_within(first + above..self.len, first + 1);
        self.lengths.copy_within(first + above..self.len, first + 1);
        (self.units[first], self.lengths[first]) = (units, length);
        self.len = self.len + 1 - above;
    }

    /// Adds all needs of another.
    pub fn join(&mut self, other: &Self) {
        other.iter().for_each(|(units, length)| self.note(units, length));
    }

    /// True if a need of at most so many units lasts no longer than `slack`, or one is for no more than `extra` units.
    #[must_use]
    pub fn may_fit(&self, units: i64, slack: SimDuration, extra: i64) -> bool {
        let count = self.count_up_to(units);
        count > 0 && (self.lengths[count - 1] <= slack || self.units[0] <= extra)
    }

    /// True if at least one need is not known to be refused.
    #[must_use]
    pub fn passes(&self, refused: &Staircase) -> bool {
        refused.is_empty() || self.iter().any(|(units, length)| !refused.holds(units, length))
    }

    /// True if the front would be another one without this need of the set.
    #[must_use]
    pub fn rests_on(&self, units: i64, length: SimDuration) -> bool {
        let Some(last) = self.count_up_to(units).checked_sub(1) else { return true };
        // A full front may have merged needs that are no more than this one.
        self.len == N || self.lengths[last] > length || (self.units[last], self.lengths[last]) == (units, length)
    }

    /// The needs.
    pub fn iter(&self) -> impl Iterator<Item = (i64, SimDuration)> + '_ {
        self.units[..self.len].iter().copied().zip(self.lengths[..self.len].iter().copied())
    }

    fn count_up_to(&self, units: i64) -> usize {
        self.units[..self.len].iter().take_while(|&&other| other <= units).count()
    }

    /// Merges the two neighbours whose units differ least, relatively.
    fn merge(&mut self) {
        let gap = |place: &usize| (self.units[*place + 1] - self.units[*place]) * 64 / self.units[*place].max(1);
        let place = (0..N - 1).min_by_key(gap).unwrap_or(0);
        self.lengths[place] = self.lengths[place + 1];
        self.units.copy_within(place + 2..self.len, place + 1);
        self.lengths.copy_within(place + 2..self.len, place + 1);
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Twin: a list of all needs. What it says of a few is exact; of many it never leaves one out.
        #[test]
        fn says_what_a_list_of_needs_says(
            one in prop::collection::vec((1..40_i64, 1..40_i64), 0..12),
            other in prop::collection::vec((1..40_i64, 1..40_i64), 0..12),
            refused in prop::collection::vec((1..40_i64, 1..40_i64), 0..6),
            (units, slack, extra) in (0..42_i64, 0..42_i64, 0..42_i64),
        ) {
            let span = SimDuration::from_micros;
            let all: Vec<_> = one.iter().chain(&other).copied().collect();
            let mut stairs = Staircase::default();
            for &(units, length) in &refused {
                stairs.refuse(units, span(length));
            }
            let fits = |need: &(i64, i64)| need.0 <= units && (need.1 <= slack || need.0 <= extra);
            let passes = |need: &(i64, i64)| !stairs.holds(need.0, span(need.1));
            let extra = extra.min(units);
            let made = |needs: &[(i64, i64)]| {
                let mut front = Front::<24>::EMPTY;
                for &(units, length) in needs {
                    front.note(units, span(length));
                }
                front
            };
            let mut whole = made(&one);
            whole.join(&made(&other));
            prop_assert_eq!(whole.may_fit(units, span(slack), extra), all.iter().any(fits));
            prop_assert_eq!(whole.passes(&stairs), refused.is_empty() || all.iter().any(passes));
            let mut narrow = Front::<3>::EMPTY;
            for &(units, length) in &all {
                narrow.note(units, span(length));
            }
            prop_assert!(narrow.may_fit(units, span(slack), extra) || !all.iter().any(fits));
            prop_assert!(narrow.passes(&stairs) || !all.iter().any(passes));
            for place in 0..all.len() {
                let others: Vec<_> = all[..place].iter().chain(&all[place + 1..]).copied().collect();
                let same = made(&others).iter().eq(whole.iter());
                prop_assert!(same || whole.rests_on(all[place].0, span(all[place].1)));
            }
        }
    }
}
