//! More jobs than before: what is kept of each is kept of the new ones, too.

use std::sync::Arc;

use crate::cluster::{Cluster, Phase, sizes};
use crate::policy::Eligible;
use crate::policy::growth::Growth;
use crate::power::slowest::{OwnSlowdowns, Slowest};
use crate::workload::JobId;

impl Cluster {
    /// There are more jobs. `has_joined` says which of those before have joined the queue, if that was not kept so far.
    pub fn grow(&mut self, growth: &Growth, has_joined: &dyn Fn(JobId) -> bool) {
        let (before, jobs) = (self.phases.len(), growth.workload.len());
        let predicted = &growth.predicted;
        let slowest = |_| Slowest::new(predicted, self.platform.len(), growth.workload.app_names().len());
        self.slowest = self.slowest.take().map(slowest).map(Arc::new);
        self.own_caps = Arc::new(OwnSlowdowns::new(predicted, &growth.workload));
        self.predicted = Arc::clone(predicted);
        self.phases.resize(jobs, Phase::Unborn);
        if let Some(all) = sizes(&growth.workload, &self.platform) {
            match &mut self.sizes {
                Some(own) => own.extend_from_slice(&all[before..]),
                None => self.sizes = Some(all),
            }
        }
        match &mut self.eligible {
            Some(eligible) => eligible.grow(jobs),
            None if growth.workload.has_waits() => {
                let mut eligible = Eligible::new(jobs);
                let known = (0..).map(JobId).take(before).filter(|&job| has_joined(job));
                known.for_each(|job| eligible.note(job, self.workload.submit(job)));
                self.eligible = Some(eligible);
            }
            None => {}
        }
        if let Some(forecasts) = &mut self.forecasts {
            forecasts.grow(jobs);
        }
        if let Some((shares, cells)) = self.shares.as_mut().zip(growth.cells.as_ref()) {
            shares.grow(Arc::clone(cells));
        }
        self.cells.clone_from(&growth.cells);
        self.queues.clone_from(&growth.queues);
        self.workload = Arc::clone(&growth.workload);
    }

    /// Requests of jobs besides nodes, where any may have some.
    #[must_use]
    pub fn cells(&self) -> Option<&crate::policy::cells::Cells> {
        self.cells.as_deref()
    }
}
