//! Who may start before the jobs ahead of it.

pub mod first_fit;
mod kept;
pub mod none;
pub mod observed;
pub mod patience;
mod plan;
mod profile;
pub mod reservations;
mod shadow;

use dyn_clone::DynClone;

use crate::algo::sorted_blocks::Place;
use crate::error::Result;
use crate::policy::Jobs;
use crate::policy::order::Order;
use crate::policy::pass::Pass;
use crate::workload::JobId;

/// Says which waiting jobs start now.
pub trait Backfill: DynClone + Send + Sync {
    /// Starts jobs of `pass.queue` through [`Pass::start`], in policy order.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    fn select(&mut self, pass: &mut Pass<'_>) -> Result<()>;

    /// Told once, before the run, in which order the queue will stand.
    fn queue_in(&mut self, order: &dyn Order) {
        let _ = order;
    }

    /// Whether it never starts the job, whatever happens.
    fn leaves_out(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        let _ = (jobs, job);
        false
    }
}

dyn_clone::clone_trait_object!(Backfill);

/// Starts jobs from the front while they fit; true if one is left that does not.
fn start_heads(pass: &mut Pass<'_>) -> Result<bool> {
    while let Some(head) = pass.queue.get(Place::FRONT).copied() {
        pass.examine()?;
        if !pass.fits(&head)? {
            return Ok(true);
        }
        pass.start(Place::FRONT)?;
    }
    Ok(false)
}
