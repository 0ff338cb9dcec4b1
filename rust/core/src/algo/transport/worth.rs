//! Worth of the units of a supply: the dual label of its kind, integrated over the time in which it is there.

use super::{FlowStretch, Supply};

/// Sums labels over time; to be shown every stretch, in order.
#[derive(Clone, Debug)]
pub struct SupplyWorth<'s> {
    supplies: &'s [Supply],
    by_start: Vec<usize>,
    by_end: Vec<usize>,
    begun: usize,
    ended: usize,
    /// Integral of each kind's label so far, while it is there.
    so_far: Vec<f64>,
    /// Integral at the start of each supply, then its worth.
    worth: Vec<f64>,
}

impl<'s> SupplyWorth<'s> {
    /// Nothing summed yet.
    #[must_use]
    pub fn new(supplies: &'s [Supply], kinds: usize) -> Self {
        let mut by_start: Vec<usize> =
            (0..supplies.len()).filter(|&own| supplies[own].from < supplies[own].until).collect();
        let mut by_end = by_start.clone();
        by_start.sort_unstable_by_key(|&own| (supplies[own].from, own));
        by_end.sort_unstable_by_key(|&own| (supplies[own].until, own));
        let (so_far, worth) = (vec![0.0; kinds], vec![0.0; supplies.len()]);
        Self { supplies, by_start, by_end, begun: 0, ended: 0, so_far, worth }
    }

    /// Notes a stretch.
    pub fn note(&mut self, stretch: &FlowStretch<'_, '_>) {
        self.pass(stretch.from);
        for (kind, _, label) in stretch.flow.kinds() {
            self.so_far[kind] += label * (stretch.until - stretch.from) as f64;
        }
    }

    /// Worth of a unit of each supply; 0 for one of no length.
    #[must_use]
    pub fn finish(mut self) -> Vec<f64> {
        self.pass(i64::MAX);
        self.worth
    }

    fn pass(&mut self, instant: i64) {
        while let Some(&own) = self.by_end.get(self.ended).filter(|&&own| self.supplies[own].until <= instant) {
            // It began before, as it has a length, and no stretch starts between the two.
            self.worth[own] = self.so_far[self.supplies[own].kind as usize] - self.worth[own];
            self.ended += 1;
        }
        while let Some(&own) = self.by_start.get(self.begun).filter(|&&own| self.supplies[own].from <= instant) {
            self.worth[own] = self.so_far[self.supplies[own].kind as usize];
            self.begun += 1;
        }
    }
}
