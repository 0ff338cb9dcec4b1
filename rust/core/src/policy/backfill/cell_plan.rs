//! Promises on heterogeneous nodes: numbers of nodes of each cell, licences, and watts where a budget may bind.
//!
//! A job of n nodes fits where its cells together have n free for all its length; it takes the plainest of them first, and
//! this split is what a reservation holds and what it starts with. Where a budget may bind, watts are one more column of
//! the profile: a reservation holds the mean over the nodes that can serve the job, a start what it takes where it goes.

use crate::algo::fit_list::{FitList, Place, Room, Waiting};
use crate::algo::horizon::{CellProfile, NodesByCell, Wish};
use crate::algo::staircase::Staircase;
use crate::cluster::shares::Shares;
use crate::error::Result;
use crate::platform::cells::Cells;
use crate::policy::backfill::cell_base::CellBase;
use crate::policy::backfill::named::bounds::{Bounds, Like};
use crate::policy::backfill::promises::Promises;
use crate::policy::desk::{Desk, Offer};
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// A plan of the future by cell, made again in every pass.
#[derive(Clone, Debug, Default)]
pub(super) struct CellPlan {
    pub(super) profile: CellProfile,
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
    /// Use of cells, licences and watts by the job of the last offer.
    offered: NodesByCell,
    /// Scratch memory for the least capacity over a span.
    free: Vec<i64>,
}

impl CellPlan {
    /// Forgets all promises: running jobs, and those started in this pass, end as planned.
    pub(super) fn reset_by(&mut self, desk: &mut Desk<'_>, shares: &Shares) -> Result<()> {
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
        self.base.copy(desk.view, shares, &self.free, &mut self.profile);
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
    fn split_now(&mut self, desk: &Desk<'_>, cells: &Cells, waiting: &Waiting) -> Option<NodesByCell> {
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
                self.refused[number].refuse(room + 1, at - now + SimDuration::TICK);
                return None;
            }
        }
        wish.split(&self.free)
    }

    /// Offer to start a job now, if it delays no promise.
    pub(super) fn offer_by(&mut self, desk: &mut Desk<'_>, cells: &Cells, waiting: &Waiting) -> Result<Option<Offer>> {
        let now = desk.view.now;
        if !self.has_watts(now, waiting.length, waiting.watts) {
            return Ok(None);
        }
        let Some(split) = self.split_now(desk, cells, waiting) else { return Ok(None) };
        let Some(mut offer) = desk.offer_in(waiting, &split)? else { return Ok(None) };
        self.offered = desk.offered(&offer);
        if let Some(thing) = self.watts {
            let microwatts = desk.claim(&mut offer)?.microwatts;
            if !self.has_watts(now, waiting.length, microwatts) || !self.has_cells(now, waiting.length) {
                desk.decline(offer);
                return Ok(None);
            }
            self.offered.push((thing, microwatts));
        }
        Ok(Some(offer))
    }

    /// Takes the job of the last offer out of what is free: it starts now.
    pub(super) fn start_now(&mut self, desk: &Desk<'_>, waiting: &Waiting) {
        self.profile.reserve(desk.view.now, waiting.length, &self.offered);
    }

    /// True if the microwatts are free throughout, where they count.
    fn has_watts(&self, now: SimTime, length: SimDuration, microwatts: i64) -> bool {
        let is_short = |thing| !self.profile.holds(now, length, (thing, microwatts));
        length == SimDuration::ZERO || !self.watts.is_some_and(is_short)
    }

    /// True if the offer's split is free throughout: the cells may differ from those that were asked for.
    fn has_cells(&self, now: SimTime, length: SimDuration) -> bool {
        length == SimDuration::ZERO || self.offered.iter().all(|&part| self.profile.holds(now, length, part))
    }

    /// Promises a waiting job the earliest start there is; true if it then holds a reservation.
    pub(super) fn reserve_by(&mut self, desk: &mut Desk<'_>, cells: &Cells, waiting: &Waiting) -> bool {
        if desk.can_never_hold(waiting) {
            return false;
        }
        let job = JobId(waiting.key.row);
        let (count, length) = (desk.view.jobs.node_count(job), waiting.length.max(SimDuration::TICK));
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
    pub(super) fn room(desk: &Desk<'_>, cells: &Cells) -> Room {
        let refused = cells.refused(desk.free_parts());
        Room { refused, ..Room::of(desk.free_units()).within(desk.left()) }
    }
}

impl Promises for CellPlan {
    fn reset(&mut self, desk: &mut Desk<'_>) -> Result<()> {
        desk.view.shares.map_or(Ok(()), |shares| self.reset_by(desk, shares))
    }

    fn fits_now(&mut self, desk: &mut Desk<'_>, waiting: &Waiting, offer: &mut Option<Offer>) -> Result<bool> {
        if let Some(shares) = desk.view.shares {
            *offer = self.offer_by(desk, shares.cells(), waiting)?;
        }
        Ok(offer.is_some())
    }

    fn start(&mut self, desk: &mut Desk<'_>, waiting: &Waiting, _offer: &mut Offer) -> Result<()> {
        self.start_now(desk, waiting);
        Ok(())
    }

    fn reserve(&mut self, desk: &mut Desk<'_>, waiting: &Waiting) -> bool {
        desk.view.shares.is_some_and(|shares| self.reserve_by(desk, shares.cells(), waiting))
    }

    fn next(&self, desk: &mut Desk<'_>, queue: &FitList, from: Place) -> Option<Place> {
        queue.first_fit(from, Self::room(desk, desk.view.shares?.cells()))
    }

    fn next_that_may(&mut self, desk: &mut Desk<'_>, queue: &FitList, from: Place) -> Result<Option<Place>> {
        let Some(shares) = desk.view.shares else { return Ok(None) };
        let (mut place, room) = (from, Self::room(desk, shares.cells()));
        while let Some(found) = queue.first_fit(place, room) {
            desk.examine()?;
            let Some(waiting) = queue.get(found) else { break };
            let has_watts = self.has_watts(desk.view.now, waiting.length, waiting.watts);
            if has_watts && self.split_now(desk, shares.cells(), waiting).is_some() {
                return Ok(Some(found));
            }
            place = queue.after(found);
        }
        Ok(None)
    }
}
