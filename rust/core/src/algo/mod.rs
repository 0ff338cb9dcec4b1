//! Data structures that know no job: what comes next, who fits first, which nodes are free, what is free when.

pub mod assignment;
pub mod end_heap;
pub mod event_heap;
pub mod fit_list;
pub mod floors;
pub mod front;
pub mod gallop;
pub mod guide;
pub mod horizon;
pub mod node_set;
pub mod partial_plan;
pub mod recent;
pub mod releases;
pub mod sorted_blocks;
pub mod span;
pub mod staircase;
