//! Data structures that know no job: what comes next, who fits first, which nodes are free, how many are free when.

pub mod assignment;
pub mod availability;
pub mod end_heap;
pub mod event_heap;
pub mod fit_list;
pub mod floors;
pub mod node_set;
pub mod releases;
pub mod sorted_blocks;
pub mod staircase;
