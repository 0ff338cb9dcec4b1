//! Checks of starts on a machine whose nodes differ in what jobs ask for.

use crate::cluster::Cluster;
use crate::error::SimulationError;
use crate::platform::cells::Cells;
use crate::workload::JobId;

impl Cluster {
    /// Checks that nodes, which are free, have what the job asks for, and that there are licences for it.
    ///
    /// # Errors
    /// If something is missing.
    pub(super) fn check_cells(&self, job: JobId, nodes: &[u32]) -> Result<(), SimulationError> {
        let Some(shares) = &self.shares else { return Ok(()) };
        let cells = shares.cells();
        let other = nodes.iter().find(|&&node| node < self.platform.len() && !cells.may_use(job, node));
        if let Some(&node) = other {
            return Err(SimulationError(format!("node {node} does not have what it asks for")));
        }
        if let Some(kind) = shares.short_of(job) {
            let free = shares.licences()[kind];
            return Err(SimulationError(format!("of licence {kind} it asks for more than are free, which are {free}")));
        }
        self.check_stock(cells, job, nodes)
    }

    /// Checks that shared nodes have as many GPUs and as much memory left as the job asks for.
    fn check_stock(&self, cells: &Cells, job: JobId, nodes: &[u32]) -> Result<(), SimulationError> {
        let own = cells.want(job);
        if cells.stock().is_empty() || own.gpus == 0 && own.memory == 0 {
            return Ok(());
        }
        for &node in nodes.iter().filter(|&&node| node < self.platform.len()) {
            let (mut gpus, mut memory) = cells.stock()[node as usize];
            for run in self.runs_on(node).into_iter().filter_map(|id| self.runs.get(id)) {
                let want = cells.want(run.job);
                (gpus, memory) = (gpus - want.gpus, memory - want.memory);
            }
            if gpus < own.gpus || memory < own.memory {
                return Err(SimulationError(format!("node {node} has too few GPUs or too little memory left")));
            }
        }
        Ok(())
    }
}
