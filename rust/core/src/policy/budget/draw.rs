//! What a job is taken to add to the idle machine on given nodes.
//!
//! System power is the idle draw of all nodes and, for each node that serves a job, what the job is predicted to draw there
//! beyond it. A draw below idle counts as idle. A job counts with its least watts: what it draws under the smaller of its
//! own cap and the lowest that the allocator may set (operations page, rule 13).

use crate::algo::node_set::NodeSet;
use crate::policy::View;
use crate::policy::analyzer::{Ask, Estimate};
use crate::power::in_force::{Allotted, CapsInForce, Profile};
use crate::power::pvt::JobDraws;
use crate::units::Watts;
use crate::workload::JobId;

/// What one job counts with on each node.
pub struct Counted<'a> {
    view: &'a View<'a>,
    of: Profile,
    caps: CapsInForce,
    /// Under the same cap on every node.
    draws: JobDraws<'a>,
    estimate: Estimate,
}

impl<'a> Counted<'a> {
    /// A job under these caps.
    #[must_use]
    pub fn new(view: &'a View<'a>, job: JobId, caps: CapsInForce, estimate: Estimate) -> Self {
        Self::of(view, view.profile(job), caps, estimate)
    }

    /// Jobs of this profile under these caps.
    #[must_use]
    pub fn of(view: &'a View<'a>, of: Profile, caps: CapsInForce, estimate: Estimate) -> Self {
        let cap_w = caps.on_all().unwrap_or(f64::INFINITY);
        let draws = view.predicted.of_job_under(of.app, of.own, cap_w);
        Self { view, of, caps, draws, estimate }
    }

    /// The draw that is the same on every node, if it is.
    pub(super) fn constant(&self) -> Option<Watts> {
        match (self.estimate, &self.caps.allotted, self.draws) {
            (Estimate::Predicted, Allotted::None | Allotted::Watts(_), JobDraws::Measured(draw)) => Some(draw),
            _ => None,
        }
    }

    /// Watts beyond idle on a node.
    #[inline]
    #[must_use]
    pub fn on(&self, node: u32) -> Watts {
        let own = self.view.platform.node(node);
        let draw = match (self.estimate, &self.caps.allotted) {
            (Estimate::Predicted, Allotted::None | Allotted::Watts(_)) => self.draws.on(node),
            (Estimate::Predicted, Allotted::Slowdown(_) | Allotted::Nodes(_)) => self.unlike_on(node),
            (Estimate::Tdp, _) => self.capped(own.tdp, node),
        };
        draw.max(own.idle) - own.idle
    }

    fn cap_on(&self, node: u32) -> f64 {
        self.caps.on(self.view.predicted, self.of, node)
    }

    fn unlike_on(&self, node: u32) -> Watts {
        self.view.predicted.draw_under(self.of.app, self.of.own, node, self.cap_on(node))
    }

    /// A first run draws its node's TDP, or its cap if that is less.
    fn capped(&self, tdp: Watts, node: u32) -> Watts {
        Watts::from_watts(self.cap_on(node)).map_or(tdp, |cap| tdp.min(cap))
    }
}

/// What a job counts with on each node when it starts.
#[must_use]
pub fn counted<'a>(ask: &Ask<'a>, job: JobId, estimate: Estimate) -> Counted<'a> {
    let caps = CapsInForce::own(ask.view.jobs.cap_w(job)).allotting(ask.least.of(ask.view, job));
    Counted::new(ask.view, job, caps, estimate)
}

/// Watts beyond idle that a job takes on these nodes.
#[must_use]
pub fn beyond_idle(ask: &Ask<'_>, job: JobId, nodes: &[u32]) -> Watts {
    let counted = counted(ask, job, ask.estimate(job));
    held(ask.view, job, nodes.iter().map(|&node| counted.on(node)).sum())
}

/// Moves as many nodes of `free` as a job asks for to the end of `taken`: those where it adds least, ties to the lower id.
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

/// Where nodes are shared, the share of whole nodes' watts that falls to the slots a job holds.
#[must_use]
pub fn held(view: &View<'_>, job: JobId, whole: Watts) -> Watts {
    whole.share(view.jobs.need(job, view.platform), view.platform.shared_slots())
}
