//! Plant: the machine under a conductor, which brings what happens and follows what is decided.

use crate::cluster::runs::RunId;
use crate::cluster::{Cluster, Retimed};
use crate::control::conductor::Conductor;
use crate::control::{Effect, Refusal};
use crate::error::{Result, SimulationError};
use crate::platform::outages::Outage;
use crate::policy::Decision;
use crate::policy::budget::Between;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// Machine under a conductor: a simulated one, or a real one as far as its host knows it.
pub trait Plant {
    /// Present draw of the machine, as it is measured now.
    fn draw(&mut self) -> Watts;

    /// Brings what happens now on the machine, at the begin of a round: ends of runs, then node transitions, failures
    /// and budgets. Returns the number of events that changed anything.
    ///
    /// # Errors
    /// If something cannot have happened.
    fn bring_machine(&mut self, conductor: &mut Conductor) -> Result<u64>;

    /// Brings the jobs that are submitted now, and then the withdrawals. Returns the number of events that changed
    /// anything.
    ///
    /// # Errors
    /// If something cannot have happened.
    fn bring_jobs(&mut self, conductor: &mut Conductor) -> Result<u64>;

    /// Loses a run whose node goes down: its job ends, or is requeued.
    ///
    /// # Errors
    /// If its nodes do not serve it.
    fn lose(&mut self, conductor: &mut Conductor, id: RunId, why: Outage) -> Result<()>;

    /// Follows a decision that the cluster has carried out.
    ///
    /// # Errors
    /// If it cannot.
    fn act(
        &mut self,
        cluster: &Cluster,
        decision: &Decision,
        effect: Effect,
        in_emergency: bool,
    ) -> Result<(), SimulationError>;

    /// Follows something that has become of a job, or of the machine, without a decision of the policy.
    fn note(&mut self, cluster: &Cluster, fact: Fact);

    /// Takes the measured draws beyond idle of the runs that an emergency has suspended, as they were before.
    fn take_asked(&mut self) -> Vec<(RunId, Watts)>;

    /// True if nothing more will happen on the machine by itself.
    fn is_still(&self) -> bool;

    /// True if something may still happen in this instant, apart from what the policy has asked for.
    fn may_go_on(&self, _now: SimTime) -> bool {
        true
    }

    /// Number of jobs in a final state.
    fn done(&self) -> usize;

    /// Decides in the policy's place, as long as that is not to decide; true if it did.
    ///
    /// # Errors
    /// If its decisions cannot be carried out.
    fn leads(&mut self, _conductor: &mut Conductor) -> Result<bool> {
        Ok(false)
    }

    /// Follows the end of a pass, or its interruption if the policy's agent is asked.
    fn end_pass(&mut self, _conductor: &mut Conductor, _asks: bool) {}

    /// Settles the instant at its end: ends follow the caps in force.
    fn settle(&mut self, _cluster: &Cluster, _replanned: &[Retimed]) {}
}

/// Something that has become of a job, or of the machine, without a decision of the policy.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    /// A job was turned away.
    TurnedAway(JobId, Refusal),
    /// A job fits between no two budgets to come.
    Between(JobId, Between),
    /// A job has joined the queue.
    Joined(JobId),
    /// A job was withdrawn.
    Withdrawn(Withdrawal),
    /// The machine draws more than the budget, so that an emergency begins.
    Alert(Watts),
}

/// Withdrawal of a job that did not run.
#[derive(Clone, Copy, Debug)]
pub struct Withdrawal {
    /// The job.
    pub job: JobId,
    /// True if it was in the queue.
    pub was_queued: bool,
    /// Reason for it.
    pub why: Why,
}

/// Reason for which a job is withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Somebody has withdrawn it.
    Asked,
    /// It said beforehand that it would be withdrawn now.
    Foreseen,
    /// It waited for something that will not come any more.
    Hopeless,
}
