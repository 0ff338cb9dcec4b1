//! Later jobs start if they delay none of the first `depth` that cannot: depth 1 is EASY, unbounded is conservative.
//!
//! Every pass discards all reservations and plans anew, in policy order (engine rule 3). Reservations count nodes, they
//! never name them; which nodes a job gets is `placement`'s business. Under a budget that may bind they count watts too.

use crate::algo::fit_list::Waiting;
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
                let count;
                (place, count) = self.reserve_alike(pass, place, candidate, self.depth - held)?;
                held += count;
                continue;
            }
            let Some(waiting) = pass.queue.get(candidate).copied() else { break };
            if pass.fits(&waiting)? {
                self.plan.start(pass, &waiting)?;
                candidate = pass.start(candidate)?;
            } else {
                if held < self.depth {
                    self.plan.reserve(pass, &waiting, 1);
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

    /// Promises the job at `place` its start, and up to `most` jobs in all before `end` that follow and are alike; returns
    /// the place after them, and how many they are.
    fn reserve_alike(&mut self, pass: &mut Pass<'_>, place: Place, end: Place, most: usize) -> Result<(Place, usize)> {
        pass.examine()?;
        let Some(first) = pass.queue.get(place).copied() else { return Ok((end, 0)) };
        // Under a budget a job is tried before it starts, which may draw random nodes: no try may be left out.
        let most = if pass.counts_watts() { 1 } else { most };
        let (mut next, mut count) = (pass.queue.after(place), 1);
        while count < most && next != end {
            let alike = |other: &Waiting| (other.units, other.length) == (first.units, first.length);
            if !pass.queue.get(next).is_some_and(alike) {
                break;
            }
            (next, count) = (pass.queue.after(next), count + 1);
        }
        self.plan.reserve(pass, &first, count);
        Ok((next, count))
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
