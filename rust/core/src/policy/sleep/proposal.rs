//! Proposal of one pool's policy for its idle nodes, where several pools make up a machine. The machine decides, as
//! nodes that stay on are counted over all pools, and all are looked at from the highest number down (operations page
//! on machines, rules 16, 20 and 21).

use crate::policy::sleep::counted::Outlook;
use crate::policy::sleep::rules::NodeRule;
use crate::policy::sleep::{Leave, Sleep, Wakes};
use crate::policy::{Decisions, View};

/// Off nodes that a pool needs, and idle ones that it can spare.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    wakes: Wakes,
    spared: Spared,
    /// Number of its nodes that this proposal has put to sleep.
    asleep: u32,
}

/// Idle nodes that can be spared.
#[derive(Clone, Debug, Default)]
enum Spared {
    /// None.
    #[default]
    None,
    /// The number of nodes that no plan needs soon.
    Counted(Box<Outlook>),
    /// These, and no others.
    Chosen(Vec<u32>),
}

impl Proposal {
    pub(super) fn counted(wakes: Wakes, outlook: Outlook) -> Self {
        Self { wakes, spared: Spared::Counted(Box::new(outlook)), asleep: 0 }
    }

    pub(super) fn chosen(wakes: Wakes, mut sleep: Vec<u32>) -> Self {
        sleep.sort_unstable();
        Self { wakes, spared: Spared::Chosen(sleep), asleep: 0 }
    }

    /// True if a node that would go to sleep now can be spared; it then counts as asleep.
    fn lets_go(&mut self, node: u32, rule: &NodeRule) -> bool {
        let lets = match &self.spared {
            Spared::None => false,
            Spared::Counted(outlook) => outlook.leave(rule, self.asleep) == Leave::Given,
            Spared::Chosen(nodes) => nodes.binary_search(&node).is_ok(),
        };
        self.asleep += u32::from(lets);
        lets
    }
}

impl Sleep {
    /// Wakes nodes of a machine of pools, and puts others to sleep. `numbers` are those of each pool's nodes on the
    /// machine; `home` gives a node's pool and its number there. A node in no pool is needed by no job.
    pub fn settle_pools<'a>(
        &mut self,
        view: &View<'_>,
        mut proposals: Vec<Proposal>,
        numbers: impl Iterator<Item = &'a [u32]>,
        home: impl Fn(u32) -> Option<(usize, u32)>,
        out: &mut Decisions,
    ) {
        let mut wakes = Wakes::default();
        for (proposal, nodes) in proposals.iter().zip(numbers) {
            wakes.now.extend(proposal.wakes.now.iter().map(|&place| nodes[place as usize]));
            wakes.due = [wakes.due, proposal.wakes.due].into_iter().flatten().min();
        }
        wakes.now.sort_unstable();
        let may_go = |node, rule: &NodeRule, _| match home(node) {
            Some((pool, place)) => Leave::given_if(proposals[pool].lets_go(place, rule)),
            None => Leave::Given,
        };
        self.settle(view, &wakes, may_go, out);
    }
}
