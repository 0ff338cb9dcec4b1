//! A plan that says which nodes each job gets and when, made anew in every pass (operations page on machines, rules 8 to 11).
//!
//! Where nodes are shared, counts promise what may not be there: slots enough, but on too many nodes. A plan of named nodes
//! keeps its promises.

use crate::algo::fit_list::{FitList, Room, Waiting};
use crate::algo::horizon::windows::Return;
use crate::algo::horizon::{Freedom, Need, SlotTable, Windows};
use crate::algo::node_set::NodeSet;
use crate::algo::sorted_blocks::Place;
use crate::error::Result;
use crate::policy::View;
use crate::policy::backfill::plan::TICK;
use crate::policy::backfill::{Backfill, start};
use crate::policy::desk::Desk;
use crate::units::SimDuration;
use crate::workload::JobId;

/// Backfilling by a plan of named nodes.
#[derive(Clone, Copy, Debug)]
pub struct NamedPlan {
    /// How many jobs are planned for later.
    depth: usize,
    /// How far ahead.
    horizon: SimDuration,
}

/// What is free of each node, and in which order nodes are taken.
trait Chosen: Freedom {
    /// As it is now.
    fn now(view: &View<'_>) -> Self;

    /// Writes down the first nodes of `throughout` that a job takes which starts when this is free: fullest first, then
    /// lowest.
    fn choose(&self, throughout: &Self, need: &Need, nodes: &mut Vec<u32>);
}

impl Chosen for NodeSet {
    fn now(view: &View<'_>) -> Self {
        view.slots.holding(1).clone()
    }

    fn choose(&self, throughout: &Self, need: &Need, nodes: &mut Vec<u32>) {
        nodes.extend(throughout.iter().take(need.nodes as usize));
    }
}

impl Chosen for SlotTable {
    fn now(view: &View<'_>) -> Self {
        let free = |node| i32::try_from(view.slots.free_on(node)).unwrap_or(i32::MAX);
        Self::new((0..view.platform.len()).map(free).collect())
    }

    fn choose(&self, throughout: &Self, need: &Need, nodes: &mut Vec<u32>) {
        nodes.extend(throughout.holding(need.slots));
        nodes.sort_by_key(|&node| (self.of(node), node));
        nodes.truncate(need.nodes as usize);
    }
}

impl NamedPlan {
    /// A plan of up to `depth` jobs that start later, up to `horizon` from now.
    #[must_use]
    pub fn new(depth: usize, horizon: SimDuration) -> Self {
        Self { depth, horizon }
    }

    fn make<F: Chosen>(self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let now = desk.view.now;
        let mut windows = windows::<F>(desk.view);
        let (mut place, mut planned) = (Place::FRONT, 0);
        // The plan is forgotten with the pass: it matters only as far as some job may start now.
        while queue.first_fit(place, Room::of(desk.free_units())).is_some() {
            desk.examine()?;
            let Some(&waiting) = queue.get(place) else { break };
            let need = need(desk.view, &waiting);
            let until = if planned < self.depth { now.saturating_add(self.horizon) } else { now };
            let found = windows.earliest(&need, (now, until), |free, throughout, nodes| {
                free.choose(throughout, &need, nodes);
                true
            });
            place = match found {
                Some((at, nodes)) if at == now => {
                    windows.hold(now, &need, &nodes);
                    let Some(offer) = desk.offer_on(&waiting, &nodes)? else { break };
                    start(desk, queue, place, offer)?
                }
                Some((at, nodes)) => {
                    windows.hold(at, &need, &nodes);
                    planned += 1;
                    queue.after(place)
                }
                None => queue.after(place),
            };
        }
        Ok(())
    }
}

impl Backfill for NamedPlan {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        if desk.view.platform.is_exclusive() {
            self.make::<NodeSet>(desk, queue)
        } else {
            self.make::<SlotTable>(desk, queue)
        }
    }
}

/// What is free when, if all that runs ends as planned; what should have ended by now ends a tick later. A node in
/// maintenance is free once that is over, one that has failed never, and none is in a window that is known by now.
fn windows<F: Chosen>(view: &View<'_>) -> Windows<F> {
    let whole = if view.platform.is_exclusive() { 1 } else { i32::try_from(view.platform.slots()).unwrap_or(i32::MAX) };
    let back: Vec<_> = view.outages.coming_back().collect();
    let soonest = view.now.saturating_add(TICK);
    let mut returns: Vec<_> = view
        .runs
        .iter()
        .map(|(_, run)| Return {
            at: run.planned_end.max(soonest),
            nodes: view.runs.nodes(run),
            slots: slots(view, run.job),
            microwatts: 0,
        })
        .collect();
    returns.extend(back.iter().map(|(node, until)| Return {
        at: *until,
        nodes: std::slice::from_ref(node),
        slots: whole,
        microwatts: 0,
    }));
    returns.sort_by_key(|back| back.at);
    let mut windows = Windows::new(view.now, F::now(view), 0, returns);
    for window in view.outages.known(view.now) {
        windows.close(window.from, window.until - window.from, window.node);
    }
    windows
}

fn need(view: &View<'_>, waiting: &Waiting) -> Need {
    let job = JobId(waiting.key.row);
    let length = waiting.length.max(TICK);
    Need { nodes: view.jobs.node_count(job), slots: slots(view, job), microwatts: 0, length }
}

fn slots(view: &View<'_>, job: JobId) -> i32 {
    i32::try_from(view.jobs.need(job, view.platform)).unwrap_or(i32::MAX)
}
