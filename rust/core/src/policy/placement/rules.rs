//! Several placements, of which one is followed at a time.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::placement::{Choice, News, Placement, Verdict};
use crate::policy::recollection::Recollection;
use crate::workload::JobId;

/// Places each job by the rule that is followed; all rules are notified of events.
#[derive(Clone)]
pub struct PlacementRules {
    rules: Vec<Box<dyn Placement>>,
    followed: usize,
}

impl PlacementRules {
    /// A choice of these rules, at least one; the first is followed until another is chosen.
    #[must_use]
    pub fn new(rules: Vec<Box<dyn Placement>>) -> Self {
        Self { rules, followed: 0 }
    }
}

impl Placement for PlacementRules {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        self.rules[self.followed].choose(ask, job, free, nodes)
    }

    fn judge(&mut self, ask: &Ask<'_>, job: JobId, free: &NodeSet) -> Verdict {
        self.rules[self.followed].judge(ask, job, free)
    }

    fn notice(&mut self, view: &View<'_>, news: News) -> Result<()> {
        self.rules.iter_mut().try_for_each(|rule| rule.notice(view, news))
    }

    fn remember(&self, kept: &mut Recollection) {
        for (number, rule) in self.rules.iter().enumerate() {
            let mut own = Recollection::default();
            rule.remember(&mut own);
            kept.keep_part(number, own);
        }
    }

    fn recall(&mut self, view: &View<'_>, kept: &Recollection) {
        self.rules.iter_mut().enumerate().for_each(|(number, rule)| rule.recall(view, &kept.part(number)));
    }

    fn follow(&mut self, rule: usize) {
        self.followed = rule.min(self.rules.len() - 1);
    }
}
