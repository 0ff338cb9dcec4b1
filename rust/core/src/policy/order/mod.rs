//! Which job is next.
//!
//! An order is a number a job, lower first; equal numbers go by submit, then by row, so that no order has ties.

pub mod arrival;
pub mod length;
pub mod size;
pub mod wfp3;

use crate::policy::Jobs;
use crate::units::SimTime;
use crate::workload::JobId;

/// Says which job is next.
pub trait Order: Send {
    /// The job's rank at `now`: lower goes first.
    fn rank(&self, jobs: Jobs<'_>, job: JobId, now: SimTime) -> i64;

    /// Whether ranks change as time passes, so that the queue must be sorted anew in every pass.
    fn changes(&self) -> bool {
        false
    }
}
