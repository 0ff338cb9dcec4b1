//! Who overtakes: a start does if one stays queued that comes before it in policy order.

use crate::algo::fit_list::{QueueKey, Waiting};
use crate::workload::JobId;

/// In which turn the jobs of a pass were started.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    /// Jobs started in policy order, by their places in it.
    in_order: Vec<QueueKey>,
    /// Rows of jobs of which it is known that they overtake one that stays queued.
    overtaking: Vec<u32>,
    /// Whether a job that goes before all others stays queued.
    blocked: bool,
}

impl Turns {
    pub(super) fn clear(&mut self) {
        self.in_order.clear();
        self.overtaking.clear();
        self.blocked = false;
    }

    /// A job that goes before all others stays queued: every job that starts after this overtakes it.
    pub(super) fn block(&mut self) {
        self.blocked = true;
    }

    /// A job starts in its turn of the policy's order.
    pub(super) fn start(&mut self, key: QueueKey) {
        if self.blocked {
            self.overtaking.push(key.row);
        } else {
            self.in_order.push(key);
        }
    }

    /// A job starts before all others: only those for which the pass was blocked go ahead of it.
    pub(super) fn start_first(&mut self, key: QueueKey) {
        if self.blocked {
            self.overtaking.push(key.row);
        }
    }

    /// Nothing starts any more, and `front` is the first that stays queued; whether any job overtakes.
    pub(super) fn finish(&mut self, front: Option<&Waiting>) -> bool {
        if let Some(front) = front {
            self.overtaking.extend(self.in_order.iter().filter(|&&key| key > front.key).map(|key| key.row));
        }
        self.overtaking.sort_unstable();
        !self.overtaking.is_empty()
    }

    /// Whether the job overtakes.
    pub(super) fn overtakes(&self, job: JobId) -> bool {
        self.overtaking.binary_search(&job.0).is_ok()
    }
}
