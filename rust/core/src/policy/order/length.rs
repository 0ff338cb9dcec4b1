//! By planned length: the walltime, or the nominal runtime of a job that brings none.

use crate::policy::analyzer::Ask;
use crate::policy::order::Order;
use crate::workload::JobId;

/// Shortest planned length first.
#[derive(Clone, Copy, Debug)]
pub struct Shortest;

/// Longest planned length first.
#[derive(Clone, Copy, Debug)]
pub struct Longest;

impl Order for Shortest {
    fn rank(&mut self, ask: &Ask<'_>, job: JobId) -> i64 {
        ask.view.jobs.planned(job).micros()
    }
}

impl Order for Longest {
    fn rank(&mut self, ask: &Ask<'_>, job: JobId) -> i64 {
        -ask.view.jobs.planned(job).micros()
    }
}
