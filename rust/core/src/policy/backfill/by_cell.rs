//! Reservations on heterogeneous nodes: a promise is a number of nodes of each cell, and licences.
//!
//! The rule is that of [`reservations`](super::reservations), with cells in place of one number. A job of n nodes fits
//! where its cells together have n free for all its length; it takes the plainest of them first, and this split is what
//! a reservation holds and what it starts with. As there, jobs are planned only where that may decide which jobs start
//! now. Where a budget may bind, watts are one more column of the profile: a reservation holds the mean over the nodes
//! that can serve the job, a start what it takes where it goes.
//!
//! Where queues have several sets of nodes, each is a lane: the jobs of each hold as many reservations as those of one.

use crate::algo::fit_list::{ByClass, ClassId, FitList, Place, Room, Waiting};
use crate::algo::floors::Floors;
use crate::algo::horizon::{CellProfile, NodesByCell, Wish};
use crate::algo::partial_plan::{Horizon, PartialPlan, PlannedStart, ends_after};
use crate::algo::staircase::Staircase;
use crate::cluster::shares::Shares;
use crate::error::Result;
use crate::platform::cells::Cells;
use crate::policy::Jobs;
use crate::policy::backfill::cell_base::CellBase;
use crate::policy::backfill::named::bounds::{Bounds, Like};
use crate::policy::backfill::plan::TICK;
use crate::policy::backfill::{Backfill, start, start_heads};
use crate::policy::desk::{Desk, Offer};
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Backfilling under reservations of nodes by cell.
#[derive(Clone, Debug)]
pub struct ByCell {
    depth: usize,
    profile: CellProfile,
    /// Releases of running jobs, without the starts of the pass.
    base: CellBase,
    /// Column of microwatts in the profile, where they count.
    watts: Option<u16>,
    /// Most microwatts that the profile has at any time once all running jobs have ended, before promises are taken
    /// off.
    most: i64,
    /// Needs that do not fit now, by want. They stay refused: within a pass capacity only shrinks.
    refused: Vec<Staircase>,
    /// Lower bounds on the start of jobs that need no less than another that was promised a start.
    bounds: Bounds,
    /// The same by want, where jobs are left out of a plan.
    floors: Vec<Floors>,
    /// Number of nodes that could serve each want now.
    rooms: Vec<i64>,
    /// Jobs of a plan that leaves out others.
    partial: PartialPlan,
    /// Scratch memory for the least capacity over a span.
    free: Vec<i64>,
}

/// Progress of a pass.
struct Course {
    /// First job that is not planned yet.
    place: Place,
    /// First job that may still fit now.
    candidate: Place,
    /// Jobs that hold a reservation.
    held: Held,
}

/// Nodes of each cell and licences that are free over time.
struct ByWant<'a> {
    now: SimTime,
    jobs: Jobs<'a>,
    cells: &'a Cells,
    free: &'a mut CellProfile,
    floors: &'a mut [Floors],
    rooms: &'a [i64],
}

/// Number of jobs of each lane that hold a reservation, up to the same depth.
struct Held {
    depth: usize,
    by_lane: Vec<usize>,
    /// Number of lanes in which no more jobs may.
    full: usize,
}

impl Held {
    fn new(depth: usize, lanes: usize) -> Self {
        Self { depth, by_lane: vec![0; lanes], full: if depth == 0 { lanes } else { 0 } }
    }

    fn is_full(&self, lane: usize) -> bool {
        self.by_lane[lane] >= self.depth
    }

    fn are_all_full(&self) -> bool {
        self.full == self.by_lane.len()
    }

    fn add(&mut self, lane: usize) {
        self.by_lane[lane] += 1;
        self.full += usize::from(self.by_lane[lane] == self.depth);
    }
}

impl ByCell {
    /// Holds reservations for the first `depth` blocked jobs; `usize::MAX` for all of them.
    #[must_use]
    pub fn new(depth: usize) -> Self {
        Self {
            depth,
            profile: CellProfile::default(),
            base: CellBase::default(),
            watts: None,
            most: 0,
            refused: Vec::new(),
            bounds: Bounds::default(),
            floors: Vec::new(),
            rooms: Vec::new(),
            partial: PartialPlan::default(),
            free: Vec::new(),
        }
    }

    /// Forgets all promises: running jobs, and those started in this pass, end as planned.
    fn reset(&mut self, desk: &mut Desk<'_>, shares: &Shares) -> Result<()> {
        self.refused.resize(shares.cells().wants(), Staircase::default());
        self.refused.iter_mut().for_each(Staircase::clear);
        self.bounds.forget();
        let width = shares.cells().width();
        self.watts = desk.counts_watts().then(|| u16::try_from(width).unwrap_or(u16::MAX));
        let left = self.watts.is_some().then(|| desk.free()).transpose()?.map(|free| free.microwatts);
        self.free.clear();
        self.free.extend_from_slice(desk.free_parts());
        self.free.extend(left);
        self.most = left.map_or(0, |free| desk.most_planned(free));
        let base = self.base.of(desk.view, shares, self.free.len());
        self.profile.copy(base, &self.free);
        let mut overdue = vec![0; self.free.len()];
        self.base.add_overdue(desk.view, &mut overdue);
        self.profile.lift(&overdue);
        for (at, split, microwatts) in desk.started() {
            self.profile.add_from(at, split, 1);
            if let Some(thing) = self.watts {
                self.profile.add_from(at, &[(thing, microwatts)], 1);
            }
        }
        if let Some(thing) = self.watts {
            for change in desk.budget_to_come() {
                self.profile.add_from(change.at, &[(thing, change.claim.microwatts)], 1);
            }
        }
        Ok(())
    }

    /// Split that the job would take if it started now alongside the promises made so far; none if it does not fit.
    fn fits_now(&mut self, desk: &Desk<'_>, cells: &Cells, waiting: &Waiting) -> Option<NodesByCell> {
        let job = JobId(waiting.key.row);
        let (wish, number) = (cells.wish(job, desk.view.jobs.node_count(job)), cells.number(job));
        self.free.clear();
        self.free.extend_from_slice(desk.free_parts());
        // A job of length zero ends as it starts: it delays no other.
        if waiting.length > SimDuration::ZERO {
            if self.refused[number].holds(wish.count, waiting.length) {
                return None;
            }
            let now = desk.view.now;
            if let Err((at, room)) = self.profile.least(now, waiting.length, &wish, &mut self.free) {
                self.refused[number].refuse(room + 1, at - now + TICK);
                return None;
            }
        }
        wish.split(&self.free)
    }

    /// Offer to start a job now, with its claim by cell, licence and watts, if it delays no promise.
    fn offer(&mut self, desk: &mut Desk<'_>, cells: &Cells, waiting: &Waiting) -> Result<Option<(Offer, NodesByCell)>> {
        let now = desk.view.now;
        if !self.has_watts(now, waiting.length, waiting.watts) {
            return Ok(None);
        }
        let Some(split) = self.fits_now(desk, cells, waiting) else { return Ok(None) };
        let Some(mut offer) = desk.offer_in(waiting, &split)? else { return Ok(None) };
        let mut split = desk.offered(&offer);
        if let Some(thing) = self.watts {
            let microwatts = desk.claim(&mut offer)?.microwatts;
            if !self.has_watts(now, waiting.length, microwatts) || !self.has_cells(now, waiting.length, &split) {
                desk.decline(offer);
                return Ok(None);
            }
            split.push((thing, microwatts));
        }
        Ok(Some((offer, split)))
    }

    /// True if the microwatts are free throughout, where they count.
    fn has_watts(&self, now: SimTime, length: SimDuration, microwatts: i64) -> bool {
        let is_short = |thing| !self.profile.holds(now, length, (thing, microwatts));
        length == SimDuration::ZERO || !self.watts.is_some_and(is_short)
    }

    /// True if the offer's split is free throughout: the cells may differ from those that were asked for.
    fn has_cells(&self, now: SimTime, length: SimDuration, split: &NodesByCell) -> bool {
        length == SimDuration::ZERO || split.iter().all(|&part| self.profile.holds(now, length, part))
    }

    /// Promises a waiting job the earliest start there is, if its lane may hold one more reservation.
    fn reserve_in(&mut self, desk: &mut Desk<'_>, cells: &Cells, waiting: &Waiting, held: &mut Held) {
        let lane = desk.view.lane(JobId(waiting.key.row));
        if !held.is_full(lane) && self.reserve(desk, cells, waiting) {
            held.add(lane);
        }
    }

    /// Promises a waiting job the earliest start there is; true if it then holds a reservation.
    fn reserve(&mut self, desk: &mut Desk<'_>, cells: &Cells, waiting: &Waiting) -> bool {
        if desk.can_never_hold(waiting) {
            return false;
        }
        let job = JobId(waiting.key.row);
        let (count, length) = (desk.view.jobs.node_count(job), waiting.length.max(TICK));
        let microwatts = desk.need(waiting, self.most).microwatts;
        let like = Like::new(cells.number(job), microwatts, count, length);
        let from = self.bounds.of(&like).max(desk.view.now);
        if from == SimTime::NEVER {
            return false;
        }
        let wish = Wish { also: self.watts.map(|thing| (thing, microwatts)), ..cells.wish(job, count) };
        let found = self.profile.earliest(from, length, &wish);
        self.bounds.note(like, found.as_ref().map_or(SimTime::NEVER, |(at, _)| *at));
        if let Some((at, split)) = &found {
            self.profile.reserve(*at, length, split);
        }
        found.is_some()
    }

    /// Room that is free now: jobs that do not fit into it cannot start.
    fn room(desk: &Desk<'_>, cells: &Cells) -> Room {
        let free = desk.free_parts();
        let (mut refused, mut others) = (ByClass::NONE, 0);
        for (number, room) in cells.rooms(free).enumerate() {
            match ClassId::OTHER.in_slot(number) {
                ClassId::OTHER => others = others.max(room),
                class => refused.lower(class, room + 1),
            }
        }
        refused.lower(ClassId::OTHER, others + 1);
        Room { refused, ..Room::of(desk.free_units()).within(desk.left()) }
    }

    /// Plans the jobs ahead of a place, as far as there may be reservations.
    fn reserve_before(
        &mut self,
        desk: &mut Desk<'_>,
        cells: &Cells,
        (queue, course): (&FitList, &mut Course),
        found: Place,
    ) -> Result<()> {
        while course.place < found && !course.held.are_all_full() {
            desk.examine()?;
            if let Some(waiting) = queue.get(course.place) {
                self.reserve_in(desk, cells, waiting, &mut course.held);
            }
            course.place = queue.after(course.place);
        }
        Ok(())
    }

    /// Starts the jobs that would start now in a complete plan, and plans only those that may be in their way.
    fn planned_in_part(&mut self, desk: &mut Desk<'_>, shares: &Shares, queue: &mut FitList) -> Result<()> {
        let (cells, now, jobs) = (shares.cells(), desk.view.now, desk.view.jobs);
        if queue.first_fit(Place::FRONT, Self::room(desk, cells)).is_none() {
            return Ok(());
        }
        self.reset(desk, shares)?;
        let most = i64::from(desk.view.platform.len());
        self.floors.resize(cells.wants(), Floors::default());
        self.floors.iter_mut().for_each(|floors| floors.reset(now, most));
        self.partial.begin(self.depth);
        self.partial.ask(now.saturating_add(TICK));
        while desk.free_units() > 0 {
            let first: Vec<_> = self.profile.first().collect();
            self.rooms.clear();
            self.rooms.extend(cells.rooms(&first));
            let Self { partial, profile: free, floors, rooms, .. } = self;
            let mut by_want = ByWant { now, jobs, cells, free, floors, rooms };
            let Some(next) = partial.next(&mut by_want, queue) else { break };
            desk.examine()?;
            if let Some((offer, split)) = self.offer(desk, cells, &next.waiting)? {
                self.profile.reserve(now, next.waiting.length, &split);
                self.partial.note(&next);
                start(desk, queue, next.place, offer)?;
            } else {
                // A run past its planned end counts as free in the plan, but is not.
                let Self { partial, profile: free, floors, rooms, .. } = self;
                partial.put_aside(&mut ByWant { now, jobs, cells, free, floors, rooms }, &next);
            }
        }
        Ok(())
    }

    /// Plans each blocked job at its earliest fit, and starts the jobs that fit alongside those ahead of them.
    fn planned(&mut self, desk: &mut Desk<'_>, shares: &Shares, queue: &mut FitList) -> Result<()> {
        let cells = shares.cells();
        let front = queue.settled(Place::FRONT);
        let held = Held::new(self.depth, desk.view.lanes());
        let mut course = Course { place: front, candidate: front, held };
        let (mut is_reset, mut room) = (false, Self::room(desk, cells));
        while let Some(found) = queue.first_fit(course.candidate, room) {
            desk.examine()?;
            if !std::mem::replace(&mut is_reset, true) {
                self.reset(desk, shares)?;
            }
            let Some(&waiting) = queue.get(found) else { break };
            course.candidate = found;
            self.reserve_before(desk, cells, (queue, &mut course), found)?;
            let all_planned = course.place == found;
            course.candidate = if let Some((offer, split)) = self.offer(desk, cells, &waiting)? {
                self.profile.reserve(desk.view.now, waiting.length, &split);
                let next = start(desk, queue, found, offer)?;
                room = Self::room(desk, cells);
                next
            } else {
                self.reserve_in(desk, cells, &waiting, &mut course.held);
                queue.after(found)
            };
            if all_planned {
                course.place = course.candidate;
            }
        }
        Ok(())
    }
}

impl ByWant<'_> {
    fn wish(&self, waiting: &Waiting) -> Wish<'_> {
        let job = JobId(waiting.key.row);
        self.cells.wish(job, self.jobs.node_count(job))
    }

    fn number(&self, waiting: &Waiting) -> usize {
        self.cells.number(JobId(waiting.key.row))
    }
}

impl Horizon for ByWant<'_> {
    const IS_ONE: bool = false;

    fn group(&self, waiting: &Waiting) -> usize {
        self.number(waiting)
    }

    fn floor_of(&self, _units: i64, _length: SimDuration) -> SimTime {
        self.now
    }

    fn floor(&self, waiting: &Waiting) -> SimTime {
        let number = self.number(waiting);
        let soonest = if waiting.units <= self.rooms[number] { self.now } else { self.now.saturating_add(TICK) };
        self.floors[number].of(waiting.units, waiting.length).max(soonest)
    }

    fn fit_before(&mut self, waiting: &Waiting, from: SimTime, before: SimTime) -> Option<SimTime> {
        let found = self.free.earliest_by(from, before, waiting.length.max(TICK), &self.wish(waiting));
        found.map(|(at, _)| at)
    }

    fn raise(&mut self, waiting: &Waiting, to: SimTime) {
        let number = self.number(waiting);
        self.floors[number].raise(waiting.units, waiting.length.max(TICK), to);
    }

    fn fits_each<'w>(&self, mut jobs: impl Iterator<Item = &'w Waiting>) -> bool {
        let (begins, last): (Vec<_>, Vec<_>) = self.free.last().unzip();
        let mut end = begins.into_iter().max().unwrap_or(self.now);
        jobs.all(|waiting| ends_after(&mut end, waiting) && self.wish(waiting).split(&last).is_some())
    }

    fn hold(&mut self, start: &PlannedStart, _count: usize) {
        let length = start.waiting.length.max(TICK);
        let found = self.free.earliest(start.at, length, &self.wish(&start.waiting));
        if let Some((at, split)) = found {
            debug_assert_eq!(at, start.at, "a job is promised what fits");
            self.free.reserve(at, length, &split);
        }
    }
}

impl Backfill for ByCell {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let Some(shares) = desk.view.shares else { return Ok(()) };
        let is_one_plan = desk.view.lanes() == 1 || self.depth == usize::MAX;
        // A job of length zero may start where others cannot.
        let may_leave_out = is_one_plan && desk.only_counts() && queue.shortest() > SimDuration::ZERO;
        match start_heads(desk, queue)? {
            false => Ok(()),
            true if may_leave_out => self.planned_in_part(desk, shares, queue),
            true => self.planned(desk, shares, queue),
        }
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(self.clone()))
    }
}
