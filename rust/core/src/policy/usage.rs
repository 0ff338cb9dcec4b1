//! Use of the machine by jobs, as it happens, and runs that are over.

use dyn_clone::DynClone;

use crate::error::Result;
use crate::policy::View;
use crate::power::known::KnownDraw;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Change in the units that a job uses from an instant on: nodes, or slots where nodes are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// The instant.
    pub at: SimTime,
    /// The job.
    pub job: JobId,
    /// Number of units more; negative: fewer.
    pub units: i64,
}

/// A run that is over.
#[derive(Clone, Copy, Debug)]
pub struct Over {
    /// Its job.
    pub job: JobId,
    /// Time at which it started.
    pub started: SimTime,
    /// Time at which it ended.
    pub ended: SimTime,
    /// Time for which it ran, without that in which it was suspended.
    pub ran: SimDuration,
    /// Use meanwhile: units × microseconds.
    pub used: f64,
    /// Measured draw of the job on a node, if any.
    pub drew: KnownDraw,
    /// True if its job is in the queue again.
    pub requeued: bool,
}

/// Learns from runs that are over.
pub trait Learner: DynClone + Send + Sync {
    /// Takes the runs that have ended since the last call, in order of their ends. Called when a pass begins, before
    /// anything is decided.
    ///
    /// # Errors
    /// If it fails, or the host interrupts.
    fn learn(&mut self, view: &View<'_>, over: &[Over]) -> Result<()>;
}

dyn_clone::clone_trait_object!(Learner);
