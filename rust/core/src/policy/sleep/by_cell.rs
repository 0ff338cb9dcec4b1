//! Waking where nodes are counted by cell, as they differ in what jobs ask for or queues share them (operations page on
//! machines, rule 20).
//!
//! The wake plan is one: each job takes its split at the earliest time at which it fits. What is lacking or left over is
//! a matter of each cell. Unless a part has questions about all of the plan, it reaches no further than it takes to know
//! which nodes are woken, when the next are, and which may sleep.

use crate::algo::fit_list::{FitList, Place, Room};
use crate::algo::floors::Floors;
use crate::algo::horizon::CellProfile;
use crate::algo::partial_plan::{Horizon, PartialPlan, PlannedStart};
use crate::algo::staircase::Staircase;
use crate::cluster::shares::Shares;
use crate::cluster::standby::Return;
use crate::platform::cells::Cells;
use crate::policy::View;
use crate::policy::backfill::by_want::ByWant;
use crate::policy::backfill::cell_base::CellBase;
use crate::policy::sleep::Sleep;
use crate::policy::sleep::answers::{Leave, Wakes};
use crate::policy::sleep::counted::all_back;
use crate::policy::sleep::levels::{Levels, awake};
use crate::policy::sleep::node_rule::NodeRule;
use crate::policy::sleep::planned::Planned;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

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
    /// Jobs that are left for later, under a plan in turn: by lane, the first of them.
    left: Vec<Option<Place>>,
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
    /// Plans these waiting jobs, in their order, as far as that decides what the part asks for; it reuses the memory of
    /// `sleep`.
    pub(super) fn new(view: &View<'a>, shares: &'a Shares, queue: &FitList, manner: Manner, sleep: &mut Sleep) -> Self {
        let (cells, mut memory) = (shares.cells(), std::mem::take(&mut sleep.spare_cells));
        memory.begin(view, shares);
        let mut outlook = Self { now: view.now, cells, levels: Vec::new(), left: Vec::new(), memory };
        let mut span = if sleep.foresees() { SimDuration::FOREVER } else { sleep.span_ahead(view) };
        loop {
            let by = view.now.saturating_add(span);
            outlook.memory.plan(view, shares, queue, manner, by);
            outlook.look(view);
            if outlook.says_all(sleep, (view, queue, manner), by) {
                return outlook;
            }
            span = span.saturating_add(span.max(SimDuration::TICK));
        }
    }

    /// Reads the levels off the plan.
    fn look(&mut self, view: &View<'_>) {
        let (profile, soon, count) = (&self.memory.profile, all_back(view), self.cells.sets().len());
        let levels = (0..).take(count).map(|cell| {
            let woken: Vec<_> = woken(view, cell).map(|back| (back.at.max(view.now), back.down)).collect();
            Levels::of(awake(profile.steps_of(cell), &woken))
        });
        self.levels = levels.collect();
        self.left = (0..).take(count).map(|cell| profile.at(soon, cell)).collect();
    }

    /// True if it is known which nodes are woken, and when, once all is planned that starts by `by`.
    fn says_all(&self, sleep: &Sleep, (view, queue, manner): (&View<'_>, &FitList, Manner), by: SimTime) -> bool {
        // Behind its last step a plan does not change: what does not start by then never does.
        if self.memory.profile.last().all(|(last, _)| last <= by) {
            return true;
        }
        let is_open = |(cell, levels): (u16, &Levels)| {
            let Some(soon) = self.soon(sleep, view, cell) else { return false };
            let (lack, larger) = levels.lack(soon);
            let down = woken(view, cell).map(|back| back.down).sum::<i64>();
            lack < down && larger.is_none_or(|larger| larger > by)
        };
        let open: Vec<_> = self.each().map(is_open).collect();
        !open.contains(&true)
            || !self.memory.leaves_any(view, queue, manner, |job| {
                self.cells.want(job).cells.iter().any(|&cell| open[usize::from(cell)])
            })
    }

    /// Time at which all nodes of a cell would be back that are off or shutting down, if there are any.
    fn soon(&self, sleep: &Sleep, view: &View<'_>, cell: u16) -> Option<SimTime> {
        sleep.soon_in(view, |node| self.cells.cell_of(node) == Some(cell))
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
    /// Begins with nothing planned.
    fn begin(&mut self, view: &View<'_>, shares: &Shares) {
        let (wants, most) = (shares.cells().wants(), i64::from(view.node_count()));
        shares.free(view.slots, &mut self.free);
        self.base.copy(view, shares, &self.free, &mut self.profile);
        self.floors.resize(wants, Floors::default());
        self.floors.iter_mut().for_each(|floors| floors.reset(view.now, most));
        self.rooms.clear();
        self.rooms.resize(wants, i64::MAX);
        self.partial.begin(usize::MAX);
    }

    /// True if jobs are left for later, some of which `matter`.
    fn leaves_any(&self, view: &View<'_>, queue: &FitList, manner: Manner, matter: impl Fn(JobId) -> bool) -> bool {
        let mut place = Place::FRONT;
        while let Some(waiting) = queue.get(place) {
            let job = JobId(waiting.key.row);
            let is_left = match manner {
                Manner::InTurn => self.left[view.lane(job)].is_some_and(|first| first <= place),
                Manner::All | Manner::AsBackfilled(_) => !self.partial.has(job.0),
            };
            if is_left && matter(job) {
                return true;
            }
            place = queue.after(place);
        }
        false
    }

    /// Plans the jobs that start by `by`; it may be asked again with a later one.
    fn plan(&mut self, view: &View<'_>, shares: &Shares, queue: &FitList, manner: Manner, by: SimTime) {
        let cells = shares.cells();
        if matches!(manner, Manner::InTurn) {
            self.base.copy(view, shares, &self.free, &mut self.profile);
        }
        let Self { profile: free, floors, rooms, partial, left, .. } = self;
        let mut free = ByWant { now: view.now, jobs: view.jobs, cells, free, floors, rooms };
        match manner {
            Manner::All => {
                partial.ask(by.saturating_add(SimDuration::TICK));
                while let Some(start) = partial.next(&mut free, queue) {
                    partial.take(&mut free, &start);
                }
            }
            Manner::InTurn => *left = plan_in_turn(&mut free, view, queue, by),
            Manner::AsBackfilled(depth) => plan_as_backfilled(&mut free, view, queue, depth),
        }
    }
}

/// Plans each job no earlier than the one ahead of it in its lane, as long as that starts by `by`. Returns the first job
/// of each lane that is left for later.
fn plan_in_turn<H: Horizon>(free: &mut H, view: &View<'_>, queue: &FitList, by: SimTime) -> Vec<Option<Place>> {
    let (mut from, mut left) = (vec![Some(view.now); view.lanes()], vec![None; view.lanes()]);
    let (mut open, mut place) = (view.lanes(), Place::FRONT);
    while open > 0
        && let Some(&waiting) = queue.get(place)
    {
        let lane = view.lane(JobId(waiting.key.row));
        if let Some(turn) = from[lane].filter(|_| left[lane].is_none()) {
            if turn <= by {
                from[lane] = free.fit_before(&waiting, turn, SimTime::NEVER);
                if let Some(at) = from[lane] {
                    free.hold(&PlannedStart { place, waiting, at }, 1);
                }
            } else {
                left[lane] = Some(place);
            }
            // Behind a job that never starts, no other of its lane does.
            open -= usize::from(from[lane].is_none() || left[lane].is_some());
        }
        place = queue.after(place);
    }
    left
}

/// Plans the first `depth` blocked jobs of each lane, and those that fit as soon as all nodes are back.
fn plan_as_backfilled(free: &mut ByWant<'_>, view: &View<'_>, queue: &FitList, depth: usize) {
    let (soon, mut held, mut place) = (all_back(view), vec![0; view.lanes()], Place::FRONT);
    // Needs that do not fit by then, by group. They stay refused, as the plan only gets fuller.
    let (mut refused, mut most, mut room) = (Vec::<Staircase>::new(), Vec::new(), None);
    while let Some(next) = if held.iter().any(|&held| held < depth) {
        Some(place)
    } else {
        let room = *room.get_or_insert_with(|| {
            free.free.most_by(soon, &mut most);
            Room { refused: free.cells.refused(&most), ..Room::of(view.units()) }
        });
        queue.first_fit(place, room)
    } && let Some(&waiting) = queue.get(next)
    {
        let held = &mut held[view.lane(JobId(waiting.key.row))];
        let (may_wait, group) = (*held < depth, free.group(&waiting));
        let before = if may_wait { SimTime::NEVER } else { soon.saturating_add(SimDuration::TICK) };
        if may_wait || !refused.get(group).is_some_and(|refused| refused.holds(waiting.units, waiting.length)) {
            let at = free.fit_before(&waiting, free.floor(&waiting), before);
            free.raise(&waiting, at.unwrap_or(before));
            if let Some(at) = at {
                free.hold(&PlannedStart { place: next, waiting, at }, 1);
                room = None;
            }
            if at.is_none_or(|at| at > soon) {
                *held += usize::from(may_wait);
                refused.resize(refused.len().max(group + 1), Staircase::default());
                refused[group].refuse(waiting.units, waiting.length);
            }
        }
        place = queue.after(next);
    }
}

/// Nodes of a cell that come back only if they are woken.
fn woken<'a>(view: &View<'a>, cell: u16) -> impl Iterator<Item = &'a Return> {
    view.returns().iter().filter(move |back| back.cell == cell && back.down > 0)
}

impl Planned for CellOutlook<'_> {
    fn wakes(&self, sleep: &Sleep, view: &View<'_>) -> Wakes {
        let (Some(standby), mut wakes) = (view.standby, Wakes::default()) else { return Wakes::default() };
        for (cell, levels) in self.each() {
            let Some(soon) = self.soon(sleep, view, cell) else { continue };
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
            let kinds = first.into_iter().chain(standby.kinds_asleep().filter(is_own));
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
