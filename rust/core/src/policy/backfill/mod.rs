//! Backfills: rules by which jobs may start before the jobs ahead of them in the queue.

pub mod ahead;
pub(super) mod base;
pub mod by_cell;
pub(in crate::policy) mod by_want;
pub mod candidates;
pub(super) mod cell_base;
mod cell_plan;
mod course;
pub mod first_fit;
mod free;
mod held;
mod kept;
pub mod named;
pub mod none;
pub mod observed;
pub mod patience;
mod plan;
mod profile;
mod promises;
pub mod reservations;
mod shadow;
pub mod slurm;
mod standing;
pub mod starving;
pub mod two_orders;
mod woken;
mod worth;

use dyn_clone::DynClone;

use crate::algo::fit_list::{FitList, Place, Waiting};
use crate::error::Result;
use crate::platform::Platform;
use crate::policy::Jobs;
use crate::policy::agent::Agent;
use crate::policy::desk::{Desk, Offer};
use crate::policy::order::Order;
use crate::policy::sleep::named::{FirstJobs, FirstStarts};
use crate::units::SimDuration;
use crate::workload::JobId;

/// Selects the waiting jobs that start now.
pub trait Backfill: DynClone + Send + Sync {
    /// Starts jobs of `queue` through `desk`, in policy order, and takes them out.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()>;

    /// Offer to start a job now that goes before all others.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    fn offer_first(&mut self, desk: &mut Desk<'_>, waiting: &Waiting) -> Result<Option<Offer>> {
        desk.offer(waiting)
    }

    /// Notes the order in which the queue will stand; called once, before the run.
    fn queue_in(&mut self, order: &dyn Order) {
        let _ = order;
    }

    /// Notes a job that has joined the queue.
    fn note_queued(&mut self, waiting: &Waiting) {
        let _ = waiting;
    }

    /// Notes that the queue was sorted by other ranks.
    fn note_sorted(&mut self, queue: &FitList) {
        let _ = queue;
    }

    /// Notes a job that has left the queue other than by a start.
    fn note_left(&mut self, job: JobId) {
        let _ = job;
    }

    /// Checks, before anything happens, that it can serve the machine.
    ///
    /// # Errors
    /// If it cannot.
    fn check(&self, platform: &Platform) -> Result<()> {
        let _ = platform;
        Ok(())
    }

    /// True if it is to be asked in every pass, whether anything waits or is free or not, as it keeps a time of its own.
    fn keeps_time(&self) -> bool {
        false
    }

    /// Makes it end runs this long after their limits, if it does so by rules of its own; false if it does not.
    fn enforce_limits(&mut self, grace: SimDuration) -> bool {
        let _ = grace;
        false
    }

    /// Leaves the choice of nodes to the placement, if it makes that choice otherwise.
    fn let_place(&mut self) {}

    /// Makes jobs go first that have waited longer than this; false if it cannot.
    fn serve_first(&mut self, after: SimDuration) -> bool {
        let _ = after;
        false
    }

    /// True if candidates for backfilling are looked at in another order than the queue's.
    fn has_own_order(&self) -> bool {
        false
    }

    /// The agent that decides in its place, if it is one.
    fn agent(&mut self) -> Option<&mut Agent> {
        None
    }

    /// The same rule on a machine whose nodes differ in what jobs ask for, if it has one.
    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        None
    }

    /// The same rule where nodes are shared, too: their capacity is counted node by node.
    fn by_node(&self) -> Option<Box<dyn Backfill>> {
        None
    }

    /// The same rule where nodes sleep under a budget, if it has one.
    fn beside_sleep(&self) -> Option<Box<dyn Backfill>> {
        None
    }

    /// True if it names the nodes of jobs.
    fn names_nodes(&self) -> bool {
        false
    }

    /// Takes, before a pass, the nodes whose next planned jobs matter beyond the pass. A planned start no later than
    /// the instant given for a node settles the question; nothing more needs to be planned for that node.
    fn look_ahead(&mut self, awaited: FirstStarts) {
        drop(awaited);
    }

    /// Each node's first planned job and its start, as of the last pass, if this backfill names nodes.
    fn first_jobs(&self) -> Option<&FirstJobs> {
        None
    }

    /// True if no job starts before the one ahead of it.
    fn is_strict(&self) -> bool {
        false
    }

    /// Number of blocked jobs that may hold reservations until they fit.
    fn reserves(&self) -> usize {
        usize::MAX
    }

    /// Wait after which jobs go before all others, the longest wait first, if there is such a limit.
    fn first_after(&self) -> Option<SimDuration> {
        None
    }

    /// True if it never starts the job, whatever happens.
    fn leaves_out(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        let _ = (jobs, job);
        false
    }
}

dyn_clone::clone_trait_object!(Backfill);

/// Starts the job at `place`, for which the offer was made, in its turn; returns the next job's place.
fn start(desk: &mut Desk<'_>, queue: &mut FitList, place: Place, offer: Offer) -> Result<Place> {
    let (waiting, next) = queue.remove_at(place);
    desk.accept(offer)?;
    Ok(if desk.hold_back(queue, waiting.key, false) { queue.place_after(waiting.key) } else { next })
}

/// Starts jobs from the front while they fit; true if one is left that does not.
fn start_heads(desk: &mut Desk<'_>, queue: &mut FitList) -> Result<bool> {
    while let Some(head) = queue.first() {
        desk.examine()?;
        let Some(offer) = desk.offer(head)? else { return Ok(true) };
        start(desk, queue, Place::FRONT, offer)?;
    }
    Ok(false)
}
