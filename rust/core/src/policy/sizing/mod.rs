//! How many nodes moldable jobs get: asked before the starts of a pass.

use dyn_clone::DynClone;

use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::units::Watts;
use crate::workload::JobId;

/// Chooses sizes of jobs that wait.
pub trait Sizing: DynClone + Send + Sync {
    /// A size for each of these jobs, which wait in this order; so many watts beyond what runs claims may be drawn, if
    /// anything limits them.
    ///
    /// # Errors
    /// If it cannot be told.
    fn sizes(&mut self, ask: &Ask<'_>, room: Option<Watts>, jobs: &[JobId], out: &mut Vec<u32>) -> Result<()>;
}

dyn_clone::clone_trait_object!(Sizing);
