//! Later jobs start if they delay none of the first `depth` that cannot: depth 1 is EASY, unbounded is conservative.
//!
//! Every pass discards all reservations and plans anew, in policy order (engine rule 3). Reservations count nodes, they
//! never name them; which nodes a job gets is `placement`'s business. Under a budget that may bind they count watts too.

use crate::algo::fit_list::Room;
use crate::algo::sorted_blocks::Place;
use crate::error::Result;
use crate::policy::backfill::plan::Plan;
use crate::policy::backfill::{Backfill, start_heads};
use crate::policy::pass::Pass;
use crate::units::{SimDuration, SimTime};

/// Backfilling under reservations.
#[derive(Clone, Debug)]
pub struct Reservations {
    depth: usize,
    by_plan: bool,
    plan: Plan,
}

impl Reservations {
    /// Holds reservations for the first `depth` blocked jobs; `usize::MAX` for all of them.
    #[must_use]
    pub fn new(depth: usize) -> Self {
        Self { depth, by_plan: depth != 1, plan: Plan::default() }
    }

    /// The same with a plan of the future even for one reservation: the slow twin of the textbook's short cut.
    #[must_use]
    pub fn by_plan(depth: usize) -> Self {
        Self { by_plan: true, ..Self::new(depth) }
    }

    /// One reservation needs no profile of the future: the head's shadow time and what is left over then say it all
    /// (Mu'alem & Feitelson 2001).
    fn easy(pass: &mut Pass<'_>, head: Place) -> Result<()> {
        let Some(waiting) = pass.queue.get(head).copied() else { return Ok(()) };
        let now = pass.view.now;
        let shadow = pass.view.releases.shadow(now, pass.free_units(), waiting.units, pass.added());
        let slack = if shadow.at == SimTime::NEVER { SimDuration::FOREVER } else { shadow.at - now };
        let mut room = Room { extra: shadow.extra, slack, ..pass.whole_room() };
        let mut place = pass.queue.after(head);
        while let Some(found) = pass.queue.first_fit(place, room) {
            pass.examine()?;
            let Some(candidate) = pass.queue.get(found).copied() else { break };
            if !pass.fits(&candidate)? {
                place = pass.queue.after(found);
                continue;
            }
            pass.start(found)?;
            place = found;
            room.units = pass.free_units();
            if candidate.length > slack {
                room.extra -= candidate.units;
            }
        }
        Ok(())
    }

    /// Any number of reservations: each blocked job is planned at its earliest fit.
    ///
    /// A job that does not fit now beside the reservations made so far will not fit beside more of them. So only a job
    /// that still does makes it worth while to plan those ahead of it, and the plan ends with the last of these.
    fn planned(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        self.plan.reset(pass);
        let (mut place, mut candidate, mut held) = (Place::FRONT, Place::FRONT, 0);
        while let Some(found) = self.next_candidate(pass, candidate)? {
            candidate = found;
            if place != candidate && held < self.depth {
                self.reserve(pass, place)?;
                (place, held) = (pass.queue.after(place), held + 1);
                continue;
            }
            if place != candidate {
                pass.block();
            }
            let Some(waiting) = pass.queue.get(candidate).copied() else { break };
            if pass.fits(&waiting)? {
                self.plan.start(pass, &waiting);
                pass.start(candidate)?;
            } else {
                if held < self.depth {
                    self.reserve(pass, candidate)?;
                    held += 1;
                }
                candidate = pass.queue.after(candidate);
            }
            place = candidate;
        }
        Ok(())
    }

    /// The first job at or after `from` that fits now beside the reservations made so far.
    fn next_candidate(&self, pass: &mut Pass<'_>, from: Place) -> Result<Option<Place>> {
        let mut place = from;
        while let Some(found) = pass.queue.first_fit(place, pass.whole_room()) {
            pass.examine()?;
            let Some(waiting) = pass.queue.get(found).copied() else { break };
            if self.plan.fits_now(pass, &waiting)? {
                return Ok(Some(found));
            }
            place = pass.queue.after(found);
        }
        Ok(None)
    }

    fn reserve(&mut self, pass: &mut Pass<'_>, place: Place) -> Result<()> {
        pass.block();
        pass.examine()?;
        if let Some(waiting) = pass.queue.get(place).copied() {
            self.plan.reserve(pass, &waiting);
        }
        Ok(())
    }
}

impl Backfill for Reservations {
    fn select(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        if !start_heads(pass)? || pass.free_units() == 0 {
            return Ok(());
        }
        // The short cut counts nodes alone; under a budget that may bind, watts must be planned beside them.
        if self.by_plan || pass.room().is_some() {
            return self.planned(pass);
        }
        pass.block();
        Self::easy(pass, Place::FRONT)
    }
}
