//! Order in which candidates for backfilling are looked at, where that is not the policy's.
//!
//! An index next to the queue: a job is inserted when it joins the queue, and removed once it is found to have left it.

use std::collections::BTreeMap;

use crate::algo::fit_list::{FitList, Place, QueueKey, Waiting};

/// An order of candidates, by what a reservation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidates {
    /// Earliest submit first.
    Fcfs,
    /// Shortest planned length first.
    Shortest,
    /// Longest planned length first.
    Longest,
    /// Fewest nodes first; slots where nodes are shared.
    Smallest,
    /// Most nodes first.
    Largest,
    /// Smallest nodes × planned length first.
    SmallestArea,
}

impl Candidates {
    /// The orders by their names; none: that of the policy.
    pub const NAMES: [(&'static str, Option<Self>); 7] = [
        ("policy", None),
        ("fcfs", Some(Self::Fcfs)),
        ("shortest", Some(Self::Shortest)),
        ("longest", Some(Self::Longest)),
        ("smallest", Some(Self::Smallest)),
        ("largest", Some(Self::Largest)),
        ("smallest-area", Some(Self::SmallestArea)),
    ];

    fn rank(self, waiting: &Waiting) -> i64 {
        let (units, length) = (waiting.units, waiting.length.micros());
        match self {
            Self::Fcfs => 0,
            Self::Shortest => length,
            Self::Longest => -length,
            Self::Smallest => units,
            Self::Largest => -units,
            Self::SmallestArea => units.saturating_mul(length),
        }
    }
}

/// The jobs of a queue in another order.
#[derive(Clone, Debug)]
pub(super) struct Index {
    order: Candidates,
    list: FitList,
    /// Places in the queue, and in the list, by row.
    keys: BTreeMap<u32, (QueueKey, QueueKey)>,
}

impl Index {
    pub(super) fn new(order: Candidates) -> Self {
        Self { order, list: FitList::default(), keys: BTreeMap::new() }
    }

    /// The jobs in this order. Some of them may have left the queue.
    pub(super) fn list(&self) -> &FitList {
        &self.list
    }

    /// Adds a job that joins the queue, perhaps again or with another size.
    pub(super) fn join(&mut self, waiting: &Waiting) {
        let key = QueueKey { rank: self.order.rank(waiting), ..waiting.key };
        if let Some((_, old)) = self.keys.insert(waiting.key.row, (waiting.key, key)) {
            self.list.remove(old);
        }
        self.list.insert(Waiting { key, ..*waiting });
    }

    /// Place in the queue of the job at a place of this order; none if it has left the queue.
    pub(super) fn in_queue(&self, place: Place, queue: &FitList) -> Option<Place> {
        let (key, _) = self.keys.get(&self.list.get(place)?.key.row)?;
        queue.place_of(*key)
    }

    /// Takes out the job at a place; returns the next one's place.
    pub(super) fn remove_at(&mut self, place: Place) -> Place {
        let (waiting, next) = self.list.remove_at(place);
        self.keys.remove(&waiting.key.row);
        next
    }

    /// Passes over the job at a place, which has left the queue. It is removed, unless it may be `aside`: held back
    /// while as many of its group run as may. Returns the next one's place.
    pub(super) fn pass_over(&mut self, place: Place, aside: bool) -> Place {
        if aside { self.list.after(place) } else { self.remove_at(place) }
    }

    /// Follows a queue that was sorted by other ranks.
    pub(super) fn sort(&mut self, queue: &FitList) {
        for waiting in queue.iter() {
            if let Some((key, _)) = self.keys.get_mut(&waiting.key.row) {
                *key = waiting.key;
            }
        }
    }
}
