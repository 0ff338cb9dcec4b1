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
use crate::algo::horizon::{CellProfile, NodesByCell, Wish};
use crate::algo::staircase::Staircase;
use crate::cluster::shares::Shares;
use crate::error::Result;
use crate::platform::cells::Cells;
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
    /// Needs that do not fit before an instant, by want. They stay refused, too.
    late: (SimTime, Vec<Staircase>),
    /// Lower bounds on the start of jobs that need no less than another that was promised a start.
    bounds: Bounds,
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
    /// Place and instant: unplanned jobs before this place fit no earlier than this instant.
    clear: (Place, SimTime),
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
            late: (SimTime::NEVER, Vec::new()),
            bounds: Bounds::default(),
            free: Vec::new(),
        }
    }

    /// Forgets all promises: running jobs, and those started in this pass, end as planned.
    fn reset(&mut self, desk: &Desk<'_>, shares: &Shares) {
        for stairs in [&mut self.refused, &mut self.late.1] {
            stairs.resize(shares.cells().wants(), Staircase::default());
            stairs.iter_mut().for_each(Staircase::clear);
        }
        self.bounds.forget();
        let width = shares.cells().width();
        self.watts = desk.watts_left().map(|_| u16::try_from(width).unwrap_or(u16::MAX));
        self.free.clear();
        self.free.extend_from_slice(desk.free_parts());
        self.free.extend(desk.watts_left());
        self.most = desk.watts_left().map_or(0, |free| desk.most_planned(free));
        let base = self.base.of(desk.view, shares, self.free.len());
        self.profile.copy(base, &self.free);
        let mut overdue = vec![0; self.free.len()];
        self.base.add_overdue(desk.view, &mut overdue);
        self.profile.lift(&overdue);
        for (at, split, watts) in desk.started() {
            self.profile.add_from(at, split, 1);
            if let Some(thing) = self.watts {
                self.profile.add_from(at, &[(thing, watts.microwatts_down())], 1);
            }
        }
        if let Some(thing) = self.watts {
            for change in desk.budget_to_come() {
                self.profile.add_from(change.at, &[(thing, change.claim.microwatts)], 1);
            }
        }
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
        let mut split = desk.offered();
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

    /// First unplanned job ahead of the candidate that may fit before `until`.
    fn first_before(
        &mut self,
        desk: &mut Desk<'_>,
        cells: &Cells,
        (queue, course): (&FitList, &mut Course),
        until: SimTime,
    ) -> Result<Option<Place>> {
        let (clear, then) = course.clear;
        let mut place = queue.settled(if until <= then { clear.max(course.place) } else { course.place });
        if until > self.late.0 {
            self.late.1.iter_mut().for_each(Staircase::clear);
        }
        self.late.0 = until;
        while place < course.candidate {
            desk.examine()?;
            let Some(waiting) = queue.get(place) else { break };
            let is_full = course.held.is_full(desk.view.lane(JobId(waiting.key.row)));
            if !is_full && self.may_fit_before(desk, cells, waiting, until) {
                course.clear = (place, until);
                return Ok(Some(place));
            }
            place = queue.after(place);
        }
        course.clear = (course.candidate, until);
        Ok(None)
    }

    /// True if a waiting job fits before `until` alongside the promises made so far.
    fn may_fit_before(&mut self, desk: &Desk<'_>, cells: &Cells, waiting: &Waiting, until: SimTime) -> bool {
        let job = JobId(waiting.key.row);
        let (number, count) = (cells.number(job), desk.view.jobs.node_count(job));
        let (wish, length) = (cells.wish(job, count), waiting.length.max(TICK));
        if self.late.1[number].holds(wish.count, length) {
            return false;
        }
        let from = self.bounds.of(&Like::new(number, 0, count, length)).max(desk.view.now);
        let fits = self.profile.earliest_by(from, until, length, &wish).is_some();
        if !fits {
            self.late.1[number].refuse(wish.count, length);
        }
        fits
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

    fn planned(&mut self, desk: &mut Desk<'_>, shares: &Shares, queue: &mut FitList) -> Result<()> {
        let cells = shares.cells();
        let front = queue.settled(Place::FRONT);
        let held = Held::new(self.depth, desk.view.lanes());
        let mut course = Course { place: front, candidate: front, held, clear: (front, SimTime::NEVER) };
        let (mut is_reset, mut room) = (false, Self::room(desk, cells));
        while let Some(found) = queue.first_fit(course.candidate, room) {
            desk.examine()?;
            if !std::mem::replace(&mut is_reset, true) {
                self.reset(desk, shares);
            }
            let Some(&waiting) = queue.get(found) else { break };
            course.candidate = found;
            if desk.only_counts() && !self.is_next(desk, cells, (queue, &mut course), &waiting)? {
                course.candidate = queue.after(found);
                continue;
            }
            let offer = if desk.only_counts() { self.offer(desk, cells, &waiting)? } else { None };
            let offer = match offer {
                None => {
                    self.reserve_before(desk, cells, (queue, &mut course), found)?;
                    self.offer(desk, cells, &waiting)?
                }
                made => made,
            };
            let all_planned = course.place == found;
            course.candidate = if let Some((offer, split)) = offer {
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

    /// True if the candidate starts, as far as counts tell, once the jobs ahead of it are planned that may fit before
    /// it ends. The others ahead of it get the same promise after it has started.
    fn is_next(
        &mut self,
        desk: &mut Desk<'_>,
        cells: &Cells,
        (queue, course): (&FitList, &mut Course),
        waiting: &Waiting,
    ) -> Result<bool> {
        let until = desk.view.now.saturating_add(waiting.length);
        while self.fits_now(desk, cells, waiting).is_some() {
            if course.place >= course.candidate || course.held.are_all_full() {
                return Ok(true);
            }
            let Some(last) = self.first_before(desk, cells, (queue, course), until)? else { return Ok(true) };
            let next = queue.after(last);
            self.reserve_before(desk, cells, (queue, course), next)?;
        }
        Ok(false)
    }
}

impl Backfill for ByCell {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let Some(shares) = desk.view.shares else { return Ok(()) };
        if start_heads(desk, queue)? { self.planned(desk, shares, queue) } else { Ok(()) }
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(self.clone()))
    }
}
