//! The simulated machine as it really is: how long runs take, what nodes draw, and which run ends next.
//!
//! A controller knows nothing of it but what it is told. A live machine is another plant.

use std::sync::Arc;

use crate::algo::end_heap::EndHeap;
use crate::cluster::Cluster;
use crate::cluster::runs::{Run, RunId};
use crate::error::SimulationError;
use crate::platform::Platform;
use crate::platform::node_state::Class;
use crate::policy::Jobs;
use crate::power::meter::Meter;
use crate::power::pvt::Actual;
use crate::sim::limits::Limits;
use crate::sim::sharing::Sharing;
use crate::units::{Joules, SimDuration, SimTime, Watts};
use crate::workload::{JobId, Workload};

/// Truth and its meter.
#[derive(Clone, Debug)]
pub(super) struct Plant {
    workload: Arc<Workload>,
    platform: Arc<Platform>,
    actual: Arc<Actual>,
    limits: Limits,
    ends: EndHeap,
    meter: Meter,
    /// Who shares each node, where they do.
    sharing: Option<Sharing>,
}

/// What a run that is over has been.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// What its nodes drew for it.
    pub(super) energy: Joules,
    /// How long it would have taken in all.
    pub(super) whole: SimDuration,
    /// Whether it was killed before its end.
    pub(super) is_cut: bool,
}

impl Plant {
    /// An idle machine at `start`.
    pub(super) fn new(
        start: SimTime,
        workload: Arc<Workload>,
        platform: Arc<Platform>,
        actual: Actual,
        limits: Limits,
    ) -> Self {
        Self {
            meter: idle_meter(start, &platform),
            sharing: (!platform.is_exclusive()).then(|| Sharing::new(platform.len())),
            ends: EndHeap::default(),
            actual: Arc::new(actual),
            limits,
            workload,
            platform,
        }
    }

    /// Moves the clock.
    ///
    /// # Errors
    /// If the energy outgrows its book.
    pub(super) fn advance(&mut self, now: SimTime) -> Result<(), SimulationError> {
        self.meter.advance(now)
    }

    /// The instant of the next end.
    pub(super) fn next_end(&self) -> Option<SimTime> {
        self.ends.next_time()
    }

    /// The slot of the next run that ends now.
    pub(super) fn pop_end(&mut self, now: SimTime) -> Option<u32> {
        self.ends.pop_at(now)
    }

    /// What the machine draws now.
    pub(super) fn draw(&self) -> Watts {
        self.meter.draw()
    }

    /// A run begins: its nodes draw what it has them draw, and its end is known.
    ///
    /// # Errors
    /// If it would end later than the clock goes.
    pub(super) fn begin(&mut self, cluster: &Cluster, id: RunId) -> Result<(), SimulationError> {
        let Some(run) = cluster.runs().get(id) else { return Ok(()) };
        let (job, nodes) = (run.job, cluster.runs().nodes(run));
        let whole = self.whole_run(run, nodes);
        let modelled = self.limit(job, nodes).map_or(whole, |limit| limit.min(whole));
        let end = run.started.saturating_add(self.workload.observed_length(job).unwrap_or(modelled));
        if end > SimTime::LATEST {
            return Err(SimulationError(format!("it would end later than {} s", SimTime::LATEST.seconds())));
        }
        let (now, need) = (run.started, Jobs::new(&self.workload).need(job, &self.platform));
        let draws = self.actual.of_job(&self.workload, job);
        if let Some(sharing) = &mut self.sharing {
            sharing.begin(id);
            for &node in nodes {
                sharing.settle(&self.meter, node, now);
                let draw = sharing.join(&self.platform, node, id, need, draws.on(node));
                self.meter.set(now, node, Class::Busy, draw);
            }
        } else {
            for &node in nodes {
                self.meter.set(now, node, Class::Busy, draws.on(node));
            }
        }
        self.ends.set(id.slot(), end);
        Ok(())
    }

    /// A run is over, at its end or before: its nodes draw no more for it.
    pub(super) fn end(&mut self, cluster: &Cluster, id: RunId, run: &Run) -> Outcome {
        self.ends.remove(id.slot());
        let (now, nodes) = (cluster.now(), cluster.runs().nodes(run));
        let mut energy = Joules::ZERO;
        for &node in nodes {
            let idle = self.platform.node(node).idle;
            if let Some(sharing) = &mut self.sharing {
                sharing.settle(&self.meter, node, now);
                let left = sharing.leave(&self.platform, node, id);
                let class = if left.is_some() { Class::Busy } else { Class::Idle };
                self.meter.set(now, node, class, left.unwrap_or(idle));
            } else {
                energy += self.meter.set(now, node, Class::Idle, idle);
            }
        }
        if let Some(sharing) = &self.sharing {
            energy = sharing.energy(id);
        }
        let whole = self.whole_run(run, nodes);
        Outcome { energy, whole, is_cut: self.is_cut(run, nodes, now - run.started, whole) }
    }

    /// A node is idle, off or down from now on, and draws what it draws then.
    pub(super) fn enter(&mut self, now: SimTime, node: u32, class: Class) {
        let of = self.platform.node(node);
        let draw = match class {
            Class::Off => of.off,
            Class::Down => of.down,
            Class::Idle | Class::Busy | Class::Transition => of.idle,
        };
        self.meter.set(now, node, class, draw);
    }

    /// A node boots from now on.
    pub(super) fn boot(&mut self, now: SimTime, node: u32) {
        self.meter.set(now, node, Class::Transition, self.platform.node(node).boot);
    }

    /// A node shuts down from now on.
    pub(super) fn shut_down(&mut self, now: SimTime, node: u32) {
        self.meter.set(now, node, Class::Transition, self.platform.node(node).shutdown);
    }

    /// What a run has drawn so far; nothing may be settled for it again.
    pub(super) fn drawn_so_far(&mut self, cluster: &Cluster, id: RunId, run: &Run) -> Joules {
        let (now, nodes) = (cluster.now(), cluster.runs().nodes(run));
        match &mut self.sharing {
            None => nodes.iter().map(|&node| self.meter.node_draw(node)).sum::<Watts>() * (now - run.started),
            Some(sharing) => {
                for &node in nodes {
                    sharing.settle_run(&self.meter, node, id, now);
                }
                sharing.energy(id)
            }
        }
    }

    /// Forgets all that was drawn: the window has no length.
    pub(super) fn forget(&mut self, start: SimTime) {
        self.meter = idle_meter(start, &self.platform);
    }

    /// Closes the books.
    ///
    /// # Errors
    /// As [`Plant::advance`].
    pub(super) fn close(&mut self, end: SimTime) -> Result<(), SimulationError> {
        self.meter.close(end)
    }

    /// The meter as it is left.
    pub(super) fn into_meter(self) -> Meter {
        self.meter
    }

    /// How long a run takes in all.
    fn whole_run(&self, run: &Run, nodes: &[u32]) -> SimDuration {
        self.actual.runtime(&self.workload, run.job, nodes, run.profiling_ratio.unwrap_or(1.0))
    }

    /// After how long a job is killed on these nodes; none if it never is.
    fn limit(&self, job: JobId, nodes: &[u32]) -> Option<SimDuration> {
        let slowest = || self.actual.slowest(self.workload.app(job), nodes);
        self.limits.of(self.workload.walltime(job), slowest)
    }

    /// Whether a run that is over after `ran` was killed: it had more to do and, where its end was observed, had used up
    /// its time.
    fn is_cut(&self, run: &Run, nodes: &[u32], ran: SimDuration, whole: SimDuration) -> bool {
        let is_observed = self.workload.observed_length(run.job).is_some();
        ran < whole && (!is_observed || self.limit(run.job, nodes).is_some_and(|limit| ran >= limit))
    }
}

fn idle_meter(start: SimTime, platform: &Platform) -> Meter {
    let idle: Vec<_> = platform.nodes().iter().map(|node| node.idle).collect();
    Meter::new(start, &idle)
}
