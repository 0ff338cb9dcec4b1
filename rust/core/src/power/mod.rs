//! What nodes draw: tables by application and node, and the meter that integrates it.

pub mod budgets;
pub mod caps;
pub mod in_force;
pub mod known;
pub mod meter;
pub mod pvt;
pub mod slowest;
