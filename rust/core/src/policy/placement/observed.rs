//! The nodes that jobs had in reality.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::placement::Placement;
use crate::policy::{Decisions, View};
use crate::workload::JobId;

/// A job whose nodes the log names waits for just these; others take the free nodes with the lowest ids.
#[derive(Clone, Copy, Debug)]
pub struct ObservedNodes;

impl Placement for ObservedNodes {
    fn place(&mut self, view: &View<'_>, jobs: &[JobId], free: &mut NodeSet, out: &mut Decisions) -> Result<()> {
        for &job in jobs {
            out.start_with(job, |taken| match view.jobs.observed_nodes(job) {
                Some(own) => taken.extend(own.iter().copied().filter(|&node| free.remove(node))),
                None => free.take_lowest(view.jobs.node_count(job), taken),
            });
        }
        Ok(())
    }

    fn may_refuse(&self) -> bool {
        true
    }

    fn accepts(&mut self, view: &View<'_>, job: JobId, free: &NodeSet) -> bool {
        let is_free = |&node: &u32| node < free.capacity() && free.contains(node);
        view.jobs.observed_nodes(job).is_none_or(|own| own.iter().all(is_free))
    }
}
