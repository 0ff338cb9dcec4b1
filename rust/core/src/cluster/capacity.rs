//! Capacities: what is free, when more comes, and which nodes are on standby, of a machine and of its lanes. Lanes are sets
//! of nodes that have none in common; a policy that is shown one schedules it as if it were the machine (operations page
//! on machines, rule 6).
//!
//! The capacity of the machine is always kept. Where there are lanes, each change is made to it and to that of the lane
//! which the nodes are in; a node keeps its number.

use std::sync::Arc;

use crate::algo::node_set::NodeSet;
use crate::algo::releases::{Release, ReleasedBy, Releases};
use crate::algo::sorted_blocks::Keyed;
use crate::algo::span::Span;
use crate::cluster::standby::{Expected, Standby};
use crate::platform::Platform;
use crate::platform::cells::Cells;
use crate::platform::node_state::NodeState;
use crate::platform::queues::Queues;
use crate::platform::slots::Slots;
use crate::units::SimTime;
use crate::workload::JobId;

/// Capacity of a set of nodes: free slots, releases to come, and nodes on standby.
#[derive(Clone, Debug)]
pub struct Capacity {
    slots: Slots,
    releases: Releases,
    /// Nodes on standby, if nodes may be switched off.
    standby: Option<Standby>,
}

/// A set of nodes that is scheduled as if it were the machine.
#[derive(Clone, Debug)]
pub struct Lane {
    nodes: NodeSet,
    capacity: Capacity,
}

/// Capacity of a machine, and of each of its lanes.
#[derive(Clone, Debug)]
pub struct Capacities {
    machine: Capacity,
    /// By lowest node; empty where the machine is seen as a whole.
    lanes: Vec<Lane>,
    /// Lane of each node; [`IN_NONE`] for one that is in none.
    of_node: Vec<u16>,
    /// The queues, which know the lane of each job.
    queues: Option<Arc<Queues>>,
    sight: Sight,
}

/// Part of a machine that a policy decides about at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// The machine.
    #[default]
    Whole,
    /// The only lane, in place of the machine.
    OnlyLane,
    /// Each lane.
    EachLane,
}

/// Lane of a node that is in none.
const IN_NONE: u16 = u16::MAX;

impl Capacity {
    /// Free slots of each node. Nodes of other lanes are out of service here.
    #[must_use]
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Releases of running jobs and of nodes that come back.
    #[must_use]
    pub fn releases(&self) -> &Releases {
        &self.releases
    }

    /// Nodes on standby, if nodes may be switched off.
    #[must_use]
    pub fn standby(&self) -> Option<&Standby> {
        self.standby.as_ref()
    }

    fn expect(&mut self, expected: Expected, counts: bool) {
        let Self { releases, standby: Some(standby), .. } = self else { return };
        standby.expect(expected);
        if counts {
            let (gone, new) = standby.recount();
            for old in gone {
                releases.remove(old.key());
            }
            for &release in new {
                releases.insert(release);
            }
        }
    }
}

impl Lane {
    /// Its nodes.
    #[must_use]
    pub fn nodes(&self) -> &NodeSet {
        &self.nodes
    }

    /// Its capacity.
    #[must_use]
    pub fn capacity(&self) -> &Capacity {
        &self.capacity
    }
}

impl Capacities {
    /// A machine of free nodes, seen as a whole.
    #[must_use]
    pub fn whole(nodes: u32, slots_per_node: u32) -> Self {
        Self {
            machine: Capacity {
                slots: Slots::new(nodes, slots_per_node),
                releases: Releases::followed(),
                standby: None,
            },
            lanes: Vec::new(),
            of_node: Vec::new(),
            queues: None,
            sight: Sight::Whole,
        }
    }

    /// Keeps a capacity for each lane of these queues from now on, as policies see one in place of the machine or each.
    pub fn split(&mut self, queues: &Arc<Queues>, sight: Sight, now: SimTime, platform: &Platform) {
        self.of_node = vec![IN_NONE; platform.len() as usize];
        self.queues = Some(Arc::clone(queues));
        self.sight = sight;
        for (number, nodes) in (0..).zip(queues.lane_sets()) {
            for &node in nodes {
                self.of_node[node as usize] = number;
            }
        }
        self.lanes.clear();
        for (number, nodes) in (0..).zip(queues.lane_sets()) {
            let mut slots = self.machine.slots.clone();
            let others = (0..).zip(&self.of_node).filter(|(_, lane)| **lane != number);
            others.for_each(|(node, _)| slots.close(Span::of(node)));
            let mut own = NodeSet::empty(platform.len());
            own.insert_all(nodes);
            let standby = self.machine.standby.as_ref().map(|_| Standby::new(now, platform));
            let capacity = Capacity { slots, releases: Releases::followed(), standby };
            self.lanes.push(Lane { nodes: own, capacity });
        }
        let releases: Vec<_> = self.machine.releases.iter().copied().collect();
        for release in releases {
            if let Some(lane) = self.of_release(release.by) {
                self.lanes[lane].capacity.releases.insert(release);
            }
        }
    }

    /// Sees the machine as a whole from now on.
    pub fn unite(&mut self) {
        self.lanes.clear();
        self.of_node.clear();
        (self.queues, self.sight) = (None, Sight::Whole);
    }

    /// Takes note of more jobs in the same queues.
    pub fn grow(&mut self, queues: &Arc<Queues>) {
        if self.queues.is_some() {
            self.queues = Some(Arc::clone(queues));
        }
    }

    /// Capacity of the machine.
    #[must_use]
    #[inline]
    pub fn machine(&self) -> &Capacity {
        &self.machine
    }

    /// The lanes, by lowest node; none where the machine is seen as a whole.
    #[must_use]
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The nodes of a job's lane or, where there are no lanes, of the machine, which has `all`.
    pub fn nodes_of(&self, job: JobId, all: u32) -> impl Iterator<Item = u32> + '_ {
        let lane = self.of_release(ReleasedBy::Job(job.0));
        (0..all).filter(move |&node| lane.is_none() || self.of_node(node) == lane)
    }

    /// The queues whose lanes they are, if there are any.
    #[must_use]
    pub fn queues(&self) -> Option<&Arc<Queues>> {
        self.queues.as_ref()
    }

    /// Part of the machine that policies decide about at a time.
    #[must_use]
    pub fn sight(&self) -> Sight {
        self.sight
    }

    /// The lane that policies are shown in place of the machine, if they are.
    #[must_use]
    pub fn shown(&self) -> Option<usize> {
        (self.sight == Sight::OnlyLane).then_some(0)
    }

    /// Capacity that policies are shown.
    #[must_use]
    pub fn seen(&self) -> &Capacity {
        self.shown().map_or(&self.machine, |lane| &self.lanes[lane].capacity)
    }

    /// The lane that a node is in.
    #[must_use]
    pub fn of_node(&self, node: u32) -> Option<usize> {
        self.of_node.get(node as usize).filter(|&&lane| lane != IN_NONE).map(|&lane| usize::from(lane))
    }

    fn of_release(&self, by: ReleasedBy) -> Option<usize> {
        match by {
            ReleasedBy::Job(row) => self.queues.as_ref().map(|queues| queues.lane(JobId(row))),
            ReleasedBy::Node(node) => self.of_node(node),
            ReleasedBy::Cell(_) | ReleasedBy::Budget => None,
        }
    }

    /// Makes a change at nodes of one lane, of which this is one.
    #[inline]
    fn change<T>(&mut self, node: Option<u32>, change: impl Fn(&mut Capacity) -> T) -> T {
        if !self.lanes.is_empty()
            && let Some(lane) = node.and_then(|node| self.of_node(node))
        {
            change(&mut self.lanes[lane].capacity);
        }
        change(&mut self.machine)
    }

    /// Makes a change at neighbouring nodes.
    #[inline]
    fn change_span(&mut self, nodes: Span, change: impl Fn(&mut Capacity, Span)) {
        change(&mut self.machine, nodes);
        let mut rest = Some(nodes).filter(|_| !self.lanes.is_empty());
        while let Some(nodes) = rest {
            let (own, others) = nodes.split(|node| self.of_node[node as usize]);
            if let Some(lane) = self.of_node(own.first()) {
                change(&mut self.lanes[lane].capacity, own);
            }
            rest = others;
        }
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Capacity> {
        std::iter::once(&mut self.machine).chain(self.lanes.iter_mut().map(|lane| &mut lane.capacity))
    }

    /// Makes slots that suspended runs hold available to others. To be called before anything is taken.
    pub fn lend(&mut self) {
        self.each().for_each(|capacity| capacity.slots.lend());
    }

    /// Takes slots of a node; see [`Slots::take`].
    pub fn take(&mut self, node: u32, need: u32) -> bool {
        self.change(Some(node), |capacity| capacity.slots.take(node, need))
    }

    /// Takes slots that suspended runs hold; see [`Slots::take_lent`].
    pub fn take_lent(&mut self, node: u32, need: u32) {
        self.change(Some(node), |capacity| capacity.slots.take_lent(node, need));
    }

    /// Takes whole nodes of one lane; see [`Slots::take_whole`].
    #[must_use]
    pub fn take_whole(&mut self, nodes: &[u32]) -> Option<u32> {
        self.change(nodes.first().copied(), |capacity| capacity.slots.take_whole(nodes))
    }

    /// Gives slots of a node back; see [`Slots::give`].
    pub fn give(&mut self, node: u32, need: u32) {
        self.change(Some(node), |capacity| capacity.slots.give(node, need));
    }

    /// Gives whole nodes of one lane back; see [`Slots::give_whole`].
    pub fn give_whole(&mut self, nodes: &[u32]) {
        self.change(nodes.first().copied(), |capacity| capacity.slots.give_whole(nodes));
    }

    /// Puts nodes back into service; see [`Slots::open`].
    pub fn open(&mut self, nodes: Span) {
        self.change_span(nodes, |capacity, nodes| capacity.slots.open(nodes));
    }

    /// Takes nodes out of service; see [`Slots::close`].
    pub fn close(&mut self, nodes: Span) {
        self.change_span(nodes, |capacity, nodes| capacity.slots.close(nodes));
    }

    /// Adds a release.
    #[inline]
    pub fn insert(&mut self, release: Release) {
        if !self.lanes.is_empty()
            && let Some(lane) = self.of_release(release.by)
        {
            self.lanes[lane].capacity.releases.insert(release);
        }
        self.machine.releases.insert(release);
    }

    /// Removes a release; false if there is none like that.
    #[inline]
    pub fn remove(&mut self, at: SimTime, by: ReleasedBy) -> bool {
        if !self.lanes.is_empty()
            && let Some(lane) = self.of_release(by)
        {
            self.lanes[lane].capacity.releases.remove((at, by));
        }
        self.machine.releases.remove((at, by)).is_some()
    }

    /// Forgets all releases.
    pub fn forget_releases(&mut self) {
        self.each().for_each(|capacity| capacity.releases = Releases::followed());
    }

    /// Tracks idle nodes, before anything has happened, as nodes may be switched off.
    pub fn watch_idle(&mut self, now: SimTime, platform: &Platform) {
        self.each().for_each(|capacity| capacity.standby = Some(Standby::new(now, platform)));
    }

    /// Counts nodes on standby by cell from now on.
    pub fn divide(&mut self, platform: &Platform, cells: &Cells) {
        self.each().filter_map(|capacity| capacity.standby.as_mut()).for_each(|own| own.divide(platform, cells));
    }

    /// Follows neighbouring nodes from one state into another; false if idle nodes are not tracked.
    #[inline]
    pub fn enter(&mut self, now: SimTime, nodes: Span, old: NodeState, new: NodeState) -> bool {
        let tracks = self.machine.standby.is_some();
        if tracks {
            self.change_span(nodes, |capacity, nodes| {
                capacity.standby.iter_mut().for_each(|standby| standby.enter(now, nodes, old, new));
            });
        }
        tracks
    }

    /// Notes that neighbouring nodes idle since then, if idle nodes are tracked.
    pub fn idle_from(&mut self, since: SimTime, nodes: Span) {
        self.change_span(nodes, |capacity, nodes| {
            capacity.standby.iter_mut().for_each(|standby| standby.idle_from(since, nodes));
        });
    }

    /// Returns an empty [`Expected`] for a lane, or the machine; it reuses the memory of the last one.
    pub fn begin_expecting(&mut self, lane: Option<usize>) -> Expected {
        self.standby_mut(lane).map_or_else(Expected::default, Standby::begin_expecting)
    }

    /// Sets the nodes of a lane, or the machine, that plans expect back from standby; with `counts` also the releases
    /// for plans that count nodes.
    pub fn expect(&mut self, lane: Option<usize>, expected: Expected, counts: bool) {
        self.capacity_mut(lane).expect(expected, counts);
    }

    fn capacity_mut(&mut self, lane: Option<usize>) -> &mut Capacity {
        match lane {
            Some(lane) => &mut self.lanes[lane].capacity,
            None => &mut self.machine,
        }
    }

    fn standby_mut(&mut self, lane: Option<usize>) -> Option<&mut Standby> {
        self.capacity_mut(lane).standby.as_mut()
    }

    /// Takes the former data on nodes on standby.
    pub fn take_standby(&mut self) -> Option<Standby> {
        self.lanes.iter_mut().for_each(|lane| lane.capacity.standby = None);
        self.machine.standby.take()
    }

    /// Continues the former data on nodes on standby or, if there are none, begins with the instants since which nodes
    /// idle. `states` are those of all nodes.
    pub fn stand_by(
        &mut self,
        now: SimTime,
        before: Option<Standby>,
        states: &[NodeState],
        idle_since: impl Fn(u32) -> SimTime,
    ) {
        let Some(machine) = &mut self.machine.standby else { return };
        // Where none is given, the states of all others are known already.
        let is_told = |state: NodeState| before.is_some() || state == NodeState::Idle;
        let told: Vec<_> = (0..).zip(states.iter().copied()).filter(|(_, state)| is_told(*state)).collect();
        match before {
            Some(mut before) if before.counts_like(machine) => {
                before.forget_plans();
                *machine = before;
            }
            Some(before) => machine.begin_from(now, told.iter().copied(), |node| before.idle_since(node)),
            None => machine.begin_from(now, told.iter().copied(), idle_since),
        }
        for Lane { nodes, capacity } in &mut self.lanes {
            if let Some(own) = &mut capacity.standby {
                let told = told.iter().copied().filter(|(node, _)| nodes.contains(*node));
                own.begin_from(now, told, |node| machine.idle_since(node));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algo::releases::Claim;
    use crate::platform::PlatformColumns;
    use crate::platform::queues::{Queue, QueueColumns};

    const SETS: [&[u32]; 2] = [&[0, 2, 3], &[1, 4]];
    const NODES: usize = 6;

    /// Queues of two sets of nodes with a job each; node 5 is in none.
    fn queues() -> Arc<Queues> {
        let queues = SETS.iter().map(|nodes| Queue { nodes: nodes.to_vec(), ..Queue::default() }).collect();
        let columns = QueueColumns { queues, of_job: vec![0, 1], users: vec![None; 2], bars: vec![None; 2] };
        Arc::new(columns.into_queues(2, 6).unwrap().in_lanes())
    }

    fn platform() -> Platform {
        let alike = |value: f64| vec![value; NODES];
        let columns = PlatformColumns {
            idle_w: alike(1.0),
            busy_w: alike(1.0),
            tdp_w: alike(1.0),
            off_w: alike(0.0),
            down_w: alike(0.0),
            boot_w: alike(1.0),
            boot_s: alike(1.0),
            shutdown_w: alike(1.0),
            shutdown_s: alike(1.0),
            slots: vec![1; NODES],
            exclusive: true,
        };
        columns.into_platform().unwrap()
    }

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn release(row: u32, micros: i64) -> Release {
        Release { at: at(micros), by: ReleasedBy::Job(row), claim: Claim { units: 1, microwatts: 0 } }
    }

    /// Changes at spans of nodes, whatever lanes they are in, and at nodes of one lane.
    fn change(all: &mut Capacities, kind: u8, (first, last): (u32, u32), lane: usize) {
        let mut span = Span::of(first.min(last));
        (first.min(last) + 1..=first.max(last)).for_each(|node| assert!(span.extend(node)));
        let (free, off) = (all.machine().slots().holding(1).clone(), NodeState::Off);
        let own: Vec<_> = SETS[lane].iter().copied().filter(|&node| first.max(last) >= node).collect();
        match kind {
            0 if own.iter().all(|&node| free.contains(node)) => assert_eq!(all.take_whole(&own), None),
            1 if own.iter().all(|&node| all.machine().slots().is_held(node)) => all.give_whole(&own),
            2 if span.nodes().all(|node| free.contains(node)) => {
                all.close(span);
                assert!(all.enter(at(7), span, NodeState::Idle, off));
            }
            3 if span.nodes().all(|node| all.machine().standby().unwrap().off().contains(node)) => {
                all.open(span);
                assert!(all.enter(at(9), span, off, NodeState::Idle));
            }
            _ => {}
        }
    }

    proptest! {
        /// Twin: the machine's, of the nodes of the lane. A machine may be split at any time.
        #[test]
        fn each_lane_has_what_the_machine_has_of_its_nodes(
            before in prop::collection::vec((0..4_u8, (0..6_u32, 0..6_u32), 0..2_usize), 0..20),
            after in prop::collection::vec((0..4_u8, (0..6_u32, 0..6_u32), 0..2_usize), 0..40),
        ) {
            let (platform, queues) = (platform(), queues());
            let mut all = Capacities::whole(6, 1);
            all.watch_idle(at(0), &platform);
            for (kind, span, lane) in before {
                change(&mut all, kind, span, lane);
            }
            let is_off = |node| all.machine().standby().unwrap().off().contains(node);
            let state = |node| if is_off(node) { NodeState::Off } else { NodeState::Idle };
            let states: Vec<_> = (0..6).map(state).collect();
            all.split(&queues, Sight::EachLane, at(1), &platform);
            let standby = all.take_standby();
            all.watch_idle(at(1), &platform);
            all.stand_by(at(1), standby, &states, |_| at(0));
            for (kind, span, lane) in after {
                change(&mut all, kind, span, lane);
                for (lane, nodes) in all.lanes().iter().zip(SETS) {
                    let (own, machine) = (lane.capacity(), all.machine());
                    let mut free = machine.slots().holding(1).clone();
                    free.keep_common(lane.nodes());
                    prop_assert_eq!(own.slots().holding(1), &free);
                    prop_assert_eq!(own.slots().free_units(), i64::from(free.len()));
                    let (own, machine) = (own.standby().unwrap(), machine.standby().unwrap());
                    for &node in nodes {
                        prop_assert_eq!(own.off().contains(node), machine.off().contains(node));
                        prop_assert!(!free.contains(node) || own.idle_since(node) == machine.idle_since(node));
                    }
                    prop_assert!(own.off().iter().all(|node| nodes.contains(&node)));
                }
            }
        }
    }

    #[test]
    fn a_release_is_one_of_the_lane_of_its_job_or_node() {
        let mut all = Capacities::whole(6, 1);
        all.insert(release(1, 5));
        all.split(&queues(), Sight::EachLane, at(0), &platform());
        all.insert(release(0, 3));
        all.insert(Release { by: ReleasedBy::Node(5), ..release(0, 4) });
        all.insert(Release { by: ReleasedBy::Node(1), ..release(0, 6) });
        let instants = |capacity: &Capacity| capacity.releases().iter().map(|one| one.at.micros()).collect::<Vec<_>>();
        let of_lanes = |all: &Capacities| [0, 1].map(|lane| instants(all.lanes()[lane].capacity()));
        assert_eq!((instants(all.machine()), of_lanes(&all)), (vec![3, 4, 5, 6], [vec![3], vec![5, 6]]));
        assert!(all.remove(at(5), ReleasedBy::Job(1)) && !all.remove(at(5), ReleasedBy::Job(1)));
        assert_eq!((instants(all.machine()), of_lanes(&all)), (vec![3, 4, 6], [vec![3], vec![6]]));
    }

    #[test]
    fn policies_see_the_only_lane_in_place_of_the_machine_if_they_are_to() {
        let mut all = Capacities::whole(6, 1);
        assert_eq!((all.shown(), all.seen().slots().free_units()), (None, 6));
        all.split(&queues(), Sight::OnlyLane, at(0), &platform());
        assert_eq!((all.shown(), all.seen().slots().free_units()), (Some(0), 3));
        all.unite();
        assert_eq!((all.shown(), all.seen().slots().free_units(), all.lanes().len()), (None, 6, 0));
        assert_eq!([0, 1, 5].map(|node| all.of_node(node)), [None; 3]);
    }
}
