//! Which jobs of a pass need not be tried: larger ones alike than some that take more watts than are left.

use std::collections::BTreeMap;

use crate::algo::fit_list::{ByKind, Kind};
use crate::cluster::counted::Estimate;
use crate::policy::budget::prices::Prices;
use crate::policy::class::JobClass;

/// What jobs have in common that are given the same nodes, and take the same watts there: class, estimate, need of slots.
pub(super) type Likeness = (JobClass, Estimate, u32);

/// For how long a refusal speaks for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasts {
    /// For the pass: fewer watts cannot be had, and less is left with every start.
    ForThePass,
    /// Until the next start: then others of the free nodes are the first.
    UntilAStart,
    /// The same, for jobs that may take no more than an earlier one leaves them.
    UntilAStartBeside,
}

/// The fewest nodes at which jobs take too much.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals {
    for_the_pass: Few,
    until_a_start: Few,
    /// The same beside an earlier job, which is promised its start.
    beside: Few,
    /// The least microwatts for which all was noted that take more wherever they are.
    told: Option<i64>,
}

#[derive(Clone, Debug)]
struct Few {
    nodes: BTreeMap<Likeness, u32>,
    /// The same in units, by kind of waiting jobs.
    units: ByKind,
}

impl Default for Few {
    fn default() -> Self {
        Self { nodes: BTreeMap::new(), units: ByKind::NONE }
    }
}

impl Few {
    fn clear(&mut self) {
        self.nodes.clear();
        self.units = ByKind::NONE;
    }

    fn holds(&self, like: &Likeness, count: u32) -> bool {
        !self.nodes.is_empty() && self.nodes.get(like).is_some_and(|&fewest| count >= fewest)
    }

    fn note(&mut self, like: Likeness, count: u32, (kind, units): (Kind, i64)) {
        let fewest = self.nodes.entry(like).or_insert(count);
        *fewest = count.min(*fewest);
        if kind != Kind::OTHER {
            self.units.lower(kind, units);
        }
    }
}

impl Refusals {
    /// A pass begins.
    pub(super) fn clear(&mut self) {
        self.for_the_pass.clear();
        self.note_start();
        self.told = None;
    }

    /// A job starts.
    pub(super) fn note_start(&mut self) {
        self.until_a_start.clear();
        self.beside.clear();
    }

    /// Whether a job alike that is no larger was refused.
    pub(super) fn hold(&self, like: &Likeness, count: u32, is_beside: bool) -> bool {
        self.for_the_pass.holds(like, count)
            || self.until_a_start.holds(like, count)
            || is_beside && self.beside.holds(like, count)
    }

    /// A job alike of so many nodes, which are so many units of a kind, takes too much.
    pub(super) fn note(&mut self, lasts: Lasts, like: Likeness, count: u32, units: (Kind, i64)) {
        match lasts {
            Lasts::ForThePass => self.for_the_pass.note(like, count, units),
            Lasts::UntilAStart => self.until_a_start.note(like, count, units),
            Lasts::UntilAStartBeside => self.beside.note(like, count, units),
        }
    }

    /// The fewest units of each kind that are refused, if so many microwatts are left.
    pub(super) fn units(&mut self, microwatts: i64, prices: &mut Prices) -> ByKind {
        if self.told.is_none_or(|told| microwatts < told) {
            prices.refuse(microwatts, &mut self.for_the_pass.units);
            self.told = Some(microwatts);
        }
        self.for_the_pass.units.join(self.until_a_start.units)
    }
}
