//! Who splits the watts between running jobs (operations page, rules 23 to 26).

pub mod equal_slowdown;
pub mod fixed;
pub mod uniform;

use dyn_clone::DynClone;

use crate::policy::View;
use crate::policy::analyzer::Estimate;
use crate::policy::budget::draw::{Counted, held};
use crate::policy::budget::least::LeastCaps;
use crate::policy::runs::{Run, RunId};
use crate::power::in_force::Allotted;
use crate::units::Watts;

/// Sets caps for all that runs.
pub trait Allocator: DynClone + Send + Sync {
    /// The lowest caps that it may set.
    fn least(&self) -> LeastCaps;

    /// Says what each running job is allotted so that together they are predicted to draw at most `room` beyond idle.
    fn allot(&mut self, view: &View<'_>, room: Watts, out: &mut Vec<(RunId, Allotted)>);

    /// Whether it ever sets a cap.
    fn is_active(&self) -> bool {
        true
    }
}

dyn_clone::clone_trait_object!(Allocator);

/// Runs that are not suspended.
fn running<'a>(view: &View<'a>) -> impl Iterator<Item = (RunId, &'a Run)> {
    view.runs.iter().filter(|(_, run)| run.suspension.is_none())
}

/// What a run is predicted to draw beyond idle if it is allotted this.
fn draw_of(view: &View<'_>, run: &Run, allotted: Allotted) -> Watts {
    let estimate: Estimate = run.basis.estimate;
    let counted = Counted::new(view, run.job, run.caps.allotting(allotted), estimate);
    held(view, run.job, view.runs.nodes(run).iter().map(|&node| counted.on(node)).sum())
}

/// What runs would draw at each of some levels, kept from pass to pass.
#[derive(Clone, Debug, Default)]
struct Draws {
    /// By the run's slot.
    of: Vec<Option<(RunId, u64, Vec<Watts>)>>,
}

impl Draws {
    /// Of a run at each of `choices`.
    fn of(&mut self, view: &View<'_>, id: RunId, run: &Run, choices: &[Allotted]) -> &[Watts] {
        let (slot, emergency) = (id.slot() as usize, run.caps.emergency_w.to_bits());
        if self.of.len() <= slot {
            self.of.resize(slot + 1, None);
        }
        let place = &mut self.of[slot];
        if place.as_ref().is_none_or(|known| (known.0, known.1) != (id, emergency)) {
            let draws = choices.iter().map(|&choice| draw_of(view, run, choice)).collect();
            *place = Some((id, emergency, draws));
        }
        place.as_ref().map_or(&[], |known| &known.2)
    }
}
