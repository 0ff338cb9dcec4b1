//! Power governance of a composed policy: its allocator at the end of each pass, and emergencies when the draw is too
//! high.

use crate::cluster::runs::Run;
use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::compose::Composed;
use crate::policy::emergency::Rank;
use crate::policy::emergency::recovery::Recovery;
use crate::policy::{Decision, Decisions, View};
use crate::units::Watts;

impl Composed {
    /// Gives back before the starts of a pass what an emergency took, as far as there is room, and holds the starts if
    /// something is left to give back (operations page, rules 20 to 22).
    pub(super) fn recover(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        let Self { governance: Some(governance), power: Some(power), parts, least, .. } = self else {
            return Ok(());
        };
        let (room, ever) = (power.ceiling.room(view), power.ceiling.ever(view));
        let recovery = Recovery { emergencies: &governance.emergencies, room, ever };
        let (order, analyzer, least) = (&mut parts.order, parts.analyzer.as_ref(), &*least);
        let is_left = recovery.run(
            view,
            &mut |view, jobs, ranks| order.rank(&Ask { view, analyzer, least }, jobs, ranks),
            out,
        )?;
        if is_left {
            out.hold();
        }
        Ok(())
    }

    /// Sets the caps of all that runs at the end of a pass (rules 23 to 26).
    pub(super) fn allot(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        let Self { governance: Some(governance), power: Some(power), .. } = self else { return Ok(()) };
        let room: Watts = power.ceiling.room(view) + view.claimed;
        governance.allotted.clear();
        governance.allocator.allot(view, room, &mut governance.allotted)?;
        for (id, allotted, watts) in governance.allotted.drain(..) {
            if view.runs.get(id).is_some_and(|run| run.caps.allotted != allotted) {
                out.push(Decision::Allot(id, allotted, watts));
            }
        }
        Ok(())
    }

    /// Begins an emergency: the machine draws more than the budget.
    pub(super) fn alert(&mut self, view: &View<'_>) -> Result<()> {
        let Self { governance: Some(governance), parts, least, .. } = self else { return Ok(()) };
        let (order, analyzer, least) = (&mut parts.order, parts.analyzer.as_ref(), &*least);
        governance.relief.begin(&governance.emergencies, view, &mut |view, jobs, ranks| {
            order.rank(&Ask { view, analyzer, least }, jobs, ranks)
        })
    }

    /// Takes the next step of the emergency, if one is left (rules 29 to 33).
    pub(super) fn relieve(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        let Self { governance: Some(governance), power: Some(power), parts, least, .. } = self else { return Ok(()) };
        let (order, analyzer, least) = (&mut parts.order, parts.analyzer.as_ref(), &*least);
        let rank: &mut Rank<'_> = &mut |view, jobs, ranks| order.rank(&Ask { view, analyzer, least }, jobs, ranks);
        let fits_never = &mut |view: &View<'_>, run: &Run| {
            power.exceeds(&Ask { view, analyzer, least }, run.job, analyzer.at_last(view.jobs, run.job))
        };
        if let Some(step) = governance.relief.next(&governance.emergencies, view, rank, fits_never)? {
            out.push(step);
        }
        Ok(())
    }
}
