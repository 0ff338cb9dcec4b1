//! A policy composed of parts, which are asked in turn: gate, order, backfill and placement, all under a budget.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::algo::fit_list::{ClassId, FitList, Place, QueueKey, Waiting};
use crate::cluster::growth::Growth;
use crate::error::{Result, config};
use crate::platform::cells::Cells;
use crate::platform::queues::Queues;
use crate::platform::{NodeDraw, Platform};
use crate::policy::agent::Agent;
use crate::policy::allocator::Allocator;
use crate::policy::analyzer::forecast::Forecast;
use crate::policy::analyzer::lessons::Lessons;
use crate::policy::analyzer::{Analyzer, Ask};
use crate::policy::backfill::Backfill;
use crate::policy::backfill::named::urgent;
use crate::policy::budget::draw::beyond_idle;
use crate::policy::budget::least::LeastCaps;
use crate::policy::budget::{Between, Budget, Power};
use crate::policy::desk::{Desk, Memory};
use crate::policy::emergency::monitor::Monitor;
use crate::policy::gate::Gate;
use crate::policy::governing::Governance;
use crate::policy::order::arrival::Fcfs;
use crate::policy::order::by_queue::ByQueue;
use crate::policy::order::{self, Changes, Order};
use crate::policy::placement::{News, Placement};
use crate::policy::recollection::{JOINED, Recollection};
use crate::policy::registry::refused::{Feature, Features};
use crate::policy::resizing::Growing;
use crate::policy::sizing::Sizing;
use crate::policy::sleep::proposal::PoolSleeper;
use crate::policy::sleep::rules::Rules;
use crate::policy::sleep::{Sleep, Sleeper};
use crate::policy::timing::Timing;
use crate::policy::usage::{Follower, Learner};
use crate::policy::{Basis, Decision, Decisions, Facets, Governor, Jobs, Notice, Policy, Rejection, Resizer, View};
use crate::units::{SimDuration, Watts};
use crate::workload::JobId;

/// The parts of a policy.
#[derive(Clone)]
pub struct Parts {
    /// Estimates of jobs' draws.
    pub analyzer: Box<dyn Analyzer>,
    /// Forecast of how long jobs run; none: as long as they ask for.
    pub forecast: Option<Box<dyn Forecast>>,
    /// Gate to the queue; none: every job joins it.
    pub gate: Option<Box<dyn Gate>>,
    /// Order: which job is next.
    pub order: Box<dyn Order>,
    /// Backfill: which jobs may overtake.
    pub backfill: Box<dyn Backfill>,
    /// Placement: which nodes jobs get.
    pub placement: Box<dyn Placement>,
    /// Budget: the ceiling on the machine's draw, if there is one.
    pub power: Option<Box<dyn Budget>>,
    /// Splits the watts between running jobs, in place of the allocator that the budget names.
    pub allocator: Option<Box<dyn Allocator>>,
    /// Sizes of moldable jobs; none: as many nodes as they ask for.
    pub sizing: Option<Box<dyn Sizing>>,
    /// Meter of the machine's draw; none: the draw itself.
    pub gauge: Option<Box<dyn Monitor>>,
    /// Rules by which idle nodes are switched off, if any are.
    pub sleep: Option<Rules>,
    /// Timing of passes.
    pub timing: Timing,
    /// Parts that learn from runs that are over, in whatever roles they are.
    pub learners: Vec<Box<dyn Learner>>,
}

/// A scheduler composed of parts.
#[derive(Clone)]
pub struct Composed {
    name: String,
    /// Features of the parts on their machine, which others may refuse.
    features: Features,
    pub(super) parts: Parts,
    pub(super) power: Option<Power>,
    /// Parts that govern the power of what runs, if any.
    pub(super) governance: Option<Governance>,
    /// The lowest caps that it may set.
    pub(super) least: LeastCaps,
    pub(super) queue: FitList,
    pub(super) sleep: Option<Sleep>,
    /// Jobs submitted since the gate was last asked.
    submitted: Vec<JobId>,
    /// Jobs that the gate let through; they join the queue when it is next looked at.
    admitted: Vec<JobId>,
    /// Withdrawn jobs that may still be in the queue.
    withdrawn: Vec<JobId>,
    memory: Memory,
    /// Ranks that the order gave last. Kept to reuse the allocation.
    ranks: Vec<i64>,
    /// Beat of the order in which the queue was last ranked (see [`Changes::beat`]).
    ranked: Option<i64>,
    /// Jobs to which this pass has just given another size: they are queued again before anything starts. None: sizes
    /// are still to be chosen.
    sized: Option<Vec<JobId>>,
    /// Runs that are still to grow in this pass.
    growing: Growing,
    /// True if the budget has changed since the last pass.
    budget_changed: bool,
    /// Most watts that are ever left beyond the idle machine, as of the last check of the queue against the budgets.
    judged: Option<Watts>,
}

impl Composed {
    /// Composes a policy for a machine.
    ///
    /// # Errors
    /// If nothing could ever start under the budget.
    pub fn new(name: impl Into<String>, parts: Parts, platform: &Platform) -> Result<Self> {
        Self::in_part(name, parts, platform, platform)
    }

    /// Composes a policy for a part of a machine while the rest of it idles: a budget is that of the whole machine.
    ///
    /// # Errors
    /// If nothing could ever start under the budget.
    pub fn in_part(name: impl Into<String>, mut parts: Parts, platform: &Platform, whole: &Platform) -> Result<Self> {
        parts.backfill.check(platform)?;
        parts.backfill.queue_in(parts.order.as_ref());
        let power = parts.power.as_deref().map(|budget| Power::new(budget, platform, whole, parts.analyzer.learns()));
        let mut governance = parts.power.as_deref().map(Budget::governance);
        if let Some((governance, own)) = governance.as_mut().zip(parts.allocator.take()) {
            governance.allocator = own;
        }
        if let Some(governance) = &mut governance {
            governance.gauge = parts.gauge.take();
        }
        let governance = governance.filter(Governance::is_active);
        let sleep = parts.sleep.as_ref().map(|rules| Sleep::new(rules, platform)).transpose()?;
        let mut power = power.transpose()?;
        let features = features(&mut parts, platform, platform.len() < whole.len(), governance.is_some());
        features.check()?;
        if let (Some(power), true) = (&mut power, sleep.is_some()) {
            check_boots(power.ceiling.draw(), platform, whole)?;
            parts.backfill = parts.backfill.beside_sleep().unwrap_or(parts.backfill);
            power.ceiling.switch_nodes();
        }
        Ok(Self {
            name: name.into(),
            features,
            memory: Memory::of(governance.is_some()),
            power,
            least: governance.as_ref().map_or(LeastCaps::None, |governance| governance.allocator.least()),
            governance,
            parts,
            queue: FitList::default(),
            sleep,
            submitted: Vec::new(),
            admitted: Vec::new(),
            withdrawn: Vec::new(),
            ranks: Vec::new(),
            ranked: None,
            sized: None,
            growing: Growing::default(),
            budget_changed: false,
            judged: None,
        })
    }

    /// Asks the gate about submitted jobs, and rejects held jobs that can never start.
    fn admit(&mut self, view: &View<'_>, out: &mut Decisions) {
        let Some(gate) = &mut self.parts.gate else {
            self.admitted.append(&mut self.submitted);
            return;
        };
        let ask = Ask { view, analyzer: self.parts.analyzer.as_ref(), least: &self.least };
        let power = &mut self.power;
        self.admitted.extend(self.submitted.drain(..).filter(|&job| gate.admits(&ask, power.as_mut(), job)));
        gate.reject().into_iter().for_each(|(job, why)| out.reject(job, why));
    }

    /// Removes withdrawn jobs from the queue.
    fn let_go(&mut self, jobs: Jobs<'_>) {
        if self.withdrawn.is_empty() {
            return;
        }
        self.withdrawn.sort_unstable();
        let Self { withdrawn, submitted, admitted, queue, power, memory, parts, .. } = self;
        for &job in withdrawn.iter() {
            memory.quotas.leave(jobs, job);
            parts.backfill.note_left(job);
        }
        let is_gone = |job: &JobId| withdrawn.binary_search(job).is_ok();
        submitted.retain(|job| !is_gone(job));
        admitted.retain(|job| !is_gone(job));
        let keys: Vec<_> = queue.everyone().map(|waiting| waiting.key).filter(|key| is_gone(&JobId(key.row))).collect();
        for key in keys {
            queue.remove(key);
        }
        if let Some(power) = power {
            for &job in withdrawn.iter() {
                power.prices.forget(job);
            }
        }
        withdrawn.clear();
    }

    /// Sorts the admitted jobs into the queue. Sorts the whole queue again if its order changes as time passes.
    fn arrange(&mut self, view: &View<'_>) -> Result<()> {
        let changes = self.parts.order.changes();
        let beat = changes.beat(view.now);
        let mut is_stale = beat != self.ranked;
        if changes == Changes::EachPass {
            let ask = Ask { view, analyzer: self.parts.analyzer.as_ref(), least: &self.least };
            is_stale = !self.parts.order.holds(&ask, &self.admitted);
        }
        if is_stale {
            self.rank_again(view)?;
            self.ranked = beat;
        }
        let mut admitted = std::mem::take(&mut self.admitted);
        self.join(view, &admitted)?;
        admitted.clear();
        self.admitted = admitted;
        Ok(())
    }

    /// Has the order rank all jobs of the queue again, and sorts it.
    fn rank_again(&mut self, view: &View<'_>) -> Result<()> {
        self.memory.quotas.put_all_back(&mut self.queue);
        if self.queue.is_empty() {
            return Ok(());
        }
        let waiting: Vec<_> = self.queue.iter().map(|waiting| JobId(waiting.key.row)).collect();
        self.rank(view, &waiting)?;
        self.queue.rerank(&self.ranks);
        self.parts.backfill.note_sorted(&self.queue);
        if !self.memory.quotas.is_empty() {
            self.memory.quotas.resort(view.jobs, &self.queue);
        }
        Ok(())
    }

    /// Has the order rank some jobs of the queue.
    fn rank(&mut self, view: &View<'_>, jobs: &[JobId]) -> Result<()> {
        let ask = Ask { view, analyzer: self.parts.analyzer.as_ref(), least: &self.least };
        self.ranks.clear();
        self.parts.order.rank_queued(&ask, jobs, &mut self.ranks)
    }

    /// Adds jobs to the queue.
    fn join(&mut self, view: &View<'_>, jobs: &[JobId]) -> Result<()> {
        for &job in jobs {
            if let Some(power) = &mut self.power {
                power.ceiling.joined(view, job);
            }
            self.parts.placement.notice(view, News::Joined(job))?;
        }
        self.enqueue(view, jobs)
    }

    fn enqueue(&mut self, view: &View<'_>, jobs: &[JobId]) -> Result<()> {
        if jobs.is_empty() {
            return Ok(());
        }
        self.rank(view, jobs)?;
        let Self { parts, power, queue, least, ranks, memory, .. } = self;
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        for (&job, &rank) in jobs.iter().zip(&*ranks) {
            let key = QueueKey { tier: view.tier(job), rank, submit: view.jobs.eligible(job), row: job.0 };
            memory.quotas.join(view.jobs, key);
            let (class, watts) = power.as_mut().map_or((ClassId::OTHER, 0), |power| {
                let class = power.prices.class_of(&ask, job);
                (class, power.prices.in_class(&ask, job, class).least.microwatts_down())
            });
            let waiting = Waiting {
                key,
                units: view.jobs.units(job, view.platform),
                length: least.length(view, job),
                watts,
                class: view.shares.map_or(class, |shares| shares.cells().in_slot(job, class)),
            };
            parts.backfill.note_queued(&waiting);
            queue.insert(waiting);
        }
        Ok(())
    }

    /// Chooses sizes of the jobs that wait. True if any changes: then nothing starts until the new sizes are in force.
    fn choose_sizes(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<bool> {
        let Self { parts, power, queue, least, .. } = self;
        let Some(sizing) = &mut parts.sizing else { return Ok(false) };
        let jobs: Vec<_> = queue.iter().map(|waiting| JobId(waiting.key.row)).collect();
        let room = power.as_ref().map(|power| power.ceiling.room(view));
        let mut sizes = Vec::with_capacity(jobs.len());
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        sizing.sizes(&ask, room, &jobs, &mut sizes)?;
        let changed = jobs.into_iter().zip(sizes).filter(|&(job, size)| view.jobs.node_count(job) != size);
        let mut others = Vec::new();
        for (job, size) in changed {
            out.push(Decision::Size(job, size));
            others.push(job);
        }
        let is_any = !others.is_empty();
        self.sized = is_any.then_some(others);
        Ok(is_any)
    }

    /// Queues the jobs again that have another size: their units, lengths and prices change with it.
    fn join_sized(&mut self, view: &View<'_>, jobs: &[JobId]) -> Result<()> {
        let rows: BTreeSet<u32> = jobs.iter().map(|job| job.0).collect();
        let keys: Vec<_> = self.queue.iter().map(|waiting| waiting.key).filter(|key| rows.contains(&key.row)).collect();
        for key in keys {
            self.queue.remove(key);
        }
        if let Some(power) = &mut self.power {
            for &job in jobs {
                power.prices.forget(job);
            }
        }
        self.enqueue(view, jobs)
    }

    /// Starts the jobs that start now; returns the units that are free afterwards.
    fn pass(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<i64> {
        let Self { parts, power, queue, memory, least, .. } = self;
        parts.placement.notice(view, News::Begins)?;
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        let desk = Desk::new(ask, parts.placement.as_mut(), power.as_mut(), memory, out);
        let mut desk = desk.ordered(parts.order.as_mut());
        parts.backfill.select(&mut desk, queue)?;
        desk.finish(queue)
    }

    /// Rejects jobs just submitted that fit none of the budgets to come, if a forecast predicts draws: it is asked as a
    /// pass begins, so that the jobs could not be judged at their submission.
    fn judge_new(&mut self, view: &View<'_>, out: &mut Decisions) {
        if self.power.is_none() || self.submitted.is_empty() || !self.tells_draws() {
            return;
        }
        let mut submitted = std::mem::take(&mut self.submitted);
        submitted.retain(|&job| {
            let fits_none = self.is_beyond(view, job);
            if fits_none {
                out.reject(job, Rejection::Power);
            }
            !fits_none
        });
        self.submitted = submitted;
    }

    /// True if its forecast predicts the draws of jobs.
    fn tells_draws(&self) -> bool {
        self.parts.forecast.as_ref().is_some_and(|forecast| forecast.tells_draws())
    }

    /// True if the job would pass the ceiling now and at all times to come, on any nodes of an otherwise idle machine.
    fn is_beyond(&mut self, view: &View<'_>, job: JobId) -> bool {
        let estimate = self.parts.analyzer.at_last(view.jobs, job);
        let view = &smallest(view, &self.parts);
        let ask = Ask { view, analyzer: self.parts.analyzer.as_ref(), least: &self.least };
        self.power.as_mut().is_some_and(|power| power.exceeds(&ask, job, estimate))
    }

    /// Rejects the jobs of the queue that fit none of the budgets to come (operations page, rule 11).
    fn judge_again(&mut self, view: &View<'_>, out: &mut Decisions) {
        let Self { power: Some(power), queue, submitted, admitted, parts, judged, least, memory, .. } = self else {
            return;
        };
        if view.budgets.have_no_end() {
            // The budgets repeat: one that a job was admitted for comes again.
            return;
        }
        memory.quotas.put_all_back(queue);
        let view = &smallest(view, parts);
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        let ever = Some(power.ceiling.ever(view));
        if std::mem::replace(judged, ever) == ever {
            return;
        }
        let mut exceeds = |job| {
            let fits_none = power.exceeds(&ask, job, parts.analyzer.at_last(view.jobs, job));
            if fits_none {
                out.reject(job, Rejection::Power);
                power.prices.forget(job);
            }
            fits_none
        };
        submitted.retain(|&job| !exceeds(job));
        admitted.retain(|&job| !exceeds(job));
        let keys: Vec<_> = queue.iter().map(|waiting| waiting.key).filter(|key| exceeds(JobId(key.row))).collect();
        for key in keys {
            memory.quotas.leave(view.jobs, JobId(key.row));
            queue.remove(key);
        }
    }

    /// True if jobs may be suspended for urgent ones, or resumed, in this pass.
    fn is_urgent(&self, view: &View<'_>) -> bool {
        if view.queues.is_none() {
            return false;
        }
        let front = self.queue.get(Place::FRONT).map(|waiting| JobId(waiting.key.row));
        urgent::matters(view, front.into_iter().chain(self.admitted.iter().copied()))
    }

    /// True if what is planned for later may wake nodes or put them to sleep. Tells the backfill which nodes these are.
    fn looks_ahead(&mut self, view: &View<'_>) -> bool {
        let Some(sleep) = &mut self.sleep else { return false };
        let does = sleep.looks_ahead(view);
        if self.parts.backfill.names_nodes() {
            self.parts.backfill.look_ahead(sleep.awaited(view));
        }
        does
    }

    /// Finishes a pass: forgets the prices of the jobs that start, applies what first runs have taught, and notes the
    /// basis on which the starts are counted.
    fn settle(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        if let Some(power) = &mut self.power {
            out.starts().for_each(|start| power.prices.forget(start.job));
        }
        self.teach(view, out)?;
        let Self { parts, least, power, .. } = self;
        if power.is_none() && parts.sizing.as_ref().is_none_or(|sizing| !sizing.resizes_runs()) {
            return Ok(());
        }
        let estimate = |job| parts.analyzer.estimate(view.jobs, job);
        out.revise(|start, _| start.basis = Basis { least: least.of(view, start.job), estimate: estimate(start.job) });
        Ok(())
    }

    /// Applies what the first runs of this pass teach: waiting jobs of their applications are queued again at their
    /// predicted draws, and those held for a profile join the queue.
    fn teach(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        if !self.parts.analyzer.learns() {
            return Ok(());
        }
        let lessons = Lessons::learn(view, self.parts.analyzer.as_mut(), &self.least, out, self.power.is_some());
        if lessons.apps.is_empty() {
            return Ok(());
        }
        self.memory.quotas.put_all_back(&mut self.queue);
        let stale = self.queue.iter().filter(|waiting| lessons.concern(view.jobs, JobId(waiting.key.row)));
        let stale: Vec<_> = stale.map(|waiting| waiting.key).collect();
        for &key in &stale {
            self.memory.quotas.leave(view.jobs, JobId(key.row));
            self.queue.remove(key);
        }
        self.enqueue(view, &stale.iter().map(|key| JobId(key.row)).collect::<Vec<_>>())?;
        let gate = self.parts.gate.as_mut();
        let held: Vec<_> =
            gate.map_or_else(Vec::new, |gate| lessons.apps.iter().flat_map(|&app| gate.release(app)).collect());
        self.join(view, &held)
    }
}

impl Policy for Composed {
    fn name(&self) -> &str {
        &self.name
    }

    fn notice(&mut self, jobs: Jobs<'_>, notice: Notice) {
        match notice {
            Notice::Started(job) => self.memory.quotas.start_elsewhere(jobs, job),
            Notice::Inherited(job) => self.memory.quotas.inherit(jobs, job),
            Notice::Ended(job) => self.memory.quotas.end(jobs, job),
            Notice::Submitted(job) => {
                self.submitted.push(job);
                if let Some(sleep) = &mut self.sleep {
                    sleep.note_arrival(job);
                }
            }
            Notice::Requeued(job) => {
                self.submitted.push(job);
                self.memory.note_return();
            }
            Notice::Withdrawn(job) => self.withdrawn.push(job),
            Notice::BudgetChanged => self.budget_changed = true,
            _ => {}
        }
    }

    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        self.memory.begin(!self.withdrawn.is_empty());
        self.let_go(view.jobs);
        self.memory.quotas.put_back(&mut self.queue);
        self.judge_new(view, out);
        if std::mem::take(&mut self.budget_changed) {
            self.judge_again(view, out);
        }
        self.admit(view, out);
        let mut free_units = if view.is_held { 0 } else { view.slots.free_units() };
        let is_beat = self.parts.order.changes().beat(view.now) != self.ranked;
        if is_beat {
            self.arrange(view)?;
        }
        let looks_ahead = self.looks_ahead(view);
        let is_urgent = self.is_urgent(view);
        // Every job needs a free unit or a node that can be woken. Until there is one, new jobs need not even be sorted
        // in.
        let is_any = is_urgent || !(self.queue.is_empty() && self.admitted.is_empty());
        let keeps_time = self.parts.backfill.keeps_time();
        if keeps_time || ((free_units > 0 || looks_ahead || is_urgent) && is_any) {
            self.arrange(view)?;
            match self.sized.take() {
                Some(jobs) => self.join_sized(view, &jobs)?,
                None if self.choose_sizes(view, out)? => return Ok(()),
                None => {}
            }
            self.memory.quotas.begin(&mut self.queue);
            if free_units > 0 || self.parts.backfill.names_nodes() {
                free_units = self.pass(view, out)?;
                self.settle(view, out)?;
            }
        }
        let free_units = if view.is_held { view.slots.free_units() } else { free_units };
        self.parts.placement.notice(view, News::Over(view.platform.units() - free_units))
    }

    fn timing(&self) -> Timing {
        self.parts.timing
    }

    fn enforce_limits(&mut self, grace: SimDuration) -> bool {
        self.parts.backfill.enforce_limits(grace)
    }

    fn grow(&mut self, growth: &Growth) {
        self.memory.quotas.grow(growth.queues.as_ref());
        if let Some(queues) = &growth.queues {
            self.parts.order.grow(queues);
        }
        if let (Some(groups), Some(follower)) = (&growth.groups, self.parts.order.follower()) {
            follower.group(groups);
        }
    }

    fn appraise(&mut self, view: &View<'_>, job: JobId, nodes: &[u32]) -> (Watts, Basis) {
        let Self { parts, power, least, .. } = self;
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        let watts = if power.is_some() { beyond_idle(&ask, job, nodes) } else { Watts::ZERO };
        (watts, Basis { least: least.of(view, job), estimate: parts.analyzer.estimate(view.jobs, job) })
    }

    fn budget(&self) -> Option<Watts> {
        self.power.as_ref().map(|power| power.ceiling.draw())
    }

    fn divide(&mut self, _cells: &Arc<Cells>, exclusive: bool) -> Result<()> {
        let backfill = if exclusive { self.parts.backfill.by_cell() } else { self.parts.backfill.by_node() };
        let features = std::mem::take(&mut self.features);
        self.features = features.with(Feature::UnlikeNodes, true).with(Feature::CountsAlike, backfill.is_none());
        self.features.check()?;
        if let Some(backfill) = backfill {
            self.parts.backfill = backfill;
        }
        Ok(())
    }

    fn line_up(&mut self, queues: &Arc<Queues>) -> Result<()> {
        self.features = std::mem::take(&mut self.features)
            .with(Feature::Preemption, queues.preempt())
            .with(Feature::SeveralSets, queues.lanes() > 1);
        self.features.check()?;
        self.memory.quotas.line_up(queues);
        let own = queues.all().iter().map(|queue| queue.order.as_deref().map(order::of_queue).transpose());
        let own: Vec<_> = own.collect::<Result<_>>()?;
        if own.iter().any(Option::is_some) {
            let policy = std::mem::replace(&mut self.parts.order, Box::new(Fcfs));
            self.parts.order = Box::new(ByQueue::new(policy, own, Arc::clone(queues)));
        }
        Ok(())
    }

    fn leaves_out(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        self.parts.backfill.leaves_out(jobs, job)
    }

    fn between(&mut self, view: &View<'_>, job: JobId) -> Option<Between> {
        if self.tells_draws() {
            return None;
        }
        let Self { parts, power: Some(power), least, .. } = self else { return None };
        let view = &smallest(view, parts);
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        power.between(&ask, job, parts.analyzer.at_last(view.jobs, job), least.length(view, job))
    }

    fn remember(&self, kept: &mut Recollection) {
        self.parts.analyzer.remember(kept);
        self.parts.order.remember(kept);
        if self.parts.backfill.keeps_time() {
            kept.note_gap();
        }
        self.parts.placement.remember(kept);
        kept.keep(JOINED, self.queue.everyone().map(|waiting| waiting.key.row.into()).collect());
        self.sleep.iter().for_each(|sleep| sleep.remember(kept));
    }

    fn recall(&mut self, view: &View<'_>, kept: &Recollection) {
        self.parts.analyzer.recall(kept);
        self.parts.order.recall(view.now, kept);
        self.parts.placement.recall(view, kept);
        self.sleep.iter_mut().for_each(|sleep| sleep.recall(kept));
    }

    fn exceeds_budget(&mut self, view: &View<'_>, job: JobId) -> bool {
        !self.tells_draws() && self.is_beyond(view, job)
    }
}

impl Facets for Composed {
    fn governor(&mut self) -> Option<&mut dyn Governor> {
        if self.governance.is_some() { Some(self) } else { None }
    }

    fn sleeper(&mut self) -> Option<&mut dyn Sleeper> {
        if self.sleep.is_some() { Some(self) } else { None }
    }

    fn pool_sleeper(&mut self) -> Option<&mut dyn PoolSleeper> {
        if self.sleep.is_some() { Some(self) } else { None }
    }

    fn resizer(&mut self) -> Option<&mut dyn Resizer> {
        let resizes = self.parts.sizing.as_ref().is_some_and(|sizing| sizing.resizes_runs());
        if resizes { Some(self) } else { None }
    }

    fn agent(&mut self) -> Option<&mut Agent> {
        let agent = self.parts.backfill.agent()?;
        Some(agent.behind(self.queue.get(Place::FRONT).map(|waiting| waiting.key)))
    }

    fn forecast(&mut self) -> Option<&mut dyn Forecast> {
        Some(self.parts.forecast.as_mut()?.as_mut())
    }

    fn follower(&mut self) -> Option<&mut dyn Follower> {
        self.parts.order.follower()
    }

    fn learners(&mut self) -> &mut [Box<dyn Learner>] {
        &mut self.parts.learners
    }
}

impl Resizer for Composed {
    fn resize(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        let Self { parts, power, least, growing, queue, admitted, submitted, withdrawn, .. } = self;
        let Some(sizing) = &mut parts.sizing else { return Ok(()) };
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        let room = power.as_ref().map(|power| power.ceiling.room(view));
        let waiting = || {
            let queued = queue.iter().map(|waiting| JobId(waiting.key.row));
            let all = queued.chain(admitted.iter().copied()).chain(submitted.iter().copied());
            all.filter(|job| !withdrawn.contains(job)).collect()
        };
        growing.decide(&ask, sizing.as_mut(), parts.placement.as_mut(), (room, waiting), out)
    }
}

/// Features of the parts on a platform, which is all of the machine or serves `some_nodes` of it.
fn features(parts: &mut Parts, platform: &Platform, some_nodes: bool, governs: bool) -> Features {
    let (sleeps, names_nodes) = (parts.sleep.is_some(), parts.backfill.names_nodes());
    let under_budget = sleeps && parts.power.is_some();
    Features::default()
        .with(Feature::Sleep, sleeps)
        .with(Feature::SleepByCount, sleeps && !names_nodes)
        .with(Feature::SleepByPlan, sleeps && names_nodes)
        .with(Feature::SleepUnderBudget, under_budget)
        .with(Feature::Governance, governs)
        .with(Feature::SomeNodes, some_nodes)
        .with(Feature::CountsNoBoots, under_budget && parts.backfill.beside_sleep().is_none())
        .with(Feature::CountsNodes, !names_nodes)
        .with(Feature::OwnCandidates, parts.backfill.has_own_order())
        .with(Feature::StarvationLimit, parts.backfill.first_after().is_some())
        .with(Feature::JointPlacement, parts.placement.jointly().is_some())
        .with(Feature::SharedNodes, !platform.is_exclusive())
}

/// Checks that a node of the idle machine can boot under a ceiling (page on sleep under a budget, rule 3).
fn check_boots(ceiling: Watts, platform: &Platform, whole: &Platform) -> Result<()> {
    let most = platform.nodes().iter().map(NodeDraw::beyond_idle_to_boot).max().unwrap_or_default();
    let least = whole.idle() + most;
    if ceiling.as_ceiling() >= least {
        return Ok(());
    }
    let why = format!(
        "at least {} W: the idle machine draws {} W, and one of its nodes {} W more while it boots",
        least.watts(),
        whole.idle().watts(),
        most.watts()
    );
    Err(config("policy.power", format!("{} W", ceiling.watts()), why))
}

/// The same view with each job as small as the policy can make it.
fn smallest<'a>(view: &View<'a>, parts: &Parts) -> View<'a> {
    if parts.sizing.is_some() { View { jobs: view.jobs.least(), ..*view } } else { *view }
}

/// Rank of a number by which a queue is ordered: lower numbers first, equal numbers equal.
#[must_use]
pub fn rank_of(value: f64) -> i64 {
    let bits = (value + 0.0).to_bits().cast_signed();
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_keep_the_order_of_numbers() {
        let numbers = [f64::NEG_INFINITY, -2.5, -1.0, -0.0, 1e-300, 1.0, 3.0, f64::INFINITY];
        assert!(numbers.windows(2).all(|pair| rank_of(pair[0]) < rank_of(pair[1])));
        assert_eq!(rank_of(-0.0), rank_of(0.0));
    }
}
