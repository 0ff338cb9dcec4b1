//! Parts that govern the power of what runs: an allocator, and what is done when the draw is too high.

use crate::cluster::runs::RunId;
use crate::policy::allocator::Allocator;
use crate::policy::emergency::Emergencies;
use crate::policy::emergency::monitor::Monitor;
use crate::policy::emergency::relief::Relief;
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

    /// Interval at whose multiples its allocator sets caps, if it ever does.
    #[must_use]
    pub fn interval(&self) -> Option<SimDuration> {
        self.allocator.is_active().then_some(self.allocator_interval)
    }

    /// Interval at whose multiples the measured draw is compared with the budget, if there are steps to take.
    #[must_use]
    pub fn monitor(&self) -> Option<SimDuration> {
        (!self.emergencies.steps.is_empty()).then_some(self.emergencies.monitor_interval)
    }
}
