//! The WFP3 score of Tang, Lan, Desai and Buettner (CLUSTER 2009), which favours large jobs that have waited long for
//! their length.

use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::order::{Changes, Order, each, rank_of};
use crate::workload::JobId;

/// Highest (wait / planned length)³ × nodes first.
///
/// A planned length of zero counts as one microsecond.
#[derive(Clone, Copy, Debug)]
pub struct Wfp3;

impl Order for Wfp3 {
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        let known = ask.view.jobs;
        each(jobs, ranks, |job| {
            let wait = (ask.view.now - known.eligible(job)).micros() as f64;
            let length = known.planned(job).micros().max(1) as f64;
            rank_of(-(wait / length).powi(3) * f64::from(known.node_count(job)))
        })
    }

    fn changes(&self) -> Changes {
        Changes::EachPass
    }
}
