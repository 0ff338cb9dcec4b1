//! The watts beyond idle that running jobs claim.

use std::collections::BTreeMap;

use crate::units::Watts;
use crate::workload::JobId;

/// Claims by row, and their sum. Jobs that claim nothing are not in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Claims {
    held: BTreeMap<u32, Watts>,
    sum: Watts,
}

impl Claims {
    /// What all running jobs claim.
    pub(super) fn sum(&self) -> Watts {
        self.sum
    }

    /// A job starts.
    pub(super) fn take(&mut self, job: JobId, watts: Watts) {
        if watts != Watts::ZERO {
            self.held.insert(job.0, watts);
            self.sum += watts;
        }
    }

    /// A job has ended.
    pub(super) fn give_back(&mut self, job: JobId) {
        if let Some(watts) = self.held.remove(&job.0) {
            self.sum -= watts;
        }
    }
}
