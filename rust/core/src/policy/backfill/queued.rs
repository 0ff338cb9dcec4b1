//! Free capacity of each node, whole nodes or slots, where jobs may take only the nodes of their queue.

use std::iter::zip;

use crate::algo::horizon::{Freedom, NodeNeed};
use crate::algo::node_set::NodeSet;
use crate::platform::queues::Queues;
use crate::policy::View;
use crate::policy::backfill::named::chosen::{Chosen, Kept, Memory, Own, Part};
use crate::workload::JobId;

/// Most queues for which the number of free nodes is kept.
const MOST: usize = 8;

/// Free nodes with queues. A job's row stands for its slots.
#[derive(Clone, Debug)]
pub(super) struct Queued<F> {
    free: F,
    /// Number of free nodes of each queue, where that is known.
    counts: Option<[u32; MOST]>,
}

/// Request of a job among the nodes of its queue.
pub(super) struct Asked<'c, A> {
    need: NodeNeed,
    ask: A,
    /// None: there are no queues.
    own: Option<&'c NodeSet>,
    queue: usize,
}

/// Claim on some nodes, and the number of them in each queue.
pub(super) struct Held<'c, L> {
    lot: L,
    counts: [u32; MOST],
    sets: &'c [NodeSet],
}

impl<F: PartialEq> PartialEq for Queued<F> {
    fn eq(&self, other: &Self) -> bool {
        self.free == other.free
    }
}

impl<F: Part> Queued<F> {
    /// Makes it from what is free.
    pub(super) fn new(view: &View<'_>, free: F) -> Self {
        let mut queued = Self { free, counts: Some([0; MOST]) };
        queued.recount(sets(view));
        queued
    }

    fn recount(&mut self, sets: &[NodeSet]) {
        let mut counts = [0; MOST];
        let is_known = sets.len() <= MOST
            && counts.iter_mut().zip(sets).all(|(count, own)| {
                let known = self.free.count_of(own);
                *count = known.unwrap_or(0);
                known.is_some()
            });
        self.counts = is_known.then_some(counts);
    }

    /// Changes the number of free nodes of each queue, or counts them again unless the change `is_plain`, that is, as
    /// expected.
    fn settle(&mut self, is_plain: bool, sets: &[NodeSet], change: impl FnOnce(&mut [u32; MOST])) {
        match &mut self.counts {
            Some(counts) if is_plain => change(counts),
            Some(_) => self.recount(sets),
            None => {}
        }
    }
}

/// The nodes of each queue.
fn sets<'c>(view: &View<'c>) -> &'c [NodeSet] {
    view.queues.map_or(&[][..], Queues::sets)
}

/// The job whose row stands in place of slots.
fn job_of(told: i32) -> JobId {
    JobId(told.cast_unsigned())
}

/// The need with a job's slots in place of its row.
fn told_plainly<F: Part>(view: &View<'_>, need: &NodeNeed) -> NodeNeed {
    NodeNeed { slots: F::told(view, job_of(need.slots)), ..*need }
}

impl<F: Part> Freedom for Queued<F> {
    type Facts<'c> = View<'c>;

    type Ask<'c> = Asked<'c, F::Ask<'c>>;

    type Lot<'c, 'n> = Held<'c, F::Lot<'c, 'n>>;

    fn ask<'c>(view: &'c View<'c>, need: &NodeNeed) -> Self::Ask<'c> {
        let job = job_of(need.slots);
        let queues = view.queues.map(|queues| (queues.nodes(job), usize::from(queues.number(job))));
        let need = told_plainly::<F>(view, need);
        let (own, queue) = queues.unzip();
        Asked { need, ask: F::ask(F::facts(view), &need), own, queue: queue.unwrap_or(0) }
    }

    fn lot<'c, 'n>(
        &self,
        view: &'c View<'c>,
        (nodes, told): (&'n [u32], i32),
        set: &'n mut NodeSet,
    ) -> Self::Lot<'c, 'n> {
        let (mut counts, sets) = ([0; MOST], sets(view));
        let lot = self.free.lot(F::facts(view), (nodes, F::told(view, job_of(told))), set);
        if self.counts.is_some() {
            F::count_by_set(&lot, sets, &mut counts);
        }
        Held { lot, counts, sets }
    }

    fn fitting(&self, ask: &Self::Ask<'_>, nodes: &mut NodeSet) -> bool {
        match ask.own {
            Some(own) => self.free.fitting_of(own, &ask.need, nodes),
            None => self.free.fitting(&ask.ask, nodes),
        }
    }

    fn keep_fitting(&self, ask: &Self::Ask<'_>, nodes: &mut NodeSet) -> bool {
        self.free.keep_fitting(&ask.ask, nodes)
    }

    fn copy_from(&mut self, other: &Self) {
        self.free.copy_from(&other.free);
        self.counts = other.counts;
    }

    fn suffices(&self, ask: &Self::Ask<'_>) -> bool {
        match (self.counts, ask.own) {
            (Some(counts), Some(_)) => counts[ask.queue] >= ask.need.nodes,
            (_, own) => own.is_none_or(|own| self.free.suffices_of(own, &ask.need)),
        }
    }

    fn is_counted(&self) -> bool {
        self.counts.is_some()
    }

    fn take(&mut self, lot: &Self::Lot<'_, '_>) -> bool {
        let is_plain = self.free.take(&lot.lot);
        self.settle(is_plain, lot.sets, |counts| zip(counts, lot.counts).for_each(|(count, less)| *count -= less));
        is_plain
    }

    fn give(&mut self, lot: &Self::Lot<'_, '_>) -> bool {
        let is_plain = self.free.give(&lot.lot);
        self.settle(is_plain, lot.sets, |counts| zip(counts, lot.counts).for_each(|(count, more)| *count += more));
        is_plain
    }

    fn open(&mut self, view: &View<'_>, node: u32, slots: i32) -> bool {
        let (is_plain, sets) = (self.free.open(F::facts(view), node, slots), sets(view));
        let one = |own: &NodeSet| u32::from(own.contains(node));
        self.settle(is_plain, sets, |counts| zip(counts, sets).for_each(|(count, own)| *count += one(own)));
        is_plain
    }

    fn close(&mut self, view: &View<'_>, node: u32) -> bool {
        let (is_plain, sets) = (self.free.close(F::facts(view), node), sets(view));
        let one = |own: &NodeSet| u32::from(own.contains(node));
        self.settle(is_plain, sets, |counts| zip(counts, sets).for_each(|(count, own)| *count -= one(own)));
        is_plain
    }
}

impl<F: Part> Chosen for Queued<F> {
    const TELLS_QUEUES_APART: bool = true;

    const LASTS: bool = F::LASTS;

    fn facts<'c>(view: &'c View<'c>) -> &'c View<'c> {
        view
    }

    fn now(view: &View<'_>, spare: Option<Self>) -> Self {
        Self::new(view, F::now(view, spare.map(|spare| spare.free)))
    }

    fn likeness(view: &View<'_>, job: JobId) -> (usize, u32) {
        (view.queues.map_or(0, |queues| usize::from(queues.number(job))), view.jobs.need(job, view.platform))
    }

    fn told(_view: &View<'_>, job: JobId) -> i32 {
        job.0.cast_signed()
    }

    fn choose(&self, view: &View<'_>, own: Own<'_>, need: &NodeNeed, nodes: &mut Vec<u32>) {
        let spreads = view.queues.is_some_and(|queues| queues.spreads(job_of(need.slots)));
        self.free.choose(view, Own { spreads, ..own }, &told_plainly::<F>(view, need), nodes);
    }

    fn kept(memory: &mut Memory) -> &mut Kept<Self> {
        F::kept_by_queue(memory)
    }
}
