//! Refusals of a pass: a job need not be tried if it is no smaller than one alike that takes more watts than are left.

use std::collections::BTreeMap;

use crate::algo::fit_list::{ByKind, Kind};
use crate::cluster::counted::Estimate;
use crate::policy::budget::prices::Prices;
use crate::policy::class::JobClass;

/// Key of jobs that are given the same nodes and take the same watts there: class, estimate, need of slots.
pub(super) type Likeness = (JobClass, Estimate, u32);

/// Scope of a refusal: how long it holds for other jobs, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasts {
    /// For the pass: the job takes no fewer watts on any nodes, and every start leaves less.
    ForThePass,
    /// The next start ends it: other nodes are then the first free ones.
    UntilAStart,
    /// The same, for jobs that may take no more than an earlier job leaves them.
    UntilAStartBeside,
}

/// Fewest nodes at which jobs take too much.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals {
    for_the_pass: Few,
    until_a_start: Few,
    /// The same alongside an earlier job, which is promised its start.
    beside: Few,
    /// Least microwatts left for which the jobs were noted that take more on any nodes.
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
    /// Begins a pass.
    pub(super) fn clear(&mut self) {
        self.for_the_pass.clear();
        self.note_start();
        self.told = None;
    }

    /// Forgets the refusals that end with a start.
    pub(super) fn note_start(&mut self) {
        self.until_a_start.clear();
        self.beside.clear();
    }

    /// True if a job alike that is no larger was refused.
    pub(super) fn hold(&self, like: &Likeness, count: u32, is_beside: bool) -> bool {
        self.for_the_pass.holds(like, count)
            || self.until_a_start.holds(like, count)
            || is_beside && self.beside.holds(like, count)
    }

    /// Notes that a job of `count` nodes, which are the given units of a kind, takes too much.
    pub(super) fn note(&mut self, lasts: Lasts, like: Likeness, count: u32, units: (Kind, i64)) {
        match lasts {
            Lasts::ForThePass => self.for_the_pass.note(like, count, units),
            Lasts::UntilAStart => self.until_a_start.note(like, count, units),
            Lasts::UntilAStartBeside => self.beside.note(like, count, units),
        }
    }

    /// Fewest units of each kind that are refused, given the microwatts left.
    pub(super) fn units(&mut self, microwatts: i64, prices: &mut Prices) -> ByKind {
        if self.told.is_none_or(|told| microwatts < told) {
            prices.refuse(microwatts, &mut self.for_the_pass.units);
            self.told = Some(microwatts);
        }
        self.for_the_pass.units.join(self.until_a_start.units)
    }
}
