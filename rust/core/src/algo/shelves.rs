//! Upper bounds on the starts of jobs that are planned one after another, each at its earliest fit.
//!
//! A shelf holds as many as fit side by side, and begins once all shelves before it are over. By then the jobs ahead
//! of a shelf have ended, as they began no later than their own shelf did. So none but the jobs of its shelf can be in the
//! way of a job there, and next to these it fits.

use crate::algo::fit_list::Waiting;
use crate::units::{SimDuration, SimTime};

/// The last shelf.
#[derive(Clone, Copy, Debug)]
pub struct Shelves {
    begins: SimTime,
    ends: SimTime,
    /// Units of its jobs.
    taken: i64,
}

impl Shelves {
    /// Shelves of which the first begins at an instant, when nothing runs any more.
    #[must_use]
    pub fn new(begins: SimTime) -> Self {
        Self { begins, ends: begins, taken: 0 }
    }

    /// Latest start of the next job, of which so many units are free once nothing runs; never if it needs more.
    pub fn latest_start(&mut self, waiting: &Waiting, units: i64) -> SimTime {
        if waiting.units > units {
            return SimTime::NEVER;
        }
        if self.taken > units - waiting.units {
            (self.begins, self.taken) = (self.ends, 0);
        }
        self.taken += waiting.units;
        self.ends = self.ends.max(self.begins.saturating_add(waiting.length.max(SimDuration::TICK)));
        self.begins
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algo::fit_list::{ClassId, QueueKey};
    use crate::algo::horizon::Profile;

    proptest! {
        /// Law: each job fits by then, alone on its part of the machine or not. Twin: a plan of all jobs.
        #[test]
        fn every_job_starts_by_the_beginning_of_its_shelf(
            releases in prop::collection::btree_map(1..40_i64, 1..4_i64, 0..6),
            jobs in prop::collection::vec((1..9_i64, 0..20_i64), 1..40),
        ) {
            let at = SimTime::from_micros;
            let mut plan = Profile::default();
            plan.reset(at(0), 2_i64, releases.iter().map(|(&end, &units)| (at(end), units)));
            let (begins, all) = plan.last();
            let mut shelves = Shelves::new(begins);
            for (row, (units, length)) in (0..).zip(jobs) {
                let key = QueueKey { tier: 0, rank: 0, submit: at(0), row };
                let length = SimDuration::from_micros(length);
                let waiting = Waiting { key, units, length, watts: 0, class: ClassId::OTHER };
                let (latest, start) = (shelves.latest_start(&waiting, all), plan.earliest_fit(units, length.max(SimDuration::TICK)));
                prop_assert_eq!(latest == SimTime::NEVER, units > all);
                prop_assert!(start <= latest, "{:?} {:?}", start, latest);
                if start < SimTime::NEVER {
                    plan.reserve(start, length.max(SimDuration::TICK), units);
                }
            }
        }
    }
}
