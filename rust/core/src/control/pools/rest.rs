//! Pools whose idle nodes sleep: each states its needs, and one rule puts nodes of the whole machine to sleep
//! (operations page on machines, rules 16, 20 and 21).
//!
//! A pool keeps the state of its nodes that its policy needs; the machine passes on changes of it.

use crate::control::pools::Pools;
use crate::error::Result;
use crate::platform::node_state::NodeState;
use crate::policy::sleep::proposal::Proposal;
use crate::policy::{Decision, Decisions, View};

impl Pools {
    /// Wakes nodes of the machine, and puts others to sleep, by the needs of its pools.
    pub(super) fn rest(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        let Self { all, homes, sleep: Some(sleep), changed, .. } = self else { return Ok(()) };
        let proposals = all.iter_mut().map(|pool| pool.controller.propose(view.interrupted));
        let proposals = proposals.collect::<Result<Vec<Proposal>>>()?;
        let numbers = all.iter().map(|pool| pool.nodes.as_slice());
        sleep.settle_pools(view, &proposals, numbers, |node| homes[node as usize], out);
        for decision in out.list() {
            let (&Decision::Wake(nodes) | &Decision::Sleep(nodes)) = decision else { continue };
            changed.extend(nodes.nodes());
            for node in nodes.nodes().filter(|_| matches!(decision, Decision::Sleep(_))) {
                if let Some((number, place)) = homes[node as usize] {
                    all[number].controller.note_shutdown(place);
                }
            }
        }
        Ok(())
    }

    /// Passes on the changes of nodes since the last pass, except for those by starts and ends of jobs: of the runs on
    /// nodes that serve the pools know.
    pub(super) fn follow_nodes(&mut self, view: &View<'_>) {
        let Self { all, homes, changed, .. } = self;
        for node in changed.drain(..) {
            let (state, Some((number, place))) = (view.nodes[node as usize], homes[node as usize]) else { continue };
            if matches!(state, NodeState::Busy { .. } | NodeState::Kept) {
                continue;
            }
            let since = view.standby.map(|standby| standby.idle_since(node)).filter(|_| state == NodeState::Idle);
            all[number].controller.follow_node(place, state, since);
        }
    }
}
