//! Lower bounds for the earliest fit in a plan that only ever gets fuller: a need that dominates an earlier one (no
//! less, for no shorter) fits no earlier than that did.

use crate::units::{SimDuration, SimTime};

/// Thresholds per octave, as a power of two: of a short plan, and of a long one.
const COARSE: u32 = 1;
const FINE: u32 = 3;
/// Octaves of lengths: from 2^16 µs, a sixteenth of a second, to five months. A threshold that every length reaches
/// stands in the place of the first.
const SHORTEST: u32 = 16;
const OCTAVES: u32 = 28;
/// Number of needs up to which each is looked at: a plan of so few does not repay clearing thresholds.
const FEW: usize = 8;
/// Number of needs noted from which a plan is long: that many searches repay clearing the fine thresholds.
const MANY: usize = 512;

/// Lower bounds by thresholds of units and of lengths.
///
/// A few needs are compared one by one. Coarse thresholds are quick to clear; long plans are searched from fine ones, too.
#[derive(Clone, Debug)]
pub struct Floors {
    /// Units, lengths and starts of the first needs, as long as they are few.
    firsts: Vec<(i64, SimDuration, SimTime)>,
    coarse: Grid,
    fine: Grid,
    /// Number of needs noted.
    noted: usize,
    now: SimTime,
    most: i64,
}

impl Default for Floors {
    fn default() -> Self {
        let (coarse, fine) = (Grid::of(COARSE), Grid::of(FINE));
        Self { firsts: Vec::new(), coarse, fine, noted: 0, now: SimTime::default(), most: 0 }
    }
}

impl Floors {
    /// Forgets everything; `most` units are the most that will be asked for.
    pub fn reset(&mut self, now: SimTime, most: i64) {
        (self.now, self.most, self.noted) = (now, most, 0);
        self.firsts.clear();
    }

    /// An instant before which a need of `units` for `length` does not fit.
    #[must_use]
    pub fn of(&self, units: i64, length: SimDuration) -> SimTime {
        if self.noted <= FEW {
            let dominated = self.firsts.iter().filter(|first| first.0 <= units && first.1 <= length);
            return dominated.fold(self.now, |latest, first| latest.max(first.2));
        }
        let coarse = self.coarse.floor(units, length);
        if self.noted >= MANY { coarse.max(self.fine.floor(units, length)) } else { coarse }
    }

    /// Notes that a need of `units` for `length` fits no earlier than `start`.
    pub fn raise(&mut self, units: i64, length: SimDuration, start: SimTime) {
        self.noted += 1;
        if self.noted <= FEW {
            return self.firsts.push((units, length, start));
        }
        if self.noted == FEW + 1 {
            self.coarse.reset(self.now, self.most);
            for (units, length, start) in self.firsts.drain(..) {
                self.coarse.raise(units, length, start);
            }
        }
        if self.noted == MANY {
            self.fine.reset(self.now, self.most);
        }
        if self.noted >= MANY {
            self.fine.raise(units, length, start);
        }
        self.coarse.raise(units, length, start);
    }
}

/// Instants by thresholds of units and of lengths: no need of at least these units for at least this length fits earlier.
///
/// A row never falls from one threshold of lengths to the next. Rows are the nodes of a Fenwick tree (Fenwick 1994) with
/// maxima in place of sums: counted from 1, a row has what was noted at its threshold of units and those before it, as many
/// as its number's lowest bit. So a note changes a few rows, and a floor is the maximum of a few.
#[derive(Clone, Debug)]
struct Grid {
    /// Thresholds per octave, as a power of two.
    bits: u32,
    cells: Vec<SimTime>,
    rows: usize,
}

impl Grid {
    fn of(bits: u32) -> Self {
        Self { bits, cells: Vec::new(), rows: 0 }
    }

    /// Number of thresholds of lengths.
    fn columns(&self) -> usize {
        (OCTAVES << self.bits) as usize
    }

    /// Number of the threshold of lengths whose place the first column takes.
    fn short(&self) -> usize {
        (SHORTEST << self.bits) as usize
    }

    fn reset(&mut self, now: SimTime, most: i64) {
        self.rows = below(most, self.bits) + 1;
        self.cells.clear();
        self.cells.resize(self.rows * self.columns(), now);
    }

    fn floor(&self, units: i64, length: SimDuration) -> SimTime {
        let columns = self.columns();
        let column = below(length.micros(), self.bits).saturating_sub(self.short()).min(columns - 1);
        let mut row = below(units, self.bits).min(self.rows - 1) + 1;
        let mut floor = SimTime::from_micros(i64::MIN);
        while row > 0 {
            floor = floor.max(self.cells[(row - 1) * columns + column]);
            row -= lowest_bit(row);
        }
        floor
    }

    fn raise(&mut self, units: i64, length: SimDuration, start: SimTime) {
        let first = match above(length.micros(), self.bits) {
            0 => 0,
            threshold => threshold.saturating_sub(self.short()).max(1),
        };
        let columns = self.columns();
        let mut row = above(units, self.bits) + 1;
        while row <= self.rows && first < columns {
            let cells = &mut self.cells[(row - 1) * columns + first..row * columns];
            let earlier = cells.iter().take_while(|&&cell| cell < start).count();
            if earlier == 0 {
                // The rows that follow in the tree have all that this one has.
                return;
            }
            cells[..earlier].fill(start);
            row += lowest_bit(row);
        }
    }
}

fn lowest_bit(number: usize) -> usize {
    number & number.wrapping_neg()
}

/// The last threshold that is not above `number`.
fn below(number: i64, bits: u32) -> usize {
    let number = number.max(1).cast_unsigned();
    let octave = number.ilog2();
    let leading = if octave > bits { number >> (octave - bits) } else { number << (bits - octave) };
    let within = leading & ((1 << bits) - 1);
    ((octave << bits) as usize) + usize::try_from(within).unwrap_or(0)
}

/// The first threshold that is not below `number`.
fn above(number: i64, bits: u32) -> usize {
    if number <= 1 { 0 } else { below(number - 1, bits) + 1 }
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
        for (number, bits) in (1..5_000_i64).flat_map(|number| [(number, COARSE), (number, FINE)]) {
            let (under, over) = (below(number, bits), above(number, bits));
            assert!(over <= under + 1, "{number}: {under} {over}");
            assert!(
                below(number + 1, bits) >= under
                    && above(number + 1, bits) >= over
                    && above(number, bits) <= below(2 * number, bits)
            );
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
            let mut grids = [COARSE, FINE].map(Grid::of);
            let (mut few, mut many) = (Floors::default(), Floors::default());
            for grid in &mut grids {
                grid.reset(now, most);
            }
            few.reset(now, most);
            many.reset(now, most);
            // Needs that fit at once tell nothing, but make a plan long.
            (0..MANY).for_each(|_| many.raise(1, SimDuration::ZERO, now));
            for &(units, length, start) in &noted {
                let (length, start) = (SimDuration::from_micros(length), SimTime::from_micros(start));
                for grid in &mut grids {
                    grid.raise(units, length, start);
                }
                few.raise(units, length, start);
                many.raise(units, length, start);
            }
            for (units, length) in asked {
                let [floor, fine] = [0, 1].map(|which| grids[which].floor(units, SimDuration::from_micros(length)));
                if noted.len() <= FEW {
                    let dominated = noted.iter().filter(|note| note.0 <= units && note.1 <= length);
                    let latest = dominated.map(|note| SimTime::from_micros(note.2)).max().unwrap_or(now);
                    prop_assert_eq!(few.of(units, SimDuration::from_micros(length)), latest);
                } else {
                    prop_assert_eq!(few.of(units, SimDuration::from_micros(length)), floor);
                }
                prop_assert_eq!(many.of(units, SimDuration::from_micros(length)), fine.max(floor));
                prop_assert!(floor <= fine);
                let least = |factor: i64, length: i64| {
                    let known = noted.iter().filter(|note| factor * note.0 <= units && factor * note.1.max(1) <= length.max(1));
                    known.map(|note| SimTime::from_micros(note.2)).max().unwrap_or(now)
                };
                let told = if length < 1 << 17 { least(2, 1) } else { least(2, length.min(1 << 43)) };
                prop_assert!(told <= floor && fine <= least(1, length), "{:?} {:?} {:?} {:?}", told, floor, fine, least(1, length));
            }
        }
    }
}
