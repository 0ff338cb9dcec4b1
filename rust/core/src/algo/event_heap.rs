//! What happens next: events leave by instant, then by rank, then in the order they came.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::units::SimTime;

#[derive(Clone, Debug)]
struct Scheduled<E> {
    at: SimTime,
    /// Rank in the upper byte, sequence number below: one comparison for both.
    ticket: u64,
    event: E,
}

const SEQUENCE_BITS: u32 = 56;

/// A queue of events with a total order, so that equal instants never depend on chance.
///
/// ```
/// use hetsched_core::algo::event_heap::EventHeap;
/// use hetsched_core::units::SimTime;
///
/// let mut heap = EventHeap::default();
/// heap.push(SimTime::from_micros(5), 1, "submit");
/// heap.push(SimTime::from_micros(5), 0, "end");
/// heap.push(SimTime::from_micros(5), 0, "another end");
/// let left: Vec<_> = std::iter::from_fn(|| heap.pop_at(SimTime::from_micros(5))).collect();
/// assert_eq!(left, ["end", "another end", "submit"]);
/// ```
#[derive(Clone, Debug)]
pub struct EventHeap<E> {
    heap: BinaryHeap<Reverse<Scheduled<E>>>,
    pushed: u64,
}

impl<E> Default for EventHeap<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), pushed: 0 }
    }
}

impl<E> EventHeap<E> {
    /// Schedules `event`; a lower `rank` leaves first among events of one instant.
    pub fn push(&mut self, at: SimTime, rank: u8, event: E) {
        let ticket = u64::from(rank) << SEQUENCE_BITS | self.pushed;
        self.pushed += 1;
        self.heap.push(Reverse(Scheduled { at, ticket, event }));
    }

    /// The instant of the next event.
    #[must_use]
    pub fn next_time(&self) -> Option<SimTime> {
        self.heap.peek().map(|next| next.0.at)
    }

    /// The rank of the next event, if it is at `now`.
    #[must_use]
    pub fn next_rank_at(&self, now: SimTime) -> Option<u8> {
        let next = &self.heap.peek()?.0;
        (next.at == now).then_some((next.ticket >> SEQUENCE_BITS) as u8)
    }

    /// Removes the next event if it is at `now`.
    pub fn pop_at(&mut self, now: SimTime) -> Option<E> {
        if self.next_time()? != now {
            return None;
        }
        self.heap.pop().map(|next| next.0.event)
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Scheduled<E> {}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Scheduled<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.ticket).cmp(&(other.at, other.ticket))
    }
}
