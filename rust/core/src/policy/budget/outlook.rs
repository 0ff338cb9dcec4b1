//! Outlook of a policy on the watts to come: when the budget changes, and by how much (operations page, rules 10 and
//! 16).

use crate::algo::releases::{Claim, Release, ReleasedBy};
use crate::units::{SimTime, Watts};

/// Change of the watts by so many microwatts.
#[must_use]
pub fn change(at: SimTime, microwatts: i64) -> Release {
    Release { at, by: ReleasedBy::Budget, claim: Claim { units: 0, microwatts } }
}

/// Changes of the budget after now, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    /// Microwatts that each change releases, or takes if negative, in order of time.
    changes: Vec<Release>,
    /// The same changes, not rounded.
    steps: Vec<(SimTime, Watts)>,
    falls: bool,
    now: Watts,
    /// Highest room left by running jobs at any time to come.
    most: Watts,
    /// Most microwatts by which the changes ever raise what is left.
    rise: i64,
}

impl Outlook {
    /// Outlook with the room now, and the rooms from later instants on.
    #[must_use]
    pub fn new(now: Watts, later: impl Iterator<Item = (SimTime, Watts)>) -> Self {
        let first = now.microwatts_down();
        let (mut last, mut outlook) = (first, Self { now, most: now, ..Self::default() });
        let mut before = now;
        for (at, room) in later {
            outlook.steps.push((at, room - before));
            before = room;
            let microwatts = room.microwatts_down();
            outlook.falls |= microwatts < last;
            outlook.most = outlook.most.max(room);
            outlook.rise = outlook.rise.max(microwatts - first);
            outlook.changes.push(change(at, microwatts - last));
            last = microwatts;
        }
        outlook
    }

    /// Room left by running jobs now.
    #[must_use]
    pub fn now(&self) -> Watts {
        self.now
    }

    /// The changes, in order of time.
    #[must_use]
    pub fn changes(&self) -> &[Release] {
        &self.changes
    }

    /// The same changes, not rounded: watts that each adds, or takes if below zero.
    #[must_use]
    pub fn steps(&self) -> &[(SimTime, Watts)] {
        &self.steps
    }

    /// True if the budget falls at some instant: a job that fits now may then not fit for its whole length.
    #[must_use]
    pub fn falls(&self) -> bool {
        self.falls
    }

    /// Highest room left by running jobs at any time to come.
    #[must_use]
    pub fn most(&self) -> Watts {
        self.most
    }

    /// Most microwatts by which the changes ever raise what is left; 0 if they never do.
    #[must_use]
    pub fn rise(&self) -> i64 {
        self.rise
    }
}
