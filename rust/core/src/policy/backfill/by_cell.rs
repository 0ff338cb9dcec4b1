//! Reservations on a machine whose nodes differ: what is promised is so many nodes of each cell, and licences.
//!
//! The rule is that of [`reservations`](super::reservations), with cells in place of one number. A job of n nodes fits
//! where its cells together have n free for all its length; it takes the plainest of them first, and this split is what a
//! reservation holds and what it starts with. Where a budget may bind, watts are one thing more that is free: a reservation
//! holds the mean over the nodes that can serve the job, a start what it takes where it goes.

use std::collections::BTreeMap;

use crate::algo::fit_list::{ByKind, FitList, Kind, Place, Room, Waiting};
use crate::algo::horizon::{CellProfile, Split, Wish};
use crate::algo::staircase::Staircase;
use crate::error::Result;
use crate::policy::backfill::cell_base::CellBase;
use crate::policy::backfill::plan::TICK;
use crate::policy::backfill::{Backfill, start, start_heads};
use crate::policy::cells::Cells;
use crate::policy::desk::{Desk, Offer};
use crate::policy::shares::Shares;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Backfilling under reservations of nodes by cell.
#[derive(Clone, Debug)]
pub struct ByCell {
    depth: usize,
    profile: CellProfile,
    /// What runs gives back, without the starts of the pass.
    base: CellBase,
    /// The place of microwatts in the profile, where they count.
    watts: Option<u16>,
    /// The most microwatts that the profile has once all that runs has ended, but for promises.
    most: i64,
    /// By want: needs that do not fit now. In a pass there is only ever less.
    refused: Vec<Staircase>,
    /// Where a want, a count, watts and a length were promised last: those alike fit no earlier.
    last: BTreeMap<(usize, u32, i64, SimDuration), SimTime>,
    /// Memory for what is free throughout.
    free: Vec<i64>,
}

/// How far a pass is.
struct Course {
    /// The first job that is not planned yet.
    place: Place,
    /// From here on jobs may fit now.
    candidate: Place,
    /// How many hold a reservation.
    held: usize,
}

impl ByCell {
    /// Holds reservations for the first `depth` blocked jobs; `usize::MAX` for all of them.
    #[must_use]
    pub fn new(depth: usize) -> Self {
        let (profile, base, watts) = (CellProfile::default(), CellBase::default(), None);
        Self { depth, profile, base, watts, most: 0, refused: Vec::new(), last: BTreeMap::new(), free: Vec::new() }
    }

    /// Forgets all promises: what runs, and what started in this pass, ends as planned.
    fn reset(&mut self, desk: &Desk<'_>, shares: &Shares) {
        self.refused.clear();
        self.refused.resize(shares.cells().wants(), Staircase::default());
        self.last.clear();
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

    /// What the job would take if it started now, beside the promises made so far; none if it does not fit.
    fn fits_now(&mut self, desk: &Desk<'_>, cells: &Cells, waiting: &Waiting) -> Option<Split> {
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

    /// What it takes to start a job now, with what it takes of everything, if it delays no promise.
    fn offer(&mut self, desk: &mut Desk<'_>, cells: &Cells, waiting: &Waiting) -> Result<Option<(Offer, Split)>> {
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

    /// Whether so many microwatts are free throughout, where they count.
    fn has_watts(&self, now: SimTime, length: SimDuration, microwatts: i64) -> bool {
        let is_short = |thing| !self.profile.holds(now, length, (thing, microwatts));
        length == SimDuration::ZERO || !self.watts.is_some_and(is_short)
    }

    /// Whether what an offer takes is free throughout: it may be of other cells than were asked for.
    fn has_cells(&self, now: SimTime, length: SimDuration, split: &Split) -> bool {
        length == SimDuration::ZERO || split.iter().all(|&part| self.profile.holds(now, length, part))
    }

    /// Promises a waiting job the earliest start there is; whether it holds a reservation then.
    fn reserve(&mut self, desk: &mut Desk<'_>, cells: &Cells, waiting: &Waiting) -> bool {
        if desk.can_never_hold(waiting) {
            return false;
        }
        let job = JobId(waiting.key.row);
        let (count, length) = (desk.view.jobs.node_count(job), waiting.length.max(TICK));
        let microwatts = desk.need(waiting, self.most).microwatts;
        let last = self.last.entry((cells.number(job), count, microwatts, length)).or_insert(desk.view.now);
        if *last == SimTime::NEVER {
            return false;
        }
        let wish = Wish { also: self.watts.map(|thing| (thing, microwatts)), ..cells.wish(job, count) };
        let found = self.profile.earliest(*last, length, &wish);
        *last = found.as_ref().map_or(SimTime::NEVER, |(at, _)| *at);
        if let Some((at, split)) = &found {
            self.profile.reserve(*at, length, split);
        }
        found.is_some()
    }

    /// The first job at or after the candidate that may fit now: only such are passed over that do not.
    fn next(desk: &Desk<'_>, cells: &Cells, queue: &FitList, course: &Course) -> Option<Place> {
        let free = desk.free_parts();
        let (mut refused, mut others) = (ByKind::NONE, 0);
        for (number, room) in cells.rooms(free).enumerate() {
            match Kind::numbered(number) {
                Kind::OTHER => others = others.max(room),
                kind => refused.lower(kind, room + 1),
            }
        }
        refused.lower(Kind::OTHER, others + 1);
        let room = Room::of(desk.free_units()).within(desk.left());
        queue.first_fit(course.candidate, Room { refused, ..room })
    }

    /// Plans the jobs ahead of a place, as far as there may be reservations.
    fn reserve_before(
        &mut self,
        desk: &mut Desk<'_>,
        cells: &Cells,
        (queue, course): (&FitList, &mut Course),
        found: Place,
    ) -> Result<()> {
        while course.place < found && course.held < self.depth {
            desk.examine()?;
            if let Some(waiting) = queue.get(course.place) {
                course.held += usize::from(self.reserve(desk, cells, waiting));
            }
            course.place = queue.after(course.place);
        }
        Ok(())
    }

    fn planned(&mut self, desk: &mut Desk<'_>, shares: &Shares, queue: &mut FitList) -> Result<()> {
        let cells = shares.cells();
        let front = queue.settled(Place::FRONT);
        let mut course = Course { place: front, candidate: front, held: 0 };
        let mut is_reset = false;
        while let Some(found) = Self::next(desk, cells, queue, &course) {
            desk.examine()?;
            if !std::mem::replace(&mut is_reset, true) {
                self.reset(desk, shares);
            }
            self.reserve_before(desk, cells, (queue, &mut course), found)?;
            let Some(&waiting) = queue.get(found) else { break };
            let all_planned = course.place == found;
            course.candidate = if let Some((offer, split)) = self.offer(desk, cells, &waiting)? {
                self.profile.reserve(desk.view.now, waiting.length, &split);
                start(desk, queue, found, offer)?
            } else {
                if course.held < self.depth {
                    course.held += usize::from(self.reserve(desk, cells, &waiting));
                }
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
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let Some(shares) = desk.view.shares else { return Ok(()) };
        if start_heads(desk, queue)? { self.planned(desk, shares, queue) } else { Ok(()) }
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(self.clone()))
    }
}
