//! Backfilling under reservations: a job starts early if it delays none of the first `depth` blocked jobs. Depth 1 is
//! EASY, unbounded is conservative.
//!
//! Every pass discards all reservations and plans again, in policy order (engine rule 3). Reservations count nodes and
//! never name them; which nodes a job gets is up to the placement. Under a budget that may bind they count watts, too.

use crate::algo::fit_list::{FitList, Place, Waiting};
use crate::algo::partial_plan::PartialPlan;
use crate::algo::releases::Claim;
use crate::error::Result;
use crate::policy::backfill::by_cell::ByCell;
use crate::policy::backfill::course::Course;
use crate::policy::backfill::kept::Kept;
use crate::policy::backfill::plan::Plan;
use crate::policy::backfill::standing::StandingPlan;
use crate::policy::backfill::woken::Woken;
use crate::policy::backfill::worth::Worth;
use crate::policy::backfill::{Backfill, start, start_heads};
use crate::policy::desk::{Desk, Offer};
use crate::policy::order::{Changes, Order};
use crate::units::SimDuration;
use crate::workload::JobId;

/// Backfilling under reservations.
#[derive(Clone, Debug)]
pub struct Reservations {
    depth: usize,
    /// True if jobs are planned only where their promises may decide which jobs start now.
    puts_off: bool,
    plan: Plan,
    /// The plan of the last pass, where it may be kept.
    kept: Option<Kept>,
    /// The plan of a pass after which none is kept.
    partial: PartialPlan,
    /// The same, if the next pass may go on with it.
    standing: StandingPlan,
    worth: Worth,
    /// Jobs that are promised their starts together.
    alike: Vec<Waiting>,
}

impl Reservations {
    /// Holds reservations for the first `depth` blocked jobs; `usize::MAX` for all of them.
    #[must_use]
    pub fn new(depth: usize) -> Self {
        let kept = (depth == usize::MAX).then(Kept::default);
        let plan = if depth == 1 { Plan::of_one() } else { Plan::of_many() };
        let (partial, standing, alike) = (PartialPlan::default(), StandingPlan::default(), Vec::new());
        Self { depth, puts_off: true, plan, kept, partial, standing, worth: Worth::default(), alike }
    }

    /// Uses a profile of the future even for one reservation: the slow twin of the textbook's short cut.
    #[must_use]
    pub fn by_profile(depth: usize) -> Self {
        Self { plan: Plan::of_many(), ..Self::new(depth) }
    }

    /// Makes a new and complete plan in every pass: the slow twin of a plan that is kept, and made no longer than
    /// necessary.
    #[must_use]
    pub fn planning_anew(depth: usize) -> Self {
        Self { kept: None, puts_off: false, ..Self::by_profile(depth) }
    }

    /// Makes the plan of this pass.
    fn reset(&mut self, desk: &mut Desk<'_>) -> Result<()> {
        self.plan.reset(desk)?;
        if let Some(kept) = &mut self.kept {
            kept.begin(desk);
            if kept.is_whole() {
                self.plan.watch_margin(desk);
            }
        }
        Ok(())
    }

    /// True if this pass makes a partial plan: one that is kept covers all jobs up to the last that it plans.
    fn plans_in_part(&self, desk: &Desk<'_>, queue: &FitList) -> bool {
        let is_in_vain = self.kept.is_none() || !desk.may_keep_plans() || self.worth.pauses();
        is_in_vain && self.may_plan_in_part(desk, queue)
    }

    /// True if a partial plan would do.
    fn may_plan_in_part(&self, desk: &Desk<'_>, queue: &FitList) -> bool {
        // A job of length zero may start where others cannot.
        self.puts_off
            && !self.plan.may_be_short()
            && desk.only_counts()
            && !desk.counts_watts()
            && queue.shortest() > SimDuration::ZERO
    }

    /// Begins a partial plan.
    fn begin_in_part(&mut self, desk: &mut Desk<'_>) -> Result<()> {
        self.plan.reset(desk)?;
        self.partial.begin(self.depth);
        self.partial.ask(desk.view.now.saturating_add(SimDuration::TICK));
        Ok(())
    }

    /// Goes on with the partial plan of the last pass, if it stands; false if it does not.
    fn goes_on_in_part(&mut self, desk: &mut Desk<'_>, queue: &FitList) -> Result<bool> {
        let profile = &self.plan.profile;
        let Some(from) = self.standing.goes_on_from(desk, queue, profile.changes_at()) else { return Ok(false) };
        let stands = self.may_plan_in_part(desk, queue) && profile.free_now().units == desk.free()?.units;
        if stands {
            self.plan.profile.advance(desk.view.now);
            self.partial.ask_behind(from, desk.view.now.saturating_add(SimDuration::TICK));
        }
        Ok(stands)
    }

    /// Starts the jobs that would start now in a complete plan, and plans only those that may be in their way.
    fn planned_in_part(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let partial = &mut self.partial;
        let Some(mut free) = self.plan.profile.counts() else { return Ok(()) };
        let mut stands = self.kept.is_some() && desk.may_keep_plans();
        while desk.free_units() > 0
            && let Some(next) = partial.next(&mut free, queue)
        {
            desk.examine()?;
            // A run past its planned end counts as free in the plan, but is not.
            let fits = next.waiting.units <= desk.free_units();
            if let Some(offer) = if fits { desk.offer(&next.waiting)? } else { None } {
                partial.take(&mut free, &next);
                start(desk, queue, next.place, offer)?;
            } else {
                partial.put_aside(&mut free, &next);
                stands = false;
            }
        }
        if stands {
            self.standing.leave(desk, queue);
        }
        Ok(())
    }

    /// Starts the jobs that the plan of the last pass has promised for now, if it still holds; false if it does not.
    fn resume(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<bool> {
        let Some(kept) = &mut self.kept else { return Ok(false) };
        if !kept.holds(desk, queue) || self.plan.profile.counts_watts() != desk.counts_watts() {
            return Ok(false);
        }
        self.plan.profile.advance(desk.view.now);
        self.plan.profile.take_excess(kept.take_excess());
        let due = kept.take_due(desk, queue);
        // A new plan would begin with what is free after the heads of the queue have started.
        let mut place = Place::FRONT;
        let is_head = |waiting: &&Waiting| {
            let is_next = queue.get(place).is_some_and(|front| front.key == waiting.key);
            place = queue.after(place);
            is_next
        };
        let (heads, others) = due.split_at(due.iter().take_while(is_head).count());
        if !Self::start_due(kept, desk, queue, heads)? {
            return Ok(false);
        }
        if others.is_empty() && kept.promises_nothing() {
            Self::start_unplanned(kept, &mut self.plan, desk, queue)?;
        }
        self.plan.profile.take_excess(kept.take_excess());
        let claim = others.iter().map(|waiting| desk.mean(waiting)).sum();
        let is_right =
            self.plan.resume(desk, claim)?.is_some_and(|microwatts| kept.put_right(desk.view.now, microwatts));
        Ok(is_right && Self::start_due(kept, desk, queue, others)?)
    }

    /// Starts jobs as they were promised; false if one does not fit.
    fn start_due(kept: &mut Kept, desk: &mut Desk<'_>, queue: &mut FitList, due: &[Waiting]) -> Result<bool> {
        for waiting in due {
            desk.examine()?;
            let Some(place) = queue.place_of(waiting.key) else { return Ok(false) };
            let Some(offer) = desk.offer(waiting)? else { return Ok(false) };
            let taken = desk.mean(waiting);
            start(desk, queue, place, offer)?;
            kept.start(desk, waiting, taken);
        }
        Ok(true)
    }

    /// Starts heads of a queue in which nothing is promised.
    fn start_unplanned(kept: &mut Kept, plan: &mut Plan, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        while let Some(&head) = queue.first() {
            desk.examine()?;
            let Some(mut offer) = desk.offer(&head)? else { break };
            plan.start(desk, &head, &mut offer)?;
            let taken = desk.claim(&mut offer)?;
            start(desk, queue, Place::FRONT, offer)?;
            kept.start(desk, &head, taken);
            kept.reach(head.key);
        }
        Ok(())
    }

    /// Plans each blocked job at its earliest fit, and starts later jobs alongside the promises.
    ///
    /// A job that does not fit now alongside the reservations made so far will not fit alongside more of them. So the
    /// jobs ahead of a candidate are planned only if it still fits. Of these only those matter that may fit before the
    /// candidate would end, and those ahead of them: all others get the same promise after it has started, and are
    /// planned only once they are ahead of a job for which they matter.
    fn planned(&mut self, desk: &mut Desk<'_>, queue: &mut FitList, mut course: Course) -> Result<()> {
        while let Some(waiting) = self.next_candidate(desk, queue, &mut course)? {
            if course.place != course.candidate
                && course.held < self.depth
                && let Some(last) = self.last_to_plan(desk, queue, &mut course, &waiting)?
            {
                self.reserve_through(desk, queue, &mut course, last)?;
                continue;
            }
            let all_planned = course.place == course.candidate;
            let made = course.offer.take();
            let offer = if made.is_some() { made } else { desk.offer(&waiting)? };
            if let Some(offer) = offer {
                self.start(desk, queue, &mut course, &waiting, offer)?;
            } else {
                if course.held < self.depth {
                    course.held += self.reserve(desk, &[waiting]);
                }
                course.candidate = queue.after(course.candidate);
            }
            if all_planned {
                course.place = course.candidate;
            }
        }
        Ok(())
    }

    /// Makes a plan in which jobs from one place on may start. If it starts none, the next pass may begin behind them.
    fn planned_behind(&mut self, desk: &mut Desk<'_>, queue: &mut FitList, from: Place) -> Result<()> {
        self.reset(desk)?;
        let front = queue.front();
        let candidate = if from == Place::FRONT { front } else { queue.settled(from) };
        let course = Course { candidate, ..Course::new(front) };
        self.planned(desk, queue, course)?;
        let stands = self.plan.is_short() && desk.added().is_empty() && desk.closed().is_empty();
        self.standing.end();
        if stands && self.puts_off && desk.may_keep_plans() {
            self.standing.leave(desk, queue);
        }
        Ok(())
    }

    /// Last job that has to be planned before it is certain that the candidate can start; none if it is certain
    /// already.
    fn last_to_plan(
        &mut self,
        desk: &mut Desk<'_>,
        queue: &FitList,
        course: &mut Course,
        waiting: &Waiting,
    ) -> Result<Option<Place>> {
        if !self.puts_off || !desk.only_counts() {
            return Ok(Some(course.place));
        }
        let until = desk.view.now.saturating_add(waiting.length);
        let from = if until <= course.until { course.clear.max(course.place) } else { course.place };
        let found = self.plan.first_before(desk, queue, (from, course.candidate), until)?;
        (course.clear, course.until) = (found.unwrap_or(course.candidate), until);
        Ok(found)
    }

    /// Plans jobs up to `last`, as far as there may be reservations.
    fn reserve_through(
        &mut self,
        desk: &mut Desk<'_>,
        queue: &FitList,
        course: &mut Course,
        last: Place,
    ) -> Result<()> {
        while course.place <= last && course.held < self.depth {
            self.reserve_alike(desk, queue, course)?;
        }
        Ok(())
    }

    /// Starts the candidate and notes it in the plan.
    fn start(
        &mut self,
        desk: &mut Desk<'_>,
        queue: &mut FitList,
        course: &mut Course,
        waiting: &Waiting,
        mut offer: Offer,
    ) -> Result<()> {
        self.plan.start(desk, waiting, &mut offer)?;
        let taken = if self.kept.is_some() { desk.claim(&mut offer)? } else { Claim::default() };
        let is_next = course.place == course.candidate;
        course.candidate = start(desk, queue, course.candidate, offer)?;
        course.clear = course.candidate;
        if let Some(kept) = &mut self.kept {
            kept.start(desk, waiting, taken);
            if kept.is_whole() && !kept.promises_nothing() {
                kept.allow_drift(self.plan.margin_beside(desk, waiting));
            }
            if is_next {
                kept.reach(waiting.key);
            }
        }
        Ok(())
    }

    /// First job from the candidate on that fits now alongside the reservations made so far: the next candidate.
    fn next_candidate(&mut self, desk: &mut Desk<'_>, queue: &FitList, course: &mut Course) -> Result<Option<Waiting>> {
        if course.offer.is_some()
            && let Some(&waiting) = queue.get(course.candidate)
        {
            // Reservations were made since the offer.
            if self.plan.fits_now(desk, &waiting, &mut course.offer)? {
                return Ok(Some(waiting));
            }
            course.candidate = queue.after(course.candidate);
        }
        while let Some(found) = self.plan.next(desk, queue, course.candidate) {
            desk.examine()?;
            let Some(&waiting) = queue.get(found) else { break };
            course.candidate = found;
            if self.plan.fits_now(desk, &waiting, &mut course.offer)? {
                return Ok(Some(waiting));
            }
            course.candidate = queue.after(found);
        }
        Ok(None)
    }

    /// Promises the first unplanned job its start, and with it the jobs alike that directly follow it before the
    /// candidate.
    fn reserve_alike(&mut self, desk: &mut Desk<'_>, queue: &FitList, course: &mut Course) -> Result<()> {
        desk.examine()?;
        let Some(first) = queue.get(course.place).copied() else {
            course.place = course.candidate;
            return Ok(());
        };
        // Under a budget a job is tried before it starts, which may draw random nodes: no try may be left out.
        let most = if desk.counts_watts() { 1 } else { self.depth - course.held };
        let mut alike = std::mem::take(&mut self.alike);
        alike.clear();
        alike.push(first);
        course.place = queue.after(course.place);
        while alike.len() < most && course.place != course.candidate {
            let next = queue.get(course.place).copied();
            let Some(next) = next.filter(|next| (next.units, next.length) == (first.units, first.length)) else {
                break;
            };
            alike.push(next);
            course.place = queue.after(course.place);
        }
        course.held += self.reserve(desk, &alike);
        self.alike = alike;
        Ok(())
    }

    /// Promises jobs that are alike the earliest starts there are; returns how many hold a reservation.
    fn reserve(&mut self, desk: &mut Desk<'_>, alike: &[Waiting]) -> usize {
        let Some(first) = alike.first() else { return 0 };
        let held = self.plan.reserve(desk, first, alike.len());
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.is_whole()) {
            let need = self.plan.need(desk, first);
            kept.allow_drift(if desk.is_certain(first, need) { self.plan.take_margin(desk) } else { Some(0) });
            let mut left = alike;
            for &(start, count) in self.plan.profile.promised() {
                let (now, later) = left.split_at(count);
                kept.promise(now, start);
                left = later;
            }
        }
        held
    }
}

impl Backfill for Reservations {
    fn reserves(&self) -> usize {
        self.depth
    }

    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let is_short = self.plan.may_be_short();
        if is_short && let Some(joined) = self.standing.stays_from(desk, queue) {
            return self.planned_behind(desk, queue, joined);
        }
        let goes_on = !is_short && self.goes_on_in_part(desk, queue)?;
        self.standing.end();
        if goes_on {
            return self.planned_in_part(desk, queue);
        }
        let was_kept = self.kept.as_ref().is_some_and(Kept::is_whole);
        if self.resume(desk, queue)? {
            self.worth.lasts();
            let next = self.kept.as_ref().map_or(Place::FRONT, |kept| kept.next(queue));
            return self.planned(desk, queue, Course::new(queue.settled(next)));
        }
        if let Some(kept) = &mut self.kept {
            kept.forget();
        }
        self.worth.pass(was_kept);
        if !start_heads(desk, queue)? || desk.free_units() == 0 {
            return Ok(());
        }
        if self.plans_in_part(desk, queue) {
            self.begin_in_part(desk)?;
            return self.planned_in_part(desk, queue);
        }
        self.planned_behind(desk, queue, Place::FRONT)
    }

    fn note_left(&mut self, _job: JobId) {
        self.standing.end();
    }

    fn note_queued(&mut self, waiting: &Waiting) {
        self.standing.join(waiting.key);
    }

    fn note_sorted(&mut self, _queue: &FitList) {
        self.standing.end();
    }

    fn beside_sleep(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(Woken::reserving(self.depth)))
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(ByCell::new(self.depth)))
    }

    fn queue_in(&mut self, order: &dyn Order) {
        if order.changes() != Changes::Never {
            self.kept = None;
        }
    }
}
