//! Proposal of one pool's policy for its idle nodes, where several pools make up a machine. The machine decides, as
//! nodes that stay on are counted over all pools, and all are looked at from the highest number down (operations page
//! on machines, rules 16, 20 and 21).

use crate::policy::sleep::Sleep;
use crate::policy::sleep::answers::{RestChoice, Wakes};
use crate::policy::{Decisions, View};

/// Off nodes that a pool needs, and idle ones that it can spare.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    pub(super) wakes: Wakes,
    /// Ascending.
    pub(super) spared: Vec<u32>,
}

impl Proposal {
    /// The wake-ups, and what a part has chosen.
    pub(super) fn of(wakes: Wakes, choice: RestChoice) -> Self {
        let mut spared = choice.sleep;
        spared.sort_unstable();
        Self { wakes: wakes.and(choice.wake, choice.again), spared }
    }
}

impl Sleep {
    /// Wakes nodes of a machine of pools, and puts others to sleep. `numbers` are those of each pool's nodes on the
    /// machine; `home` gives a node's pool and its number there. A node in no pool is needed by no job.
    pub fn settle_pools<'a>(
        &mut self,
        view: &View<'_>,
        proposals: &[Proposal],
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
        self.follow(view);
        let is_spared =
            |&node: &u32| home(node).is_none_or(|(pool, place)| proposals[pool].spared.binary_search(&place).is_ok());
        let sleep = self.ready(view).filter(is_spared).collect();
        self.carry_out(view, &wakes, &RestChoice { sleep, ..RestChoice::default() }, out);
    }
}
