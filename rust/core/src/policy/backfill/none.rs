//! No backfilling: no job overtakes, and the head of the queue blocks all jobs behind it. Where queues have several sets
//! of nodes it blocks those of its own.

use crate::algo::fit_list::{FitList, Place};
use crate::error::Result;
use crate::policy::backfill::woken::Woken;
use crate::policy::backfill::{Backfill, start, start_heads};
use crate::policy::desk::Desk;

/// Strict order.
#[derive(Clone, Copy, Debug)]
pub struct NoBackfill;

impl Backfill for NoBackfill {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        if desk.view.lanes() > 1 { start_in_lanes(desk, queue) } else { start_heads(desk, queue).map(|_| ()) }
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(*self))
    }

    fn beside_sleep(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(Woken::in_order()))
    }

    fn is_strict(&self) -> bool {
        true
    }
}

/// Starts jobs of each lane from its front while they fit.
fn start_in_lanes(desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
    let mut open: Vec<_> = (0..desk.view.lanes()).map(|lane| !desk.closed().contains(&lane)).collect();
    let mut place = queue.settled(Place::FRONT);
    while open.contains(&true)
        && let Some(&waiting) = queue.get(place)
    {
        desk.examine()?;
        let is_open = &mut open[desk.lane(&waiting)];
        let offer = if *is_open { desk.offer(&waiting)? } else { None };
        *is_open &= offer.is_some();
        place = match offer {
            Some(offer) => start(desk, queue, place, offer)?,
            None => queue.after(place),
        };
    }
    Ok(())
}
