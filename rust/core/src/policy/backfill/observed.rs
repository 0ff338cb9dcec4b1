//! Replay of observed starts: a job starts once its observed start has come and it fits, and never before.
//!
//! A job of length zero frees its nodes at the instant at which it takes them, so that others may start there at the
//! same instant, in another round. Such jobs go first, and the other jobs of the instant wait for the next round until
//! none of them can start any more: this way a feasible schedule is repeated to the last job.

use crate::algo::fit_list::{FitList, Place, QueueKey};
use crate::error::Result;
use crate::policy::Jobs;
use crate::policy::backfill::{Backfill, start};
use crate::policy::desk::Desk;
use crate::policy::order::Order;
use crate::policy::order::observed::first_rank_at;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Starts jobs when they started in reality, or as soon after as they fit.
#[derive(Clone, Copy, Debug)]
pub struct OnObservedStart {
    /// True if the queue is sorted by observed start, so that a search may stop at the first job that is not due.
    in_order: bool,
    /// The last timer that was set.
    alarm: SimTime,
}

impl Default for OnObservedStart {
    fn default() -> Self {
        Self { in_order: false, alarm: SimTime::NEVER }
    }
}

impl OnObservedStart {
    /// Asks for a pass when the next waiting job is due.
    fn set_alarm(&mut self, desk: &mut Desk<'_>, queue: &FitList) {
        let (now, jobs) = (desk.view.now, desk.view.jobs);
        let due = |row: u32| jobs.truth(JobId(row)).observed_start().filter(|&start| start > now);
        let next = if self.in_order {
            let rank = first_rank_at(now.saturating_add(SimDuration::TICK));
            let key = QueueKey { tier: 0, rank, submit: SimTime::from_micros(i64::MIN), row: 0 };
            queue.first_from(key).and_then(|waiting| due(waiting.key.row))
        } else {
            queue.iter().filter_map(|waiting| due(waiting.key.row)).min()
        };
        if let Some(next) = next.filter(|&next| next != self.alarm) {
            self.alarm = next;
            desk.timer(next);
        }
    }

    /// Starts the jobs that are due and fit, either those that take no time or the others; false if there were none.
    fn sweep(&self, desk: &mut Desk<'_>, queue: &mut FitList, no_time: bool) -> Result<bool> {
        let (now, jobs) = (desk.view.now, desk.view.jobs);
        let (mut place, mut has_started) = (Place::FRONT, false);
        while let Some(found) = queue.first_fit(place, desk.whole_room()) {
            desk.examine()?;
            let Some(waiting) = queue.get(found) else { break };
            let job = JobId(waiting.key.row);
            let is_due = jobs.truth(job).observed_start().is_some_and(|start| start <= now);
            if self.in_order && !is_due {
                break;
            }
            let offer = if is_due && jobs.truth(job).takes_no_time() == no_time { desk.offer(waiting)? } else { None };
            match offer {
                Some(offer) => (place, has_started) = (start(desk, queue, found, offer)?, true),
                None => place = queue.after(found),
            }
        }
        Ok(has_started)
    }
}

impl Backfill for OnObservedStart {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        self.set_alarm(desk, queue);
        if !self.sweep(desk, queue, true)? {
            self.sweep(desk, queue, false)?;
        }
        Ok(())
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(*self))
    }

    fn queue_in(&mut self, order: &dyn Order) {
        self.in_order = order.is_as_observed();
    }

    fn leaves_out(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        jobs.truth(job).observed_start().is_none()
    }
}
