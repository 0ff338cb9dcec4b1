//! Free nodes for a plan of named nodes, and the choice of those that a job takes.

use crate::algo::horizon::{Freedom, NodeNeed, SlotTable, Windows};
use crate::algo::node_set::NodeSet;
use crate::policy::View;
use crate::policy::backfill::named::base::Base;
use crate::policy::backfill::named::bounds::Bounds;
use crate::policy::backfill::queued::Queued;
use crate::policy::backfill::supply::Supply;
use crate::workload::JobId;

/// Free capacity of each node, and the order in which nodes are taken.
pub(in crate::policy::backfill) trait Chosen: Freedom + std::fmt::Debug {
    /// True if jobs of queues without common nodes never compete.
    const TELLS_QUEUES_APART: bool = false;

    /// True if a job gets the same nodes whatever is held of others: a plan may outlive its pass.
    const LASTS: bool = false;

    /// Data by which the needs of jobs are read.
    fn facts<'c>(view: &'c View<'c>) -> &'c Self::Facts<'c>;

    /// Capacity free now, built in the memory of `spare`.
    fn now(view: &View<'_>, spare: Option<Self>) -> Self;

    /// Key of jobs alike: they take the same amount of the same nodes.
    fn likeness(view: &View<'_>, job: JobId) -> (usize, u32) {
        (0, view.jobs.need(job, view.platform))
    }

    /// Number that stands for the job's claim on each node: its slots, or its row where more than slots is needed.
    fn told(view: &View<'_>, job: JobId) -> i32 {
        i32::try_from(view.jobs.need(job, view.platform)).unwrap_or(i32::MAX)
    }

    /// Appends the nodes that a job takes, of those that it may take, when this is free: sorted by [`Claim`], then
    /// fullest or emptiest first, then lowest.
    fn choose(&self, view: &View<'_>, own: Own<'_>, need: &NodeNeed, nodes: &mut Vec<u32>);

    /// Its part of the memory.
    fn kept(memory: &mut Memory) -> &mut Kept<Self>;
}

/// The nodes that a job may take.
#[derive(Clone, Copy)]
pub(in crate::policy::backfill) struct Own<'a> {
    pub(in crate::policy::backfill) nodes: &'a NodeSet,
    /// True if the emptiest nodes are taken first.
    pub(in crate::policy::backfill) spreads: bool,
    /// Nodes that are off or shutting down.
    pub(in crate::policy::backfill) asleep: Option<&'a NodeSet>,
    /// Nodes that were woken for a job and have not served since, by number.
    pub(in crate::policy::backfill) kept: &'a [(u32, JobId)],
    /// The job that chooses.
    pub(in crate::policy::backfill) job: JobId,
}

/// Claim on a node, in the order in which a job takes nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::policy::backfill) enum Claim {
    /// It was woken for the job.
    Own,
    /// It is on, or boots for no job that still waits.
    None,
    /// It is off or shutting down.
    Asleep,
    /// It was woken for another job.
    Other,
}

impl Own<'_> {
    pub(in crate::policy::backfill) fn claim(&self, node: u32) -> Claim {
        match self.kept.binary_search_by_key(&node, |&(node, _)| node) {
            Ok(place) if self.kept[place].1 == self.job => Claim::Own,
            Ok(_) => Claim::Other,
            Err(_) if self.asleep.is_some_and(|asleep| asleep.contains(node)) => Claim::Asleep,
            Err(_) => Claim::None,
        }
    }
}

/// Free capacity of each node, where a job may take only some of the nodes.
pub(in crate::policy::backfill) trait Part: Chosen {
    /// True if enough of the nodes `own` are free for the job.
    fn suffices_of(&self, own: &NodeSet, need: &NodeNeed) -> bool;

    /// Number of the nodes `own` that are free, where a node is either free or not.
    fn count_of(&self, own: &NodeSet) -> Option<u32>;

    /// Like [`Freedom::fitting`], among the nodes `own`.
    fn fitting_of(&self, own: &NodeSet, need: &NodeNeed, nodes: &mut NodeSet) -> bool;

    /// Adds the number of nodes of a lot in each set, where a node is either free or not.
    fn count_by_set(lot: &Self::Lot<'_, '_>, sets: &[NodeSet], counts: &mut [u32]);

    /// Part of the memory with queues.
    fn kept_by_queue(memory: &mut Memory) -> &mut Kept<Queued<Self>>;
}

/// Memory that passes leave to later ones, to save allocations.
#[derive(Clone, Debug, Default)]
pub(in crate::policy::backfill) struct Memory {
    sets: Kept<NodeSet>,
    tables: Kept<SlotTable>,
    queued_sets: Kept<Queued<NodeSet>>,
    queued_tables: Kept<Queued<SlotTable>>,
    pub(in crate::policy::backfill) supply: Kept<Supply>,
    pub(super) bounds: Bounds,
}

/// Windows kept from pass to pass: those of what runs, and the memory of the plan.
#[derive(Clone, Debug)]
pub(in crate::policy::backfill) struct Kept<F> {
    pub(super) base: Base<F>,
    pub(super) plan: Option<Windows<F>>,
}

impl<F> Default for Kept<F> {
    fn default() -> Self {
        Self { base: Base::default(), plan: None }
    }
}

impl Chosen for NodeSet {
    const LASTS: bool = true;

    fn facts<'c>(_view: &'c View<'c>) -> &'c () {
        &()
    }

    fn now(view: &View<'_>, spare: Option<Self>) -> Self {
        let mut now = spare.unwrap_or_default();
        now.copy_from(view.slots.holding(1));
        now
    }

    fn choose(&self, _view: &View<'_>, own: Own<'_>, need: &NodeNeed, nodes: &mut Vec<u32>) {
        if own.kept.is_empty() && own.asleep.is_none() {
            return own.nodes.copy_lowest(need.nodes, nodes);
        }
        let claims = [Claim::Own, Claim::None, Claim::Asleep, Claim::Other];
        let in_turn =
            claims.into_iter().flat_map(|claim| own.nodes.iter().filter(move |&node| own.claim(node) == claim));
        nodes.extend(in_turn.take(need.nodes as usize));
    }

    fn kept(memory: &mut Memory) -> &mut Kept<Self> {
        &mut memory.sets
    }
}

impl Chosen for SlotTable {
    fn facts<'c>(_view: &'c View<'c>) -> &'c () {
        &()
    }

    fn now(view: &View<'_>, spare: Option<Self>) -> Self {
        let count = |slots| i32::try_from(slots).unwrap_or(i32::MAX);
        let free = (0..view.platform.len()).map(|node| count(view.slots.free_on(node)));
        let mut now = spare.unwrap_or_else(|| Self::new(0, []));
        now.refill(count(view.slots.per_node()), free);
        now
    }

    fn choose(&self, _view: &View<'_>, own: Own<'_>, need: &NodeNeed, nodes: &mut Vec<u32>) {
        let fullness = |node| if own.spreads { -self.of(node) } else { self.of(node) };
        let place = |&node: &u32| (own.claim(node), fullness(node), node);
        if need.nodes == 1 {
            return nodes.extend(own.nodes.iter().min_by_key(place));
        }
        nodes.extend(own.nodes.iter());
        nodes.sort_by_cached_key(place);
        nodes.truncate(need.nodes as usize);
    }

    fn kept(memory: &mut Memory) -> &mut Kept<Self> {
        &mut memory.tables
    }
}

impl Part for NodeSet {
    fn suffices_of(&self, own: &NodeSet, need: &NodeNeed) -> bool {
        self.common(own) >= need.nodes
    }

    fn count_of(&self, own: &NodeSet) -> Option<u32> {
        Some(self.common(own))
    }

    fn fitting_of(&self, own: &NodeSet, need: &NodeNeed, nodes: &mut NodeSet) -> bool {
        nodes.copy_common(self, own);
        nodes.len() >= need.nodes
    }

    fn count_by_set(lot: &&NodeSet, sets: &[NodeSet], counts: &mut [u32]) {
        lot.count_by_set(sets, counts);
    }

    fn kept_by_queue(memory: &mut Memory) -> &mut Kept<Queued<Self>> {
        &mut memory.queued_sets
    }
}

impl Part for SlotTable {
    fn suffices_of(&self, own: &NodeSet, need: &NodeNeed) -> bool {
        self.has(own, need.slots, need.nodes)
    }

    fn count_of(&self, _own: &NodeSet) -> Option<u32> {
        None
    }

    fn fitting_of(&self, own: &NodeSet, need: &NodeNeed, nodes: &mut NodeSet) -> bool {
        nodes.copy_from(own);
        self.keep_fitting(need, nodes)
    }

    fn count_by_set(_lot: &(&[u32], i32), _sets: &[NodeSet], _counts: &mut [u32]) {}

    fn kept_by_queue(memory: &mut Memory) -> &mut Kept<Queued<Self>> {
        &mut memory.queued_tables
    }
}
