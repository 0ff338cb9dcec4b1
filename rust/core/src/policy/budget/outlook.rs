//! What a policy believes of the watts to come: when the budget changes, and by how much (operations page, rules 10 and 16).

use crate::algo::releases::{Claim, Release};
use crate::units::{SimTime, Watts};

/// The row of releases that are changes of the budget: none of a job's.
const NO_ROW: u32 = u32::MAX;

/// Changes of the budget after now, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    /// What each change releases, or takes, in microwatts; in order of time.
    changes: Vec<Release>,
    falls: bool,
    now: Watts,
    /// The highest room there will be beside what runs.
    most: Watts,
    /// By how many microwatts the changes raise what is left at the best of all times.
    rise: i64,
}

impl Outlook {
    /// What is left beside all that runs now, and from later instants on.
    #[must_use]
    pub fn new(now: Watts, later: impl Iterator<Item = (SimTime, Watts)>) -> Self {
        let first = now.microwatts_down();
        let (mut last, mut outlook) = (first, Self { now, most: now, ..Self::default() });
        for (at, room) in later {
            let microwatts = room.microwatts_down();
            outlook.falls |= microwatts < last;
            outlook.most = outlook.most.max(room);
            outlook.rise = outlook.rise.max(microwatts - first);
            let claim = Claim { units: 0, microwatts: microwatts - last };
            outlook.changes.push(Release { at, row: NO_ROW, claim });
            last = microwatts;
        }
        outlook
    }

    /// What is left beside what runs now.
    #[must_use]
    pub fn now(&self) -> Watts {
        self.now
    }

    /// The changes, in order of time.
    #[must_use]
    pub fn changes(&self) -> &[Release] {
        &self.changes
    }

    /// Whether the budget falls at some instant: then what fits now need not fit for as long as it takes.
    #[must_use]
    pub fn falls(&self) -> bool {
        self.falls
    }

    /// The highest room there will be beside what runs.
    #[must_use]
    pub fn most(&self) -> Watts {
        self.most
    }

    /// By how many microwatts the changes raise what is left at the best of all times; 0 if they never do.
    #[must_use]
    pub fn rise(&self) -> i64 {
        self.rise
    }
}
