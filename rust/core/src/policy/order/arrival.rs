//! First come, first served.

use crate::policy::analyzer::Ask;
use crate::policy::order::Order;
use crate::workload::JobId;

/// Earlier submit first: all ranks are equal, and ties go by submit.
#[derive(Clone, Copy, Debug)]
pub struct Fcfs;

impl Order for Fcfs {
    fn rank(&mut self, _ask: &Ask<'_>, _job: JobId) -> i64 {
        0
    }
}
