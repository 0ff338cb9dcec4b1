//! Pools whose idle nodes sleep: each states its needs, and one rule puts nodes of the whole machine to sleep
//! (operations page on machines, rules 16, 20 and 21).
//!
//! A pool keeps the state of its nodes that its policy needs; the machine passes on changes of it.

use crate::cluster::standby::Expected;
use crate::control::pools::Pools;
use crate::error::Result;
use crate::platform::node_state::NodeState;
use crate::policy::sleep::proposal::Proposal;
use crate::policy::sleep::{Alarm, Sleeper};
use crate::policy::{Decision, Decisions, View};

impl Sleeper for Pools {
    fn counts(&self) -> bool {
        true
    }

    /// Nothing to do: each pool expects its nodes back in its own plans.
    fn expect(&self, _view: &View<'_>, _out: &mut Expected) {}

    fn rest(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        let Self { all, homes, sleep: Some(sleep), changed, .. } = self else { return Ok(()) };
        let proposals = all.iter_mut().map(|pool| pool.controller.propose(view.interrupted));
        let proposals = proposals.collect::<Result<Vec<Proposal>>>()?;
        let numbers = all.iter().map(|pool| pool.nodes.as_slice());
        sleep.settle_pools(view, proposals, numbers, |node| homes[node as usize], out);
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

    fn alarm(&self) -> Option<Alarm> {
        self.sleep.as_ref()?.alarm()
    }
}

impl Pools {
    /// Passes on the changes of nodes since the last pass, except for those by starts and ends of jobs.
    pub(super) fn follow_nodes(&mut self, view: &View<'_>) {
        let Self { all, homes, changed, .. } = self;
        for node in changed.drain(..) {
            let (state, Some((number, place))) = (view.nodes[node as usize], homes[node as usize]) else { continue };
            let since = view.standby.map(|standby| standby.idle_since(node)).filter(|_| state == NodeState::Idle);
            all[number].controller.follow_node(place, state, since);
        }
    }
}
