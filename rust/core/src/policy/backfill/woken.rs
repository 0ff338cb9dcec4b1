//! Backfills where nodes sleep under a budget: jobs are planned with the watts to wake their nodes (page on sleep under
//! a budget, rule 7).

use crate::algo::fit_list::{FitList, Place, Room, Waiting};
use crate::cluster::shares::Shares;
use crate::error::Result;
use crate::policy::backfill::held::Held;
use crate::policy::backfill::{Backfill, start};
use crate::policy::desk::{Desk, Offer};
use crate::policy::sleep::wake_plan::WakePlan;
use crate::workload::JobId;

/// Jobs start alongside the planned ones: the first `depth` that cannot start now, and all for which nodes are being
/// woken. Where queues have several sets of nodes, the first of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Woken {
    depth: usize,
    is_strict: bool,
}

impl Woken {
    /// Holds reservations for the first `depth` blocked jobs.
    #[must_use]
    pub(super) fn reserving(depth: usize) -> Self {
        Self { depth, is_strict: false }
    }

    /// Starts no job before the one ahead of it.
    #[must_use]
    pub(super) fn in_order() -> Self {
        Self { depth: 0, is_strict: true }
    }

    /// Offer to start a job now alongside what is planned, if it fits.
    fn offer(desk: &mut Desk<'_>, plan: &mut WakePlan, waiting: &Waiting) -> Result<Option<Offer>> {
        let Some(mut offer) = Self::made(desk, plan, waiting)? else { return Ok(None) };
        let claim = desk.claim(&mut offer)?;
        let is_divided = desk.view.shares.is_some();
        let mut split = if is_divided { desk.offered(&offer) } else { vec![(0, claim.units)] };
        split.push((plan.watts(), claim.microwatts));
        if plan.lasts(&split, waiting.length) {
            plan.start(&split, waiting.length);
            return Ok(Some(offer));
        }
        desk.decline(offer);
        Ok(None)
    }

    /// Offer to start a job on the nodes that it would have now, by cell where these are told apart.
    fn made(desk: &mut Desk<'_>, plan: &WakePlan, waiting: &Waiting) -> Result<Option<Offer>> {
        let Some(cells) = desk.view.shares.map(Shares::cells) else { return desk.offer(waiting) };
        let job = JobId(waiting.key.row);
        let wish = cells.wish(job, desk.view.jobs.node_count(job));
        match plan.split_now(&wish, desk.free_parts(), waiting.length) {
            Some(split) => desk.offer_in(waiting, &split),
            None => Ok(None),
        }
    }

    /// Plans a job that does not start now, if it may keep what it takes; true if that is a reservation.
    fn keep(desk: &mut Desk<'_>, plan: &mut WakePlan, waiting: &Waiting, may_reserve: bool) -> bool {
        let need = desk.needed(waiting);
        let Some(fit) = plan.fit(&need, desk.view.now) else { return false };
        let is_woken_for = plan.is_woken_for(&need, &fit);
        if is_woken_for || may_reserve {
            plan.take(&need, &fit);
        }
        may_reserve && !is_woken_for
    }
}

/// Room for jobs that may start now or have nodes woken for them.
fn room(desk: &mut Desk<'_>, plan: &WakePlan) -> Room {
    let (now, soon) = (desk.whole_room(), plan.most_soon());
    let (things, watts) = soon.split_at(usize::from(plan.watts()));
    let watts = now.watts.max(watts.iter().sum());
    let Some(cells) = desk.view.shares.map(Shares::cells) else {
        return Room { watts, ..Room::of(now.units.max(things[0])) };
    };
    let most: Vec<_> = things.iter().zip(desk.free_parts()).map(|(&soon, &now)| soon.max(now)).collect();
    let units = most.iter().take(cells.sets().len()).sum();
    Room { watts, refused: cells.refused(&most), ..Room::of(units) }
}

impl Backfill for Woken {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let (mut plan, mut place, mut held) = (desk.wake_plan(), Place::FRONT, Held::of(desk, self.depth));
        let mut open: Vec<_> = (0..desk.view.lanes()).map(|lane| !desk.closed().contains(&lane)).collect();
        while desk.free_units() > 0 && open.contains(&true) {
            let is_any = self.is_strict || !held.are_all_full();
            let next = if is_any { Some(place) } else { queue.first_fit(place, room(desk, &plan)) };
            let Some((next, &waiting)) = next.and_then(|next| Some((next, queue.get(next)?))) else { break };
            desk.examine()?;
            let lane = desk.lane(&waiting);
            place = queue.after(next);
            if !open[lane] {
                continue;
            }
            if let Some(offer) = Self::offer(desk, &mut plan, &waiting)? {
                place = start(desk, queue, next, offer)?;
                continue;
            }
            open[lane] &= !self.is_strict;
            if open.contains(&true) && Self::keep(desk, &mut plan, &waiting, !held.is_full(lane)) {
                held.add(lane);
            }
        }
        Ok(())
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(*self))
    }

    fn is_strict(&self) -> bool {
        self.is_strict
    }

    fn reserves(&self) -> usize {
        if self.is_strict { 1 } else { self.depth }
    }
}
