//! What a scheduler is made of: it reads a [`View`] and answers with [`Decisions`].
//!
//! A policy knows no simulator. The same one is driven by the virtual clock of `sim` or by a live cluster; both hosts keep
//! what a view borrows and carry the decisions out.

pub mod agent;
pub mod allocator;
pub mod analyzer;
pub mod backfill;
pub mod budget;
pub mod cells;
pub mod class;
pub mod compose;
pub mod desk;
pub mod draft;
pub mod eligible;
pub mod emergency;
pub mod gate;
pub mod governing;
pub mod order;
pub mod outages;
pub mod placement;
pub mod queues;
pub mod quotas;
pub mod registry;
mod resizing;
pub mod runs;
pub mod shares;
pub mod sizing;
pub mod sleep;
#[cfg(test)]
mod testing;
pub mod timing;
mod together;
mod turns;

use std::ops::Range;
use std::sync::Arc;

use dyn_clone::DynClone;

use crate::algo::releases::Releases;
use crate::error::{Result, config};
use crate::platform::Platform;
use crate::platform::node_state::NodeState;
use crate::platform::slots::Slots;
use crate::policy::agent::Agent;
use crate::policy::analyzer::Estimate;
use crate::policy::analyzer::forecast::{Forecast, Forecasts};
use crate::policy::cells::Cells;
use crate::policy::outages::Outages;
use crate::policy::queues::Queues;
use crate::policy::runs::{RunId, Runs};
use crate::policy::shares::Shares;
use crate::policy::sleep::Sleeper;
use crate::policy::sleep::standby::Standby;
use crate::policy::timing::Timing;
use crate::power::budgets::Budgets;
use crate::power::in_force::{Allotted, Profile};
use crate::power::known::KnownDraw;
use crate::power::pvt::Predicted;
use crate::power::slowest::{OwnSlowdowns, Slowest};
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::{AppId, JobId, Workload};

pub use crate::policy::eligible::Eligible;

/// What a policy may know of the jobs: all they said when they were submitted.
///
/// Where walltimes were meant for nominal speed, also how slow the slowest node is predicted to be for each application.
#[derive(Clone, Copy, Debug)]
pub struct Jobs<'a> {
    workload: &'a Workload,
    slowest: Option<&'a Slowest>,
    own_caps: Option<&'a OwnSlowdowns>,
    /// A job that is to get so many nodes of one cell.
    part: Option<(JobId, u32)>,
    eligible: Option<&'a Eligible>,
    forecasts: Option<&'a Forecasts>,
    sizes: Sized<'a>,
}

/// Which of its sizes each job is taken to have.
#[derive(Clone, Copy, Debug)]
enum Sized<'a> {
    /// The one it asks for.
    Asked,
    /// The fewest nodes.
    Least,
    /// As chosen, by job.
    Chosen(&'a [u32]),
}

/// What a policy reads when it decides.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The instant of the decision.
    pub now: SimTime,
    /// The jobs.
    pub jobs: Jobs<'a>,
    /// The machine.
    pub platform: &'a Platform,
    /// Which slots of which nodes are free.
    pub slots: &'a Slots,
    /// What each node is doing.
    pub nodes: &'a [NodeState],
    /// Which of them cannot serve for being switched off, where the policy does that.
    pub standby: Option<&'a Standby>,
    /// What runs, and what is suspended.
    pub runs: &'a Runs,
    /// When running jobs are planned to end, with the worst that the policy may do to them short of an emergency.
    pub releases: &'a Releases,
    /// Predicted draws and speeds.
    pub predicted: &'a Predicted,
    /// What all running jobs claim beyond the idle machine: the sum of their least watts.
    pub claimed: Watts,
    /// Whether what an emergency took is not given back yet, so that nothing may start.
    pub is_held: bool,
    /// The budgets from outside that there are and will be, in place of the policy's own while they hold.
    pub budgets: &'a Budgets,
    /// Which nodes are out of service, and which will be as far as that is known.
    pub outages: &'a Outages,
    /// What the machine was measured to draw beyond what is predicted; 0 where nothing is measured.
    pub surplus: Watts,
    /// What running jobs hold of each cell and licence, where nodes differ in what jobs ask for.
    pub shares: Option<&'a Shares>,
    /// The queues, where there are any.
    pub queues: Option<&'a Queues>,
    /// Says whether the host wants to stop; to be asked now and then by a pass that takes long.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// What a policy is told as it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A job joined the queue.
    Submitted(JobId),
    /// A job started that is not this policy's to start, and of whose array others may be.
    Started(JobId),
    /// A job ended, however.
    Ended(JobId),
    /// A job that ran is in the queue again, in its old place.
    Requeued(JobId),
    /// A job of the queue is withdrawn.
    Withdrawn(JobId),
    /// A node has booted or come back into service.
    NodeReady(u32),
    /// A node is off.
    NodeOff(u32),
    /// A node failed.
    NodeFailed(u32),
    /// The system's power budget changed.
    BudgetChanged,
    /// A timer the policy had set ran out.
    Timer,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Start a job.
    Start(Start),
    /// Switch a node on.
    Wake(u32),
    /// Switch a node off.
    Sleep(u32),
    /// Tell me when it is this late: makes a pass at that instant.
    Timer(SimTime),
    /// Never start a job of the queue.
    Reject(JobId, Rejection),
    /// Let a job that waits run on so many nodes.
    Size(JobId, u32),
    /// Set the allocator's caps on a run, which is predicted to draw so much beyond idle under them.
    Allot(RunId, Allotted, Watts),
    /// Set the emergency's cap on a run, W a node; infinity: none.
    Limit(RunId, f64),
    /// Have a run stand still on its nodes.
    Suspend(RunId),
    /// Have it go on.
    Resume(RunId),
    /// End a run whose work is lost; its job is queued again.
    Requeue(RunId),
    /// End a run for good.
    Kill(RunId),
    /// Have a run go on on more or fewer nodes.
    Resize(Resize),
}

/// A run that is to go on on so many nodes; those that it gets beside its own are in [`Decisions::added_by`].
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    /// Which run.
    pub id: RunId,
    /// On how many nodes; of fewer than it has it keeps those with the lowest numbers.
    pub nodes: u32,
    first_node: usize,
    node_count: usize,
}

/// Why a policy never starts a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It fits the budget only once its application has a profile, and no queued job can give it one.
    NoProfile,
    /// It fits no budget that is to come, on whatever nodes.
    Power,
}

/// A job to start, with its nodes in [`Decisions::nodes_of`].
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Which job.
    pub job: JobId,
    /// Whether an earlier job in policy order stays in the queue.
    pub overtakes: bool,
    /// How many times longer the run takes because it is profiled, if it is.
    pub profiling_ratio: Option<f64>,
    /// Watts beyond idle that the start was granted; 0 where the policy counts none.
    pub granted: Watts,
    /// What the run claims of the watts: something else than it was granted where its start has taught something.
    pub claim: Watts,
    /// What the run counts with from now on.
    pub basis: Basis,
    first_node: usize,
    node_count: usize,
}

/// What a running job counts with where power is counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Basis {
    /// The lowest that the allocator may set.
    pub least: Allotted,
    /// What its draw is taken for.
    pub estimate: Estimate,
}

/// The decisions of one pass, in the order in which they are to be carried out.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    list: Vec<Decision>,
    nodes: Vec<u32>,
}

/// A scheduler: told what happens, asked what to do.
pub trait Policy: DynClone + Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Takes note of an event. What to do about it is asked later, once the instant is empty.
    fn notice(&mut self, jobs: Jobs<'_>, notice: Notice);

    /// Decides what to do now.
    ///
    /// # Errors
    /// Whatever stopped the policy, or an interrupt.
    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()>;

    /// When passes are made.
    fn timing(&self) -> Timing {
        Timing::AtOnce
    }

    /// The ceiling this policy keeps the system's predicted draw under, if it has one.
    fn budget(&self) -> Option<Watts> {
        None
    }

    /// What it does about power beside starting jobs, if anything.
    fn governor(&mut self) -> Option<&mut dyn Governor> {
        None
    }

    /// What it does about idle nodes, if anything.
    fn sleeper(&mut self) -> Option<&mut dyn Sleeper> {
        None
    }

    /// Whether it changes sizes of jobs that run.
    fn resizes_runs(&self) -> bool {
        false
    }

    /// Changes sizes of jobs that run: asked in every pass before what starts.
    ///
    /// # Errors
    /// Whatever stopped the policy, or an interrupt.
    fn resize(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        let _ = (view, out);
        Ok(())
    }

    /// Its agent, if its decisions come from outside.
    fn agent(&mut self) -> Option<&mut Agent> {
        None
    }

    /// What says how long jobs will run, if anything does.
    fn forecast(&mut self) -> Option<&mut dyn Forecast> {
        None
    }

    /// From now on nodes differ in what jobs ask for.
    ///
    /// # Errors
    /// If it knows nothing of that.
    fn divide(&mut self, cells: &Arc<Cells>, exclusive: bool) -> Result<()> {
        let _ = (cells, exclusive);
        Err(config("policy", format!("`{}`", self.name()), "one that knows nodes that differ in what jobs ask for"))
    }

    /// From now on jobs stand in queues.
    ///
    /// # Errors
    /// If it knows nothing of that.
    fn line_up(&mut self, queues: &Arc<Queues>) -> Result<()> {
        let _ = queues;
        Err(config("policy", format!("`{}`", self.name()), "one that knows queues"))
    }

    /// Has its allocator set no higher caps than those of a level, if these are set from outside.
    fn steer(&mut self, level: usize) {
        let _ = level;
    }

    /// Whether nothing tells this policy when to start the job, so that it never will: such a job joins no queue.
    fn leaves_out(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        let _ = (jobs, job);
        false
    }

    /// Whether the job would exceed the budget on whatever nodes of an otherwise idle machine: it can never start.
    fn exceeds_budget(&mut self, view: &View<'_>, job: JobId) -> bool {
        let _ = (view, job);
        false
    }
}

dyn_clone::clone_trait_object!(Policy);

/// What a policy does about the power of what runs: it caps, and sees to emergencies.
pub trait Governor {
    /// Whether it ever changes the caps of running jobs but in an emergency.
    fn allots(&self) -> bool;

    /// The allocator looks again at multiples of this; zero: whenever a pass is made.
    fn interval(&self) -> SimDuration;

    /// The measured draw is compared with the budget at multiples of this, zero: after every instant; none: never.
    fn monitor(&self) -> Option<SimDuration>;

    /// What is measured when the machine draws `draw`.
    ///
    /// # Errors
    /// If a part fails.
    fn read(&mut self, view: &View<'_>, draw: Watts) -> Result<Watts>;

    /// Before the starts of a pass: what an emergency took is given back as far as there is room. True if some of it could
    /// not be: then nothing may start (operations page, rules 20 to 22).
    ///
    /// # Errors
    /// If a part fails.
    fn recover(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<bool>;

    /// At the end of a pass: caps for all that runs (rules 23 to 26). `is_due` says whether an allocator with an interval
    /// has to look now.
    ///
    /// # Errors
    /// If a part fails.
    fn allot(&mut self, view: &View<'_>, is_due: bool, out: &mut Decisions) -> Result<()>;

    /// The machine draws more than the budget: an emergency begins.
    ///
    /// # Errors
    /// If a part fails.
    fn alert(&mut self, view: &View<'_>) -> Result<()>;

    /// What is done next about it; none if nothing is left to do (rules 29 to 33).
    ///
    /// # Errors
    /// If a part fails.
    fn relieve(&mut self, view: &View<'_>) -> Result<Option<Decision>>;
}

impl View<'_> {
    /// Where the job stands among queues: those with lower numbers come before all others.
    #[must_use]
    pub fn tier(&self, job: JobId) -> i32 {
        self.queues.map_or(0, |queues| queues.tier(job))
    }

    /// Fewest and most nodes the job can run on here.
    #[must_use]
    pub fn size_range(&self, job: JobId) -> (u32, u32) {
        let (low, high) = self.jobs.size_range(job);
        (low, if low < high { high.min(self.platform.len()).max(low) } else { high })
    }

    /// What is known of the job's own draw before it runs; what it really draws is not for a policy to know.
    #[must_use]
    pub fn known_draw(&self, job: JobId) -> KnownDraw {
        self.predicted.known_draw(self.jobs.workload, job)
    }

    /// What caps that are made for the job go by.
    #[must_use]
    pub fn profile(&self, job: JobId) -> Profile {
        Profile { app: self.jobs.app(job), own: self.known_draw(job) }
    }
}

impl<'a> Jobs<'a> {
    /// What a policy may know of these jobs.
    #[must_use]
    pub fn new(workload: &'a Workload) -> Self {
        let (slowest, own_caps, part, eligible, forecasts) = (None, None, None, None, None);
        Self { workload, slowest, own_caps, part, eligible, forecasts, sizes: Sized::Asked }
    }

    /// The same where planned lengths are stretched by what the slowest node is predicted to take.
    #[must_use]
    pub fn stretched(self, slowest: Option<&'a Slowest>) -> Self {
        Self { slowest, ..self }
    }

    /// The same where own caps slow jobs that bring no walltime.
    #[must_use]
    pub fn slowed(self, own_caps: Option<&'a OwnSlowdowns>) -> Self {
        Self { own_caps, ..self }
    }

    /// The same where jobs may join the queue later than they are submitted.
    #[must_use]
    pub fn eligible_at(self, eligible: Option<&'a Eligible>) -> Self {
        Self { eligible, ..self }
    }

    /// The same with sizes that were chosen, one a job, where there are any.
    #[must_use]
    pub fn sized(self, chosen: Option<&'a [u32]>) -> Self {
        Self { sizes: chosen.map_or(Sized::Asked, Sized::Chosen), ..self }
    }

    /// The same with each job on as few nodes as it can run on.
    #[must_use]
    pub fn least(self) -> Self {
        Self { sizes: Sized::Least, ..self }
    }

    /// Fewest and most nodes the job can run on.
    #[must_use]
    pub fn size_range(self, job: JobId) -> (u32, u32) {
        self.workload.size_range(job)
    }

    /// Whether the job may change its size while it runs.
    #[must_use]
    pub fn is_malleable(self, job: JobId) -> bool {
        self.workload.is_malleable(job)
    }

    /// How long it makes no progress after that.
    #[must_use]
    pub fn pause(self, job: JobId) -> SimDuration {
        self.workload.pause(job)
    }

    /// How many times as long the job takes on so many nodes as on those it asks for.
    #[must_use]
    pub fn time_at(self, job: JobId, nodes: u32) -> f64 {
        self.workload.time_at(job, nodes)
    }

    /// Nodes of the job, all cells together.
    fn size(self, job: JobId) -> u32 {
        match self.sizes {
            Sized::Asked => self.workload.node_count(job),
            Sized::Least => self.workload.size_range(job).0,
            Sized::Chosen(nodes) => nodes[job.0 as usize],
        }
    }

    /// The same at the size that it has.
    fn size_time(self, job: JobId) -> f64 {
        match self.sizes {
            Sized::Asked => 1.0,
            Sized::Least | Sized::Chosen(_) => self.workload.time_at(job, self.size(job)),
        }
    }

    /// Nodes the job asks for.
    #[must_use]
    pub fn asked_nodes(self, job: JobId) -> u32 {
        self.workload.node_count(job)
    }

    /// The same where a job asks for so many nodes: those that it is to get of one cell.
    #[must_use]
    pub fn in_part(self, job: JobId, count: u32) -> Self {
        Self { part: Some((job, count)), ..self }
    }

    /// The same where jobs are believed to run as long as somebody says.
    #[must_use]
    pub fn believed(self, forecasts: Option<&'a Forecasts>) -> Self {
        Self { forecasts, ..self }
    }

    /// The job's own cap, W a node; infinity if it brings none.
    #[must_use]
    pub fn cap_w(self, job: JobId) -> f64 {
        self.workload.cap_w(job)
    }

    /// The number by which users know the job.
    #[must_use]
    pub fn job_id(self, job: JobId) -> i64 {
        self.workload.job_id(job)
    }

    /// How long the job asked for, if it said.
    #[must_use]
    pub fn walltime(self, job: JobId) -> Option<SimDuration> {
        self.workload.walltime(job)
    }

    /// When the job was submitted.
    #[must_use]
    pub fn submit(self, job: JobId) -> SimTime {
        self.workload.submit(job)
    }

    /// When the job joined the queue: its submission, unless it waited for something. Wherever an order uses a submit or a
    /// wait, it goes by this (operations page on machines, rule 4).
    #[must_use]
    pub fn eligible(self, job: JobId) -> SimTime {
        self.eligible.and_then(|eligible| eligible.of(job)).unwrap_or_else(|| self.submit(job))
    }

    /// Whether any array has a limit.
    #[must_use]
    pub fn has_arrays(self) -> bool {
        self.workload.has_arrays()
    }

    /// The job's array, and how many of its jobs may run at once, if it has one with a limit.
    #[must_use]
    pub fn array(self, job: JobId) -> Option<(u32, u32)> {
        self.workload.array(job)
    }

    /// How long planning takes the job to run while it waits: as long as is believed, or else its walltime, or its nominal
    /// runtime if it brings none;
    /// where these were meant for nominal speed, on the slowest of all nodes.
    #[must_use]
    pub fn planned(self, job: JobId) -> SimDuration {
        let factor = self.slowest.map_or(1.0, |slowest| slowest.of(self.app(job)));
        self.planned_on(job, factor)
    }

    /// The same on nodes that take `factor` times as long as nominal ones, where walltimes were meant for these.
    #[must_use]
    pub fn planned_on(self, job: JobId, factor: f64) -> SimDuration {
        let factor = factor * self.size_time(job);
        let slowdown = self.own_caps.map_or(1.0, |own_caps| own_caps.of(job));
        match self.forecasts.and_then(|forecasts| forecasts.of(job)) {
            Some(length) => self.workload.believed_at(job, length, factor, slowdown),
            None => self.workload.planned_at(job, factor, slowdown),
        }
    }

    /// How long the job runs at nominal speed. Policies that a paper describes as knowing it in advance read this; all
    /// others plan with [`Jobs::planned`].
    #[must_use]
    pub fn runtime(self, job: JobId) -> SimDuration {
        self.workload.runtime(job).stretched(self.size_time(job))
    }

    /// What communication adds to the job's run on whatever nodes; known in advance like [`Jobs::runtime`].
    #[must_use]
    pub fn comm(self, job: JobId) -> SimDuration {
        self.workload.comm(job)
    }

    /// Nodes of the job: those it asks for, or those that were chosen for it.
    #[must_use]
    pub fn node_count(self, job: JobId) -> u32 {
        let own = self.part.filter(|(own, _)| *own == job);
        own.map_or_else(|| self.size(job), |(_, count)| count)
    }

    /// Slots the job takes on each of its nodes: those it asks for where nodes are shared, else 1 (the node).
    #[must_use]
    pub fn need(self, job: JobId, platform: &Platform) -> u32 {
        match self.workload.slots(job) {
            _ if platform.is_exclusive() => 1,
            0 => platform.slots(),
            slots => slots,
        }
    }

    /// The job's application, if it is known.
    #[must_use]
    pub fn app(self, job: JobId) -> Option<AppId> {
        self.workload.app(job)
    }

    /// Whether the job computes on accelerators; otherwise on CPUs.
    #[must_use]
    pub fn on_gpu(self, job: JobId) -> bool {
        self.workload.on_gpu(job)
    }

    /// Whether the job counts as its application's first run, if the trace says so.
    #[must_use]
    pub fn first_run(self, job: JobId) -> Option<bool> {
        self.workload.first_run(job)
    }

    /// When the job started in reality, if the log says so. Only policies that repeat the log read this and the next two.
    #[must_use]
    pub fn observed_start(self, job: JobId) -> Option<SimTime> {
        self.workload.observed_start(job)
    }

    /// The nodes the job ran on in reality, if the log says so.
    #[must_use]
    pub fn observed_nodes(self, job: JobId) -> Option<&'a [u32]> {
        self.workload.observed_nodes(job)
    }

    /// Whether the job ends at the instant at which it starts.
    #[must_use]
    pub fn takes_no_time(self, job: JobId) -> bool {
        self.workload.takes_no_time(job)
    }

    /// Nodes, or slots where nodes are shared, that the job takes in all.
    #[must_use]
    pub fn units(self, job: JobId, platform: &Platform) -> i64 {
        i64::from(self.node_count(job)) * i64::from(self.need(job, platform))
    }

    /// How many applications there are; their ids are the numbers below.
    #[must_use]
    pub fn app_count(self) -> usize {
        self.workload.app_names().len()
    }
}

impl Decisions {
    /// Forgets all decisions, keeping the memory.
    pub fn clear(&mut self) {
        self.list.clear();
        self.nodes.clear();
    }

    /// Whether nothing is to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The decisions so far.
    #[must_use]
    pub fn list(&self) -> &[Decision] {
        &self.list
    }

    /// The nodes of a start.
    #[must_use]
    pub fn nodes_of(&self, start: &Start) -> &[u32] {
        &self.nodes[start.first_node..start.first_node + start.node_count]
    }

    /// Starts `job` on the nodes that `choose` appends.
    pub fn start_with(&mut self, job: JobId, choose: impl FnOnce(&mut Vec<u32>)) {
        let first_node = self.nodes.len();
        choose(&mut self.nodes);
        self.start_on(job, first_node..self.nodes.len(), Watts::ZERO);
    }

    /// Starts `job` on nodes that were appended, which take `watts` beyond idle.
    fn start_on(&mut self, job: JobId, nodes: Range<usize>, watts: Watts) {
        self.list.push(Decision::Start(Start {
            job,
            overtakes: false,
            profiling_ratio: None,
            granted: watts,
            claim: watts,
            basis: Basis::default(),
            first_node: nodes.start,
            node_count: nodes.len(),
        }));
    }

    /// Starts a job as another list of decisions does, on nodes that are counted otherwise here.
    pub fn start_as(&mut self, start: Start, nodes: impl Iterator<Item = u32>) {
        let first_node = self.nodes.len();
        self.nodes.extend(nodes);
        self.list.push(Decision::Start(Start { first_node, node_count: self.nodes.len() - first_node, ..start }));
    }

    /// Has a run go on on so many nodes, with those beside its own that are told.
    pub fn resize(&mut self, id: RunId, nodes: u32, added: impl Iterator<Item = u32>) {
        let first_node = self.nodes.len();
        self.nodes.extend(added);
        self.list.push(Decision::Resize(Resize { id, nodes, first_node, node_count: self.nodes.len() - first_node }));
    }

    /// The nodes that a run gets beside its own.
    #[must_use]
    pub fn added_by(&self, resize: &Resize) -> &[u32] {
        &self.nodes[resize.first_node..resize.first_node + resize.node_count]
    }

    /// Hands each start with its nodes to `revise`, to note in it what only the end of a pass can tell.
    pub fn revise(&mut self, mut revise: impl FnMut(&mut Start, &[u32])) {
        let Self { list, nodes } = self;
        for decision in list {
            if let Decision::Start(start) = decision {
                let own = start.first_node..start.first_node + start.node_count;
                revise(start, &nodes[own]);
            }
        }
    }

    /// The starts so far.
    #[must_use]
    pub fn starts(&self) -> impl DoubleEndedIterator<Item = &Start> {
        self.list.iter().filter_map(|decision| match decision {
            Decision::Start(start) => Some(start),
            _ => None,
        })
    }

    /// The nodes of all starts but those among the first `len` decisions.
    fn nodes_since(&self, len: usize) -> &[u32] {
        let first = self.list[len..].iter().find_map(|decision| match decision {
            Decision::Start(start) => Some(start.first_node),
            _ => None,
        });
        &self.nodes[first.unwrap_or(self.nodes.len())..]
    }

    /// Takes back all but the first `len` decisions; `give_back` gets the nodes of starts.
    fn truncate(&mut self, len: usize, mut give_back: impl FnMut(JobId, u32)) {
        for decision in self.list.drain(len..) {
            if let Decision::Start(start) = decision {
                let own = start.first_node..start.first_node + start.node_count;
                self.nodes[own].iter().for_each(|&node| give_back(start.job, node));
            }
        }
        let end = |start: &Start| start.first_node + start.node_count;
        let left = self.starts().next_back().map_or(0, end);
        self.nodes.truncate(left);
    }

    /// Switches a node on.
    pub fn wake(&mut self, node: u32) {
        self.list.push(Decision::Wake(node));
    }

    /// Switches a node off.
    pub fn sleep(&mut self, node: u32) {
        self.list.push(Decision::Sleep(node));
    }

    /// Has a job of the queue never start.
    pub fn reject(&mut self, job: JobId, why: Rejection) {
        self.list.push(Decision::Reject(job, why));
    }

    /// Asks for a pass at `at`.
    pub fn timer(&mut self, at: SimTime) {
        self.list.push(Decision::Timer(at));
    }

    /// Has something done with a run.
    pub fn push(&mut self, decision: Decision) {
        self.list.push(decision);
    }
}
