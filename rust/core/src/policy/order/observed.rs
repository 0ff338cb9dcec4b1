//! The order in which jobs started in reality.

use crate::error::Result;
use crate::policy::Jobs;
use crate::policy::analyzer::Ask;
use crate::policy::order::{Order, each};
use crate::units::SimTime;
use crate::workload::JobId;

/// Earlier observed start first, at one instant jobs that take no time first; those of unknown start last.
#[derive(Clone, Copy, Debug)]
pub struct ObservedStarts;

/// Lowest rank of the jobs that start at `start`.
#[must_use]
pub fn first_rank_at(start: SimTime) -> i64 {
    start.micros().saturating_mul(2)
}

/// The job's rank.
fn rank(jobs: Jobs<'_>, job: JobId) -> i64 {
    match jobs.truth(job).observed_start() {
        Some(start) => first_rank_at(start) + i64::from(!jobs.truth(job).takes_no_time()),
        None => i64::MAX,
    }
}

impl Order for ObservedStarts {
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        each(jobs, ranks, |job| rank(ask.view.jobs, job))
    }

    fn is_as_observed(&self) -> bool {
        true
    }
}
