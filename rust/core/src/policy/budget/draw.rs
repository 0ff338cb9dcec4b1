//! Draw that a job is counted to add to the idle machine on given nodes when it starts.

use crate::algo::node_set::NodeSet;
use crate::cluster::counted::{Counted, Estimate};
use crate::policy::analyzer::Ask;
use crate::power::in_force::CapsInForce;
use crate::units::Watts;
use crate::workload::JobId;

/// Draw of a job on each node when it starts.
#[must_use]
pub fn counted<'a>(ask: &Ask<'a>, job: JobId, estimate: Estimate) -> Counted<'a> {
    let caps = CapsInForce::own(ask.view.jobs.cap_w(job)).allotting(ask.least.of(ask.view, job));
    Counted::new(ask.view.platform, ask.view.predicted, ask.view.profile(job), caps, estimate)
}

/// Watts beyond idle that a job takes on these nodes.
#[must_use]
pub fn beyond_idle(ask: &Ask<'_>, job: JobId, nodes: &[u32]) -> Watts {
    let counted = counted(ask, job, ask.estimate(job));
    ask.view.held(job, counted.on_all(nodes))
}

/// Moves as many nodes of `free` as a job asks for to the end of `taken`: those where it adds least, ties by lower id.
pub fn take_cheapest(ask: &Ask<'_>, job: JobId, free: &mut NodeSet, taken: &mut Vec<u32>) {
    let counted = counted(ask, job, ask.estimate(job));
    let mut nodes: Vec<u32> = free.iter().collect();
    nodes.sort_by_key(|&node| (counted.on(node), node));
    nodes.truncate(ask.view.jobs.node_count(job) as usize);
    for &node in &nodes {
        free.remove(node);
    }
    taken.extend(nodes);
}
