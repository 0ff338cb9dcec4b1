//! A machine of which only some nodes serve jobs, under a policy with a budget for the whole machine (operations page
//! on machines, rule 7).
//!
//! The controller's machine is made of the serving nodes; the others idle for the whole run. The plant has all nodes,
//! the serving ones first; once the run is over, the records get the original numbers back.

use std::sync::Arc;

use crate::cluster::Cluster;
use crate::cluster::growth::Growth;
use crate::control::succession::Divisions;
use crate::platform::Platform;
use crate::platform::cells::Cells;
use crate::platform::queues::Queues;
use crate::policy::Policy;
use crate::power::pvt::{Actual, Predicted};
use crate::sim::record::Records;
use crate::sim::{Options, Simulation};
use crate::units::Watts;
use crate::workload::Workload;

impl Simulation {
    /// Sets up a run on a machine of which only these nodes serve jobs, under a policy for a machine of these. The
    /// others idle, and nothing ever happens to any node from outside.
    #[must_use]
    pub fn of_part(
        nodes: &[u32],
        workload: impl Into<Arc<Workload>>,
        platform: impl Into<Arc<Platform>>,
        (actual, predicted): (Actual, Predicted),
        policy: Box<dyn Policy>,
        options: Options,
    ) -> Self {
        let platform = platform.into();
        let part = Part::new(nodes, &platform, &actual);
        Self::set_up(workload.into(), platform, (actual, predicted), Some(part), policy, options)
    }
}

/// Partition of the machine into nodes that serve and others.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// All nodes, the serving ones first.
    order: Vec<u32>,
    serving: usize,
    /// Draw of the others.
    idle: Watts,
    /// Actual table, by the nodes' original numbers.
    actual: Arc<Actual>,
}

impl Part {
    /// Part of the machine in which these nodes serve, ascending.
    pub(super) fn new(nodes: &[u32], platform: &Platform, actual: &Actual) -> Self {
        let (mut order, all) = (nodes.to_vec(), 0..platform.len());
        order.extend(all.filter(|node| nodes.binary_search(node).is_err()));
        let idle = order[nodes.len()..].iter().map(|&node| platform.node(node).idle).sum();
        Self { order, serving: nodes.len(), idle, actual: Arc::new(actual.clone()) }
    }

    fn serving(&self) -> &[u32] {
        &self.order[..self.serving]
    }

    /// All nodes and their actual table in the order of the plant.
    pub(super) fn plant(&self, platform: &Platform, actual: &Actual) -> (Arc<Platform>, Actual) {
        (Arc::new(platform.part(&self.order)), actual.part(&self.order))
    }

    /// Serving nodes and their predicted table, as the controller has them.
    pub(super) fn machine(&self, platform: &Platform, predicted: &Predicted) -> (Arc<Platform>, Predicted) {
        (Arc::new(platform.part(self.serving())), predicted.part(self.serving()))
    }

    /// Predictions for the nodes that serve.
    pub(super) fn believed(&self, predicted: &Predicted) -> Predicted {
        predicted.part(self.serving())
    }

    /// Data on more jobs for the nodes that serve.
    pub(super) fn grown(&self, growth: &Growth) -> Growth {
        growth.part(self.serving())
    }

    /// Draws and speeds of all nodes, in the order of the plant.
    pub(super) fn charged(&self, actual: &Actual) -> Actual {
        actual.part(&self.order)
    }

    /// True if these are the nodes that serve.
    pub(super) fn is_of(&self, nodes: &[u32]) -> bool {
        self.serving() == nodes
    }

    /// The others.
    pub(super) fn others(&self) -> &[u32] {
        &self.order[self.serving..]
    }

    /// Divisions of the serving nodes.
    pub(super) fn divisions(&self, all: &Divisions) -> Divisions {
        let Divisions { cells, queues } = all;
        Divisions {
            cells: cells.as_ref().map(|cells| self.cells(cells)),
            queues: queues.as_ref().map(|queues| self.queues(queues)),
        }
    }

    /// Lets the cluster count the others, which idle for the whole run.
    pub(super) fn stand_beside(&self, cluster: &mut Cluster) {
        cluster.stand_beside(self.order.len() - self.serving, self.idle);
    }

    /// Cells of the serving nodes.
    pub(super) fn cells(&self, cells: &Cells) -> Arc<Cells> {
        Arc::new(cells.part(self.serving()))
    }

    /// The queues, each with all serving nodes.
    pub(super) fn queues(&self, queues: &Queues) -> Arc<Queues> {
        Arc::new(queues.in_pool(self.serving()))
    }

    /// Gives the nodes in the records of a finished run their original numbers.
    pub(super) fn renumber(&self, records: &mut Records) {
        records.jobs.renumber(&self.order);
        records.nodes.renumber(&self.order);
        records.actual = Arc::clone(&self.actual);
    }
}
