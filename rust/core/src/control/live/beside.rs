//! Nodes that stand beside the cluster, as no job may have them and they are not counted with its nodes.

use std::collections::BTreeMap;

use crate::cluster::Cluster;
use crate::control::live::Taken;
use crate::control::live::standing::Standing;
use crate::platform::node_state::NodeState;
use crate::units::SimTime;

/// States of these nodes, by the numbers that they have on the machine.
#[derive(Clone, Default)]
pub(super) struct Beside(BTreeMap<u32, NodeState>);

impl Beside {
    /// Idle nodes.
    pub(super) fn new(numbers: &[u32]) -> Self {
        Self(numbers.iter().map(|&number| (number, NodeState::Idle)).collect())
    }

    /// Their number.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// State of any node of the machine.
    pub(super) fn state(&self, cluster: &Cluster, number: u32) -> NodeState {
        let node = cluster.platform().with_number(number);
        let beside = || self.0.get(&number).copied().unwrap_or(NodeState::Down);
        node.map_or_else(beside, |node| cluster.node(node))
    }

    /// Those that are not in service.
    pub(super) fn standing(&self) -> impl Iterator<Item = (u32, Standing)> + '_ {
        self.0.iter().filter_map(|(&number, &state)| Some((number, Standing::of(state)?)))
    }

    /// Sets the state of one; nothing waits for the end of a transition.
    pub(super) fn stand(&mut self, number: u32, standing: Standing) {
        let until = SimTime::NEVER;
        let state = match standing {
            Standing::Off => NodeState::Off,
            Standing::Booting => NodeState::Booting { until },
            Standing::Stopping => NodeState::ShuttingDown { until },
            Standing::Down => NodeState::Down,
        };
        self.0.insert(number, state);
    }

    /// One of them serves from now on.
    pub(super) fn up(&mut self, number: u32) -> Taken {
        self.turn(number, NodeState::Idle, |state| matches!(state, NodeState::Down | NodeState::Booting { .. }))
    }

    /// One of them is off.
    pub(super) fn off(&mut self, number: u32) -> Taken {
        self.turn(number, NodeState::Off, |state| matches!(state, NodeState::ShuttingDown { .. }))
    }

    /// One of them is out of service.
    pub(super) fn down(&mut self, number: u32) -> Taken {
        match self.0.insert(number, NodeState::Down) {
            Some(NodeState::Down) => Taken::Late,
            _ => Taken::Changes,
        }
    }

    fn turn(&mut self, number: u32, into: NodeState, may: impl Fn(NodeState) -> bool) -> Taken {
        match self.0.get_mut(&number) {
            Some(state) if may(*state) => {
                *state = into;
                Taken::Changes
            }
            _ => Taken::NotYet,
        }
    }
}
