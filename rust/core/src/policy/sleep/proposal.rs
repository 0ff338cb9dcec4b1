//! Proposal of one lane's policy for its idle nodes. What becomes of it is decided for the machine, as nodes that stay on
//! are counted over all lanes, and all are looked at from the highest number down (operations page on machines, rules
//! 16, 20 and 21).

use crate::policy::sleep::Sleep;
use crate::policy::sleep::answers::{RestChoice, Wakes};
use crate::policy::{Decisions, View};

/// Off nodes that a lane needs, and idle ones that it can spare.
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
    /// Wakes nodes of a machine, and puts others to sleep, by the proposals of its lanes. A node in no lane is needed by
    /// no job.
    pub(in crate::policy) fn settle_lanes(&mut self, view: &View<'_>, proposals: &[Proposal], out: &mut Decisions) {
        let mut wakes = Wakes::default();
        for proposal in proposals {
            wakes.now.extend(&proposal.wakes.now);
            wakes.due = [wakes.due, proposal.wakes.due].into_iter().flatten().min();
        }
        wakes.now.sort_unstable();
        self.follow(view);
        let lane = |node| view.capacity.of_node(node);
        let is_spared = |&node: &u32| lane(node).is_none_or(|own| proposals[own].spared.binary_search(&node).is_ok());
        let sleep = self.ready(view).filter(is_spared).collect();
        self.carry_out(view, &wakes, &RestChoice { sleep, ..RestChoice::default() }, out);
    }
}
