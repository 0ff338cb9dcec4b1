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

use crate::policy::View;
use crate::policy::first_runs::Estimate;
use crate::units::SimDuration;
use crate::workload::JobId;

/// Says which job is next.
pub trait Order: DynClone + Send + Sync {
    /// The job's rank now: lower goes first. `estimate` says what its draw is to be taken for.
    fn rank(&mut self, view: &View<'_>, job: JobId, estimate: Estimate) -> i64;

    /// Whether ranks change as time passes, so that the queue must be sorted anew in every pass.
    fn changes(&self) -> bool {
        false
    }

    /// Whether jobs stand in the order in which they started in reality.
    fn is_as_observed(&self) -> bool {
        false
    }

    /// Jobs that have waited longer than this go before all others, and nothing else starts until they have.
    fn starvation_limit(&self) -> SimDuration {
        SimDuration::FOREVER
    }

    /// How many times longer the first run of an application takes, if first runs are profiled.
    fn profiling_ratio(&self) -> Option<f64> {
        None
    }
}

dyn_clone::clone_trait_object!(Order);
