//! A policy composed of parts, which are asked in turn: gate, order, backfill and placement, all under a budget.

pub(in crate::policy) mod features;
mod governing;
mod judging;
mod queueing;
mod settling;
mod sizes;
mod starting;

use std::sync::Arc;

use crate::algo::fit_list::FitList;
use crate::cluster::growth::Growth;
use crate::cluster::runs::RunId;
use crate::cluster::standby::Expected;
use crate::error::Result;
use crate::platform::Platform;
use crate::platform::cells::Cells;
use crate::platform::queues::Queues;
use crate::platform::scope::Scope;
use crate::policy::agent::Agent;
use crate::policy::allocator::Allocator;
use crate::policy::analyzer::forecast::Forecast;
use crate::policy::analyzer::{Analyzer, Ask};
use crate::policy::backfill::Backfill;
use crate::policy::budget::draw::beyond_idle;
use crate::policy::budget::least::LeastCaps;
use crate::policy::budget::system_budget::SystemBudget;
use crate::policy::budget::{Between, Power};
use crate::policy::desk::Memory;
use crate::policy::emergency::monitor::Monitor;
use crate::policy::gate::UntilProfiled;
use crate::policy::governing::Governance;
use crate::policy::order::arrival::Fcfs;
use crate::policy::order::by_queue::ByQueue;
use crate::policy::order::{self, Order};
use crate::policy::placement::Placement;
use crate::policy::recollection::{JOINED, Recollection};
use crate::policy::registry::refused::{Feature, Features};
use crate::policy::resizing::Growing;
use crate::policy::sizing::Sizing;
use crate::policy::sleep::rules::Rules;
use crate::policy::sleep::{Alarm, Sleep};
use crate::policy::timing::Timing;
use crate::policy::usage::{Learner, Over, Use};
use crate::policy::{Basis, Decisions, Jobs, Notice, Policy, Stage, Stages, View};
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
    pub gate: Option<UntilProfiled>,
    /// Order: which job is next.
    pub order: Box<dyn Order>,
    /// Backfill: which jobs may overtake.
    pub backfill: Box<dyn Backfill>,
    /// Placement: which nodes jobs get.
    pub placement: Box<dyn Placement>,
    /// Budget: the ceiling on the machine's draw, if there is one.
    pub power: Option<Box<SystemBudget>>,
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
        Self::within(name, parts, Scope::all(platform))
    }

    /// Composes a policy for some nodes of a machine: a budget is that of the whole machine.
    ///
    /// # Errors
    /// If nothing could ever start under the budget.
    pub fn within(name: impl Into<String>, mut parts: Parts, scope: Scope<'_>) -> Result<Self> {
        let platform = scope.platform();
        parts.backfill.check(platform)?;
        parts.backfill.queue_in(parts.order.as_ref());
        let power = parts.power.as_deref().map(|budget| Power::new(budget, scope, parts.analyzer.learns()));
        let mut governance = parts.power.as_deref().map(SystemBudget::governance);
        if let Some((governance, own)) = governance.as_mut().zip(parts.allocator.take()) {
            governance.allocator = own;
        }
        if let Some(governance) = &mut governance {
            governance.gauge = parts.gauge.take();
        }
        let governance = governance.filter(Governance::is_active);
        let sleep = parts.sleep.as_ref().map(|rules| Sleep::new(rules, scope)).transpose()?;
        let mut power = power.transpose()?;
        let features = features::of(&mut parts, platform, governance.is_some());
        features.check()?;
        if let (Some(power), true) = (&mut power, sleep.is_some()) {
            features::check_boots(power.ceiling.draw(), platform)?;
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
}

impl Policy for Composed {
    fn name(&self) -> &str {
        &self.name
    }

    fn notice(&mut self, jobs: Jobs<'_>, notice: Notice) {
        match notice {
            Notice::Started(job) => self.memory.quotas.start_elsewhere(jobs, job),
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
            Notice::Steered(level) => {
                if let Some(governance) = &mut self.governance {
                    governance.allocator.steer(level);
                }
            }
            _ => {}
        }
    }

    fn stages(&self) -> Stages {
        let (governance, parts) = (self.governance.as_ref(), &self.parts);
        Stages {
            monitor: governance.and_then(Governance::monitor),
            allot: governance.and_then(Governance::interval),
            resizes: parts.sizing.as_ref().is_some_and(|sizing| sizing.resizes_runs()),
            rests: self.sleep.is_some(),
            follows: parts.order.follows(),
            learns: !parts.learners.is_empty(),
        }
    }

    fn decide(&mut self, stage: Stage, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        match stage {
            Stage::Recover => self.recover(view, out),
            Stage::Resize => self.resize(view, out),
            Stage::Start => self.start(view, out),
            Stage::Rest => self.rest(view, out),
            Stage::Allot => self.allot(view, out),
            Stage::Alert => self.alert(view),
            Stage::Relieve => self.relieve(view, out),
        }
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
        if let Some(groups) = &growth.groups {
            self.parts.order.group(groups);
        }
    }

    fn appraise(&mut self, view: &View<'_>, job: JobId, nodes: &[u32]) -> (Watts, Basis) {
        let Self { parts, power, least, .. } = self;
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        let watts = if power.is_some() { beyond_idle(&ask, job, nodes) } else { Watts::ZERO };
        (watts, Basis { least: least.of(view, job), estimate: parts.analyzer.estimate(view.jobs, job) })
    }

    fn take_over(&mut self, view: &View<'_>, id: RunId) -> Result<()> {
        view.runs.get(id).iter().for_each(|run| self.memory.quotas.inherit(view.jobs, run.job));
        Ok(())
    }

    fn budget(&self) -> Option<Watts> {
        self.power.as_ref().map(|power| power.ceiling.draw())
    }

    fn divide(&mut self, _cells: &Arc<Cells>, exclusive: bool) -> Result<()> {
        let backfill = if exclusive { self.parts.backfill.by_cell() } else { self.parts.backfill.by_node() };
        let features = std::mem::take(&mut self.features);
        self.features = features
            .with(Feature::UnlikeNodes, true)
            .with(Feature::BeyondSlots, true)
            .with(Feature::CountsAlike, backfill.is_none());
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
        let view = &judging::smallest(view, parts);
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

    fn agent(&mut self) -> Option<&mut Agent> {
        let agent = self.parts.backfill.agent()?;
        Some(agent.behind(self.queue.first().map(|waiting| waiting.key)))
    }

    fn forecast(&mut self) -> Option<&mut dyn Forecast> {
        Some(self.parts.forecast.as_mut()?.as_mut())
    }

    fn follow(&mut self, uses: &[Use]) {
        self.parts.order.follow(uses);
    }

    fn learn(&mut self, view: &View<'_>, over: &[Over]) -> Result<()> {
        self.parts.learners.iter_mut().try_for_each(|learner| learner.learn(view, over))
    }

    fn read(&mut self, view: &View<'_>, draw: Watts) -> Result<Watts> {
        let gauge = self.governance.as_mut().and_then(|governance| governance.gauge.as_mut());
        gauge.map_or(Ok(draw), |gauge| gauge.read(view, draw))
    }

    fn expect(&self, view: &View<'_>, out: &mut Expected) -> bool {
        self.expected(view, out)
    }

    fn idles_without_jobs(&self) -> bool {
        let Parts { backfill, placement, .. } = &self.parts;
        self.power.is_none() && !backfill.keeps_time() && placement.is_repeatable()
    }

    fn expects_without_queue(&self) -> bool {
        self.power.is_some() || self.sleep.as_ref().is_some_and(Sleep::foresees)
    }

    fn alarm(&mut self, further: bool) -> Option<Alarm> {
        if further {
            self.look_further();
        }
        self.sleep.as_ref().and_then(Sleep::alarm)
    }
}
