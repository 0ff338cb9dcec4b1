//! Promises to waiting jobs, which no job that starts in the pass may delay: counted in nodes where these are alike, and
//! by cell where they differ. A backfill over them is an order of calls, and one rule on either machine.

use std::fmt;

use crate::algo::fit_list::{FitList, Place, Waiting};
use crate::error::Result;
use crate::policy::backfill::plan::Plan;
use crate::policy::desk::{Desk, Offer};

/// Promises of a pass, and what they leave to the jobs that hold none.
pub(super) trait Promises: Clone + fmt::Debug + Send + Sync + 'static {
    /// Forgets all promises: running jobs, and those started in this pass, end as planned.
    fn reset(&mut self, desk: &mut Desk<'_>) -> Result<()>;

    /// True if a waiting job can start now without breaking the promises made so far. Where counts alone do not tell this
    /// requires an offer, which is left in `offer` if the job fits.
    fn fits_now(&mut self, desk: &mut Desk<'_>, waiting: &Waiting, offer: &mut Option<Offer>) -> Result<bool>;

    /// Takes the job of the last offer out of what is free: it starts now.
    fn start(&mut self, desk: &mut Desk<'_>, waiting: &Waiting, offer: &mut Offer) -> Result<()>;

    /// Promises a waiting job the earliest start there is; true if it then holds a reservation.
    fn reserve(&mut self, desk: &mut Desk<'_>, waiting: &Waiting) -> bool;

    /// First job at or after `from` that may fit now. It passes over only jobs that certainly do not.
    fn next(&self, desk: &mut Desk<'_>, queue: &FitList, from: Place) -> Option<Place>;

    /// The same, as its least claim and the promises say.
    fn next_that_may(&mut self, desk: &mut Desk<'_>, queue: &FitList, from: Place) -> Result<Option<Place>>;

    /// Offer to start a waiting job now, if that delays none of the promises made so far.
    fn offer(&mut self, desk: &mut Desk<'_>, waiting: &Waiting) -> Result<Option<Offer>> {
        let mut offer = None;
        if !self.fits_now(desk, waiting, &mut offer)? {
            return Ok(None);
        }
        if offer.is_some() { Ok(offer) } else { desk.offer(waiting) }
    }
}

impl Promises for Plan {
    fn reset(&mut self, desk: &mut Desk<'_>) -> Result<()> {
        self.reset(desk)
    }

    fn fits_now(&mut self, desk: &mut Desk<'_>, waiting: &Waiting, offer: &mut Option<Offer>) -> Result<bool> {
        self.fits_now(desk, waiting, offer)
    }

    fn start(&mut self, desk: &mut Desk<'_>, waiting: &Waiting, offer: &mut Offer) -> Result<()> {
        self.start(desk, waiting, offer)
    }

    fn reserve(&mut self, desk: &mut Desk<'_>, waiting: &Waiting) -> bool {
        self.reserve(desk, waiting, 1) > 0
    }

    fn next(&self, desk: &mut Desk<'_>, queue: &FitList, from: Place) -> Option<Place> {
        self.next(desk, queue, from)
    }

    fn next_that_may(&mut self, desk: &mut Desk<'_>, queue: &FitList, from: Place) -> Result<Option<Place>> {
        self.next_that_may(desk, queue, from)
    }
}
