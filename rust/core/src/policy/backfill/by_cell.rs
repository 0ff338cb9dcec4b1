//! Reservations on heterogeneous nodes: a promise is a number of nodes of each cell, and licences.
//!
//! The rule is that of [`reservations`](super::reservations), with cells in place of one number (`cell_plan`). As there,
//! jobs are planned only where that may decide which jobs start now.
//!
//! Where queues have several sets of nodes, each is a lane: the jobs of each hold as many reservations as those of one.

use crate::algo::fit_list::{FitList, Place, Waiting};
use crate::algo::floors::Floors;
use crate::algo::partial_plan::PartialPlan;
use crate::cluster::shares::Shares;
use crate::error::Result;
use crate::platform::cells::Cells;
use crate::policy::backfill::by_want::ByWant;
use crate::policy::backfill::cell_plan::CellPlan;
use crate::policy::backfill::held::Held;
use crate::policy::backfill::{Backfill, start, start_heads};
use crate::policy::desk::Desk;
use crate::units::SimDuration;

/// Backfilling under reservations of nodes by cell.
#[derive(Clone, Debug)]
pub struct ByCell {
    depth: usize,
    plan: CellPlan,
    /// Lower bounds on the start of jobs by want, where jobs are left out of a plan.
    floors: Vec<Floors>,
    /// Number of nodes that could serve each want now.
    rooms: Vec<i64>,
    /// Jobs of a plan that leaves out others.
    partial: PartialPlan,
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

impl ByCell {
    /// Holds reservations for the first `depth` blocked jobs; `usize::MAX` for all of them.
    #[must_use]
    pub fn new(depth: usize) -> Self {
        Self {
            depth,
            plan: CellPlan::default(),
            floors: Vec::new(),
            rooms: Vec::new(),
            partial: PartialPlan::default(),
        }
    }

    /// Promises a waiting job the earliest start there is, if its lane may hold one more reservation.
    fn reserve_in(&mut self, desk: &mut Desk<'_>, cells: &Cells, waiting: &Waiting, held: &mut Held) {
        let lane = desk.lane(waiting);
        if !held.is_full(lane) && self.plan.reserve_by(desk, cells, waiting) {
            held.add(lane);
        }
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
        if queue.first_fit(Place::FRONT, CellPlan::room(desk, cells)).is_none() {
            return Ok(());
        }
        self.plan.reset_by(desk, shares)?;
        let most = i64::from(desk.view.node_count());
        self.floors.resize(cells.wants(), Floors::default());
        self.floors.iter_mut().for_each(|floors| floors.reset(now, most));
        self.partial.begin(self.depth);
        self.partial.ask(now.saturating_add(SimDuration::TICK));
        while desk.free_units() > 0 {
            let first: Vec<_> = self.plan.profile.first().collect();
            self.rooms.clear();
            self.rooms.extend(cells.rooms(&first));
            let Self { partial, plan: CellPlan { profile: free, .. }, floors, rooms, .. } = self;
            let mut by_want = ByWant { now, jobs, cells, free, floors, rooms };
            let Some(next) = partial.next(&mut by_want, queue) else { break };
            desk.examine()?;
            if let Some(offer) = self.plan.offer_by(desk, cells, &next.waiting)? {
                self.plan.start_now(desk, &next.waiting);
                self.partial.note(&next);
                start(desk, queue, next.place, offer)?;
            } else {
                // A run past its planned end counts as free in the plan, but is not.
                let Self { partial, plan: CellPlan { profile: free, .. }, floors, rooms, .. } = self;
                partial.put_aside(&mut ByWant { now, jobs, cells, free, floors, rooms }, &next);
            }
        }
        Ok(())
    }

    /// Plans each blocked job at its earliest fit, and starts the jobs that fit alongside those ahead of them.
    fn planned(&mut self, desk: &mut Desk<'_>, shares: &Shares, queue: &mut FitList) -> Result<()> {
        let cells = shares.cells();
        let front = queue.settled(Place::FRONT);
        let held = Held::of(desk, self.depth);
        let mut course = Course { place: front, candidate: front, held };
        let (mut is_reset, mut room) = (false, CellPlan::room(desk, cells));
        while let Some(found) = queue.first_fit(course.candidate, room) {
            desk.examine()?;
            if !std::mem::replace(&mut is_reset, true) {
                self.plan.reset_by(desk, shares)?;
            }
            let Some(&waiting) = queue.get(found) else { break };
            course.candidate = found;
            self.reserve_before(desk, cells, (queue, &mut course), found)?;
            let all_planned = course.place == found;
            course.candidate = if let Some(offer) = self.plan.offer_by(desk, cells, &waiting)? {
                self.plan.start_now(desk, &waiting);
                let next = start(desk, queue, found, offer)?;
                room = CellPlan::room(desk, cells);
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

impl Backfill for ByCell {
    fn reserves(&self) -> usize {
        self.depth
    }

    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let Some(shares) = desk.view.shares else { return Ok(()) };
        let is_one_plan = desk.view.lanes() == 1 || self.depth == usize::MAX && desk.closed().is_empty();
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
