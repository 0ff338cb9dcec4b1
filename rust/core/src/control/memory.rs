//! Memory of a controller: what its policy knows that no state of the machine shows, and since when nodes are as they
//! are.

use crate::control::Controller;
use crate::platform::node_state::NodeState;
use crate::policy::recollection::Recollection;
use crate::units::{SimTime, Watts};

const IDLE: &str = "idle";
const TURNS: &str = "turns";

impl Controller {
    /// The part of its knowledge that no state of the machine shows.
    pub fn remember(&mut self) -> Recollection {
        let mut kept = Recollection::default();
        self.account.tell_use(&mut *self.policy);
        self.policy.remember(&mut kept);
        let (mut idle, mut turns) = (Vec::new(), Vec::new());
        let view = self.cluster.view(Watts::ZERO, &|| false);
        for (node, &state) in (0_u32..).zip(view.nodes.iter()) {
            let number = i64::from(node);
            match (state, view.standby) {
                (NodeState::Idle, Some(standby)) => idle.extend([number, standby.idle_since(node).micros()]),
                (NodeState::Booting { until } | NodeState::ShuttingDown { until }, _) => {
                    turns.extend([number, until.micros()]);
                }
                _ => {}
            }
        }
        kept.keep(IDLE, idle);
        kept.keep(TURNS, turns);
        kept
    }

    /// Goes on with what was kept, before anything runs or waits.
    pub fn recall(&mut self, kept: &Recollection) {
        self.policy.recall(&self.cluster.view(Watts::ZERO, &|| false), kept);
    }

    /// Lets nodes idle for as long as was kept, once all that runs is known.
    pub fn recall_idle(&mut self, kept: &Recollection) {
        let now = self.cluster.now();
        let platform = self.cluster.platform();
        let mut since = vec![now; platform.len() as usize];
        for [number, at] in kept.rows(IDLE) {
            if let Some(node) = u32::try_from(number).ok().filter(|&node| node < platform.len()) {
                since[node as usize] = SimTime::from_micros(at).min(now);
            }
        }
        self.cluster.stand_by(None, |node| since[node as usize]);
    }
}

/// The planned end of the transition of the node with this number, if it was kept.
pub(super) fn turn_of(kept: &Recollection, number: u32) -> Option<SimTime> {
    kept.rows(TURNS).find(|[own, _]| *own == i64::from(number)).map(|[_, until]| SimTime::from_micros(until))
}
