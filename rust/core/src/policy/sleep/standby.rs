//! What is known of nodes where they may be switched off: which cannot serve for that, since when the others idle, and when
//! plans have them back.

use crate::algo::node_set::NodeSet;
use crate::algo::releases::{Claim, Release};
use crate::platform::node_state::NodeState;
use crate::units::SimTime;

/// When plans have a node back that is off, shutting down or booting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comeback {
    /// Which node.
    pub node: u32,
    /// From when on; a boot that takes longer than planned may have passed it.
    pub at: SimTime,
}

/// Nodes that are off or on their way there or back, and how long the others have been idle.
#[derive(Clone, Debug)]
pub struct Standby {
    asleep: NodeSet,
    idle_since: Vec<SimTime>,
    comebacks: Vec<Comeback>,
    /// The same as plans that count nodes have them.
    counted: Vec<Release>,
}

impl Standby {
    /// All nodes idle since `start`.
    #[must_use]
    pub fn new(start: SimTime, nodes: u32) -> Self {
        Self {
            asleep: NodeSet::empty(nodes),
            idle_since: vec![start; nodes as usize],
            comebacks: Vec::new(),
            counted: Vec::new(),
        }
    }

    /// The nodes that are off, shutting down or booting.
    #[must_use]
    pub fn asleep(&self) -> &NodeSet {
        &self.asleep
    }

    /// Since when a node idles that does.
    #[must_use]
    pub fn idle_since(&self, node: u32) -> SimTime {
        self.idle_since[node as usize]
    }

    /// When plans have nodes back, by node: as of the beginning of the pass.
    #[must_use]
    pub fn comebacks(&self) -> &[Comeback] {
        &self.comebacks
    }

    /// A node has come into a state.
    pub fn enter(&mut self, now: SimTime, node: u32, state: NodeState) {
        match state {
            NodeState::Idle => {
                self.asleep.remove(node);
                self.idle_since[node as usize] = now;
            }
            NodeState::Off | NodeState::Booting { .. } | NodeState::ShuttingDown { .. } => {
                self.asleep.insert(node);
            }
            NodeState::Busy { .. } | NodeState::Kept | NodeState::Down => {
                self.asleep.remove(node);
            }
        }
    }

    /// A node idles that has done so since then.
    pub fn idle_from(&mut self, node: u32, since: SimTime) {
        self.idle_since[node as usize] = since;
    }

    /// A pass begins: nodes come back as is said, in order of nodes.
    pub fn expect(&mut self, comebacks: Vec<Comeback>) {
        self.comebacks = comebacks;
    }

    /// The same for plans that count nodes, those of one instant together: what is not released as was said before, and
    /// what is, both by their keys.
    pub fn recount(&mut self) -> (Vec<Release>, Vec<Release>) {
        let mut by_instant: Vec<_> = self.comebacks.iter().map(|one| (one.at, one.node)).collect();
        by_instant.sort_unstable();
        let beyond = u32::MAX - self.asleep.capacity();
        let all: Vec<_> = by_instant
            .chunk_by(|one, next| one.0 == next.0)
            .map(|alike| {
                let units = i64::try_from(alike.len()).unwrap_or(i64::MAX);
                Release { at: alike[0].0, row: beyond - alike[0].1, claim: Claim { units, microwatts: 0 } }
            })
            .collect();
        let gone = self.counted.iter().filter(|old| !all.contains(old)).copied().collect();
        let new = all.iter().filter(|new| !self.counted.contains(new)).copied().collect();
        self.counted = all;
        (gone, new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    #[test]
    fn nodes_that_come_back_together_are_one_release_and_only_changes_are_told() {
        let mut standby = Standby::new(at(0), 8);
        let back = |node, micros| Comeback { node, at: at(micros) };
        standby.expect(vec![back(1, 50), back(3, 20), back(5, 50)]);
        let (gone, new) = standby.recount();
        let told = |list: &[Release]| list.iter().map(|one| (one.at.micros(), one.claim.units)).collect::<Vec<_>>();
        assert_eq!((told(&gone), told(&new)), (vec![], vec![(20, 1), (50, 2)]));
        standby.expect(vec![back(1, 60), back(3, 20), back(5, 60)]);
        let (gone, new) = standby.recount();
        assert_eq!((told(&gone), told(&new)), (vec![(50, 2)], vec![(60, 2)]));
    }

    #[test]
    fn a_node_idles_since_it_came_into_that_state() {
        let mut standby = Standby::new(at(5), 2);
        standby.enter(at(7), 1, NodeState::Off);
        assert_eq!((standby.asleep().len(), standby.idle_since(0)), (1, at(5)));
        standby.enter(at(9), 1, NodeState::Idle);
        assert_eq!((standby.asleep().len(), standby.idle_since(1)), (0, at(9)));
    }
}
