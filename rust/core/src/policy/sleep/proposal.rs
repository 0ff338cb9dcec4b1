//! What the policy of one pool would have done with its idle nodes, where several pools make a machine: that decides, as
//! nodes are counted that stay on, and looked at from the highest number down, over all pools (operations page on machines,
//! rules 16, 20 and 21).

use crate::error::Result;
use crate::policy::compose::Composed;
use crate::policy::sleep::counted::Outlook;
use crate::policy::sleep::rules::NodeRule;
use crate::policy::sleep::{Leave, Sleep, Wakes};
use crate::policy::{Decisions, View};
use crate::units::SimTime;

/// What a machine of several pools asks the policy of one of them.
pub trait PoolSleeper {
    /// What the end of a pass over the pool asks for, once all pools have started their jobs.
    ///
    /// # Errors
    /// If the host interrupts.
    fn propose(&mut self, view: &View<'_>) -> Result<Proposal>;

    /// A node of the pool begins to shut down.
    fn note_shutdown(&mut self, now: SimTime, node: u32);
}

/// The off nodes that a pool needs, and which idle ones it can spare.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    wakes: Wakes,
    spared: Spared,
    /// How many of its nodes have been put to sleep by this.
    asleep: u32,
}

/// Which idle nodes can be spared.
#[derive(Clone, Debug, Default)]
enum Spared {
    /// None.
    #[default]
    None,
    /// As many as no plan needs soon.
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

    /// Whether a node can be spared that would go to sleep now; then it does.
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

impl PoolSleeper for Composed {
    fn propose(&mut self, view: &View<'_>) -> Result<Proposal> {
        self.proposal(view)
    }

    fn note_shutdown(&mut self, now: SimTime, node: u32) {
        if let Some(sleep) = &mut self.sleep {
            sleep.note_shutdown(now, node);
        }
    }
}

impl Sleep {
    /// Wakes nodes of a machine of pools, and puts others to sleep. `numbers` are those of each pool's nodes on the machine,
    /// `home` says which pool a node is in, and its number there; one in none is needed by no job.
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
