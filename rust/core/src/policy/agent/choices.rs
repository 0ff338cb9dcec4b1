//! Choices of an agent besides the jobs of the queue, and the policy that it is part of.

use crate::error::Result;
use crate::platform::Platform;
use crate::policy::agent::{Agent, Shape};
use crate::policy::allocator::steered::Steered;
use crate::policy::compose::{Composed, Parts};
use crate::policy::placement::rules::PlacementRules;
use crate::policy::registry::{PartSpec, PolicySpec};

/// Choices open to an agent.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Jobs at the front of the queue that can be chosen.
    pub rows: usize,
    /// Rules by which nodes are chosen.
    pub placements: Vec<PartSpec>,
    /// True if it sets the highest cap, where an allocator sets caps.
    pub sets_caps: bool,
}

impl Choices {
    /// Composes a policy of the parts, with an agent in place of its backfill.
    ///
    /// # Errors
    /// If a rule is unknown or invalid, or nothing could ever start under the budget.
    pub fn policy(self, spec: PolicySpec, mut parts: Parts, platform: &Platform, seed: u64) -> Result<Composed> {
        let rules = self.placements.into_iter().map(|placement| {
            let (parts, _) = PolicySpec { placement, ..spec.clone() }.build(seed)?;
            Ok(parts.placement)
        });
        let rules = rules.collect::<Result<Vec<_>>>()?;
        let caps = parts.power.as_deref().filter(|_| self.sets_caps).map(|power| power.levels().to_vec());
        let levels = caps.as_ref().map_or(0, |caps| caps.len() + 1);
        parts.backfill = Box::new(Agent::new(Shape { rows: self.rows, rules: rules.len(), levels }));
        parts.placement = Box::new(PlacementRules::new(rules));
        let policy = Composed::new(spec.name, parts, platform)?;
        Ok(match caps {
            Some(caps) => steering_caps(policy, &caps),
            None => policy,
        })
    }
}

/// Has an agent set the highest cap where an allocator sets caps. `levels`: the caps that it may choose, W a node,
/// ascending.
fn steering_caps(mut policy: Composed, levels: &[f64]) -> Composed {
    if let Some(governance) = policy.governance.as_mut().filter(|governance| governance.allocator.is_active()) {
        governance.allocator = Box::new(Steered::new(levels));
    }
    policy
}
