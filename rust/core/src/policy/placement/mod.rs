//! Which nodes a job gets.

pub mod assignment;
pub mod lowest_id;
pub mod observed;
pub mod opportunity_cost;
pub mod pools;
pub mod random;
pub mod rank_by;
pub mod ranked;
pub mod ranking;
pub mod sliding_window;

use dyn_clone::DynClone;

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::{Decisions, View};
use crate::units::SimDuration;
use crate::workload::JobId;

/// Says where jobs go.
pub trait Placement: DynClone + Send + Sync {
    /// Starts every job of `starts` through [`Decisions::start_with`], on nodes taken from `free`.
    ///
    /// `free` holds enough nodes for all of them, and only nodes that can serve each.
    ///
    /// # Errors
    /// If the nodes cannot be found, or if the host interrupts.
    fn place(&mut self, view: &View<'_>, starts: &[JobId], free: &mut NodeSet, out: &mut Decisions) -> Result<()>;

    /// Whether it may refuse a job although enough nodes are free. Then every job of a pass is placed as it is started,
    /// for whether the next one is accepted depends on where it went.
    fn may_refuse(&self) -> bool {
        false
    }

    /// Whether it would start the job on nodes of `free`, which holds enough of them; asked only if it may refuse. A job
    /// that is refused is blocked like any that does not fit.
    fn accepts(&mut self, view: &View<'_>, job: JobId, free: &NodeSet) -> bool {
        let _ = (view, job, free);
        true
    }

    /// Told of every job that joins the queue.
    fn queued(&mut self, view: &View<'_>, job: JobId) {
        let _ = (view, job);
    }

    /// Told that a pass begins.
    ///
    /// # Errors
    /// If what it has to prepare fails, or if the host interrupts.
    fn begin(&mut self, view: &View<'_>) -> Result<()> {
        let _ = view;
        Ok(())
    }

    /// Told that a pass is over, which may have started nothing, and how many of the machine's units (nodes, or slots where
    /// nodes are shared) are busy from now on.
    fn passed(&mut self, view: &View<'_>, busy: i64) {
        let _ = (view, busy);
    }

    /// Whether it may find that a job does not suit the free nodes. Then every job of a pass is placed as it is started.
    fn judges(&self) -> bool {
        false
    }

    /// Whether the job is in good hands on nodes of `free`, which holds enough of them, or better left to wait for others
    /// while some other job can use these. Asked by backfills that look for such jobs first.
    fn suits(&mut self, view: &View<'_>, job: JobId, free: &NodeSet) -> bool {
        let _ = (view, job, free);
        true
    }

    /// Whether where a job goes depends on the others that start with it, so that a budget has to be judged on the nodes of
    /// all of them together.
    fn is_joint(&self) -> bool {
        false
    }

    /// Whether no choice of free nodes draws less than this one's: then a job refused for its watts stays refused for the
    /// rest of the pass, in which nodes and watts only get fewer.
    fn finds_fewest_watts(&self) -> bool {
        false
    }

    /// Passes are made at multiples of this only, to gather jobs; zero = whenever something happened.
    fn interval(&self) -> SimDuration {
        SimDuration::ZERO
    }
}

dyn_clone::clone_trait_object!(Placement);
