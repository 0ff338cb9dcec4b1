//! Resizing: a run continues on more or fewer nodes (rules page, "Malleable jobs").
//!
//! All changes of its size within one instant count once: its plan is always recomputed from the state before the
//! instant.

use crate::algo::releases::{Release, ReleasedBy};
use crate::cluster::carry_out::{Headroom, Moved, given_twice};
use crate::cluster::decisions::Resize;
use crate::cluster::power::gone;
use crate::cluster::runs::{Resized, Run, RunId};
use crate::cluster::{Cluster, retimed};
use crate::error::SimulationError;
use crate::power::in_force::CapsInForce;
use crate::units::{SimDuration, SimTime};

impl Cluster {
    /// Continues a run on the given number of nodes; `added` are those it gets if it grows.
    pub(super) fn resize(
        &mut self,
        resize: &Resize,
        added: &[u32],
        headroom: &mut Headroom,
    ) -> Result<Moved, SimulationError> {
        let moved = self.moved(resize, added)?;
        let id = resize.id;
        let old = self.runs.get(id).ok_or_else(gone)?.clone();
        let mut nodes = self.runs.nodes(&old).to_vec();
        nodes.truncate(resize.nodes as usize);
        nodes.extend_from_slice(added);
        let places = self.runs.write(old.job, false, &nodes).map_err(given_twice)?;
        self.move_nodes(id, &moved)?;
        if let Some(sizes) = &mut self.beliefs.sizes {
            sizes[old.job.0 as usize] = resize.nodes;
        }
        let size_time = self.workload.time_at(old.job, resize.nodes);
        let mut new = Run { places, size_time, resize: Some(Box::new(self.before(&old))), ..old.clone() };
        self.plan_anew(&mut new);
        self.count_anew(&old, &mut new, headroom)?;
        if let Some(run) = self.runs.get_mut(id) {
            *run = new;
        }
        self.note_change(id);
        Ok(moved)
    }

    /// Checks a change of size, takes the added nodes, and returns those that the run gives up and gains.
    fn moved(&mut self, resize: &Resize, added: &[u32]) -> Result<Moved, SimulationError> {
        let run = self.runs.get(resize.id).filter(|run| run.suspension.is_none()).ok_or_else(gone)?;
        let (job, own) = (run.job, self.runs.nodes(run));
        let high = self.workload.size_range(job).1.min(self.platform.len());
        let low = self.workload.size_range(job).0;
        if !self.workload.is_malleable(job) || !self.platform.is_exclusive() || self.shares.is_some() {
            return Err(SimulationError("its size may not change while it runs".into()));
        }
        if !(low..=high).contains(&resize.nodes) {
            return Err(SimulationError(format!("it runs on {low} to {high} nodes")));
        }
        let kept = own.len().min(resize.nodes as usize);
        let missing = resize.nodes as usize - kept;
        if added.len() != missing {
            let free = self.capacity.seen().slots().free_units();
            let lacks = missing > usize::try_from(free).unwrap_or(0);
            let what = if lacks { format!("{free} are free") } else { format!("it was given {}", added.len()) };
            return Err(SimulationError(format!("it needs {missing} more nodes, and {what}")));
        }
        let moved = Moved { left: own[kept..].to_vec(), added: added.to_vec() };
        self.check_queue(job, added)?;
        added.iter().try_for_each(|&node| self.check_node(node))?;
        if let Some(node) = self.capacity.take_whole(added) {
            return Err(SimulationError(format!("node {} is {}, and not free", node, self.node(node).name())));
        }
        Ok(moved)
    }

    fn move_nodes(&mut self, id: RunId, moved: &Moved) -> Result<(), SimulationError> {
        for &node in &moved.left {
            let state = self.node(node).end_job(false)?;
            self.enter(node, state);
            self.nodes.leave(id, node);
        }
        self.capacity.give_whole(&moved.left);
        self.nodes.begin(id, &moved.added)
    }

    /// State of a run before this instant.
    fn before(&self, run: &Run) -> Resized {
        let again = run.resize.as_deref().filter(|before| before.at == self.now);
        let pace = || if self.predicted.has_caps() { run.pace } else { self.full_pace(run) };
        again.cloned().unwrap_or_else(|| Resized {
            at: self.now,
            places: run.places.clone(),
            planned_end: run.planned_end,
            pace: pace(),
        })
    }

    /// Predicted time factor Fp of a run on its nodes, relative to nominal.
    fn full_pace(&self, run: &Run) -> f64 {
        if self.predicted.has_caps() {
            return self.pace_under(run, &run.caps);
        }
        self.predicted.slowest(self.workload.app(run.job), self.runs.nodes(run).iter().copied()) * run.size_time
    }

    /// Sets the planned end of a resized run, and the pace for which it holds.
    fn plan_anew(&self, run: &mut Run) {
        let least = run.caps.allotting(run.basis.least.clone());
        run.least_pace = self.pace_under(run, &least);
        if run.started == self.now {
            // It starts with these nodes: system caps are taken into account when the instant is over.
            run.planned_end = self.planned_end(run.job, self.runs.nodes(run));
            run.pace = self.pace_under(run, &CapsInForce::own(run.caps.own_w));
        } else if let Some((end, _)) = self.replanned(run) {
            run.planned_end = end;
            run.pace = self.pace_under(run, &run.caps);
        }
    }

    /// New planned end of a run whose size has changed in this instant, and the factor by which the rest of its plan is
    /// lengthened; `None` for other runs, and for those that have begun in this instant.
    pub(super) fn replanned(&self, run: &Run) -> Option<(SimTime, f64)> {
        let before = run.resize.as_deref().filter(|before| before.at == self.now && run.started < self.now)?;
        let by = self.full_pace(run) / before.pace;
        let pause = self.pause(run);
        Some((retimed(before.planned_end, self.now, by).saturating_add(pause), by))
    }

    /// Pause in the progress of a run whose nodes have changed in this instant.
    #[must_use]
    pub fn pause(&self, run: &Run) -> SimDuration {
        self.runs.pause(run, self.now, self.workload.pause(run.job))
    }

    /// Updates the claim and the predicted draw of a run to its new nodes.
    fn count_anew(&mut self, old: &Run, new: &mut Run, headroom: &mut Headroom) -> Result<(), SimulationError> {
        new.predicted = self.watts_under(new, &new.caps);
        if headroom.counts {
            let least = new.caps.allotting(new.basis.least.clone());
            new.watts = self.watts_under(new, &least);
            headroom.exchange(old.watts, new.watts)?;
        }
        new.claim = self.claim(new.job, new.watts);
        self.claimed += new.watts;
        self.claimed -= old.watts;
        self.note_draw(new.predicted, old.predicted);
        if self.capacity.remove(old.planned_end, ReleasedBy::Job(old.job.0)) {
            self.capacity.insert(Release { at: new.planned_end, by: ReleasedBy::Job(new.job.0), claim: new.claim });
        }
        Ok(())
    }
}
