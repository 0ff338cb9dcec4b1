//! What an agent needs of a pass that no backfill does.

use crate::policy::analyzer::Ask;
use crate::policy::desk::Desk;

impl<'a> Desk<'a> {
    /// What parts may ask.
    #[must_use]
    pub fn ask(&self) -> Ask<'a> {
        self.ask
    }

    /// From now on jobs are placed by the rule of this number, where there are several.
    pub fn follow(&mut self, rule: usize) {
        self.placement.follow(rule);
    }
}
