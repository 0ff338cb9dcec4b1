//! Which job is next.
//!
//! An order is a number a job, lower first; equal numbers go by submit, then by row, so that no order has ties.

pub mod arrival;
pub mod length;
pub mod observed;
pub mod size;
pub mod vahrm;
pub mod wfp3;

use dyn_clone::DynClone;

use crate::policy::analyzer::Ask;
use crate::workload::JobId;

/// Says which job is next.
pub trait Order: DynClone + Send + Sync {
    /// The job's rank now: lower goes first.
    fn rank(&mut self, ask: &Ask<'_>, job: JobId) -> i64;

    /// Whether ranks change as time passes, so that the queue must be sorted anew in every pass.
    fn changes(&self) -> bool {
        false
    }

    /// Whether jobs stand in the order in which they started in reality.
    fn is_as_observed(&self) -> bool {
        false
    }
}

dyn_clone::clone_trait_object!(Order);
