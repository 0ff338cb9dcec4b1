//! By planned length: the walltime, or the nominal runtime of a job that brings none.

use crate::policy::Jobs;
use crate::policy::order::Order;
use crate::units::SimTime;
use crate::workload::JobId;

/// Shortest planned length first.
#[derive(Clone, Copy, Debug)]
pub struct Shortest;

/// Longest planned length first.
#[derive(Clone, Copy, Debug)]
pub struct Longest;

impl Order for Shortest {
    fn rank(&self, jobs: Jobs<'_>, job: JobId, _now: SimTime) -> i64 {
        jobs.planned(job).micros()
    }
}

impl Order for Longest {
    fn rank(&self, jobs: Jobs<'_>, job: JobId, _now: SimTime) -> i64 {
        -jobs.planned(job).micros()
    }
}
