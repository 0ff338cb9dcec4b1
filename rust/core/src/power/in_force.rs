//! The caps in force on a run: its own, the one that an allocator has allotted, and an emergency's (operations page,
//! rule 1).

use std::sync::Arc;

use crate::power::known::KnownDraw;
use crate::power::pvt::Predicted;
use crate::workload::AppId;

/// Cap that an allocator sets for a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Allotted {
    /// No cap.
    #[default]
    None,
    /// The same cap on each of its nodes, W.
    Watts(f64),
    /// Equal slowdown: on each node the cap that slows it by this factor, by the cap model.
    Slowdown(f64),
    /// A cap for each of its nodes.
    Nodes(Arc<NodeCaps>),
}

/// A cap for each node of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeCaps {
    /// Nodes, ascending.
    nodes: Vec<u32>,
    /// Caps, W; infinity: none.
    caps_w: Vec<f64>,
}

impl NodeCaps {
    /// Caps of these nodes, ascending, one each, W; infinity is none.
    #[must_use]
    pub fn new(nodes: Vec<u32>, caps_w: Vec<f64>) -> Self {
        debug_assert_eq!(nodes.len(), caps_w.len());
        Self { nodes, caps_w }
    }

    /// The cap of a node, W; infinity if it has none.
    fn on(&self, node: u32) -> f64 {
        self.nodes.binary_search(&node).map_or(f64::INFINITY, |place| self.caps_w[place])
    }
}

/// All caps on a run; infinity is none.
#[derive(Clone, Debug, PartialEq)]
pub struct CapsInForce {
    /// The job's own, W per node.
    pub own_w: f64,
    /// The allocator's.
    pub allotted: Allotted,
    /// The emergency's, W per node.
    pub emergency_w: f64,
}

/// Properties of a job that a cap made for it depends on.
#[derive(Clone, Copy, Debug)]
pub struct DrawProfile {
    /// Its application.
    pub app: Option<AppId>,
    /// Knowledge of its own draw.
    pub own: KnownDraw,
}

impl CapsInForce {
    /// A job's own cap, and none of the system.
    #[must_use]
    pub fn own(own_w: f64) -> Self {
        Self { own_w, allotted: Allotted::None, emergency_w: f64::INFINITY }
    }

    /// The same with another allotment.
    #[must_use]
    pub fn allotting(&self, allotted: Allotted) -> Self {
        Self { allotted, ..*self }
    }

    /// The cap in force on every node of the run, W, where it is the same on each.
    #[must_use]
    pub fn on_all(&self) -> Option<f64> {
        match self.allotted {
            Allotted::None => Some(self.own_w.min(self.emergency_w)),
            Allotted::Watts(watts) => Some(self.own_w.min(watts).min(self.emergency_w)),
            Allotted::Slowdown(_) | Allotted::Nodes(_) => None,
        }
    }

    /// The cap in force on a node, W.
    #[must_use]
    pub fn on(&self, predicted: &Predicted, of: DrawProfile, node: u32) -> f64 {
        let allotted_w = match &self.allotted {
            Allotted::None => f64::INFINITY,
            Allotted::Watts(watts) => *watts,
            Allotted::Slowdown(slowdown) => predicted.slowdown_cap(of.app, of.own, self.own_w, *slowdown, node),
            Allotted::Nodes(caps) => caps.on(node),
        };
        self.own_w.min(allotted_w).min(self.emergency_w)
    }
}
