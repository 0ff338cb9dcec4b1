//! Plant: the true state of the simulated machine, with the real lengths of runs, the draws of nodes, and the next end.
//!
//! A controller learns nothing from it but the events that it is informed of. A live machine would be another plant.

use std::sync::Arc;

use crate::algo::end_heap::EndHeap;
use crate::algo::span::Span;
use crate::cluster::runs::{Run, RunId};
use crate::cluster::{Cluster, Moved, Retimed};
use crate::error::SimulationError;
use crate::platform::Platform;
use crate::platform::node_state::Class;
use crate::policy::Jobs;
use crate::power::known::KnownDraw;
use crate::power::meter::{Load, Meter};
use crate::power::pvt::{Actual, ForAlike};
use crate::sim::attempts::LostAttempt;
use crate::sim::limits::Limits;
use crate::sim::lives::{Course, Life, Settled};
use crate::sim::segments::{Held, Segments, Stretch};
use crate::sim::sharing::Sharing;
use crate::units::{Joules, SimDuration, SimTime, Watts};
use crate::workload::{AppId, JobId, Part, Workload};

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

    /// Tracks the lives of runs, before anything has happened, as speeds or draws may change and runs may be suspended.
    pub(super) fn watch_lives(&mut self) {
        self.lives.get_or_insert_default();
        self.loads = None;
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

    /// True if lives are tracked.
    pub(super) fn watches_lives(&self) -> bool {
        self.lives.is_some()
    }

    /// Tracks lives from now on, in the middle of a run: also those of the runs under way, and with segments for the
    /// attempts that are `over`, whose speeds have not changed.
    pub(super) fn watch_lives_of(&mut self, cluster: &Cluster, over: Vec<LostAttempt>) {
        if self.lives.is_some() {
            return;
        }
        self.book_by_node(cluster);
        self.lives = Some(Vec::new());
        for LostAttempt { job, number, start, end, places, energy } in over {
            let nodes = cluster.runs().written(places.clone());
            let draws = self.actual.of_job(&self.workload, job);
            let is_shared = self.sharing.is_some();
            let draw = if is_shared { Watts::ZERO } else { nodes.iter().map(|&node| draws.on(node)).sum() };
            let size_time = self.workload.time_at(job, u32::try_from(nodes.len()).unwrap_or(u32::MAX));
            let factor = self.actual.slowest(self.workload.app(job), nodes) * size_time;
            let stretch = Stretch { cap_w: self.workload.cap_w(job), factor, draw, is_suspended: false };
            let mut place = self.segments.begin_one(job, number, start, places);
            let held = Held { since: start, stretch, still_until: start };
            self.segments.push(&mut place, held, end, is_shared.then_some(energy));
        }
        let runs: Vec<_> = cluster.runs().iter().map(|(id, run)| (id, run.clone())).collect();
        for (id, run) in runs {
            let nodes = cluster.runs().nodes(&run);
            let factor = self.factor(cluster, id, &run, nodes);
            let kill = self.limit(&run, nodes).map(|limit| run.started.saturating_add(limit - self.limits.grace()));
            let course = self.course(&run, factor);
            let stretch = self.stretch(cluster, &run, factor);
            let place = self.segments.begin(&run);
            self.live(id, Life::new(run.started, course, kill, stretch, place).under_way(run.caps.own_w));
        }
        self.touched.clear();
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

    fn live(&mut self, id: RunId, life: Life) {
        self.touched.push(id);
        if let Some(lives) = &mut self.lives {
            let slot = id.slot() as usize;
            if lives.len() <= slot {
                lives.resize(slot + 1, None);
            }
            lives[slot] = Some(life);
        }
    }

    /// Course of a run that begins with this time factor.
    fn course(&self, run: &Run, factor: f64) -> Course {
        let length = self.workload.observed_length(run.job).unwrap_or_else(|| self.whole_run(run, factor));
        let first = self.workload.profile(run.job).and_then(<[Part]>::first);
        let turn = first.filter(|part| part.until < SimDuration::FOREVER).map(|part| {
            let lasts = part.until.stretched(self.pace(run, factor));
            (run.started.saturating_add(lasts), part.until)
        });
        Course { end: run.started.saturating_add(length), turn }
    }

    /// Factor by which the parts of a run's profile are longer than nominal.
    fn pace(&self, run: &Run, factor: f64) -> f64 {
        let is_observed = self.workload.observed_length(run.job).is_some();
        if is_observed { 1.0 } else { factor * run.profiling_ratio.unwrap_or(1.0) }
    }

    /// Measured draw that a run's job brings along: that of the present part of its profile, if it has one.
    fn own(&self, id: RunId, job: JobId) -> KnownDraw {
        let Some(parts) = self.workload.profile(job) else { return KnownDraw::measured(self.workload.power_w(job)) };
        let life = self.lives.as_ref().and_then(|lives| lives.get(id.slot() as usize)?.as_ref());
        KnownDraw::measured(parts[life.map_or(0, Life::part)].watts)
    }

    /// Enters the next parts of the profiles whose parts end now.
    pub(super) fn turn(&mut self, cluster: &Cluster) {
        while let Some(slot) = self.turns.pop_at(cluster.now()) {
            if let Some(id) = cluster.runs().in_slot(slot) {
                self.turn_one(cluster, id);
            }
        }
    }

    fn turn_one(&mut self, cluster: &Cluster, id: RunId) {
        let Some((run, life)) = cluster.runs().get(id).zip(self.life(id)) else { return };
        let (next, factor) = (life.part() + 1, life.factor());
        let Some(until) = self.workload.profile(run.job).and_then(|parts| parts.get(next)).map(|part| part.until)
        else {
            return;
        };
        let pace = self.pace(run, factor);
        if let Some(life) = self.life(id) {
            life.enter_part(until, pace);
        }
        self.redraw(cluster, id, run);
        self.set_turn(id);
        self.touched.push(id);
    }

    /// Sets the draws of a run's nodes to what they are now.
    fn redraw(&mut self, cluster: &Cluster, id: RunId, run: &Run) {
        let energy = self.draw_under_caps(cluster, id, run);
        if let Some(life) = self.life(id) {
            life.draw(energy);
        }
    }

    fn life(&mut self, id: RunId) -> Option<&mut Life> {
        self.lives.as_mut()?.get_mut(id.slot() as usize)?.as_mut()
    }

    /// State of a run from now on, as a stretch.
    fn stretch(&self, cluster: &Cluster, run: &Run, factor: f64) -> Stretch {
        let nodes = cluster.runs().nodes(run);
        let is_suspended = run.suspension.is_some();
        let drawn = || nodes.iter().map(|&node| self.meter.node_draw(node)).sum();
        // On shared nodes a job is charged a share of their draw, which changes as others come and go.
        let draw = if is_suspended || self.sharing.is_some() { Watts::ZERO } else { drawn() };
        Stretch { cap_w: mean_cap(cluster, run, nodes), factor, draw, is_suspended }
    }

    /// Follows a change of a run's caps: sets the draws of its nodes under the new ones.
    pub(super) fn recap(&mut self, cluster: &Cluster, id: RunId) {
        let Some(run) = cluster.runs().get(id).filter(|run| run.suspension.is_none()) else { return };
        self.redraw(cluster, id, run);
        self.touched.push(id);
    }

    /// Sets the draws of a run's nodes under its caps; returns the energy drawn since their last change. On shared nodes
    /// a run's energy is counted with that of all runs on them, and this is zero.
    fn draw_under_caps(&mut self, cluster: &Cluster, id: RunId, run: &Run) -> Joules {
        let (app, own, now) = (self.workload.app(run.job), self.own(id, run.job), cluster.now());
        let Self { sharing, meter, actual, platform, .. } = self;
        let mut energy = Joules::ZERO;
        on_each(actual, (app, own), cluster, run, |node, draw| match sharing {
            None => energy += meter.set(now, node, Class::Busy, draw),
            Some(sharing) => {
                sharing.settle(meter, node, now);
                let shared = sharing.redraw(platform, node, id, draw);
                meter.set(now, node, Class::Busy, shared);
            }
        });
        energy
    }

    /// Follows a change of a run's nodes: those it has left idle, and those added work for it.
    pub(super) fn resize(&mut self, cluster: &Cluster, id: RunId, moved: &Moved) {
        let Some(run) = cluster.runs().get(id) else { return };
        let (now, app, own) = (cluster.now(), self.workload.app(run.job), self.own(id, run.job));
        let Self { meter, actual, .. } = self;
        let energy = meter.release(now, &moved.left);
        let draw = |node| actual.of_job_under(app, own, cluster.cap_on(run, node)).on(node);
        meter.serve(now, &moved.added, draw);
        let limit = self.limit(run, cluster.runs().nodes(run));
        let kill = limit.map(|limit| run.started.saturating_add(limit - self.limits.grace()));
        if let Some(life) = self.life(id) {
            life.draw(energy);
            if run.started == now {
                life.begin_anew(kill);
            }
        }
        self.touched.push(id);
    }

    /// Suspends a run: its nodes idle, or its slots of them. Returns their draw above idle until now.
    pub(super) fn suspend(&mut self, cluster: &Cluster, id: RunId) -> Watts {
        let Some(run) = cluster.runs().get(id) else { return Watts::ZERO };
        let (mut energy, now, nodes) = (Joules::ZERO, cluster.now(), cluster.runs().nodes(run));
        let above_idle = |node: u32, draw: Watts| draw.max(self.platform.idle_of(node)) - self.platform.idle_of(node);
        let drawn = |node: u32| match &self.sharing {
            Some(sharing) => sharing.whole(node, id),
            None => self.meter.node_draw(node),
        };
        let whole = nodes.iter().map(|&node| above_idle(node, drawn(node))).sum();
        let beyond = Jobs::new(&self.workload).held(run.job, &self.platform, whole);
        if self.sharing.is_some() {
            self.leave_nodes(cluster, id, run);
        } else {
            for &node in nodes {
                energy += self.meter.set(now, node, Class::Idle, self.platform.idle_of(node));
            }
        }
        if let Some(life) = self.life(id) {
            life.draw(energy);
            life.suspend(now);
        }
        self.ends.remove(id.slot());
        self.turns.remove(id.slot());
        self.touched.push(id);
        beyond
    }

    /// Resumes a suspended run.
    pub(super) fn resume(&mut self, cluster: &Cluster, id: RunId) {
        let Some(run) = cluster.runs().get(id) else { return };
        self.kept = None;
        if self.sharing.is_some() {
            self.join_nodes(cluster, id, run);
        } else {
            // The draw of the nodes while it was suspended is not charged to the job.
            self.draw_under_caps(cluster, id, run);
        }
        if let Some(life) = self.life(id) {
            life.resume(cluster.now());
        }
        self.set_end(id);
        self.touched.push(id);
    }

    fn set_end(&mut self, id: RunId) {
        let grace = self.limits.grace();
        let Some(life) = self.life(id) else { return };
        let end = life.kill().map_or(life.end(), |kill| life.end().min(kill.saturating_add(grace)));
        if self.ends.at(id.slot()) != Some(end) {
            self.ends.set(id.slot(), end);
        }
        self.set_turn(id);
    }

    fn set_turn(&mut self, id: RunId) {
        let Some(turn) = self.life(id).and_then(|life| life.next_turn()) else { return };
        if self.turns.at(id.slot()) != Some(turn) {
            self.turns.set(id.slot(), turn);
        }
    }

    /// Settles the instant at its end: moves ends according to the caps now in force, and begins a new segment for each
    /// run that has changed.
    pub(super) fn settle(&mut self, cluster: &Cluster, replanned: &[Retimed]) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        let mut replanned = replanned.iter().peekable();
        for &id in &touched {
            while replanned.next_if(|one| one.id < id).is_some() {}
            let by = replanned.next_if(|one| one.id == id).map_or(1.0, |one| one.by);
            let Some(run) = cluster.runs().get(id) else { continue };
            let nodes = cluster.runs().nodes(run);
            let factor = self.factor(cluster, id, run, nodes);
            let stretch = self.stretch(cluster, run, factor);
            let lowest = lowest_cap(cluster, run);
            let is_resized = run.resize.as_ref().is_some_and(|before| before.at == cluster.now());
            let pause = (is_resized && run.started < cluster.now()).then(|| cluster.pause(run));
            let anew = (run.started == cluster.now()).then(|| self.course(run, factor));
            let is_observed = self.workload.observed_length(run.job).is_some();
            let Some(life) = self.lives.as_mut().and_then(|lives| lives.get_mut(id.slot() as usize)?.as_mut()) else {
                continue;
            };
            // A run whose end is given keeps it, however fast its nodes are.
            let factor = if is_observed { life.factor() } else { factor };
            let still = Course { end: run.started, turn: None };
            life.settle(cluster.now(), Settled { factor, by, pause }, || anew.unwrap_or(still));
            let is_suspended = life.is_suspended();
            let is_moved = is_resized && is_elsewhere(cluster, run, life);
            if let Some(old) = life.turn(cluster.now(), stretch, lowest, is_moved) {
                let energy = self.sharing.as_ref().map(|sharing| life.charge(sharing.energy(id)));
                self.segments.push(&mut life.place, old, cluster.now(), energy);
            }
            if is_moved {
                self.segments.go_on(&mut life.place, run, cluster.now());
            }
            if !is_suspended {
                self.set_end(id);
            }
        }
        touched.clear();
        self.touched = touched;
    }

    /// Actual table, by which runs are charged.
    pub(super) fn actual(&self) -> Arc<Actual> {
        Arc::clone(&self.actual)
    }

    /// Takes the segments, in order of their ends; `None` if no lives are tracked.
    pub(super) fn take_segments(&mut self) -> Option<Segments> {
        self.lives.as_ref().map(|_| std::mem::take(&mut self.segments))
    }

    /// Ends a run, at its end or before; its nodes draw no more for it.
    pub(super) fn end(&mut self, cluster: &Cluster, id: RunId, run: &Run) -> Outcome {
        self.ends.remove(id.slot());
        self.turns.remove(id.slot());
        let nodes = cluster.runs().nodes(run);
        let (life, now) = (self.lives.as_mut().and_then(|lives| lives[id.slot() as usize].take()), cluster.now());
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

    fn end_life(
        &mut self,
        cluster: &Cluster,
        run: &Run,
        mut life: Life,
        energy: Joules,
        short: Option<Stretch>,
    ) -> Outcome {
        let (now, held) = (cluster.now(), life.last());
        if run.started == now && is_elsewhere(cluster, run, &life) {
            self.segments.go_on(&mut life.place, run, now);
        }
        if held.since < now || run.started == now {
            let part = self.sharing.as_ref().map(|_| life.charge(energy));
            let stretch = short.unwrap_or(held.stretch);
            self.segments.push(&mut life.place, Held { stretch, ..held }, now, part);
        }
        let (whole, left) = (self.whole_run(run, life.factor()), life.left(now));
        let ran = SimDuration::from_micros((whole.micros() - life.work_left(now).micros()).max(0));
        let is_observed = self.workload.observed_length(run.job).is_some();
        let is_killed = life.kill().is_some_and(|kill| now >= kill.saturating_add(self.limits.grace()));
        let is_cut = left > SimDuration::ZERO && (!is_observed || is_killed);
        let on_nodes = || lowest_cap(cluster, run);
        let lowest = if run.started == now { on_nodes() } else { life.lowest_cap_w() };
        Outcome { energy: energy + life.energy(), whole, ran, is_cut, stood: life.stood(now), lowest_cap_w: lowest }
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

    /// Time for which a run has been suspended, and the lowest cap on any of its nodes, W.
    pub(super) fn stood_and_lowest_cap(&self, id: RunId, run: &Run, now: SimTime) -> (SimDuration, f64) {
        let life = self.lives.as_ref().and_then(|lives| lives.get(id.slot() as usize)?.as_ref());
        life.map_or((SimDuration::ZERO, run.caps.own_w), |life| (life.stood(now), life.lowest_cap_w()))
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

/// True if a run's nodes are not those of its last stretch.
fn is_elsewhere(cluster: &Cluster, run: &Run, life: &Life) -> bool {
    let places = &life.place.places;
    *places != run.places && cluster.runs().written(places.clone()) != cluster.runs().nodes(run)
}

/// Lowest of the caps in force on a run's nodes, W; infinity if none has any.
fn lowest_cap(cluster: &Cluster, run: &Run) -> f64 {
    run.caps.on_all().unwrap_or_else(|| cluster.caps(run).fold(f64::INFINITY, f64::min))
}

/// Mean of the caps in force on a run's nodes, W; infinity if one has none.
fn mean_cap(cluster: &Cluster, run: &Run, nodes: &[u32]) -> f64 {
    run.caps.on_all().unwrap_or_else(|| cluster.caps(run).sum::<f64>() / nodes.len() as f64)
}

fn idle_meter(start: SimTime, platform: &Platform) -> Meter {
    Meter::new(start, platform.nodes().iter().map(|node| node.idle).collect())
}
