//! Places of jobs that run before a policy decides.

use crate::algo::releases::{Release, ReleasedBy};
use crate::cluster::counted::Basis;
use crate::cluster::power::Governed;
use crate::cluster::runs::{Run, RunId};
use crate::cluster::shares::Shares;
use crate::cluster::{Cluster, Phase};
use crate::error::SimulationError;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

impl Cluster {
    /// Nodes for a job that runs already: those that the log names, if they are free and as many as it asks for; else the
    /// lowest free ones that may serve it. `None` if there are too few, or if a limit of its array, its queue or
    /// licences is reached.
    #[must_use]
    pub fn nodes_under_way(&self, job: JobId) -> Option<Vec<u32>> {
        let count = self.jobs().node_count(job) as usize;
        let free = self.slots().holding(self.jobs().need(job, &self.platform));
        let (own, cells) =
            (self.queues.as_ref().map(|queues| queues.nodes(job)), self.shares.as_ref().map(Shares::cells));
        let serves =
            |node: u32| own.is_none_or(|own| own.contains(node)) && cells.is_none_or(|cells| cells.may_use(job, node));
        let is_free = |node: u32| node < free.capacity() && free.contains(node) && serves(node);
        let named = self.workload.observed_nodes(job).unwrap_or_default().iter();
        let mut nodes: Vec<_> = named.copied().filter(|&node| node < self.platform.len()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        if nodes.len() != count || !nodes.iter().all(|&node| is_free(node)) {
            nodes = free.iter().filter(|&node| serves(node)).take(count).collect();
        }
        let fits = nodes.len() == count && self.check_groups(job).is_ok() && self.check_cells(job, &nodes).is_ok();
        fits.then_some(nodes)
    }
    /// Counts so many attempts of a job as lost.
    pub fn count_attempts(&mut self, job: JobId, attempts: u32) {
        if attempts > 0 {
            self.attempts.insert(job.0, attempts);
        }
    }

    /// Lets a run that has begun now have begun then; its planned end moves with its begin.
    pub fn backdate(&mut self, id: RunId, since: SimTime) {
        let Some(run) = self.runs.get(id) else { return };
        let end = SimTime::from_micros(run.planned_end.micros().saturating_sub((run.started - since).micros()));
        self.retime(id, since, end);
    }

    /// Sets the begin and the planned end of a run that another controller has started.
    pub fn retime(&mut self, id: RunId, started: SimTime, end: SimTime) {
        let Some(run) = self.runs.get_mut(id) else { return };
        let by = ReleasedBy::Job(run.job.0);
        let (old, claim) = (std::mem::replace(&mut run.planned_end, end), run.claim);
        run.started = started;
        if !self.governed.as_ref().is_some_and(Governed::allots) {
            self.capacity.remove(old, by);
            self.capacity.insert(Release { at: end, by, claim });
        }
    }

    /// Begins a run that has ended in this instant once more, on other nodes, with the same attempt and begin. `watts` and
    /// `basis` are what the policy counts for it there.
    ///
    /// # Errors
    /// If the nodes cannot serve it.
    pub fn adopt(&mut self, run: Run, nodes: &[u32], (watts, basis): (Watts, Basis)) -> Result<RunId, SimulationError> {
        (self.phases[run.job.0 as usize], self.queued) = (Phase::Queued, self.queued + 1);
        let places = self.take_nodes(run.job, nodes)?;
        let claim = self.claim(run.job, watts);
        self.begin(Run { claim, watts, basis, places, ..run })
    }
}
