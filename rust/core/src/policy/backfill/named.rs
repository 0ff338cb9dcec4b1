//! A plan that says which nodes each job gets and when, made anew in every pass (operations page on machines, rules 8 to 11).
//!
//! Where nodes are shared, counts promise what may not be there: slots enough, but on too many nodes. A plan of named nodes
//! keeps its promises.

pub(in crate::policy) mod urgent;

use std::collections::BTreeMap;

use crate::algo::fit_list::{FitList, Room, Waiting};
use crate::algo::horizon::windows::Return;
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
}

/// What is free of each node, and in which order nodes are taken.
pub(super) trait Chosen<'a>: Freedom {
    /// As it is now.
    fn now(view: &'a View<'a>) -> Self;

    /// What jobs alike have in common: they take the same of the same nodes.
    fn likeness(view: &View<'_>, job: JobId) -> (usize, u32) {
        (0, view.jobs.need(job, view.platform))
    }

    /// What stands for what the job takes of each node.
    fn told(view: &View<'_>, job: JobId) -> i32 {
        i32::try_from(view.jobs.need(job, view.platform)).unwrap_or(i32::MAX)
    }

    /// Writes down the first nodes of `throughout` that a job takes which starts when this is free: those that are asleep
    /// last, fullest first, then lowest.
    fn choose(&self, throughout: &Self, asleep: Option<&NodeSet>, need: &Need, nodes: &mut Vec<u32>);
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

/// What is free of each node, and of which only some may be taken.
pub(super) trait Part<'a>: Chosen<'a> {
    /// Whether there are as many of these nodes as a job needs.
    fn suffices_of(&self, own: &NodeSet, need: &Need) -> bool;

    /// How many of these nodes are free, where nodes are free or not.
    fn count_of(&self, own: &NodeSet) -> Option<u32>;

    /// Keeps of these nodes what is free here and there, and of the others perhaps not; whether a job has as many of them
    /// as it needs.
    fn meet_of(&mut self, other: &Self, own: &NodeSet, need: &Need) -> bool;

    /// As [`Chosen::choose`] of these nodes, or the emptiest first.
    fn choose_of(&self, own: Own<'_>, throughout: &Self, need: &Need, nodes: &mut Vec<u32>);
}

impl<'a> Chosen<'a> for NodeSet {
    fn now(view: &'a View<'a>) -> Self {
        view.slots.holding(1).clone()
    }

    fn choose(&self, throughout: &Self, asleep: Option<&NodeSet>, need: &Need, nodes: &mut Vec<u32>) {
        let sleeps = |node: &u32| asleep.is_some_and(|asleep| asleep.contains(*node));
        let awake = throughout.iter().filter(|node| !sleeps(node));
        nodes.extend(awake.chain(throughout.iter().filter(sleeps)).take(need.nodes as usize));
    }
}

impl<'a> Chosen<'a> for SlotTable {
    fn now(view: &'a View<'a>) -> Self {
        let free = |node| i32::try_from(view.slots.free_on(node)).unwrap_or(i32::MAX);
        Self::new((0..view.platform.len()).map(free).collect())
    }

    fn choose(&self, throughout: &Self, asleep: Option<&NodeSet>, need: &Need, nodes: &mut Vec<u32>) {
        let sleeps = |node| asleep.is_some_and(|asleep| asleep.contains(node));
        nodes.extend(throughout.holding(need.slots));
        nodes.sort_by_key(|&node| (sleeps(node), self.of(node), node));
        nodes.truncate(need.nodes as usize);
    }
}

impl Part<'_> for NodeSet {
    fn suffices_of(&self, own: &NodeSet, need: &Need) -> bool {
        self.common(own) >= need.nodes
    }

    fn count_of(&self, own: &NodeSet) -> Option<u32> {
        Some(self.common(own))
    }

    fn meet_of(&mut self, other: &Self, own: &NodeSet, need: &Need) -> bool {
        self.keep_in_both(other, own);
        self.len() >= need.nodes
    }

    fn choose_of(&self, own: Own<'_>, throughout: &Self, need: &Need, nodes: &mut Vec<u32>) {
        let mut common = throughout.clone();
        common.keep_common(own.nodes);
        self.choose(&common, own.asleep, need, nodes);
    }
}

impl Part<'_> for SlotTable {
    fn suffices_of(&self, own: &NodeSet, need: &Need) -> bool {
        self.has(own, need.slots, need.nodes)
    }

    fn count_of(&self, _own: &NodeSet) -> Option<u32> {
        None
    }

    fn meet_of(&mut self, other: &Self, own: &NodeSet, need: &Need) -> bool {
        self.keep_least(other);
        self.suffices_of(own, need)
    }

    fn choose_of(&self, own: Own<'_>, throughout: &Self, need: &Need, nodes: &mut Vec<u32>) {
        let sleeps = |node| own.asleep.is_some_and(|asleep| asleep.contains(node));
        nodes.extend(own.nodes.iter().filter(|&node| throughout.of(node) >= need.slots));
        nodes.sort_by_key(|&node| (sleeps(node), if own.spreads { -self.of(node) } else { self.of(node) }, node));
        nodes.truncate(need.nodes as usize);
    }
}

impl NamedPlan {
    /// A plan of up to `depth` jobs that start later, up to `horizon` from now.
    #[must_use]
    pub fn new(depth: usize, horizon: SimDuration) -> Self {
        Self { depth, horizon, is_divided: false, awaited: FirstStarts::new(), first: FirstStarts::new() }
    }

    fn make<'a, F: Chosen<'a>>(&mut self, desk: &mut Desk<'a>, queue: &mut FitList) -> Result<()> {
        let windows = windows::<F>(desk.view);
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
        let mut bounds = Bounds::default();
        let asleep = asleep(desk.view);
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
            let pick = |free: &F, throughout: &F, nodes: &mut Vec<u32>| {
                free.choose(throughout, asleep.as_ref(), &need, nodes);
                true
            };
            let found = if from > until { None } else { windows.earliest(&need, (from, until), pick) };
            let at = found.as_ref().map_or(SimTime::NEVER, |(at, _)| *at);
            if at > from {
                bounds.note(group, size, at);
            }
            place = match found {
                Some((at, nodes)) if at == now => {
                    windows.hold(now, &need, &nodes);
                    self.note(at, &nodes);
                    let Some(offer) = desk.offer_on(&waiting, &nodes)? else { break };
                    start(desk, queue, place, offer)?
                }
                Some((at, nodes)) => {
                    windows.hold(at, &need, &nodes);
                    self.note(at, &nodes);
                    planned += 1;
                    queue.after(place)
                }
                None => queue.after(place),
            };
        }
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
#[derive(Debug, Default)]
struct Bounds(BTreeMap<usize, Vec<(Size, SimTime)>>);

impl Size {
    fn is_within(&self, other: &Self) -> bool {
        self.slots <= other.slots && self.nodes <= other.nodes && self.length <= other.length
    }
}

impl Bounds {
    fn of(&self, group: usize, size: &Size) -> SimTime {
        let smaller = self.0.get(&group).into_iter().flatten().filter(|(other, _)| other.is_within(size));
        smaller.map(|(_, at)| *at).max().unwrap_or(SimTime::from_micros(i64::MIN))
    }

    fn note(&mut self, group: usize, size: Size, at: SimTime) {
        let known = self.0.entry(group).or_default();
        known.retain(|(other, earlier)| !(size.is_within(other) && *earlier <= at));
        known.push((size, at));
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
fn windows<'a, F: Chosen<'a>>(view: &'a View<'a>) -> Windows<F> {
    let soonest = view.now.saturating_add(TICK);
    let mut returns: Vec<_> = view
        .runs
        .iter()
        .map(|(_, run)| Return {
            at: run.planned_end.max(soonest),
            nodes: view.runs.nodes(run),
            slots: F::told(view, run.job),
            microwatts: 0,
        })
        .collect();
    returns.sort_by_key(|back| back.at);
    let mut windows = Windows::new(view.now, F::now(view), 0, returns);
    mind_outages(&mut windows, view);
    windows
}

/// Nodes that cannot serve now come back, and those that will not are taken out.
fn mind_outages<'a, F: Chosen<'a>>(windows: &mut Windows<F>, view: &View<'_>) {
    let soonest = view.now.saturating_add(TICK);
    let whole = if view.platform.is_exclusive() { 1 } else { i32::try_from(view.platform.slots()).unwrap_or(i32::MAX) };
    for (node, until) in view.outages.coming_back() {
        windows.open(until, node, whole);
    }
    for back in view.standby.map_or(&[][..], |standby| standby.comebacks()) {
        windows.open(back.at.max(soonest), back.node, whole);
    }
    for window in view.outages.known(view.now) {
        windows.close(window.from, window.until - window.from, window.node);
    }
}

fn need<'a, F: Chosen<'a>>(view: &View<'_>, waiting: &Waiting) -> Need {
    let job = JobId(waiting.key.row);
    let length = waiting.length.max(TICK);
    Need { nodes: view.jobs.node_count(job), slots: F::told(view, job), microwatts: 0, length }
}
