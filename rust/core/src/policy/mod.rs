//! What a scheduler is made of: it reads a [`View`] and answers with [`Decisions`].
//!
//! A policy knows no simulator. The same one is driven by the virtual clock of `sim` or by a live cluster; both hosts keep
//! what a view borrows and carry the decisions out.

pub mod agent;
pub mod allocator;
pub mod analyzer;
pub mod backfill;
pub mod budget;
pub mod cells;
pub mod class;
pub mod compose;
pub mod decisions;
pub mod desk;
pub mod draft;
pub mod eligible;
pub mod emergency;
pub mod facets;
pub mod gate;
pub mod governing;
pub mod growth;
pub mod jobs;
pub mod order;
pub mod outages;
pub mod placement;
pub mod queues;
pub mod quotas;
pub mod registry;
mod resizing;
pub mod runs;
pub mod shares;
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

use crate::algo::releases::Releases;
use crate::algo::span::Span;
use crate::error::{Result, config};
use crate::platform::Platform;
use crate::platform::node_state::NodeState;
use crate::platform::slots::Slots;
use crate::policy::budget::Between;
use crate::policy::cells::Cells;
use crate::policy::growth::Growth;
use crate::policy::outages::Outages;
use crate::policy::queues::Queues;
use crate::policy::runs::Runs;
use crate::policy::shares::Shares;
use crate::policy::sleep::standby::Standby;
use crate::policy::timing::Timing;
use crate::power::budgets::Budgets;
use crate::power::in_force::Profile;
use crate::power::known::KnownDraw;
use crate::power::pvt::Predicted;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

pub use crate::policy::decisions::{Basis, Decision, Decisions, Rejection, Resize, Start};
pub use crate::policy::eligible::Eligible;
pub use crate::policy::facets::{Facets, Governor, Resizer};
pub use crate::policy::jobs::Jobs;

/// What a policy reads when it decides.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The instant of the decision.
    pub now: SimTime,
    /// The jobs.
    pub jobs: Jobs<'a>,
    /// The machine.
    pub platform: &'a Platform,
    /// Which slots of which nodes are free.
    pub slots: &'a Slots,
    /// What each node is doing.
    pub nodes: &'a [NodeState],
    /// Which of them cannot serve for being switched off, where the policy does that.
    pub standby: Option<&'a Standby>,
    /// What runs, and what is suspended.
    pub runs: &'a Runs,
    /// When running jobs are planned to end, with the worst that the policy may do to them short of an emergency.
    pub releases: &'a Releases,
    /// Predicted draws and speeds.
    pub predicted: &'a Predicted,
    /// What all running jobs claim beyond the idle machine: the sum of their least watts.
    pub claimed: Watts,
    /// Watts by which nodes that are off or in transition hold less than idle ones.
    pub saved: Watts,
    /// Whether what an emergency took is not given back yet, so that nothing may start.
    pub is_held: bool,
    /// The budgets from outside that there are and will be, in place of the policy's own while they hold.
    pub budgets: &'a Budgets,
    /// Which nodes are out of service, and which will be as far as that is known.
    pub outages: &'a Outages,
    /// What the machine was measured to draw beyond what is predicted; 0 where nothing is measured.
    pub surplus: Watts,
    /// Watts that runs resumed in this pass asked for beyond their least: starts of the pass do not get them.
    pub withheld: Watts,
    /// What running jobs hold of each cell and licence, where nodes differ in what jobs ask for.
    pub shares: Option<&'a Shares>,
    /// The queues, where there are any.
    pub queues: Option<&'a Queues>,
    /// Says whether the host wants to stop; to be asked now and then by a pass that takes long.
    pub interrupted: &'a dyn Fn() -> bool,
}

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

impl View<'_> {
    /// Where the job stands among queues: those with lower numbers come before all others.
    #[must_use]
    pub fn tier(&self, job: JobId) -> i32 {
        self.queues.map_or(0, |queues| queues.tier(job))
    }

    /// Fewest and most nodes the job can run on here.
    #[must_use]
    pub fn size_range(&self, job: JobId) -> (u32, u32) {
        let (low, high) = self.jobs.size_range(job);
        (low, if low < high { high.min(self.platform.len()).max(low) } else { high })
    }

    /// What is known of the job's own draw before it runs; what it really draws is not for a policy to know.
    #[must_use]
    pub fn known_draw(&self, job: JobId) -> KnownDraw {
        self.jobs.known_draw(self.predicted, job)
    }

    /// What caps that are made for the job go by.
    #[must_use]
    pub fn profile(&self, job: JobId) -> Profile {
        Profile { app: self.jobs.app(job), own: self.known_draw(job) }
    }
}
