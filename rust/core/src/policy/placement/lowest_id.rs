//! The free nodes with the lowest ids.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::placement::{Placement, Starting};
use crate::policy::{Decisions, View};

/// In order of id: Naive of the COA paper, Sequence of the pools paper.
#[derive(Clone, Copy, Debug)]
pub struct LowestId;

impl Placement for LowestId {
    fn place(&mut self, view: &View<'_>, starts: &[Starting], free: &mut NodeSet, out: &mut Decisions) -> Result<()> {
        for start in starts {
            let count = view.jobs.node_count(start.job);
            out.start_with(start.job, start.overtakes, |nodes| free.take_lowest(count, nodes));
        }
        Ok(())
    }
}
