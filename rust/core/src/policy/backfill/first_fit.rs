//! First fit: every job that fits starts, in policy order, regardless of the jobs ahead of it.

use crate::algo::fit_list::{FitList, Place};
use crate::error::Result;
use crate::policy::backfill::woken::Woken;
use crate::policy::backfill::{Backfill, start};
use crate::policy::desk::Desk;

/// Greedy first fit: large jobs may wait for ever.
#[derive(Clone, Copy, Debug)]
pub struct FirstFit;

impl Backfill for FirstFit {
    fn reserves(&self) -> usize {
        0
    }

    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let mut place = Place::FRONT;
        while let Some(found) = queue.first_fit(place, desk.whole_room()) {
            desk.examine()?;
            let Some(waiting) = queue.get(found) else { break };
            place = match desk.offer(waiting)? {
                Some(offer) => start(desk, queue, found, offer)?,
                None => queue.after(found),
            };
        }
        Ok(())
    }

    fn beside_sleep(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(Woken::reserving(0)))
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(*self))
    }
}
