//! The machine: its nodes, their draws by state, and their slots.

pub mod cells;
pub mod lanes;
pub mod node_state;
pub mod outages;
pub mod queues;
pub mod scope;
pub mod slots;

use std::fmt;

use crate::error::{ConfigError, Fault, Result};
use crate::platform::node_state::NodeState;
use crate::units::{MAX_NODE_WATTS, SimDuration, Watts};

/// A platform as a caller has it: one value per node in every column.
#[derive(Clone, Debug, Default)]
pub struct PlatformColumns {
    /// Watts when idle.
    pub idle_w: Vec<f64>,
    /// Watts when busy, unless a table or the job itself gives others.
    pub busy_w: Vec<f64>,
    /// Watts the node is designed for (TDP).
    pub tdp_w: Vec<f64>,
    /// Watts when off.
    pub off_w: Vec<f64>,
    /// Watts when down.
    pub down_w: Vec<f64>,
    /// Watts while booting.
    pub boot_w: Vec<f64>,
    /// Seconds to boot.
    pub boot_s: Vec<f64>,
    /// Watts while shutting down.
    pub shutdown_w: Vec<f64>,
    /// Seconds to shut down.
    pub shutdown_s: Vec<f64>,
    /// Slots of a node.
    pub slots: Vec<i64>,
    /// True if a job gets whole nodes; otherwise nodes are shared slot by slot.
    pub exclusive: bool,
}

/// Draws of one node in each of its states, and the lengths of its transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeDraw {
    /// Idle.
    pub idle: Watts,
    /// Busy, unless a table or the job itself gives another draw.
    pub busy: Watts,
    /// Thermal design power: the draw that the node is built for.
    pub tdp: Watts,
    /// Off.
    pub off: Watts,
    /// Down.
    pub down: Watts,
    /// Booting.
    pub boot: Watts,
    /// Time to boot.
    pub boot_time: SimDuration,
    /// Shutting down.
    pub shutdown: Watts,
    /// Time to shut down.
    pub shutdown_time: SimDuration,
}

impl NodeDraw {
    /// Upper bound of the draw of a node without a job until something is decided about it (page on sleep under a
    /// budget, rule 1).
    #[must_use]
    pub fn held(&self, state: NodeState) -> Watts {
        match state {
            NodeState::Booting { .. } => self.idle + self.beyond_idle_to_boot(),
            NodeState::ShuttingDown { .. } if self.shutdown_time > SimDuration::ZERO => self.shutdown.max(self.off),
            NodeState::Off | NodeState::ShuttingDown { .. } => self.off,
            NodeState::Idle | NodeState::Busy { .. } | NodeState::Kept | NodeState::Down => self.idle,
        }
    }

    /// Draw of a node beyond idle while it boots; zero if that takes no time.
    #[must_use]
    pub fn beyond_idle_to_boot(&self) -> Watts {
        if self.boot_time > SimDuration::ZERO { self.boot.max(self.idle) - self.idle } else { Watts::ZERO }
    }
}

/// A checked platform.
#[derive(Clone, Debug)]
pub struct Platform {
    nodes: Vec<NodeDraw>,
    /// Idle draws by node, close together: they are asked for most often.
    idles: Vec<Watts>,
    /// The first node of each stretch of nodes with the same draws and transition times.
    kinds: Vec<u32>,
    slots: u32,
    exclusive: bool,
}

impl Platform {
    /// Number of nodes.
    #[must_use]
    pub fn len(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "`into_platform` refuses more nodes")]
        let len = self.nodes.len() as u32;
        len
    }

    /// True if there is no node; never so for a checked platform.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn of(nodes: Vec<NodeDraw>, slots: u32, exclusive: bool) -> Self {
        let differs = (1..).zip(nodes.windows(2)).filter(|(_, pair)| pair[0] != pair[1]).map(|(node, _)| node);
        let idles = nodes.iter().map(|node| node.idle).collect();
        Self { kinds: std::iter::once(0).chain(differs).collect(), idles, nodes, slots, exclusive }
    }

    /// Draws and transition times of a node.
    #[must_use]
    pub fn node(&self, node: u32) -> &NodeDraw {
        &self.nodes[node as usize]
    }

    /// Idle draw of a node.
    #[must_use]
    pub fn idle_of(&self, node: u32) -> Watts {
        self.idles[node as usize]
    }

    /// Number of the stretch of neighbouring nodes with the same draws and transition times that the node is in.
    #[must_use]
    pub fn kind(&self, node: u32) -> usize {
        self.kinds.partition_point(|&first| first <= node)
    }

    /// All nodes by id.
    #[must_use]
    pub fn nodes(&self) -> &[NodeDraw] {
        &self.nodes
    }

    /// Draw of the machine with every node idle.
    #[must_use]
    pub fn idle(&self) -> Watts {
        self.nodes.iter().map(|node| node.idle).sum()
    }

    /// TDP of the machine: the sum over its nodes.
    #[must_use]
    pub fn tdp(&self) -> Watts {
        self.nodes.iter().map(|node| node.tdp).sum()
    }

    /// True if a job gets whole nodes.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Slots of a node: the most that a job can ask for.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Slots of a node to be shared by jobs: 1 where jobs get whole nodes.
    #[must_use]
    pub fn shared_slots(&self) -> u32 {
        if self.exclusive { 1 } else { self.slots }
    }

    /// Total of the units that jobs take: nodes, or slots where nodes are shared.
    #[must_use]
    pub fn units(&self) -> i64 {
        i64::from(self.len()) * i64::from(self.shared_slots())
    }
}

impl PlatformColumns {
    /// Checks every value and turns the columns into a [`Platform`].
    ///
    /// # Errors
    /// A [`ConfigError`] with every fault: no nodes, lengths that differ, invalid watts or seconds.
    pub fn into_platform(self) -> Result<Platform> {
        let mut faults = self.length_faults();
        if faults.is_empty() {
            self.value_faults(&mut faults);
        }
        if faults.is_empty() { Ok(self.checked()) } else { Err(ConfigError { faults }.into()) }
    }

    fn columns(&self) -> [(&'static str, &[f64], f64, &'static str); 9] {
        let (watts, seconds) = ("watts from 0 to 1e6", "seconds from 0 to 1e9");
        [
            ("platform.idle_w", &self.idle_w, MAX_NODE_WATTS, watts),
            ("platform.busy_w", &self.busy_w, MAX_NODE_WATTS, watts),
            ("platform.tdp_w", &self.tdp_w, MAX_NODE_WATTS, watts),
            ("platform.off_w", &self.off_w, MAX_NODE_WATTS, watts),
            ("platform.down_w", &self.down_w, MAX_NODE_WATTS, watts),
            ("platform.boot_w", &self.boot_w, MAX_NODE_WATTS, watts),
            ("platform.boot_s", &self.boot_s, 1e9, seconds),
            ("platform.shutdown_w", &self.shutdown_w, MAX_NODE_WATTS, watts),
            ("platform.shutdown_s", &self.shutdown_s, 1e9, seconds),
        ]
    }

    fn length_faults(&self) -> Vec<Fault> {
        let nodes = self.idle_w.len();
        if nodes == 0 || u32::try_from(nodes).is_err() {
            return vec![fault("platform.nodes", nodes, "from 1 to 2^32 - 1 nodes")];
        }
        let lengths = self.columns().map(|(path, values, ..)| (path, values.len()));
        lengths
            .into_iter()
            .chain([("platform.slots", self.slots.len())])
            .filter(|(_, len)| *len != nodes)
            .map(|(path, len)| fault(path, len, &format!("{nodes} values, one a node")))
            .collect()
    }

    fn value_faults(&self, faults: &mut Vec<Fault>) {
        for (path, values, most, expected) in self.columns() {
            let wrong = values.iter().position(|value| !(0.0..=most).contains(value));
            faults.extend(wrong.map(|node| fault(&format!("{path}[{node}]"), values[node], expected)));
        }
        let wrong = self.slots.iter().position(|&slots| !(1..=i64::from(u16::MAX)).contains(&slots));
        faults.extend(wrong.map(|node| fault(&format!("platform.slots[{node}]"), self.slots[node], "1 to 65535")));
        let uneven = self.slots.iter().position(|slots| *slots != self.slots[0]).filter(|_| !self.exclusive);
        faults.extend(uneven.map(|node| {
            let expected = format!("{} like node 0: nodes that jobs share have equally many slots", self.slots[0]);
            fault(&format!("platform.slots[{node}]"), self.slots[node], &expected)
        }));
    }

    fn checked(&self) -> Platform {
        let watts = |column: &[f64], node: usize| Watts::from_watts(column[node]).unwrap_or_default();
        let span = |column: &[f64], node: usize| SimDuration::from_seconds(column[node]).unwrap_or_default();
        let nodes = (0..self.idle_w.len()).map(|node| NodeDraw {
            idle: watts(&self.idle_w, node),
            busy: watts(&self.busy_w, node),
            tdp: watts(&self.tdp_w, node),
            off: watts(&self.off_w, node),
            down: watts(&self.down_w, node),
            boot: watts(&self.boot_w, node),
            boot_time: span(&self.boot_s, node),
            shutdown: watts(&self.shutdown_w, node),
            shutdown_time: span(&self.shutdown_s, node),
        });
        let slots = self.slots.iter().copied().max().and_then(|slots| u32::try_from(slots).ok()).unwrap_or(1);
        Platform::of(nodes.collect(), slots, self.exclusive)
    }
}

fn fault<T: fmt::Display>(parameter: &str, value: T, expected: &str) -> Fault {
    Fault { parameter: parameter.to_owned(), value: value.to_string(), expected: expected.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_nodes() -> PlatformColumns {
        PlatformColumns {
            idle_w: vec![100.0; 2],
            busy_w: vec![200.0; 2],
            tdp_w: vec![200.0; 2],
            off_w: vec![0.0; 2],
            down_w: vec![0.0; 2],
            boot_w: vec![100.0; 2],
            boot_s: vec![0.0; 2],
            shutdown_w: vec![100.0; 2],
            shutdown_s: vec![0.0; 2],
            slots: vec![4; 2],
            exclusive: true,
        }
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let bad = PlatformColumns { idle_w: vec![100.0, f64::NAN], off_w: vec![-1.0, 0.0], ..two_nodes() };
        let message = bad.into_platform().unwrap_err().to_string();
        assert_eq!(
            message,
            "platform.idle_w[1]: found NaN, expected watts from 0 to 1e6\n\
             platform.off_w[0]: found -1, expected watts from 0 to 1e6"
        );
    }

    #[test]
    fn shared_nodes_have_equally_many_slots() {
        let uneven = PlatformColumns { slots: vec![4, 8], ..two_nodes() };
        assert!(uneven.clone().into_platform().is_ok());
        assert!(PlatformColumns { exclusive: false, ..uneven }.into_platform().is_err());
    }

    fn four_nodes(idle_w: [f64; 4]) -> Platform {
        let columns = PlatformColumns { idle_w: idle_w.to_vec(), ..two_nodes() };
        let longer = |column: Vec<f64>| [column.clone(), column].concat();
        let platform = PlatformColumns {
            busy_w: longer(columns.busy_w),
            tdp_w: longer(columns.tdp_w),
            off_w: longer(columns.off_w),
            down_w: longer(columns.down_w),
            boot_w: longer(columns.boot_w),
            boot_s: longer(columns.boot_s),
            shutdown_w: longer(columns.shutdown_w),
            shutdown_s: longer(columns.shutdown_s),
            slots: vec![4; 4],
            ..columns
        };
        platform.into_platform().unwrap()
    }

    #[test]
    fn neighbours_that_draw_the_same_are_of_one_kind() {
        let platform = four_nodes([100.0, 100.0, 50.0, 100.0]);
        let kinds = [0, 1, 2, 3].map(|node| platform.kind(node));
        assert!(kinds[0] == kinds[1] && kinds[1] != kinds[2] && kinds[2] != kinds[3], "{kinds:?}");
    }

    #[test]
    fn a_machine_without_nodes_is_refused() {
        assert!(PlatformColumns::default().into_platform().is_err());
    }
}
