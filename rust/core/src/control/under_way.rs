//! Runs that the policy has not decided on: it counts them like those that another policy has started.

use crate::cluster::Phase;
use crate::cluster::runs::RunId;
use crate::control::{Controller, Host, Refusal};
use crate::error::Result;
use crate::policy::Notice;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

impl Controller {
    /// Starts a job that does not run now, on these nodes.
    ///
    /// # Errors
    /// If they cannot serve it, the policy fails, or the host cannot follow.
    pub fn take_up(&mut self, job: JobId, nodes: &[u32], host: &mut Host<'_>) -> Result<()> {
        if self.cluster.phase(job) == Phase::Queued {
            self.tell(Notice::Withdrawn(job));
        } else {
            if self.foretells {
                self.foretold.joined.push(job);
                self.foretell(&|| false)?;
            }
            self.cluster.admit(job);
        }
        let (watts, basis) = self.policy.appraise(&self.cluster.view(Watts::ZERO, &|| false), job, nodes);
        self.tell(Notice::Inherited(job));
        self.decisions.clear();
        self.decisions.start_with(job, |list| list.extend(nodes));
        self.decisions.revise(|start, _| (start.claim, start.basis) = (watts, basis.clone()));
        // It runs, whatever the budget: nothing is granted to it.
        self.carry_out_counting(false, host)
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

    /// Lets a job's run have begun then.
    pub fn backdate(&mut self, job: JobId, since: SimTime) {
        self.cluster.backdate(job, since);
    }

    /// Moves a run to the nodes on which it has really begun, ascending; it keeps its attempt and its begin.
    ///
    /// # Errors
    /// If they cannot serve it.
    pub fn adopt(&mut self, id: RunId, nodes: &[u32]) -> Result<()> {
        let Some(run) = self.cluster.end(id)? else { return Ok(()) };
        self.tell(Notice::Ended(run.job));
        let counted = self.policy.appraise(&self.cluster.view(Watts::ZERO, &|| false), run.job, nodes);
        self.tell(Notice::Inherited(run.job));
        self.cluster.adopt(*run, nodes, counted)?;
        Ok(())
    }
}
