//! Which nodes a job gets.

pub mod lowest_id;
pub mod random;
pub mod ranked;
pub mod ranking;

use crate::algo::node_set::NodeSet;
use crate::policy::pass::Starting;
use crate::policy::{Decisions, View};

/// Says where jobs go.
pub trait Placement: Send {
    /// Starts every job of `starts` through [`Decisions::start_with`], on nodes taken from `free`.
    ///
    /// `free` holds enough nodes for all of them, and only nodes that can serve each.
    fn place(&mut self, view: &View<'_>, starts: &[Starting], free: &mut NodeSet, out: &mut Decisions);
}
