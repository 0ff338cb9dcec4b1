//! Backfills where nodes sleep under a budget: jobs are planned with the watts to wake their nodes (page on sleep under
//! a budget, rule 7).

use crate::algo::fit_list::{FitList, Place, Room, Waiting};
use crate::error::Result;
use crate::policy::backfill::{Backfill, start};
use crate::policy::desk::{Desk, Offer};
use crate::policy::sleep::wake_plan::WakePlan;

/// Jobs start alongside the planned ones: the first `depth` that cannot start now, and all for which nodes are being
/// woken.
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
        Self { depth: 1, is_strict: true }
    }

    /// Offer to start a job now alongside what is planned, if it fits.
    fn offer(desk: &mut Desk<'_>, plan: &mut WakePlan, waiting: &Waiting) -> Result<Option<Offer>> {
        let Some(mut offer) = desk.offer(waiting)? else { return Ok(None) };
        let claim = desk.claim(&mut offer)?;
        if plan.lasts(claim, waiting.length) {
            plan.start(claim, waiting.length);
            return Ok(Some(offer));
        }
        desk.decline(offer);
        Ok(None)
    }
}

/// Room for jobs that may start now or have nodes woken for them.
fn room(desk: &mut Desk<'_>, plan: &WakePlan) -> Room {
    let (now, soon) = (desk.whole_room(), plan.most_soon());
    let room = Room::of(now.units.max(soon.units));
    Room { watts: now.watts.max(soon.microwatts), ..room }
}

impl Backfill for Woken {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let (mut plan, mut place, mut held) = (desk.wake_plan(), Place::FRONT, 0);
        while desk.free_units() > 0 {
            let next = if held < self.depth { Some(place) } else { queue.first_fit(place, room(desk, &plan)) };
            let Some((next, &waiting)) = next.and_then(|next| Some((next, queue.get(next)?))) else { break };
            desk.examine()?;
            if let Some(offer) = Self::offer(desk, &mut plan, &waiting)? {
                place = start(desk, queue, next, offer)?;
                continue;
            }
            if self.is_strict {
                break;
            }
            let need = desk.needed(&waiting);
            if let Some(fit) = plan.fit(&need, desk.view.now) {
                let is_woken_for = plan.is_woken_for(&fit);
                if is_woken_for || held < self.depth {
                    plan.take(&need, &fit);
                    held += usize::from(!is_woken_for);
                }
            }
            place = queue.after(next);
        }
        Ok(())
    }

    fn is_strict(&self) -> bool {
        self.is_strict
    }

    fn reserves(&self) -> usize {
        self.depth
    }
}
