//! Truth about jobs: facts that no scheduler of a real machine has before a job has run.

use crate::units::{SimDuration, SimTime};
use crate::workload::{JobId, Workload};

/// True length of a job, and its observed start and nodes.
///
/// This is a separate type, so that a policy cannot read a runtime by accident: [`Jobs`](crate::cluster::jobs::Jobs)
/// has no such method. `tests/arrows.rs` lists the parts that ask for it: those that a paper describes as knowing
/// lengths in advance, and those that repeat a log.
#[derive(Clone, Copy, Debug)]
pub struct Truth<'a> {
    pub(super) workload: &'a Workload,
    pub(super) job: JobId,
    /// Length of the job at the size that it has, in lengths at the size that it asks for.
    pub(super) size_time: f64,
}

impl<'a> Truth<'a> {
    /// Length of the run at nominal speed.
    #[must_use]
    pub fn runtime(self) -> SimDuration {
        self.workload.runtime(self.job).stretched(self.size_time)
    }

    /// Time that communication adds to the run on any nodes.
    #[must_use]
    pub fn comm(self) -> SimDuration {
        self.workload.comm(self.job)
    }

    /// True if the job ends at the instant at which it starts.
    #[must_use]
    pub fn takes_no_time(self) -> bool {
        self.workload.takes_no_time(self.job)
    }

    /// Start of the job in reality, if the log says so.
    #[must_use]
    pub fn observed_start(self) -> Option<SimTime> {
        self.workload.observed_start(self.job)
    }

    /// Nodes the job ran on in reality, if the log says so.
    #[must_use]
    pub fn observed_nodes(self) -> Option<&'a [u32]> {
        self.workload.observed_nodes(self.job)
    }
}
