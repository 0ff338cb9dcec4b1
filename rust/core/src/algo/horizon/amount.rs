//! Amounts of one or several things, compared and added componentwise.

use std::fmt::Debug;

/// An amount of one thing, or of several.
///
/// Free amounts may be below zero where more was promised than there is.
pub trait Amount: Copy + Debug + PartialEq {
    /// Zero of everything.
    const NONE: Self;
    /// Upper bound: more of everything than there is.
    const UNBOUNDED: Self;
    /// Lower bound: less of everything than there is.
    const BOTTOM: Self;

    /// True if there is at least as much of everything as in `need`.
    #[must_use]
    fn holds(self, need: Self) -> bool;

    /// True if there is less of everything than in `other`.
    #[must_use]
    fn below(self, other: Self) -> bool;

    /// Sum of both.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// The amount that is left without `other`.
    #[must_use]
    fn minus(self, other: Self) -> Self;

    /// Componentwise minimum.
    #[must_use]
    fn least(self, other: Self) -> Self;

    /// Componentwise maximum.
    #[must_use]
    fn most(self, other: Self) -> Self;

    /// The amount, `count` times.
    #[must_use]
    fn times(self, count: i64) -> Self;

    /// Number of times that `need` is contained in it; things that are not needed never limit it.
    #[must_use]
    fn how_often(self, need: Self) -> i64;
}

/// Amounts of up to eight groups of nodes and other things: one cache line.
pub type Lanes = [i64; 8];

impl Amount for i64 {
    const NONE: Self = 0;
    const UNBOUNDED: Self = Self::MAX;
    const BOTTOM: Self = Self::MIN;

    #[inline]
    fn holds(self, need: Self) -> bool {
        self >= need
    }

    #[inline]
    fn below(self, other: Self) -> bool {
        self < other
    }

    #[inline]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline]
    fn minus(self, other: Self) -> Self {
        self - other
    }

    #[inline]
    fn least(self, other: Self) -> Self {
        self.min(other)
    }

    #[inline]
    fn most(self, other: Self) -> Self {
        self.max(other)
    }

    #[inline]
    fn times(self, count: i64) -> Self {
        self * count
    }

    #[inline]
    fn how_often(self, need: Self) -> i64 {
        if need > 0 { self / need } else { Self::MAX }
    }
}

impl<const N: usize> Amount for [i64; N] {
    const NONE: Self = [0; N];
    const UNBOUNDED: Self = [i64::MAX; N];
    const BOTTOM: Self = [i64::MIN; N];

    #[inline]
    fn holds(self, need: Self) -> bool {
        self.iter().zip(need).all(|(free, need)| *free >= need)
    }

    #[inline]
    fn below(self, other: Self) -> bool {
        self.iter().zip(other).all(|(one, other)| *one < other)
    }

    #[inline]
    fn plus(mut self, other: Self) -> Self {
        self.iter_mut().zip(other).for_each(|(one, other)| *one += other);
        self
    }

    #[inline]
    fn minus(mut self, other: Self) -> Self {
        self.iter_mut().zip(other).for_each(|(one, other)| *one -= other);
        self
    }

    #[inline]
    fn least(mut self, other: Self) -> Self {
        self.iter_mut().zip(other).for_each(|(one, other)| *one = (*one).min(other));
        self
    }

    #[inline]
    fn most(mut self, other: Self) -> Self {
        self.iter_mut().zip(other).for_each(|(one, other)| *one = (*one).max(other));
        self
    }

    #[inline]
    fn times(mut self, count: i64) -> Self {
        for one in &mut self {
            *one *= count;
        }
        self
    }

    #[inline]
    fn how_often(self, need: Self) -> i64 {
        self.iter().zip(need).map(|(&free, need)| free.how_often(need)).min().unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_short_is_short() {
        assert!([3, 5].holds([3, 5]) && [3, 5].holds([-1, 0]));
        assert!(![3, 5].holds([4, 0]) && ![3, 5].holds([0, 6]));
        let (mut free, mut need): (Lanes, Lanes) = ([7; 8], [7; 8]);
        assert!(free.holds(need));
        need[7] = 8;
        assert!(!free.holds(need));
        free[7] = 8;
        assert!(free.holds(need));
    }

    #[test]
    fn each_thing_is_reckoned_with_its_like() {
        let (one, other) = ([3, -5], [1, 4]);
        assert_eq!((one.plus(other), one.minus(other)), ([4, -1], [2, -9]));
        assert_eq!((one.least(other), one.most(other)), ([1, -5], [3, 4]));
        assert_eq!((one.times(3), 4.times(3)), ([9, -15], 12));
        assert!([2, 3].below([3, 4]) && ![2, 4].below([3, 4]) && 2.below(3) && !3.below(3));
        assert_eq!((2.plus(3), 2.minus(3), 2.least(3), 2.most(3)), (5, -1, 2, 3));
    }

    #[test]
    fn the_scarcest_thing_says_how_often_a_need_is_there() {
        assert_eq!((10.how_often(3), 10.how_often(0)), (3, i64::MAX));
        assert_eq!([10, 7].how_often([3, 4]), 1);
        assert_eq!([10, 7].how_often([3, 0]), 3);
        assert_eq!([10, 7].how_often([0, 0]), i64::MAX);
    }

    #[test]
    fn everything_lies_between_the_bounds() {
        for amount in [[0, 0], [i64::MAX, i64::MIN]] {
            assert_eq!(amount.least(Amount::UNBOUNDED), amount);
            assert_eq!(amount.most(Amount::BOTTOM), amount);
            assert_eq!(amount.plus(Amount::NONE), amount);
        }
    }
}
