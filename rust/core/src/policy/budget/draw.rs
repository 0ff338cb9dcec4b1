//! What a job is taken to add to the idle machine on given nodes.
//!
//! System power is the idle draw of all nodes and, for each node that serves a job, what the job is predicted to draw there
//! beyond it. A draw below idle counts as idle.

use crate::algo::node_set::NodeSet;
use crate::policy::View;
use crate::policy::analyzer::Estimate;
use crate::power::pvt::JobDraws;
use crate::units::Watts;
use crate::workload::JobId;

/// Watts beyond idle that a job takes on these nodes.
#[must_use]
pub fn beyond_idle(view: &View<'_>, job: JobId, estimate: Estimate, nodes: &[u32]) -> Watts {
    let draws = view.predicted.of_job(view.jobs.app(job), view.known_draw(job));
    let sum = nodes.iter().map(|&node| beyond_idle_on(view, draws, estimate, node)).sum();
    held(view, job, sum)
}

/// Moves as many nodes of `free` as a job asks for to the end of `taken`: those where it adds least, ties to the lower id.
pub fn take_cheapest(view: &View<'_>, job: JobId, estimate: Estimate, free: &mut NodeSet, taken: &mut Vec<u32>) {
    let draws = view.predicted.of_job(view.jobs.app(job), view.known_draw(job));
    let mut nodes: Vec<u32> = free.iter().collect();
    nodes.sort_by_key(|&node| (beyond_idle_on(view, draws, estimate, node), node));
    nodes.truncate(view.jobs.node_count(job) as usize);
    for &node in &nodes {
        free.remove(node);
    }
    taken.extend(nodes);
}

/// Where nodes are shared, the share of whole nodes' watts that falls to the slots a job holds.
pub(super) fn held(view: &View<'_>, job: JobId, whole: Watts) -> Watts {
    whole.share(view.jobs.need(job, view.platform), view.platform.shared_slots())
}

#[inline]
pub(super) fn beyond_idle_on(view: &View<'_>, draws: JobDraws<'_>, estimate: Estimate, node: u32) -> Watts {
    let own = view.platform.node(node);
    let draw = match estimate {
        Estimate::Predicted => draws.on(node),
        Estimate::Tdp => own.tdp,
    };
    draw.max(own.idle) - own.idle
}
