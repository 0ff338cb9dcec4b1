//! What a scheduler is made of: it reads a [`View`] and answers with [`Decisions`].
//!
//! A policy knows no simulator. The same one is driven by the virtual clock of `sim` or by a live cluster; both hosts keep
//! what a view borrows and carry the decisions out.

pub mod agent;
pub mod allocator;
pub mod analyzer;
pub mod backfill;
pub mod budget;
pub mod class;
pub mod compose;
pub mod desk;
pub mod draft;
pub mod emergency;
pub mod facets;
pub mod gate;
pub mod governing;
pub mod order;
pub mod placement;
pub mod quotas;
pub mod registry;
mod resizing;
pub mod sizing;
pub mod sleep;
#[cfg(test)]
mod testing;
pub mod timing;
mod together;
mod turns;
pub mod usage;

use std::sync::Arc;

use dyn_clone::DynClone;

use crate::algo::span::Span;
use crate::cluster::growth::Growth;
use crate::error::{Result, config};
use crate::platform::cells::Cells;
use crate::platform::queues::Queues;
use crate::policy::budget::Between;
use crate::policy::timing::Timing;
use crate::units::Watts;
use crate::workload::JobId;

pub use crate::cluster::decisions::{Basis, Decision, Decisions, Rejection, Resize, Start};
pub use crate::cluster::eligible::Eligible;
pub use crate::cluster::jobs::Jobs;
pub use crate::cluster::view::View;
pub use crate::policy::facets::{Facets, Governor, Resizer};

/// What a policy is told as it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A job joined the queue.
    Submitted(JobId),
    /// A job started that is not this policy's to start, and of whose array others may be.
    Started(JobId),
    /// A job runs that another policy started before this one decided.
    Inherited(JobId),
    /// A job ended, however.
    Ended(JobId),
    /// A job that ran is in the queue again, in its old place.
    Requeued(JobId),
    /// A job of the queue is withdrawn.
    Withdrawn(JobId),
    /// A node has booted or come back into service.
    NodeReady(Span),
    /// A node is off.
    NodeOff(Span),
    /// A node failed.
    NodeFailed(u32),
    /// The system's power budget changed.
    BudgetChanged,
    /// A timer the policy had set ran out.
    Timer,
}

/// A scheduler: told what happens, asked what to do.
pub trait Policy: Facets + DynClone + Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Takes note of an event. What to do about it is asked later, once the instant is empty.
    fn notice(&mut self, jobs: Jobs<'_>, notice: Notice);

    /// Decides what to do now.
    ///
    /// # Errors
    /// Whatever stopped the policy, or an interrupt.
    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()>;

    /// When passes are made.
    fn timing(&self) -> Timing {
        Timing::AtOnce
    }

    /// There are more jobs than before.
    fn grow(&mut self, growth: &Growth) {
        let _ = growth;
    }

    /// Counts a job on these nodes that another policy has started: its least watts beyond idle, and by what.
    fn appraise(&mut self, view: &View<'_>, job: JobId, nodes: &[u32]) -> (Watts, Basis) {
        let _ = (view, job, nodes);
        (Watts::ZERO, Basis::default())
    }

    /// The ceiling this policy keeps the system's predicted draw under, if it has one.
    fn budget(&self) -> Option<Watts> {
        None
    }

    /// From now on nodes differ in what jobs ask for.
    ///
    /// # Errors
    /// If it knows nothing of that.
    fn divide(&mut self, cells: &Arc<Cells>, exclusive: bool) -> Result<()> {
        let _ = (cells, exclusive);
        Err(config("policy", format!("`{}`", self.name()), "one that knows nodes that differ in what jobs ask for"))
    }

    /// From now on jobs stand in queues.
    ///
    /// # Errors
    /// If it knows nothing of that.
    fn line_up(&mut self, queues: &Arc<Queues>) -> Result<()> {
        let _ = queues;
        Err(config("policy", format!("`{}`", self.name()), "one that knows queues"))
    }

    /// Whether nothing tells this policy when to start the job, so that it never will: such a job joins no queue.
    fn leaves_out(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        let _ = (jobs, job);
        false
    }

    /// Need of a job that fits between no two budgets to come; none if it fits.
    fn between(&mut self, view: &View<'_>, job: JobId) -> Option<Between> {
        let _ = (view, job);
        None
    }

    /// Whether the job would exceed the budget on whatever nodes of an otherwise idle machine: it can never start.
    fn exceeds_budget(&mut self, view: &View<'_>, job: JobId) -> bool {
        let _ = (view, job);
        false
    }
}

dyn_clone::clone_trait_object!(Policy);
