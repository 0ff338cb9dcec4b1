//! First come, first served.

use crate::policy::View;
use crate::policy::first_runs::Estimate;
use crate::policy::order::Order;
use crate::workload::JobId;

/// Earlier submit first: all ranks are equal, and ties go by submit.
#[derive(Clone, Copy, Debug)]
pub struct Fcfs;

impl Order for Fcfs {
    fn rank(&mut self, _view: &View<'_>, _job: JobId, _estimate: Estimate) -> i64 {
        0
    }
}
