//! Jobs that join a workload while it runs: all that is known of jobs by row, for more rows than before.

use std::sync::Arc;

use crate::error::{Result, config};
use crate::policy::cells::Cells;
use crate::policy::queues::Queues;
use crate::power::pvt::Predicted;
use crate::workload::Workload;

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
    /// Groups that share the machine, if the policy knows any; those of before keep their numbers.
    pub groups: Option<Arc<[u32]>>,
}

impl Growth {
    /// The same of some of the nodes, counted from 0.
    #[must_use]
    pub fn part(&self, nodes: &[u32]) -> Self {
        Self {
            workload: Arc::clone(&self.workload),
            predicted: Arc::new(self.predicted.part(nodes)),
            cells: self.cells.as_ref().map(|cells| Arc::new(cells.part(nodes))),
            queues: self.queues.as_ref().map(|queues| Arc::new(queues.in_pool(nodes))),
            groups: self.groups.clone(),
        }
    }

    /// Checks that nodes are distinguished as they were.
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
