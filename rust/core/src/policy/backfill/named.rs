//! A plan of which nodes each job gets and when, made again in every pass (operations page on machines, rules 8 to 11).
//!
//! Where nodes are shared, counts may promise what does not exist: enough slots, but on too many nodes. A plan of named
//! nodes keeps its promises.

mod base;
pub(in crate::policy::backfill) mod bounds;
mod choice;
mod future;
mod in_part;
mod lasting;
mod needs;
mod promises;
mod reach;
pub(in crate::policy) mod urgent;

use crate::algo::fit_list::{FitList, Place, Room, Waiting};
use crate::algo::horizon::{NodeNeed, Windows};
use crate::algo::releases::ReleasedBy;
use crate::error::Result;
use crate::policy::backfill::candidates::{Candidates, Index};
use crate::policy::backfill::named::base::Base;
use crate::policy::backfill::named::bounds::Bounds;
use crate::policy::backfill::named::future::{Future, are_on, units_back_now};
use crate::policy::backfill::named::in_part::InPart;
use crate::policy::backfill::named::lasting::Lasting;
use crate::policy::backfill::named::needs::{are_alike, need, need_of};
use crate::policy::backfill::named::promises::Promises;
use crate::policy::backfill::named::reach::Reach;
use crate::policy::backfill::{Backfill, start};
use crate::policy::desk::{Desk, Offer};
use crate::policy::sleep::named::{FirstJobs, FirstStarts};
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Backfilling by a plan of named nodes.
#[derive(Clone, Debug)]
pub struct NamedPlan {
    /// Number of jobs that are planned for later.
    depth: usize,
    /// Span from now within which they start.
    horizon: SimDuration,
    /// Nodes whose next planned jobs still matter, each with the latest start that settles the question.
    awaited: FirstStarts,
    /// Each node's first planned job and its start, where that matters.
    first: FirstJobs,
    /// True if windows and plans are kept from pass to pass.
    keeps: bool,
    memory: Memory,
    /// Plan of the last pass, if this one may go on with it.
    lasting: Lasting,
    /// Plan in part, where it would do.
    in_part: InPart,
    /// Index of the jobs that may not be planned for later, where they are looked at in an order of their own.
    candidates: Option<Index>,
}

/// Memory that a pass leaves to later ones.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// Windows of what runs.
    base: Base,
    /// Windows of the last plan.
    plan: Option<Windows>,
    bounds: Bounds,
}

impl NamedPlan {
    /// Plans up to `depth` jobs that start later, up to `horizon` from now.
    #[must_use]
    pub fn new(depth: usize, horizon: SimDuration) -> Self {
        Self {
            depth,
            horizon,
            awaited: FirstStarts::new(),
            first: FirstJobs::new(),
            keeps: true,
            memory: Memory::default(),
            lasting: Lasting::default(),
            in_part: InPart::default(),
            candidates: None,
        }
    }

    /// Makes windows and plans from nothing in every pass: the slow twin of those that are kept.
    #[must_use]
    pub fn planning_anew(depth: usize, horizon: SimDuration) -> Self {
        Self { keeps: false, ..Self::new(depth, horizon) }
    }

    /// Has the jobs behind the planned ones looked at in another order. If all are planned, there are none.
    #[must_use]
    pub fn looking_in(self, order: Candidates) -> Self {
        let candidates = (self.depth != usize::MAX).then(|| Index::new(order));
        Self { candidates, ..self }
    }

    fn make(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        if queue.is_empty() {
            return Ok(());
        }
        if self.may_plan_in_part(desk) {
            return self.plan_in_part(desk, queue);
        }
        self.in_part.standing.end();
        let view = desk.view;
        let back_now = units_back_now(view);
        if !self.keeps {
            self.memory = Memory::default();
            self.lasting.end();
        }
        self.memory.base.begin(view);
        let as_planned = self.memory.base.is_as_planned()
            && view.outages.known(view.now).next().is_none()
            && desk.added().is_empty();
        let level = desk.outlook().map(|outlook| outlook.now() + view.claimed);
        let mut reach = self.reach(desk, queue, 0);
        if as_planned
            && reach.is_one()
            && let Some((place, planned)) = self.lasting.goes_on_from(queue, level)
            && let Some(future) = Future::of_last(view, &mut self.memory)
        {
            let promises = Promises::of_last(view, future, &mut self.memory);
            return self.fill(desk, queue, (promises, reach), (place, planned));
        }
        self.lasting.end();
        let now = self.memory.base.first();
        let rest = (&*queue, Place::FRONT, room(desk, back_now));
        let may_start = |waiting: &Waiting| back_now > 0 || now.is_none_or(|now| now.suffices(&need(view, waiting)));
        if reach.goes_on(view, rest, self.depth > 0, may_start)
            && let Some(future) = Future::of(view, &mut self.memory)
        {
            let may_last = self.may_last(desk, &future, &reach);
            self.lasting.begin(may_last, level);
            let mut promises = Promises::new(view, future.power(desk.outlook()), &mut self.memory);
            hold_begun(desk, &mut promises);
            self.fill(desk, queue, (promises, reach), (Place::FRONT, 0))?;
        }
        Ok(())
    }

    /// True if a plan that begins now may outlive its pass.
    fn may_last(&self, desk: &Desk<'_>, future: &Future<'_>, reach: &Reach) -> bool {
        are_alike(desk.view)
            && desk.has_steady_watts()
            && self.memory.base.is_followed()
            && future.is_undisturbed()
            && reach.is_one()
            && self.awaited.is_empty()
            && self.candidates.is_none()
    }

    /// Reach of a plan, given the number of jobs planned already.
    fn reach(&self, desk: &Desk<'_>, queue: &FitList, planned: usize) -> Reach {
        let counts = planned.saturating_add(queue.len()) > self.depth;
        let is_apart = desk.view.shares.is_none() && !counts && !desk.counts_watts();
        Reach::new(desk.view, is_apart, &self.awaited)
    }

    /// Plans the jobs from a place on, given the number of jobs planned already.
    fn fill<'a>(
        &mut self,
        desk: &mut Desk<'a>,
        queue: &mut FitList,
        (mut promises, mut reach): (Promises<'a>, Reach),
        (mut place, mut planned): (Place, usize),
    ) -> Result<()> {
        let (view, now, back_now) = (desk.view, desk.view.now, units_back_now(desk.view));
        loop {
            let (rest, plans) = ((&*queue, place, room(desk, back_now)), planned < self.depth);
            let may_start = |waiting: &Waiting| promises.may_start(waiting, desk.on_nodes(waiting).as_ref());
            if !reach.goes_on(view, rest, plans, may_start) {
                break;
            }
            if let Some(mut index) = self.candidates.take_if(|_| !plans) {
                let done = self.start_candidates(desk, queue, (&mut promises, place), (&mut index, &mut reach));
                self.candidates = Some(index);
                done?;
                break;
            }
            let Some(&waiting) = queue.get(place) else { break };
            desk.examine()?;
            if !reach.needs(view, &waiting, plans) {
                self.lasting.pass(&waiting, false);
                place = queue.after(place);
                continue;
            }
            let until = if plans { now.saturating_add(self.horizon) } else { now };
            let found = promises.add(&waiting, until, desk.on_nodes(&waiting).as_ref());
            reach.pass(&waiting, found);
            if let Some(at) = found {
                self.note((at, JobId(waiting.key.row)), promises.nodes(), &mut reach);
            }
            if found == Some(now) && are_on(view, promises.nodes()) {
                let Some(offer) = desk.offer_on(&waiting, promises.nodes())? else {
                    self.lasting.end();
                    break;
                };
                if self.lasting.is_whole() {
                    self.memory.base.start(view, &waiting, promises.nodes());
                }
                place = start(desk, queue, place, offer)?;
            } else {
                if (found.is_none() && plans) || (found.is_some() && !promises.are_first()) {
                    self.lasting.end();
                }
                self.lasting.pass(&waiting, found.is_some());
                planned += usize::from(found.is_some());
                place = queue.after(place);
            }
        }
        promises.leave(&mut self.memory);
        Ok(())
    }

    /// Starts the jobs from a place on that delay none of the promises, in the order of `index`.
    fn start_candidates<'a>(
        &mut self,
        desk: &mut Desk<'a>,
        queue: &mut FitList,
        (promises, from): (&mut Promises<'a>, Place),
        (index, reach): (&mut Index, &mut Reach),
    ) -> Result<()> {
        let Some(first) = queue.get(from).map(|waiting| waiting.key) else { return Ok(()) };
        let (now, back_now, mut at) = (desk.view.now, units_back_now(desk.view), Place::FRONT);
        while let Some(found) = index.list().first_fit(at, room(desk, back_now)) {
            desk.examine()?;
            let Some((place, waiting)) = index.in_queue(found, queue).and_then(|at| Some((at, *queue.get(at)?))) else {
                at = index.pass_over(found, desk.has_quotas());
                continue;
            };
            // A start may also fill groups of jobs that stand before it in the queue and have yet to be looked at.
            let has_turn = waiting.key >= first && !desk.is_held(&waiting);
            let on = desk.on_nodes(&waiting);
            let fits = has_turn && promises.may_start(&waiting, on.as_ref());
            if !fits || promises.add(&waiting, now, on.as_ref()) != Some(now) {
                at = index.list().after(found);
            } else if are_on(desk.view, promises.nodes()) {
                let Some(offer) = desk.offer_on(&waiting, promises.nodes())? else { break };
                start(desk, queue, place, offer)?;
                at = index.remove_at(found);
            } else {
                self.note((now, JobId(waiting.key.row)), promises.nodes(), reach);
                at = index.list().after(found);
            }
        }
        Ok(())
    }

    /// Notes the nodes planned for a job. Nodes for which its start settles the question are no longer awaited.
    fn note(&mut self, (at, job): (SimTime, JobId), nodes: &[u32], reach: &mut Reach) {
        if self.awaited.is_empty() {
            return;
        }
        for &node in nodes {
            let Some(&by) = self.awaited.get(&node) else { continue };
            let first = self.first.entry(node).or_insert((at, job));
            if at < first.0 {
                *first = (at, job);
            }
            if at <= by {
                self.awaited.remove(&node);
                reach.settle(node);
            }
        }
    }
}

/// Room in which jobs may start now, with the units of nodes that wake up in no time.
fn room(desk: &Desk<'_>, back_now: i64) -> Room {
    Room::of(desk.free_units() + back_now).within(desk.left())
}

/// Holds what jobs have taken that have started in this pass before anything was planned.
fn hold_begun(desk: &Desk<'_>, promises: &mut Promises<'_>) {
    let (view, counts) = (desk.view, desk.counts_watts());
    for (start, nodes) in desk.begun() {
        let end = desk.added().iter().find(|end| end.by == ReleasedBy::Job(start.job.0)).map_or(view.now, |end| end.at);
        let watts = counts.then_some(start.granted);
        let need = NodeNeed { watts, ..need_of(view, start.job, nodes.len(), (end - view.now).max(SimDuration::TICK)) };
        promises.hold(view.now, &need, nodes);
    }
}

impl Backfill for NamedPlan {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let front = queue.first().map(|waiting| JobId(waiting.key.row));
        if let Some(queues) = desk.view.queues.filter(|_| urgent::matters(desk.view, front.into_iter())) {
            self.lasting.end();
            self.in_part.standing.end();
            return self.make_with_urgent(desk, queue, queues);
        }
        self.make(desk, queue)
    }

    fn offer_first(&mut self, desk: &mut Desk<'_>, waiting: &Waiting) -> Result<Option<Offer>> {
        let view = desk.view;
        if waiting.units > desk.free_units() {
            return Ok(None);
        }
        // It belongs to no plan that goes on.
        self.lasting.end();
        self.in_part.standing.end();
        self.memory.base.begin(view);
        let Some(future) = Future::of(view, &mut self.memory) else { return Ok(None) };
        let mut promises = Promises::new(view, future.power(desk.outlook()), &mut self.memory);
        hold_begun(desk, &mut promises);
        let found = promises.add(waiting, view.now, desk.on_nodes(waiting).as_ref());
        let offer = if found.is_some() { desk.offer_on(waiting, promises.nodes())? } else { None };
        promises.leave(&mut self.memory);
        Ok(offer)
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(self.clone()))
    }

    fn by_node(&self) -> Option<Box<dyn Backfill>> {
        self.by_cell()
    }

    fn names_nodes(&self) -> bool {
        true
    }

    fn note_left(&mut self, _job: JobId) {
        self.in_part.standing.end();
    }

    fn note_queued(&mut self, waiting: &Waiting) {
        self.in_part.standing.join(waiting.key);
        if let Some(index) = &mut self.candidates {
            index.join(waiting);
        }
    }

    fn note_sorted(&mut self, queue: &FitList) {
        self.in_part.standing.end();
        if let Some(index) = &mut self.candidates {
            index.sort(queue);
        }
    }

    fn has_own_order(&self) -> bool {
        self.candidates.is_some()
    }

    fn look_ahead(&mut self, awaited: FirstStarts) {
        self.awaited = awaited;
        self.first.clear();
    }

    fn first_jobs(&self) -> Option<&FirstJobs> {
        Some(&self.first)
    }
}
