//! Gates, which hold jobs outside of the queue: there they block nothing, reserve nothing and do not starve.

pub mod until_profiled;

use dyn_clone::DynClone;

use crate::policy::Rejection;
use crate::policy::analyzer::Ask;
use crate::policy::budget::Power;
use crate::workload::{AppId, JobId};

/// Decides which jobs join the queue.
pub trait Gate: DynClone + Send + Sync {
    /// True if a submitted job joins the queue; otherwise it is held.
    fn admits(&mut self, ask: &Ask<'_>, power: Option<&mut Power>, job: JobId) -> bool;

    /// Removes the held jobs that will never join the queue, and returns them with the reason.
    fn reject(&mut self) -> Vec<(JobId, Rejection)>;

    /// Removes and returns the held jobs that join the queue now that an application has a profile, in order of
    /// submission.
    fn release(&mut self, app: AppId) -> Vec<JobId>;
}

dyn_clone::clone_trait_object!(Gate);
