//! Jobs that join a workload while it runs: all data that is kept by row is extended to more rows.

use std::sync::Arc;

use crate::cluster::eligible::Eligible;
use crate::cluster::{Cluster, Phase, sizes};
use crate::error::{Result, config};
use crate::platform::cells::Cells;
use crate::platform::queues::Queues;
use crate::power::pvt::Predicted;
use crate::workload::{JobId, Workload};

/// Data on all jobs, the earlier ones in their old rows.
#[derive(Clone)]
pub struct Growth {
    /// The jobs.
    pub workload: Arc<Workload>,
    /// Predicted draws and speeds.
    pub predicted: Arc<Predicted>,
    /// Their requests besides nodes, if nodes may differ in these.
    pub cells: Option<Arc<Cells>>,
    /// Their queues, if there are any.
    pub queues: Option<Arc<Queues>>,
    /// Groups that share the machine, if the policy knows any; earlier groups keep their numbers.
    pub groups: Option<Arc<[u32]>>,
}

impl Growth {
    /// Checks that the jobs can join those that there are.
    ///
    /// # Errors
    /// If nodes were to be divided into other cells, or jobs of a new kind looked after.
    pub fn check(&self, cluster: &Cluster) -> Result<()> {
        self.check_cells(cluster.cells())?;
        if self.workload.has_malleable() && !cluster.workload().has_malleable() {
            let expected = "none: no job of the session is, and nothing looks after sizes that change";
            return Err(config("workload.malleable", "a malleable job", expected));
        }
        Ok(())
    }

    /// Checks that nodes are divided into the same cells as before.
    ///
    /// # Errors
    /// If they are not.
    pub fn check_cells(&self, before: Option<&Cells>) -> Result<()> {
        let divides = |cells: &Cells| cells.divide();
        let same = match (before.filter(|cells| divides(cells)), self.cells.as_deref().filter(|cells| divides(cells))) {
            (Some(before), Some(after)) => after.goes_on(before),
            (None, None) => true,
            _ => false,
        };
        let expected = "what some job of the session asks for: by that nodes are told apart from the beginning";
        if same {
            Ok(())
        } else {
            Err(config("workload", "a new constraint, or new gpus, memory_gb or licences", expected))
        }
    }
}

impl Cluster {
    /// Adds jobs. `has_joined` is true for the earlier jobs that have joined the queue, if that was not kept so far.
    pub fn grow(&mut self, growth: &Growth, has_joined: &dyn Fn(JobId) -> bool) {
        let (before, jobs) = (self.phases.len(), growth.workload.len());
        let predicted = &growth.predicted;
        self.predicted = Arc::clone(predicted);
        self.phases.resize(jobs, Phase::Unborn);
        if let Some(all) = sizes(&growth.workload, &self.platform) {
            match &mut self.beliefs.sizes {
                Some(own) => own.extend_from_slice(&all[before..]),
                None => self.beliefs.sizes = Some(all),
            }
        }
        match &mut self.beliefs.eligible {
            Some(eligible) => eligible.grow(jobs),
            None if growth.workload.has_waits() => {
                let mut eligible = Eligible::new(jobs);
                let known = (0..).map(JobId).take(before).filter(|&job| has_joined(job));
                known.for_each(|job| eligible.note(job, self.workload.submit(job)));
                self.beliefs.eligible = Some(eligible);
            }
            None => {}
        }
        if let Some(forecasts) = &mut self.beliefs.forecasts {
            forecasts.grow(jobs);
        }
        if let Some((shares, cells)) = self.shares.as_mut().zip(growth.cells.as_ref()) {
            shares.grow(Arc::clone(cells));
        }
        self.cells.clone_from(&growth.cells);
        if let Some(queues) = &growth.queues {
            self.capacity.grow(queues);
        }
        self.queues.clone_from(&growth.queues);
        self.workload = Arc::clone(&growth.workload);
        self.find_slowdowns();
    }

    /// Requests of jobs besides nodes, if there can be any.
    #[must_use]
    pub fn cells(&self) -> Option<&Cells> {
        self.cells.as_deref()
    }
}
