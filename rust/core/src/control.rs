//! Controller: a cluster and the policy that decides about it.
//!
//! It has no clock and does not know the true lengths and draws. Its host, a simulation or a live machine, informs it
//! of events and carries its decisions out.

mod account;
pub mod conductor;
pub mod live;
mod memory;
pub mod orders;
mod pass;
pub mod succession;
mod under_way;

use std::sync::Arc;

use crate::algo::span::Span;
use crate::cluster::capacity::Sight;
use crate::cluster::growth::Growth;
use crate::cluster::runs::{Run, RunId};
use crate::cluster::{Cluster, Retimed};
use crate::control::account::Account;
use crate::error::{Result, SimulationError};
use crate::platform::cells::{Cells, Lack};
use crate::platform::node_state::NodeState;
use crate::platform::outages::{Maintenance, Outage, Turn};
use crate::platform::queues::{Bar, Queues};
use crate::policy::budget::Between;
use crate::policy::registry::refused::{Feature, Features};
use crate::policy::stage::PassStages;
use crate::policy::timing::Timing;
use crate::policy::usage::Use;
use crate::policy::{Decision, Decisions, Notice, Policy, Stages};
use crate::power::budgets::BudgetRow;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

pub use crate::cluster::Effect;

/// Reason for which a job joins no queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its queue takes no jobs of its kind.
    Bar(Bar),
    /// It asks for more nodes than there are.
    Nodes,
    /// It asks for more slots a node than nodes have.
    Slots,
    /// No node, or not enough, can ever serve it.
    Lack(Lack),
    /// The policy knows no start for it, and leaves it out.
    LeftOut,
    /// It would exceed the power budget on any nodes.
    Power,
    /// It fits between no two budgets to come, and such jobs are not to wait.
    Between,
}

/// A cluster under a policy.
#[expect(clippy::struct_excessive_bools, reason = "they are facts that do not depend on each other")]
#[derive(Clone)]
pub struct Controller {
    cluster: Cluster,
    policy: Box<dyn Policy>,
    decisions: Decisions,
    /// Stages of the policy that matter here.
    stages: Stages,
    /// Those of a pass, in order.
    in_pass: PassStages,
    /// True if nodes may be switched off.
    sleeps: bool,
    /// True if the policy keeps the predicted draw under a ceiling.
    counts_watts: bool,
    /// True if a forecast tells how long jobs run.
    foretells: bool,
    /// True if an agent decides for the policy.
    asks: bool,
    /// The pass under way.
    pass: Course,
    /// Jobs that an analyzer, if there is one, has not been asked about yet.
    foretold: Foretold,
    account: Account,
    /// True if jobs that fit between no two budgets are rejected.
    rejects_between: bool,
}

/// Jobs for which the forecast is still to be asked.
#[derive(Clone, Default)]
struct Foretold {
    joined: Vec<JobId>,
}

/// State of a pass.
#[derive(Clone, Copy, Default)]
struct Course {
    /// Measured draw of the machine above the predicted one.
    surplus: Watts,
    /// Watts above their least that resumed runs asked for.
    withheld: Watts,
    /// True if nothing may start in it.
    is_held: bool,
    /// True if an allocator with an interval has to look at its end.
    is_allot_due: bool,
}

impl Controller {
    /// Puts a cluster under a policy.
    #[must_use]
    pub fn new(mut cluster: Cluster, mut policy: Box<dyn Policy>) -> Self {
        let mut stages = policy.stages();
        stages.resizes &= cluster.workload().has_malleable();
        if stages.governs() || stages.resizes {
            cluster.govern(stages.allot.is_some());
        }
        if stages.rests {
            cluster.watch_idle();
        }
        let account = Account::of(stages, &cluster);
        Self {
            asks: policy.agent().is_some(),
            counts_watts: policy.budget().is_some(),
            foretells: policy.forecast().is_some(),
            cluster,
            policy,
            account,
            decisions: Decisions::default(),
            sleeps: stages.rests,
            in_pass: stages.of_pass(),
            stages,
            pass: Course::default(),
            foretold: Foretold::default(),
            rejects_between: false,
        }
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Lets the policy see lanes of these queues from now on, one of them in place of the machine or each.
    pub fn split(&mut self, queues: &Arc<Queues>, sight: Sight) {
        self.cluster.split(queues, sight);
    }

    /// Declares, before anything has happened, that nodes differ in what jobs ask for.
    ///
    /// # Errors
    /// If that matters and the policy cannot take it into account.
    pub fn divide(&mut self, cells: Arc<Cells>) -> Result<()> {
        if cells.divide() {
            let features = Features::default().with(Feature::UnlikeNodes, true);
            features.with(Feature::Resizing, self.stages.resizes).check()?;
            self.policy.divide(&cells, self.cluster.platform().is_exclusive())?;
        }
        self.cluster.divide(cells);
        Ok(())
    }

    /// Declares, before anything has happened, that jobs are in queues.
    ///
    /// # Errors
    /// If the policy cannot take queues into account.
    pub fn line_up(&mut self, queues: Arc<Queues>) -> Result<()> {
        let features = Features::default().with(Feature::UnlikeNodes, self.cluster.is_divided());
        features.with(Feature::Preemption, queues.preempt()).check()?;
        self.policy.line_up(&queues)?;
        self.cluster.line_up(queues);
        Ok(())
    }

    /// Adds jobs; `has_joined` is true for the earlier jobs that have joined the queue.
    pub fn grow(&mut self, growth: &Growth, has_joined: &dyn Fn(JobId) -> bool) {
        self.cluster.grow(growth, has_joined);
        self.policy.grow(growth);
    }

    /// Moves the clock.
    pub fn advance(&mut self, now: SimTime) {
        self.cluster.advance(now);
    }

    /// Reason for which the job would never start; `None` if it may. Jobs that are submitted later are not taken into
    /// account.
    pub fn refuses(&mut self, job: JobId) -> Option<Refusal> {
        let (workload, platform) = (self.cluster.workload(), self.cluster.platform());
        if let Some(bar) = self.cluster.bar(job) {
            Some(Refusal::Bar(bar))
        } else if workload.size_range(job).0 > platform.len() {
            Some(Refusal::Nodes)
        } else if workload.slots(job) > platform.slots() {
            Some(Refusal::Slots)
        } else if let Some(lack) = self.cluster.lack(job) {
            Some(Refusal::Lack(lack))
        } else if self.policy.leaves_out(self.cluster.jobs(), job) {
            Some(Refusal::LeftOut)
        } else if self.counts_watts && self.policy.exceeds_budget(&self.cluster.view(Watts::ZERO, &|| false), job) {
            Some(Refusal::Power)
        } else if self.rejects_between && self.between(job).is_some_and(|need| !need.is_free_at_last) {
            Some(Refusal::Between)
        } else {
            None
        }
    }

    /// Need of a job that fits between no two budgets to come; `None` if it fits.
    pub fn between(&mut self, job: JobId) -> Option<Between> {
        if !self.counts_watts {
            return None;
        }
        self.policy.between(&self.cluster.view(Watts::ZERO, &|| false), job)
    }

    /// Assumes from now on that more budgets like these follow after the last. `rejects_between`: jobs that fit between
    /// no two of them are turned away.
    pub fn budgets_go_on(&mut self, rejects_between: bool) {
        self.cluster.budgets_go_on();
        self.rejects_between = rejects_between;
    }

    /// Submits a job: it joins the queue, or is turned away.
    pub fn submit(&mut self, job: JobId) -> Option<Refusal> {
        let refusal = self.refuses(job);
        if refusal.is_some() {
            self.cluster.turn_away(job);
        } else {
            self.cluster.submit(job);
            self.tell_of(job);
        }
        refusal
    }

    /// Submits a job that may have to wait before it joins the queue: it is held, or turned away.
    pub fn hold(&mut self, job: JobId) -> Option<Refusal> {
        let refusal = self.refuses(job);
        if refusal.is_some() {
            self.cluster.turn_away(job);
        } else {
            self.cluster.hold(job);
        }
        refusal
    }

    /// Lets a held job join the queue, as it has become eligible, or turns it away if the budget has changed since and
    /// it does not fit any more.
    pub fn admit(&mut self, job: JobId) -> Option<Refusal> {
        let refusal = self.refuses(job);
        if refusal.is_some() {
            self.cluster.turn_away(job);
        } else {
            self.cluster.admit(job);
            self.tell_of(job);
        }
        refusal
    }

    /// Withdraws a job, and returns whether it was queued; `None` if it runs or is over.
    pub fn withdraw(&mut self, job: JobId) -> Option<bool> {
        let was_queued = self.cluster.withdraw(job)?;
        if was_queued {
            self.tell(Notice::Withdrawn(job));
        }
        Some(was_queued)
    }

    /// Requeues a job whose run is over, in its old place.
    pub fn requeue(&mut self, run: &Run) {
        self.cluster.requeue(run.job, run.attempt);
        self.account.requeue(run.job);
        self.tell(Notice::Requeued(run.job));
    }

    /// Requeues a job whose last run is over, in its old place.
    pub fn requeue_over(&mut self, job: JobId) {
        self.cluster.requeue(job, self.cluster.lost_attempts(job) + 1);
        self.account.requeue(job);
        self.tell(Notice::Requeued(job));
    }

    /// Makes now the instant at which a node in transition arrives.
    pub fn nodes_turn_now(&mut self, node: u32) {
        self.cluster.turn_now(node);
    }

    /// Ends a run; `None` if it was over already.
    ///
    /// # Errors
    /// If its nodes do not serve it.
    pub fn end(&mut self, id: RunId) -> Result<Option<Box<Run>>, SimulationError> {
        let run = self.cluster.end(id)?;
        if let Some(run) = &run {
            self.account.end(&self.cluster, run);
            self.tell(Notice::Ended(run.job));
        }
        Ok(run)
    }

    /// Takes a run that is over and no longer of interest: its memory serves one to come.
    pub fn reuse(&mut self, run: Box<Run>) {
        self.cluster.reuse(run);
    }

    /// Makes booting nodes that are alike ready; false if they have changed state in the meantime.
    ///
    /// # Errors
    /// Same as for [`Cluster::nodes_ready`].
    pub fn nodes_ready(&mut self, nodes: Span) -> Result<bool, SimulationError> {
        let are_ready = self.cluster.nodes_ready(nodes)?;
        if are_ready {
            self.tell(Notice::NodeReady(nodes));
        }
        Ok(are_ready)
    }

    /// Makes nodes that shut down and are alike off; false if they have changed state in the meantime.
    ///
    /// # Errors
    /// Same as for [`Cluster::nodes_off`].
    pub fn nodes_off(&mut self, nodes: Span) -> Result<bool, SimulationError> {
        let are_off = self.cluster.nodes_off(nodes)?;
        if are_off {
            self.tell(Notice::NodeOff(nodes));
        }
        Ok(are_off)
    }

    /// Ends an outage of a node: a failure by its repair, or else maintenance.
    ///
    /// # Errors
    /// Same as for [`Cluster::end_outage`].
    pub fn end_outage(&mut self, node: u32, is_repair: bool) -> Result<Turn, SimulationError> {
        let turn = self.cluster.end_outage(node, is_repair)?;
        if turn == Turn::Turns {
            self.tell(Notice::NodeReady(Span::of(node)));
        }
        Ok(turn)
    }

    /// Begins an outage of a node.
    pub fn begin_outage(&mut self, node: u32, why: Outage) -> Turn {
        self.cluster.begin_outage(node, why)
    }

    /// Takes a node down; the runs on it must have ended.
    pub fn node_down(&mut self, node: u32) {
        self.cluster.node_down(node);
        self.tell(Notice::NodeFailed(node));
    }

    /// Adds a window of maintenance to come.
    pub fn plan_maintenance(&mut self, window: Maintenance) {
        self.cluster.plan_maintenance(window);
    }

    /// Adds budgets from outside, which replace the policy's own while they hold.
    pub fn add_budgets(&mut self, rows: Vec<BudgetRow>) {
        self.cluster.add_budgets(rows);
    }

    /// Informs the policy that a budget from outside begins to hold, or ends.
    pub fn budget_changed(&mut self) {
        self.tell(Notice::BudgetChanged);
    }

    /// Informs the policy that a timer has expired.
    pub fn timer(&mut self) {
        self.tell(Notice::Timer);
    }

    /// Timing of passes.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.policy.timing()
    }

    /// The ceiling under which the policy keeps the predicted draw, if it has one.
    #[must_use]
    pub fn budget(&self) -> Option<Watts> {
        self.policy.budget()
    }

    /// Stages of the policy that matter here.
    #[must_use]
    pub fn stages(&self) -> Stages {
        self.stages
    }

    /// Informs the policy of changes of what jobs use.
    pub fn follow(&mut self, uses: &[Use]) {
        self.policy.follow(uses);
    }

    /// Budget in force, if there is one.
    #[must_use]
    pub fn ceiling(&self) -> Option<Watts> {
        self.cluster.budgets().in_force(self.cluster.now(), self.policy.budget())
    }

    /// Informs policy and forecast of a job that has joined the queue.
    fn tell_of(&mut self, job: JobId) {
        if self.foretells {
            self.foretold.joined.push(job);
        }
        self.tell(Notice::Submitted(job));
    }

    /// Notes the measured draw beyond idle that the nodes of a suspended run had before.
    pub fn note_asked(&mut self, id: RunId, asks: Watts) {
        self.cluster.note_asked(id, asks);
    }

    /// Settles the instant at its end: plans follow the caps in force. Returns those that have changed.
    pub fn settle(&mut self) -> Vec<Retimed> {
        self.cluster.settle()
    }

    /// Returns the cluster.
    #[must_use]
    pub fn into_cluster(self) -> Cluster {
        self.cluster
    }

    /// Informs the policy that any node may have changed, as it begins with the machine as it is.
    pub fn nodes_found(&mut self) {
        self.tell(Notice::NodesFound);
    }

    /// Sets the state of a node that serves no job, as the policy begins with the machine as it is.
    pub fn set_node(&mut self, node: u32, state: NodeState) {
        self.cluster.set_node(node, state);
    }

    fn tell(&mut self, notice: Notice) {
        self.policy.notice(self.cluster.jobs(), notice);
    }
}

/// Callback of the host for each decision that the cluster has carried out; it fails if the host cannot follow.
pub type Host<'a> = dyn FnMut(&Cluster, &Decision, Effect) -> Result<(), SimulationError> + 'a;
