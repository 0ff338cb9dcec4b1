//! The future of the machine: what is free from now on, less what is promised of it.
//!
//! Two questions are asked of the future, and each has its structure. *How many?* is answered by a [`Profile`]: free
//! amounts over time, of nodes, of nodes and watts, or of several groups of nodes at once. *Which?* is answered by
//! [`Windows`]: stretches of time, each with the nodes or the slots that are free throughout; they name what they promise,
//! so a promise on shared slots or on nodes that differ can be kept.

pub mod amount;
pub mod cells;
pub mod freedom;
pub mod profile;
pub mod slot_table;
mod steps;
pub mod windows;

use crate::units::SimDuration;

pub use amount::{Amount, Lanes};
pub use cells::{CellProfile, NodesByCell, Wish};
pub use freedom::Freedom;
pub use profile::Profile;
pub use slot_table::SlotTable;
pub use windows::Windows;

/// A job's need of named nodes, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeNeed {
    /// Nodes.
    pub nodes: u32,
    /// Slots on each of them, or whatever stands for the job's share of a node; ignored where jobs get whole nodes.
    pub slots: i32,
    /// Microwatts in all; 0 where they are not counted.
    pub microwatts: i64,
    /// Time for which the job holds them.
    pub length: SimDuration,
}
