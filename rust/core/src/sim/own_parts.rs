//! Parts of a policy that a host brings along.

use crate::policy::Policy;
use crate::policy::allocator::Allocator;
use crate::policy::analyzer::forecast::Forecast;
use crate::policy::backfill::Backfill;
use crate::policy::compose::Parts;
use crate::policy::emergency::monitor::Monitor;
use crate::policy::order::Order;
use crate::policy::placement::Placement;
use crate::policy::sizing::Sizing;
use crate::policy::sleep::rules::Rules;
use crate::policy::usage::Learner;

/// A host's own parts, by role; where there is none, the named part stays.
#[derive(Default)]
pub struct OwnParts {
    /// Order of the queue.
    pub order: Option<Box<dyn Order>>,
    /// Jobs that may overtake.
    pub backfill: Option<Box<dyn Backfill>>,
    /// Nodes of jobs.
    pub placement: Option<Box<dyn Placement>>,
    /// Forecast of how long jobs run.
    pub forecast: Option<Box<dyn Forecast>>,
    /// Sizes of moldable jobs.
    pub sizing: Option<Box<dyn Sizing>>,
    /// Meter of the machine's draw.
    pub monitor: Option<Box<dyn Monitor>>,
    /// Rules by which idle nodes are switched off.
    pub sleep: Option<Rules>,
    /// Splits the watts between running jobs.
    pub allocator: Option<Box<dyn Allocator>>,
    /// Parts that learn from runs that are over.
    pub learners: Vec<Box<dyn Learner>>,
    /// A whole scheduler: then the parts are not used.
    pub scheduler: Option<Box<dyn Policy>>,
}

impl OwnParts {
    /// Replaces named parts by those that only have to fit their role: an allocator and a scheduler are checked first.
    pub(super) fn fill(&mut self, parts: &mut Parts) {
        replace(&mut parts.order, &mut self.order);
        replace(&mut parts.backfill, &mut self.backfill);
        replace(&mut parts.placement, &mut self.placement);
        parts.forecast = self.forecast.take();
        parts.sizing = self.sizing.take();
        parts.gauge = self.monitor.take();
        if let Some(rules) = self.sleep.take() {
            parts.sleep = Some(rules);
        }
        parts.learners = std::mem::take(&mut self.learners);
    }
}

fn replace<T: ?Sized>(named: &mut Box<T>, own: &mut Option<Box<T>>) {
    if let Some(own) = own.take() {
        *named = own;
    }
}
