//! The free nodes with the lowest ids.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::placement::{Choice, Placement};
use crate::workload::JobId;

/// Nodes in order of id: Naive of the COA paper, Sequence of the pools paper.
#[derive(Clone, Copy, Debug)]
pub struct LowestId;

impl Placement for LowestId {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        free.take_lowest(ask.view.jobs.node_count(job), nodes);
        Ok(Choice::Chosen)
    }

    fn show(&mut self, _: &Ask<'_>, _: JobId, free: &NodeSet, look: &mut dyn FnMut(u32) -> bool) -> bool {
        free.iter().all(look);
        true
    }

    fn takes_lowest(&self) -> bool {
        true
    }

    fn is_repeatable(&self) -> bool {
        true
    }
}
