//! One cap for all that runs (operations page, rule 25).

use crate::cluster::runs::RunId;
use crate::error::Result;
use crate::policy::View;
use crate::policy::allocator::{Allocator, Draws, running};
use crate::policy::budget::least::LeastCaps;
use crate::power::in_force::Allotted;
use crate::units::Watts;

/// Sets the highest of some caps that keeps within the budget; the lowest if none does.
#[derive(Clone, Debug)]
pub struct Uniform {
    /// No cap first, then ever lower caps.
    choices: Vec<Allotted>,
    draws: Draws,
}

impl Uniform {
    /// An allocator of these caps, W a node, ascending; at least one.
    #[must_use]
    pub fn new(levels: &[f64]) -> Self {
        let lower = levels.iter().rev().map(|&level| Allotted::Watts(level));
        Self { choices: [Allotted::None].into_iter().chain(lower).collect(), draws: Draws::default() }
    }
}

impl Allocator for Uniform {
    fn least(&self) -> LeastCaps {
        match self.choices.last() {
            Some(&Allotted::Watts(watts)) => LeastCaps::Watts(watts),
            _ => LeastCaps::None,
        }
    }

    fn allot(&mut self, view: &View<'_>, room: Watts, out: &mut Vec<(RunId, Allotted, Watts)>) -> Result<()> {
        let Self { choices, draws } = self;
        let sums = draws.sums(view, choices);
        let chosen = sums.iter().position(|&sum| sum <= room).unwrap_or(choices.len() - 1);
        let choice = &choices[chosen];
        for (id, run) in running(view).filter(|(_, run)| run.caps.allotted != *choice) {
            out.push((id, choice.clone(), draws.of(view, id, run, choices)[chosen]));
        }
        Ok(())
    }
}
