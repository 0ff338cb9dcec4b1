//! Which nodes a job gets.

pub mod lowest_id;
pub mod random;
pub mod ranked;
pub mod ranking;

use crate::algo::node_set::NodeSet;
use crate::policy::{Decisions, View};
use crate::workload::JobId;

/// A job that starts in this pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Starting {
    /// Which job.
    pub job: JobId,
    /// Whether an earlier job in policy order stays in the queue.
    pub overtakes: bool,
}

/// Says where jobs go.
pub trait Placement: Send {
    /// Starts every job of `starts` through [`Decisions::start_with`], on nodes taken from `free`.
    ///
    /// `free` holds enough nodes for all of them, and only nodes that can serve each.
    fn place(&mut self, view: &View<'_>, starts: &[Starting], free: &mut NodeSet, out: &mut Decisions);
}
