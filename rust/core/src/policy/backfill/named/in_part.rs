//! A plan of whole nodes that is made only as far as it decides who starts now (see [`PartialPlan`]), and goes on in the
//! next pass for as long as nothing has come free (see [`StandingPlan`]).
//!
//! A job takes the lowest of the nodes that are free throughout its run. Jobs that run at other times do not matter to
//! these, so that a job that is planned gets the nodes that it would get in a whole plan.

use crate::algo::fit_list::{FitList, Place, Waiting};
use crate::algo::horizon::Windows;
use crate::algo::partial_plan::{Horizon, PartialPlan, PlannedStart};
use crate::algo::shelves::Shelves;
use crate::error::Result;
use crate::policy::View;
use crate::policy::backfill::named::future::Future;
use crate::policy::backfill::named::needs::{are_alike, need};
use crate::policy::backfill::named::promises::Promises;
use crate::policy::backfill::named::{NamedPlan, hold_begun, room};
use crate::policy::backfill::standing::StandingPlan;
use crate::policy::backfill::start;
use crate::policy::desk::Desk;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Plan of some jobs of the queue.
#[derive(Clone, Debug, Default)]
pub(super) struct InPart {
    jobs: PartialPlan,
    /// State of the last pass, if this one may go on with its plan.
    pub(super) standing: StandingPlan,
}

/// Free nodes after the promises of a plan in part.
struct NodesInPart<'p, 'a> {
    view: &'a View<'a>,
    promises: &'p mut Promises<'a>,
    /// Nodes that are free now.
    free: i64,
    /// Last instant at which a job may be planned to start.
    until: SimTime,
    /// True if a job was perhaps planned for no instant because of it.
    is_cut: bool,
}

impl NodesInPart<'_, '_> {
    fn soon(&self) -> SimTime {
        self.view.now.saturating_add(SimDuration::TICK)
    }
}

impl Horizon for NodesInPart<'_, '_> {
    const IS_ONE: bool = false;

    fn group(&self, waiting: &Waiting) -> usize {
        self.view.queues.map_or(0, |queues| usize::from(queues.number(JobId(waiting.key.row))))
    }

    fn floor_of(&self, units: i64, _length: SimDuration) -> SimTime {
        if units > self.free { self.soon() } else { self.view.now }
    }

    fn fit_before(&mut self, waiting: &Waiting, from: SimTime, before: SimTime) -> Option<SimTime> {
        let (need, last) = (need(self.view, waiting), before.saturating_add(SimDuration::ZERO - SimDuration::TICK));
        let until = self.until.min(last);
        let found =
            if from > until { None } else { self.promises.future().earliest(&need, (from, until), |_, _| true) };
        self.is_cut |= found.is_none() && until < last;
        found
    }

    fn fits_each<'w>(&self, mut jobs: impl Iterator<Item = &'w Waiting>) -> bool {
        let (begins, free) = self.promises.last();
        let mut shelves = Shelves::new(begins);
        jobs.all(|waiting| {
            let room = free.count(&need(self.view, waiting)).map_or(0, i64::from);
            let latest = shelves.latest_start(waiting, room);
            latest < SimTime::NEVER && latest <= self.until
        })
    }

    fn spare(&mut self, start: &PlannedStart) -> Option<i64> {
        let need = need(self.view, &start.waiting);
        let free = self.promises.future().free_for(start.at, &need)?;
        Some(i64::from(free) - i64::from(need.nodes))
    }

    fn hold(&mut self, start: &PlannedStart, _count: usize) {
        self.promises.add_lowest(&start.waiting, start.at);
    }
}

impl NamedPlan {
    /// True if a plan in part would do: jobs take whole nodes, and no node is off or out of service, or will be.
    pub(super) fn may_plan_in_part(&self, desk: &Desk<'_>) -> bool {
        let outages = &desk.view.outages;
        self.keeps
            && are_alike(desk.view)
            && desk.only_counts()
            && desk.may_keep_plans()
            && desk.closed().is_empty()
            && outages.are_none()
            && outages.known(desk.view.now).next().is_none()
            && self.awaited.is_empty()
            && self.candidates.is_none()
    }

    /// Starts the jobs that would start now in a whole plan.
    pub(super) fn plan_in_part(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let (view, before) = (desk.view, desk.view.now.saturating_add(SimDuration::TICK));
        self.lasting.end();
        self.memory.base.begin(view);
        let changes_at = self.memory.plan.as_ref().and_then(Windows::changes_at);
        let from = self.in_part.standing.goes_on_from(desk, queue, changes_at);
        self.in_part.standing.end();
        if let Some(from) = from
            && let Some(future) = Future::of_last(view, &mut self.memory)
        {
            let promises = Promises::of_last(view, future, &mut self.memory);
            self.in_part.jobs.ask_behind(from, before);
            return self.fill_in_part(desk, queue, promises);
        }
        if self.may_any_start(desk, queue)
            && let Some(future) = Future::of(view, &mut self.memory)
        {
            let mut promises = Promises::new(view, future, &mut self.memory);
            hold_begun(desk, &mut promises);
            self.in_part.jobs.begin(self.depth);
            self.in_part.jobs.ask(before);
            self.fill_in_part(desk, queue, promises)?;
        }
        Ok(())
    }

    /// True if as many nodes are free now as some job needs.
    fn may_any_start(&self, desk: &Desk<'_>, queue: &FitList) -> bool {
        let (mut place, now) = (Place::FRONT, self.memory.base.first());
        while let Some(found) = queue.first_fit(place, room(desk, 0))
            && let Some(waiting) = queue.get(found)
        {
            if now.is_none_or(|now| now.suffices(&need(desk.view, waiting))) {
                return true;
            }
            place = queue.after(found);
        }
        false
    }

    /// Goes on with a plan in part, and starts the jobs that it is asked for.
    fn fill_in_part<'a>(&mut self, desk: &mut Desk<'a>, queue: &mut FitList, mut promises: Promises<'a>) -> Result<()> {
        let (view, mut stands) = (desk.view, true);
        let InPart { jobs, standing } = &mut self.in_part;
        while desk.free_units() > 0 {
            let (free, until) = (desk.free_units(), view.now.saturating_add(self.horizon));
            let mut nodes = NodesInPart { view, promises: &mut promises, free, until, is_cut: false };
            let next = jobs.next(&mut nodes, queue);
            // Later they may be planned.
            stands &= !nodes.is_cut;
            let Some(next) = next else { break };
            desk.examine()?;
            jobs.take(&mut nodes, &next);
            let Some(offer) = desk.offer_on(&next.waiting, promises.lowest())? else {
                stands = false;
                break;
            };
            start(desk, queue, next.place, offer)?;
        }
        promises.leave(&mut self.memory);
        if stands {
            standing.leave(desk, queue);
        }
        Ok(())
    }
}
