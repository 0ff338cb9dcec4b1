//! Power governance of a composed policy: its allocator at the end of each pass, and emergencies when the draw is too
//! high.

use crate::cluster::runs::RunId;
use crate::error::Result;
use crate::policy::allocator::Allocator;
use crate::policy::analyzer::Ask;
use crate::policy::compose::Composed;
use crate::policy::emergency::monitor::Monitor;
use crate::policy::emergency::recovery::Recovery;
use crate::policy::emergency::relief::Relief;
use crate::policy::emergency::{Emergencies, Rank};
use crate::policy::{Decision, Decisions, Governor, View};
use crate::power::in_force::Allotted;
use crate::units::{SimDuration, Watts};

/// Parts that govern the power of what runs.
#[derive(Clone)]
pub struct Governance {
    /// Splits the watts between running jobs.
    pub allocator: Box<dyn Allocator>,
    /// Interval at whose multiples the allocator sets caps; zero: in every pass.
    pub allocator_interval: SimDuration,
    /// Rules of emergencies.
    pub emergencies: Emergencies,
    /// Meter of the machine's draw; none: the draw itself.
    pub gauge: Option<Box<dyn Monitor>>,
    /// Emergency under way.
    pub relief: Relief,
    /// Caps allotted last. Kept to reuse the allocation.
    pub allotted: Vec<(RunId, Allotted, Watts)>,
}

impl Governance {
    /// True if it ever sets a cap or takes a step in an emergency.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.allocator.is_active() || !self.emergencies.steps.is_empty()
    }
}

impl Governor for Composed {
    fn allots(&self) -> bool {
        self.governance.as_ref().is_some_and(|governance| governance.allocator.is_active())
    }

    fn interval(&self) -> SimDuration {
        self.governance.as_ref().map_or(SimDuration::ZERO, |governance| governance.allocator_interval)
    }

    fn monitor(&self) -> Option<SimDuration> {
        let emergencies = &self.governance.as_ref()?.emergencies;
        (!emergencies.steps.is_empty()).then_some(emergencies.monitor_interval)
    }

    fn read(&mut self, view: &View<'_>, draw: Watts) -> Result<Watts> {
        let gauge = self.governance.as_mut().and_then(|governance| governance.gauge.as_mut());
        gauge.map_or(Ok(draw), |gauge| gauge.read(view, draw))
    }

    fn recover(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<bool> {
        let Self { governance: Some(governance), power: Some(power), parts, least, .. } = self else {
            return Ok(false);
        };
        let (room, ever) = (power.ceiling.room(view), power.ceiling.ever(view));
        let recovery = Recovery { emergencies: &governance.emergencies, room, ever };
        let (order, analyzer, least) = (&mut parts.order, parts.analyzer.as_ref(), &*least);
        recovery.run(view, &mut |view, jobs, ranks| order.rank(&Ask { view, analyzer, least }, jobs, ranks), out)
    }

    fn allot(&mut self, view: &View<'_>, is_due: bool, out: &mut Decisions) -> Result<()> {
        let Self { governance: Some(governance), power: Some(power), .. } = self else { return Ok(()) };
        if governance.allocator_interval > SimDuration::ZERO && !is_due {
            return Ok(());
        }
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

    fn alert(&mut self, view: &View<'_>) -> Result<()> {
        let Self { governance: Some(governance), parts, least, .. } = self else { return Ok(()) };
        let (order, analyzer, least) = (&mut parts.order, parts.analyzer.as_ref(), &*least);
        governance.relief.begin(&governance.emergencies, view, &mut |view, jobs, ranks| {
            order.rank(&Ask { view, analyzer, least }, jobs, ranks)
        })
    }

    fn relieve(&mut self, view: &View<'_>) -> Result<Option<Decision>> {
        let Self { governance: Some(governance), power: Some(power), parts, least, .. } = self else { return Ok(None) };
        let (order, analyzer, least) = (&mut parts.order, parts.analyzer.as_ref(), &*least);
        let rank: &mut Rank<'_> = &mut |view, jobs, ranks| order.rank(&Ask { view, analyzer, least }, jobs, ranks);
        let fits_never = &mut |view: &View<'_>, run: &crate::cluster::runs::Run| {
            power.exceeds(&Ask { view, analyzer, least }, run.job, analyzer.at_last(view.jobs, run.job))
        };
        governance.relief.next(&governance.emergencies, view, rank, fits_never)
    }

    fn steer(&mut self, level: usize) {
        if let Some(governance) = &mut self.governance {
            governance.allocator.steer(level);
        }
    }
}
