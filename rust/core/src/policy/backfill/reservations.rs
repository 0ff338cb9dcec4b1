//! Later jobs start if they delay none of the first `depth` that cannot: depth 1 is EASY, unbounded is conservative.
//!
//! Every pass discards all reservations and plans anew, in policy order (engine rule 3). Reservations count nodes, they
//! never name them; which nodes a job gets is `placement`'s business. Under a budget that may bind they count watts too.

use crate::algo::fit_list::Waiting;
use crate::algo::sorted_blocks::Place;
use crate::error::Result;
use crate::policy::backfill::kept::Kept;
use crate::policy::backfill::plan::Plan;
use crate::policy::backfill::profile::Profile;
use crate::policy::backfill::shadow::ShadowTime;
use crate::policy::backfill::{Backfill, start_heads};
use crate::policy::order::Order;
use crate::policy::pass::Pass;

/// Backfilling under reservations.
#[derive(Clone, Debug)]
pub struct Reservations {
    depth: usize,
    plan: Plan,
    /// The plan of the last pass, where it may be kept.
    kept: Option<Kept>,
    /// Jobs that are promised their starts together.
    alike: Vec<Waiting>,
}

/// How far a pass is.
struct Course {
    /// The first job that is not planned yet.
    place: Place,
    /// From here on jobs may fit now.
    candidate: Place,
    /// How many hold a reservation.
    held: usize,
}

impl Reservations {
    /// Holds reservations for the first `depth` blocked jobs; `usize::MAX` for all of them.
    #[must_use]
    pub fn new(depth: usize) -> Self {
        let kept = (depth == usize::MAX).then(Kept::default);
        let plan = if depth == 1 { Plan::Shadow(ShadowTime::default()) } else { Plan::Profile(Profile::default()) };
        Self { depth, plan, kept, alike: Vec::new() }
    }

    /// The same with a profile of the future even for one reservation: the slow twin of the textbook's short cut.
    #[must_use]
    pub fn by_profile(depth: usize) -> Self {
        Self { plan: Plan::Profile(Profile::default()), ..Self::new(depth) }
    }

    /// The same with a new plan in every pass: the slow twin of a plan that is kept.
    #[must_use]
    pub fn planning_anew(depth: usize) -> Self {
        Self { kept: None, ..Self::new(depth) }
    }

    /// Makes the plan of this pass.
    fn reset(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        self.plan.reset(pass)?;
        if let Some(kept) = &mut self.kept {
            kept.begin(pass);
        }
        Ok(())
    }

    /// Starts what the plan of the last pass has promised for now, if it still holds; false if it does not.
    fn resume(&mut self, pass: &mut Pass<'_>) -> Result<bool> {
        let (Some(kept), Plan::Profile(profile)) = (&mut self.kept, &mut self.plan) else { return Ok(false) };
        if !kept.holds(pass) {
            return Ok(false);
        }
        let due = kept.take_due(pass);
        let free = profile.advance(pass.view.now) + due.iter().map(|waiting| waiting.units).sum::<i64>();
        if free != pass.free_units() {
            return Ok(false);
        }
        for waiting in due {
            pass.examine()?;
            let Some(place) = pass.queue.place_of(waiting.key) else { return Ok(false) };
            kept.start(pass, &waiting);
            pass.start(place)?;
        }
        Ok(true)
    }

    /// Each blocked job is planned at its earliest fit; later ones start beside the promises.
    ///
    /// A job that does not fit now beside the reservations made so far will not fit beside more of them. So only a job
    /// that still does makes it worth while to plan those ahead of it, and the plan ends with the last of these.
    fn planned(&mut self, pass: &mut Pass<'_>, from: Place) -> Result<()> {
        let mut course = Course { place: from, candidate: from, held: 0 };
        while let Some(found) = self.next_candidate(pass, course.candidate)? {
            course.candidate = found;
            if course.place != found && course.held < self.depth {
                self.reserve_alike(pass, &mut course)?;
                continue;
            }
            let Some(waiting) = pass.queue.get(found).copied() else { break };
            if pass.fits(&waiting)? {
                self.plan.start(pass, &waiting)?;
                if let Some(kept) = &mut self.kept {
                    kept.start(pass, &waiting);
                }
                course.candidate = pass.start(found)?;
            } else {
                if course.held < self.depth {
                    self.reserve(pass, &[waiting]);
                    course.held += 1;
                }
                course.candidate = pass.queue.after(found);
            }
            course.place = course.candidate;
        }
        Ok(())
    }

    /// Promises jobs that are alike the earliest starts there are.
    fn reserve(&mut self, pass: &mut Pass<'_>, alike: &[Waiting]) {
        let Some(first) = alike.first() else { return };
        self.plan.reserve(pass, first, alike.len());
        if let (Some(kept), Plan::Profile(profile)) = (&mut self.kept, &self.plan) {
            let mut left = alike;
            for &(start, count) in profile.promised() {
                let (now, later) = left.split_at(count);
                kept.promise(now, start);
                left = later;
            }
        }
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

    /// Promises the first job that is not planned its start, and with it those before the candidate that follow and are
    /// alike.
    fn reserve_alike(&mut self, pass: &mut Pass<'_>, course: &mut Course) -> Result<()> {
        pass.examine()?;
        let Some(first) = pass.queue.get(course.place).copied() else {
            course.place = course.candidate;
            return Ok(());
        };
        // Under a budget a job is tried before it starts, which may draw random nodes: no try may be left out.
        let most = if pass.counts_watts() { 1 } else { self.depth - course.held };
        let mut alike = std::mem::take(&mut self.alike);
        alike.clear();
        alike.push(first);
        course.place = pass.queue.after(course.place);
        while alike.len() < most && course.place != course.candidate {
            let next = pass.queue.get(course.place).copied();
            let Some(next) = next.filter(|next| (next.units, next.length) == (first.units, first.length)) else {
                break;
            };
            alike.push(next);
            course.place = pass.queue.after(course.place);
        }
        self.reserve(pass, &alike);
        course.held += alike.len();
        self.alike = alike;
        Ok(())
    }
}

impl Backfill for Reservations {
    fn select(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        if self.resume(pass)? {
            let next = self.kept.as_ref().map_or(Place::FRONT, |kept| kept.next(pass));
            return self.planned(pass, next);
        }
        if let Some(kept) = &mut self.kept {
            kept.forget();
        }
        if !start_heads(pass)? || pass.free_units() == 0 {
            return Ok(());
        }
        self.reset(pass)?;
        self.planned(pass, Place::FRONT)
    }

    fn queue_in(&mut self, order: &dyn Order) {
        if order.changes() {
            self.kept = None;
        }
    }
}
