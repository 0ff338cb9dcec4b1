//! What a controller knows of its machine: which nodes are free, what runs, who waits, and when what runs should end.
//!
//! Nothing here is measured or modelled: how long a job really takes and what it draws is the plant's business (`sim`), or
//! the world's. Events and decisions change the cluster; each change says what a host must do or write down for it.

pub mod beliefs;
mod carry_out;
pub mod counted;
pub mod decisions;
mod divided;
pub mod eligible;
pub mod forecasts;
pub mod growth;
pub mod jobs;
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

use crate::algo::releases::{Claim, Release, Releases};
use crate::algo::span::Span;
use crate::cluster::beliefs::Beliefs;
use crate::cluster::eligible::Eligible;
use crate::cluster::jobs::Jobs;
use crate::cluster::power::Governed;
use crate::cluster::runs::{Homes, Run, RunId, Runs};
use crate::cluster::shares::Shares;
use crate::cluster::standby::Standby;
use crate::error::SimulationError;
use crate::platform::Platform;
use crate::platform::cells::{Cells, Lack};
use crate::platform::node_state::{Class, NodeState};
use crate::platform::outages::Outages;
use crate::platform::queues::{Bar, Group, Queues};
use crate::platform::slots::Slots;
use crate::power::budgets::{BudgetRow, Budgets};
use crate::power::pvt::Predicted;
use crate::power::slowest::{OwnSlowdowns, Slowest};
use crate::units::{SimTime, Watts};
use crate::workload::{JobId, Workload};

pub use crate::cluster::carry_out::{Effect, Headroom, Moved};
pub use crate::cluster::power::{Retimed, retimed};

/// Where a job is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not submitted yet.
    Unborn,
    /// Submitted, and in no queue yet: it waits for an instant or for another job.
    Held,
    /// In the queue.
    Queued,
    /// On its nodes.
    Running,
    /// Through with it, or never to start.
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
    slots: Slots,
    releases: Releases,
    /// What the idle machine draws.
    idle: Watts,
    /// What policies count for all that runs, beyond idle.
    claimed: Watts,
    /// Watts by which nodes that are off or in transition hold less than idle ones.
    saved: Watts,
    budgets: Arc<Budgets>,
    runs: Runs,
    phases: Vec<Phase>,
    queued: i32,
    running: i32,
    nodes: Vec<NodeState>,
    classes: [i32; Class::COUNT],
    on_nodes: OnNodes,
    /// How often jobs have started that were queued again.
    attempts: BTreeMap<u32, u32>,
    /// How many jobs run of each group that has a limit: of an array, or of a queue.
    in_groups: BTreeMap<Group, u32>,
    outages: Outages,
    governed: Option<Governed>,
    /// What jobs ask for beside nodes, and what runs holds of it where that must be counted.
    cells: Option<Arc<Cells>>,
    /// The queues, where there are any.
    queues: Option<Arc<Queues>>,
    shares: Option<Shares>,
    /// Releases at the instant of a pass, where an allocator makes plans longer.
    foreseen: Option<Releases>,
    /// Where nodes may be switched off.
    standby: Option<Standby>,
    /// Runs that stand still.
    suspended: i32,
}

/// Which runs are on each node.
#[derive(Clone, Debug)]
enum OnNodes {
    /// Where jobs get whole nodes.
    One(Vec<Option<RunId>>),
    /// Where they share them.
    Several(Vec<Vec<RunId>>),
}

impl OnNodes {
    fn put(&mut self, node: u32, run: RunId) {
        match self {
            Self::One(nodes) => nodes[node as usize] = Some(run),
            Self::Several(nodes) => nodes[node as usize].push(run),
        }
    }

    fn take(&mut self, node: u32, run: RunId) {
        match self {
            Self::One(nodes) => nodes[node as usize] = None,
            Self::Several(nodes) => nodes[node as usize].retain(|&other| other != run),
        }
    }

    /// Whether a run on the node stands still.
    fn keep(&self, node: u32, runs: &Runs) -> bool {
        let stands = |id: &RunId| runs.get(*id).is_some_and(|run| run.suspension.is_some());
        match self {
            Self::One(nodes) => nodes[node as usize].iter().any(stands),
            Self::Several(nodes) => nodes[node as usize].iter().any(stands),
        }
    }

    fn of(&self, node: u32) -> Vec<RunId> {
        match self {
            Self::One(nodes) => nodes[node as usize].into_iter().collect(),
            Self::Several(nodes) => nodes[node as usize].clone(),
        }
    }
}

impl Cluster {
    /// An idle machine at `start`; planned lengths stretch with `slowest` where walltimes were meant for nominal speed.
    #[must_use]
    pub fn new(
        start: SimTime,
        workload: Arc<Workload>,
        platform: Arc<Platform>,
        predicted: Arc<Predicted>,
        slowest: Option<Slowest>,
    ) -> Self {
        let count = platform.len() as usize;
        let mut classes = [0; Class::COUNT];
        classes[Class::Idle as usize] = i32::try_from(count).unwrap_or(i32::MAX);
        let exclusive = platform.is_exclusive();
        Self {
            now: start,
            slots: Slots::new(platform.len(), platform.shared_slots()),
            releases: Releases::followed(),
            idle: platform.idle(),
            claimed: Watts::ZERO,
            saved: Watts::ZERO,
            budgets: Arc::default(),
            runs: Runs::new(homes(&workload, &platform, |_| true)),
            phases: vec![Phase::Unborn; workload.len()],
            queued: 0,
            running: 0,
            nodes: vec![NodeState::Idle; count],
            classes,
            on_nodes: if exclusive {
                OnNodes::One(vec![None; count])
            } else {
                OnNodes::Several(vec![Vec::new(); count])
            },
            outages: Outages::default(),
            beliefs: Beliefs {
                slowest: slowest.map(Arc::new),
                own_caps: Some(Arc::new(OwnSlowdowns::new(&predicted, &workload))),
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
            standby: None,
            suspended: 0,
        }
    }

    /// So many nodes idle beside it for ever, and draw so much together.
    pub fn stand_beside(&mut self, nodes: usize, idle: Watts) {
        self.classes[Class::Idle as usize] += i32::try_from(nodes).unwrap_or(i32::MAX);
        self.idle += idle;
    }

    /// From now on, before anything has happened, nodes differ in what jobs ask for.
    pub fn divide(&mut self, cells: Arc<Cells>) {
        self.shares = cells.divide().then(|| Shares::new(Arc::clone(&cells)));
        self.cells = Some(cells);
    }

    /// In what nodes differ, where they do.
    #[must_use]
    pub fn cells_that_divide(&self) -> Option<Arc<Cells>> {
        self.cells.clone().filter(|_| self.is_divided())
    }

    /// Why the nodes can never serve the job, however many of them are free, if they cannot.
    #[must_use]
    pub fn lack(&self, job: JobId) -> Option<Lack> {
        let (cells, count) = (self.cells.as_ref()?, self.workload.node_count(job));
        match &self.queues {
            Some(queues) => cells.lack_within(job, count, queues.nodes(job)),
            None => cells.lack(job, count),
        }
    }

    /// Whether nodes differ in what jobs ask for.
    #[must_use]
    pub fn is_divided(&self) -> bool {
        self.shares.is_some()
    }

    /// From now on, before anything has happened, jobs stand in queues.
    pub fn line_up(&mut self, queues: Arc<Queues>) {
        if queues.preempt() {
            self.slots.lend();
            self.on_nodes = OnNodes::Several(vec![Vec::new(); self.nodes.len()]);
        }
        self.queues = Some(queues);
    }

    /// Why its queue never takes the job, if it does not.
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

    /// What a policy may know of the jobs.
    #[must_use]
    pub fn jobs(&self) -> Jobs<'_> {
        Jobs::believed(&self.workload, &self.beliefs)
    }

    /// The instant it is at.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// The jobs there are or will be.
    #[must_use]
    pub fn workload(&self) -> &Arc<Workload> {
        &self.workload
    }

    /// The machine.
    #[must_use]
    pub fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// What runs.
    #[must_use]
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// Jobs in the queue.
    #[must_use]
    pub fn queued(&self) -> i32 {
        self.queued
    }

    /// Jobs that run or stand still.
    #[must_use]
    pub fn running(&self) -> i32 {
        self.running
    }

    /// Those of them that stand still.
    #[must_use]
    pub fn suspended(&self) -> i32 {
        self.suspended
    }

    /// Nodes that are busy, idle, off, in transition and down.
    #[must_use]
    pub fn classes(&self) -> [i32; Class::COUNT] {
        self.classes
    }

    /// What a node is doing.
    #[must_use]
    pub fn node(&self, node: u32) -> NodeState {
        self.nodes[node as usize]
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

    /// Budgets from outside have no end.
    pub fn budgets_go_on(&mut self) {
        Arc::make_mut(&mut self.budgets).go_on();
    }

    /// There are more budgets from outside.
    pub fn add_budgets(&mut self, rows: Vec<BudgetRow>) {
        Arc::make_mut(&mut self.budgets).extend(rows);
    }

    /// A run is over: its nodes are free. None if it was over already.
    ///
    /// # Errors
    /// If a node of it serves no job.
    pub fn end(&mut self, id: RunId) -> Result<Option<Run>, SimulationError> {
        let Some(run) = self.runs.end(id) else { return Ok(None) };
        let (need, stood) = (self.jobs().need(run.job, &self.platform), run.suspension.is_some());
        let nodes = self.runs.nodes(&run);
        let (on_nodes, runs, suspended) = (&mut self.on_nodes, &self.runs, self.suspended);
        enter_each(&mut self.nodes, &mut self.classes, nodes, |node, state| {
            on_nodes.take(node, id);
            let keeps = suspended > 0 && on_nodes.keep(node, runs);
            if stood { state.end_suspended_job(keeps) } else { state.end_job(keeps) }
        })?;
        if let Some(standby) = &mut self.standby {
            let idles = |node: &u32| self.nodes[*node as usize] == NodeState::Idle;
            standby.end(self.now, nodes.iter().copied().filter(idles));
        }
        if self.platform.is_exclusive() && !self.slots.lends() {
            self.slots.give_whole(nodes);
        } else {
            for &node in nodes {
                self.slots.give(node, need);
            }
        }
        self.releases.remove((run.planned_end, run.job.0));
        if let Some(shares) = &mut self.shares {
            shares.end(run.job);
        }
        self.forget_run(&run);
        for (group, _) in self.groups_of(run.job) {
            if let Some(active) = self.in_groups.get_mut(&group) {
                *active -= 1;
            }
        }
        self.phases[run.job.0 as usize] = Phase::Over;
        self.running -= 1;
        Ok(Some(run))
    }

    /// The runs on a node, which a failure of it ends.
    #[must_use]
    pub fn runs_on(&self, node: u32) -> Vec<RunId> {
        self.on_nodes.of(node)
    }

    /// Slots of a node that no running job has: free ones, and those of jobs that are suspended.
    fn clear_of_running(&self, node: u32) -> u32 {
        let running = self.runs_on(node).into_iter().filter_map(|id| self.runs.get(id));
        let running = running.filter(|run| run.suspension.is_none());
        let used: u32 = running.map(|run| self.jobs().need(run.job, &self.platform)).sum();
        self.slots.per_node().saturating_sub(used)
    }

    fn enter(&mut self, node: u32, state: NodeState) {
        self.enter_all(Span::of(node), state);
    }

    /// Nodes come into a state together that were in the same.
    fn enter_all(&mut self, nodes: Span, state: NodeState) {
        let old = self.node(nodes.first());
        self.nodes[nodes.places()].fill(state);
        let count = i32::try_from(nodes.len()).unwrap_or(i32::MAX);
        self.classes[old.class() as usize] -= count;
        self.classes[state.class() as usize] += count;
        if let Some(standby) = &mut self.standby {
            standby.enter(self.now, nodes, old, state);
            let draw = self.platform.node(nodes.first());
            self.saved += (draw.held(old) - draw.held(state)).times(nodes.len());
        }
    }

    /// The first of some nodes that are alike: of one kind, and in one state; and the others.
    #[must_use]
    pub fn alike(&self, nodes: Span) -> (Span, Option<Span>) {
        let has = |node: u32| Some((self.platform.kind(node), *self.nodes.get(node as usize)?));
        nodes.split(|node| if node < self.platform.len() { has(node) } else { None })
    }

    /// When a job that starts now on these nodes is planned to end.
    fn planned_end(&self, job: JobId, nodes: &[u32]) -> SimTime {
        let slowest = || self.predicted.slowest(self.workload.app(job), nodes.iter().copied());
        let factor = if self.beliefs.slowest.is_some() { slowest() } else { 1.0 };
        self.now.saturating_add(self.jobs().planned_on(job, factor))
    }

    /// A run begins on nodes that were taken for it.
    fn begin(&mut self, run: Run) -> Result<RunId, SimulationError> {
        let Run { job, planned_end, claim, watts, .. } = run;
        let (places, written) = (run.places.clone(), run.places.clone());
        let id = self.runs.begin(run);
        let on_nodes = &mut self.on_nodes;
        enter_each(&mut self.nodes, &mut self.classes, self.runs.written(places), |node, state| {
            on_nodes.put(node, id);
            state.start_job()
        })?;
        if !self.governed.as_ref().is_some_and(Governed::allots) {
            self.releases.insert(Release { at: planned_end, row: job.0, claim });
        }
        if let Some(shares) = &mut self.shares {
            shares.begin(job, self.runs.written(written));
        }
        self.claimed += watts;
        self.phases[job.0 as usize] = Phase::Running;
        for (group, _) in self.groups_of(job) {
            *self.in_groups.entry(group).or_default() += 1;
        }
        (self.queued, self.running) = (self.queued - 1, self.running + 1);
        self.govern_run(id);
        Ok(id)
    }

    /// What a job takes: its units, and the watts that its policy counts for it, rounded down.
    fn claim(&self, job: JobId, watts: Watts) -> Claim {
        Claim { units: self.jobs().units(job, &self.platform), microwatts: watts.microwatts_down() }
    }

    /// What the starts of a pass must stay under: the policy's ceiling, or what holds from outside in its place.
    #[must_use]
    pub fn headroom(&self, ceiling: Option<Watts>) -> Headroom {
        let counts = ceiling.is_some();
        Headroom { ceiling: self.budgets.at(self.now).or(ceiling), draw: self.idle + self.claimed - self.saved, counts }
    }
}

/// Returns the state that the node was in.
fn enter(nodes: &mut [NodeState], classes: &mut [i32; Class::COUNT], node: u32, state: NodeState) -> NodeState {
    let old = std::mem::replace(&mut nodes[node as usize], state);
    classes[old.class() as usize] -= 1;
    classes[state.class() as usize] += 1;
    old
}

/// Nodes come one after the other into the states that `turn` says; those are counted together that come from one class into
/// one.
fn enter_each(
    nodes: &mut [NodeState],
    classes: &mut [i32; Class::COUNT],
    which: &[u32],
    mut turn: impl FnMut(u32, NodeState) -> Result<NodeState, SimulationError>,
) -> Result<(), SimulationError> {
    let (mut alike, mut count) = ([Class::Idle; 2], 0);
    let mut tell = |[old, new]: [Class; 2], count| {
        classes[old as usize] -= count;
        classes[new as usize] += count;
    };
    for &node in which {
        let state = &mut nodes[node as usize];
        let new = turn(node, *state)?;
        let classes = [state.class(), new.class()];
        *state = new;
        if classes != alike {
            tell(alike, count);
            (alike, count) = (classes, 0);
        }
        count += 1;
    }
    tell(alike, count);
    Ok(())
}

impl Cluster {
    /// The nodes of all runs there ever were, and where those of jobs' first runs are.
    #[must_use]
    pub fn into_nodes(self) -> (Vec<u32>, Homes) {
        self.runs.into_nodes()
    }
}

/// A place for the nodes of each job that the machine can serve.
/// The size that each job has before any is chosen: the one it asks for, or the largest that the machine has room for.
fn sizes(workload: &Workload, platform: &Platform) -> Option<Vec<u32>> {
    let size = |job| workload.node_count(job).min(platform.len()).max(workload.size_range(job).0);
    workload.has_sizes().then(|| workload.jobs().map(size).collect())
}

fn homes(workload: &Workload, platform: &Platform, is_own: impl Fn(JobId) -> bool) -> Homes {
    let has_home = |job, count| count <= platform.len() && !workload.is_moldable(job) && is_own(job);
    let served = |job| Some(workload.node_count(job)).filter(|&count| has_home(job, count));
    Homes::new((0..).map(JobId).take(workload.len()).map(|job| served(job).unwrap_or(0)))
}
