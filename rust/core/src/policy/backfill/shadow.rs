//! A single reservation, which the head's shadow time and the extra capacity then describe completely.

use crate::algo::fit_list::{Room, Waiting};
use crate::algo::releases::{Claim, Release, ReleasedBy};
use crate::policy::desk::Desk;
use crate::units::{SimDuration, SimTime};

/// Shadow time and extra capacity, as in the textbook, of units and of microwatts.
#[derive(Clone, Debug, Default)]
pub(super) struct ShadowTime {
    now: SimTime,
    /// Capacity free now, without the starts of this plan.
    free: Claim,
    /// Held by jobs that are overdue: a plan takes them to end now.
    overdue: Claim,
    /// Planned ends of the starts of this pass, and changes of the budget; sorted.
    added: Vec<Release>,
    /// The head's reservation, if it was promised a start.
    head: Option<Head>,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    /// Time until its start.
    slack: SimDuration,
    /// Capacity free then beyond the head's needs.
    extra: Claim,
}

impl ShadowTime {
    pub(super) fn reset(&mut self, desk: &Desk<'_>, free: Claim) {
        self.now = desk.view.now;
        self.free = free;
        self.added.clear();
        self.added.extend_from_slice(desk.budget_to_come());
        self.added.extend_from_slice(desk.added());
        self.added.sort_by_key(|release| release.at);
        let ended = self.added.iter().filter(|release| release.at <= self.now).map(|release| release.claim);
        self.overdue = desk.view.releases.overdue(self.now) + ended.sum();
        self.head = None;
    }

    pub(super) fn holds(&self, claim: Claim, length: SimDuration) -> bool {
        (self.free + self.overdue).covers(claim)
            && self.head.is_none_or(|head| length <= head.slack || head.extra.covers(claim))
    }

    /// Most microwatts that a job of this length may take alongside the head.
    pub(super) fn most_watts(&self, length: SimDuration) -> i64 {
        let is_short = |head: &Head| length <= head.slack || length == SimDuration::ZERO;
        self.head.filter(|head| !is_short(head)).map_or(i64::MAX, |head| head.extra.microwatts)
    }

    pub(super) fn start(&mut self, claim: Claim, waiting: &Waiting) {
        self.free -= claim;
        let release =
            Release { at: self.now.saturating_add(waiting.length), by: ReleasedBy::Job(waiting.key.row), claim };
        let index = self.added.partition_point(|other| *other < release);
        self.added.insert(index, release);
        if let Some(head) = self.head.as_mut().filter(|head| waiting.length > head.slack) {
            head.extra -= claim;
        }
    }

    /// Promises the head the earliest start there is; returns 0 if there is none.
    pub(super) fn reserve(&mut self, desk: &Desk<'_>, need: Claim) -> usize {
        debug_assert!(self.head.is_none());
        let shadow = desk.view.releases.shadow(self.now, self.free, need, &self.added);
        if shadow.at == SimTime::NEVER {
            return 0;
        }
        self.head = Some(Head { slack: shadow.at - self.now, extra: shadow.extra });
        1
    }

    /// Narrows a room to the part in which a job does not delay the head.
    pub(super) fn narrow(&self, room: &mut Room) {
        let Some(Head { slack, extra }) = self.head else { return };
        (room.slack, room.extra) = (slack, extra.units);
        room.extra_watts = if room.watts == i64::MAX { i64::MAX } else { extra.microwatts };
    }
}
