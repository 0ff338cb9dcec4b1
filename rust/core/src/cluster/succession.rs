//! Hand-over of a machine's state to another policy: facts about nodes and jobs stay; what the former policy counted,
//! believed and expected goes.

use std::sync::Arc;

use crate::algo::releases::{Release, ReleasedBy};
use crate::cluster::counted::Basis;
use crate::cluster::power::Governed;
use crate::cluster::runs::{Run, RunId};
use crate::cluster::standby::Standby;
use crate::cluster::{Cluster, Phase, sizes};
use crate::error::SimulationError;
use crate::platform::node_state::NodeState;
use crate::power::in_force::CapsInForce;
use crate::power::pvt::Predicted;
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

impl Cluster {
    /// Lifts all caps but the jobs' own; returns the runs that had others.
    ///
    /// # Errors
    /// None are expected: running jobs can be capped.
    pub fn lift_caps(&mut self) -> Result<Vec<RunId>, SimulationError> {
        let is_capped = |run: &Run| run.caps != CapsInForce::own(run.caps.own_w);
        let capped: Vec<_> = self.runs.iter().filter(|(_, run)| is_capped(run)).map(|(id, _)| id).collect();
        for &id in &capped {
            let Some(run) = self.runs.get(id) else { continue };
            let own = CapsInForce::own(run.caps.own_w);
            let watts = self.watts_under(run, &own);
            self.cap(id, own, watts)?;
        }
        Ok(capped)
    }

    /// Hands the machine over to another policy with the predicted table `predicted`. Returns the former standby data.
    pub fn hand_over(&mut self, predicted: Arc<Predicted>) -> Option<Standby> {
        self.predicted = predicted;
        (self.governed, self.foreseen, self.beliefs.forecasts) = (None, None, None);
        self.claimed = Watts::ZERO;
        self.capacity.unite();
        self.find_slowdowns();
        self.capacity.forget_releases();
        let back: Vec<_> = self.outages.coming_back().collect();
        for (node, at) in back {
            self.count_back(node, None, Some(at));
        }
        if let Some((own, first)) = self.beliefs.sizes.as_mut().zip(sizes(&self.workload, &self.platform)) {
            let waiting = self.phases.iter().zip(own.iter_mut().zip(first));
            let waiting = waiting.filter(|(phase, _)| !matches!(phase, Phase::Running | Phase::Over));
            waiting.for_each(|(_, (size, first))| *size = first);
        }
        self.capacity.take_standby()
    }

    /// Takes over the former standby data or, if there is none, the instants since which nodes idle.
    pub fn stand_by(&mut self, before: Option<Standby>, idle_since: impl Fn(u32) -> SimTime) {
        let states: Vec<_> = self.states().iter().copied().collect();
        self.capacity.stand_by(self.now, before, &states, idle_since);
    }

    /// Planned length of a whole run, by what is believed of it.
    #[must_use]
    pub fn planned_length(&self, run: &Run) -> SimDuration {
        self.jobs().planned_among(run.job, &self.predicted, self.runs.nodes(run))
    }

    /// Counts a run on the terms of the new policy, which did not start it. `before` is its planned length under the
    /// former policy.
    pub fn inherit(&mut self, id: RunId, (watts, basis): (Watts, Basis), before: SimDuration) {
        let Some(run) = self.runs.get(id) else { return };
        let (claim, length) = (self.claim(run.job, watts), self.planned_length(run));
        let allots = self.governed.as_ref().is_some_and(Governed::allots);
        let Some(run) = self.runs.get_mut(id) else { return };
        if length != before {
            let shift = length.micros().saturating_sub(before.micros());
            let end = SimTime::from_micros(run.planned_end.micros().saturating_add(shift));
            run.planned_end = run.started.max(end).min(SimTime::LATEST);
        }
        (run.watts, run.claim, run.basis, run.predicted) = (watts, claim, basis, Watts::ZERO);
        (run.pace, run.least_pace) = (1.0, 1.0);
        let (at, by, stands) = (run.planned_end, ReleasedBy::Job(run.job.0), run.suspension.is_some());
        self.govern_run(id);
        if stands {
            let predicted = self.runs.get(id).map_or(Watts::ZERO, |run| run.predicted);
            self.note_draw(Watts::ZERO, predicted);
            return;
        }
        self.claimed += watts;
        if !allots {
            self.capacity.insert(Release { at, by, claim });
        }
    }

    /// Jobs in the queue, in the order in which they joined it.
    #[must_use]
    pub fn in_queue(&self) -> Vec<JobId> {
        let queued = (0..).map(JobId).zip(&self.phases).filter(|(_, phase)| **phase == Phase::Queued);
        let mut jobs: Vec<_> = queued.map(|(job, _)| job).collect();
        let known = self.jobs();
        jobs.sort_by_key(|&job| (known.eligible(job), job));
        jobs
    }

    /// Number of nodes that are off or shutting down.
    #[must_use]
    pub fn asleep(&self) -> usize {
        let sleeps = |state: &&NodeState| matches!(state, NodeState::Off | NodeState::ShuttingDown { .. });
        self.states().iter().filter(sleeps).count()
    }
}
