//! A plan that is kept from pass to pass, for as long as a new one would be the same.
//!
//! As long as running jobs end as planned and new jobs only join the queue behind those with promises, each promise
//! still holds, and no earlier start fits. Anything else invalidates the plan: an end before or after its time, a node
//! that fails or returns, a job that goes ahead.
//!
//! Watts are planned in whole microwatts, and each sum of them is rounded by itself: a new plan would differ from a
//! kept one by some microwatts. So the kept one is corrected to the last microwatt in every pass ([`Kept::excess`],
//! [`Plan::resume`](super::plan::Plan::resume)), and a plan with a promise that so little could change is dropped.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::algo::fit_list::{FitList, Place, QueueKey, Waiting};
use crate::algo::releases::{Change, Claim, Release, ReleasedBy};
use crate::algo::sorted_blocks::Keyed;
use crate::policy::desk::Desk;
use crate::units::{SimDuration, SimTime};

/// Promises of a plan, and what has to be true for them to hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// True if the plan settles the next pass, as far as is known.
    whole: bool,
    /// Promised starts, each with the first of the jobs that share it and the number of them, which follow one another.
    promises: BinaryHeap<Reverse<(SimTime, QueueKey, usize)>>,
    /// Jobs with a promise.
    promised: usize,
    /// Last job in policy order that was promised a start or has started; those behind it are not planned yet.
    last: Option<QueueKey>,
    /// Number of changes of the releases that the last pass has seen.
    seen: u64,
    /// Planned ends and rows of the jobs that it started.
    started: Vec<(SimTime, ReleasedBy)>,
    /// Surplus microwatts that the plan takes starts to give back, and when.
    excess: Vec<(SimTime, i64)>,
    /// Corrections since the plan was made.
    drift: Drift,
}

/// Microwatts by which a plan has been corrected.
///
/// Additions at all times and deductions from the ends of starts on nearly cancel out. So at any time to come the plan
/// has drifted by `risen` minus some part of what is still to be deducted.
#[derive(Clone, Debug, Default)]
struct Drift {
    risen: i64,
    /// Deductions still to come, by instant, and their sum in `fall`.
    to_fall: BinaryHeap<Reverse<(SimTime, i64)>>,
    fall: i64,
    /// Range of the drift within which every promise would be made again; none: unbounded.
    allowed: Option<(i64, i64)>,
}

impl Drift {
    /// Least and most by which the plan has drifted at any time to come.
    fn range(&self) -> (i64, i64) {
        (self.risen - self.fall, self.risen)
    }

    fn fall_from(&mut self, at: SimTime, microwatts: i64) {
        self.to_fall.push(Reverse((at, microwatts)));
        self.fall += microwatts;
    }

    fn rise(&mut self, now: SimTime, microwatts: i64) {
        self.risen += microwatts;
        while let Some(&Reverse((_, fallen))) = self.to_fall.peek().filter(|next| next.0.0 <= now) {
            self.to_fall.pop();
            self.fall -= fallen;
            self.risen -= fallen;
        }
    }

    /// Narrows the allowed range to so many microwatts up or down from the present drift. That differs from instant to
    /// instant within [`Self::range`]: the lower limit is counted from its upper end and the upper limit from its lower
    /// end, so that both are safe at every instant.
    fn allow(&mut self, microwatts: i64) {
        let (least, most) = self.range();
        let (lowest, highest) = self.allowed.unwrap_or((i64::MIN, i64::MAX));
        self.allowed = Some((lowest.max(most - microwatts), highest.min(least + microwatts)));
    }

    fn is_allowed(&self) -> bool {
        let (least, most) = self.range();
        self.allowed.is_none_or(|(lowest, highest)| lowest <= least && most <= highest)
    }
}

impl Kept {
    /// Drops the plan.
    pub(super) fn forget(&mut self) {
        self.whole = false;
    }

    /// Begins a new plan in this pass.
    pub(super) fn begin(&mut self, desk: &Desk<'_>) {
        self.whole = desk.may_keep_plans();
        self.promises.clear();
        self.promised = 0;
        self.last = None;
        self.started.clear();
        self.excess.clear();
        self.drift = Drift::default();
        self.seen = desk.view.releases.changes(u64::MAX).1;
        self.started.extend(desk.added().iter().map(Keyed::key));
    }

    /// Notes that `jobs`, which follow one another, were promised `start`.
    pub(super) fn promise(&mut self, jobs: &[Waiting], start: SimTime) {
        let (Some(first), Some(last)) = (jobs.first(), jobs.last()) else { return };
        // If a job never fits, or has no length, its promise alone does not decide when it starts.
        self.whole &= start != SimTime::NEVER && first.length > SimDuration::ZERO;
        self.promises.push(Reverse((start, first.key, jobs.len())));
        self.promised += jobs.len();
        self.last = Some(last.key);
    }

    /// True if it has promised no job a start.
    pub(super) fn promises_nothing(&self) -> bool {
        self.promised == 0
    }

    /// True if the plan can still be kept.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Notes that a job of the queue has started, for which the plan has taken off `taken`.
    pub(super) fn start(&mut self, desk: &Desk<'_>, waiting: &Waiting, taken: Claim) {
        if waiting.length > SimDuration::ZERO {
            let end = desk.view.now.saturating_add(waiting.length);
            self.started.push((end, ReleasedBy::Job(waiting.key.row)));
            let excess = taken.microwatts - desk.given_back(end, waiting.key.row).microwatts;
            if desk.counts_watts() && excess > 0 {
                self.excess.push((end, excess));
            }
        }
    }

    /// Takes out the microwatts that the plan has starts give back but they do not, and from when on.
    pub(super) fn take_excess(&mut self) -> impl Iterator<Item = (SimTime, i64)> + '_ {
        self.excess.drain(..).inspect(|&(at, microwatts)| self.drift.fall_from(at, microwatts))
    }

    /// Notes that the plan was corrected by some microwatts; false if that may change a promise.
    pub(super) fn put_right(&mut self, now: SimTime, microwatts: i64) -> bool {
        self.drift.rise(now, microwatts);
        self.drift.is_allowed()
    }

    /// Narrows the allowed drift: so many microwatts more would change a promise of this pass; none if no possible
    /// drift would.
    pub(super) fn allow_drift(&mut self, microwatts: Option<i64>) {
        if let Some(microwatts) = microwatts {
            self.whole &= microwatts > 0;
            self.drift.allow(microwatts);
        }
    }

    /// Notes that all jobs up to this one are planned or have started.
    pub(super) fn reach(&mut self, key: QueueKey) {
        self.last = self.last.max(Some(key));
    }

    /// True if the plan holds in this pass, provided that as many units are free as it says.
    pub(super) fn holds(&mut self, desk: &Desk<'_>, queue: &FitList) -> bool {
        self.whole =
            self.whole && desk.may_keep_plans() && self.ended_as_planned(desk) && self.queued_as_planned(desk, queue);
        self.started.clear();
        self.whole
    }

    /// True if since the last pass only its own starts were made, and every job ended at its planned end. An early end
    /// shows as a removed release whose time is yet to come, an overdue job as a release that is still in the list.
    fn ended_as_planned(&mut self, desk: &Desk<'_>) -> bool {
        let (now, releases) = (desk.view.now, desk.view.releases);
        let (news, seen) = releases.changes(self.seen);
        self.seen = seen;
        let Some(news) = news else { return false };
        self.started.retain(|&(at, _)| at > now);
        self.started.sort_unstable();
        let mut came = 0;
        let as_planned = |change: &Change| match *change {
            Change::Came(Release { at, .. }) | Change::Went(Release { at, .. }) if at <= now => true,
            Change::Came(release) => {
                came += 1;
                self.started.binary_search(&release.key()).is_ok()
            }
            Change::Went(_) => false,
        };
        news.iter().all(as_planned)
            && came == self.started.len()
            && releases.iter().next().is_none_or(|first| first.at > now)
    }

    fn queued_as_planned(&self, desk: &Desk<'_>, queue: &FitList) -> bool {
        let in_time = self.promises.peek().is_none_or(|first| first.0.0 >= desk.view.now);
        let planned = self.last.map_or(0, |last| queue.len() - queue.count_after(last));
        in_time && planned == self.promised
    }

    /// Takes out the jobs that are promised a start now, in policy order.
    pub(super) fn take_due(&mut self, desk: &Desk<'_>, queue: &FitList) -> Vec<Waiting> {
        let mut due = Vec::new();
        while let Some(&Reverse((start, first, count))) = self.promises.peek() {
            if start > desk.view.now {
                break;
            }
            self.promises.pop();
            self.promised -= count;
            let mut place = queue.place_of(first);
            for _ in 0..count {
                due.extend(place.and_then(|place| queue.get(place)).copied());
                place = place.map(|place| queue.after(place));
            }
        }
        due.sort_unstable_by_key(|waiting| waiting.key);
        due
    }

    /// First job that is not planned yet.
    pub(super) fn next(&self, queue: &FitList) -> Place {
        self.last.map_or(Place::FRONT, |last| queue.place_after(last))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Twin: the drift of every instant by itself, and of every promise since.
        #[test]
        fn a_drift_is_allowed_only_where_it_stays_within_all_margins(
            steps in prop::collection::vec((0..3_i64, 0..2_i64, 1..12_i64, prop::option::of(1..9_i64)), 1..40),
        ) {
            let (mut drift, mut now, mut promises) = (Drift::default(), 0, Vec::new());
            let mut cells = vec![0_i64; 200];
            for (pace, taken, length, margin) in steps {
                now += pace;
                let at = |instant: usize| SimTime::from_micros(i64::try_from(instant).unwrap());
                let first = usize::try_from(now + length).unwrap();
                drift.fall_from(at(first), taken);
                cells[first..].iter_mut().for_each(|cell| *cell -= taken);
                // The correction raises what is free by one at all times.
                drift.rise(SimTime::from_micros(now), 1);
                for cell in &mut cells {
                    *cell += 1;
                }
                let here = usize::try_from(now).unwrap();
                if drift.is_allowed() {
                    let within = |(then, margin): &(Vec<i64>, i64)| (here..200).all(|t| (cells[t] - then[t]).abs() <= *margin);
                    prop_assert!(promises.iter().all(within));
                }
                if let Some(margin) = margin {
                    drift.allow(margin);
                    promises.push((cells.clone(), margin));
                }
            }
        }
    }
}
