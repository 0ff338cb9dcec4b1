//! Orders by the nodes of a job, or by its nodes times its planned length.

use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::order::{Order, each, rank_of};
use crate::workload::JobId;

/// Fewest nodes first.
#[derive(Clone, Copy, Debug)]
pub struct Smallest;

/// Most nodes first.
#[derive(Clone, Copy, Debug)]
pub struct Largest;

/// Smallest area, nodes × planned length, first.
#[derive(Clone, Copy, Debug)]
pub struct SmallestArea;

impl Order for Smallest {
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        each(jobs, ranks, |job| i64::from(ask.view.jobs.node_count(job)))
    }
}

impl Order for Largest {
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        each(jobs, ranks, |job| -i64::from(ask.view.jobs.node_count(job)))
    }
}

impl Order for SmallestArea {
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        let known = ask.view.jobs;
        each(jobs, ranks, |job| rank_of(f64::from(known.node_count(job)) * known.planned(job).micros() as f64))
    }
}
