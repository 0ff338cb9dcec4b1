//! Offers on a machine whose nodes differ: so many nodes of each cell, chosen by the placement within it.

use crate::algo::fit_list::Waiting;
use crate::algo::horizon::Split;
use crate::error::Result;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::desk::{Desk, Offer, Terms};
use crate::policy::placement::Choice;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

impl Desk<'_> {
    /// What is free now of each cell and of each licence, beside the starts of this pass.
    #[must_use]
    pub fn free_parts(&self) -> &[i64] {
        self.draft.free_parts()
    }

    /// What the starts of this pass hold, and until when by their plans.
    #[must_use]
    pub fn started(&self) -> Vec<(SimTime, Split)> {
        self.draft.started()
    }

    /// What it takes to start a waiting job now with the nodes that are free; none if these are too few.
    pub(super) fn offer_anywhere(&mut self, waiting: &Waiting) -> Result<Option<Offer>> {
        let (job, view) = (JobId(waiting.key.row), self.view);
        let wish = view.shares.map(|shares| shares.cells().wish(job, view.jobs.node_count(job)));
        match wish.and_then(|wish| wish.split(self.draft.free_parts())) {
            Some(split) => self.offer_in(waiting, &split),
            None => Ok(None),
        }
    }

    /// What it takes to start a waiting job now with so many nodes of each cell, which are free; none if the placement
    /// refuses.
    ///
    /// # Errors
    /// If the placement fails or the host interrupts.
    pub fn offer_in(&mut self, waiting: &Waiting, split: &Split) -> Result<Option<Offer>> {
        let (ask, placement, job) = (self.ask, &mut *self.placement, JobId(waiting.key.row));
        let mark = self.draft.mark();
        let is_placed = self.draft.put_in(waiting, split, |count, free, nodes| {
            let view = View { jobs: ask.view.jobs.in_part(job, count), ..*ask.view };
            let choice = placement.choose(&Ask { view: &view, ..ask }, job, free, nodes)?;
            Ok(choice != Choice::Refused)
        })?;
        *self.is_choosy |= !is_placed;
        self.offers += 1;
        let (number, terms) = (self.offers, Terms::Placed(Watts::ZERO));
        Ok(is_placed.then_some(Offer { waiting: *waiting, number, mark, terms }))
    }
}
