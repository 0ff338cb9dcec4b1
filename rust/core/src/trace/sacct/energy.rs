//! Energy of a job by its steps.

use super::name::Step;

/// Energy that steps of one kind counted, and the node-seconds in which they did.
///
/// `.extern` sees all nodes all the time, numbered steps see the nodes that they run on, `.batch` sees the first node
/// only: of the kinds that counted any energy, the first in this order is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counted {
    pub(super) rank: u8,
    pub(super) energy_j: f64,
    /// NaN where a step does not have them.
    pub(super) node_s: f64,
}

const BATCH: u8 = 1;

impl Counted {
    pub(super) const NONE: Self = Self { rank: 0, energy_j: 0.0, node_s: 0.0 };

    /// The share of one step; None for a kind of step that is never taken.
    pub(super) fn by(step: Step, energy_j: f64, node_s: f64) -> Option<Self> {
        let rank = match step {
            Step::Extern => 3,
            Step::Numbered => 2,
            Step::Batch => BATCH,
            Step::Other => return None,
        };
        Some(Self { rank, energy_j, node_s })
    }

    /// Combines both: the sum for one kind, else the kind of the higher rank.
    pub(super) fn with(self, other: Self) -> Self {
        if self.rank == other.rank {
            let (energy_j, node_s) = (self.energy_j + other.energy_j, self.node_s + other.node_s);
            return Self { rank: self.rank, energy_j, node_s };
        }
        if self.rank > other.rank { self } else { other }
    }

    pub(super) fn is_none(self) -> bool {
        self.rank == 0
    }

    /// True if the energy covers all nodes of a job of so many nodes.
    pub(super) fn is_of_all(self, nodes: i32) -> bool {
        self.rank > BATCH || nodes == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_kind_of_step_counts() {
        let by = |step, energy_j| Counted::by(step, energy_j, 2.0).unwrap();
        let numbered = by(Step::Numbered, 5.0).with(by(Step::Batch, 9.0)).with(by(Step::Numbered, 6.0));
        assert_eq!((numbered.energy_j, numbered.node_s), (11.0, 4.0));
        assert_eq!(numbered.with(by(Step::Extern, 7.0)).energy_j, 7.0);
        assert!(by(Step::Batch, 1.0).is_of_all(1) && !by(Step::Batch, 1.0).is_of_all(2));
        assert!(Counted::by(Step::Other, 1.0, 1.0).is_none());
    }
}
