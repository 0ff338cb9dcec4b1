//! The watts beyond idle that running jobs claim.

use std::collections::BTreeMap;

use crate::units::Watts;
use crate::workload::JobId;

/// Claims by row, and their sum. Jobs that claim nothing are not in it.
#[derive(Clone, Debug)]
pub(super) struct Claims {
    /// What the idle machine draws.
    idle: Watts,
    held: BTreeMap<u32, Watts>,
    sum: Watts,
}

impl Claims {
    /// Nothing runs on a machine that draws `idle`.
    pub(super) fn beyond(idle: Watts) -> Self {
        Self { idle, held: BTreeMap::new(), sum: Watts::ZERO }
    }

    /// What the system draws by these claims.
    pub(super) fn draw(&self) -> Watts {
        self.idle + self.sum
    }

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
