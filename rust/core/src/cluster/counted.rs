//! Draw of a job beyond the idle machine on given nodes, as it is counted against a budget.
//!
//! System power is the idle draw of all nodes plus, for each node that serves a job, the job's predicted draw there
//! beyond idle. A draw below idle counts as idle. A job counts with its least watts: its draw under the smaller of its
//! own cap and the lowest that the allocator may set (operations page, rule 13).

use crate::platform::Platform;
use crate::power::in_force::{Allotted, CapsInForce, DrawProfile};
use crate::power::pvt::{JobDraws, Predicted};
use crate::units::Watts;

/// Source of a job's draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Estimate {
    /// The predicted table.
    #[default]
    Predicted,
    /// The power its nodes are built for: its application has no profile yet.
    Tdp,
}

/// Basis on which the watts of a running job are counted, if power is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Basis {
    /// Lowest caps that the allocator may set.
    pub least: Allotted,
    /// Source of its draw.
    pub estimate: Estimate,
}

/// Draw of one job on each node, beyond idle.
pub struct Counted<'a> {
    platform: &'a Platform,
    predicted: &'a Predicted,
    of: DrawProfile,
    caps: CapsInForce,
    /// Draws under the same cap on every node.
    draws: JobDraws<'a>,
    estimate: Estimate,
}

impl<'a> Counted<'a> {
    /// Draw of jobs of this profile under these caps.
    #[must_use]
    pub fn new(
        platform: &'a Platform,
        predicted: &'a Predicted,
        of: DrawProfile,
        caps: CapsInForce,
        estimate: Estimate,
    ) -> Self {
        let cap_w = caps.on_all().unwrap_or(f64::INFINITY);
        let draws = predicted.of_job_under(of.app, of.own, cap_w);
        Self { platform, predicted, of, caps, draws, estimate }
    }

    /// The draw that is the same on every node, if it is.
    pub(crate) fn constant(&self) -> Option<Watts> {
        match (self.estimate, &self.caps.allotted, self.draws) {
            (Estimate::Predicted, Allotted::None | Allotted::Watts(_), JobDraws::Measured(draw)) => Some(draw),
            _ => None,
        }
    }

    /// Watts beyond idle on a node.
    #[inline]
    #[must_use]
    pub fn on(&self, node: u32) -> Watts {
        let idle = self.platform.idle_of(node);
        let draw = match (self.estimate, &self.caps.allotted) {
            (Estimate::Predicted, Allotted::None | Allotted::Watts(_)) => self.draws.on(node),
            (Estimate::Predicted, Allotted::Slowdown(_) | Allotted::Nodes(_)) => self.unlike_on(node),
            (Estimate::Tdp, _) => self.capped(self.platform.node(node).tdp, node),
        };
        draw.max(idle) - idle
    }

    /// Watts beyond idle on all of these nodes.
    #[must_use]
    pub fn on_all(&self, nodes: &[u32]) -> Watts {
        let beyond = |draw: Watts, node: u32| {
            let idle = self.platform.idle_of(node);
            draw.max(idle) - idle
        };
        match (self.estimate, &self.caps.allotted, self.draws) {
            // The loop of most jobs, in which nothing else is asked.
            (Estimate::Predicted, Allotted::None | Allotted::Watts(_), JobDraws::Watts(draws)) => {
                nodes.iter().map(|&node| beyond(draws[node as usize], node)).sum()
            }
            _ => nodes.iter().map(|&node| self.on(node)).sum(),
        }
    }

    fn cap_on(&self, node: u32) -> f64 {
        self.caps.on(self.predicted, self.of, node)
    }

    fn unlike_on(&self, node: u32) -> Watts {
        self.predicted.draw_under(self.of.app, self.of.own, node, self.cap_on(node))
    }

    /// A first run draws its node's TDP, or its cap if that is less.
    fn capped(&self, tdp: Watts, node: u32) -> Watts {
        Watts::from_watts(self.cap_on(node)).map_or(tdp, |cap| tdp.min(cap))
    }
}
