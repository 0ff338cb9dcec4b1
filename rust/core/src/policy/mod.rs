//! Policies: a policy reads a [`View`] and answers with [`Decisions`].
//!
//! A policy knows no simulator. The same one is driven by the virtual clock of `sim` or by a live cluster: both hosts
//! keep what a view borrows, and carry the decisions out.

pub mod agent;
pub mod allocator;
pub mod analyzer;
pub mod backfill;
pub mod budget;
pub mod by_lane;
pub mod class;
pub mod compose;
pub mod desk;
pub mod draft;
pub mod emergency;
pub mod gate;
pub mod governing;
pub mod order;
pub mod placement;
pub mod quotas;
pub mod recollection;
pub mod registry;
mod resizing;
pub mod sizing;
pub mod sleep;
pub mod stage;
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
use crate::cluster::runs::RunId;
use crate::cluster::standby::Expected;
use crate::error::{Result, config};
use crate::platform::cells::Cells;
use crate::platform::queues::Queues;
use crate::policy::agent::Agent;
use crate::policy::analyzer::forecast::Forecast;
use crate::policy::budget::Between;
use crate::policy::recollection::Recollection;
use crate::policy::sleep::Alarm;
use crate::policy::timing::Timing;
use crate::policy::usage::{Over, Use};
use crate::units::{SimDuration, Watts};
use crate::workload::JobId;

pub use crate::cluster::counted::Basis;
pub use crate::cluster::decisions::{Decision, Decisions, Rejection, Resize, Start};
pub use crate::cluster::eligible::Eligible;
pub use crate::cluster::jobs::Jobs;
pub use crate::cluster::view::View;
pub use crate::policy::stage::{Stage, Stages};

/// Events that a policy is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A job joined the queue.
    Submitted(JobId),
    /// The policy of another lane started a job, and this one may have jobs of the same array.
    Started(JobId),
    /// A job ended, for whatever reason.
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
    /// Any node may have changed, as the policy begins with the machine as it is.
    NodesFound,
    /// The allocator is limited to caps up to those of a level, as levels are set from outside.
    Steered(usize),
}

/// A scheduler: notified of what happens, asked for decisions.
pub trait Policy: DynClone + Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// Takes note of an event. Decisions about it are asked for later, once the instant is empty.
    fn notice(&mut self, jobs: Jobs<'_>, notice: Notice);

    /// Stages that it has besides the starts.
    fn stages(&self) -> Stages {
        Stages::default()
    }

    /// Decides what to do now, in one of its [stages](Policy::stages).
    ///
    /// # Errors
    /// If the policy fails, or the host interrupts.
    fn decide(&mut self, stage: Stage, view: &View<'_>, out: &mut Decisions) -> Result<()>;

    /// Timing of its passes.
    fn timing(&self) -> Timing {
        Timing::AtOnce
    }

    /// Makes the policy end runs this long after their limits, if it does that by rules of its own; false if it leaves
    /// that to the host.
    fn enforce_limits(&mut self, grace: SimDuration) -> bool {
        let _ = grace;
        false
    }

    /// Takes note that there are more jobs than before.
    fn grow(&mut self, growth: &Growth) {
        let _ = growth;
    }

    /// Appraises a job that another policy has started on these nodes: its least watts beyond idle, and their basis.
    fn appraise(&mut self, view: &View<'_>, job: JobId, nodes: &[u32]) -> (Watts, Basis) {
        let _ = (view, job, nodes);
        (Watts::ZERO, Basis::default())
    }

    /// Takes over a run that it has not started.
    ///
    /// # Errors
    /// If the run is impossible.
    fn take_over(&mut self, view: &View<'_>, id: RunId) -> Result<()> {
        let _ = (view, id);
        Ok(())
    }

    /// Ceiling under which this policy keeps the system's predicted draw, if it has one.
    fn budget(&self) -> Option<Watts> {
        None
    }

    /// Makes the policy distinguish nodes that differ in what jobs ask for.
    ///
    /// # Errors
    /// If the policy does not support that.
    fn divide(&mut self, cells: &Arc<Cells>, exclusive: bool) -> Result<()> {
        let _ = (cells, exclusive);
        Err(config("policy", format!("`{}`", self.name()), "one that knows nodes that differ in what jobs ask for"))
    }

    /// Makes jobs stand in queues from now on.
    ///
    /// # Errors
    /// If the policy does not support that.
    fn line_up(&mut self, queues: &Arc<Queues>) -> Result<()> {
        let _ = queues;
        Err(config("policy", format!("`{}`", self.name()), "one that knows queues"))
    }

    /// True if nothing says when this policy is to start the job, so that it never will: such a job joins no queue.
    fn leaves_out(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        let _ = (jobs, job);
        false
    }

    /// Agent, if its decisions come from outside.
    fn agent(&mut self) -> Option<&mut Agent> {
        None
    }

    /// Forecast of how long jobs run, if any.
    fn forecast(&mut self) -> Option<&mut dyn Forecast> {
        None
    }

    /// Takes the changes of what jobs use since the last call, in order of time, if it follows them. Called before each
    /// pass, and before anything is done about an emergency.
    fn follow(&mut self, uses: &[Use]) {
        let _ = uses;
    }

    /// Takes the runs that have ended since the last call, in order of their ends, if it learns from them. Called when a
    /// pass begins.
    ///
    /// # Errors
    /// If a part fails, or the host interrupts.
    fn learn(&mut self, view: &View<'_>, over: &[Over]) -> Result<()> {
        let _ = (view, over);
        Ok(())
    }

    /// Returns the reading of its meter when the machine draws `draw`.
    ///
    /// # Errors
    /// If the meter fails.
    fn read(&mut self, view: &View<'_>, draw: Watts) -> Result<Watts> {
        let _ = view;
        Ok(draw)
    }

    /// Writes when plans have nodes back that are off, shutting down or booting, if it switches nodes off. True if its
    /// plans count nodes; otherwise they name them.
    fn expect(&self, view: &View<'_>, out: &mut Expected) -> bool {
        let _ = (view, out);
        true
    }

    /// True if a pass changes nothing while no job is queued or suspended: then it need not be made.
    fn idles_without_jobs(&self) -> bool {
        false
    }

    /// True if it asks for what [`Policy::expect`] writes even in a pass in which no job waits.
    fn expects_without_queue(&self) -> bool {
        true
    }

    /// Time at which there has to be another pass, whatever happens until then, according to the last pass. With
    /// `further`, it is planned further ahead if it was not sure.
    fn alarm(&mut self, further: bool) -> Option<Alarm> {
        let _ = further;
        None
    }

    /// Needs of a job that fits between no two budgets to come; none if it fits.
    fn between(&mut self, view: &View<'_>, job: JobId) -> Option<Between> {
        let _ = (view, job);
        None
    }

    /// Keeps the part of its knowledge that no state of the machine shows.
    fn remember(&self, kept: &mut Recollection) {
        let _ = kept;
    }

    /// Goes on with what was kept, before it learns of any job.
    fn recall(&mut self, view: &View<'_>, kept: &Recollection) {
        let _ = (view, kept);
    }

    /// True if the job would exceed the budget on any nodes of an otherwise idle machine: it can never start.
    fn exceeds_budget(&mut self, view: &View<'_>, job: JobId) -> bool {
        let _ = (view, job);
        false
    }
}

dyn_clone::clone_trait_object!(Policy);
