//! Later jobs start if they delay none of the first `depth` that cannot: depth 1 is EASY, unbounded is conservative.
//!
//! Every pass discards all reservations and plans anew, in policy order (engine rule 3). Reservations count nodes, they
//! never name them; which nodes a job gets is `placement`'s business. Under a budget that may bind they count watts too.

use crate::algo::sorted_blocks::Place;
use crate::error::Result;
use crate::policy::backfill::plan::Plan;
use crate::policy::backfill::profile::Profile;
use crate::policy::backfill::shadow::ShadowTime;
use crate::policy::backfill::{Backfill, start_heads};
use crate::policy::pass::Pass;

/// Backfilling under reservations.
#[derive(Clone, Debug)]
pub struct Reservations {
    depth: usize,
    by_profile: bool,
    plan: Plan,
}

impl Reservations {
    /// Holds reservations for the first `depth` blocked jobs; `usize::MAX` for all of them.
    #[must_use]
    pub fn new(depth: usize) -> Self {
        Self { depth, by_profile: depth != 1, plan: Plan::Profile(Profile::default()) }
    }

    /// The same with a profile of the future even for one reservation: the slow twin of the textbook's short cut.
    #[must_use]
    pub fn by_profile(depth: usize) -> Self {
        Self { by_profile: true, ..Self::new(depth) }
    }

    /// Makes the plan of this pass.
    fn reset(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        // The short cut adds up what releases say; where they do not say all it cannot.
        let by_profile = self.by_profile || !pass.is_claimed();
        match (&self.plan, by_profile) {
            (Plan::Profile(_), true) | (Plan::Shadow(_), false) => {}
            (Plan::Shadow(_), true) => self.plan = Plan::Profile(Profile::default()),
            (Plan::Profile(_), false) => self.plan = Plan::Shadow(ShadowTime::default()),
        }
        self.plan.reset(pass)
    }

    /// Each blocked job is planned at its earliest fit; later ones start beside the promises.
    ///
    /// A job that does not fit now beside the reservations made so far will not fit beside more of them. So only a job
    /// that still does makes it worth while to plan those ahead of it, and the plan ends with the last of these.
    fn planned(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        self.reset(pass)?;
        let (mut place, mut candidate, mut held) = (Place::FRONT, Place::FRONT, 0);
        while let Some(found) = self.next_candidate(pass, candidate)? {
            candidate = found;
            if place != candidate && held < self.depth {
                self.reserve(pass, place)?;
                (place, held) = (pass.queue.after(place), held + 1);
                continue;
            }
            let Some(waiting) = pass.queue.get(candidate).copied() else { break };
            if pass.fits(&waiting)? {
                self.plan.start(pass, &waiting)?;
                candidate = pass.start(candidate)?;
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
    fn next_candidate(&mut self, pass: &mut Pass<'_>, from: Place) -> Result<Option<Place>> {
        let mut place = from;
        while let Some(found) = self.plan.next(pass, place) {
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
        self.planned(pass)
    }
}
