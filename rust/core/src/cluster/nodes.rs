//! States of the nodes, and the runs on each.
//!
//! Where jobs get whole nodes, a node serves one run at most, and from its slot it is known whether it does. So a run
//! writes nothing to its nodes when it begins or ends: what is stored of a node is its state apart from jobs, and an index
//! of runs by node is made only once it is asked for. Where jobs share nodes, or may be preempted, each node is followed.

use std::ops::Index;

use crate::algo::span::Span;
use crate::cluster::runs::{Run, RunId, Runs};
use crate::error::SimulationError;
use crate::platform::node_state::{Class, NodeState};
use crate::platform::slots::Slots;

/// States of all nodes of a machine, and the runs on them.
#[derive(Clone, Debug)]
pub struct Nodes {
    /// State of each node; where a node serves one run at most, apart from that run.
    states: Vec<NodeState>,
    /// Number of nodes in each class.
    classes: [i32; Class::COUNT],
    /// Number of suspended runs.
    suspended: i32,
    on: OnNodes,
}

/// Runs on each node.
#[derive(Clone, Debug)]
enum OnNodes {
    /// A single run per node, as jobs get whole nodes; stored by node only once a node has gone out of service.
    One(Option<Vec<Option<RunId>>>),
    /// Several runs per node, as jobs share nodes or may be preempted.
    Several(Vec<Vec<RunId>>),
}

/// States of all nodes, as far as a policy may know them.
#[derive(Clone, Copy)]
pub struct NodeStates<'a> {
    nodes: &'a Nodes,
    slots: &'a Slots,
    runs: &'a Runs,
}

impl<'a> NodeStates<'a> {
    /// States of these nodes with these free slots and runs.
    #[must_use]
    pub fn new(nodes: &'a Nodes, slots: &'a Slots, runs: &'a Runs) -> Self {
        Self { nodes, slots, runs }
    }

    /// Number of nodes.
    #[must_use]
    pub fn len(self) -> usize {
        self.nodes.states.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.nodes.states.is_empty()
    }

    /// All states, by node.
    #[must_use]
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a NodeState> {
        (0..self.len()).map(move |node| self.of(node))
    }

    /// True if neighbouring nodes are certainly all in the state of the first.
    pub(super) fn are_alike(self, nodes: Span) -> bool {
        let state = self.nodes.states[nodes.first() as usize];
        // Where a node serves one run at most, what is stored of it says nothing of that run.
        let is_apart = state != NodeState::Idle || self.slots.holding(self.slots.per_node()).has_all(nodes);
        is_apart && self.nodes.states[nodes.places()].iter().all(|&other| other == state)
    }

    fn of(self, node: usize) -> &'a NodeState {
        let Self { nodes, slots, runs } = self;
        let id = u32::try_from(node).unwrap_or(u32::MAX);
        let state = &nodes.states[node];
        match nodes.on {
            OnNodes::One(_) if *state == NodeState::Idle && slots.is_held(id) => {
                let is_kept = nodes.suspended > 0 && nodes.has_suspended(id, slots, runs);
                if is_kept { &NodeState::Kept } else { &NodeState::Busy { jobs: 1 } }
            }
            _ => state,
        }
    }
}

impl Index<usize> for NodeStates<'_> {
    type Output = NodeState;

    fn index(&self, node: usize) -> &NodeState {
        self.of(node)
    }
}

impl Nodes {
    /// Idle nodes. `shares`: they may serve several runs at once.
    #[must_use]
    pub fn idle(count: usize, shares: bool) -> Self {
        let mut classes = [0; Class::COUNT];
        classes[Class::Idle as usize] = signed(count);
        let on = if shares { OnNodes::Several(vec![Vec::new(); count]) } else { OnNodes::One(None) };
        Self { states: vec![NodeState::Idle; count], classes, suspended: 0, on }
    }

    /// Numbers of nodes in each class.
    pub(super) fn classes(&self) -> [i32; Class::COUNT] {
        self.classes
    }

    /// Lets nodes serve several runs at once, before anything has happened.
    pub(super) fn share(&mut self) {
        self.on = OnNodes::Several(vec![Vec::new(); self.states.len()]);
    }

    /// Begins a run on nodes whose slots were taken for it.
    pub(super) fn begin(&mut self, id: RunId, nodes: &[u32]) -> Result<(), SimulationError> {
        match &mut self.on {
            OnNodes::One(index) => {
                if let Some(index) = index {
                    for &node in nodes {
                        index[node as usize] = Some(id);
                    }
                }
                self.count([Class::Idle, Class::Busy], nodes.len());
                Ok(())
            }
            OnNodes::Several(on) => enter_each(&mut self.states, &mut self.classes, nodes, |node, state| {
                on[node as usize].push(id);
                state.start_job()
            }),
        }
    }

    /// Ends a run, whose slots have not been given back yet.
    pub(super) fn end(&mut self, id: RunId, run: &Run, runs: &Runs) -> Result<(), SimulationError> {
        let (nodes, was_suspended) = (runs.nodes(run), run.suspension.is_some());
        // Others that are suspended, too.
        let others = self.suspended - i32::from(was_suspended);
        self.suspended = others;
        match &mut self.on {
            OnNodes::One(index) => {
                if let Some(index) = index {
                    for &node in nodes {
                        index[node as usize] = None;
                    }
                }
                let served_as = if was_suspended { Class::Idle } else { Class::Busy };
                self.count([served_as, Class::Idle], nodes.len());
                Ok(())
            }
            OnNodes::Several(on) => {
                let is_suspended = |id: &RunId| runs.get(*id).is_some_and(|run| run.suspension.is_some());
                enter_each(&mut self.states, &mut self.classes, nodes, |node, state| {
                    let on = &mut on[node as usize];
                    on.retain(|&other| other != id);
                    let keeps = others > 0 && on.iter().any(is_suspended);
                    if was_suspended { state.end_suspended_job(keeps) } else { state.end_job(keeps) }
                })
            }
        }
    }

    /// Suspends a run on its nodes.
    pub(super) fn suspend(&mut self, nodes: &[u32]) -> Result<(), SimulationError> {
        self.suspended += 1;
        match self.on {
            OnNodes::One(_) => {
                self.count([Class::Busy, Class::Idle], nodes.len());
                Ok(())
            }
            OnNodes::Several(_) => {
                enter_each(&mut self.states, &mut self.classes, nodes, |_, state| state.suspend_job())
            }
        }
    }

    /// Resumes a suspended run on its nodes.
    pub(super) fn resume(&mut self, nodes: &[u32]) -> Result<(), SimulationError> {
        self.suspended -= 1;
        match self.on {
            OnNodes::One(_) => {
                self.count([Class::Idle, Class::Busy], nodes.len());
                Ok(())
            }
            OnNodes::Several(_) => {
                enter_each(&mut self.states, &mut self.classes, nodes, |_, state| state.resume_job())
            }
        }
    }

    /// Takes a run off a node that it gives up while it goes on; the node's new state is entered by itself.
    pub(super) fn leave(&mut self, id: RunId, node: u32) {
        match &mut self.on {
            OnNodes::One(Some(index)) => index[node as usize] = None,
            OnNodes::One(None) => {}
            OnNodes::Several(on) => on[node as usize].retain(|&other| other != id),
        }
    }

    /// Moves nodes that are all in the state `old` into another one.
    pub(super) fn enter(&mut self, nodes: Span, old: NodeState, state: NodeState) {
        self.states[nodes.places()].fill(state);
        self.count([old.class(), state.class()], nodes.len() as usize);
    }

    /// Stores the runs by node from now on, as a node goes out of service and others may follow.
    pub(super) fn watch(&mut self, runs: &Runs) {
        if let OnNodes::One(index @ None) = &mut self.on {
            let mut by_node = vec![None; self.states.len()];
            for (id, run) in runs.iter() {
                runs.nodes(run).iter().for_each(|&node| by_node[node as usize] = Some(id));
            }
            *index = Some(by_node);
        }
    }

    /// The runs on a node.
    pub(super) fn runs_on(&self, node: u32, slots: &Slots, runs: &Runs) -> Vec<RunId> {
        match &self.on {
            OnNodes::One(_) if !slots.is_held(node) => Vec::new(),
            OnNodes::One(Some(index)) => index[node as usize].into_iter().collect(),
            OnNodes::One(None) => {
                let serves = |(id, run): (RunId, &Run)| runs.nodes(run).binary_search(&node).is_ok().then_some(id);
                runs.iter().find_map(serves).into_iter().collect()
            }
            OnNodes::Several(on) => on[node as usize].clone(),
        }
    }

    /// True if a run on the node is suspended.
    fn has_suspended(&self, node: u32, slots: &Slots, runs: &Runs) -> bool {
        let is_suspended = |id: RunId| runs.get(id).is_some_and(|run| run.suspension.is_some());
        self.runs_on(node, slots, runs).into_iter().any(is_suspended)
    }

    fn count(&mut self, [old, new]: [Class; 2], nodes: usize) {
        self.classes[old as usize] -= signed(nodes);
        self.classes[new as usize] += signed(nodes);
    }
}

fn signed(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Moves nodes one after the other into the states that `turn` returns. Class counts are updated once for each series
/// of nodes with the same change of class.
fn enter_each(
    nodes: &mut [NodeState],
    classes: &mut [i32; Class::COUNT],
    which: &[u32],
    mut turn: impl FnMut(u32, NodeState) -> Result<NodeState, SimulationError>,
) -> Result<(), SimulationError> {
    let (mut alike, mut count) = ([Class::Idle; 2], 0);
    let mut tell = |[old, new]: [Class; 2], count| {
        classes[old as usize] -= count;
        classes[new as usize] += count;
    };
    for &node in which {
        let state = &mut nodes[node as usize];
        let new = turn(node, *state)?;
        let classes = [state.class(), new.class()];
        *state = new;
        if classes != alike {
            tell(alike, count);
            (alike, count) = (classes, 0);
        }
        count += 1;
    }
    tell(alike, count);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cluster::runs::Suspension;
    use crate::units::{SimDuration, SimTime, Watts};

    const COUNT: u32 = 6;

    /// A machine of whole nodes: without books by node, and with them.
    struct Both {
        plain: Nodes,
        twin: Nodes,
        slots: Slots,
        runs: Runs,
    }

    impl Both {
        fn begin(&mut self, nodes: &[u32]) -> RunId {
            let places = self.runs.write(Run::test(0..0).job, false, nodes).unwrap();
            let id = self.runs.begin(Run::test(places));
            assert_eq!(self.slots.take_whole(nodes), None);
            for own in [&mut self.plain, &mut self.twin] {
                own.begin(id, nodes).unwrap();
            }
            id
        }

        fn end(&mut self, id: RunId) {
            let run = self.runs.end(id).unwrap();
            for own in [&mut self.plain, &mut self.twin] {
                own.end(id, &run, &self.runs).unwrap();
            }
            self.slots.give_whole(self.runs.nodes(&run));
        }

        fn suspend_or_resume(&mut self, id: RunId) {
            let run = self.runs.get_mut(id).unwrap();
            let new = Suspension { since: SimTime::default(), left: SimDuration::ZERO, asks: Watts::ZERO };
            let was_suspended = run.suspension.take().is_some();
            run.suspension = (!was_suspended).then_some(new);
            let places = run.places.clone();
            let nodes = self.runs.written(places);
            for own in [&mut self.plain, &mut self.twin] {
                if was_suspended { own.resume(nodes).unwrap() } else { own.suspend(nodes).unwrap() }
            }
        }

        /// Takes an idle node out of service, or back into it.
        fn turn(&mut self, node: u32) {
            let (old, new) = match self.seen(&self.plain)[node as usize] {
                NodeState::Idle => (NodeState::Idle, NodeState::Down),
                NodeState::Down => (NodeState::Down, NodeState::Idle),
                _ => return,
            };
            self.plain.watch(&self.runs);
            for own in [&mut self.plain, &mut self.twin] {
                own.enter(Span::of(node), old, new);
            }
            if new == NodeState::Down { self.slots.close(Span::of(node)) } else { self.slots.open(Span::of(node)) }
        }

        fn seen(&self, own: &Nodes) -> Vec<NodeState> {
            NodeStates::new(own, &self.slots, &self.runs).iter().copied().collect()
        }
    }

    proptest! {
        /// Twin: each node by itself.
        #[test]
        fn states_of_nodes_are_known_from_slots_and_runs(
            steps in prop::collection::vec((0..8_u8, 0..COUNT, 1..4_u32, any::<prop::sample::Index>()), 0..60),
        ) {
            let (plain, twin) = (Nodes::idle(COUNT as usize, false), Nodes::idle(COUNT as usize, true));
            let mut both = Both { plain, twin, slots: Slots::new(COUNT, 1), runs: Runs::default() };
            let mut under_way: Vec<RunId> = Vec::new();
            for (what, first, count, which) in steps {
                let nodes: Vec<_> = (first..(first + count).min(COUNT)).collect();
                match what {
                    0..3 if nodes.iter().all(|&node| both.slots.free_on(node) == 1) => under_way.push(both.begin(&nodes)),
                    3 | 4 if !under_way.is_empty() => both.end(under_way.swap_remove(which.index(under_way.len()))),
                    5 | 6 if !under_way.is_empty() => both.suspend_or_resume(under_way[which.index(under_way.len())]),
                    7 => both.turn(first),
                    _ => {}
                }
                prop_assert_eq!(both.seen(&both.plain), both.seen(&both.twin));
                prop_assert_eq!(both.plain.classes(), both.twin.classes());
                let on = |own: &Nodes| (0..COUNT).map(|node| own.runs_on(node, &both.slots, &both.runs)).collect::<Vec<_>>();
                prop_assert_eq!(on(&both.plain), on(&both.twin));
            }
        }
    }
}
