//! No job overtakes: the head of the queue blocks all that come after it.

use crate::error::Result;
use crate::policy::backfill::{Backfill, start_heads};
use crate::policy::pass::Pass;

/// Strict order.
#[derive(Clone, Copy, Debug)]
pub struct NoBackfill;

impl Backfill for NoBackfill {
    fn select(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        start_heads(pass).map(|_| ())
    }
}
