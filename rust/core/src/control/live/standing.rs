//! States of nodes that are not in service, in which a controller finds them.

use crate::platform::node_state::NodeState;

/// State of a node that is not in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is off.
    Off,
    /// It boots.
    Booting,
    /// It shuts down.
    Stopping,
    /// It is down.
    Down,
}

impl Standing {
    /// The state of a node, unless it is in service.
    pub(super) fn of(state: NodeState) -> Option<Self> {
        match state {
            NodeState::Off => Some(Self::Off),
            NodeState::Booting { .. } => Some(Self::Booting),
            NodeState::ShuttingDown { .. } => Some(Self::Stopping),
            NodeState::Down => Some(Self::Down),
            NodeState::Idle | NodeState::Busy { .. } | NodeState::Kept => None,
        }
    }
}
