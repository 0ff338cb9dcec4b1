//! Data structures that know no jobs: event heaps, lists searched for the first fit, sets of nodes, free amounts over
//! time.

pub mod assignment;
pub mod end_heap;
pub mod event_heap;
pub mod exchange;
pub mod fit_list;
pub mod floors;
pub mod front;
pub mod gallop;
pub mod guide;
pub mod horizon;
pub mod interval_prices;
pub mod node_set;
pub mod partial_plan;
pub mod recent;
pub mod releases;
pub mod shelves;
pub mod sorted_blocks;
pub mod span;
pub mod staircase;
pub mod transport;
