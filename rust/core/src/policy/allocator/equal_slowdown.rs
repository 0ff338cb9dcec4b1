//! Caps under which all jobs slow down alike (operations page, rule 26).

use crate::cluster::runs::{Run, RunId};
use crate::error::Result;
use crate::policy::View;
use crate::policy::allocator::kinds::Kinds;
use crate::policy::allocator::{Allocator, Draws, running};
use crate::policy::budget::least::LeastCaps;
use crate::policy::budget::levels::Levels;
use crate::power::caps::CapsKind;
use crate::power::in_force::Allotted;
use crate::units::Watts;

/// Step between the slowdowns that are tried.
const STEP: f64 = 1.0 / 1024.0;

/// The least slowdown, common to all jobs, that keeps within the budget; the limit if none does.
#[derive(Clone, Debug)]
pub struct EqualSlowdown {
    limit: f64,
    levels: Levels,
    /// No cap first, then the levels, ascending.
    choices: Vec<Allotted>,
    draws: Draws,
    /// Draws by the cap model.
    kinds: Kinds,
    /// Step that was chosen last by the model.
    last_step: usize,
    /// Change in the draw of all runs at each step, where levels are set.
    changes: Vec<Watts>,
}

fn slowdown(step: usize, limit: f64) -> f64 {
    (1.0 + step as f64 * STEP).min(limit)
}

/// The first step up to `last` that fits, or `last`, where all behind one that does fit as well: found by halving, around a
/// guess.
fn first_that_fits(last: usize, guess: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
    // None below `low` fits, and `high` does, or is the last.
    let (mut low, mut high, mut stride) = (0, last, 1);
    let mut middle = guess;
    while low < high {
        if fits(middle) {
            high = middle;
            middle = high.saturating_sub(stride).max(low);
        } else {
            low = (middle + 1).min(high);
            middle = (low + stride).min(high);
        }
        stride *= 2;
        if high - low <= stride {
            middle = usize::midpoint(low, high);
        }
    }
    low
}

impl EqualSlowdown {
    /// Slows jobs down at most `limit` times, from 1. Where tables say what caps do, sets one of these caps, W a node,
    /// ascending.
    #[must_use]
    pub fn new(limit: f64, levels: Vec<f64>) -> Self {
        let choices = [Allotted::None].into_iter().chain(levels.iter().map(|&level| Allotted::Watts(level)));
        Self {
            limit,
            choices: choices.collect(),
            levels: Levels::new(levels),
            draws: Draws::default(),
            kinds: Kinds::default(),
            changes: Vec::new(),
            last_step: 0,
        }
    }

    fn slowdown(&self, step: usize) -> f64 {
        slowdown(step, self.limit)
    }

    /// First step that slows as much as this, or the last.
    fn step_of(&self, slowdown: f64) -> usize {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a slowdown is at least 1")]
        let mut step = ((slowdown - 1.0) / STEP).floor().max(0.0) as usize;
        while self.slowdown(step) < slowdown {
            step += 1;
        }
        step
    }

    /// Choice for a job at a step: the lowest level that slows it no more than the step does, or no cap.
    fn choice_at(&self, view: &View<'_>, run: &Run, step: usize) -> usize {
        let slowdown = self.slowdown(step);
        let by = self.levels.of(view, run.job);
        let levels = (1..).zip(self.levels.watts()).zip(by);
        let mut within = levels.filter(|((_, watts), by)| **watts < run.caps.own_w && **by <= slowdown);
        within.next().map_or(0, |((choice, _), _)| choice)
    }

    /// Levels that a job passes as steps rise, each with the step from which it is the lowest that is allowed.
    fn descent(&self, view: &View<'_>, run: &Run) -> Vec<(usize, usize)> {
        let by = self.levels.of(view, run.job);
        let levels = (1..).zip(self.levels.watts()).zip(by);
        let own = levels.filter(|((_, watts), by)| **watts < run.caps.own_w && **by <= self.limit);
        let mut steps: Vec<_> = own.map(|((choice, _), &by)| (self.step_of(by), choice)).collect();
        steps.sort_unstable();
        let mut lowest = usize::MAX;
        steps.retain(|&(_, choice)| {
            choice < lowest && {
                lowest = choice;
                true
            }
        });
        steps
    }

    /// First step at which all runs together keep within the room, where levels are set: by prefix sums of the changes
    /// at each step.
    fn step_by_levels(&mut self, view: &View<'_>, room: Watts) -> usize {
        let last = self.step_of(self.limit);
        self.changes.clear();
        self.changes.resize(last + 1, Watts::ZERO);
        for (id, run) in running(view) {
            let descent = self.descent(view, run);
            let draws = self.draws.of(view, id, run, &self.choices);
            let mut before = draws[0];
            self.changes[0] += before;
            for (step, choice) in descent {
                self.changes[step] += draws[choice];
                self.changes[step] -= before;
                before = draws[choice];
            }
        }
        let mut sum = Watts::ZERO;
        let within = self.changes.iter().position(|&change| {
            sum += change;
            sum <= room
        });
        within.unwrap_or(last)
    }

    /// First step at which all runs together keep within the room, by the cap model. Draws fall with every step, so it
    /// is found by bisection. The search gallops away from the last step chosen, which is mostly near.
    ///
    /// On shared nodes each run's share of a draw is rounded, so there the runs are added up one by one.
    fn step_by_model(&mut self, view: &View<'_>, room: Watts) -> usize {
        let last = self.step_of(self.limit);
        let (limit, guess, kinds) = (self.limit, self.last_step.min(last), &mut self.kinds);
        let fits = |step: usize| {
            let drawn = kinds.draw_at(view, slowdown(step, limit));
            let each = || running(view).map(|(id, run)| kinds.of(view, id, run)).sum::<Watts>();
            (if view.platform.is_exclusive() { drawn } else { each() }) <= room
        };
        self.last_step = first_that_fits(last, guess, fits);
        self.last_step
    }

    fn by_model(&self, step: usize) -> Allotted {
        Allotted::Slowdown(self.slowdown(step))
    }
}

impl Allocator for EqualSlowdown {
    fn least(&self) -> LeastCaps {
        LeastCaps::Slowdown(self.limit, self.levels.clone())
    }

    fn allot(&mut self, view: &View<'_>, room: Watts, out: &mut Vec<(RunId, Allotted, Watts)>) -> Result<()> {
        match view.predicted.caps_kind() {
            Some(CapsKind::Tables) => {
                let step = self.step_by_levels(view, room);
                for (id, run) in running(view) {
                    let choice = self.choice_at(view, run, step);
                    let watts = self.draws.of(view, id, run, &self.choices)[choice];
                    out.push((id, self.choices[choice].clone(), watts));
                }
            }
            Some(CapsKind::Model) => {
                self.kinds.follow(view);
                let step = self.step_by_model(view, room);
                let allotted = self.by_model(step);
                self.kinds.draw_at(view, self.slowdown(step));
                out.extend(running(view).map(|(id, run)| (id, allotted.clone(), self.kinds.of(view, id, run))));
            }
            None => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_that_fits_is_found_from_any_guess() {
        for last in 0..20 {
            for guess in 0..=last {
                for first in 0..=last + 1 {
                    let found = first_that_fits(last, guess, |step| step >= first);
                    assert_eq!(found, first.min(last), "up to {last}, from {guess}");
                }
            }
        }
    }
}
