//! What a policy does beside starting jobs, each if it does so at all.

use crate::error::Result;
use crate::policy::agent::Agent;
use crate::policy::analyzer::forecast::Forecast;
use crate::policy::sleep::Sleeper;
use crate::policy::sleep::proposal::PoolSleeper;
use crate::policy::usage::{Follower, Learner};
use crate::policy::{Decision, Decisions, View};
use crate::units::{SimDuration, Watts};

/// What else a policy does.
pub trait Facets {
    /// What it does about power beside starting jobs, if anything.
    fn governor(&mut self) -> Option<&mut dyn Governor> {
        None
    }

    /// What it does about idle nodes, if anything.
    fn sleeper(&mut self) -> Option<&mut dyn Sleeper> {
        None
    }

    /// The same where its machine is one pool of several, and the larger one decides.
    fn pool_sleeper(&mut self) -> Option<&mut dyn PoolSleeper> {
        None
    }

    /// What changes sizes of jobs that run, if anything does.
    fn resizer(&mut self) -> Option<&mut dyn Resizer> {
        None
    }

    /// Its agent, if its decisions come from outside.
    fn agent(&mut self) -> Option<&mut Agent> {
        None
    }

    /// What says how long jobs will run, if anything does.
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

/// What a policy does about the power of what runs: it caps, and sees to emergencies.
pub trait Governor {
    /// Whether it ever changes the caps of running jobs but in an emergency.
    fn allots(&self) -> bool;

    /// The allocator looks again at multiples of this; zero: whenever a pass is made.
    fn interval(&self) -> SimDuration;

    /// The measured draw is compared with the budget at multiples of this, zero: after every instant; none: never.
    fn monitor(&self) -> Option<SimDuration>;

    /// What is measured when the machine draws `draw`.
    ///
    /// # Errors
    /// If a part fails.
    fn read(&mut self, view: &View<'_>, draw: Watts) -> Result<Watts>;

    /// Before the starts of a pass: what an emergency took is given back as far as there is room. True if some of it could
    /// not be: then nothing may start (operations page, rules 20 to 22).
    ///
    /// # Errors
    /// If a part fails.
    fn recover(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<bool>;

    /// At the end of a pass: caps for all that runs (rules 23 to 26). `is_due` says whether an allocator with an interval
    /// has to look now.
    ///
    /// # Errors
    /// If a part fails.
    fn allot(&mut self, view: &View<'_>, is_due: bool, out: &mut Decisions) -> Result<()>;

    /// The machine draws more than the budget: an emergency begins.
    ///
    /// # Errors
    /// If a part fails.
    fn alert(&mut self, view: &View<'_>) -> Result<()>;

    /// What is done next about it; none if nothing is left to do (rules 29 to 33).
    ///
    /// # Errors
    /// If a part fails.
    fn relieve(&mut self, view: &View<'_>) -> Result<Option<Decision>>;

    /// Has its allocator set no higher caps than those of a level, if these are set from outside.
    fn steer(&mut self, level: usize);
}

/// Changes sizes of jobs that run.
pub trait Resizer {
    /// Asked in every pass in which a malleable job runs, before what starts.
    ///
    /// # Errors
    /// Whatever stopped the policy, or an interrupt.
    fn resize(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()>;
}
