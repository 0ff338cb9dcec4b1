//! A block of consecutive steps of a profile, with instants apart from amounts, so that a look at all of them is a loop
//! without a branch.

use crate::algo::horizon::amount::Amount;
use crate::units::SimTime;

/// Maximum number of steps of a block, of which a word has a bit for each. Shorter blocks are sooner changed in part, longer
/// ones leave fewer to pass over.
pub(super) const MOST: usize = 32;

/// Consecutive steps of a block; empty only within a call of the profile.
#[derive(Clone, Debug)]
pub(super) struct Steps<A> {
    pub(super) at: Vec<SimTime>,
    /// Amounts that are free from each instant on, without the head's `lift`.
    pub(super) free: Vec<A>,
}

/// Summary of a block, known without a look at its steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<A> {
    pub(super) begins: SimTime,
    /// Amount to be added to every step.
    pub(super) lift: A,
    pub(super) lowest: A,
    pub(super) highest: A,
}

impl<A: Amount> Head<A> {
    /// Summary of steps as they stand, each with `lift` to be added.
    pub(super) fn of(steps: &Steps<A>, lift: A) -> Self {
        let bounds = (A::UNBOUNDED, A::BOTTOM);
        let (lowest, highest) = steps.free.iter().fold(bounds, |(low, high), &free| (low.least(free), high.most(free)));
        Self { begins: steps.at[0], lift, lowest: lowest.plus(lift), highest: highest.plus(lift) }
    }

    /// The same with `amount` more at every step.
    pub(super) fn lifted(&self, amount: A) -> Self {
        let plus = |bound: A| bound.plus(amount);
        Self { begins: self.begins, lift: plus(self.lift), lowest: plus(self.lowest), highest: plus(self.highest) }
    }

    /// Takes `amount` away from every step.
    pub(super) fn lower(&mut self, amount: A) {
        self.lift = self.lift.minus(amount);
        self.lowest = self.lowest.minus(amount);
        self.highest = self.highest.minus(amount);
    }
}

impl<A: Amount> Steps<A> {
    pub(super) fn new() -> Self {
        Self { at: Vec::with_capacity(MOST + 1), free: Vec::with_capacity(MOST + 1) }
    }

    pub(super) fn len(&self) -> usize {
        self.at.len()
    }

    pub(super) fn clear(&mut self) {
        self.at.clear();
        self.free.clear();
    }

    pub(super) fn copy(&mut self, other: &Self) {
        self.set(&other.at, &other.free);
    }

    pub(super) fn set(&mut self, at: &[SimTime], free: &[A]) {
        self.at.clear();
        self.at.extend_from_slice(at);
        self.free.clear();
        self.free.extend_from_slice(free);
    }

    /// Number of steps that begin before `at`.
    pub(super) fn before(&self, at: SimTime) -> usize {
        self.at.partition_point(|&step| step < at)
    }

    /// Number of steps that begin no later than `at`.
    pub(super) fn up_to(&self, at: SimTime) -> u32 {
        let count = self.at.partition_point(|&step| step <= at);
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The step that holds at `at`, or the first.
    pub(super) fn in_force(&self, at: SimTime) -> usize {
        self.at.partition_point(|&step| step <= at).saturating_sub(1)
    }

    /// Takes `amount`, which is not below zero, away from the steps in `from..to`, and updates `head`.
    pub(super) fn lower(&mut self, head: &mut Head<A>, (from, to): (usize, usize), amount: A) {
        let (mut lowest, mut highest) = (A::UNBOUNDED, A::BOTTOM);
        for free in &mut self.free[from..to] {
            highest = highest.most(*free);
            *free = free.minus(amount);
            lowest = lowest.least(*free);
        }
        head.lowest = head.lowest.least(lowest.plus(head.lift));
        // A step that was below the highest before leaves the highest as it is.
        if !highest.plus(head.lift).below(head.highest) {
            head.highest = self.free.iter().fold(A::BOTTOM, |most, &free| most.most(free)).plus(head.lift);
        }
    }

    /// Bit mask of the steps that have `need` with `lift` added.
    pub(super) fn that_hold(&self, need: A, lift: A) -> u64 {
        let bit = |place: usize, free: &A| u64::from(free.plus(lift).holds(need)) << place;
        // Eight at a time, so that the compiler can vectorise the loop.
        let chunks = self.free.chunks_exact(8);
        let rest = chunks.remainder();
        let mut bits = 0;
        for (index, chunk) in chunks.enumerate() {
            bits |= chunk.iter().enumerate().fold(0, |bits, (place, free)| bits | bit(place, free)) << (8 * index);
        }
        let first = self.free.len() - rest.len();
        rest.iter().enumerate().fold(bits, |bits, (place, free)| bits | bit(first + place, free))
    }

    /// Moves the steps from `place` on to the end of `upper`.
    pub(super) fn split_into(&mut self, place: usize, upper: &mut Self) {
        upper.at.extend(self.at.drain(place..));
        upper.free.extend(self.free.drain(place..));
    }
}
