//! Runs that may change while they run: their lives, parts of their profiles, caps, sizes and suspensions.

use crate::cluster::runs::{Run, RunId};
use crate::cluster::{Cluster, Moved, Retimed};
use crate::platform::node_state::Class;
use crate::policy::Jobs;
use crate::sim::attempts::LostAttempt;
use crate::sim::lives::{Course, Life, Settled};
use crate::sim::plant::{Outcome, Plant, on_each};
use crate::sim::segments::{Held, Segments, Stretch};
use crate::units::{Joules, SimDuration, SimTime, Watts};
use crate::workload::Part;

impl Plant {
    /// Tracks the lives of runs, before anything has happened, as speeds or draws may change and runs may be suspended.
    pub(in crate::sim) fn watch_lives(&mut self) {
        self.lives.get_or_insert_default();
        self.loads = None;
    }

    /// True if lives are tracked.
    pub(in crate::sim) fn watches_lives(&self) -> bool {
        self.lives.is_some()
    }

    /// Tracks lives from now on, in the middle of a run: also those of the runs under way, and with segments for the
    /// attempts that are `over`, whose speeds have not changed.
    pub(in crate::sim) fn watch_lives_of(&mut self, cluster: &Cluster, over: Vec<LostAttempt>) {
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

    pub(super) fn live(&mut self, id: RunId, life: Life) {
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
    pub(super) fn course(&self, run: &Run, factor: f64) -> Course {
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

    /// Enters the next parts of the profiles whose parts end now.
    pub(in crate::sim) fn turn(&mut self, cluster: &Cluster) {
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

    pub(super) fn life(&mut self, id: RunId) -> Option<&mut Life> {
        self.lives.as_mut()?.get_mut(id.slot() as usize)?.as_mut()
    }

    /// State of a run from now on, as a stretch.
    pub(super) fn stretch(&self, cluster: &Cluster, run: &Run, factor: f64) -> Stretch {
        let nodes = cluster.runs().nodes(run);
        let is_suspended = run.suspension.is_some();
        let drawn = || nodes.iter().map(|&node| self.meter.node_draw(node)).sum();
        // On shared nodes a job is charged a share of their draw, which changes as others come and go.
        let draw = if is_suspended || self.sharing.is_some() { Watts::ZERO } else { drawn() };
        Stretch { cap_w: mean_cap(cluster, run, nodes), factor, draw, is_suspended }
    }

    /// Follows a change of a run's caps: sets the draws of its nodes under the new ones.
    pub(in crate::sim) fn recap(&mut self, cluster: &Cluster, id: RunId) {
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
    pub(in crate::sim) fn resize(&mut self, cluster: &Cluster, id: RunId, moved: &Moved) {
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
    pub(in crate::sim) fn suspend(&mut self, cluster: &Cluster, id: RunId) -> Watts {
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
    pub(in crate::sim) fn resume(&mut self, cluster: &Cluster, id: RunId) {
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

    pub(super) fn set_turn(&mut self, id: RunId) {
        let Some(turn) = self.life(id).and_then(|life| life.next_turn()) else { return };
        if self.turns.at(id.slot()) != Some(turn) {
            self.turns.set(id.slot(), turn);
        }
    }

    /// Settles the instant at its end: moves ends according to the caps now in force, and begins a new segment for each
    /// run that has changed.
    pub(in crate::sim) fn settle(&mut self, cluster: &Cluster, replanned: &[Retimed]) {
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
            let fresh = (run.started == cluster.now()).then(|| self.course(run, factor));
            let is_observed = self.workload.observed_length(run.job).is_some();
            let Some(life) = self.lives.as_mut().and_then(|lives| lives.get_mut(id.slot() as usize)?.as_mut()) else {
                continue;
            };
            // A run whose end is given keeps it, however fast its nodes are.
            let factor = if is_observed { life.factor() } else { factor };
            let still = Course { end: run.started, turn: None };
            life.settle(cluster.now(), Settled { factor, by, pause }, || fresh.unwrap_or(still));
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

    /// Takes the segments, in order of their ends; `None` if no lives are tracked.
    pub(in crate::sim) fn take_segments(&mut self) -> Option<Segments> {
        self.lives.as_ref().map(|_| std::mem::take(&mut self.segments))
    }

    pub(super) fn end_life(
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

    /// Time for which a run has been suspended, and the lowest cap on any of its nodes, W.
    pub(in crate::sim) fn stood_and_lowest_cap(&self, id: RunId, run: &Run, now: SimTime) -> (SimDuration, f64) {
        let life = self.lives.as_ref().and_then(|lives| lives.get(id.slot() as usize)?.as_ref());
        life.map_or((SimDuration::ZERO, run.caps.own_w), |life| (life.stood(now), life.lowest_cap_w()))
    }
}

/// True if a run's nodes are not those of its last stretch.
fn is_elsewhere(cluster: &Cluster, run: &Run, life: &Life) -> bool {
    let places = &life.place.places;
    *places != run.places && cluster.runs().written(places.clone()) != cluster.runs().nodes(run)
}

/// Lowest of the caps in force on a run's nodes, W; infinity if none has any.
pub(super) fn lowest_cap(cluster: &Cluster, run: &Run) -> f64 {
    run.caps.on_all().unwrap_or_else(|| cluster.caps(run).fold(f64::INFINITY, f64::min))
}

/// Mean of the caps in force on a run's nodes, W; infinity if one has none.
fn mean_cap(cluster: &Cluster, run: &Run, nodes: &[u32]) -> f64 {
    run.caps.on_all().unwrap_or_else(|| cluster.caps(run).sum::<f64>() / nodes.len() as f64)
}
