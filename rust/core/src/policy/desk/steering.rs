//! Access to a pass that agents need and backfills do not.

use crate::policy::analyzer::Ask;
use crate::policy::desk::Desk;

impl<'a> Desk<'a> {
    /// Questions that parts may ask.
    #[must_use]
    pub fn ask(&self) -> Ask<'a> {
        self.ask
    }

    /// Makes the placement follow the rule of this number from now on, if it has several.
    pub fn follow(&mut self, rule: usize) {
        self.placement.follow(rule);
    }
}
