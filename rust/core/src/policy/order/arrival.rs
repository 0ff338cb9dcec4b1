//! First come, first served.

use crate::policy::Jobs;
use crate::policy::order::Order;
use crate::units::SimTime;
use crate::workload::JobId;

/// Earlier submit first: all ranks are equal, and ties go by submit.
#[derive(Clone, Copy, Debug)]
pub struct Fcfs;

impl Order for Fcfs {
    fn rank(&self, _jobs: Jobs<'_>, _job: JobId, _now: SimTime) -> i64 {
        0
    }
}
