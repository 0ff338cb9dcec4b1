//! Power of nodes: tables of draws by application and node, caps, budgets, and the meter that integrates draws.

pub mod budgets;
pub mod caps;
pub mod in_force;
pub mod known;
pub mod meter;
pub mod pvt;
pub mod slowest;
