//! Power of running jobs, as far as it is known: caps in force, their effects on plans, and suspensions.
//!
//! All changes of a job's caps within one instant count once (operations page, rule 7): draws change at once, plans
//! when the instant is over and [`Cluster::settle`] is called.

use crate::algo::releases::{Claim, Release, ReleasedBy, Releases};
use crate::cluster::Cluster;
use crate::cluster::carry_out::miscounted;
use crate::cluster::counted::Counted;
use crate::cluster::runs::{Run, RunId, Suspension};
use crate::error::SimulationError;
use crate::power::in_force::{Allotted, CapsInForce, DrawProfile};
use crate::power::pvt::ForAlike;
use crate::units::{SimDuration, SimTime, Watts};

/// State that is kept if a policy governs power.
#[derive(Clone, Debug, Default)]
pub(super) struct Governed {
    /// True if caps also change outside emergencies: releases then change with every instant, and are recomputed.
    allots: bool,
    /// Predicted draw of running jobs beyond idle.
    predicted: Watts,
    /// Runs whose caps have changed in this instant.
    changed: Vec<RunId>,
}

impl Governed {
    /// True if caps also change outside emergencies.
    pub(super) fn allots(&self) -> bool {
        self.allots
    }
}

/// Change of a run's plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retimed {
    /// The run.
    pub id: RunId,
    /// Factor by which the rest of its plan is lengthened.
    pub by: f64,
}

impl Cluster {
    /// Tracks the caps and draws of runs from now on; `allots`: they also change outside emergencies.
    pub fn govern(&mut self, allots: bool) {
        self.governed = Some(Governed { allots, ..Governed::default() });
    }

    /// Predicted draw of the machine under the caps in force.
    #[must_use]
    pub fn predicted_draw(&self) -> Watts {
        self.idle + self.governed.as_ref().map_or(self.claimed, |governed| governed.predicted)
    }

    /// Cap in force on a node of a run, W; infinity if there is none.
    #[must_use]
    pub fn cap_on(&self, run: &Run, node: u32) -> f64 {
        run.caps.on_all().unwrap_or_else(|| run.caps.on(&self.predicted, self.profile(run), node))
    }

    fn profile(&self, run: &Run) -> DrawProfile {
        self.jobs().profile(&self.predicted, run.job)
    }

    /// Predicted time factor Fp of a run, relative to nominal, under these caps.
    pub(super) fn pace_under(&self, run: &Run, caps: &CapsInForce) -> f64 {
        if !self.predicted.has_caps() {
            return run.size_time;
        }
        let of = self.profile(run);
        let nodes = self.runs.nodes(run).iter();
        let caps = nodes.zip(self.caps_on(run, caps)).map(|(&node, cap_w)| (node, cap_w));
        self.predicted.slowest_under(of.app, of.own, caps) * run.size_time
    }

    /// Cap on each node of a run if these caps are in force, W.
    fn caps_on(&self, run: &Run, caps: &CapsInForce) -> impl Iterator<Item = f64> {
        let (of, mut alike) = (self.profile(run), ForAlike::default());
        let is_modelled = matches!(caps.allotted, Allotted::Slowdown(_));
        self.runs.nodes(run).iter().map(move |&node| {
            let like = self.predicted.alike(node).filter(|_| is_modelled);
            alike.of(like, || caps.on(&self.predicted, of, node))
        })
    }

    /// Cap in force on each node of a run, W; infinity if there is none.
    pub fn caps(&self, run: &Run) -> impl Iterator<Item = f64> {
        self.caps_on(run, &run.caps)
    }

    /// Watts beyond idle that a run is predicted to draw under these caps.
    pub(super) fn watts_under(&self, run: &Run, caps: &CapsInForce) -> Watts {
        let counted =
            Counted::new(&self.platform, &self.predicted, self.profile(run), caps.clone(), run.basis.estimate);
        let whole = counted.on_all(self.runs.nodes(run));
        self.jobs().held(run.job, &self.platform, whole)
    }

    /// Sets the predicted time factors and draw of a run that has just begun.
    pub(super) fn govern_run(&mut self, id: RunId) {
        if self.governed.is_none() {
            return;
        }
        let Some(run) = self.runs.get(id) else { return };
        let least = run.caps.allotting(run.basis.least.clone());
        let (pace, least_pace, predicted) =
            (self.pace_under(run, &run.caps), self.pace_under(run, &least), self.watts_under(run, &run.caps));
        if let Some(run) = self.runs.get_mut(id) {
            (run.pace, run.least_pace, run.predicted) = (pace, least_pace, predicted);
        }
        self.note_draw(predicted, Watts::ZERO);
    }

    pub(super) fn note_draw(&mut self, new: Watts, old: Watts) {
        if let Some(governed) = &mut self.governed {
            governed.predicted += new;
            governed.predicted -= old;
        }
    }

    /// Forgets the draw and the claim of a run that is over.
    pub(super) fn forget_run(&mut self, run: &Run) {
        if run.suspension.is_some() {
            self.suspended -= 1;
            return;
        }
        self.claimed -= run.watts;
        self.note_draw(Watts::ZERO, run.predicted);
    }

    /// Sets a run's caps, and its predicted draw beyond idle under them.
    pub(super) fn cap(&mut self, id: RunId, caps: CapsInForce, predicted: Watts) -> Result<(), SimulationError> {
        let run = self.runs.get_mut(id).ok_or_else(gone)?;
        run.caps = caps;
        let old = std::mem::replace(&mut run.predicted, predicted);
        if run.suspension.is_none() {
            self.note_draw(predicted, old);
        }
        self.note_change(id);
        Ok(())
    }

    /// Changes the least watts that are counted for a run.
    fn claim_anew(&mut self, id: RunId, watts: Watts, least_pace: f64) {
        let Some(run) = self.runs.get_mut(id) else { return };
        let old = std::mem::replace(&mut run.watts, watts);
        run.least_pace = least_pace;
        let claim = Claim { microwatts: watts.microwatts_down(), ..run.claim };
        run.claim = claim;
        let (at, by, is_running) = (run.planned_end, ReleasedBy::Job(run.job.0), run.suspension.is_none());
        if is_running {
            self.claimed += watts;
            self.claimed -= old;
            if self.capacity.remove(at, by) {
                self.capacity.insert(Release { at, by, claim });
            }
        }
    }

    pub(super) fn note_change(&mut self, id: RunId) {
        if let Some(governed) = &mut self.governed
            && governed.changed.last() != Some(&id)
        {
            governed.changed.push(id);
        }
    }

    /// Suspends a run.
    pub(super) fn suspend(&mut self, id: RunId) -> Result<(), SimulationError> {
        let now = self.now;
        let run = self.runs.get_mut(id).filter(|run| run.suspension.is_none()).ok_or_else(gone)?;
        let left = if run.planned_end > now { run.planned_end - now } else { SimDuration::ZERO };
        run.suspension = Some(Suspension { since: now, left, asks: Watts::ZERO });
        let (at, by, watts, predicted) = (run.planned_end, ReleasedBy::Job(run.job.0), run.watts, run.predicted);
        let places = run.places.clone();
        self.capacity.remove(at, by);
        self.claimed -= watts;
        self.note_draw(Watts::ZERO, predicted);
        self.nodes.suspend(self.runs.written(places))?;
        self.suspended += 1;
        self.note_change(id);
        Ok(())
    }

    /// Notes the measured draw beyond idle that the nodes of a suspended run had before.
    pub fn note_asked(&mut self, id: RunId, asks: Watts) {
        if let Some(suspension) = self.runs.get_mut(id).and_then(|run| run.suspension.as_mut()) {
            suspension.asks = asks;
        }
    }

    /// Resumes a suspended run.
    pub(super) fn resume(&mut self, id: RunId) -> Result<(), SimulationError> {
        let now = self.now;
        self.check_room(id)?;
        let run = self.runs.get_mut(id).ok_or_else(gone)?;
        let suspension = run.suspension.take().ok_or_else(gone)?;
        run.planned_end = now.saturating_add(suspension.left);
        run.stood = run.stood.saturating_add(now - suspension.since);
        let (release, watts, predicted) = (
            Release { at: run.planned_end, by: ReleasedBy::Job(run.job.0), claim: run.claim },
            run.watts,
            run.predicted,
        );
        let places = run.places.clone();
        if !self.governed.as_ref().is_some_and(Governed::allots) {
            self.capacity.insert(release);
        }
        self.claimed += watts;
        self.note_draw(predicted, Watts::ZERO);
        self.nodes.resume(self.runs.written(places))?;
        self.suspended -= 1;
        self.note_change(id);
        Ok(())
    }

    /// Checks that no other jobs use the slots of a suspended run, so that it gets them back.
    fn check_room(&self, id: RunId) -> Result<(), SimulationError> {
        let Some(run) = self.runs.get(id).filter(|_| self.slots().lends()) else { return Ok(()) };
        let need = self.jobs().need(run.job, &self.platform);
        match self.runs.nodes(run).iter().find(|&&node| self.clear_of_running(node) < need) {
            Some(&node) => Err(SimulationError(format!("others use its slots on node {node}"))),
            None => Ok(()),
        }
    }

    /// Settles the instant at its end: planned ends follow the caps now in force (rules 5 to 7). Returns the runs that
    /// have changed in it.
    pub fn settle(&mut self) -> Vec<Retimed> {
        let Some(governed) = &mut self.governed else { return Vec::new() };
        let mut changed = std::mem::take(&mut governed.changed);
        changed.sort_unstable();
        changed.dedup();
        changed.into_iter().filter_map(|id| self.settle_run(id)).collect()
    }

    fn settle_run(&mut self, id: RunId) -> Option<Retimed> {
        let run = self.runs.get(id)?;
        // A run that began in this instant did so under the caps now in force, even if it is suspended by now.
        let replanned = self.replanned(run);
        if run.suspension.is_some() && run.started < self.now {
            return Some(Retimed { id, by: replanned.map_or(1.0, |(_, by)| by) });
        }
        let pace = self.pace_under(run, &run.caps);
        let (now, old) = (self.now, run.planned_end);
        let (new, by) = replanned.unwrap_or_else(|| (retimed(old, now, pace / run.pace), pace / run.pace));
        let run = self.runs.get_mut(id)?;
        if let Some(suspension) = &mut run.suspension {
            suspension.left = suspension.left.stretched(by);
            run.pace = pace;
            return Some(Retimed { id, by });
        }
        (run.pace, run.planned_end) = (pace, new);
        let (job, claim) = (ReleasedBy::Job(run.job.0), run.claim);
        // If an allocator may lengthen plans, the releases are recomputed in each pass.
        let is_kept = !self.governed.as_ref().is_some_and(Governed::allots);
        if is_kept && new != old && self.capacity.remove(old, job) {
            self.capacity.insert(Release { at: new, by: job, claim });
        }
        Some(Retimed { id, by })
    }

    /// Computes the releases for the worst that the allocator may do to running jobs (rule 16). Called before each
    /// pass.
    pub fn foresee(&mut self) {
        // Without an allocator, only runs whose caps recovery has raised in this pass end at another time than planned
        // before.
        let changes = |governed: &Governed| governed.allots || !governed.changed.is_empty();
        if !self.governed.as_ref().is_some_and(changes) {
            self.foreseen = None;
            return;
        }
        if self.queued == 0 || self.capacity.seen().slots().free_units() == 0 {
            // Nothing is planned then.
            self.foreseen.get_or_insert_default();
            return;
        }
        let running = self.runs.iter().filter(|(_, run)| run.suspension.is_none());
        let mut all: Vec<_> = running
            .map(|(_, run)| {
                let at = run.latest_end(self.now);
                Release { at, by: ReleasedBy::Job(run.job.0), claim: run.claim }
            })
            .collect();
        all.sort_unstable();
        self.foreseen = Some(Releases::default());
        if let Some(foreseen) = &mut self.foreseen {
            for release in all {
                foreseen.insert(release);
            }
        }
    }
}

impl Run {
    /// Planned end if from `now` on the least caps are in force, which is the worst that an allocator may do (rule 16).
    #[must_use]
    pub fn latest_end(&self, now: SimTime) -> SimTime {
        retimed(self.planned_end, now, self.least_pace / self.pace)
    }
}

/// Rescales an instant to come: the time from `now` until then takes `by` times as long.
#[must_use]
pub fn retimed(at: SimTime, now: SimTime, by: f64) -> SimTime {
    #[expect(clippy::float_cmp, reason = "a quotient of exactly 1 changes nothing")]
    let stays = by == 1.0;
    if stays || at <= now { at } else { now.saturating_add((at - now).stretched(by)) }
}

pub(super) fn gone() -> SimulationError {
    SimulationError("it does not run".to_owned())
}

impl Cluster {
    /// Replaces the allocator's caps of a run.
    pub(super) fn allot(&mut self, id: RunId, allotted: Allotted, watts: Watts) -> Result<(), SimulationError> {
        let run = self.runs.get(id).ok_or_else(gone)?;
        let caps = run.caps.allotting(allotted);
        let own = self.watts_under(run, &caps);
        if watts != own {
            return Err(miscounted(watts, own));
        }
        self.cap(id, caps, own)
    }

    /// Replaces the emergency's cap of a run, W.
    pub(super) fn limit(&mut self, id: RunId, emergency_w: f64) -> Result<(), SimulationError> {
        let run = self.runs.get(id).ok_or_else(gone)?;
        let caps = CapsInForce { emergency_w, ..run.caps.clone() };
        let least = caps.allotting(run.basis.least.clone());
        let (watts, pace) = (self.watts_under(run, &least), self.pace_under(run, &least));
        let predicted = self.watts_under(run, &caps);
        self.claim_anew(id, watts, pace);
        self.cap(id, caps, predicted)
    }
}
