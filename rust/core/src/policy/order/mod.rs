//! Orders: which job is next.
//!
//! An order gives each job a number, lower first. Equal numbers go by submit, then by row, so that no order has ties.

pub mod arrival;
pub mod by_queue;
pub mod fair_share;
pub mod length;
pub mod observed;
pub mod size;
pub mod vahrm;
pub mod wfp3;

use std::sync::Arc;

use dyn_clone::DynClone;

use crate::error::{Result, config};
use crate::platform::queues::Queues;
use crate::policy::analyzer::Ask;
use crate::policy::recollection::Recollection;
use crate::policy::usage::Use;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Schedule by which ranks change as time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Changes {
    /// A job keeps the rank that it had when it joined the queue.
    #[default]
    Never,
    /// The queue is sorted again at the first pass at or after each multiple of this on the log's clock.
    Every(SimDuration),
    /// The queue is sorted again in every pass that looks at it.
    EachPass,
}

/// Ranks jobs.
pub trait Order: DynClone + Send + Sync {
    /// Appends the current ranks of some jobs to `ranks`, in their order: lower goes first.
    ///
    /// # Errors
    /// If it fails.
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()>;

    /// Appends the ranks of jobs that join the queue or are sorted again, comparable with those of the jobs that wait
    /// in it.
    ///
    /// # Errors
    /// If it fails.
    fn rank_queued(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        self.rank(ask, jobs, ranks)
    }

    /// True if an order that changes in each pass would put all jobs that wait, and those that join them, in the order
    /// in which [`Self::rank_queued`] put them last. If not, it forgets those ranks.
    fn holds(&mut self, ask: &Ask<'_>, joining: &[JobId]) -> bool {
        let _ = (ask, joining);
        false
    }

    /// Schedule by which ranks change as time passes, so that the queue must be sorted again.
    fn changes(&self) -> Changes {
        Changes::Never
    }

    /// Takes note that there are more jobs, of the same queues.
    fn grow(&mut self, queues: &Arc<Queues>) {
        let _ = queues;
    }

    /// True if jobs stand in the order in which they started in reality.
    fn is_as_observed(&self) -> bool {
        false
    }

    /// True if it follows the use of the machine by jobs.
    fn follows(&self) -> bool {
        false
    }

    /// Sets the group of each job, by row; jobs that were known keep theirs.
    fn group(&mut self, groups: &Arc<[u32]>) {
        let _ = groups;
    }

    /// Takes the changes of use since the last call, in order of time, if it follows them. Called before each pass, and
    /// before anything is done about an emergency.
    fn follow(&mut self, uses: &[Use]) {
        let _ = uses;
    }

    /// Keeps the part of its knowledge that no state of the machine shows.
    fn remember(&self, kept: &mut Recollection) {
        let _ = kept;
    }

    /// Goes on with what was kept, from `now` on, before anything runs.
    fn recall(&mut self, now: SimTime, kept: &Recollection) {
        let _ = (now, kept);
    }
}

dyn_clone::clone_trait_object!(Order);

impl Changes {
    /// Number of the last multiple of the period up to `now`, if there is a period: jobs ranked in this beat need not
    /// be ranked again.
    #[must_use]
    pub fn beat(self, now: SimTime) -> Option<i64> {
        match self {
            Self::Every(period) => Some(now.micros().div_euclid(period.micros().max(1))),
            Self::Never | Self::EachPass => None,
        }
    }
}

/// Makes the order of a queue by its name.
///
/// # Errors
/// If no queue may have an order of this name.
pub fn of_queue(name: &str) -> Result<Box<dyn Order>> {
    match name {
        "fcfs" => Ok(Box::new(arrival::Fcfs)),
        "smallest" => Ok(Box::new(size::Smallest)),
        "largest" => Ok(Box::new(size::Largest)),
        "shortest" => Ok(Box::new(length::Shortest)),
        "longest" => Ok(Box::new(length::Longest)),
        "smallest-area" => Ok(Box::new(size::SmallestArea)),
        other => {
            let known = "one of fcfs, smallest, largest, shortest, longest, smallest-area";
            Err(config("queue.order", format!("`{other}`"), known))
        }
    }
}

/// Rank of a number by which a queue is ordered: lower numbers first, equal numbers equal.
#[must_use]
pub fn rank_of(value: f64) -> i64 {
    let bits = (value + 0.0).to_bits().cast_signed();
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

/// Appends the ranks of an order that ranks each job by itself.
#[expect(clippy::unnecessary_wraps, reason = "it is what `Order::rank` returns")]
fn each(jobs: &[JobId], ranks: &mut Vec<i64>, rank: impl FnMut(JobId) -> i64) -> Result<()> {
    ranks.extend(jobs.iter().copied().map(rank));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_keep_the_order_of_numbers() {
        let numbers = [f64::NEG_INFINITY, -2.5, -1.0, -0.0, 1e-300, 1.0, 3.0, f64::INFINITY];
        assert!(numbers.windows(2).all(|pair| rank_of(pair[0]) < rank_of(pair[1])));
        assert_eq!(rank_of(-0.0), rank_of(0.0));
    }

    #[test]
    fn a_beat_lasts_from_one_multiple_of_the_period_to_the_next() {
        let changes = Changes::Every(SimDuration::from_micros(10));
        let beats = [-11, -10, -1, 0, 9, 10, 25].map(|micros| changes.beat(SimTime::from_micros(micros)));
        assert_eq!(beats, [-2, -1, -1, 0, 0, 1, 2].map(Some));
        assert_eq!(Changes::EachPass.beat(SimTime::default()), None);
        assert_eq!(Changes::Never.beat(SimTime::default()), None);
    }
}
