//! Lows of what is free beyond a wake plan, where no job but the first of the queue starts soon: sums of releases give
//! them, without a profile.
//!
//! Free nodes get fewer only where a planned job takes some. If the first job is the only one that starts by an instant,
//! there are two lows until then: now, and when it starts. Whatever is asked of a wake plan is asked of its lows.

use crate::algo::fit_list::{FitList, Place, Room, Waiting};
use crate::algo::releases::{Claim, Shadow};
use crate::policy::View;
use crate::units::{SimDuration, SimTime};

/// Lows of what is free over time, without waking any node and beyond what the first job holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lows {
    now: (SimTime, i64),
    /// The start of the first job, and what is left then.
    then: Option<(SimTime, i64)>,
    /// First job with its start, if there is one.
    first: Option<(SimTime, Waiting)>,
    /// True if there is no other job.
    is_all: bool,
}

impl Lows {
    /// Lows of a plan of all jobs that start by `by`; none if others than the first may. If it is strict, none starts
    /// before the one ahead of it.
    pub(super) fn until(view: &View<'_>, queue: &FitList, by: SimTime, is_strict: bool) -> Option<Self> {
        let level = free_by(view, view.now) - woken_by(view, view.now);
        let none = Self { now: (view.now, level), then: None, first: None, is_all: true };
        let Some(&first) = queue.get(Place::FRONT) else { return Some(none) };
        let start = start_of(view, &first);
        if start.at == SimTime::NEVER {
            return None;
        }
        let is_all = queue.len() == 1;
        let is_joined = || {
            let behind = queue.after(queue.settled(Place::FRONT));
            queue.first_fit(behind, room_beside(view, &first, start, by)).is_some()
        };
        let is_alone = is_all || is_strict && start.at > by || !is_joined();
        let then = Some((start.at, start.extra.units - woken_by(view, start.at)));
        is_alone.then_some(Self { then, first: Some((start.at, first)), is_all, ..none })
    }

    /// True if the first job starts later than an instant.
    pub(super) fn starts_after(&self, at: SimTime) -> bool {
        self.first.is_none_or(|first| first.0 > at)
    }

    /// True if all jobs are known.
    pub(super) fn are_all(&self) -> bool {
        self.is_all
    }

    /// Number of nodes left at an instant, on or not.
    pub(super) fn left_at(&self, view: &View<'_>, at: SimTime) -> i64 {
        let holds = |&(start, first): &(SimTime, Waiting)| {
            start <= at && at < start.saturating_add(first.length.max(SimDuration::TICK))
        };
        free_by(view, at) - self.first.filter(holds).map_or(0, |(_, first)| first.units)
    }

    /// Both, in order of time.
    pub(super) fn steps(&self) -> impl Iterator<Item = (SimTime, i64)> + use<> {
        std::iter::once(self.now).chain(self.then)
    }
}

/// Earliest start of the first job, and what it leaves then.
fn start_of(view: &View<'_>, first: &Waiting) -> Shadow {
    let free = Claim { units: view.slots.free_units(), microwatts: 0 };
    view.releases.shadow(view.now, free, Claim { units: first.units, microwatts: 0 }, &[])
}

/// Room for jobs behind the first that start by `by`, alongside that one or before it: none starts by then that does not
/// fit into it.
fn room_beside(view: &View<'_>, first: &Waiting, start: Shadow, by: SimTime) -> Room {
    let units = free_by(view, by);
    // While the first job runs, the others get what it leaves.
    let beside = if start.at > by { start.extra.units } else { units - first.units };
    let is_over = start.at.saturating_add(first.length) <= by;
    Room { slack: start.at - view.now, extra: if is_over { units } else { beside }, ..Room::of(units) }
}

/// Number of nodes that are free by an instant if those that sleep are woken now.
fn free_by(view: &View<'_>, at: SimTime) -> i64 {
    view.slots.free_units() + view.releases.until(at).units
}

/// Number of these that have to be woken.
fn woken_by(view: &View<'_>, at: SimTime) -> i64 {
    view.returns().iter().filter(|back| back.at.max(view.now) <= at).map(|back| back.down).sum()
}
