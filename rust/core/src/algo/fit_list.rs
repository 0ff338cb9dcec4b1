//! Who waits, in policy order, with a quick answer to "who is the first that fits?".

use crate::algo::sorted_blocks::{Keyed, Place, SortedBlocks, Summary};
use crate::units::{SimDuration, SimTime};

/// Place in the order: the policy's rank first, then the earlier submit, then the earlier row. Never equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueKey {
    /// Lower goes first.
    pub rank: i64,
    /// Earlier goes first among equal ranks.
    pub submit: SimTime,
    /// Row in the trace: the last word.
    pub row: u32,
}

/// One that waits: what it needs, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its place in the order.
    pub key: QueueKey,
    /// Nodes, or slots where nodes are shared, that it needs in all.
    pub units: u32,
    /// How long it is planned to run.
    pub length: SimDuration,
}

/// The smallest need, the smallest length and the earliest submit in a block, not necessarily of one element.
#[derive(Clone, Copy, Debug)]
pub struct Smallest {
    units: u32,
    length: SimDuration,
    submit: SimTime,
}

impl Keyed for Waiting {
    type Key = QueueKey;
    fn key(&self) -> QueueKey {
        self.key
    }
}

impl Summary<Waiting> for Smallest {
    const EMPTY: Self = Self { units: u32::MAX, length: SimDuration::FOREVER, submit: SimTime::NEVER };
    fn with(self, item: &Waiting) -> Self {
        Self {
            units: self.units.min(item.units),
            length: self.length.min(item.length),
            submit: self.submit.min(item.key.submit),
        }
    }
}

/// What may start: `units` or fewer, and those with more than `extra` only if they last no longer than `slack`.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Free now.
    pub units: u32,
    /// Free now and not needed by the head when its time comes.
    pub extra: u32,
    /// Time until the head's start.
    pub slack: SimDuration,
}

impl Room {
    /// Room in which only the number of units counts.
    #[must_use]
    pub fn of(units: u32) -> Self {
        Self { units, extra: units, slack: SimDuration::FOREVER }
    }

    fn holds(self, units: u32, length: SimDuration) -> bool {
        units <= self.units && (length <= self.slack || units <= self.extra)
    }
}

/// A queue in policy order.
pub type FitList = SortedBlocks<Waiting, Smallest>;

impl FitList {
    /// The first place at or after `from` whose element fits into `room`.
    #[must_use]
    pub fn first_fit(&self, from: Place, room: Room) -> Option<Place> {
        self.find(
            from,
            |block| room.holds(block.units, block.length),
            |waiting| room.holds(waiting.units, waiting.length),
        )
    }

    /// Whoever was submitted first of those submitted after `(instant, row)`; equal submits go by row.
    #[must_use]
    pub fn oldest_after(&self, after: (SimTime, u32)) -> Option<QueueKey> {
        let mut oldest: Option<QueueKey> = None;
        for (block, earliest) in self.blocks() {
            if oldest.is_some_and(|found| earliest.submit > found.submit) {
                continue;
            }
            for key in block.iter().map(|waiting| waiting.key).filter(|key| (key.submit, key.row) > after) {
                if oldest.is_none_or(|found| (key.submit, key.row) < (found.submit, found.row)) {
                    oldest = Some(key);
                }
            }
        }
        oldest
    }

    /// Whether anyone in the list needs no more than `units`.
    #[must_use]
    pub fn any_within(&self, units: u32) -> bool {
        self.blocks().any(|(_, block)| block.units <= units)
    }
}
