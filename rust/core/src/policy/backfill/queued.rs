//! Free capacity of each node, whole nodes or slots, where jobs may take only the nodes of their queue.

use crate::algo::horizon::{Freedom, Need};
use crate::algo::node_set::NodeSet;
use crate::platform::queues::Queues;
use crate::policy::View;
use crate::policy::backfill::named::chosen::{Chosen, Memory, Own, Part};
use crate::workload::JobId;

/// Most queues for which the number of free nodes is kept.
const MOST: usize = 8;

/// Free nodes with queues. A job's row stands for its slots.
#[derive(Clone)]
pub(super) struct Queued<'a, F> {
    view: &'a View<'a>,
    free: F,
    /// Number of free nodes of each queue, where that is known.
    counts: Option<[u32; MOST]>,
}

/// Request of a job among the nodes of its queue.
pub(super) struct Asked<'a> {
    need: Need,
    /// None: there are no queues.
    own: Option<&'a NodeSet>,
    queue: usize,
}

/// Claim on some nodes, and the number of them in each queue.
pub(super) struct Held<L> {
    lot: L,
    counts: [u32; MOST],
}

impl<F: PartialEq> PartialEq for Queued<'_, F> {
    fn eq(&self, other: &Self) -> bool {
        self.free == other.free
    }
}

impl<'a, F: Part<'a>> Queued<'a, F> {
    /// Makes it from what is free.
    pub(super) fn new(view: &'a View<'a>, free: F) -> Self {
        let mut queued = Self { view, free, counts: None };
        queued.recount();
        queued
    }

    fn recount(&mut self) {
        let sets = self.view.queues.map_or(&[][..], Queues::sets);
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
    fn settle(&mut self, is_plain: bool, change: impl FnOnce(&mut [u32; MOST])) {
        match &mut self.counts {
            Some(counts) if is_plain => change(counts),
            Some(_) => self.recount(),
            None => {}
        }
    }

    /// Number of the given nodes in each queue.
    fn counts_of(&self, nodes: &[u32]) -> [u32; MOST] {
        let mut counts = [0; MOST];
        if let (Some(_), Some(queues)) = (self.counts, self.view.queues) {
            for (count, own) in counts.iter_mut().zip(queues.sets()) {
                *count = nodes.iter().map(|&node| u32::from(own.contains(node))).sum();
            }
        }
        counts
    }

    fn slots(&self, told: i32) -> i32 {
        F::told(self.view, job_of(told))
    }
}

/// The job whose row stands in place of slots.
fn job_of(told: i32) -> JobId {
    JobId(told.cast_unsigned())
}

impl<'a, F: Part<'a>> Freedom for Queued<'a, F> {
    type Ask = Asked<'a>;

    type Lot<'n> = Held<F::Lot<'n>>;

    fn ask(&self, need: &Need) -> Asked<'a> {
        let (job, need) = (job_of(need.slots), Need { slots: self.slots(need.slots), ..*need });
        let queues = self.view.queues.map(|queues| (queues.nodes(job), usize::from(queues.number(job))));
        Asked { need, own: queues.map(|queue| queue.0), queue: queues.map_or(0, |queue| queue.1) }
    }

    fn lot<'n>(&self, nodes: &'n [u32], told: i32) -> Self::Lot<'n> {
        Held { lot: self.free.lot(nodes, self.slots(told)), counts: self.counts_of(nodes) }
    }

    fn fitting(&self, ask: &Asked<'a>, nodes: &mut NodeSet) -> bool {
        match ask.own {
            Some(own) => self.free.fitting_of(own, &ask.need, nodes),
            None => self.free.fitting(&self.free.ask(&ask.need), nodes),
        }
    }

    fn keep_fitting(&self, ask: &Asked<'a>, nodes: &mut NodeSet) -> bool {
        self.free.keep_fitting(&self.free.ask(&ask.need), nodes)
    }

    fn copy_from(&mut self, other: &Self) {
        self.free.copy_from(&other.free);
        self.counts = other.counts;
    }

    fn suffices(&self, ask: &Asked<'a>) -> bool {
        match (self.counts, ask.own) {
            (Some(counts), Some(_)) => counts[ask.queue] >= ask.need.nodes,
            (_, own) => own.is_none_or(|own| self.free.suffices_of(own, &ask.need)),
        }
    }

    fn is_counted(&self) -> bool {
        self.counts.is_some()
    }

    fn take(&mut self, lot: &Self::Lot<'_>) -> bool {
        let is_plain = self.free.take(&lot.lot);
        self.settle(is_plain, |counts| counts.iter_mut().zip(lot.counts).for_each(|(count, less)| *count -= less));
        is_plain
    }

    fn give(&mut self, lot: &Self::Lot<'_>) -> bool {
        let is_plain = self.free.give(&lot.lot);
        self.settle(is_plain, |counts| counts.iter_mut().zip(lot.counts).for_each(|(count, more)| *count += more));
        is_plain
    }

    fn open(&mut self, node: u32, slots: i32) -> bool {
        let (is_plain, more) = (self.free.open(node, slots), self.counts_of(&[node]));
        self.settle(is_plain, |counts| counts.iter_mut().zip(more).for_each(|(count, more)| *count += more));
        is_plain
    }

    fn close(&mut self, node: u32) -> bool {
        let (is_plain, less) = (self.free.close(node), self.counts_of(&[node]));
        self.settle(is_plain, |counts| counts.iter_mut().zip(less).for_each(|(count, less)| *count -= less));
        is_plain
    }
}

impl<'a, F: Part<'a>> Chosen<'a> for Queued<'a, F> {
    const TELLS_QUEUES_APART: bool = true;

    fn now(view: &'a View<'a>, spare: Option<Self>) -> Self {
        Self::new(view, F::now(view, spare.map(|spare| spare.free)))
    }

    fn spares(view: &'a View<'a>, memory: &mut Memory) -> Vec<Self> {
        F::spares(view, memory).into_iter().map(|free| Self { view, free, counts: None }).collect()
    }

    fn leave(spares: Vec<Self>, memory: &mut Memory) {
        F::leave(spares.into_iter().map(|spare| spare.free).collect(), memory);
    }

    fn likeness(view: &View<'_>, job: JobId) -> (usize, u32) {
        (view.queues.map_or(0, |queues| usize::from(queues.number(job))), view.jobs.need(job, view.platform))
    }

    fn told(_view: &View<'_>, job: JobId) -> i32 {
        job.0.cast_signed()
    }

    fn choose(&self, own: Own<'_>, need: &Need, nodes: &mut Vec<u32>) {
        let job = job_of(need.slots);
        let spreads = self.view.queues.is_some_and(|queues| queues.spreads(job));
        self.free.choose(Own { spreads, ..own }, &Need { slots: self.slots(need.slots), ..*need }, nodes);
    }
}
