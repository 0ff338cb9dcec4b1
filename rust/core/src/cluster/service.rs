//! Nodes that do not serve, as they sleep, are in maintenance or have failed, and the instants at which plans have them
//! back.

use crate::algo::releases::{Claim, Release, ReleasedBy};
use crate::algo::span::{Span, neighbours};
use crate::cluster::Cluster;
use crate::cluster::nodes::NodeStates;
use crate::cluster::runs::Run;
use crate::error::SimulationError;
use crate::platform::node_state::NodeState;
use crate::platform::outages::{Maintenance, Outage, Turn};
use crate::units::SimTime;

impl Cluster {
    /// Tracks idle nodes, before anything has happened, as nodes may be switched off.
    pub fn watch_idle(&mut self) {
        self.capacity.watch_idle(self.now, &self.platform);
    }

    /// Sets the state of a node that serves no job.
    pub fn set_node(&mut self, node: u32, state: NodeState) {
        if state.is_on() && !matches!(state, NodeState::Booting { .. }) {
            self.capacity.open(Span::of(node));
        } else {
            self.capacity.close(Span::of(node));
        }
        self.enter(node, state);
    }

    /// Adds a window of maintenance to come.
    pub fn plan_maintenance(&mut self, window: Maintenance) {
        self.outages.plan(window);
    }

    /// Begins an outage of a node. If the node goes down by it, the caller has to end its runs, and then call
    /// [`Cluster::node_down`].
    pub fn begin_outage(&mut self, node: u32, why: Outage) -> Turn {
        self.nodes.watch(&self.runs);
        let known = self.outages.back_at(node);
        let turn = self.outages.begin(self.now, node, why);
        self.count_on(node, known);
        turn
    }

    /// Ends an outage of a node.
    ///
    /// # Errors
    /// None are expected: nodes that are down can come back.
    pub fn end_outage(&mut self, node: u32, is_repair: bool) -> Result<Turn, SimulationError> {
        let known = self.outages.back_at(node);
        let turn = self.outages.end(node, is_repair);
        self.count_on(node, known);
        if turn == Turn::Turns {
            let state = self.node(node).repaired()?;
            self.back_in_service(Span::of(node), state);
        }
        Ok(turn)
    }

    /// Updates the release of a node in maintenance, on which plans that count nodes count from the end of its outage;
    /// so far they counted on it from `known` on.
    pub(super) fn count_on(&mut self, node: u32, known: Option<SimTime>) {
        let back = self.outages.back_at(node);
        if known != back {
            self.count_back(node, known, back);
        }
    }

    /// Moves the release of a node in maintenance from `known` to `back`.
    pub fn count_back(&mut self, node: u32, known: Option<SimTime>, back: Option<SimTime>) {
        let by = ReleasedBy::Node(node);
        if let Some(at) = known {
            self.capacity.remove(at, by);
        }
        if let Some(at) = back {
            let units = if self.platform.is_exclusive() { 1 } else { i64::from(self.platform.slots()) };
            self.capacity.insert(Release { at, by, claim: Claim { units, microwatts: 0 } });
        }
    }

    /// Makes booting nodes that are [alike](Cluster::alike) ready; false if they have changed state in the meantime.
    ///
    /// # Errors
    /// None are expected: booting nodes can become ready.
    pub fn nodes_ready(&mut self, nodes: Span) -> Result<bool, SimulationError> {
        if self.node(nodes.first()) != (NodeState::Booting { until: self.now }) {
            return Ok(false);
        }
        let state = self.node(nodes.first()).ready()?;
        self.back_in_service(nodes, state);
        Ok(true)
    }

    /// Makes nodes that shut down and are [alike](Cluster::alike) off; false if they have changed state in the
    /// meantime.
    ///
    /// # Errors
    /// None are expected: nodes that shut down can be off.
    pub fn nodes_off(&mut self, nodes: Span) -> Result<bool, SimulationError> {
        if self.node(nodes.first()) != (NodeState::ShuttingDown { until: self.now }) {
            return Ok(false);
        }
        let state = self.node(nodes.first()).powered_off()?;
        self.enter_all(nodes, state);
        Ok(true)
    }

    /// Makes now the instant at which a node in transition arrives.
    pub fn turn_now(&mut self, node: u32) {
        let state = match self.node(node) {
            NodeState::Booting { until } if until != self.now => NodeState::Booting { until: self.now },
            NodeState::ShuttingDown { until } if until != self.now => NodeState::ShuttingDown { until: self.now },
            _ => return,
        };
        self.enter(node, state);
    }

    /// Takes a node down; its runs have ended.
    pub fn node_down(&mut self, node: u32) {
        self.capacity.close(Span::of(node));
        self.enter(node, NodeState::Down);
    }

    /// Notes that the nodes of a run that is over idle from now on, as far as they do.
    pub(super) fn note_idle(&mut self, run: &Run) {
        let is_whole = self.platform.is_exclusive() && !self.slots().lends();
        for nodes in neighbours(self.runs.nodes(run)) {
            let slots = self.capacity.machine().slots();
            // A whole node idles unless it went out of service meanwhile.
            if is_whole && slots.are_open(nodes) {
                self.capacity.idle_from(self.now, nodes);
                continue;
            }
            for node in nodes.nodes() {
                let states = NodeStates::new(&self.nodes, self.capacity.machine().slots(), &self.runs);
                if states[node as usize] == NodeState::Idle {
                    self.capacity.idle_from(self.now, Span::of(node));
                }
            }
        }
    }

    pub(super) fn back_in_service(&mut self, nodes: Span, state: NodeState) {
        self.capacity.open(nodes);
        self.enter_all(nodes, state);
    }
}
