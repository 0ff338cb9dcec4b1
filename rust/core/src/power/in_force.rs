//! The caps in force on a run: its own, what an allocator has allotted, and an emergency's (operations page, rule 1).

use crate::power::known::KnownDraw;
use crate::power::pvt::Predicted;
use crate::workload::AppId;

/// What an allocator sets for a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Allotted {
    /// No cap.
    #[default]
    None,
    /// The same cap on each of its nodes, W.
    Watts(f64),
    /// On each node the cap that slows it so many times, by the cap model.
    Slowdown(f64),
}

/// All caps on a run; infinity is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapsInForce {
    /// The job's own, W a node.
    pub own_w: f64,
    /// The allocator's.
    pub allotted: Allotted,
    /// The emergency's, W a node.
    pub emergency_w: f64,
}

/// What a cap that is made for a job depends on.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its application.
    pub app: Option<AppId>,
    /// What is known of its own draw.
    pub own: KnownDraw,
}

impl CapsInForce {
    /// A job's own cap, and nothing of the system's.
    #[must_use]
    pub fn own(own_w: f64) -> Self {
        Self { own_w, allotted: Allotted::None, emergency_w: f64::INFINITY }
    }

    /// The same with another allotment.
    #[must_use]
    pub fn allotting(self, allotted: Allotted) -> Self {
        Self { allotted, ..self }
    }

    /// The cap in force on every node of the run, W, where it is the same on each.
    #[must_use]
    pub fn on_all(self) -> Option<f64> {
        match self.allotted {
            Allotted::None => Some(self.own_w.min(self.emergency_w)),
            Allotted::Watts(watts) => Some(self.own_w.min(watts).min(self.emergency_w)),
            Allotted::Slowdown(_) => None,
        }
    }

    /// The cap in force on a node, W.
    #[must_use]
    pub fn on(self, predicted: &Predicted, of: Profile, node: u32) -> f64 {
        self.on_all().unwrap_or_else(|| {
            let Allotted::Slowdown(slowdown) = self.allotted else { return self.own_w.min(self.emergency_w) };
            let allotted = predicted.slowdown_cap(of.app, of.own, self.own_w, slowdown, node);
            self.own_w.min(allotted).min(self.emergency_w)
        })
    }
}
