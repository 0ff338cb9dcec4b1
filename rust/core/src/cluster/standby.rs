//! Standby: knowledge about nodes that may be switched off. The nodes that cannot serve for that reason, the instants
//! since which the others idle, and the instants at which plans have nodes back.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

use crate::algo::node_set::NodeSet;
use crate::algo::releases::{Claim, Release, ReleasedBy};
use crate::algo::sorted_blocks::Keyed;
use crate::algo::span::Span;
use crate::platform::Platform;
use crate::platform::cells::Cells;
use crate::platform::node_state::NodeState;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Instant at which plans have a node back that is off, shutting down or booting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comeback {
    /// The node.
    pub node: u32,
    /// The instant; it may be past if a boot takes longer than planned.
    pub at: SimTime,
    /// True if it is off and a wake-up takes no time: plans have it now.
    pub at_once: bool,
}

/// Number of nodes of a cell that are off, shutting down or booting and that plans have back at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Return {
    /// The instant.
    pub at: SimTime,
    /// The cell; 0 where all nodes are alike.
    pub cell: u16,
    /// Number of these nodes.
    pub nodes: i64,
    /// Number of those among them that are off or shutting down.
    pub down: i64,
}

/// Nodes that plans expect back.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Single nodes, by number, if a part of the policy asks for them.
    pub comebacks: Vec<Comeback>,
    /// Counts of nodes, by instant and cell, if nodes are counted.
    pub returns: Vec<Return>,
    /// Nodes that were woken for a job and have not served since, by number, if plans name nodes.
    pub kept: Vec<(u32, JobId)>,
    /// Longest planned start of any node of each cell that is off or shutting down; one where all nodes are alike.
    pub margins: Vec<SimDuration>,
}

/// Nodes that are off or in transition, and the instants since which the others idle.
#[derive(Clone, Debug)]
pub struct Standby {
    asleep: NodeSet,
    off: NodeSet,
    idle_since: Vec<SimTime>,
    /// Log of nodes that became idle and the instants since which they are, oldest first; see
    /// [`Standby::came_to_idle`].
    idled: Vec<(SimTime, Span)>,
    /// Number of log entries that were dropped before the first.
    forgotten: u64,
    expected: Expected,
    /// The expected returns, as releases for plans that count nodes.
    counted: Counted,
    /// Classes of nodes of one cell with equal times to shut down and to boot.
    paces: Vec<Pace>,
    pace_of: Vec<u32>,
}

/// Releases by instant, and their changes since the pass before.
#[derive(Clone, Debug, Default)]
struct Counted {
    all: Vec<Release>,
    before: Vec<Release>,
    gone: Vec<Release>,
    new: Vec<Release>,
}

/// Nodes of one cell with equal times to shut down and to boot, and the number of them in each state.
#[derive(Clone, Debug)]
struct Pace {
    /// One of these nodes.
    like: u32,
    off: i64,
    stopping: Moves,
    booting: Moves,
}

/// Numbers of nodes in transition by the instant of its end, the earliest first.
#[derive(Clone, Debug, Default)]
struct Moves(VecDeque<(SimTime, i64)>);

impl Moves {
    fn add(&mut self, until: SimTime, nodes: i64) {
        let place = if self.0.back().is_none_or(|(last, _)| *last < until) { self.0.len() } else { self.place(until) };
        match self.0.get_mut(place).filter(|(at, _)| *at == until) {
            Some((_, count)) => *count += nodes,
            None => self.0.insert(place, (until, nodes)),
        }
    }

    fn place(&self, until: SimTime) -> usize {
        self.0.partition_point(|(at, _)| *at < until)
    }

    fn remove(&mut self, until: SimTime, nodes: i64) {
        let place = self.place(until);
        let Some((_, count)) = self.0.get_mut(place).filter(|(at, _)| *at == until) else { return };
        *count -= nodes;
        if *count == 0 {
            self.0.remove(place);
        }
    }
}

/// Classes of nodes of one cell with equal times to shut down and to boot, and the class of each node.
fn paces(platform: &Platform, cell_of: impl Fn(u32) -> Option<u16>) -> (Vec<Pace>, Vec<u32>) {
    let (mut known, mut paces) = (BTreeMap::new(), Vec::new());
    let pace_of = (0..).zip(platform.nodes()).map(|(like, draw)| {
        *known.entry((cell_of(like), draw.shutdown_time, draw.boot_time)).or_insert_with(|| {
            paces.push(Pace { like, off: 0, stopping: Moves::default(), booting: Moves::default() });
            u32::try_from(paces.len() - 1).unwrap_or(u32::MAX)
        })
    });
    let pace_of = pace_of.collect();
    (paces, pace_of)
}

impl Standby {
    /// All nodes idle since `start`.
    #[must_use]
    pub fn new(start: SimTime, platform: &Platform) -> Self {
        let (paces, pace_of) = paces(platform, |_| None);
        Self {
            pace_of,
            paces,
            asleep: NodeSet::empty(platform.len()),
            off: NodeSet::empty(platform.len()),
            idle_since: vec![start; platform.len() as usize],
            idled: Vec::new(),
            forgotten: 0,
            expected: Expected::default(),
            counted: Counted::default(),
        }
    }

    /// Counts nodes by cell from now on, before anything has happened.
    pub fn divide(&mut self, platform: &Platform, cells: &Cells) {
        (self.paces, self.pace_of) = paces(platform, |node| cells.cell_of(node));
    }

    /// True if both count the same nodes together.
    #[must_use]
    pub fn counts_like(&self, other: &Self) -> bool {
        self.pace_of == other.pace_of
    }

    /// The nodes that are off, shutting down or booting.
    #[must_use]
    pub fn asleep(&self) -> &NodeSet {
        &self.asleep
    }

    /// The nodes that are off.
    #[must_use]
    pub fn off(&self) -> &NodeSet {
        &self.off
    }

    /// Instant since which an idle node idles.
    #[must_use]
    pub fn idle_since(&self, node: u32) -> SimTime {
        self.idle_since[node as usize]
    }

    /// Nodes that plans have back, by number, as of the start of the pass; kept only if a part of the policy asks for
    /// single nodes.
    #[must_use]
    pub fn comebacks(&self) -> &[Comeback] {
        &self.expected.comebacks
    }

    /// Nodes that were woken for a job and have not served since, by number, if plans name nodes.
    #[must_use]
    pub fn kept(&self) -> &[(u32, JobId)] {
        &self.expected.kept
    }

    /// Longest planned start of any node of a cell that is off or shutting down; kept if watts are counted, too.
    #[must_use]
    pub fn margin(&self, cell: usize) -> SimDuration {
        self.expected.margins.get(cell).copied().unwrap_or_default()
    }

    /// Counts of nodes that plans have back, by instant and cell, if nodes are counted.
    #[must_use]
    pub fn returns(&self) -> &[Return] {
        &self.expected.returns
    }

    /// Nodes that are off, shutting down or booting, grouped: one of each group, its state, and the number of nodes in
    /// it.
    pub fn alike(&self) -> impl Iterator<Item = (u32, NodeState, i64)> + '_ {
        self.paces.iter().flat_map(|pace| {
            let off = (pace.off > 0).then_some((pace.like, NodeState::Off, pace.off));
            let stopping = pace.stopping.0.iter().map(|&(until, count)| (NodeState::ShuttingDown { until }, count));
            let booting = pace.booting.0.iter().map(|&(until, count)| (NodeState::Booting { until }, count));
            off.into_iter().chain(stopping.chain(booting).map(|(state, count)| (pace.like, state, count)))
        })
    }

    /// One node of each class of which any is off, shutting down or booting.
    pub fn kinds_asleep(&self) -> impl Iterator<Item = u32> + '_ {
        let sleeps = |pace: &&Pace| pace.off > 0 || !pace.stopping.0.is_empty() || !pace.booting.0.is_empty();
        self.paces.iter().filter(sleeps).map(|pace| pace.like)
    }

    /// One node of each class of which any is off or shutting down.
    pub fn kinds_down(&self) -> impl Iterator<Item = u32> + '_ {
        self.paces.iter().filter(|pace| pace.off > 0 || !pace.stopping.0.is_empty()).map(|pace| pace.like)
    }

    /// Follows nodes from one state into another.
    pub fn enter(&mut self, now: SimTime, nodes: Span, old: NodeState, new: NodeState) {
        let mut rest = Some(nodes);
        while let Some(nodes) = rest {
            let is_one = self.paces.len() == 1;
            let (alike, others) = if is_one { (nodes, None) } else { nodes.split(|node| self.pace_of[node as usize]) };
            self.enter_alike(now, alike, old, new);
            rest = others;
        }
    }

    /// The same for nodes of one class.
    fn enter_alike(&mut self, now: SimTime, nodes: Span, old: NodeState, new: NodeState) {
        let (pace, count) = (&mut self.paces[self.pace_of[nodes.first() as usize] as usize], i64::from(nodes.len()));
        let was_asleep = match old {
            NodeState::Off => {
                pace.off -= count;
                self.off.remove_span(nodes);
                true
            }
            NodeState::ShuttingDown { until } => {
                pace.stopping.remove(until, count);
                true
            }
            NodeState::Booting { until } => {
                pace.booting.remove(until, count);
                true
            }
            NodeState::Idle | NodeState::Busy { .. } | NodeState::Kept | NodeState::Down => false,
        };
        let is_asleep = match new {
            NodeState::Off => {
                pace.off += count;
                self.off.insert_span(nodes);
                true
            }
            NodeState::ShuttingDown { until } => {
                pace.stopping.add(until, count);
                true
            }
            NodeState::Booting { until } => {
                pace.booting.add(until, count);
                true
            }
            NodeState::Idle => {
                self.idle_from(now, nodes);
                false
            }
            NodeState::Busy { .. } | NodeState::Kept | NodeState::Down => false,
        };
        match (was_asleep, is_asleep) {
            (false, true) => self.asleep.insert_span(nodes),
            (true, false) => self.asleep.remove_span(nodes),
            (false, false) | (true, true) => {}
        }
    }

    /// Begins with nodes in these states, where all were idle so far; idle ones have been so since `idle_since`.
    pub fn begin_from(
        &mut self,
        now: SimTime,
        states: impl Iterator<Item = (u32, NodeState)>,
        idle_since: impl Fn(u32) -> SimTime,
    ) {
        for (node, state) in states {
            match state {
                NodeState::Idle => self.idle_from(idle_since(node), Span::of(node)),
                NodeState::Off | NodeState::Booting { .. } | NodeState::ShuttingDown { .. } => {
                    self.enter(now, Span::of(node), NodeState::Idle, state);
                }
                NodeState::Busy { .. } | NodeState::Kept | NodeState::Down => {}
            }
        }
    }

    /// Notes that neighbouring nodes idle since then.
    pub fn idle_from(&mut self, since: SimTime, nodes: Span) {
        self.idle_since[nodes.places()].fill(since);
        if self.idled.len() >= 2 * self.idle_since.len() {
            self.forgotten += self.idled.len() as u64;
            self.idled.clear();
        }
        self.idled.push((since, nodes));
    }

    /// Log entries of nodes that became idle after the first `seen`, and the number of all entries so far; `None` if a
    /// reader of the first `seen` has missed entries that were dropped, and should look at all nodes. Some of the nodes
    /// may have got work since.
    #[must_use]
    pub fn came_to_idle(&self, seen: u64) -> (Option<&[(SimTime, Span)]>, u64) {
        let since = seen.checked_sub(self.forgotten).and_then(|from| self.idled.get(usize::try_from(from).ok()?..));
        (since, self.forgotten + self.idled.len() as u64)
    }

    /// Forgets the nodes that plans expect back.
    pub fn forget_plans(&mut self) {
        (self.expected, self.counted) = (Expected::default(), Counted::default());
    }

    /// Returns an empty [`Expected`] that reuses the memory of the last one.
    pub fn begin_expecting(&mut self) -> Expected {
        let mut expected = std::mem::take(&mut self.expected);
        expected.comebacks.clear();
        expected.kept.clear();
        expected.returns.clear();
        expected.margins.clear();
        expected
    }

    /// Sets the nodes that plans expect back, at the start of a pass.
    pub fn expect(&mut self, expected: Expected) {
        self.expected = expected;
    }

    /// Updates the releases for plans that count nodes, one for each instant and cell. Returns the old releases that do
    /// not hold any more and the new ones, both by their keys.
    pub fn recount(&mut self) -> (&[Release], &[Release]) {
        let release = |back: &Return| Release {
            at: back.at,
            by: ReleasedBy::Cell(back.cell),
            claim: Claim { units: back.nodes, microwatts: 0 },
        };
        let Counted { all, before, gone, new } = &mut self.counted;
        std::mem::swap(all, before);
        all.clear();
        all.extend(self.expected.returns.iter().map(release));
        all.sort_unstable_by_key(Keyed::key);
        gone.clear();
        new.clear();
        tell_apart(before, all, gone, new);
        (gone, new)
    }
}

/// Writes down what only one of two sorted lists has.
fn tell_apart(mut old: &[Release], mut all: &[Release], gone: &mut Vec<Release>, new: &mut Vec<Release>) {
    while let (Some((one, others)), Some((other, rest))) = (old.split_first(), all.split_first()) {
        match one.cmp(other) {
            Ordering::Equal => (old, all) = (others, rest),
            Ordering::Less => {
                gone.push(*one);
                old = others;
            }
            Ordering::Greater => {
                new.push(*other);
                all = rest;
            }
        }
    }
    gone.extend_from_slice(old);
    new.extend_from_slice(all);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::platform::PlatformColumns;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    /// Nodes of two kinds in turn.
    fn platform(nodes: usize) -> Platform {
        let alike = |value: f64| vec![value; nodes];
        let columns = PlatformColumns {
            idle_w: alike(1.0),
            busy_w: alike(1.0),
            tdp_w: alike(1.0),
            off_w: alike(0.0),
            down_w: alike(0.0),
            boot_w: alike(1.0),
            boot_s: (0..nodes).map(|node| if node % 2 == 0 { 10e-6 } else { 11e-6 }).collect(),
            shutdown_w: alike(1.0),
            shutdown_s: alike(20e-6),
            slots: vec![1; nodes],
            exclusive: true,
        };
        columns.into_platform().unwrap()
    }

    #[test]
    fn nodes_that_come_back_together_are_one_release_and_only_changes_are_told() {
        let mut standby = Standby::new(at(0), &platform(8));
        let back = |nodes, micros| Return { at: at(micros), cell: 0, nodes, down: 0 };
        let expected = |returns: &[Return]| Expected { returns: returns.to_vec(), ..Expected::default() };
        standby.expect(expected(&[back(1, 20), back(2, 50)]));
        let (gone, new) = standby.recount();
        let told = |list: &[Release]| list.iter().map(|one| (one.at.micros(), one.claim.units)).collect::<Vec<_>>();
        assert_eq!((told(gone), told(new)), (vec![], vec![(20, 1), (50, 2)]));
        standby.expect(expected(&[back(1, 20), back(2, 60)]));
        let (gone, new) = standby.recount();
        assert_eq!((told(gone), told(new)), (vec![(50, 2)], vec![(60, 2)]));
    }

    #[test]
    fn a_node_idles_since_it_came_into_that_state() {
        let mut standby = Standby::new(at(5), &platform(2));
        standby.enter(at(7), Span::of(1), NodeState::Idle, NodeState::Off);
        assert_eq!((standby.asleep().len(), standby.off().len(), standby.idle_since(0)), (1, 1, at(5)));
        standby.enter(at(9), Span::of(1), NodeState::Off, NodeState::Idle);
        assert_eq!((standby.asleep().len(), standby.off().len(), standby.idle_since(1)), (0, 0, at(9)));
    }

    proptest! {
        /// Twin: all nodes, one after the other.
        #[test]
        fn nodes_that_are_alike_are_counted(steps in prop::collection::vec((0..6_u32, 0..3_i64, any::<bool>()), 0..80)) {
            let platform = platform(6);
            let (mut standby, mut states, mut now) = (Standby::new(at(0), &platform), [NodeState::Idle; 6], 0);
            for (node, gap, fails) in steps {
                now += gap;
                let draw = platform.node(node);
                let old = states[node as usize];
                let new = match old {
                    NodeState::Down => NodeState::Idle,
                    _ if fails => NodeState::Down,
                    NodeState::Idle => NodeState::ShuttingDown { until: at(now) + draw.shutdown_time },
                    NodeState::ShuttingDown { .. } => NodeState::Off,
                    NodeState::Off => NodeState::Booting { until: at(now) + draw.boot_time },
                    NodeState::Booting { .. } | NodeState::Busy { .. } | NodeState::Kept => NodeState::Idle,
                };
                standby.enter(at(now), Span::of(node), old, new);
                states[node as usize] = new;
                let asleep = |state: &NodeState| {
                    matches!(state, NodeState::Off | NodeState::ShuttingDown { .. } | NodeState::Booting { .. })
                };
                let mut twin = BTreeMap::new();
                for (node, state) in (0_u32..).zip(&states).filter(|(_, state)| asleep(state)) {
                    *twin.entry((node % 2, format!("{state:?}"))).or_insert(0) += 1;
                }
                let alike = standby.alike().map(|(node, state, count)| ((node % 2, format!("{state:?}")), count));
                prop_assert_eq!(alike.collect::<BTreeMap<_, i64>>(), twin);
                prop_assert_eq!(standby.asleep().len() as usize, states.iter().filter(|state| asleep(state)).count());
            }
        }
    }
}
