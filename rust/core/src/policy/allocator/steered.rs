//! One cap for all that runs, which is set from outside as far as the budget allows.

use crate::cluster::runs::RunId;
use crate::error::Result;
use crate::policy::View;
use crate::policy::allocator::{Allocator, Draws, running};
use crate::policy::budget::least::LeastCaps;
use crate::power::in_force::Allotted;
use crate::units::Watts;

/// Sets the highest of some caps, from a level on, that keeps within the budget; the lowest if none does.
#[derive(Clone, Debug)]
pub struct Steered {
    /// No cap first, then ever lower caps.
    choices: Vec<Allotted>,
    /// Index of the first that may be used.
    level: usize,
    draws: Draws,
}

impl Steered {
    /// An allocator of these caps, W a node, ascending; no cap at first.
    #[must_use]
    pub fn new(levels: &[f64]) -> Self {
        let lower = levels.iter().rev().map(|&level| Allotted::Watts(level));
        Self { choices: [Allotted::None].into_iter().chain(lower).collect(), level: 0, draws: Draws::default() }
    }
}

impl Allocator for Steered {
    fn least(&self) -> LeastCaps {
        match self.choices.last() {
            Some(&Allotted::Watts(watts)) => LeastCaps::Watts(watts),
            _ => LeastCaps::None,
        }
    }

    fn allot(&mut self, view: &View<'_>, room: Watts, out: &mut Vec<(RunId, Allotted, Watts)>) -> Result<()> {
        let Self { choices, level, draws } = self;
        let sums = draws.sums(view, choices);
        let within = sums[*level..].iter().position(|&sum| sum <= room).map(|place| *level + place);
        let chosen = within.unwrap_or(choices.len() - 1);
        let choice = &choices[chosen];
        for (id, run) in running(view).filter(|(_, run)| run.caps.allotted != *choice) {
            out.push((id, choice.clone(), draws.of(view, id, run, choices)[chosen]));
        }
        Ok(())
    }

    fn steer(&mut self, level: usize) {
        self.level = level.min(self.choices.len() - 1);
    }
}
