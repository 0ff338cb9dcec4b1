//! A heap of events: they leave by instant, then by rank, then in the order in which they were scheduled.

use std::cmp::{Ordering, Reverse};
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use crate::units::{SimTime, soonest};

/// Consecutively scheduled events of one instant and rank: never empty.
#[derive(Clone, Debug)]
struct Scheduled<E> {
    at: SimTime,
    /// Rank in the upper byte, sequence number below: one comparison for both.
    ticket: u64,
    events: VecDeque<E>,
}

const SEQUENCE_BITS: u32 = 56;

/// A queue of events with a total order, so that equal instants are deterministic.
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
    /// Instant of the next event: asked for far more often than it changes.
    next: Option<SimTime>,
    pushed: u64,
    /// The events scheduled last, which are not in the heap yet.
    last: Option<Scheduled<E>>,
    /// Spare memory.
    spare: Vec<VecDeque<E>>,
}

impl<E> Default for EventHeap<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), next: None, pushed: 0, last: None, spare: Vec::new() }
    }
}

impl<E> EventHeap<E> {
    /// Schedules `event`; a lower `rank` leaves first among events of one instant.
    pub fn push(&mut self, at: SimTime, rank: u8, event: E) {
        self.next = soonest([self.next, Some(at)]);
        if let Some(last) = self.last.as_mut().filter(|last| last.at == at && last.rank() == rank) {
            last.events.push_back(event);
            return;
        }
        let ticket = u64::from(rank) << SEQUENCE_BITS | self.pushed;
        self.pushed += 1;
        let mut events = self.spare.pop().unwrap_or_default();
        events.push_back(event);
        if let Some(before) = self.last.replace(Scheduled { at, ticket, events }) {
            self.heap.push(Reverse(before));
        }
    }

    /// The events with their instants, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (SimTime, &E)> {
        let all = self.heap.iter().map(|each| &each.0).chain(&self.last);
        all.flat_map(|each| each.events.iter().map(|event| (each.at, event)))
    }

    /// The instant of the next event.
    #[must_use]
    #[inline]
    pub fn next_time(&self) -> Option<SimTime> {
        self.next
    }

    /// Removes the next event if it is at `now`.
    #[inline]
    pub fn pop_at(&mut self, now: SimTime) -> Option<E> {
        if self.next != Some(now) {
            return None;
        }
        let event = self.pop();
        self.next = soonest([self.heap.peek().map(|next| next.0.at), self.last.as_ref().map(|last| last.at)]);
        event
    }

    fn pop(&mut self) -> Option<E> {
        let first = self.heap.peek().map(|next| &next.0);
        if self.last.as_ref().is_some_and(|last| first.is_none_or(|first| last < first)) {
            let event = self.last.as_mut().and_then(|last| last.events.pop_front());
            if let Some(done) = self.last.take_if(|last| last.events.is_empty()) {
                self.spare.push(done.events);
            }
            return event;
        }
        let mut first = self.heap.peek_mut()?;
        let event = first.0.events.pop_front();
        if first.0.events.is_empty() {
            self.spare.push(PeekMut::pop(first).0.events);
        }
        event
    }
}

impl<E> Scheduled<E> {
    fn rank(&self) -> u8 {
        (self.ticket >> SEQUENCE_BITS) as u8
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Twin: a list, searched for the least of instant, rank and number.
        #[test]
        fn events_leave_by_instant_then_rank_then_in_the_order_they_came(
            steps in prop::collection::vec((any::<bool>(), 0..4_i64, 0..3_u8), 0..80),
        ) {
            let (mut heap, mut twin) = (EventHeap::default(), Vec::new());
            for (number, (pushes, at, rank)) in steps.into_iter().enumerate() {
                let at = SimTime::from_micros(at);
                if pushes {
                    heap.push(at, rank, number);
                    twin.push((at, rank, number));
                } else if let Some(&next) = twin.iter().min() {
                    prop_assert_eq!(heap.next_time(), Some(next.0));
                    prop_assert_eq!(heap.pop_at(next.0), Some(next.2));
                    twin.retain(|other| *other != next);
                } else {
                    prop_assert_eq!(heap.next_time(), None);
                }
            }
        }
    }
}
