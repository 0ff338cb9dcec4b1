//! Refusals: why a job was not placed, and what of that holds for other jobs of the pass, which then need not be tried.

use std::collections::BTreeMap;

use crate::algo::fit_list::{ByClass, ClassId};
use crate::policy::budget::prices::{Edition, Prices};
use crate::units::Watts;

/// Reason why a job was not placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The placement refused it.
    Refused,
    /// It takes more watts than are left on the nodes it would go to.
    There,
    /// The same, and no other free nodes would take fewer.
    Anywhere,
    /// The same, and it would be given nodes in their order, of which this many would fit.
    InOrder(usize),
    /// It fits what is left, but not what an earlier job leaves.
    Beside,
    /// The same, and this many nodes would fit.
    InOrderBeside(usize),
}

impl Refusal {
    /// Refusal of a job that would be given nodes in their order, of which `fitting` would fit.
    pub(super) fn in_order(fitting: usize, is_beside: bool) -> Self {
        if is_beside { Self::InOrderBeside(fitting) } else { Self::InOrder(fitting) }
    }

    /// True if it exceeds the room itself.
    pub(super) fn for_the_room(self) -> bool {
        matches!(self, Self::There | Self::Anywhere | Self::InOrder(_))
    }
}

/// Key of jobs that are given the same nodes and take the same watts there: class and need of slots.
pub(super) type Likeness = (ClassId, u32);

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
    /// Jobs that take too much on the first free nodes, for the watts left and for those left alongside an earlier job.
    firsts: [First; 2],
}

/// Fewest units, by class, that take more watts than a bound on the first free nodes.
#[derive(Clone, Debug)]
struct First {
    units: ByClass,
    /// Edition of the free nodes for which that was found out, and the bound.
    of: Option<(Edition, Watts)>,
}

impl Default for First {
    fn default() -> Self {
        Self { units: ByClass::NONE, of: None }
    }
}

#[derive(Clone, Debug)]
struct Few {
    /// By number of the class and need.
    nodes: BTreeMap<(usize, u32), u32>,
    /// The same in units, for the classes that have slots in the queue's summaries.
    units: ByClass,
}

impl Default for Few {
    fn default() -> Self {
        Self { nodes: BTreeMap::new(), units: ByClass::NONE }
    }
}

impl Few {
    fn clear(&mut self) {
        // Cleared, even an empty map is taken apart; and it is nearly always empty.
        if !self.nodes.is_empty() {
            self.nodes.clear();
        }
        self.units = ByClass::NONE;
    }

    fn holds(&self, like: (usize, u32), count: u32) -> bool {
        !self.nodes.is_empty() && self.nodes.get(&like).is_some_and(|&fewest| count >= fewest)
    }

    fn note(&mut self, like: (usize, u32), class: ClassId, count: u32) {
        let fewest = self.nodes.entry(like).or_insert(count);
        *fewest = count.min(*fewest);
        if class.slot() > 0 {
            // Such jobs are not on shared nodes: their units are nodes.
            self.units.lower(class, i64::from(count));
        }
    }
}

impl Refusals {
    /// Begins a pass.
    pub(super) fn clear(&mut self) {
        self.for_the_pass.clear();
        self.note_start();
        self.told = None;
        // As the pass begins, the same nodes may be free as when the last one did.
        let is_past = |first: &&mut First| first.of.is_some_and(|(edition, _)| edition.within > 0);
        self.firsts.iter_mut().filter(is_past).for_each(|first| first.of = None);
    }

    /// Forgets the refusals that end with a start.
    pub(super) fn note_start(&mut self) {
        self.until_a_start.clear();
        self.beside.clear();
    }

    /// True if a job alike that is no larger was refused.
    pub(super) fn hold(&self, (class, need): Likeness, count: u32, is_beside: bool) -> bool {
        class.index().is_some_and(|index| {
            let like = (index, need);
            self.for_the_pass.holds(like, count)
                || self.until_a_start.holds(like, count)
                || is_beside && self.beside.holds(like, count)
        })
    }

    /// Notes that a job of `count` nodes takes too much.
    pub(super) fn note(&mut self, lasts: Lasts, (class, need): Likeness, count: u32) {
        let Some(index) = class.index() else { return };
        let few = match lasts {
            Lasts::ForThePass => &mut self.for_the_pass,
            Lasts::UntilAStart => &mut self.until_a_start,
            Lasts::UntilAStartBeside => &mut self.beside,
        };
        few.note((index, need), class, count);
    }

    /// Fewest units of each class that are refused, given the microwatts left.
    pub(super) fn units(&mut self, microwatts: i64, prices: &mut Prices) -> ByClass {
        if self.told.is_none_or(|told| microwatts < told) {
            prices.refuse(microwatts, &mut self.for_the_pass.units);
            self.told = Some(microwatts);
        }
        self.for_the_pass.units.join(self.until_a_start.units)
    }

    /// Fewest units of each class that are refused on the first free nodes, as `find` says if it is not known for this
    /// bound in this edition.
    pub(super) fn first(&mut self, is_beside: bool, of: (Edition, Watts), find: impl FnOnce() -> ByClass) -> ByClass {
        let [own, other] = [is_beside, !is_beside].map(usize::from);
        if self.firsts[own].of != Some(of) {
            // Where an earlier job leaves more than is left now, both are the same.
            let is_known = self.firsts[other].of == Some(of);
            let units = if is_known { self.firsts[other].units } else { find() };
            self.firsts[own] = First { units, of: Some(of) };
        }
        self.firsts[own].units
    }
}
