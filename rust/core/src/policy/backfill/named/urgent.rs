//! Jobs of queues that preempt, and those that made way for them (operations page on machines, rules 33 and 34).
//!
//! A pass plans urgent jobs first: each like any other and, if it cannot start now that way, as if the jobs that its
//! queue preempts did not run. Then suspended jobs resume where they can. All other jobs are planned around these
//! promises.

use std::collections::BTreeMap;

use crate::algo::fit_list::{FitList, Place, QueueKey};
use crate::algo::horizon::windows::{NodeReturn, Throughout, What};
use crate::algo::horizon::{NodeNeed, Planes, Windows};
use crate::cluster::runs::{Run, RunId};
use crate::error::Result;
use crate::platform::queues::Queues;
use crate::policy::View;
use crate::policy::backfill::named::NamedPlan;
use crate::policy::backfill::named::choice::Choice;
use crate::policy::backfill::named::future::{Future, asleep, known_by_now};
use crate::policy::backfill::named::needs::{fill_shared, need, need_of};
use crate::policy::backfill::named::promises::Promises;
use crate::policy::backfill::start;
use crate::policy::desk::Desk;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Claim of a run in a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Nothing,
    UntilItsEnd,
    ForEver,
}

/// Plans of a pass in which jobs may be suspended.
struct Urgent<'a> {
    view: &'a View<'a>,
    queues: &'a Queues,
    /// Plan by which urgent jobs are planned at first: suspended jobs hold their slots for ever.
    any: Windows,
    /// The same without the jobs that a queue preempts, by the queue's number.
    without: BTreeMap<u16, Windows>,
    /// Plan of running and promised jobs; suspended ones hold nothing.
    running: Windows,
    promised: Vec<(SimTime, NodeNeed<'a>, Vec<u32>)>,
    /// Slots of running jobs on each node.
    used: Vec<u32>,
    on_nodes: Vec<Vec<RunId>>,
    /// Runs suspended in this pass.
    victims: Vec<RunId>,
}

/// True if a pass involves urgent jobs: one of `waiting` is urgent, or a run is suspended.
pub(in crate::policy) fn matters(view: &View<'_>, mut waiting: impl Iterator<Item = JobId>) -> bool {
    let Some(queues) = view.queues.filter(|queues| queues.preempt()) else { return false };
    waiting.any(|job| !queues.preempted_by(job).is_empty()) || view.runs.iter().any(|(_, run)| run.suspension.is_some())
}

impl NamedPlan {
    /// Makes the plan of a pass in which urgent jobs wait, or jobs are suspended.
    pub(super) fn make_with_urgent<'a>(
        &mut self,
        desk: &mut Desk<'a>,
        queue: &mut FitList,
        queues: &'a Queues,
    ) -> Result<()> {
        let mut urgent = Urgent::new(desk.view, queues);
        let mut reach = self.reach(desk, queue, 0);
        let (mut place, mut planned) = (Place::FRONT, 0);
        while let Some(&waiting) = queue.get(place) {
            let job = JobId(waiting.key.row);
            if queues.preempted_by(job).is_empty() {
                break;
            }
            desk.examine()?;
            let now = desk.view.now;
            let until = if planned < self.depth { now.saturating_add(self.horizon) } else { now };
            let need = need(desk.view, &waiting);
            let Some((at, nodes)) = urgent.find(job, &need, until) else {
                place = queue.after(place);
                continue;
            };
            if at == now {
                urgent.make_way(job, &nodes).into_iter().for_each(|id| desk.suspend(id));
            }
            self.note((at, job), &nodes, &mut reach);
            urgent.promise(at, need, &nodes);
            place = if at == now {
                let Some(offer) = desk.offer_on(&waiting, &nodes)? else { break };
                start(desk, queue, place, offer)?
            } else {
                planned += 1;
                queue.after(place)
            };
        }
        urgent.resume(desk)?;
        let future = Future::whole(desk.view, urgent.running);
        let promises = Promises::new(desk.view, future, &mut self.memory);
        self.fill(desk, queue, (promises, reach), (place, planned))
    }
}

impl<'a> Urgent<'a> {
    fn new(view: &'a View<'a>, queues: &'a Queues) -> Self {
        let (mut used, mut on_nodes) = (vec![0; view.nodes.len()], vec![Vec::new(); view.nodes.len()]);
        for (id, run) in view.runs.iter().filter(|(_, run)| run.suspension.is_none()) {
            for &node in view.runs.nodes(run) {
                used[node as usize] += view.jobs.need(run.job, view.platform);
                on_nodes[node as usize].push(id);
            }
        }
        let stands = |run: &Run| run.suspension.is_some();
        Self {
            any: plan(view, |run| if stands(run) { Holds::ForEver } else { Holds::UntilItsEnd }),
            without: BTreeMap::new(),
            running: plan(view, |run| if stands(run) { Holds::Nothing } else { Holds::UntilItsEnd }),
            promised: Vec::new(),
            view,
            queues,
            used,
            on_nodes,
            victims: Vec::new(),
        }
    }

    fn is_preempted(&self, by: u16, job: JobId) -> bool {
        self.queues.all()[usize::from(by)].preempts.contains(&self.queues.number(job))
    }

    /// Start and nodes of an urgent job, if it starts by `until`.
    fn find(&mut self, job: JobId, need: &NodeNeed<'_>, until: SimTime) -> Option<(SimTime, Vec<u32>)> {
        let (now, asleep) = (self.view.now, asleep(self.view));
        let choice = Choice::new(self.view, need, job, asleep.as_ref());
        let choose = |nodes: &mut Vec<u32>, free: &Planes, throughout: Throughout<'_>| {
            choice.of(free, throughout.nodes, nodes);
            true
        };
        let mut nodes = Vec::new();
        if let Some(at) = self.any.earliest(need, (now, now), |free, own| choose(&mut nodes, free, own)) {
            return Some((at, nodes));
        }
        let number = self.queues.number(job);
        self.leave_out(number);
        let (without, used) = (self.without.get_mut(&number)?, &self.used);
        let emptiest = |nodes: &mut Vec<u32>, throughout: Throughout<'_>| {
            nodes.extend(throughout.nodes.iter());
            nodes.sort_by_key(|&node| (used[node as usize], node));
            nodes.truncate(need.nodes as usize);
            nodes.sort_unstable();
            true
        };
        let found = match without.earliest(need, (now, now), |_, own| emptiest(&mut nodes, own)) {
            None => without.earliest(need, (now, until), |free, own| choose(&mut nodes, free, own)),
            found => found,
        };
        found.map(|at| (at, nodes))
    }

    /// Makes the plan without the jobs that a queue preempts, unless it exists.
    fn leave_out(&mut self, number: u16) {
        if self.without.contains_key(&number) {
            return;
        }
        let mut windows = plan(self.view, |run| match run.suspension {
            _ if self.is_preempted(number, run.job) => Holds::Nothing,
            Some(_) => Holds::ForEver,
            None => Holds::UntilItsEnd,
        });
        for id in &self.victims {
            let Some(run) = self.view.runs.get(*id).filter(|run| !self.is_preempted(number, run.job)) else { continue };
            windows.hold(self.planned_end(run), &self.for_ever(run), self.view.runs.nodes(run));
        }
        for (at, need, nodes) in &self.promised {
            windows.hold(*at, need, nodes);
        }
        self.without.insert(number, windows);
    }

    /// Suspends running jobs until an urgent one has room on each of its nodes: the latest start first.
    fn make_way(&mut self, job: JobId, nodes: &[u32]) -> Vec<RunId> {
        let (view, number) = (self.view, self.queues.number(job));
        let (need, slots) = (view.jobs.need(job, view.platform), view.platform.shared_slots());
        let mut out = Vec::new();
        for &node in nodes {
            while slots - self.used[node as usize] < need {
                let runs = self.on_nodes[node as usize].iter().filter_map(|&id| Some((id, view.runs.get(id)?)));
                let theirs = runs.filter(|(_, run)| self.is_preempted(number, run.job));
                let Some((id, run)) = theirs.max_by_key(|(_, run)| (run.started, run.job)) else { break };
                self.suspend(id, run);
                out.push(id);
            }
        }
        for &node in nodes {
            self.used[node as usize] += need;
        }
        out
    }

    fn suspend(&mut self, id: RunId, run: &Run) {
        let nodes = self.view.runs.nodes(run);
        for &node in nodes {
            self.used[node as usize] -= self.view.jobs.need(run.job, self.view.platform);
            self.on_nodes[node as usize].retain(|&other| other != id);
        }
        let (end, for_ever) = (self.planned_end(run), self.for_ever(run));
        let so_far = NodeNeed { length: end - self.view.now, ..for_ever };
        self.running.drop(self.view.now, &so_far, nodes);
        self.any.hold(end, &for_ever, nodes);
        let numbers: Vec<_> = self.without.keys().copied().filter(|&by| !self.is_preempted(by, run.job)).collect();
        for number in numbers {
            if let Some(windows) = self.without.get_mut(&number) {
                windows.hold(end, &for_ever, nodes);
            }
        }
        self.victims.push(id);
    }

    fn planned_end(&self, run: &Run) -> SimTime {
        run.planned_end.max(self.view.now.saturating_add(SimDuration::TICK))
    }

    /// Claim of a run, without end.
    fn for_ever(&self, run: &Run) -> NodeNeed<'a> {
        need_of(self.view, run.job, self.view.runs.nodes(run).len(), SimDuration::FOREVER)
    }

    /// Holds the nodes of an urgent job that starts or is planned.
    fn promise(&mut self, at: SimTime, need: NodeNeed<'a>, nodes: &[u32]) {
        self.any.hold(at, &need, nodes);
        self.running.hold(at, &need, nodes);
        self.without.values_mut().for_each(|windows| windows.hold(at, &need, nodes));
        self.promised.push((at, need, nodes.to_vec()));
    }

    /// Resumes suspended jobs that fit alongside running and promised ones. The others hold their slots until the end
    /// that they would have if they resumed at their earliest fit.
    fn resume(&mut self, desk: &mut Desk<'a>) -> Result<()> {
        let (view, now) = (self.view, self.view.now);
        for (_, id) in self.suspended(desk)? {
            let Some(run) = view.runs.get(id) else { continue };
            let nodes = view.runs.nodes(run);
            let left = run.suspension.map_or_else(|| run.planned_end.max(now) - now, |suspension| suspension.left);
            let need = NodeNeed { length: left.max(SimDuration::TICK), ..self.for_ever(run) };
            let have_room =
                |_: &Planes, throughout: Throughout<'_>| nodes.iter().all(|&node| throughout.nodes.contains(node));
            let found = self.running.earliest(&need, (now, SimTime::NEVER), have_room);
            let until = found.unwrap_or(SimTime::NEVER).saturating_add(need.length);
            if until == now.saturating_add(need.length) {
                desk.resume(id);
            }
            let length = if until == SimTime::NEVER { SimDuration::FOREVER } else { until - now };
            self.running.hold(now, &NodeNeed { length, ..need }, nodes);
        }
        Ok(())
    }

    /// Runs that are suspended by now, in policy order.
    fn suspended(&self, desk: &mut Desk<'a>) -> Result<Vec<(QueueKey, RunId)>> {
        let stand = self.view.runs.iter().filter(|(_, run)| run.suspension.is_some()).map(|(id, _)| id);
        let all: Vec<_> = stand.chain(self.victims.iter().copied()).collect();
        let jobs: Vec<_> = all.iter().filter_map(|&id| self.view.runs.get(id)).map(|run| run.job).collect();
        let mut keyed: Vec<_> = desk.keys(&jobs)?.into_iter().zip(all).collect();
        keyed.sort_unstable();
        Ok(keyed)
    }
}

/// Free slots over time, if each run holds what `holds` says.
fn plan(view: &View<'_>, holds: impl Fn(&Run) -> Holds) -> Windows {
    let soonest = view.now.saturating_add(SimDuration::TICK);
    let whole = i64::from(view.platform.shared_slots());
    let mut slots: Vec<_> =
        (0..view.platform.len()).map(|node| if view.slots.is_open(node) { whole } else { 0 }).collect();
    let mut returns = Vec::new();
    for (_, run) in view.runs.iter() {
        let (held, nodes) = (holds(run), view.runs.nodes(run));
        if held == Holds::Nothing {
            continue;
        }
        let need = need_of(view, run.job, nodes.len(), SimDuration::ZERO);
        for &node in nodes {
            slots[node as usize] -= need.amounts[0];
        }
        if held == Holds::UntilItsEnd {
            let at = run.planned_end.max(soonest);
            returns.push(NodeReturn { at, nodes, what: What::Held(need) });
        }
    }
    let mut free = Planes::default();
    fill_shared(view, &mut free, slots);
    known_by_now(free, view, returns)
}
