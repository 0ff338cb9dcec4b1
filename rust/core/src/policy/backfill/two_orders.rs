//! Reservations for the first blocked jobs in policy order, and the jobs behind the last of them in another order.

use crate::algo::fit_list::{FitList, Place, Waiting};
use crate::error::Result;
use crate::policy::backfill::candidates::{Candidates, Index};
use crate::policy::backfill::cell_plan::CellPlan;
use crate::policy::backfill::plan::Plan;
use crate::policy::backfill::promises::Promises;
use crate::policy::backfill::{Backfill, start, start_heads};
use crate::policy::desk::Desk;

/// The backfill that holds reservations for the first `depth` blocked jobs, and looks at those behind them in this order.
#[must_use]
pub fn in_two_orders(depth: usize, order: Candidates) -> Box<dyn Backfill> {
    let plan = if depth == 1 { Plan::of_one() } else { Plan::of_many() };
    Box::new(TwoOrders { depth, plan, index: Index::new(order) })
}

/// Backfilling under reservations, with candidates in an order of their own.
#[derive(Clone, Debug)]
struct TwoOrders<P> {
    depth: usize,
    plan: P,
    /// The jobs in the order of candidates.
    index: Index,
}

impl<P: Promises> TwoOrders<P> {
    /// Goes through the jobs in policy order up to the last that is promised a start; returns the place behind it, none if
    /// there is no such job.
    fn reserve(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<Option<Place>> {
        let (mut place, mut held) = (Place::FRONT, 0);
        while held < self.depth {
            let Some(&waiting) = queue.get(place) else { return Ok(None) };
            desk.examine()?;
            if let Some(mut offer) = self.plan.offer(desk, &waiting)? {
                self.plan.start(desk, &waiting, &mut offer)?;
                place = start(desk, queue, place, offer)?;
            } else {
                held += usize::from(self.plan.reserve(desk, &waiting));
                place = queue.after(place);
            }
        }
        Ok(Some(place))
    }

    /// Starts the jobs from `from` on that fit alongside the promises, in the order of candidates.
    fn start_candidates(&mut self, desk: &mut Desk<'_>, queue: &mut FitList, from: Place) -> Result<()> {
        let Self { plan, index, .. } = self;
        let Some(first) = queue.get(from).map(|waiting| waiting.key) else { return Ok(()) };
        let mut at = Place::FRONT;
        while let Some(found) = plan.next(desk, index.list(), at) {
            desk.examine()?;
            let Some((place, waiting)) = index.in_queue(found, queue).and_then(|at| Some((at, *queue.get(at)?))) else {
                at = index.pass_over(found, desk.has_quotas());
                continue;
            };
            // A start may also fill groups of jobs that stand before it in the queue and have yet to be looked at.
            let is_out = waiting.key < first || desk.is_held(&waiting);
            if let Some(mut offer) = if is_out { None } else { plan.offer(desk, &waiting)? } {
                plan.start(desk, &waiting, &mut offer)?;
                start(desk, queue, place, offer)?;
                at = index.remove_at(found);
            } else {
                at = index.list().after(found);
            }
        }
        Ok(())
    }
}

impl<P: Promises> Backfill for TwoOrders<P> {
    fn reserves(&self) -> usize {
        self.depth
    }

    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        if !start_heads(desk, queue)? || desk.free_units() == 0 {
            return Ok(());
        }
        self.plan.reset(desk)?;
        match self.reserve(desk, queue)? {
            Some(place) => self.start_candidates(desk, queue, place),
            None => Ok(()),
        }
    }

    fn note_queued(&mut self, waiting: &Waiting) {
        self.index.join(waiting);
    }

    fn note_sorted(&mut self, queue: &FitList) {
        self.index.sort(queue);
    }

    fn has_own_order(&self) -> bool {
        true
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        let Self { depth, index, .. } = self;
        Some(Box::new(TwoOrders { depth: *depth, plan: CellPlan::default(), index: index.clone() }))
    }
}
