//! Reservations on a machine whose nodes differ: what is promised is so many nodes of each cell, and licences.
//!
//! The rule is that of [`reservations`](super::reservations), with cells in place of one number. A job of n nodes fits
//! where its cells together have n free for all its length; it takes the plainest of them first, and this split is what a
//! reservation holds and what it starts with. Every pass plans anew.

use std::collections::BTreeMap;

use crate::algo::fit_list::{ByKind, FitList, Kind, Room, Waiting};
use crate::algo::horizon::{CellProfile, Split};
use crate::algo::sorted_blocks::Place;
use crate::algo::staircase::Staircase;
use crate::error::Result;
use crate::policy::backfill::plan::TICK;
use crate::policy::backfill::{Backfill, start, start_heads};
use crate::policy::cells::Cells;
use crate::policy::desk::Desk;
use crate::policy::shares::Shares;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Backfilling under reservations of nodes by cell.
#[derive(Clone, Debug)]
pub struct ByCell {
    depth: usize,
    profile: CellProfile,
    /// By want: needs that do not fit now. In a pass there is only ever less.
    refused: Vec<Staircase>,
    /// Where a want, a count and a length were promised last: those alike fit no earlier.
    last: BTreeMap<(usize, u32, SimDuration), SimTime>,
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
        let (profile, refused, last) = (CellProfile::default(), Vec::new(), BTreeMap::new());
        Self { depth, profile, refused, last, free: Vec::new() }
    }

    /// Forgets all promises: what runs, and what started in this pass, ends as planned.
    fn reset(&mut self, desk: &Desk<'_>, shares: &Shares) {
        self.refused.clear();
        self.refused.resize(shares.cells().wants(), Staircase::default());
        self.last.clear();
        let started = desk.started();
        let mut ends: Vec<_> = started.iter().map(|(at, split)| (*at, split)).collect();
        ends.sort_by_key(|end| end.0);
        let mut ends = ends.into_iter().peekable();
        let mut running = shares.releases().peekable();
        let merged = std::iter::from_fn(|| {
            let next = running.peek().map_or(SimTime::NEVER, |release| release.0);
            ends.next_if(|end| end.0 <= next).or_else(|| running.next())
        });
        self.profile.reset(desk.view.now, desk.free_parts(), merged);
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

    /// Promises a waiting job the earliest start there is, if there is one.
    fn reserve(&mut self, desk: &Desk<'_>, cells: &Cells, waiting: &Waiting) {
        let job = JobId(waiting.key.row);
        let (count, length) = (desk.view.jobs.node_count(job), waiting.length.max(TICK));
        let last = self.last.entry((cells.number(job), count, length)).or_insert(desk.view.now);
        if *last == SimTime::NEVER {
            return;
        }
        match self.profile.earliest(*last, length, &cells.wish(job, count)) {
            Some((at, split)) => {
                *last = at;
                self.profile.reserve(at, length, &split);
            }
            None => *last = SimTime::NEVER,
        }
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
        queue.first_fit(course.candidate, Room { refused, ..Room::of(desk.free_units()) })
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
                self.reserve(desk, cells, waiting);
                course.held += 1;
            }
            course.place = queue.after(course.place);
        }
        Ok(())
    }

    fn planned(&mut self, desk: &mut Desk<'_>, shares: &Shares, queue: &mut FitList) -> Result<()> {
        let cells = shares.cells();
        let mut course = Course { place: Place::FRONT, candidate: Place::FRONT, held: 0 };
        let mut is_reset = false;
        while let Some(found) = Self::next(desk, cells, queue, &course) {
            desk.examine()?;
            if !std::mem::replace(&mut is_reset, true) {
                self.reset(desk, shares);
            }
            self.reserve_before(desk, cells, (queue, &mut course), found)?;
            let Some(&waiting) = queue.get(found) else { break };
            let all_planned = course.place == found;
            let split = self.fits_now(desk, cells, &waiting);
            let offer = match &split {
                Some(split) => desk.offer_in(&waiting, split)?,
                None => None,
            };
            course.candidate = if let Some((offer, split)) = offer.zip(split) {
                self.profile.reserve(desk.view.now, waiting.length, &split);
                start(desk, queue, found, offer)?
            } else {
                if course.held < self.depth {
                    self.reserve(desk, cells, &waiting);
                    course.held += 1;
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
