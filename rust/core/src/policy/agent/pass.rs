//! The agent's turn in a pass, in place of a backfill's.

use crate::algo::fit_list::FitList;
use crate::error::Result;
use crate::policy::agent::Agent;
use crate::policy::backfill::Backfill;
use crate::policy::desk::Desk;

impl Backfill for Agent {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        if let Some((row, rule)) = self.told.take() {
            self.carry_out(desk, queue, row, rule)?;
        }
        self.look(desk, queue)?;
        self.show_choice();
        Ok(())
    }

    fn agent(&mut self) -> Option<&mut Agent> {
        Some(self)
    }
}
