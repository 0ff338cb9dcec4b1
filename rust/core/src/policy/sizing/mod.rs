//! Sizings, which choose the numbers of nodes of jobs that can run on several: asked before the starts of a pass.

use dyn_clone::DynClone;

use crate::cluster::runs::RunId;
use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::units::Watts;
use crate::workload::JobId;

/// Chooses sizes of jobs that wait, and perhaps of malleable ones that run.
pub trait Sizing: DynClone + Send + Sync {
    /// Appends a size for each of these jobs, which wait in this order. `room`: watts that may be drawn beyond the
    /// claims of what runs, if anything limits them.
    ///
    /// # Errors
    /// If it fails.
    fn sizes(&mut self, ask: &Ask<'_>, room: Option<Watts>, jobs: &[JobId], out: &mut Vec<u32>) -> Result<()>;

    /// True if it changes sizes of running jobs.
    fn resizes_runs(&self) -> bool {
        false
    }

    /// Appends the number of nodes on which each of these runs is to go on. All are of malleable jobs, and none is
    /// suspended. `queue`: the jobs that wait; those that have come since the last pass are the last.
    ///
    /// # Errors
    /// If it fails.
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
