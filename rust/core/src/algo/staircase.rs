//! Pareto front of refused requests. While capacity only shrinks, a request that dominates a refused one (no fewer
//! units, no shorter) is refused too.

use crate::units::SimDuration;

/// Refused needs of which none dominates another: units ascending, lengths descending.
#[derive(Clone, Debug, Default)]
pub struct Staircase {
    steps: Vec<(i64, SimDuration)>,
}

impl Staircase {
    /// True if a need of `units` for `length` is known to be refused.
    #[must_use]
    pub fn holds(&self, units: i64, length: SimDuration) -> bool {
        // The last step, which is refused for the shortest length, decides most needs.
        match self.steps.last() {
            Some(last) if length < last.1 => false,
            Some(last) if units >= last.0 => true,
            _ => {
                let below = self.steps.partition_point(|step| step.0 <= units);
                below.checked_sub(1).is_some_and(|last| self.steps[last].1 <= length)
            }
        }
    }

    /// Notes that a need of `units` for `length` was refused.
    pub fn refuse(&mut self, units: i64, length: SimDuration) {
        if self.holds(units, length) {
            return;
        }
        let first = self.steps.partition_point(|step| step.0 < units);
        let said = self.steps[first..].iter().take_while(|step| step.1 >= length).count();
        self.steps.splice(first..first + said, [(units, length)]);
    }

    /// True if nothing was refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.steps.clear();
    }
}

/// Refused needs of units and of watts: a need that dominates one of either kind (no less, no shorter) is refused, too.
#[derive(Clone, Debug, Default)]
pub struct Refused {
    /// Needs refused for lack of units.
    pub units: Staircase,
    /// Needs refused for lack of microwatts.
    pub watts: Staircase,
}

impl Refused {
    /// Nothing refused.
    pub const NOTHING: &Self = &Self { units: Staircase { steps: Vec::new() }, watts: Staircase { steps: Vec::new() } };

    /// True if a need for `length` is known to be refused, for its units or its microwatts.
    #[must_use]
    pub fn holds(&self, units: i64, microwatts: i64, length: SimDuration) -> bool {
        self.units.holds(units, length) || self.watts.holds(microwatts, length)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.units.clear();
        self.watts.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Twin: a list of all refusals.
        #[test]
        fn says_what_a_list_of_refusals_says(
            refused in prop::collection::vec((1..20_i64, 1..20_i64), 0..40),
            asked in prop::collection::vec((0..22_i64, 0..22_i64), 1..40),
        ) {
            let mut stairs = Staircase::default();
            for &(units, length) in &refused {
                stairs.refuse(units, SimDuration::from_micros(length));
            }
            for (units, length) in asked {
                let known = refused.iter().any(|need| need.0 <= units && need.1 <= length);
                prop_assert_eq!(stairs.holds(units, SimDuration::from_micros(length)), known);
            }
            prop_assert!(stairs.steps.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1));
        }
    }
}
