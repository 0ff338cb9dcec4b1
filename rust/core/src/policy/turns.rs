//! Counts overtaking: a start overtakes if an earlier job in policy order stays queued.

use crate::algo::fit_list::{FitList, QueueKey};
use crate::policy::View;
use crate::workload::JobId;

/// Starts of a pass as seen from policy order.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    /// Keys of the jobs started in policy order.
    in_order: Vec<QueueKey>,
    /// Rows of jobs that are known to overtake one that stays queued.
    overtaking: Vec<u32>,
    /// Lanes in which a job that goes before all others stays queued.
    blocked: Vec<usize>,
}

impl Turns {
    pub(super) fn clear(&mut self) {
        self.in_order.clear();
        self.overtaking.clear();
        self.blocked.clear();
    }

    /// Notes that a job that goes before all others stays queued: every job of its lane that starts after this overtakes
    /// it.
    pub(super) fn block(&mut self, lane: usize) {
        if !self.blocked.contains(&lane) {
            self.blocked.push(lane);
        }
    }

    /// Notes a start in policy order.
    pub(super) fn start(&mut self, lane: usize, key: QueueKey) {
        if self.blocked.contains(&lane) {
            self.overtaking.push(key.row);
        } else {
            self.in_order.push(key);
        }
    }

    /// Notes the start of a job that goes before all others: only those for which the pass was blocked go ahead of it.
    pub(super) fn start_first(&mut self, lane: usize, key: QueueKey) {
        if self.blocked.contains(&lane) {
            self.overtaking.push(key.row);
        }
    }

    /// Ends the pass, after which `queue` is left; true if any job overtakes. A job overtakes those of its own lane.
    pub(super) fn finish(&mut self, view: &View<'_>, queue: &FitList) -> bool {
        let Self { in_order, overtaking, .. } = self;
        if let Some(&last) = in_order.iter().max()
            && queue.first().is_some_and(|first| first.key < last)
        {
            for lane in 0..view.lanes() {
                let is_of = |key: &QueueKey| view.lane(JobId(key.row)) == lane;
                let mut ahead = queue.iter().map(|waiting| waiting.key).take_while(|key| *key < last);
                if let Some(front) = ahead.find(is_of) {
                    overtaking.extend(in_order.iter().filter(|key| **key > front && is_of(key)).map(|key| key.row));
                }
            }
        }
        self.overtaking.sort_unstable();
        !self.overtaking.is_empty()
    }

    /// True if the job overtakes.
    pub(super) fn overtakes(&self, job: JobId) -> bool {
        self.overtaking.binary_search(&job.0).is_ok()
    }
}
