//! Waking where nodes are counted by cell, as they differ in what jobs ask for or queues share them (operations page on
//! machines, rule 20).
//!
//! The wake plan is one: each job takes its split at the earliest time at which it fits. What is lacking or left over is
//! a matter of each cell.

use crate::algo::fit_list::{FitList, Place};
use crate::algo::floors::Floors;
use crate::algo::horizon::CellProfile;
use crate::algo::partial_plan::{Horizon, PartialPlan, PlannedStart};
use crate::cluster::shares::Shares;
use crate::cluster::standby::Return;
use crate::platform::cells::Cells;
use crate::policy::View;
use crate::policy::backfill::by_cell::ByWant;
use crate::policy::backfill::cell_base::CellBase;
use crate::policy::sleep::counted::{all_back, returns};
use crate::policy::sleep::levels::{Levels, awake};
use crate::policy::sleep::planned::Planned;
use crate::policy::sleep::rules::NodeRule;
use crate::policy::sleep::{Leave, Sleep, Wakes};
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// A job needs its nodes for at least this long.
const TICK: SimDuration = SimDuration::from_micros(1);

/// Manner in which a wake plan takes the waiting jobs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Manner {
    /// Each in its order, at its earliest time.
    All,
    /// The same, but none before the one ahead of it in its lane, and none behind one that can never start.
    InTurn,
    /// Like the backfill, if all nodes were on: so many blocked jobs of each lane hold nodes, and those that fit as
    /// soon as all nodes are back.
    AsBackfilled(usize),
}

/// Memory of wake plans by cell.
#[derive(Clone, Debug, Default)]
pub(super) struct CellMemory {
    profile: CellProfile,
    base: CellBase,
    floors: Vec<Floors>,
    partial: PartialPlan,
    /// Free amounts of each cell and licence now.
    free: Vec<i64>,
    /// Number of nodes that could serve each want now: no bound.
    rooms: Vec<i64>,
}

/// Surplus of the nodes of each cell over time.
pub(super) struct CellOutlook<'a> {
    now: SimTime,
    cells: &'a Cells,
    levels: Vec<Levels>,
    /// Number of nodes of each cell that are left, on or not, once all are back.
    left: Vec<i64>,
    memory: CellMemory,
}

impl<'a> CellOutlook<'a> {
    /// Plans these waiting jobs, in their order; it reuses the memory.
    pub(super) fn new(
        view: &View<'a>,
        shares: &'a Shares,
        queue: &FitList,
        manner: Manner,
        mut memory: CellMemory,
    ) -> Self {
        let cells = shares.cells();
        memory.plan(view, shares, queue, manner);
        let (profile, soon) = (&memory.profile, all_back(view));
        let levels = (0..).take(cells.sets().len()).map(|cell| {
            let woken: Vec<_> = woken(view, cell).map(|back| (back.at.max(view.now), back.down)).collect();
            Levels::of(awake(profile.steps_of(cell), &woken))
        });
        let levels = levels.collect();
        let left = (0..).take(cells.sets().len()).map(|cell| profile.at(soon, cell)).collect();
        Self { now: view.now, cells, levels, left, memory }
    }

    /// Returns its memory for another plan.
    pub(super) fn into_memory(self) -> CellMemory {
        self.memory
    }

    /// All cells by number, each with its levels.
    fn each(&self) -> impl Iterator<Item = (u16, &Levels)> {
        (0..).zip(&self.levels)
    }
}

impl CellMemory {
    /// Plans waiting jobs.
    fn plan(&mut self, view: &View<'_>, shares: &Shares, queue: &FitList, manner: Manner) {
        let (cells, most) = (shares.cells(), i64::from(view.platform.len()));
        shares.free(view.slots, &mut self.free);
        self.base.copy(view, shares, &self.free, &mut self.profile);
        self.floors.resize(cells.wants(), Floors::default());
        self.floors.iter_mut().for_each(|floors| floors.reset(view.now, most));
        self.rooms.clear();
        self.rooms.resize(cells.wants(), i64::MAX);
        let Self { profile: free, floors, rooms, partial, .. } = self;
        let mut free = ByWant { now: view.now, jobs: view.jobs, cells, free, floors, rooms };
        match manner {
            Manner::All => {
                partial.begin(usize::MAX);
                partial.ask(SimTime::NEVER);
                while let Some(start) = partial.next(&mut free, queue) {
                    partial.take(&mut free, &start);
                }
            }
            Manner::InTurn => plan_in_turn(&mut free, view, queue),
            Manner::AsBackfilled(depth) => plan_as_backfilled(&mut free, view, queue, depth),
        }
    }
}

/// Plans each job no earlier than the one ahead of it in its lane.
fn plan_in_turn<H: Horizon>(free: &mut H, view: &View<'_>, queue: &FitList) {
    let (mut from, mut place) = (vec![Some(view.now); view.lanes()], Place::FRONT);
    while let Some(&waiting) = queue.get(place) {
        let turn = &mut from[view.lane(JobId(waiting.key.row))];
        *turn = turn.and_then(|from| free.fit_before(&waiting, from, SimTime::NEVER));
        if let Some(at) = *turn {
            free.hold(&PlannedStart { place, waiting, at }, 1);
        }
        place = queue.after(place);
    }
}

/// Plans the first `depth` blocked jobs of each lane, and those that fit as soon as all nodes are back.
fn plan_as_backfilled<H: Horizon>(free: &mut H, view: &View<'_>, queue: &FitList, depth: usize) {
    let (soon, mut held, mut place) = (all_back(view), vec![0; view.lanes()], Place::FRONT);
    while let Some(&waiting) = queue.get(place) {
        let held = &mut held[view.lane(JobId(waiting.key.row))];
        let before = if *held < depth { SimTime::NEVER } else { soon.saturating_add(TICK) };
        let at = free.fit_before(&waiting, free.floor(&waiting), before);
        free.raise(&waiting, at.unwrap_or(before));
        if let Some(at) = at {
            free.hold(&PlannedStart { place, waiting, at }, 1);
        }
        *held += usize::from(*held < depth && at.is_none_or(|at| at > soon));
        place = queue.after(place);
    }
}

/// Nodes of a cell that come back only if they are woken.
fn woken<'a>(view: &View<'a>, cell: u16) -> impl Iterator<Item = &'a Return> {
    returns(view).iter().filter(move |back| back.cell == cell && back.down > 0)
}

impl Planned for CellOutlook<'_> {
    fn wakes(&self, sleep: &Sleep, view: &View<'_>) -> Wakes {
        let (Some(standby), mut wakes) = (view.standby, Wakes::default()) else { return Wakes::default() };
        for (cell, levels) in self.each() {
            let Some(soon) = sleep.soon_in(view, |node| self.cells.cell_of(node) == Some(cell)) else { continue };
            let (lack, larger) = levels.lack(soon);
            let off = standby.off().iter().filter(|&node| self.cells.cell_of(node) == Some(cell));
            wakes.now.extend(off.take(usize::try_from(lack).unwrap_or(0)));
            let due = larger.map(|larger| self.now.saturating_add(larger - soon));
            wakes.due = wakes.due.into_iter().chain(due).min();
        }
        wakes.now.sort_unstable();
        wakes
    }

    fn cells(&self) -> usize {
        self.levels.len()
    }

    fn cell(&self, node: u32) -> usize {
        self.cells.cell_of(node).map_or(0, usize::from)
    }

    fn next(&self, node: u32, above: usize) -> SimTime {
        self.levels[self.cell(node)].lacking(above)
    }

    fn leave(&self, _view: &View<'_>, node: u32, rule: &NodeRule, asleep: u32) -> Leave {
        self.levels[self.cell(node)].leave(self.now, rule, asleep)
    }

    fn spare(&self, sleep: &Sleep, view: &View<'_>) -> u32 {
        let Some(standby) = view.standby else { return 0 };
        let spare = |(cell, levels): (u16, &Levels)| {
            let is_own = |node: &u32| self.cells.cell_of(*node) == Some(cell);
            let first = self.cells.nodes(cell).and_then(|nodes| nodes.iter().next());
            let kinds = first.into_iter().chain(standby.alike().map(|(like, ..)| like).filter(is_own));
            let span = kinds.map(|node| sleep.rule(node).start).max().unwrap_or_default();
            let least = levels.least_until(self.now.saturating_add(span), self.now).max(0);
            // Runs that are past their planned end count as over, but their nodes are not there.
            let asleep = standby.asleep().iter().filter(is_own).count();
            let there = self.memory.free[usize::from(cell)].saturating_add(i64::try_from(asleep).unwrap_or(i64::MAX));
            u32::try_from(least.min(there)).unwrap_or(u32::MAX)
        };
        self.each().map(spare).sum()
    }

    fn free(&self, _view: &View<'_>) -> u32 {
        self.left.iter().map(|&left| u32::try_from(left).unwrap_or(0)).sum()
    }
}
