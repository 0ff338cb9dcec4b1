//! A heap of planned ends: each thing under way stands in it once, and can be given another end or taken out.
//!
//! Things are numbered by small slots that are reused. Ends at the same instant leave in the order in which they were
//! set.

use crate::units::SimTime;

#[derive(Clone, Copy, Debug)]
struct End {
    at: SimTime,
    /// Number of the call that set it: breaks ties of equal instants.
    ticket: u64,
    slot: u32,
}

impl End {
    /// True if it comes before another one.
    fn precedes(&self, other: &Self) -> bool {
        self.at < other.at || self.at == other.at && self.ticket < other.ticket
    }
}

/// Indexed heap of ends: it knows the position of each.
///
/// ```
/// use hetsched_core::algo::end_heap::EndHeap;
/// use hetsched_core::units::SimTime;
///
/// let at = SimTime::from_micros;
/// let mut ends = EndHeap::default();
/// ends.set(0, at(9));
/// ends.set(1, at(5));
/// ends.set(0, at(4));
/// assert_eq!((ends.next_time(), ends.pop_at(at(4)), ends.pop_at(at(4))), (Some(at(4)), Some(0), None));
/// ends.remove(1);
/// assert_eq!(ends.next_time(), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct EndHeap {
    heap: Vec<End>,
    /// Position of each slot's end in the heap, if it has one.
    places: Vec<Option<u32>>,
    set: u64,
}

impl EndHeap {
    /// Sets the end of `slot`, in place of an earlier one.
    pub fn set(&mut self, slot: u32, at: SimTime) {
        let end = End { at, ticket: self.set, slot };
        self.set += 1;
        if let Some(place) = self.place(slot) {
            return self.settle(place, end);
        }
        if self.places.len() <= slot as usize {
            self.places.resize(slot as usize + 1, None);
        }
        self.heap.push(end);
        self.rise(self.heap.len() - 1, end);
    }

    /// The instant of the next end.
    #[must_use]
    pub fn next_time(&self) -> Option<SimTime> {
        self.heap.first().map(|end| end.at)
    }

    /// End of `slot`, if it has one.
    #[must_use]
    pub fn at(&self, slot: u32) -> Option<SimTime> {
        self.place(slot).map(|place| self.heap[place].at)
    }

    /// Takes out the next end if it is at `now`.
    pub fn pop_at(&mut self, now: SimTime) -> Option<u32> {
        let next = *self.heap.first().filter(|end| end.at == now)?;
        self.take(0);
        Some(next.slot)
    }

    /// Removes `slot`, wherever it stands.
    pub fn remove(&mut self, slot: u32) {
        if let Some(place) = self.place(slot) {
            self.take(place);
        }
    }

    fn place(&self, slot: u32) -> Option<usize> {
        self.places.get(slot as usize).copied().flatten().map(|place| place as usize)
    }

    fn take(&mut self, place: usize) {
        self.places[self.heap[place].slot as usize] = None;
        let Some(last) = self.heap.pop().filter(|_| place < self.heap.len()) else { return };
        // The last one fills the gap and goes up or down from there.
        self.settle(place, last);
    }

    /// Puts `end` in at `place`, above or below it, wherever it belongs.
    fn settle(&mut self, place: usize, end: End) {
        if place > 0 && end.precedes(&self.heap[(place - 1) / 2]) {
            self.rise(place, end);
        } else {
            self.sink(place, end);
        }
    }

    /// Puts `end` in at `place` or as far above it as it belongs.
    fn rise(&mut self, mut place: usize, end: End) {
        while place > 0 && end.precedes(&self.heap[(place - 1) / 2]) {
            self.put(place, self.heap[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        self.put(place, end);
    }

    /// Puts `end` in at `place` or as far below it as it belongs.
    fn sink(&mut self, mut place: usize, end: End) {
        while let Some(&left) = self.heap.get(2 * place + 1) {
            let right = self.heap.get(2 * place + 2).copied().filter(|right| right.precedes(&left));
            let earlier = right.unwrap_or(left);
            if end.precedes(&earlier) {
                break;
            }
            self.put(place, earlier);
            place = 2 * place + 1 + usize::from(right.is_some());
        }
        self.put(place, end);
    }

    fn put(&mut self, place: usize, end: End) {
        self.heap[place] = end;
        self.places[end.slot as usize] = u32::try_from(place).ok();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Twin: a list of all ends, searched for the earliest.
        #[test]
        fn gives_ends_as_a_list_does(steps in prop::collection::vec((0..4_u8, 0..20_u32, 0..9_i64), 0..300)) {
            let mut heap = EndHeap::default();
            let mut list: Vec<(SimTime, usize, u32)> = Vec::new();
            for (ticket, (step, slot, at)) in steps.into_iter().enumerate() {
                let at = SimTime::from_micros(at);
                match step {
                    0 | 1 => {
                        heap.set(slot, at);
                        list.retain(|end| end.2 != slot);
                        list.push((at, ticket, slot));
                    }
                    2 => {
                        heap.remove(slot);
                        list.retain(|end| end.2 != slot);
                    }
                    _ => {
                        let first = list.iter().min().copied();
                        let due = first.filter(|end| end.0 == at);
                        prop_assert_eq!(heap.pop_at(at), due.map(|end| end.2));
                        list.retain(|end| Some(*end) != due);
                    }
                }
                prop_assert_eq!(heap.next_time(), list.iter().min().map(|end| end.0));
                prop_assert_eq!(heap.at(slot), list.iter().find(|end| end.2 == slot).map(|end| end.0));
            }
        }
    }
}
