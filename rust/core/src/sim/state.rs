//! The machine and its jobs at an instant, and what each event does to them.

use std::sync::Arc;

use crate::algo::releases::{Claim, Release, Releases};
use crate::error::{Result, SimulationError};
use crate::platform::Platform;
use crate::platform::node_state::{Class, NodeState};
use crate::platform::slots::Slots;
use crate::policy::{Jobs, Rejection, View};
use crate::power::meter::Meter;
use crate::power::pvt::{Actual, Predicted};
use crate::sim::Options;
use crate::sim::claims::Claims;
use crate::sim::limits::Limits;
use crate::sim::record::{Counts, JobRecords, JobState, Timeline};
use crate::sim::sharing::Sharing;
use crate::sim::work::Work;
use crate::units::{Joules, SimDuration, SimTime, Watts};
use crate::workload::{JobId, Workload};

/// Everything that changes while a run goes on.
pub struct State {
    pub(super) now: SimTime,
    pub(super) workload: Arc<Workload>,
    pub(super) platform: Platform,
    pub(super) actual: Actual,
    pub(super) predicted: Predicted,
    pub(super) slots: Slots,
    pub(super) releases: Releases,
    /// What running jobs claim of the watts.
    pub(super) claims: Claims,
    pub(super) budget: Option<Watts>,
    pub(super) jobs: JobRecords,
    pub(super) timeline: Timeline,
    pub(super) meter: Meter,
    pub(super) boots: Vec<i32>,
    pub(super) shutdowns: Vec<i32>,
    /// Jobs in the queue: submitted, neither started nor rejected.
    pub(super) queued: i32,
    pub(super) running: i32,
    /// Jobs that will change no more.
    pub(super) done: usize,
    pub(super) work: Work,
    limits: Limits,
    nodes: Vec<NodeState>,
    /// Outages under way of each node.
    outages: Vec<u32>,
    classes: [i32; Class::COUNT],
    /// The job on each node, where jobs get whole nodes.
    occupant: Vec<Option<JobId>>,
    /// Who shares each node, where they do.
    sharing: Option<Sharing>,
}

impl State {
    /// An idle machine at `start`.
    #[must_use]
    pub fn new(
        start: SimTime,
        workload: Arc<Workload>,
        platform: Platform,
        actual: Actual,
        predicted: Predicted,
        options: &Options,
    ) -> Self {
        let nodes = platform.len();
        let idle: Vec<_> = platform.nodes().iter().map(|node| node.idle).collect();
        let mut classes = [0; Class::COUNT];
        classes[Class::Idle as usize] = i32::try_from(nodes).unwrap_or(i32::MAX);
        let sharing = (!platform.is_exclusive()).then(|| Sharing::new(nodes, workload.len()));
        Self {
            now: start,
            slots: Slots::new(nodes, platform.shared_slots()),
            releases: Releases::default(),
            claims: Claims::beyond(platform.idle()),
            budget: None,
            jobs: JobRecords::new(workload.len()),
            timeline: Timeline::with_capacity(2 * workload.len() + 2),
            meter: Meter::new(start, &idle),
            boots: vec![0; nodes as usize],
            shutdowns: vec![0; nodes as usize],
            queued: 0,
            running: 0,
            done: 0,
            work: Work::default(),
            limits: Limits::new(options, &workload, nodes, &predicted),
            nodes: vec![NodeState::Idle; nodes as usize],
            outages: vec![0; nodes as usize],
            classes,
            occupant: vec![None; if sharing.is_some() { 0 } else { nodes as usize }],
            sharing,
            workload,
            platform,
            actual,
            predicted,
        }
    }

    /// What a policy may see of it.
    #[must_use]
    pub fn view<'a>(&'a self, interrupted: &'a dyn Fn() -> bool) -> View<'a> {
        View {
            now: self.now,
            jobs: self.known_jobs(),
            platform: &self.platform,
            slots: &self.slots,
            releases: &self.releases,
            predicted: &self.predicted,
            claimed: self.claims.sum(),
            budget: self.budget,
            interrupted,
        }
    }

    /// What a policy may know of the jobs.
    pub(super) fn known_jobs(&self) -> Jobs<'_> {
        Jobs::new(&self.workload).stretched(self.limits.slowest())
    }

    /// Moves the clock.
    ///
    /// # Errors
    /// If the energy outgrows its book.
    pub fn advance(&mut self, now: SimTime) -> Result<(), SimulationError> {
        self.meter.advance(now)?;
        self.now = now;
        Ok(())
    }

    /// The state of a node.
    #[must_use]
    pub fn node(&self, node: u32) -> NodeState {
        self.nodes[node as usize]
    }

    /// Writes the instant down, once nothing more happens at it.
    pub fn record(&mut self) {
        let [busy, idle, off, transition, down] = self.classes;
        let counts: Counts = [busy, idle, off, transition, down, self.queued, self.running];
        self.timeline.record(self.now, self.meter.draw(), counts);
    }

    /// Whether the job waits in the queue.
    #[must_use]
    pub fn is_queued(&self, job: JobId) -> bool {
        let row = job.0 as usize;
        self.jobs.state[row] == JobState::Pending && self.workload.submit(job) <= self.now
    }

    /// Whether the job started later than the log says it did in reality.
    pub(super) fn is_late(&self, job: JobId) -> bool {
        let observed = self.workload.observed_start(job);
        self.jobs.start(job.0 as usize).zip(observed).is_some_and(|(start, observed)| start > observed)
    }

    /// Puts a job on the nodes that stand from `first` on in the records.
    ///
    /// # Errors
    /// If a node is not on.
    pub(super) fn occupy(&mut self, job: JobId, first: usize) -> Result<(), SimulationError> {
        let need = Jobs::new(&self.workload).need(job, &self.platform);
        let draws = self.actual.of_job(&self.workload, job);
        let draws: Vec<_> = self.jobs.nodes[first..].iter().map(|&node| draws.on(node)).collect();
        for (place, watts) in (first..).zip(draws) {
            let node = self.jobs.nodes[place];
            let state = self.node(node).start_job()?;
            if let Some(sharing) = &mut self.sharing {
                sharing.settle(&self.meter, node, self.now);
                let draw = sharing.join(&self.platform, node, job, need, watts);
                self.set_node(node, state, draw);
            } else {
                self.occupant[node as usize] = Some(job);
                self.set_node(node, state, watts);
            }
        }
        Ok(())
    }

    /// Ends a job: gives its nodes back and closes its energy.
    pub(super) fn end_job(&mut self, job: JobId, how: JobState) -> Result<(), SimulationError> {
        let row = job.0 as usize;
        let need = Jobs::new(&self.workload).need(job, &self.platform);
        let mut energy = Joules::ZERO;
        for place in self.jobs.places_of(row, self.workload.node_count(job)) {
            let node = self.jobs.nodes[place];
            energy += self.vacate(job, node)?;
            self.slots.give(node, need);
        }
        if let Some(sharing) = &self.sharing {
            energy = sharing.energy(job);
        }
        let cut = (how != JobState::Completed).then(|| (self.now - self.jobs.start[row], self.whole_run(job)));
        self.work.end(&self.workload, job, cut);
        self.releases.remove((self.planned_end(job), job.0));
        self.claims.give_back(job);
        self.jobs.energy_j[row] = energy.joules();
        (self.jobs.end[row], self.jobs.state[row]) = (self.now, how);
        self.running -= 1;
        self.done += 1;
        Ok(())
    }

    fn vacate(&mut self, job: JobId, node: u32) -> Result<Joules, SimulationError> {
        let state = self.node(node).end_job()?;
        let idle = self.platform.node(node).idle;
        if let Some(sharing) = &mut self.sharing {
            sharing.settle(&self.meter, node, self.now);
            let draw = sharing.leave(&self.platform, node, job).unwrap_or(idle);
            return Ok(self.set_node(node, state, draw));
        }
        self.occupant[node as usize] = None;
        Ok(self.set_node(node, state, idle))
    }

    /// How long a job runs on its nodes, which stand from `first` on in the records.
    pub(super) fn runtime(&self, job: JobId, first: usize) -> SimDuration {
        let stretch = self.jobs.profiled.get(&job.0).copied().unwrap_or(1.0);
        self.actual.runtime(&self.workload, job, self.nodes_from(job, first), stretch)
    }

    /// The same of a job that has started.
    pub(super) fn whole_run(&self, job: JobId) -> SimDuration {
        let row = job.0 as usize;
        self.runtime(job, self.jobs.places_of(row, self.workload.node_count(job)).start)
    }

    /// After how long a job is killed on its nodes, which stand from `first` on in the records; none if it never is.
    pub(super) fn limit(&self, job: JobId, first: usize) -> Option<SimDuration> {
        let slowest = || self.actual.slowest(self.workload.app(job), self.nodes_from(job, first));
        self.limits.of(self.workload.walltime(job), slowest)
    }

    /// Whether a job that ends after `ran` was killed: it had more to do and, where its end was observed, had used up its
    /// time.
    pub(super) fn is_cut(&self, job: JobId, ran: SimDuration) -> bool {
        let first = self.jobs.places_of(job.0 as usize, self.workload.node_count(job)).start;
        let is_observed = self.workload.observed_length(job).is_some();
        ran < self.whole_run(job) && (!is_observed || self.limit(job, first).is_some_and(|limit| ran >= limit))
    }

    fn nodes_from(&self, job: JobId, first: usize) -> &[u32] {
        &self.jobs.nodes[first..first + self.workload.node_count(job) as usize]
    }

    /// When a running job is planned to end.
    pub(super) fn planned_end(&self, job: JobId) -> SimTime {
        let row = job.0 as usize;
        let nodes = self.jobs.nodes_of(row, self.workload.node_count(job)).iter().copied();
        let slowest = || self.predicted.slowest(self.workload.app(job), nodes);
        let factor = if self.limits.stretch() { slowest() } else { 1.0 };
        self.jobs.start[row].saturating_add(self.workload.planned_at(job, factor))
    }

    /// Notes a started job's planned end, and the watts it gives back then.
    pub(super) fn plan_release(&mut self, job: JobId, watts: Watts) {
        self.claims.take(job, watts);
        let units = Jobs::new(&self.workload).units(job, &self.platform);
        let claim = Claim { units, microwatts: watts.microwatts_down() };
        self.releases.insert(Release { at: self.planned_end(job), row: job.0, claim });
    }

    /// A queued job will never start.
    pub(super) fn reject(&mut self, job: JobId, why: Rejection) -> Result<(), SimulationError> {
        if job.0 as usize >= self.workload.len() || !self.is_queued(job) {
            return Err(SimulationError("the job is not in the queue".into()));
        }
        self.jobs.state[job.0 as usize] = match why {
            Rejection::NoProfile => JobState::RejectedProfile,
        };
        self.queued -= 1;
        self.done += 1;
        Ok(())
    }

    /// A node starts to boot.
    pub(super) fn wake(&mut self, node: u32, until: SimTime) -> Result<(), SimulationError> {
        let state = self.node(node).wake(until)?;
        self.boots[node as usize] += 1;
        self.set_node(node, state, self.platform.node(node).boot);
        Ok(())
    }

    /// A node starts to shut down.
    pub(super) fn sleep(&mut self, node: u32, until: SimTime) -> Result<(), SimulationError> {
        let state = self.node(node).sleep(until)?;
        self.shutdowns[node as usize] += 1;
        self.slots.close(node);
        self.set_node(node, state, self.platform.node(node).shutdown);
        Ok(())
    }

    /// A node is ready, unless something else has become of it meanwhile.
    pub(super) fn node_ready(&mut self, node: u32) -> Result<bool, SimulationError> {
        if self.node(node) != (NodeState::Booting { until: self.now }) {
            return Ok(false);
        }
        self.back_in_service(node, self.node(node).ready()?);
        Ok(true)
    }

    /// A node is off, unless something else has become of it meanwhile.
    pub(super) fn node_off(&mut self, node: u32) -> Result<bool, SimulationError> {
        if self.node(node) != (NodeState::ShuttingDown { until: self.now }) {
            return Ok(false);
        }
        let state = self.node(node).powered_off()?;
        self.set_node(node, state, self.platform.node(node).off);
        Ok(true)
    }

    /// A node that was down is back.
    ///
    /// Returns whether it is back in service: not while another outage of the same node lasts.
    pub(super) fn node_repaired(&mut self, node: u32) -> Result<bool, SimulationError> {
        let refused = |what| SimulationError(format!("node {node}, at {} s: {what}", self.now.seconds()));
        let state = self.node(node).repaired().map_err(refused)?;
        self.outages[node as usize] -= 1;
        if self.outages[node as usize] > 0 {
            return Ok(false);
        }
        self.back_in_service(node, state);
        Ok(true)
    }

    fn back_in_service(&mut self, node: u32, state: NodeState) {
        self.slots.open(node);
        self.set_node(node, state, self.platform.node(node).idle);
    }

    /// A node fails, and with it the jobs it serves; returns those.
    ///
    /// A node that is down already has one outage more.
    pub(super) fn node_failed(&mut self, node: u32) -> Result<Vec<JobId>, SimulationError> {
        self.outages[node as usize] += 1;
        let victims = match &self.sharing {
            Some(sharing) => sharing.jobs_on(node),
            None => self.occupant[node as usize].into_iter().collect(),
        };
        for &job in &victims {
            self.end_job(job, JobState::Failed)?;
        }
        self.slots.close(node);
        self.set_node(node, NodeState::Down, self.platform.node(node).down);
        Ok(victims)
    }

    /// Changes what a node does and draws; returns the energy of the interval that ends.
    fn set_node(&mut self, node: u32, state: NodeState, draw: Watts) -> Joules {
        let old = std::mem::replace(&mut self.nodes[node as usize], state);
        self.classes[old.class() as usize] -= 1;
        self.classes[state.class() as usize] += 1;
        self.meter.set(self.now, node, state.class(), draw)
    }

    /// Closes every book at `end`.
    pub(super) fn close(&mut self, end: SimTime) -> Result<(), SimulationError> {
        self.advance(end)?;
        if self.running > 0 {
            self.charge_running();
        }
        self.meter.close(end)?;
        self.timeline.close(end);
        Ok(())
    }

    /// A run in which nothing started has a window of length zero: nothing was drawn in it, and its one row is its start.
    pub(super) fn forget(&mut self) {
        let idle: Vec<_> = self.platform.nodes().iter().map(|node| node.idle).collect();
        let start = self.workload.jobs().map(|job| self.workload.submit(job)).min().unwrap_or_default();
        self.meter = Meter::new(start, &idle);
        self.timeline = Timeline::default();
        let idle_nodes = i32::try_from(self.platform.len()).unwrap_or(i32::MAX);
        self.timeline.record(start, self.meter.draw(), [0, idle_nodes, 0, 0, 0, 0, 0]);
    }

    /// Charges the jobs that still run for what they drew so far, without ending them.
    fn charge_running(&mut self) {
        for job in self.workload.jobs().filter(|job| self.jobs.state[job.0 as usize] == JobState::Running) {
            let nodes = self.jobs.nodes_of(job.0 as usize, self.workload.node_count(job));
            let energy: Joules = match &mut self.sharing {
                None => {
                    let draw: Watts = nodes.iter().map(|&node| self.meter.node_draw(node)).sum();
                    draw * (self.now - self.jobs.start[job.0 as usize])
                }
                Some(sharing) => {
                    for &node in nodes {
                        sharing.settle_job(&self.meter, node, job, self.now);
                    }
                    sharing.energy(job)
                }
            };
            self.jobs.energy_j[job.0 as usize] = energy.joules();
        }
    }
}
