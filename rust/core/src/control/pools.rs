//! Queues whose sets of nodes are equal or disjoint, under policies that count: each distinct set is a pool, and is
//! scheduled as if it were the machine (operations page on machines, rule 6).
//!
//! Each pool has a separate controller, whose nodes are counted from 0. Events of the machine are passed on to it, and
//! its decisions are passed on to the machine.

mod rest;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cluster::growth::Growth;
use crate::cluster::runs::RunId;
use crate::cluster::{Cluster, Effect};
use crate::control::Controller;
use crate::error::{Result, SimulationError};
use crate::platform::Platform;
use crate::platform::cells::Cells;
use crate::platform::outages::Outages;
use crate::platform::queues::Queues;
use crate::policy::recollection::Recollection;
use crate::policy::sleep::{Alarm, Sleep};
use crate::policy::timing::Timing;
use crate::policy::usage::Use;
use crate::policy::{Decision, Decisions, Jobs, Notice, Policy, Stage, Stages, View};
use crate::power::pvt::Predicted;
use crate::power::slowest::Slowest;
use crate::units::{SimTime, Watts};
use crate::workload::{JobId, Workload};

/// Policy made of one policy per pool.
#[derive(Clone)]
pub struct Pools {
    name: String,
    timing: Timing,
    all: Vec<Pool>,
    queues: Arc<Queues>,
    /// The pool of each queue.
    of_queue: Vec<usize>,
    /// The pool of each node, and its number there; `None` for a node in no queue.
    homes: Vec<Option<(usize, u32)>>,
    /// Ends of the maintenance of nodes, as the pools know them.
    back: BTreeMap<u32, SimTime>,
    /// Rule that puts nodes of the whole machine to sleep, if there is one.
    sleep: Option<Sleep>,
    /// Nodes whose state may differ from that in their pools.
    changed: Vec<u32>,
    /// Error of a notice, which is returned by the next pass.
    broken: Option<SimulationError>,
}

/// A set of nodes that is scheduled as if it were the machine.
#[derive(Clone)]
struct Pool {
    nodes: Vec<u32>,
    controller: Controller,
    /// Its runs, by row of their jobs.
    runs: BTreeMap<u32, RunId>,
}

/// Data from which pools are made.
pub struct Ground<'a> {
    /// The jobs.
    pub workload: &'a Arc<Workload>,
    /// The machine.
    pub platform: &'a Platform,
    /// Predicted draws and speeds.
    pub predicted: &'a Predicted,
    /// True if walltimes are meant for nominal speed.
    pub stretches: bool,
}

impl Pools {
    /// Makes a pool for each distinct set of nodes, which have none in common, under the policy that `make` makes for these as a separate machine.
    /// `sleep` puts nodes of all of them to sleep if their policies would.
    ///
    /// # Errors
    /// If that fails.
    pub fn new(
        ground: &Ground<'_>,
        queues: &Arc<Queues>,
        sleep: Option<Sleep>,
        mut make: impl FnMut(&[u32], &Platform) -> Result<Box<dyn Policy>>,
    ) -> Result<Self> {
        let (sets, of_queue) = queues.pools();
        let mut homes = vec![None; ground.platform.nodes().len()];
        let (mut pools, mut name, mut timing) = (Vec::new(), String::new(), Timing::AtOnce);
        for (number, nodes) in sets.into_iter().enumerate() {
            nodes.iter().zip(0..).for_each(|(&node, place)| homes[node as usize] = Some((number, place)));
            let platform = ground.platform.part(nodes);
            let policy = make(nodes, &platform)?;
            policy.name().clone_into(&mut name);
            timing = policy.timing();
            let mut controller = Controller::new(cluster_of(ground, nodes, platform), policy);
            controller.line_up(Arc::new(queues.in_pool(nodes)))?;
            let is_own = |job: JobId| of_queue[usize::from(queues.number(job))] == number;
            controller.be_pool(is_own);
            pools.push(Pool { nodes: nodes.to_vec(), controller, runs: BTreeMap::new() });
        }
        let (queues, back) = (Arc::clone(queues), BTreeMap::new());
        let changed = Vec::new();
        Ok(Self { name, timing, all: pools, queues, of_queue, homes, back, sleep, changed, broken: None })
    }

    fn number_of(&self, job: JobId) -> usize {
        self.of_queue[usize::from(self.queues.number(job))]
    }

    /// Notifies the other pools of a job of one pool that may belong to an array with jobs of theirs.
    fn tell_others(&mut self, own: usize, jobs: Jobs<'_>, job: JobId, notice: Notice) {
        if jobs.array(job).is_some() {
            let others = self.all.iter_mut().enumerate().filter(|(number, _)| *number != own);
            others.for_each(|(_, pool)| pool.controller.tell(notice));
        }
    }

    fn end(&mut self, jobs: Jobs<'_>, job: JobId) -> Result<(), SimulationError> {
        let number = self.number_of(job);
        let pool = &mut self.all[number];
        if let Some(run) = pool.runs.remove(&job.0).map(|id| pool.controller.end(id)).transpose()?.flatten() {
            let places = pool.controller.cluster().runs().nodes(&run);
            self.changed
                .extend(places.iter().map(|&place| pool.nodes[place as usize]).filter(|_| self.sleep.is_some()));
            self.tell_others(number, jobs, job, Notice::Ended(job));
        }
        Ok(())
    }

    fn take_note(&mut self, jobs: Jobs<'_>, notice: Notice) -> Result<(), SimulationError> {
        match notice {
            Notice::Submitted(job) => {
                let number = self.number_of(job);
                self.all[number].controller.admit_since(job, jobs.eligible(job));
            }
            Notice::Ended(job) => self.end(jobs, job)?,
            Notice::Requeued(job) => {
                let number = self.number_of(job);
                self.all[number].controller.requeue_over(job);
            }
            Notice::Withdrawn(job) => {
                let number = self.number_of(job);
                self.all[number].controller.withdraw(job);
            }
            Notice::NodesFound => self.changed = (0..).take(self.homes.len()).collect(),
            Notice::NodeFailed(node) => self.changed.push(node),
            Notice::NodeReady(nodes) | Notice::NodeOff(nodes) => self.changed.extend(nodes.nodes()),
            Notice::Timer => self.all.iter_mut().for_each(|pool| pool.controller.timer()),
            Notice::Started(_) | Notice::BudgetChanged | Notice::PutToSleep(..) | Notice::Steered(_) => {}
        }
        Ok(())
    }

    /// Makes a pass over each pool.
    fn start(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        if let Some(error) = self.broken.take() {
            return Err(error.into());
        }
        self.all.iter_mut().for_each(|pool| pool.controller.advance(view.now));
        self.follow_nodes(view);
        self.follow_outages(view.outages);
        for number in 0..self.all.len() {
            for job in self.all[number].decide(view, out)? {
                self.tell_others(number, view.jobs, job, Notice::Started(job));
            }
        }
        Ok(())
    }

    /// Passes on changes of the ends of nodes' maintenance.
    fn follow_outages(&mut self, outages: &Outages) {
        let now: BTreeMap<_, _> = outages.coming_back().collect();
        if now == self.back {
            return;
        }
        let before = std::mem::replace(&mut self.back, now);
        let changed = before.keys().chain(self.back.keys()).filter(|node| before.get(node) != self.back.get(node));
        for &node in changed.collect::<std::collections::BTreeSet<_>>() {
            if let Some((number, place)) = self.homes[node as usize] {
                let (known, back) = (before.get(&node).copied(), self.back.get(&node).copied());
                self.all[number].controller.count_on(place, known, back);
            }
        }
    }
}

impl Pool {
    /// Makes a pass over the pool, whose decisions are added to `out`. Returns the jobs that start.
    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<Vec<JobId>> {
        let Self { nodes, controller, runs } = self;
        let mut started = Vec::new();
        controller.decide(Watts::ZERO, false, view.interrupted, &mut |cluster, decision, effect| {
            match (decision, effect) {
                (Decision::Start(start), Effect::Started(id)) => {
                    let run = cluster.runs().get(id).ok_or_else(|| SimulationError("it does not run".to_owned()))?;
                    let own = cluster.runs().nodes(run).iter().map(|&place| nodes[place as usize]);
                    out.start_as(start.clone(), own);
                    runs.insert(start.job.0, id);
                    started.push(start.job);
                }
                (_, Effect::Timer(at)) => out.timer(at),
                (_, Effect::Rejected(job, why)) => out.reject(job, why),
                _ => return Err(SimulationError("pools start jobs, and nothing else".to_owned())),
            }
            Ok(())
        })?;
        Ok(started)
    }
}

impl Policy for Pools {
    fn name(&self) -> &str {
        &self.name
    }

    fn notice(&mut self, jobs: Jobs<'_>, notice: Notice) {
        if let Err(error) = self.take_note(jobs, notice) {
            self.broken.get_or_insert(error);
        }
    }

    fn stages(&self) -> Stages {
        let follows = self.all.iter().any(|pool| pool.controller.stages().follows);
        Stages { rests: self.sleep.is_some(), follows, ..Stages::default() }
    }

    fn decide(&mut self, stage: Stage, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        match stage {
            Stage::Start => self.start(view, out),
            Stage::Rest => self.rest(view, out),
            Stage::Recover | Stage::Resize | Stage::Allot | Stage::Alert | Stage::Relieve => Ok(()),
        }
    }

    /// Shares are those of the whole machine: each pool follows the use of all pools.
    fn follow(&mut self, uses: &[Use]) {
        self.all.iter_mut().for_each(|pool| pool.controller.follow(uses));
    }

    fn alarm(&mut self, _further: bool) -> Option<Alarm> {
        self.sleep.as_ref()?.alarm()
    }

    fn take_over(&mut self, view: &View<'_>, id: RunId) -> Result<()> {
        let Some(run) = view.runs.get(id) else { return Ok(()) };
        let number = self.number_of(run.job);
        let place = |&node: &u32| self.homes[node as usize].filter(|home| home.0 == number).map(|home| home.1);
        let places: Option<Vec<_>> = view.runs.nodes(run).iter().map(place).collect();
        let places = places.ok_or_else(|| SimulationError("a run is on nodes of another queue".to_owned()))?;
        let (eligible, length) = (view.jobs.eligible(run.job), view.planned_length(run));
        let pool = &mut self.all[number];
        pool.controller.advance(view.now);
        pool.runs.insert(run.job.0, pool.controller.take_over(run, &places, eligible, length)?);
        self.tell_others(number, view.jobs, run.job, Notice::Started(run.job));
        Ok(())
    }

    fn timing(&self) -> Timing {
        self.timing
    }

    fn grow(&mut self, growth: &Growth) {
        for pool in &mut self.all {
            pool.controller.grow(&growth.part(&pool.nodes), &|_| true);
        }
        if let Some(queues) = &growth.queues {
            self.queues = Arc::clone(queues);
        }
    }

    fn divide(&mut self, cells: &Arc<Cells>, _exclusive: bool) -> Result<()> {
        self.all.iter_mut().try_for_each(|pool| pool.controller.divide(Arc::new(cells.part(&pool.nodes))))
    }

    fn remember(&self, kept: &mut Recollection) {
        for (number, pool) in self.all.iter().enumerate() {
            let mut own = Recollection::default();
            pool.controller.policy.remember(&mut own);
            kept.keep_part(number, own);
        }
        self.sleep.iter().for_each(|sleep| sleep.remember(kept));
    }

    fn recall(&mut self, view: &View<'_>, kept: &Recollection) {
        for (number, pool) in self.all.iter_mut().enumerate() {
            pool.controller.advance(view.now);
            pool.controller.recall(&kept.part(number));
        }
        self.sleep.iter_mut().for_each(|sleep| sleep.recall(kept));
    }

    /// Nothing to do: it was made for these queues.
    fn line_up(&mut self, _queues: &Arc<Queues>) -> Result<()> {
        Ok(())
    }
}

/// Cluster with the nodes of a pool, all idle.
fn cluster_of(ground: &Ground<'_>, nodes: &[u32], platform: Platform) -> Cluster {
    let Ground { workload, predicted, stretches, .. } = ground;
    let start = workload.jobs().map(|job| workload.submit(job)).min().unwrap_or_default();
    let predicted = predicted.part(nodes);
    let slowest = stretches.then(|| Slowest::new(&predicted, platform.len(), workload.app_names().len()));
    Cluster::new(start, Arc::clone(workload), Arc::new(platform), Arc::new(predicted), slowest)
}
