//! Cluster: the controller's knowledge of its machine, with free nodes, runs and their planned ends, and waiting jobs.
//!
//! Nothing here is measured or modelled: real lengths and draws of jobs belong to the plant (`sim`), or to the real
//! world. Events and decisions change the cluster; each change returns what the host has to do or to record for it.

pub mod beliefs;
pub mod capacity;
mod carry_out;
pub mod counted;
pub mod decisions;
mod divided;
pub mod eligible;
pub mod forecasts;
pub mod growth;
pub mod jobs;
mod lanes;
pub mod nodes;
mod power;
mod resizing;
pub mod runs;
mod service;
pub mod shares;
pub mod standby;
mod succession;
pub mod truth;
mod under_way;
pub mod view;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::algo::releases::{Claim, Release, ReleasedBy, Releases};
use crate::algo::span::Span;
use crate::cluster::beliefs::Beliefs;
use crate::cluster::capacity::Capacities;
use crate::cluster::eligible::Eligible;
use crate::cluster::jobs::Jobs;
use crate::cluster::nodes::{NodeStates, Nodes};
use crate::cluster::power::Governed;
use crate::cluster::runs::{Homes, Run, RunId, Runs};
use crate::cluster::shares::Shares;
use crate::error::SimulationError;
use crate::platform::Platform;
use crate::platform::cells::{Cells, Lack};
use crate::platform::node_state::{Class, NodeState};
use crate::platform::outages::Outages;
use crate::platform::queues::{Bar, Group, Queues};
use crate::platform::slots::Slots;
use crate::power::budgets::{BudgetRow, Budgets};
use crate::power::pvt::Predicted;
use crate::units::{SimTime, Watts};
use crate::workload::{JobId, Workload};

pub use crate::cluster::carry_out::{Effect, Headroom, Moved};
pub use crate::cluster::power::{Retimed, retimed};

/// Phase of a job's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not submitted yet.
    Unborn,
    /// Submitted, and in no queue yet: it waits for an instant or for another job.
    Held,
    /// Waiting in the queue.
    Queued,
    /// Running on its nodes, or suspended on them.
    Running,
    /// Ended, or never to start.
    Over,
}

/// A machine and its jobs, as far as they are known.
#[derive(Clone, Debug)]
pub struct Cluster {
    now: SimTime,
    workload: Arc<Workload>,
    platform: Arc<Platform>,
    predicted: Arc<Predicted>,
    beliefs: Beliefs,
    /// Free slots, releases and nodes on standby, of the machine and by lane.
    capacity: Capacities,
    /// Draw of the idle machine.
    idle: Watts,
    /// Watts beyond idle that the policy counts for all running jobs.
    claimed: Watts,
    /// Watts by which nodes that are off or in transition hold less than idle ones.
    saved: Watts,
    budgets: Arc<Budgets>,
    runs: Runs,
    phases: Vec<Phase>,
    queued: i32,
    running: i32,
    nodes: Nodes,
    /// Number of lost attempts of jobs that were requeued.
    attempts: BTreeMap<u32, u32>,
    /// Number of running jobs in each group with a limit: an array, a queue, or a user in a queue.
    in_groups: BTreeMap<Group, u32>,
    outages: Outages,
    governed: Option<Governed>,
    /// Requests of jobs besides nodes, and the cells that serve them.
    cells: Option<Arc<Cells>>,
    /// The queues, if there are any.
    queues: Option<Arc<Queues>>,
    /// Parts of cells and licences that runs hold, if nodes differ in what jobs ask for.
    shares: Option<Shares>,
    /// Releases as of the present pass, if an allocator may lengthen plans.
    foreseen: Option<Releases>,
    /// Number of suspended runs.
    suspended: i32,
}

impl Cluster {
    /// An idle machine at `start`. `stretches`: planned lengths are those on the slowest node, as walltimes are meant for
    /// nominal speed.
    #[must_use]
    pub fn new(
        start: SimTime,
        workload: Arc<Workload>,
        platform: Arc<Platform>,
        predicted: Arc<Predicted>,
        stretches: bool,
    ) -> Self {
        let count = platform.len() as usize;
        let mut own = Self {
            now: start,
            capacity: Capacities::whole(platform.len(), platform.shared_slots()),
            idle: platform.idle(),
            claimed: Watts::ZERO,
            saved: Watts::ZERO,
            budgets: Arc::default(),
            runs: Runs::new(homes(&workload, &platform)),
            phases: vec![Phase::Unborn; workload.len()],
            queued: 0,
            running: 0,
            nodes: Nodes::idle(count, !platform.is_exclusive()),
            outages: Outages::default(),
            beliefs: Beliefs {
                slowest: stretches.then(Arc::default),
                own_caps: None,
                eligible: workload.has_waits().then(|| Eligible::new(workload.len())),
                forecasts: None,
                sizes: sizes(&workload, &platform),
            },
            workload,
            platform,
            predicted,
            attempts: BTreeMap::new(),
            in_groups: BTreeMap::new(),
            governed: None,
            foreseen: None,
            cells: None,
            queues: None,
            shares: None,
            suspended: 0,
        };
        own.find_slowdowns();
        own
    }

    /// Free slots of the machine.
    fn slots(&self) -> &Slots {
        self.capacity.machine().slots()
    }

    /// Divides the nodes into cells, as they differ in what jobs ask for.
    pub fn divide(&mut self, cells: Arc<Cells>) {
        self.shares = cells.divide().then(|| Shares::new(Arc::clone(&cells)));
        if let Some(shares) = &mut self.shares {
            self.runs.iter().for_each(|(_, run)| shares.begin(run.job, self.runs.nodes(run)));
        }
        if self.shares.is_some() {
            self.capacity.divide(&self.platform, &cells);
        }
        self.cells = Some(cells);
    }

    /// Counts all nodes alike from now on.
    pub fn undivide(&mut self) {
        (self.cells, self.shares) = (None, None);
    }

    /// Counts the queues as other sets of nodes from now on; they are the same queues.
    pub fn regroup(&mut self, queues: Arc<Queues>) {
        self.queues = Some(queues);
    }

    /// Reason why the nodes can never serve the job, even if all are free; `None` if they can.
    #[must_use]
    pub fn lack(&self, job: JobId) -> Option<Lack> {
        let (cells, count) = (self.cells.as_ref()?, self.workload.node_count(job));
        match &self.queues {
            Some(queues) => cells.lack_within(job, count, queues.nodes(job)),
            None => cells.lack(job, count),
        }
    }

    /// True if nodes differ in what jobs ask for.
    #[must_use]
    pub fn is_divided(&self) -> bool {
        self.shares.is_some()
    }

    /// Puts jobs into queues, before anything has happened.
    pub fn line_up(&mut self, queues: Arc<Queues>) {
        if queues.preempt() {
            self.capacity.lend();
            self.nodes.share();
        }
        self.queues = Some(queues);
    }

    /// Reason why its queue never takes the job; `None` if it does.
    #[must_use]
    pub fn bar(&self, job: JobId) -> Option<Bar> {
        self.queues.as_ref()?.bar(job)
    }

    /// The groups with a limit that a job is in.
    fn groups_of(&self, job: JobId) -> impl Iterator<Item = (Group, u32)> + use<> {
        let array = self.workload.array(job).map(|(array, limit)| (Group::Array(array), limit));
        let [queue, user] = self.queues.as_ref().map_or([None; 2], |queues| queues.limits(job));
        [array, queue, user].into_iter().flatten()
    }

    /// True if any job may be in a group with a limit.
    fn has_groups(&self) -> bool {
        self.queues.is_some() || self.workload.has_arrays()
    }

    /// Counts a run in the groups of its job.
    fn join_groups(&mut self, job: JobId) {
        if !self.has_groups() {
            return;
        }
        for (group, _) in self.groups_of(job) {
            *self.in_groups.entry(group).or_default() += 1;
        }
    }

    /// Counts the end of a run in the groups of its job.
    fn leave_groups(&mut self, job: JobId) {
        if !self.has_groups() {
            return;
        }
        for (group, _) in self.groups_of(job) {
            if let Some(active) = self.in_groups.get_mut(&group) {
                *active -= 1;
            }
        }
    }

    /// The jobs as a policy may know them.
    #[must_use]
    pub fn jobs(&self) -> Jobs<'_> {
        Jobs::believed(&self.workload, &self.beliefs)
    }

    /// Present instant.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// All jobs, present and to come.
    #[must_use]
    pub fn workload(&self) -> &Arc<Workload> {
        &self.workload
    }

    /// The machine.
    #[must_use]
    pub fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// Runs under way.
    #[must_use]
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Number of queued jobs.
    #[must_use]
    pub fn queued(&self) -> i32 {
        self.queued
    }

    /// Number of jobs that run or are suspended.
    #[must_use]
    pub fn running(&self) -> i32 {
        self.running
    }

    /// Number of suspended jobs.
    #[must_use]
    pub fn suspended(&self) -> i32 {
        self.suspended
    }

    /// Numbers of nodes that are busy, idle, off, in transition and down.
    #[must_use]
    pub fn classes(&self) -> [i32; Class::COUNT] {
        self.nodes.classes()
    }

    /// State of a node.
    #[must_use]
    pub fn node(&self, node: u32) -> NodeState {
        self.states()[node as usize]
    }

    /// States of all nodes.
    pub(crate) fn states(&self) -> NodeStates<'_> {
        NodeStates::new(&self.nodes, self.capacity.machine().slots(), &self.runs)
    }

    /// Phase of a job's life.
    #[must_use]
    pub fn phase(&self, job: JobId) -> Phase {
        self.phases[job.0 as usize]
    }

    /// Moves the clock.
    pub fn advance(&mut self, now: SimTime) {
        self.now = now;
    }

    /// The budgets from outside, in place of the policy's own while they hold.
    #[must_use]
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// Assumes that more budgets like those from outside follow after the last.
    pub fn budgets_go_on(&mut self) {
        Arc::make_mut(&mut self.budgets).go_on();
    }

    /// Adds budgets from outside.
    pub fn add_budgets(&mut self, rows: Vec<BudgetRow>) {
        Arc::make_mut(&mut self.budgets).extend(rows);
    }

    /// Ends a run and frees its nodes. `None` if it was over already.
    ///
    /// # Errors
    /// If one of its nodes serves no job.
    pub fn end(&mut self, id: RunId) -> Result<Option<Box<Run>>, SimulationError> {
        let Some(run) = self.runs.end(id) else { return Ok(None) };
        let need = self.jobs().need(run.job, &self.platform);
        self.nodes.end(id, &run, &self.runs)?;
        let nodes = self.runs.nodes(&run);
        if self.platform.is_exclusive() && !self.slots().lends() {
            self.capacity.give_whole(nodes);
        } else {
            for &node in nodes {
                self.capacity.give(node, need);
            }
        }
        if self.capacity.machine().standby().is_some() {
            self.note_idle(&run);
        }
        self.capacity.remove(run.planned_end, ReleasedBy::Job(run.job.0));
        if let Some(shares) = &mut self.shares {
            shares.end(run.job);
        }
        self.forget_run(&run);
        self.leave_groups(run.job);
        self.phases[run.job.0 as usize] = Phase::Over;
        self.running -= 1;
        Ok(Some(run))
    }

    /// Takes a run that is over and no longer of interest: its memory serves one to come.
    pub fn reuse(&mut self, run: Box<Run>) {
        self.runs.reuse(run);
    }

    /// The runs on a node, which a failure of it ends.
    #[must_use]
    pub fn runs_on(&self, node: u32) -> Vec<RunId> {
        self.nodes.runs_on(node, self.slots(), &self.runs)
    }

    /// Slots of a node that no running job has: free ones, and those of jobs that are suspended.
    fn clear_of_running(&self, node: u32) -> u32 {
        let running = self.runs_on(node).into_iter().filter_map(|id| self.runs.get(id));
        let running = running.filter(|run| run.suspension.is_none());
        let used: u32 = running.map(|run| self.jobs().need(run.job, &self.platform)).sum();
        self.slots().per_node().saturating_sub(used)
    }

    fn enter(&mut self, node: u32, state: NodeState) {
        self.enter_all(Span::of(node), state);
    }

    /// Moves nodes that are in the same state into another one.
    fn enter_all(&mut self, nodes: Span, state: NodeState) {
        let old = self.node(nodes.first());
        self.nodes.enter(nodes, old, state);
        if self.capacity.enter(self.now, nodes, old, state) {
            let draw = self.platform.node(nodes.first());
            self.saved += (draw.held(old) - draw.held(state)).times(nodes.len());
        }
    }

    /// Splits nodes into the first ones that are alike, that is of one kind and in one state, and the rest.
    #[must_use]
    pub fn alike(&self, nodes: Span) -> (Span, Option<Span>) {
        let has = |node: u32| (self.platform.kind(node), self.node(node));
        let (first, last) = (nodes.first(), nodes.last());
        if first.max(last) < self.platform.len()
            && self.platform.kind(first) == self.platform.kind(last)
            && self.states().are_alike(nodes)
        {
            return (nodes, None);
        }
        nodes.split(|node| (node < self.platform.len()).then(|| has(node)))
    }

    /// Planned end of a job that starts now on these nodes.
    fn planned_end(&self, job: JobId, nodes: &[u32]) -> SimTime {
        self.now.saturating_add(self.jobs().planned_among(job, &self.predicted, nodes))
    }

    /// Begins a run on nodes that were taken for it.
    fn begin(&mut self, run: Run) -> Result<RunId, SimulationError> {
        let Run { job, planned_end, claim, watts, .. } = run;
        let (places, written) = (run.places.clone(), run.places.clone());
        let id = self.runs.begin(run);
        self.nodes.begin(id, self.runs.written(places))?;
        if !self.governed.as_ref().is_some_and(Governed::allots) {
            self.capacity.insert(Release { at: planned_end, by: ReleasedBy::Job(job.0), claim });
        }
        if let Some(shares) = &mut self.shares {
            shares.begin(job, self.runs.written(written));
        }
        self.claimed += watts;
        self.phases[job.0 as usize] = Phase::Running;
        self.join_groups(job);
        (self.queued, self.running) = (self.queued - 1, self.running + 1);
        self.govern_run(id);
        Ok(id)
    }

    /// Claim of a job: its units, and the watts that its policy counts for it, rounded down.
    fn claim(&self, job: JobId, watts: Watts) -> Claim {
        Claim { units: self.jobs().units(job, &self.platform), microwatts: watts.microwatts_down() }
    }

    /// Headroom for the starts of a pass under the budget in force, with the watts counted so far. `counts`: the policy
    /// counts watts.
    #[must_use]
    pub fn headroom(&self, ceiling: Option<Watts>, counts: bool) -> Headroom {
        Headroom { ceiling, draw: self.idle + self.claimed - self.saved, counts }
    }
}

impl Cluster {
    /// The nodes of all runs so far, and the offsets of those of jobs' first runs.
    #[must_use]
    pub fn into_nodes(self) -> (Vec<u32>, Homes) {
        self.runs.into_nodes()
    }
}

/// Size of each job before any is chosen: the one it asks for, or the largest that the machine has room for. `None` if
/// no job has a choice of sizes.
fn sizes(workload: &Workload, platform: &Platform) -> Option<Vec<u32>> {
    let size = |job| workload.node_count(job).min(platform.len()).max(workload.size_range(job).0);
    workload.has_sizes().then(|| workload.jobs().map(size).collect())
}

/// Homes: places for the nodes of the first run of each job that the machine can serve at a fixed size.
fn homes(workload: &Workload, platform: &Platform) -> Homes {
    let has_home = |job, count| count <= platform.len() && !workload.is_moldable(job);
    let served = |job| Some(workload.node_count(job)).filter(|&count| has_home(job, count));
    Homes::new((0..).map(JobId).take(workload.len()).map(|job| served(job).unwrap_or(0)))
}
