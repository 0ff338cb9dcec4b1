//! A plan that says which nodes each job gets and when, made anew in every pass (operations page on machines, rules 8 to 11).
//!
//! Where nodes are shared, counts promise what may not be there: slots enough, but on too many nodes. A plan of named nodes
//! keeps its promises.

pub(in crate::policy) mod urgent;

use crate::algo::fit_list::{FitList, Room, Waiting};
use crate::algo::horizon::windows::{Return, What};
use crate::algo::horizon::{Freedom, Need, SlotTable, Windows};
use crate::algo::node_set::NodeSet;
use crate::algo::sorted_blocks::Place;
use crate::error::Result;
use crate::policy::View;
use crate::policy::backfill::plan::TICK;
use crate::policy::backfill::queued::Queued;
use crate::policy::backfill::supply::Supply;
use crate::policy::backfill::{Backfill, start};
use crate::policy::desk::Desk;
use crate::policy::sleep::named::FirstStarts;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Backfilling by a plan of named nodes.
#[derive(Clone, Debug)]
pub struct NamedPlan {
    /// How many jobs are planned for later.
    depth: usize,
    /// How far ahead.
    horizon: SimDuration,
    /// Whether nodes differ in what jobs ask for.
    is_divided: bool,
    /// Nodes of which it still matters what is planned for later, and by when a planned start says all.
    awaited: FirstStarts,
    /// When each node's first planned job starts, where that matters.
    first: FirstStarts,
    memory: Memory,
}

/// What is free of each node, and in which order nodes are taken.
pub(super) trait Chosen<'a>: Freedom {
    /// As it is now, in the memory of another.
    fn now(view: &'a View<'a>, spare: Option<Self>) -> Self;

    /// What jobs alike have in common: they take the same of the same nodes.
    fn likeness(view: &View<'_>, job: JobId) -> (usize, u32) {
        (0, view.jobs.need(job, view.platform))
    }

    /// What stands for what the job takes of each node.
    fn told(view: &View<'_>, job: JobId) -> i32 {
        i32::try_from(view.jobs.need(job, view.platform)).unwrap_or(i32::MAX)
    }

    /// Writes down the first of the nodes that a job may take which starts when this is free: those that are asleep last,
    /// fullest or emptiest first, then lowest.
    fn choose(&self, own: Own<'_>, need: &Need, nodes: &mut Vec<u32>);

    /// Memory of earlier passes.
    fn spares(_view: &'a View<'a>, _memory: &mut Memory) -> Vec<Self> {
        Vec::new()
    }

    /// Leaves it to later ones.
    fn leave(_spares: Vec<Self>, _memory: &mut Memory) {}
}

/// The nodes that a job may take.
#[derive(Clone, Copy)]
pub(super) struct Own<'a> {
    pub(super) nodes: &'a NodeSet,
    /// Whether the emptiest go first.
    pub(super) spreads: bool,
    /// Those that go last.
    pub(super) asleep: Option<&'a NodeSet>,
}

impl Own<'_> {
    pub(super) fn sleeps(&self, node: u32) -> bool {
        self.asleep.is_some_and(|asleep| asleep.contains(node))
    }
}

/// What is free of each node, and of which only some may be taken.
pub(super) trait Part<'a>: Chosen<'a> {
    /// Whether there are as many of these nodes as a job needs.
    fn suffices_of(&self, own: &NodeSet, need: &Need) -> bool;

    /// How many of these nodes are free, where nodes are free or not.
    fn count_of(&self, own: &NodeSet) -> Option<u32>;

    /// As [`Freedom::fitting`] of these nodes.
    fn fitting_of(&self, own: &NodeSet, need: &Need, nodes: &mut NodeSet) -> bool;
}

/// What passes leave to later ones, so that they need not ask for memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    sets: Vec<NodeSet>,
    tables: Vec<SlotTable>,
    bounds: Bounds,
}

impl<'a> Chosen<'a> for NodeSet {
    fn now(view: &'a View<'a>, spare: Option<Self>) -> Self {
        let mut now = spare.unwrap_or_default();
        now.copy_from(view.slots.holding(1));
        now
    }

    fn choose(&self, own: Own<'_>, need: &Need, nodes: &mut Vec<u32>) {
        let awake = own.nodes.iter().filter(|&node| !own.sleeps(node));
        nodes.extend(awake.chain(own.nodes.iter().filter(|&node| own.sleeps(node))).take(need.nodes as usize));
    }

    fn spares(_view: &'a View<'a>, memory: &mut Memory) -> Vec<Self> {
        std::mem::take(&mut memory.sets)
    }

    fn leave(spares: Vec<Self>, memory: &mut Memory) {
        memory.sets = spares;
    }
}

impl<'a> Chosen<'a> for SlotTable {
    fn now(view: &'a View<'a>, spare: Option<Self>) -> Self {
        let count = |slots| i32::try_from(slots).unwrap_or(i32::MAX);
        let free = (0..view.platform.len()).map(|node| count(view.slots.free_on(node)));
        let mut now = spare.unwrap_or_else(|| Self::new(0, []));
        now.refill(count(view.slots.per_node()), free);
        now
    }

    fn choose(&self, own: Own<'_>, need: &Need, nodes: &mut Vec<u32>) {
        let fullness = |node| if own.spreads { -self.of(node) } else { self.of(node) };
        let place = |&node: &u32| (own.sleeps(node), fullness(node), node);
        if need.nodes == 1 {
            return nodes.extend(own.nodes.iter().min_by_key(place));
        }
        nodes.extend(own.nodes.iter());
        nodes.sort_by_cached_key(place);
        nodes.truncate(need.nodes as usize);
    }

    fn spares(_view: &'a View<'a>, memory: &mut Memory) -> Vec<Self> {
        std::mem::take(&mut memory.tables)
    }

    fn leave(spares: Vec<Self>, memory: &mut Memory) {
        memory.tables = spares;
    }
}

impl Part<'_> for NodeSet {
    fn suffices_of(&self, own: &NodeSet, need: &Need) -> bool {
        self.common(own) >= need.nodes
    }

    fn count_of(&self, own: &NodeSet) -> Option<u32> {
        Some(self.common(own))
    }

    fn fitting_of(&self, own: &NodeSet, need: &Need, nodes: &mut NodeSet) -> bool {
        nodes.copy_common(self, own);
        nodes.len() >= need.nodes
    }
}

impl Part<'_> for SlotTable {
    fn suffices_of(&self, own: &NodeSet, need: &Need) -> bool {
        self.has(own, need.slots, need.nodes)
    }

    fn count_of(&self, _own: &NodeSet) -> Option<u32> {
        None
    }

    fn fitting_of(&self, own: &NodeSet, need: &Need, nodes: &mut NodeSet) -> bool {
        nodes.copy_from(own);
        self.keep_fitting(need, nodes)
    }
}

impl NamedPlan {
    /// A plan of up to `depth` jobs that start later, up to `horizon` from now.
    #[must_use]
    pub fn new(depth: usize, horizon: SimDuration) -> Self {
        let (awaited, first) = (FirstStarts::new(), FirstStarts::new());
        Self { depth, horizon, is_divided: false, awaited, first, memory: Memory::default() }
    }

    fn make<'a, F: Chosen<'a>>(&mut self, desk: &mut Desk<'a>, queue: &mut FitList) -> Result<()> {
        let windows = windows::<F>(desk.view, &mut self.memory);
        self.fill(desk, queue, windows, (Place::FRONT, 0))
    }

    /// Plans the jobs from a place on, when so many are planned already.
    fn fill<'a, F: Chosen<'a>>(
        &mut self,
        desk: &mut Desk<'a>,
        queue: &mut FitList,
        mut windows: Windows<F>,
        (mut place, mut planned): (Place, usize),
    ) -> Result<()> {
        let now = desk.view.now;
        let mut bounds = std::mem::take(&mut self.memory.bounds);
        let (asleep, mut nodes) = (asleep(desk.view), Vec::new());
        // The plan is forgotten with the pass: it matters only as far as some job may start now, unless nodes sleep by it.
        while !self.awaited.is_empty() && planned < self.depth
            || queue.first_fit(place, Room::of(desk.free_units())).is_some()
        {
            desk.examine()?;
            let Some(&waiting) = queue.get(place) else { break };
            let need = need::<F>(desk.view, &waiting);
            let until = if planned < self.depth { now.saturating_add(self.horizon) } else { now };
            let (group, slots) = F::likeness(desk.view, JobId(waiting.key.row));
            let size = Size { slots, nodes: need.nodes, length: need.length };
            let from = bounds.of(group, &size).max(now);
            let pick = |free: &F, throughout: &NodeSet| {
                nodes.clear();
                free.choose(Own { nodes: throughout, spreads: false, asleep: asleep.as_ref() }, &need, &mut nodes);
                true
            };
            let found = if from > until { None } else { windows.earliest(&need, (from, until), pick) };
            let at = found.unwrap_or(SimTime::NEVER);
            if at > from {
                bounds.note(group, size, at);
            }
            if found.is_some() {
                windows.hold(at, &need, &nodes);
                self.note(at, &nodes);
            }
            if found == Some(now) {
                let Some(offer) = desk.offer_on(&waiting, &nodes)? else { break };
                place = start(desk, queue, place, offer)?;
            } else {
                planned += usize::from(found.is_some());
                place = queue.after(place);
            }
        }
        bounds.forget();
        self.memory.bounds = bounds;
        F::leave(windows.into_spare(), &mut self.memory);
        Ok(())
    }

    /// Nodes are planned for a job; where its start says all, nothing more about them matters.
    fn note(&mut self, at: SimTime, nodes: &[u32]) {
        for &node in nodes {
            let Some(&by) = self.awaited.get(&node) else { continue };
            let first = self.first.entry(node).or_insert(at);
            *first = at.min(*first);
            if at <= by {
                self.awaited.remove(&node);
            }
        }
    }
}

impl Backfill for NamedPlan {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let front = queue.get(Place::FRONT).map(|waiting| JobId(waiting.key.row));
        if let Some(queues) = desk.view.queues.filter(|_| urgent::matters(desk.view, front.into_iter())) {
            return self.make_with_urgent(desk, queue, queues);
        }
        match (desk.view.queues.is_some(), desk.view.platform.is_exclusive()) {
            _ if self.is_divided => self.make::<Supply<'_>>(desk, queue),
            (false, true) => self.make::<NodeSet>(desk, queue),
            (false, false) => self.make::<SlotTable>(desk, queue),
            (true, true) => self.make::<Queued<'_, NodeSet>>(desk, queue),
            (true, false) => self.make::<Queued<'_, SlotTable>>(desk, queue),
        }
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(Self { is_divided: true, ..self.clone() }))
    }

    fn by_node(&self) -> Option<Box<dyn Backfill>> {
        self.by_cell()
    }

    fn names_nodes(&self) -> bool {
        true
    }

    fn look_ahead(&mut self, awaited: FirstStarts) {
        self.awaited = awaited;
        self.first.clear();
    }

    fn first_starts(&self) -> Option<&FirstStarts> {
        Some(&self.first)
    }
}

/// What a job asks for, of those that may take the same nodes.
#[derive(Clone, Copy, Debug)]
struct Size {
    slots: u32,
    nodes: u32,
    length: SimDuration,
}

/// Before which instants jobs do not fit. A plan only fills: one that asks for no less than another fits no earlier than
/// that did.
#[derive(Clone, Debug, Default)]
struct Bounds(Vec<(usize, Vec<(Size, SimTime)>)>);

impl Size {
    fn is_within(&self, other: &Self) -> bool {
        self.slots <= other.slots && self.nodes <= other.nodes && self.length <= other.length
    }
}

impl Bounds {
    fn of(&self, group: usize, size: &Size) -> SimTime {
        let known = self.place(group).ok().map(|place| &self.0[place].1);
        let smaller = known.into_iter().flatten().filter(|(other, _)| other.is_within(size));
        smaller.map(|(_, at)| *at).max().unwrap_or(SimTime::from_micros(i64::MIN))
    }

    fn note(&mut self, group: usize, size: Size, at: SimTime) {
        let place = self.place(group).unwrap_or_else(|place| {
            self.0.insert(place, (group, Vec::new()));
            place
        });
        let known = &mut self.0[place].1;
        known.retain(|(other, earlier)| !(size.is_within(other) && *earlier <= at));
        known.push((size, at));
    }

    /// Forgets them, but not which jobs are alike.
    fn forget(&mut self) {
        self.0.iter_mut().for_each(|(_, known)| known.clear());
    }

    fn place(&self, group: usize) -> std::result::Result<usize, usize> {
        self.0.binary_search_by_key(&group, |(other, _)| *other)
    }
}

/// The nodes that jobs take last: those that are off or shutting down, if any is.
fn asleep(view: &View<'_>) -> Option<NodeSet> {
    let mut asleep = view.standby?.asleep().clone();
    for back in view.standby?.comebacks() {
        if view.nodes[back.node as usize].is_on() {
            asleep.remove(back.node);
        }
    }
    (!asleep.is_empty()).then_some(asleep)
}

/// What is free when, if all that runs ends as planned; what should have ended by now ends a tick later. A node in
/// maintenance is free once that is over, one that has failed never, and none is in a window that is known by now.
fn windows<'a, F: Chosen<'a>>(view: &'a View<'a>, memory: &mut Memory) -> Windows<F> {
    let soonest = view.now.saturating_add(TICK);
    let runs = view.runs.iter().map(|(_, run)| Return {
        at: run.planned_end.max(soonest),
        nodes: view.runs.nodes(run),
        what: What::Slots(F::told(view, run.job)),
        microwatts: 0,
    });
    let mut spares = F::spares(view, memory);
    let now = F::now(view, spares.pop());
    known_by_now(spares, now, view, runs.collect())
}

/// What is free when, if so much is now and that comes back; and nodes that cannot serve now, while those that will not
/// are taken out.
fn known_by_now<'a, F: Chosen<'a>>(
    spares: Vec<F>,
    now: F,
    view: &'a View<'a>,
    mut returns: Vec<Return<'a>>,
) -> Windows<F> {
    let soonest = view.now.saturating_add(TICK);
    let whole = if view.platform.is_exclusive() { 1 } else { i32::try_from(view.platform.slots()).unwrap_or(i32::MAX) };
    let comebacks = view.standby.map_or(&[][..], |standby| standby.comebacks());
    returns.extend(comebacks.iter().map(|back| Return {
        at: back.at.max(soonest),
        nodes: std::slice::from_ref(&back.node),
        what: What::Node(whole),
        microwatts: 0,
    }));
    let mut order: Vec<_> = (0..).zip(&returns).map(|(place, back): (u32, _)| (back.at, place)).collect();
    order.sort_unstable();
    let ascending = order.iter().map(|&(_, place)| returns[place as usize]);
    let mut windows = Windows::reusing(spares, view.now, (now, 0), ascending);
    for (node, until) in view.outages.coming_back() {
        windows.open(until, node, whole);
    }
    for window in view.outages.known(view.now) {
        windows.close(window.from, window.until - window.from, window.node);
    }
    windows
}

fn need<'a, F: Chosen<'a>>(view: &View<'_>, waiting: &Waiting) -> Need {
    let job = JobId(waiting.key.row);
    let length = waiting.length.max(TICK);
    Need { nodes: view.jobs.node_count(job), slots: F::told(view, job), microwatts: 0, length }
}
