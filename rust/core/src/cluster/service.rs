//! Nodes that do not serve: that sleep, are in maintenance or have failed, and when plans have them back.

use crate::algo::releases::{Claim, Release};
use crate::algo::span::Span;
use crate::cluster::Cluster;
use crate::cluster::standby::{Expected, Standby};
use crate::error::SimulationError;
use crate::platform::node_state::NodeState;
use crate::platform::outages::{Maintenance, Outage, Turn};
use crate::units::SimTime;

impl Cluster {
    /// From now on, before anything has happened, nodes may be switched off.
    pub fn watch_idle(&mut self) {
        self.standby = Some(Standby::new(self.now, &self.platform));
    }

    /// Nothing is expected, in what holds the memory for it.
    pub fn begin_expecting(&mut self) -> Expected {
        self.standby.as_mut().map_or_else(Expected::default, Standby::begin_expecting)
    }

    /// Plans have nodes back as is said that cannot serve for being switched off; where nodes are counted, by counts.
    pub fn expect(&mut self, expected: Expected, counts: bool) {
        let Some(standby) = &mut self.standby else { return };
        standby.expect(expected);
        if counts {
            let (gone, new) = standby.recount();
            for old in gone {
                self.releases.remove((old.at, old.row));
            }
            for &release in new {
                self.releases.insert(release);
            }
        }
    }

    /// A node that serves no job is in this state, since when it idles if it does, as a larger machine knows.
    pub fn follow_node(&mut self, node: u32, state: NodeState, idle_since: Option<SimTime>) {
        let serves = |state: NodeState| state.is_on() && !matches!(state, NodeState::Booting { .. });
        if serves(state) {
            self.slots.open(Span::of(node));
        } else {
            self.slots.close(Span::of(node));
        }
        self.enter(node, state);
        if let (Some(standby), Some(since)) = (&mut self.standby, idle_since) {
            standby.idle_from(node, since);
        }
    }

    /// A node will be in maintenance.
    pub fn plan_maintenance(&mut self, window: Maintenance) {
        self.outages.plan(window);
    }

    /// An outage of a node begins; if the node goes down by it, what runs there is to end first.
    pub fn begin_outage(&mut self, node: u32, why: Outage) -> Turn {
        let known = self.outages.back_at(node);
        let turn = self.outages.begin(self.now, node, why);
        self.count_on(node, known);
        turn
    }

    /// An outage of a node ends.
    ///
    /// # Errors
    /// None while nodes that are down can come back.
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

    /// Plans that count nodes count on one in maintenance from the end of that; they counted on it from `known` on.
    pub(super) fn count_on(&mut self, node: u32, known: Option<SimTime>) {
        let back = self.outages.back_at(node);
        if known != back {
            self.count_back(node, known, back);
        }
    }

    /// They do so from `back` on, in place of `known`.
    pub fn count_back(&mut self, node: u32, known: Option<SimTime>, back: Option<SimTime>) {
        let row = u32::MAX - node;
        if let Some(at) = known {
            self.releases.remove((at, row));
        }
        if let Some(at) = back {
            let units = if self.platform.is_exclusive() { 1 } else { i64::from(self.platform.slots()) };
            self.releases.insert(Release { at, row, claim: Claim { units, microwatts: 0 } });
        }
    }

    /// Nodes that are [alike](Cluster::alike) are ready, unless something else has become of them meanwhile.
    ///
    /// # Errors
    /// None while booting nodes can be ready.
    pub fn nodes_ready(&mut self, nodes: Span) -> Result<bool, SimulationError> {
        if self.node(nodes.first()) != (NodeState::Booting { until: self.now }) {
            return Ok(false);
        }
        let state = self.node(nodes.first()).ready()?;
        self.back_in_service(nodes, state);
        Ok(true)
    }

    /// Nodes that are [alike](Cluster::alike) are off, unless something else has become of them meanwhile.
    ///
    /// # Errors
    /// None while nodes that shut down can be off.
    pub fn nodes_off(&mut self, nodes: Span) -> Result<bool, SimulationError> {
        if self.node(nodes.first()) != (NodeState::ShuttingDown { until: self.now }) {
            return Ok(false);
        }
        let state = self.node(nodes.first()).powered_off()?;
        self.enter_all(nodes, state);
        Ok(true)
    }

    /// A node is down from now on; what ran on it has ended.
    pub fn node_down(&mut self, node: u32) {
        self.slots.close(Span::of(node));
        self.enter(node, NodeState::Down);
    }

    pub(super) fn back_in_service(&mut self, nodes: Span, state: NodeState) {
        self.slots.open(nodes);
        self.enter_all(nodes, state);
    }
}
