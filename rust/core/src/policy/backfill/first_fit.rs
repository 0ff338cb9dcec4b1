//! Whoever fits starts, in policy order, whatever that does to those ahead.

use crate::algo::sorted_blocks::Place;
use crate::error::Result;
use crate::policy::backfill::Backfill;
use crate::policy::pass::Pass;

/// Greedy first fit: large jobs may wait for ever.
#[derive(Clone, Copy, Debug)]
pub struct FirstFit;

impl Backfill for FirstFit {
    fn select(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        let mut place = Place::FRONT;
        while let Some(found) = pass.queue.first_fit(place, pass.whole_room()) {
            pass.examine()?;
            let Some(waiting) = pass.queue.get(found).copied() else { break };
            if pass.fits(&waiting)? {
                place = pass.start(found)?;
            } else {
                place = pass.queue.after(found);
            }
        }
        Ok(())
    }
}
