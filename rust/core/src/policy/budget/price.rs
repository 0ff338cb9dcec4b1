//! Price of a waiting job: watts that it takes beyond idle, before its nodes are known and node by node.

use crate::cluster::counted::Counted;
use crate::policy::View;
use crate::units::Watts;
use crate::workload::JobId;

/// Watts beyond idle of a job on as many nodes as it asks for, of those that can serve it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// Watts on the nodes where it adds least.
    pub least: Watts,
    /// Average over all of them.
    pub mean: Watts,
    /// Watts on the nodes where it adds most.
    pub most: Watts,
}

/// Watts of one job on any nodes.
pub struct OnNodes<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) job: JobId,
    pub(super) price: Price,
    pub(super) on: OnEach<'a>,
}

/// Source of the watts on each node, all of it.
pub(super) enum OnEach<'a> {
    /// Those of the jobs of its class.
    Known(&'a [Watts]),
    /// Those of a job that is like no other.
    Counted(Counted<'a>),
}

impl Price {
    /// Price of a job with these watts on its cheapest and its dearest nodes, of so many with these in all.
    pub(super) fn new(
        view: &View<'_>,
        job: JobId,
        (least, most): (Watts, Watts),
        (all, nodes): (Watts, usize),
    ) -> Self {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX).max(1);
        let mean = view.held(job, all).share(view.jobs.node_count(job), nodes);
        Self { least: view.held(job, least), mean, most: view.held(job, most) }
    }
}

impl OnNodes<'_> {
    /// Watts on the nodes where it adds least, of all that can serve it.
    #[must_use]
    pub fn least(&self) -> Watts {
        self.price.least
    }

    /// Watts on those where it adds most.
    #[must_use]
    pub fn most(&self) -> Watts {
        self.price.most
    }

    /// True if it takes the same watts on whatever nodes.
    #[must_use]
    pub fn are_same_anywhere(&self) -> bool {
        self.price.least == self.price.most
    }

    /// Watts on a node if it had all of it: nodes compare by them.
    #[must_use]
    pub fn on_whole(&self, node: u32) -> Watts {
        match &self.on {
            OnEach::Known(on) => on[node as usize],
            OnEach::Counted(counted) => counted.on(node),
        }
    }

    /// Watts on these nodes, as many as it asks for.
    #[must_use]
    pub fn on_all(&self, nodes: impl Iterator<Item = u32>) -> Watts {
        if self.are_same_anywhere() {
            return self.price.least;
        }
        self.view.held(self.job, nodes.map(|node| self.on_whole(node)).sum())
    }
}
