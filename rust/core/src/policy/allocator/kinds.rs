//! Draw of all runs at a slowdown, by the cap model: nodes that draw alike at every slowdown are counted as one kind.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::cluster::counted::Counted;
use crate::cluster::counted::Estimate;
use crate::cluster::runs::{Run, RunId};
use crate::policy::View;
use crate::policy::allocator::running;
use crate::power::in_force::{Allotted, CapsInForce, DrawProfile};
use crate::power::pvt::NodeLikeness;
use crate::units::Watts;

/// Most kinds that are kept: where every job brings a draw of its own, each of its nodes would remain a kind for ever.
const MOST: usize = 1 << 16;

/// Values that decide how much a node of a run draws beyond idle at every slowdown; numbers as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Likeness {
    node: NodeLikeness,
    idle: Watts,
    tdp: Watts,
    bound_ratio: u64,
    own_w: u64,
    emergency_w: u64,
    estimate: Estimate,
}

/// Nodes that draw alike, with one of them as a sample and its draw at the slowdown that was looked at last.
#[derive(Clone, Debug)]
struct Kind {
    of: DrawProfile,
    caps: CapsInForce,
    estimate: Estimate,
    node: u32,
    /// Number of such nodes at work.
    count: u32,
    draw: Watts,
}

/// Nodes of a run by kind, as they were found.
#[derive(Clone, Debug)]
struct Known {
    id: RunId,
    /// Conditions under which the kinds hold: the emergency's cap, as bits, and the places of the run's nodes.
    found: (u64, Range<usize>),
    parts: Vec<(usize, u32)>,
    /// True if they are in the counts of kinds.
    counts: bool,
}

/// Kinds of nodes at work, kept from pass to pass.
#[derive(Clone, Debug, Default)]
pub(super) struct Kinds {
    numbers: BTreeMap<Likeness, usize>,
    all: Vec<Kind>,
    /// Kinds of each run's nodes, by its slot.
    of: Vec<Option<Known>>,
    /// Slowdown that was looked at last, and the draw of all runs at it.
    at: Option<(f64, Watts)>,
}

impl Kinds {
    /// Brings the counts up to date with what runs now.
    pub(super) fn follow(&mut self, view: &View<'_>) {
        if self.all.len() > MOST {
            *self = Self::default();
        }
        self.at = None;
        for (id, run) in running(view) {
            let (slot, found) = (id.slot() as usize, (run.caps.emergency_w.to_bits(), run.places.clone()));
            if self.of.len() <= slot {
                self.of.resize(slot + 1, None);
            }
            if self.of[slot].as_ref().is_none_or(|known| known.id != id || known.found != found) {
                self.leave(slot);
                let parts = self.parts(view, run);
                self.of[slot] = Some(Known { id, found, parts, counts: false });
            }
        }
        for slot in 0..self.of.len() {
            let Some(known) = &mut self.of[slot] else { continue };
            let runs = view.runs.get(known.id).is_some_and(|run| run.suspension.is_none());
            if !runs {
                self.leave(slot);
            } else if !std::mem::replace(&mut known.counts, true) {
                known.parts.iter().for_each(|&(kind, count)| self.all[kind].count += count);
            }
        }
    }

    fn leave(&mut self, slot: usize) {
        if let Some(known) = self.of[slot].take().filter(|known| known.counts) {
            known.parts.iter().for_each(|&(kind, count)| self.all[kind].count -= count);
        }
    }

    /// The nodes of a run by kind.
    fn parts(&mut self, view: &View<'_>, run: &Run) -> Vec<(usize, u32)> {
        let mut parts: Vec<(usize, u32)> = Vec::new();
        let mut last = None;
        for &node in view.runs.nodes(run) {
            let like = Likeness::of(view, run, node);
            let is_like_last = like.is_some() && last == like;
            last = like;
            match parts.last_mut().filter(|_| is_like_last) {
                Some((_, count)) => *count += 1,
                None => parts.push((self.number(view, like, run, node), 1)),
            }
        }
        parts
    }

    fn number(&mut self, view: &View<'_>, like: Option<Likeness>, run: &Run, node: u32) -> usize {
        let new = self.all.len();
        let number = like.map_or(new, |like| *self.numbers.entry(like).or_insert(new));
        if number == new {
            let (of, caps, estimate) = (view.profile(run.job), run.caps.clone(), run.basis.estimate);
            self.all.push(Kind { of, caps, estimate, node, count: 0, draw: Watts::ZERO });
        }
        number
    }

    /// Draw of all runs beyond idle at a slowdown.
    pub(super) fn draw_at(&mut self, view: &View<'_>, slowdown: f64) -> Watts {
        if let Some((_, sum)) = self.at.filter(|(at, _)| at.to_bits() == slowdown.to_bits()) {
            return sum;
        }
        let mut sum = Watts::ZERO;
        for kind in self.all.iter_mut().filter(|kind| kind.count > 0) {
            let caps = kind.caps.allotting(Allotted::Slowdown(slowdown));
            kind.draw = Counted::new(view.platform, view.predicted, kind.of, caps, kind.estimate).on(kind.node);
            sum += kind.draw.times(kind.count);
        }
        self.at = Some((slowdown, sum));
        sum
    }

    /// Draw of a run beyond idle at the slowdown that was looked at last.
    pub(super) fn of(&self, view: &View<'_>, id: RunId, run: &Run) -> Watts {
        let known = self.of.get(id.slot() as usize).and_then(Option::as_ref);
        let parts = known.map_or(&[][..], |known| &known.parts);
        view.held(run.job, parts.iter().map(|&(kind, count)| self.all[kind].draw.times(count)).sum())
    }
}

impl Likeness {
    fn of(view: &View<'_>, run: &Run, node: u32) -> Option<Self> {
        let (of, own) = (view.profile(run.job), view.platform.node(node));
        Some(Self {
            node: view.predicted.likeness(of.app, of.own, node)?,
            idle: own.idle,
            tdp: own.tdp,
            bound_ratio: view.predicted.bound_ratio(of.app, of.own)?.to_bits(),
            own_w: run.caps.own_w.to_bits(),
            emergency_w: run.caps.emergency_w.to_bits(),
            estimate: run.basis.estimate,
        })
    }
}
