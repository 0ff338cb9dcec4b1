//! Log of a run's events other than starts and ends, one row each, in the order in which they happened (operations
//! pages, rules 37).
//!
//! The log is run-length encoded: where nodes are switched off and on, most rows repeat the one before for the next
//! node at the same instant, and such rows are kept as one stretch.

use std::collections::BTreeMap;

use crate::algo::span::Span;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// Kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A budget from outside begins to hold or ends.
    Budget,
    /// The machine draws more than the budget.
    Alert,
    /// An emergency lowers the cap of a run.
    LowerCap,
    /// The cap is raised again.
    RaiseCap,
    /// A run is suspended.
    Suspend,
    /// The run is resumed.
    Resume,
    /// A run was ended and its job requeued.
    Requeue,
    /// A run was ended for good.
    Kill,
    /// A node has failed.
    Failed,
    /// The node is repaired.
    Repaired,
    /// A node goes into maintenance.
    Out,
    /// The node's maintenance is over.
    Back,
    /// A node boots from now on.
    Wake,
    /// The node is ready.
    Ready,
    /// A node shuts down from now on.
    Sleep,
    /// The node is off.
    Off,
    /// A job was withdrawn, or depends on something that will not happen.
    Cancel,
    /// A run has got nodes.
    Grow,
    /// A run has given nodes up.
    Shrink,
}

/// One event of the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Instant of the event.
    pub at: SimTime,
    /// Kind of the event.
    pub kind: EntryKind,
    /// Job that it concerns, if any.
    pub job: Option<JobId>,
    /// Node that it concerns, if any.
    pub node: Option<u32>,
    /// Budget or cap from now on, W, or number of nodes of a run; NaN if there is none.
    pub value_w: f64,
    /// Draw of the machine just before.
    pub before: Watts,
    /// Draw of the machine just after.
    pub after: Watts,
}

/// All events, in order.
#[derive(Clone, Debug, Default)]
pub struct Log {
    stretches: Vec<Stretch>,
    /// Draw of the machine just before the first event of each stretch.
    before: Vec<Watts>,
    /// Distinct steps of the draw.
    steps: Vec<Watts>,
    numbers: BTreeMap<Watts, u32>,
    /// Events that are not about a node alone, with the number of stretches before each.
    others: Vec<(usize, Entry)>,
    len: usize,
}

/// Neighbouring nodes to which the same happened one after the other at one instant, each with the same effect on the
/// draw.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    at: SimTime,
    nodes: Span,
    /// Index of the step that each node adds to the draw.
    step: u32,
    kind: EntryKind,
}

impl Log {
    /// Adds a row.
    pub(super) fn push(&mut self, entry: Entry) {
        let Some(node) = entry.node.filter(|_| entry.job.is_none() && entry.value_w.is_nan()) else {
            self.len += 1;
            self.others.push((self.stretches.len(), entry));
            return;
        };
        self.push_nodes(entry.at, entry.kind, Span::of(node), (entry.before, entry.after - entry.before));
    }

    /// Adds a row for each of several neighbouring nodes to which the same happened. The draw is `before` at first, and
    /// each row changes it by `step`.
    pub(super) fn push_nodes(&mut self, at: SimTime, kind: EntryKind, nodes: Span, (before, step): (Watts, Watts)) {
        self.len += nodes.len() as usize;
        if self.goes_on(at, kind, step, before)
            && let Some(stretch) = self.stretches.last_mut()
            && stretch.nodes.append(nodes)
        {
            return;
        }
        let step = self.number(step);
        self.stretches.push(Stretch { at, nodes, step, kind });
        self.before.push(before);
    }

    /// True if such an event continues the last stretch, provided that its nodes do.
    fn goes_on(&self, at: SimTime, kind: EntryKind, step: Watts, before: Watts) -> bool {
        let (Some(stretch), Some(&first)) = (self.stretches.last(), self.before.last()) else { return false };
        (stretch.at, stretch.kind, self.steps[stretch.step as usize]) == (at, kind, step)
            && self.others.last().is_none_or(|(place, _)| *place < self.stretches.len())
            && first + step.times(stretch.nodes.len()) == before
    }

    fn number(&mut self, step: Watts) -> u32 {
        let next = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(step).or_insert(next);
        if number == next {
            self.steps.push(step);
        }
        number
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All rows.
    pub fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        let places = self.others.iter().map(|(place, _)| *place);
        let starts = std::iter::once(0).chain(places.clone());
        let ends = places.chain(std::iter::once(self.stretches.len()));
        let others = self.others.iter().map(|(_, entry)| Some(*entry)).chain(std::iter::once(None));
        let parts = starts.zip(ends).zip(others);
        parts.flat_map(|((start, end), other)| (start..end).flat_map(|place| self.rows_of(place)).chain(other))
    }

    fn rows_of(&self, place: usize) -> impl Iterator<Item = Entry> + '_ {
        let (stretch, before) = (self.stretches[place], self.before[place]);
        let step = self.steps[stretch.step as usize];
        (0..stretch.nodes.len()).map(move |index| Entry {
            node: Some(stretch.nodes.at(index)),
            before: before + step.times(index),
            ..Entry::new(stretch.at, stretch.kind, before + step.times(index + 1))
        })
    }

    /// Drops the rows of budgets for which `is_kept` is false.
    pub(super) fn keep_budgets(&mut self, is_kept: impl Fn(&Entry) -> bool) {
        self.others.retain(|(_, entry)| entry.kind != EntryKind::Budget || is_kept(entry));
        let alone: usize = self.stretches.iter().map(|stretch| stretch.nodes.len() as usize).sum();
        self.len = alone + self.others.len();
    }
}

impl Entry {
    /// Entry for an event that leaves the draw unchanged, unless further fields are set.
    pub(super) fn new(at: SimTime, kind: EntryKind, draw: Watts) -> Self {
        Self { at, kind, job: None, node: None, value_w: f64::NAN, before: draw, after: draw }
    }
}

impl EntryKind {
    /// Name of the kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Alert => "alert",
            Self::LowerCap => "lower-cap",
            Self::RaiseCap => "raise-cap",
            Self::Suspend => "suspend",
            Self::Resume => "resume",
            Self::Requeue => "requeue",
            Self::Kill => "kill",
            Self::Failed => "failed",
            Self::Repaired => "repaired",
            Self::Out => "out",
            Self::Back => "back",
            Self::Wake => "wake",
            Self::Ready => "ready",
            Self::Sleep => "sleep",
            Self::Off => "off",
            Self::Cancel => "cancel",
            Self::Grow => "grow",
            Self::Shrink => "shrink",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn watts(watts: i32) -> Watts {
        let of = |watts: i32| Watts::from_watts(f64::from(watts)).unwrap_or_default();
        of(watts.max(0)) - of((-watts).max(0))
    }

    proptest! {
        /// Twin: a list.
        #[test]
        fn a_log_says_what_was_written_down(
            rows in prop::collection::vec((0..3_i64, 0..4_u8, 0..6_u32, -1..2_i32, prop::bool::weighted(0.9)), 0..80),
        ) {
            let (mut log, mut twin, mut draw, mut now) = (Log::default(), Vec::new(), watts(100), 0);
            let mut node = 50;
            for (gap, what, by, step, is_calm) in rows {
                now += i64::from(!is_calm) * gap;
                node = match by { 0 => node, 1 => node - 1, 5 => node + 7, _ => node + 1 };
                let kind = if what < 3 { EntryKind::Wake } else { EntryKind::Sleep };
                let (at, before) = (SimTime::from_micros(now), draw);
                draw += watts(if is_calm { 3 } else { step });
                let entry = Entry { before, ..Entry::new(at, kind, draw) };
                let entry = match (is_calm, what) {
                    (false, 0) => Entry { kind: EntryKind::Budget, value_w: 5.0, ..entry },
                    (false, 1) => Entry { job: Some(JobId(1)), ..entry },
                    _ => Entry { node: Some(node), ..entry },
                };
                log.push(entry);
                twin.push(entry);
            }
            let told = |entry: &Entry| format!("{entry:?}");
            let said = |log: &Log| log.iter().map(|entry| told(&entry)).collect::<Vec<_>>();
            prop_assert_eq!(said(&log), twin.iter().map(told).collect::<Vec<_>>());
            prop_assert_eq!(log.len(), twin.len());
            log.keep_budgets(|entry| entry.at.micros() % 2 == 0);
            twin.retain(|entry| entry.kind != EntryKind::Budget || entry.at.micros() % 2 == 0);
            prop_assert_eq!(said(&log), twin.iter().map(told).collect::<Vec<_>>());
            prop_assert_eq!(log.len(), twin.len());
        }
    }

    proptest! {
        /// Twin: node by node.
        #[test]
        fn neighbours_are_written_down_together(
            rows in prop::collection::vec((0..2_i64, 0..2_u8, 0..20_u32, 1..9_u32, -1..2_i32, any::<bool>()), 0..40),
        ) {
            let (mut together, mut one_by_one, mut now, mut draw) = (Log::default(), Log::default(), 0, watts(500));
            for (gap, what, node, count, step, descends) in rows {
                now += gap;
                let (at, kind) = (SimTime::from_micros(now), if what == 0 { EntryKind::Off } else { EntryKind::Ready });
                let (first, step) = (node + 9, watts(step));
                let mut nodes = Span::of(first);
                let next = |by: u32| if descends { first - by } else { first + by };
                prop_assert!((1..count).all(|by| nodes.extend(next(by))));
                together.push_nodes(at, kind, nodes, (draw, step));
                for node in nodes.nodes() {
                    let entry = Entry { node: Some(node), before: draw, ..Entry::new(at, kind, draw + step) };
                    one_by_one.push(entry);
                    draw += step;
                }
            }
            let said = |log: &Log| log.iter().map(|entry| format!("{entry:?}")).collect::<Vec<_>>();
            prop_assert_eq!(said(&together), said(&one_by_one));
            prop_assert_eq!(together.len(), one_by_one.len());
        }
    }

    #[test]
    fn neighbours_to_which_the_same_happens_take_one_place() {
        let mut log = Log::default();
        for count in 0..1_000 {
            let (before, after) = (watts(count), watts(count + 1));
            let node = Some(u32::try_from(5_000 - count).unwrap_or_default());
            log.push(Entry { node, before, ..Entry::new(SimTime::from_micros(7), EntryKind::Sleep, after) });
        }
        assert_eq!((log.len(), log.stretches.len()), (1_000, 1));
    }
}
