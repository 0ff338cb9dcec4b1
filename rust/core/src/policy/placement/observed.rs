//! The nodes that jobs had in reality.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::placement::{Choice, Placement, Verdict};
use crate::workload::JobId;

/// A job whose nodes the log names waits for just these; others take the free nodes with the lowest ids.
#[derive(Clone, Copy, Debug)]
pub struct ObservedNodes;

impl Placement for ObservedNodes {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        match ask.view.jobs.truth(job).observed_nodes() {
            Some(own) if !are_free(own, free) => return Ok(Choice::Refused),
            Some(own) => nodes.extend(own.iter().copied().filter(|&node| free.remove(node))),
            None => free.take_lowest(ask.view.jobs.node_count(job), nodes),
        }
        Ok(Choice::Chosen)
    }

    fn judge(&mut self, ask: &Ask<'_>, job: JobId, free: &NodeSet) -> Verdict {
        let own = ask.view.jobs.truth(job).observed_nodes();
        if own.is_none_or(|own| are_free(own, free)) { Verdict::Suits } else { Verdict::Refused }
    }
}

fn are_free(own: &[u32], free: &NodeSet) -> bool {
    own.iter().all(|&node| node < free.capacity() && free.contains(node))
}
