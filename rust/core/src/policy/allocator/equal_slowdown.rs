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

/// Slowdowns are tried in steps of this.
const STEP: f64 = 1.0 / 1024.0;

/// The least slowdown, common to all jobs, that keeps within the budget; the limit if none does.
#[derive(Clone, Debug)]
pub struct EqualSlowdown {
    limit: f64,
    levels: Levels,
    /// No cap first, then the levels, ascending.
    choices: Vec<Allotted>,
    draws: Draws,
    /// By the model.
    kinds: Kinds,
    /// The step that the model took last.
    last_step: usize,
    /// By how much each step changes what all draw, where levels are set.
    changes: Vec<Watts>,
}

fn slowdown(step: usize, limit: f64) -> f64 {
    (1.0 + step as f64 * STEP).min(limit)
}

impl EqualSlowdown {
    /// At most `limit` times slower, from 1; with these caps, W a node, ascending, where tables say what they do.
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

    /// The first step that slows as much as this, or the last.
    fn step_of(&self, slowdown: f64) -> usize {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a slowdown is at least 1")]
        let mut step = ((slowdown - 1.0) / STEP).floor().max(0.0) as usize;
        while self.slowdown(step) < slowdown {
            step += 1;
        }
        step
    }

    /// What a job is allotted at a step: the lowest level that it has come down to.
    fn choice_at(&self, view: &View<'_>, run: &Run, step: usize) -> usize {
        let slowdown = self.slowdown(step);
        let by = self.levels.of(view, run.job);
        let levels = (1..).zip(self.levels.watts()).zip(by);
        let mut within = levels.filter(|((_, watts), by)| **watts < run.caps.own_w && **by <= slowdown);
        within.next().map_or(0, |((choice, _), _)| choice)
    }

    /// The levels that a job comes down through, each with the step from which it is the lowest within.
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

    /// By levels: the first step at which all keep within the room, by adding up what each step changes.
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

    /// By the model: draws fall with every step, so the first within the room is found by halving, around the last one.
    ///
    /// On shared nodes each run's share of a draw is rounded: there the runs are added up one by one.
    fn step_by_model(&mut self, view: &View<'_>, room: Watts) -> usize {
        let last = self.step_of(self.limit);
        let (limit, kinds) = (self.limit, &mut self.kinds);
        let mut fits = |step: usize| {
            let drawn = kinds.draw_at(view, slowdown(step, limit));
            let each = || running(view).map(|(id, run)| kinds.of(view, id, run)).sum::<Watts>();
            (if view.platform.is_exclusive() { drawn } else { each() }) <= room
        };
        // None below `low` fits, and `high` does, or is the last.
        let (mut low, mut high, mut stride) = (0, last, 1);
        let mut middle = self.last_step.min(last);
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
        self.last_step = low;
        low
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
