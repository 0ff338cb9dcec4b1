//! Allocators, which split the watts between running jobs (operations page, rules 23 to 26).

pub mod equal_slowdown;
pub mod fixed;
mod kinds;
pub mod steered;
pub mod uniform;

use dyn_clone::DynClone;

use crate::cluster::counted::Counted;
use crate::cluster::counted::Estimate;
use crate::cluster::runs::{Run, RunId};
use crate::error::Result;
use crate::policy::View;
use crate::policy::budget::least::LeastCaps;
use crate::power::in_force::Allotted;
use crate::units::Watts;

/// Sets caps for all that runs.
pub trait Allocator: DynClone + Send + Sync {
    /// The lowest caps that it may set.
    fn least(&self) -> LeastCaps;

    /// Allots caps to running jobs so that together they are predicted to draw at most `room` beyond idle. Appends each
    /// with the draw that is predicted under it.
    ///
    /// # Errors
    /// If it fails.
    fn allot(&mut self, view: &View<'_>, room: Watts, out: &mut Vec<(RunId, Allotted, Watts)>) -> Result<()>;

    /// Limits its caps to those up to this level from now on, if levels are set from outside; 0: no limit.
    fn steer(&mut self, level: usize) {
        let _ = level;
    }

    /// True if it ever sets a cap.
    fn is_active(&self) -> bool {
        true
    }
}

dyn_clone::clone_trait_object!(Allocator);

/// Runs that are not suspended.
pub fn running<'a>(view: &View<'a>) -> impl Iterator<Item = (RunId, &'a Run)> {
    view.runs.iter().filter(|(_, run)| run.suspension.is_none())
}

/// Draw beyond idle that is predicted of a run under this allotted cap.
#[must_use]
pub fn draw_of(view: &View<'_>, run: &Run, allotted: &Allotted) -> Watts {
    let estimate: Estimate = run.basis.estimate;
    let counted = Counted::new(
        view.platform,
        view.predicted,
        view.profile(run.job),
        run.caps.allotting(allotted.clone()),
        estimate,
    );
    view.held(run.job, view.runs.nodes(run).iter().map(|&node| counted.on(node)).sum())
}

/// Predicted draws of runs at each of some levels, and their sums over the machine, kept from pass to pass.
#[derive(Clone, Debug, Default)]
struct Draws {
    /// Draws of each run, by its slot.
    of: Vec<Option<Known>>,
    /// Sums over the runs that count, by level.
    sums: Vec<Watts>,
}

#[derive(Clone, Debug)]
struct Known {
    id: RunId,
    /// Conditions under which the draws hold: the emergency's cap, as bits, and the place of the run's nodes.
    found: (u64, usize),
    draws: Vec<Watts>,
    /// True if it is in the sums.
    counts: bool,
}

impl Draws {
    /// Draws of a run at each of `choices`.
    fn of(&mut self, view: &View<'_>, id: RunId, run: &Run, choices: &[Allotted]) -> &[Watts] {
        let (slot, found) = (id.slot() as usize, (run.caps.emergency_w.to_bits(), run.places.start));
        if self.of.len() <= slot {
            self.of.resize(slot + 1, None);
        }
        let place = &mut self.of[slot];
        if place.as_ref().is_none_or(|known| (known.id, known.found) != (id, found)) {
            if let Some(known) = place.take().filter(|known| known.counts) {
                self.sums.iter_mut().zip(known.draws).for_each(|(sum, draw)| *sum -= draw);
            }
            let draws = choices.iter().map(|choice| draw_of(view, run, choice)).collect();
            *place = Some(Known { id, found, draws, counts: false });
        }
        place.as_ref().map_or(&[], |known| &known.draws)
    }

    /// Draws of all that runs, at each of `choices`.
    fn sums(&mut self, view: &View<'_>, choices: &[Allotted]) -> &[Watts] {
        self.sums.resize(choices.len(), Watts::ZERO);
        for (id, run) in running(view) {
            self.of(view, id, run, choices);
        }
        for known in self.of.iter_mut().flatten() {
            let runs = view.runs.get(known.id).is_some_and(|run| run.suspension.is_none());
            if runs == known.counts {
                continue;
            }
            known.counts = runs;
            for (sum, &draw) in self.sums.iter_mut().zip(&known.draws) {
                if runs {
                    *sum += draw;
                } else {
                    *sum -= draw;
                }
            }
        }
        &self.sums
    }
}
