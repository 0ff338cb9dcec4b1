//! Lower bounds for the earliest fit in a plan that only ever gets fuller, from the last few needs: a need that
//! dominates one of them (no less, for no shorter) fits no earlier.

use crate::algo::releases::Claim;
use crate::units::{SimDuration, SimTime};

/// Number of needs that are remembered.
const MOST: usize = 128;

/// The last needs, column by column, and the earliest instants at which they fitted.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    units: Vec<i64>,
    microwatts: Vec<i64>,
    lengths: Vec<SimDuration>,
    starts: Vec<SimTime>,
    /// The entry that is overwritten next.
    oldest: usize,
}

impl Recent {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.units.clear();
        self.microwatts.clear();
        self.lengths.clear();
        self.starts.clear();
        self.oldest = 0;
    }

    /// An instant before which `need` does not fit for `length`, or `now`.
    #[must_use]
    pub fn floor(&self, now: SimTime, need: Claim, length: SimDuration) -> SimTime {
        let needs = self.units.iter().zip(&self.microwatts).zip(&self.lengths).zip(&self.starts);
        needs.fold(now, |floor, (((&units, &microwatts), &longest), &start)| {
            let is_no_less = need.covers(Claim { units, microwatts }) && longest <= length;
            if is_no_less { floor.max(start) } else { floor }
        })
    }

    /// Notes that `need` fits at `start` for `length`, and no earlier.
    pub fn note(&mut self, need: Claim, length: SimDuration, start: SimTime) {
        if self.starts.len() < MOST {
            self.units.push(need.units);
            self.microwatts.push(need.microwatts);
            self.lengths.push(length);
            self.starts.push(start);
            return;
        }
        let at = self.oldest;
        self.oldest = (at + 1) % MOST;
        (self.units[at], self.microwatts[at]) = (need.units, need.microwatts);
        (self.lengths[at], self.starts[at]) = (length, start);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Twin: a list of all that was noted.
        #[test]
        fn says_what_the_last_of_a_list_say(
            noted in prop::collection::vec((1..20_i64, 1..20_i64, 0..20_i64, 0..100_i64), 0..300),
            asked in prop::collection::vec((0..22_i64, 0..22_i64, 0..22_i64), 1..40),
        ) {
            let claim = |units, microwatts| Claim { units, microwatts };
            let mut recent = Recent::default();
            for &(units, watts, length, start) in &noted {
                recent.note(claim(units, watts), SimDuration::from_micros(length), SimTime::from_micros(start));
            }
            let last = &noted[noted.len().saturating_sub(MOST)..];
            for (units, watts, length) in asked {
                let known = last.iter().filter(|need| need.0 <= units && need.1 <= watts && need.2 <= length);
                let floor = known.map(|need| need.3).max().unwrap_or(0).max(7);
                let found = recent.floor(SimTime::from_micros(7), claim(units, watts), SimDuration::from_micros(length));
                prop_assert_eq!(found, SimTime::from_micros(floor));
            }
        }
    }
}
