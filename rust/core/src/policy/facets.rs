//! Optional sides of a policy: all that it may do besides starting jobs.

use crate::error::Result;
use crate::policy::agent::Agent;
use crate::policy::analyzer::forecast::Forecast;
use crate::policy::sleep::Sleeper;
use crate::policy::sleep::proposal::PoolSleeper;
use crate::policy::usage::{Follower, Learner};
use crate::policy::{Decision, Decisions, View};
use crate::units::{SimDuration, Watts};

/// Optional sides of a policy; each is none where a policy lacks it.
pub trait Facets {
    /// Governor of the power of what runs, if any.
    fn governor(&mut self) -> Option<&mut dyn Governor> {
        None
    }

    /// Sleeper that switches idle nodes off and on, if any.
    fn sleeper(&mut self) -> Option<&mut dyn Sleeper> {
        None
    }

    /// Sleeper of a pool, where its machine is one of several and the whole machine decides.
    fn pool_sleeper(&mut self) -> Option<&mut dyn PoolSleeper> {
        None
    }

    /// Resizer of running jobs, if any.
    fn resizer(&mut self) -> Option<&mut dyn Resizer> {
        None
    }

    /// Its agent, if its decisions come from outside.
    fn agent(&mut self) -> Option<&mut Agent> {
        None
    }

    /// Forecast of how long jobs run, if any.
    fn forecast(&mut self) -> Option<&mut dyn Forecast> {
        None
    }

    /// Part that follows what jobs use, if any.
    fn follower(&mut self) -> Option<&mut dyn Follower> {
        None
    }

    /// Parts that learn from runs that are over.
    fn learners(&mut self) -> &mut [Box<dyn Learner>] {
        &mut []
    }
}

/// Governs the power of what runs: sets caps and handles emergencies.
pub trait Governor {
    /// True if it ever changes the caps of running jobs outside of emergencies.
    fn allots(&self) -> bool;

    /// Interval at whose multiples the allocator sets caps; zero: in every pass.
    fn interval(&self) -> SimDuration;

    /// Interval at whose multiples the measured draw is compared with the budget; zero: after every instant; none:
    /// never.
    fn monitor(&self) -> Option<SimDuration>;

    /// Returns the reading when the machine draws `draw`.
    ///
    /// # Errors
    /// If a part fails.
    fn read(&mut self, view: &View<'_>, draw: Watts) -> Result<Watts>;

    /// Gives back before the starts of a pass what an emergency took, as far as there is room. Returns true if
    /// something is left to give back: then nothing may start (operations page, rules 20 to 22).
    ///
    /// # Errors
    /// If a part fails.
    fn recover(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<bool>;

    /// Sets the caps of all that runs at the end of a pass (rules 23 to 26). `is_due` says whether an allocator with an
    /// interval has to look now.
    ///
    /// # Errors
    /// If a part fails.
    fn allot(&mut self, view: &View<'_>, is_due: bool, out: &mut Decisions) -> Result<()>;

    /// Begins an emergency: the machine draws more than the budget.
    ///
    /// # Errors
    /// If a part fails.
    fn alert(&mut self, view: &View<'_>) -> Result<()>;

    /// Returns the next action of the emergency; none if nothing is left to do (rules 29 to 33).
    ///
    /// # Errors
    /// If a part fails.
    fn relieve(&mut self, view: &View<'_>) -> Result<Option<Decision>>;

    /// Limits its allocator to caps up to those of a level, if levels are set from outside.
    fn steer(&mut self, level: usize);
}

/// Changes sizes of running jobs.
pub trait Resizer {
    /// Decides on sizes in every pass in which a malleable job runs, before the starts.
    ///
    /// # Errors
    /// If a part fails, or the host interrupts.
    fn resize(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()>;
}
