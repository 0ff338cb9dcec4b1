//! How many nodes jobs get that can run on several numbers of them: asked before the starts of a pass.

use dyn_clone::DynClone;

use crate::cluster::runs::RunId;
use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::units::Watts;
use crate::workload::JobId;

/// Chooses sizes of jobs that wait, and perhaps of malleable ones that run.
pub trait Sizing: DynClone + Send + Sync {
    /// A size for each of these jobs, which wait in this order; so many watts beyond what runs claims may be drawn, if
    /// anything limits them.
    ///
    /// # Errors
    /// If it cannot be told.
    fn sizes(&mut self, ask: &Ask<'_>, room: Option<Watts>, jobs: &[JobId], out: &mut Vec<u32>) -> Result<()>;

    /// Whether it changes sizes of jobs that run.
    fn resizes_runs(&self) -> bool {
        false
    }

    /// On how many nodes each of these runs is to go on, all of malleable jobs and none suspended. `queue` says who
    /// waits: those that have come since the last pass are the last.
    ///
    /// # Errors
    /// If it cannot be told.
    fn resizes(
        &mut self,
        ask: &Ask<'_>,
        room: Option<Watts>,
        runs: &[RunId],
        queue: &[JobId],
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let sizes = runs.iter().filter_map(|&id| ask.view.runs.get(id)).map(|run| run.places.len());
        let _ = (room, queue);
        out.extend(sizes.map(|size| u32::try_from(size).unwrap_or(u32::MAX)));
        Ok(())
    }
}

dyn_clone::clone_trait_object!(Sizing);
