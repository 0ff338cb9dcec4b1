//! The free nodes with the lowest ids.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::placement::Placement;
use crate::policy::{Decisions, View};
use crate::workload::JobId;

/// In order of id: Naive of the COA paper, Sequence of the pools paper.
#[derive(Clone, Copy, Debug)]
pub struct LowestId;

impl Placement for LowestId {
    fn place(&mut self, view: &View<'_>, starts: &[JobId], free: &mut NodeSet, out: &mut Decisions) -> Result<()> {
        for &job in starts {
            let count = view.jobs.node_count(job);
            out.start_with(job, |nodes| free.take_lowest(count, nodes));
        }
        Ok(())
    }
}
