//! First come, first served.

use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::order::{Order, each};
use crate::workload::JobId;

/// Earlier submit first: all ranks are equal, and ties go by submit.
#[derive(Clone, Copy, Debug)]
pub struct Fcfs;

impl Order for Fcfs {
    fn rank(&mut self, _ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        each(jobs, ranks, |_| 0)
    }
}
