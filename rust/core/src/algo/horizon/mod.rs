//! The future of the machine: what is free from now on, less what is promised of it.
//!
//! Two questions are asked of the future, and each has its structure. *How many?* is answered by a [`Profile`]: free
//! amounts over time, of nodes, of nodes and watts, or of several groups of nodes at once. *Which?* is answered by
//! [`Windows`]: stretches of time, each with the nodes or the slots that are free throughout; they name what they promise,
//! so a promise on shared slots or on nodes that differ can be kept.

pub mod amount;
pub mod cells;
pub mod planes;
pub mod profile;
pub mod slot_table;
mod steps;
pub mod windows;

pub use amount::{Amount, Lanes};
pub use cells::{CellProfile, NodesByCell, Wish};
pub use planes::{Groups, NodeNeed, Planes};
pub use profile::Profile;
pub use slot_table::SlotTable;
pub use windows::Windows;
