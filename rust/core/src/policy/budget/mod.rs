//! Budget of the whole machine's draw: the public role `power`.

pub mod ceiling;
pub mod draw;
mod firsts;
pub mod least;
pub mod levels;
pub mod outlook;
pub mod price;
pub mod prices;
pub mod system_budget;

use crate::cluster::counted::Estimate;
use crate::error::Result;
use crate::platform::scope::Scope;
use crate::policy::analyzer::Ask;
use crate::policy::budget::ceiling::Ceiling;
use crate::policy::budget::prices::Prices;
use crate::policy::budget::system_budget::SystemBudget;
use crate::units::{SimDuration, Watts};
use crate::workload::JobId;

/// Need of a job that fits between no two changes of the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// Draw of the machine if the job ran alone on it, on the nodes where it adds the fewest watts.
    pub watts: Watts,
    /// Time for which it needs them.
    pub length: SimDuration,
    /// The longest stretch in which they are left.
    pub longest: SimDuration,
    /// True if these watts are left from the last change to the end of the run.
    pub is_free_at_last: bool,
}

/// A ceiling, and the prices of jobs in watts under it.
#[derive(Clone, Debug)]
pub struct Power {
    /// Ceiling of the draw.
    pub ceiling: Ceiling,
    /// Watts that jobs add, before their nodes are known.
    pub prices: Prices,
}

impl Power {
    /// Applies `budget` to a machine, of which these nodes serve while the others idle. `counts_tdp` says if jobs may
    /// count with their nodes' TDP.
    ///
    /// # Errors
    /// If nothing could ever start.
    pub fn new(budget: &SystemBudget, scope: Scope<'_>, counts_tdp: bool) -> Result<Self> {
        let limit = (budget.ceiling(scope.platform())?, budget.foresight);
        let ceiling = Ceiling::new(limit, scope, counts_tdp);
        Ok(Self { ceiling, prices: Prices::new(scope) })
    }

    /// Need of a job that fits between no two changes of the budget; none if it fits somewhere, or if the policy does
    /// not look far enough ahead for it to matter. `length` is its least length.
    pub fn between(&mut self, ask: &Ask<'_>, job: JobId, estimate: Estimate, length: SimDuration) -> Option<Between> {
        let foresight = self.ceiling.foresight();
        if foresight == SimDuration::ZERO || ask.view.budgets.is_empty() {
            return None;
        }
        // A change at the very end of what is foreseen is seen.
        let seen = if length <= foresight { length } else { foresight + SimDuration::TICK };
        let watts = self.prices.unkept(ask, job, estimate).least;
        let found = self.ceiling.stretches(ask.view, watts, seen);
        (found.longest < seen).then_some(Between {
            watts: watts + ask.view.platform.idle(),
            length,
            longest: found.longest,
            is_free_at_last: found.is_free_at_last,
        })
    }

    /// True if the job would exceed the ceiling, now and at all times to come, on any nodes of an otherwise idle
    /// machine.
    pub fn exceeds(&mut self, ask: &Ask<'_>, job: JobId, estimate: Estimate) -> bool {
        let fits = estimate == Estimate::Predicted && self.ceiling.surely_holds(ask.view, job);
        !fits && self.prices.unkept(ask, job, estimate).least > self.ceiling.ever(ask.view)
    }
}
