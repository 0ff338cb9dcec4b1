//! Nodes that are free or come back, cumulated over planned ends: a lower bound of the will-run test.

use crate::algo::node_set::NodeSet;
use crate::policy::backfill::slurm::running::Running;

/// Nodes that are free, and those that are once the first jobs have reached their planned ends.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    ends: Vec<i64>,
    /// Nodes once so many jobs have ended.
    nodes: Vec<NodeSet>,
}

impl Ahead {
    pub(super) fn new(running: &Running, free: &NodeSet) -> Self {
        let mut nodes = vec![free.clone()];
        for job in running.list() {
            let mut next = nodes[nodes.len() - 1].clone();
            next.insert_set(&job.set);
            nodes.push(next);
        }
        Self { ends: running.list().iter().map(|job| job.end).collect(), nodes }
    }

    /// Nodes that are free up to a second. The will-run test takes jobs away in order of their ends: where these are too
    /// few, it answers with a later second, or with none.
    pub(super) fn by(&self, second: i64) -> &NodeSet {
        &self.nodes[self.ends.partition_point(|&end| end <= second)]
    }
}
