//! Lower bounds for the earliest fit in a plan that only ever gets fuller: a need that dominates an earlier one (no
//! less, for no shorter) fits no earlier than that did.

use crate::units::{SimDuration, SimTime};

/// Thresholds per octave.
const STEPS: u32 = 2;
/// Thresholds of lengths: one that every length reaches, and those from 2^16 µs, a sixteenth of a second, to five months.
const LENGTHS: usize = 56;
/// Number of the threshold whose place the first column takes, the one that every length reaches.
const SHORT: usize = (16 * STEPS) as usize;

/// Instants by thresholds of units and of lengths: no need of at least these units for at least this length fits
/// earlier.
///
/// Monotone: rows and columns never fall from one threshold to the next.
#[derive(Clone, Debug, Default)]
pub struct Floors {
    cells: Vec<SimTime>,
    rows: usize,
}

impl Floors {
    /// Forgets everything; `most` units are the most that will be asked for.
    pub fn reset(&mut self, now: SimTime, most: i64) {
        self.rows = below(most) + 1;
        self.cells.clear();
        self.cells.resize(self.rows * LENGTHS, now);
    }

    /// An instant before which a need of `units` for `length` does not fit.
    #[must_use]
    pub fn of(&self, units: i64, length: SimDuration) -> SimTime {
        let row = below(units).min(self.rows - 1);
        let column = below(length.micros()).saturating_sub(SHORT).min(LENGTHS - 1);
        self.cells[row * LENGTHS + column]
    }

    /// Notes that a need of `units` for `length` fits no earlier than `start`.
    pub fn raise(&mut self, units: i64, length: SimDuration, start: SimTime) {
        let first = match above(length.micros()) {
            0 => 0,
            threshold => threshold.saturating_sub(SHORT).max(1),
        };
        let mut end = LENGTHS;
        for row in above(units)..self.rows {
            let cells = &mut self.cells[row * LENGTHS..(row + 1) * LENGTHS];
            if cells.get(first).is_none_or(|&cell| cell >= start) {
                return;
            }
            // Instants as late as `start` in one row are so in the next, too: the search goes on where it ended.
            while cells[end - 1] >= start {
                end -= 1;
            }
            cells[first..end].fill(start);
        }
    }
}

/// The last threshold that is not above `number`.
fn below(number: i64) -> usize {
    let number = number.max(1).cast_unsigned();
    let octave = number.ilog2();
    let step = if octave == 0 { 0 } else { (number >> (octave - 1)) & 1 };
    (octave * STEPS) as usize + usize::from(step == 1)
}

/// The first threshold that is not below `number`.
fn above(number: i64) -> usize {
    if number <= 1 { 0 } else { below(number - 1) + 1 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lengths from a microsecond to beyond all thresholds, many of them alike.
    fn lengths() -> impl Strategy<Value = i64> {
        (0..3_i64, 0..46_u32).prop_map(|(more, octave)| (1_i64 << octave) * (2 + more) / 2 - 1)
    }

    #[test]
    fn a_threshold_below_is_not_above_and_the_next_is() {
        for number in 1..5_000_i64 {
            let (under, over) = (below(number), above(number));
            assert!(over.abs_diff(under) <= 1, "{number}: {under} {over}");
            assert!(below(number + 1) >= under && above(number + 1) >= over && above(number) <= below(2 * number));
        }
    }

    proptest! {
        /// Twin: a list of all that was noted. It never says more, and knows all that was noted of half the need, if that
        /// is not too short or too long.
        #[test]
        fn says_no_more_than_a_list_of_what_was_noted(
            noted in prop::collection::vec((1..100_i64, lengths(), 0..1000_i64), 0..60),
            asked in prop::collection::vec((1..220_i64, lengths()), 1..40),
        ) {
            let (now, most) = (SimTime::from_micros(0), 220);
            let mut floors = Floors::default();
            floors.reset(now, most);
            for &(units, length, start) in &noted {
                floors.raise(units, SimDuration::from_micros(length), SimTime::from_micros(start));
            }
            for (units, length) in asked {
                let floor = floors.of(units, SimDuration::from_micros(length));
                let least = |factor: i64, length: i64| {
                    let known = noted.iter().filter(|note| factor * note.0 <= units && factor * note.1.max(1) <= length.max(1));
                    known.map(|note| SimTime::from_micros(note.2)).max().unwrap_or(now)
                };
                let told = if length < 1 << 17 { least(2, 1) } else { least(2, length.min(1 << 43)) };
                prop_assert!(told <= floor && floor <= least(1, length), "{:?} {:?} {:?}", told, floor, least(1, length));
            }
        }
    }
}
