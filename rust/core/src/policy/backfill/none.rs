//! No backfilling: no job overtakes, and the head of the queue blocks all jobs behind it.

use crate::algo::fit_list::FitList;
use crate::error::Result;
use crate::policy::backfill::woken::Woken;
use crate::policy::backfill::{Backfill, start_heads};
use crate::policy::desk::Desk;

/// Strict order.
#[derive(Clone, Copy, Debug)]
pub struct NoBackfill;

impl Backfill for NoBackfill {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        start_heads(desk, queue).map(|_| ())
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
