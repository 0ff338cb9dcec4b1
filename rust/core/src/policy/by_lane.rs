//! A policy for each lane: sets of nodes that have none in common are each scheduled as if they were the machine
//! (operations page on machines, rule 6). Idle nodes are put to sleep by one rule for all of them (rules 16, 20, 21).

use std::sync::Arc;

use crate::cluster::growth::Growth;
use crate::cluster::runs::RunId;
use crate::cluster::standby::Expected;
use crate::error::Result;
use crate::platform::cells::Cells;
use crate::platform::queues::Queues;
use crate::policy::compose::Composed;
use crate::policy::recollection::Recollection;
use crate::policy::sleep::proposal::Proposal;
use crate::policy::sleep::{Alarm, Sleep};
use crate::policy::timing::Timing;
use crate::policy::usage::Use;
use crate::policy::{Basis, Decision, Decisions, Jobs, Notice, Policy, Stage, Stages, View};
use crate::units::Watts;
use crate::workload::JobId;

/// A policy for each lane of a machine.
#[derive(Clone)]
pub struct ByLane {
    /// By lane.
    all: Vec<Composed>,
    /// The queues, which know the lane of each job.
    queues: Arc<Queues>,
    /// Rule that puts nodes of the whole machine to sleep, if there is one.
    sleep: Option<Sleep>,
    /// Decisions about one lane. Kept to reuse the allocation.
    own: Decisions,
}

impl ByLane {
    /// Schedules each lane of these queues by the policy that `make` makes for its nodes. `sleep` puts nodes of all of
    /// them to sleep if their policies would.
    ///
    /// # Errors
    /// If `make` fails.
    pub fn new(
        queues: &Arc<Queues>,
        sleep: Option<Sleep>,
        make: impl FnMut(&[u32]) -> Result<Composed>,
    ) -> Result<Self> {
        let all = queues.lane_sets().into_iter().map(make).collect::<Result<Vec<_>>>()?;
        Ok(Self { all, queues: Arc::clone(queues), sleep, own: Decisions::default() })
    }

    fn of(&mut self, job: JobId) -> &mut Composed {
        &mut self.all[self.queues.lane(job)]
    }

    /// Notifies the policies of other lanes of a job that may belong to an array with jobs of theirs.
    fn tell_others(&mut self, jobs: Jobs<'_>, job: JobId, notice: Notice) {
        if jobs.array(job).is_some() {
            let own = self.queues.lane(job);
            let others = self.all.iter_mut().enumerate().filter(|(lane, _)| *lane != own);
            others.for_each(|(_, policy)| policy.notice(jobs, notice));
        }
    }

    /// Starts jobs of one lane after the other.
    fn start(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        for lane in 0..self.all.len() {
            let mut own = std::mem::take(&mut self.own);
            own.clear();
            let done = self.all[lane].decide(Stage::Start, &view.within(lane), &mut own);
            own.starts().for_each(|start| self.tell_others(view.jobs, start.job, Notice::Started(start.job)));
            out.append(&own);
            self.own = own;
            done?;
        }
        Ok(())
    }

    /// Wakes nodes of the machine, and puts others to sleep, by the needs of its lanes.
    fn rest(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        let Self { all, sleep: Some(sleep), .. } = self else { return Ok(()) };
        let proposals = (0..).zip(&mut *all).map(|(lane, policy)| policy.proposal(&view.within(lane)));
        let proposals = proposals.collect::<Result<Vec<Proposal>>>()?;
        sleep.settle_lanes(view, &proposals, out);
        for decision in out.list() {
            let &Decision::Sleep(nodes) = decision else { continue };
            for node in nodes.nodes() {
                if let Some(lane) = view.capacity.of_node(node) {
                    all[lane].note_shutdown(view.now, node);
                }
            }
        }
        Ok(())
    }
}

impl Policy for ByLane {
    fn name(&self) -> &str {
        self.all.first().map_or("", |policy| policy.name())
    }

    fn notice(&mut self, jobs: Jobs<'_>, notice: Notice) {
        match notice {
            Notice::Submitted(job) | Notice::Requeued(job) | Notice::Withdrawn(job) => {
                self.of(job).notice(jobs, notice);
            }
            Notice::Started(job) | Notice::Ended(job) => {
                self.of(job).notice(jobs, notice);
                self.tell_others(jobs, job, notice);
            }
            Notice::NodeReady(_)
            | Notice::NodeOff(_)
            | Notice::NodeFailed(_)
            | Notice::BudgetChanged
            | Notice::Timer
            | Notice::NodesFound
            | Notice::Steered(_) => self.all.iter_mut().for_each(|policy| policy.notice(jobs, notice)),
        }
    }

    fn stages(&self) -> Stages {
        let follows = self.all.iter().any(|policy| policy.stages().follows);
        Stages { rests: self.sleep.is_some(), follows, ..Stages::default() }
    }

    fn decide(&mut self, stage: Stage, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        match stage {
            Stage::Start => self.start(view, out),
            Stage::Rest => self.rest(view, out),
            Stage::Recover | Stage::Resize | Stage::Allot | Stage::Alert | Stage::Relieve => Ok(()),
        }
    }

    fn timing(&self) -> Timing {
        self.all.first().map_or(Timing::AtOnce, Policy::timing)
    }

    fn grow(&mut self, growth: &Growth) {
        self.all.iter_mut().for_each(|policy| policy.grow(growth));
        if let Some(queues) = &growth.queues {
            self.queues = Arc::clone(queues);
        }
    }

    fn appraise(&mut self, view: &View<'_>, job: JobId, nodes: &[u32]) -> (Watts, Basis) {
        let view = view.within(self.queues.lane(job));
        self.of(job).appraise(&view, job, nodes)
    }

    fn take_over(&mut self, view: &View<'_>, id: RunId) -> Result<()> {
        let Some(run) = view.runs.get(id) else { return Ok(()) };
        let own = view.within(self.queues.lane(run.job));
        self.of(run.job).take_over(&own, id)?;
        self.tell_others(view.jobs, run.job, Notice::Started(run.job));
        Ok(())
    }

    fn divide(&mut self, cells: &Arc<Cells>, exclusive: bool) -> Result<()> {
        self.all.iter_mut().try_for_each(|policy| policy.divide(cells, exclusive))
    }

    fn line_up(&mut self, queues: &Arc<Queues>) -> Result<()> {
        let as_one = Arc::new(queues.in_one_lane());
        self.all.iter_mut().try_for_each(|policy| policy.line_up(&as_one))
    }

    fn leaves_out(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        self.all[self.queues.lane(job)].leaves_out(jobs, job)
    }

    /// Shares are those of the whole machine: the policy of each lane follows the use of all lanes.
    fn follow(&mut self, uses: &[Use]) {
        self.all.iter_mut().for_each(|policy| policy.follow(uses));
    }

    /// The view is about one lane.
    fn expect(&self, view: &View<'_>, out: &mut Expected) -> bool {
        view.only.is_none_or(|lane| self.all[lane].expect(view, out))
    }

    fn idles_without_jobs(&self) -> bool {
        self.all.iter().all(Policy::idles_without_jobs)
    }

    fn expects_without_queue(&self) -> bool {
        self.all.iter().any(Policy::expects_without_queue)
    }

    fn alarm(&mut self, _further: bool) -> Option<Alarm> {
        self.sleep.as_ref()?.alarm()
    }

    fn remember(&self, kept: &mut Recollection) {
        for (lane, policy) in self.all.iter().enumerate() {
            let mut own = Recollection::default();
            policy.remember(&mut own);
            kept.keep_part(lane, own);
        }
        self.sleep.iter().for_each(|sleep| sleep.remember(kept));
    }

    fn recall(&mut self, view: &View<'_>, kept: &Recollection) {
        for (lane, policy) in self.all.iter_mut().enumerate() {
            policy.recall(&view.within(lane), &kept.part(lane));
        }
        self.sleep.iter_mut().for_each(|sleep| sleep.recall(kept));
    }
}
