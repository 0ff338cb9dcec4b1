//! By planned length: the walltime, or the nominal runtime of a job that brings none.

use crate::policy::View;
use crate::policy::first_runs::Estimate;
use crate::policy::order::Order;
use crate::workload::JobId;

/// Shortest planned length first.
#[derive(Clone, Copy, Debug)]
pub struct Shortest;

/// Longest planned length first.
#[derive(Clone, Copy, Debug)]
pub struct Longest;

impl Order for Shortest {
    fn rank(&mut self, view: &View<'_>, job: JobId, _estimate: Estimate) -> i64 {
        view.jobs.planned(job).micros()
    }
}

impl Order for Longest {
    fn rank(&mut self, view: &View<'_>, job: JobId, _estimate: Estimate) -> i64 {
        -view.jobs.planned(job).micros()
    }
}
