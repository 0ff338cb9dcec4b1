//! Orders by planned length: the walltime, or the nominal runtime of a job that brings none.

use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::order::{Order, each};
use crate::workload::JobId;

/// Shortest planned length first.
#[derive(Clone, Copy, Debug)]
pub struct Shortest;

/// Longest planned length first.
#[derive(Clone, Copy, Debug)]
pub struct Longest;

impl Order for Shortest {
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        each(jobs, ranks, |job| ask.view.jobs.planned(job).micros())
    }
}

impl Order for Longest {
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        each(jobs, ranks, |job| -ask.view.jobs.planned(job).micros())
    }
}
