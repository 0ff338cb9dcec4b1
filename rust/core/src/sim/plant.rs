//! Plant: the true state of the simulated machine, with the real lengths of runs, the draws of nodes, and the next end.
//!
//! A controller learns nothing from it but the events that it is informed of. A live machine would be another plant.

mod changing;

use std::sync::Arc;

use crate::algo::end_heap::EndHeap;
use crate::algo::span::Span;
use crate::cluster::Cluster;
use crate::cluster::runs::{Run, RunId};
use crate::error::SimulationError;
use crate::platform::Platform;
use crate::platform::node_state::Class;
use crate::policy::Jobs;
use crate::power::known::KnownDraw;
use crate::power::meter::{Load, Meter};
use crate::power::pvt::{Actual, ForAlike};
use crate::sim::limits::Limits;
use crate::sim::lives::Life;
use crate::sim::segments::Segments;
use crate::sim::sharing::Sharing;
use crate::units::{Joules, SimDuration, SimTime, Watts};
use crate::workload::{AppId, JobId, Workload};

/// The true machine and its meter.
#[derive(Clone, Debug)]
pub(super) struct Plant {
    workload: Arc<Workload>,
    platform: Arc<Platform>,
    actual: Arc<Actual>,
    limits: Limits,
    ends: EndHeap,
    /// Ends of the present parts of runs' profiles.
    turns: EndHeap,
    meter: Meter,
    /// The meter as it was when nodes began to change after the last run had ended: the window may end there.
    kept: Option<Box<Meter>>,
    /// Loads by the run's slot, while nothing about a run can change before its end: then the books of its nodes are
    /// written once, at its end.
    loads: Option<Vec<Load>>,
    /// Runs on each node, if nodes are shared.
    sharing: Option<Sharing>,
    /// Lives by the run's slot, if speeds or draws may change or runs may be suspended.
    lives: Option<Vec<Option<Life>>>,
    /// Runs that have changed in this instant.
    touched: Vec<RunId>,
    segments: Segments,
}

/// Outcome of a run that is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    /// Energy that its nodes drew for it.
    pub(super) energy: Joules,
    /// Length of the whole run, had it not been cut.
    pub(super) whole: SimDuration,
    /// Part of that which it has run.
    pub(super) ran: SimDuration,
    /// True if it was killed before its end.
    pub(super) is_cut: bool,
    /// Time suspended.
    pub(super) stood: SimDuration,
    /// The lowest cap that was in force on any of its nodes, W.
    pub(super) lowest_cap_w: f64,
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
            kept: None,
            loads: platform.is_exclusive().then(Vec::new),
            sharing: (!platform.is_exclusive()).then(|| Sharing::new(platform.len())),
            ends: EndHeap::default(),
            turns: EndHeap::default(),
            lives: None,
            touched: Vec::new(),
            segments: Segments::default(),
            actual: Arc::new(actual),
            limits,
            workload,
            platform,
        }
    }

    /// Keeps the books node by node from now on, those of the runs under way, too.
    pub(super) fn book_by_node(&mut self, cluster: &Cluster) {
        if self.loads.take().is_none() {
            return;
        }
        for (id, run) in cluster.runs().iter() {
            let draws = self.actual.of_job_under(self.workload.app(run.job), self.own(id, run.job), run.caps.own_w);
            self.meter.enter(run.started, cluster.runs().nodes(run), draws);
        }
    }

    /// Takes a workload with more jobs, and their tables.
    pub(super) fn grow(&mut self, workload: Arc<Workload>, actual: Actual) {
        (self.workload, self.actual) = (workload, Arc::new(actual));
    }

    /// Instant since which a node's draw has not changed.
    pub(super) fn unchanged_since(&self, node: u32) -> SimTime {
        self.meter.node_since(node)
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

    /// Instant of the next end of a part of a profile.
    pub(super) fn next_turn(&self) -> Option<SimTime> {
        self.turns.next_time()
    }

    /// The slot of the next run that ends now.
    pub(super) fn pop_end(&mut self, now: SimTime) -> Option<u32> {
        self.ends.pop_at(now)
    }

    /// Present draw of the machine.
    pub(super) fn draw(&self) -> Watts {
        self.meter.draw()
    }

    /// Begins a run: sets the draws of its nodes, and its end.
    ///
    /// # Errors
    /// If it would end beyond the range of the clock.
    pub(super) fn begin(&mut self, cluster: &Cluster, id: RunId) -> Result<(), SimulationError> {
        let Some(run) = cluster.runs().get(id) else { return Ok(()) };
        self.kept = None;
        let (job, nodes) = (run.job, cluster.runs().nodes(run));
        let factor = self.factor(cluster, id, run, nodes);
        let whole = self.whole_run(run, factor);
        let modelled = self.limit(run, nodes).map_or(whole, |limit| limit.min(whole));
        let end = run.started.saturating_add(self.workload.observed_length(job).unwrap_or(modelled));
        if end > SimTime::LATEST {
            return Err(SimulationError(format!("it would end later than {} s", SimTime::LATEST.seconds())));
        }
        if let Some(sharing) = &mut self.sharing {
            sharing.begin(id);
            self.join_nodes(cluster, id, run);
        } else {
            let known = self.own(id, job);
            let Self { actual, workload, meter, loads, .. } = self;
            let draws = actual.of_job_under(workload.app(job), known, run.caps.own_w);
            match loads {
                Some(loads) => note(loads, id, meter.begin(nodes, draws)),
                None => meter.serve(run.started, nodes, |node| draws.on(node)),
            }
        }
        self.ends.set(id.slot(), end);
        if self.lives.is_some() {
            let grace = self.limits.grace();
            let kill = self.limit(run, nodes).map(|limit| run.started.saturating_add(limit - grace));
            let course = self.course(run, factor);
            let stretch = self.stretch(cluster, run, factor);
            let place = self.segments.begin(run);
            self.live(id, Life::new(run.started, course, kill, stretch, place));
            self.set_turn(id);
        }
        Ok(())
    }

    /// Puts a run on nodes that it shares, and sets their draws to those of all runs on them.
    fn join_nodes(&mut self, cluster: &Cluster, id: RunId, run: &Run) {
        let (now, need) = (cluster.now(), Jobs::new(&self.workload).need(run.job, &self.platform));
        let (app, own) = (self.workload.app(run.job), self.own(id, run.job));
        let Self { sharing, meter, actual, platform, .. } = self;
        let Some(sharing) = sharing else { return };
        on_each(actual, (app, own), cluster, run, |node, whole| {
            sharing.settle(meter, node, now);
            let draw = sharing.join(platform, node, id, need, whole);
            meter.set(now, node, Class::Busy, draw);
        });
    }

    /// Takes a run off nodes that it shares.
    fn leave_nodes(&mut self, cluster: &Cluster, id: RunId, run: &Run) {
        let Some(sharing) = &mut self.sharing else { return };
        let now = cluster.now();
        for &node in cluster.runs().nodes(run) {
            sharing.settle(&self.meter, node, now);
            let left = sharing.leave(&self.platform, node, id);
            let class = if left.is_some() { Class::Busy } else { Class::Idle };
            self.meter.set(now, node, class, left.unwrap_or(self.platform.node(node).idle));
        }
    }

    /// Measured draw that a run's job brings along: that of the present part of its profile, if it has one.
    fn own(&self, id: RunId, job: JobId) -> KnownDraw {
        let Some(parts) = self.workload.profile(job) else { return KnownDraw::measured(self.workload.power_w(job)) };
        let life = self.lives.as_ref().and_then(|lives| lives.get(id.slot() as usize)?.as_ref());
        KnownDraw::measured(parts[life.map_or(0, Life::part)].watts)
    }

    /// Actual table, by which runs are charged.
    pub(super) fn actual(&self) -> Arc<Actual> {
        Arc::clone(&self.actual)
    }

    /// Ends a run, at its end or before; its nodes draw no more for it.
    pub(super) fn end(&mut self, cluster: &Cluster, id: RunId, run: &Run) -> Outcome {
        self.ends.remove(id.slot());
        self.turns.remove(id.slot());
        let nodes = cluster.runs().nodes(run);
        let now = cluster.now();
        let life = self.lives.as_mut().and_then(|lives| lives[id.slot() as usize].take());
        let is_suspended = life.as_ref().is_some_and(Life::is_suspended);
        // A run that is over as it begins is reported with its state at its end.
        let is_short = life.is_some() && run.started == now;
        let short = is_short.then(|| self.stretch(cluster, run, self.factor(cluster, id, run, nodes)));
        if is_suspended {
            self.kept = None;
        } else if self.sharing.is_some() {
            self.leave_nodes(cluster, id, run);
        }
        let energy = match &self.sharing {
            Some(sharing) => sharing.energy(id),
            // It has left its nodes already.
            None if is_suspended => Joules::ZERO,
            None => self.release(id, run, now, nodes),
        };
        if let Some(life) = life {
            return self.end_life(cluster, run, life, energy, short);
        }
        let (whole, ran) = (self.whole_run(run, self.factor(cluster, id, run, nodes)), now - run.started);
        let is_cut = self.is_cut(run, nodes, ran, whole);
        Outcome { energy, whole, ran, is_cut, stood: SimDuration::ZERO, lowest_cap_w: run.caps.own_w }
    }

    /// Has the nodes of a run that is over idle from now on; returns their energy since their last change.
    fn release(&mut self, id: RunId, run: &Run, now: SimTime, nodes: &[u32]) -> Joules {
        let own = self.own(id, run.job);
        let Self { actual, workload, meter, loads, .. } = self;
        let Some(load) = loads.as_ref().and_then(|loads| loads.get(id.slot() as usize)) else {
            return meter.release(now, nodes);
        };
        let draws = actual.of_job_under(workload.app(run.job), own, run.caps.own_w);
        meter.end(run.started, now, nodes, draws, *load)
    }

    /// Makes equal nodes idle, off or down from now on, with the draws of that state. Returns the step by which each of
    /// them changes the draw.
    pub(super) fn enter(&mut self, now: SimTime, nodes: Span, class: Class) -> Watts {
        self.keep();
        let of = self.platform.node(nodes.first());
        let draw = match class {
            Class::Off => of.off,
            Class::Down => of.down,
            Class::Idle | Class::Busy | Class::Transition => of.idle,
        };
        self.meter.set_all(now, nodes, class, draw)
    }

    /// Begins the boots of equal nodes. Returns the step by which each changes the draw.
    pub(super) fn boot(&mut self, now: SimTime, nodes: Span) -> Watts {
        self.keep();
        self.meter.set_all(now, nodes, Class::Transition, self.platform.node(nodes.first()).boot)
    }

    /// Begins the shutdowns of equal nodes. Returns the step by which each changes the draw.
    pub(super) fn shut_down(&mut self, now: SimTime, nodes: Span) -> Watts {
        self.keep();
        self.meter.set_all(now, nodes, Class::Transition, self.platform.node(nodes.first()).shutdown)
    }

    /// Energy of a run so far. It closes the run's books: nothing may be settled for it again.
    pub(super) fn drawn_so_far(&mut self, cluster: &Cluster, id: RunId, run: &Run) -> Joules {
        let (now, nodes) = (cluster.now(), cluster.runs().nodes(run));
        if let Some(life) = self.lives.as_mut().and_then(|lives| lives.get_mut(id.slot() as usize)?.as_mut()) {
            let held = life.last();
            if let Some(sharing) = &mut self.sharing {
                for &node in nodes {
                    sharing.settle_run(&self.meter, node, id, now);
                }
            }
            let shared = self.sharing.as_ref().map(|sharing| sharing.energy(id));
            if held.since < now || run.started == now {
                let part = shared.map(|shared| life.charge(shared));
                self.segments.push(&mut life.place, held, now, part);
            }
            if let Some(shared) = shared {
                return shared;
            }
            let open = |node: &u32| self.meter.node_draw(*node) * (now - self.meter.node_since(*node));
            let drawn = if life.is_suspended() { Joules::ZERO } else { nodes.iter().map(open).sum() };
            return life.energy() + drawn;
        }
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

    /// Moves the meter back to an instant since which draws have changed only while nothing ran. Returns false if one
    /// has changed otherwise.
    pub(super) fn go_back(&mut self, to: SimTime) -> bool {
        if let Some(kept) = self.kept.take() {
            self.meter = *kept;
        }
        self.meter.go_back(to)
    }

    /// Keeps the meter as it is before nodes change while nothing runs: if nothing ever runs again, the window ends
    /// before the change.
    fn keep(&mut self) {
        if self.kept.is_none() && self.ends.next_time().is_none() {
            self.kept = Some(Box::new(self.meter.clone()));
        }
    }

    /// Forgets all energy: the window has no length.
    pub(super) fn forget(&mut self, start: SimTime) {
        self.meter = idle_meter(start, &self.platform);
    }

    /// Closes the books.
    ///
    /// # Errors
    /// Same as for [`Plant::advance`].
    pub(super) fn close(&mut self, end: SimTime) -> Result<(), SimulationError> {
        self.meter.close(end)
    }

    /// The meter as it is left.
    pub(super) fn into_meter(self) -> Meter {
        self.meter
    }

    /// Length of a whole run that takes `factor` times as long as nominal.
    fn whole_run(&self, run: &Run, factor: f64) -> SimDuration {
        let stretch = factor * run.profiling_ratio.unwrap_or(1.0);
        self.workload.runtime(run.job).stretched(stretch).saturating_add(self.workload.comm(run.job))
    }

    /// Time factor F of a run, relative to nominal, under the caps in force.
    fn factor(&self, cluster: &Cluster, id: RunId, run: &Run, nodes: &[u32]) -> f64 {
        if !self.actual.has_caps() {
            return self.actual.slowest(self.workload.app(run.job), nodes) * run.size_time;
        }
        let caps = nodes.iter().copied().zip(cluster.caps(run));
        let (app, own) = (self.workload.app(run.job), self.own(id, run.job));
        self.actual.slowest_under(app, own, caps) * run.size_time
    }

    /// Time after its start at which a job is killed on these nodes; `None` if it never is.
    fn limit(&self, run: &Run, nodes: &[u32]) -> Option<SimDuration> {
        let slowest = || self.actual.slowest(self.workload.app(run.job), nodes);
        self.limits.of(self.workload.walltime(run.job), run.size_time, slowest)
    }

    /// True if a run that is over after `ran` was killed: it had more to do and, if its length is the observed one, had
    /// used up its walltime.
    fn is_cut(&self, run: &Run, nodes: &[u32], ran: SimDuration, whole: SimDuration) -> bool {
        let is_observed = self.workload.observed_length(run.job).is_some();
        ran < whole && (!is_observed || self.limit(run, nodes).is_some_and(|limit| ran >= limit))
    }
}

/// Calls `act` with each node of a run, and its draw if it served that run alone: under the caps in force, by the job's
/// application and own draw.
fn on_each(
    actual: &Actual,
    (app, own): (Option<AppId>, KnownDraw),
    cluster: &Cluster,
    run: &Run,
    mut act: impl FnMut(u32, Watts),
) {
    let nodes = cluster.runs().nodes(run);
    if run.caps.on_all() == Some(f64::INFINITY) {
        let draws = actual.of_job_under(app, own, f64::INFINITY);
        for &node in nodes {
            act(node, draws.on(node));
        }
        return;
    }
    let mut alike = ForAlike::default();
    for (&node, cap_w) in nodes.iter().zip(cluster.caps(run)) {
        let like = actual.alike(node).map(|like| (like, cap_w.to_bits()));
        act(node, alike.of(like, || actual.of_job_under(app, own, cap_w).on(node)));
    }
}

/// Keeps the load of a run.
fn note(loads: &mut Vec<Load>, id: RunId, load: Load) {
    let slot = id.slot() as usize;
    if loads.len() <= slot {
        loads.resize(slot + 1, Load::default());
    }
    loads[slot] = load;
}

fn idle_meter(start: SimTime, platform: &Platform) -> Meter {
    Meter::new(start, platform.nodes().iter().map(|node| node.idle).collect())
}
