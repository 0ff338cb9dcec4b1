//! Which jobs wait outside the queue: they block nothing, reserve nothing and do not starve.

pub mod until_profiled;

use dyn_clone::DynClone;

use crate::policy::Rejection;
use crate::policy::analyzer::Ask;
use crate::policy::budget::Power;
use crate::workload::{AppId, JobId};

/// Says which jobs join the queue.
pub trait Gate: DynClone + Send + Sync {
    /// Whether a job that was submitted joins the queue; otherwise it is held.
    fn admits(&mut self, ask: &Ask<'_>, power: Option<&mut Power>, job: JobId) -> bool;

    /// Lets go of the held jobs that never will, and says why.
    fn reject(&mut self) -> Vec<(JobId, Rejection)>;

    /// Lets go of the held jobs that join the queue now that an application has a profile, in order of submission.
    fn release(&mut self, app: AppId) -> Vec<JobId>;
}

dyn_clone::clone_trait_object!(Gate);
