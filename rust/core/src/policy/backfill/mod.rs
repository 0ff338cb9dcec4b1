//! Who may start before the jobs ahead of it.

pub mod ahead;
mod base;
pub mod by_cell;
pub mod candidates;
mod cell_base;
pub mod first_fit;
mod free;
mod kept;
pub mod named;
pub mod none;
pub mod observed;
pub mod patience;
mod plan;
mod profile;
mod queued;
pub mod reservations;
mod shadow;
pub mod starving;
mod supply;
mod woken;

use dyn_clone::DynClone;

use crate::algo::fit_list::{FitList, Place, Waiting};
use crate::error::Result;
use crate::policy::Jobs;
use crate::policy::agent::Agent;
use crate::policy::desk::{Desk, Offer};
use crate::policy::order::Order;
use crate::policy::sleep::named::{FirstJobs, FirstStarts};
use crate::units::SimDuration;
use crate::workload::JobId;

/// Says which waiting jobs start now.
pub trait Backfill: DynClone + Send + Sync {
    /// Has jobs of `queue` started through `desk`, in policy order, and takes them out.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()>;

    /// Told once, before the run, in which order the queue will stand.
    fn queue_in(&mut self, order: &dyn Order) {
        let _ = order;
    }

    /// A job has joined the queue.
    fn note_queued(&mut self, waiting: &Waiting) {
        let _ = waiting;
    }

    /// The queue was sorted by other ranks.
    fn note_sorted(&mut self, queue: &FitList) {
        let _ = queue;
    }

    /// True if jobs that may overtake are looked at in another order than the queue's.
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

    /// The same where nodes are shared, too: what they have is counted node by node.
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

    /// Told before a pass of which nodes it matters what is planned for later, and by when a planned start says all.
    fn look_ahead(&mut self, awaited: FirstStarts) {
        drop(awaited);
    }

    /// When each node's first planned job starts, as the last pass has it, if this names nodes.
    fn first_jobs(&self) -> Option<&FirstJobs> {
        None
    }

    /// Whether no job starts before the one ahead of it.
    fn is_strict(&self) -> bool {
        false
    }

    /// How many jobs that do not fit hold nodes until they do.
    fn reserves(&self) -> usize {
        usize::MAX
    }

    /// After how long a wait jobs go before all others, the longest wait first, if any do.
    fn first_after(&self) -> Option<SimDuration> {
        None
    }

    /// Whether it never starts the job, whatever happens.
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
    while let Some(head) = queue.get(Place::FRONT) {
        desk.examine()?;
        let Some(offer) = desk.offer(head)? else { return Ok(true) };
        start(desk, queue, Place::FRONT, offer)?;
    }
    Ok(false)
}
