//! First fit with patience: jobs that suit the free nodes start first, and jobs that have waited too long hold
//! reservations.
//!
//! Greedy first fit keeps the machine busy but can starve large jobs. Here the jobs that have waited longer than
//! `patience` go first, the longest wait first; those of them that do not fit are planned at their earliest time, and
//! no job that starts now may delay them. Where queues have several sets of nodes, as many of each set hold reservations.

use std::collections::BTreeSet;

use crate::algo::fit_list::{FitList, Place, QueueKey, Waiting};
use crate::error::Result;
use crate::policy::backfill::Backfill;
use crate::policy::backfill::cell_plan::CellPlan;
use crate::policy::backfill::held::Held;
use crate::policy::backfill::plan::Plan;
use crate::policy::backfill::promises::Promises;
use crate::policy::desk::{Desk, Offer};
use crate::units::{SimDuration, SimTime};

/// The backfill: the `depth` longest waits beyond `patience` hold reservations.
#[must_use]
pub fn with_patience(patience: SimDuration, depth: usize, suited_first: bool) -> Box<dyn Backfill> {
    Box::new(Patience { limit: patience, depth, suited_first, plan: Plan::of_many(), reserved: BTreeSet::new() })
}

/// First fit with bounded waiting.
#[derive(Clone, Debug)]
struct Patience<P> {
    limit: SimDuration,
    depth: usize,
    suited_first: bool,
    plan: P,
    /// Jobs that hold a reservation.
    reserved: BTreeSet<QueueKey>,
}

impl<P: Promises> Patience<P> {
    /// Starts or plans the jobs that have waited long enough.
    fn serve_patient(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let mut patient = Patient::new(desk, queue, self.limit, self.depth);
        let (mut candidate, mut held) = (Place::FRONT, Held::of(desk, self.depth));
        while !held.are_all_full() {
            let Some(key) = patient.next(desk, queue) else { break };
            desk.examine()?;
            let Some(place) = queue.place_of(key) else { break };
            let Some(waiting) = queue.get(place).copied() else { break };
            let lane = desk.lane(&waiting);
            if held.is_full(lane) {
                continue;
            }
            if let Some(mut offer) = self.offer(desk, &waiting)? {
                self.note(desk, &waiting, &mut offer)?;
                desk.accept_first(offer)?;
                queue.remove_at(place);
                desk.hold_back(queue, key, true);
                candidate = Place::FRONT;
                continue;
            }
            if self.reserved.is_empty() {
                self.plan.reset(desk)?;
            }
            desk.block(&waiting);
            self.plan.reserve(desk, &waiting);
            self.reserved.insert(key);
            held.add(lane);
            // If nothing fits alongside the promises made so far, nothing will alongside more of them.
            let Some(next) = self.plan.next_that_may(desk, queue, candidate)? else { break };
            candidate = next;
        }
        Ok(())
    }

    /// Starts the jobs that fit, in policy order; if `suited`, only those that the free nodes suit.
    fn sweep(&mut self, desk: &mut Desk<'_>, queue: &mut FitList, suited: bool) -> Result<()> {
        let mut place = Place::FRONT;
        while let Some(found) = self.next(desk, queue, place) {
            desk.examine()?;
            let Some(waiting) = queue.get(found).copied() else { break };
            let offer = self.offer_if(desk, &waiting, suited)?;
            place = match offer {
                Some(mut offer) => {
                    self.note(desk, &waiting, &mut offer)?;
                    queue.remove_at(found);
                    desk.accept(offer)?;
                    // A job that was passed over in this sweep has its turn in the next.
                    desk.hold_back(queue, waiting.key, true);
                    queue.place_after(waiting.key)
                }
                None => queue.after(found),
            };
        }
        Ok(())
    }

    /// Offer to start a job that holds no reservation. If `suited`, only if the free nodes suit it.
    fn offer_if(&mut self, desk: &mut Desk<'_>, waiting: &Waiting, suited: bool) -> Result<Option<Offer>> {
        let mut offer = None;
        if self.reserved.contains(&waiting.key)
            || !(self.reserved.is_empty() || self.plan.fits_now(desk, waiting, &mut offer)?)
        {
            return Ok(None);
        }
        let is_fine = !suited || desk.suits(waiting, offer.as_ref());
        match offer {
            Some(offer) if is_fine => Ok(Some(offer)),
            Some(offer) => {
                desk.decline(offer);
                Ok(None)
            }
            None if is_fine => desk.offer(waiting),
            None => Ok(None),
        }
    }

    /// Offer to start a job now alongside the reservations.
    fn offer(&mut self, desk: &mut Desk<'_>, waiting: &Waiting) -> Result<Option<Offer>> {
        if self.reserved.is_empty() { desk.offer(waiting) } else { self.plan.offer(desk, waiting) }
    }

    /// Notes the start of an offered job in the plan, if there is one.
    fn note(&mut self, desk: &mut Desk<'_>, waiting: &Waiting, offer: &mut Offer) -> Result<()> {
        if self.reserved.is_empty() { Ok(()) } else { self.plan.start(desk, waiting, offer) }
    }

    /// The first job at or after `from` that may fit.
    fn next(&self, desk: &mut Desk<'_>, queue: &FitList, from: Place) -> Option<Place> {
        if self.reserved.is_empty() {
            queue.first_fit(from, desk.whole_room())
        } else {
            self.plan.next(desk, queue, from)
        }
    }
}

/// The jobs that have waited longer than a limit, the longest wait first.
enum Patient {
    /// Looked up one by one, for a few reservations.
    Sought(SimDuration, (SimTime, u32)),
    /// All of them, the longest wait last.
    Sorted(Vec<QueueKey>),
}

/// With more reservations than this, all long waits are gathered at once.
const FEW: usize = 4;

impl Patient {
    fn new(desk: &Desk<'_>, queue: &FitList, limit: SimDuration, depth: usize) -> Self {
        if depth <= FEW {
            return Self::Sought(limit, (SimTime::from_micros(i64::MIN), 0));
        }
        let now = desk.view.now;
        let waits = queue.iter().map(|waiting| waiting.key).filter(|key| now - key.submit > limit);
        let mut keys: Vec<_> = waits.collect();
        keys.sort_unstable_by_key(|key| std::cmp::Reverse((key.submit, key.row)));
        Self::Sorted(keys)
    }

    fn next(&mut self, desk: &Desk<'_>, queue: &FitList) -> Option<QueueKey> {
        match self {
            Self::Sought(limit, last) => {
                let key = queue.oldest_after(*last).filter(|key| desk.view.now - key.submit > *limit)?;
                *last = (key.submit, key.row);
                Some(key)
            }
            Self::Sorted(keys) => keys.pop(),
        }
    }
}

impl<P: Promises> Backfill for Patience<P> {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        self.reserved.clear();
        self.serve_patient(desk, queue)?;
        if self.suited_first {
            self.sweep(desk, queue, true)?;
        }
        self.sweep(desk, queue, false)
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        let &Self { limit, depth, suited_first, .. } = self;
        let (plan, reserved) = (CellPlan::default(), BTreeSet::new());
        Some(Box::new(Patience { limit, depth, suited_first, plan, reserved }))
    }
}
