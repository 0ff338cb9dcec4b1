//! Runs that the policy has not decided on: it counts them like those that another policy has started.

use crate::cluster::runs::RunId;
use crate::cluster::{Effect, Phase};
use crate::control::{Controller, Host, Refusal};
use crate::error::{Result, SimulationError};
use crate::policy::Notice;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

impl Controller {
    /// Starts a job that does not run now, on these nodes. It has begun at `since`.
    ///
    /// # Errors
    /// If they cannot serve it, the policy fails, or the host cannot follow.
    pub fn take_up(&mut self, job: JobId, nodes: &[u32], since: SimTime, host: &mut Host<'_>) -> Result<()> {
        if self.cluster.phase(job) == Phase::Queued {
            self.tell(Notice::Withdrawn(job));
        } else {
            if self.foretells {
                self.foretold.joined.push(job);
                self.foretell(&|| false)?;
            }
            self.cluster.admit(job);
        }
        let id = self.begin_run(job, nodes, host)?;
        self.cluster.backdate(id, since);
        self.policy.take_over(&self.cluster.view(Watts::ZERO, &|| false), id)
    }

    /// Begins a run of a job of the queue on these nodes, whatever the policy.
    fn begin_run(&mut self, job: JobId, nodes: &[u32], host: &mut Host<'_>) -> Result<RunId> {
        let (watts, basis) = self.policy.appraise(&self.cluster.view(Watts::ZERO, &|| false), job, nodes);
        self.decisions.clear();
        self.decisions.start_with(job, |list| list.extend(nodes));
        self.decisions.revise(|start, _| (start.claim, start.basis) = (watts, basis.clone()));
        let mut begun = None;
        // It runs, whatever the budget: nothing is granted to it.
        self.carry_out_counting(false, &mut |cluster, decision, effect| {
            if let Effect::Started(id) = effect {
                begun = Some(id);
            }
            host(cluster, decision, effect)
        })?;
        Ok(begun.ok_or_else(|| SimulationError("a run has not begun".to_owned()))?)
    }

    /// Adds a job to the queue that has been eligible since then, or gives the reason for which it is turned away.
    pub fn join_since(&mut self, job: JobId, since: SimTime) -> Option<Refusal> {
        let refusal = self.refuses(job);
        if refusal.is_some() {
            self.cluster.turn_away(job);
        } else {
            self.cluster.admit_since(job, since);
            self.tell_of(job);
        }
        refusal
    }

    /// Counts a job as over, after so many attempts.
    pub fn let_be_over(&mut self, job: JobId, attempts: u32) {
        self.cluster.turn_away(job);
        self.cluster.count_attempts(job, attempts);
    }

    /// Counts so many attempts of a job as lost.
    pub fn count_attempts(&mut self, job: JobId, attempts: u32) {
        self.cluster.count_attempts(job, attempts);
    }

    /// Moves a run to the nodes on which it has really begun, ascending; it keeps its attempt and its begin.
    ///
    /// # Errors
    /// If they cannot serve it.
    pub fn adopt(&mut self, id: RunId, nodes: &[u32]) -> Result<()> {
        let Some(run) = self.cluster.end(id)? else { return Ok(()) };
        self.tell(Notice::Ended(run.job));
        let counted = self.policy.appraise(&self.cluster.view(Watts::ZERO, &|| false), run.job, nodes);
        let id = self.cluster.adopt(*run, nodes, counted)?;
        self.policy.take_over(&self.cluster.view(Watts::ZERO, &|| false), id)
    }
}
