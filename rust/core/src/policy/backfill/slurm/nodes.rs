//! Nodes as the controller of Slurm knows them: who has them, whether they are available, and their weights.

use crate::algo::node_set::NodeSet;
use crate::platform::Platform;
use crate::policy::backfill::slurm::choose::choose;
use crate::policy::backfill::slurm::settings::NodeLine;

/// State of a node with respect to power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Power {
    /// On.
    On,
    /// Suspended in that second; not available until it is asleep.
    Stopping { since: i64 },
    /// Asleep, and available.
    Asleep,
    /// Asleep, and allocated to a job that waits for it.
    Wanted,
    /// Resumed in that second; belongs to a job.
    Booting { since: i64 },
    /// Down, as it failed or did not boot in time.
    Down,
}

impl Power {
    /// True if the node does not run, and is not on its way there.
    fn is_asleep(self) -> bool {
        matches!(self, Self::Stopping { .. } | Self::Asleep | Self::Wanted)
    }
}

/// All nodes.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    pub(super) power: Vec<Power>,
    /// Nodes that no job has.
    pub(super) free: NodeSet,
    /// Nodes whose job has ended and that are not cleaned up yet.
    pub(super) completing: NodeSet,
    /// Nodes that may be allocated or planned, busy ones included.
    pub(super) available: NodeSet,
    /// Nodes that did not boot in time, and stay down.
    lost: NodeSet,
    /// Second in which each node was last busy.
    pub(super) last_busy: Vec<i64>,
    /// `NodeName` line of each node.
    line: Vec<u16>,
    lines: Vec<NodeLine>,
    /// Weights as they were last stored on the nodes (rule 28).
    stored: Vec<u64>,
    /// True if all nodes weigh the same.
    is_even: bool,
    /// CPUs of all nodes.
    cpus: u64,
}

/// Weight beyond that of any node that is on.
const ASLEEP: u64 = 1 << 40;

impl Nodes {
    pub(super) fn new(platform: &Platform, lines: &[NodeLine], begun: i64) -> Self {
        let count = platform.len();
        let lines = if lines.is_empty() { lines_of(platform) } else { lines.to_vec() };
        let line: Vec<u16> = (0..).zip(&lines).flat_map(|(own, line)| (0..line.count).map(move |_| own)).collect();
        let is_even = lines.iter().all(|own| own.weight == lines[0].weight);
        Self {
            power: vec![Power::On; count as usize],
            free: NodeSet::full(count),
            completing: NodeSet::empty(count),
            available: NodeSet::full(count),
            lost: NodeSet::empty(count),
            last_busy: vec![begun; count as usize],
            stored: line.iter().map(|&own| u64::from(lines[usize::from(own)].weight)).collect(),
            cpus: lines.iter().map(|line| u64::from(line.count) * u64::from(line.cpus)).sum(),
            is_even,
            line,
            lines,
        }
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> u32 {
        self.free.capacity()
    }

    /// CPUs of all nodes.
    pub(super) fn all_cpus(&self) -> u64 {
        self.cpus
    }

    /// CPUs of so many nodes, whichever they are; none if nodes differ.
    pub(super) fn cpus_of_any(&self, count: u32) -> Option<u64> {
        let cpus = self.lines.first()?.cpus;
        self.lines.iter().all(|line| line.cpus == cpus).then(|| u64::from(count) * u64::from(cpus))
    }

    /// CPUs of some nodes.
    pub(super) fn cpus_of(&self, nodes: &[u32]) -> u64 {
        nodes.iter().map(|&node| u64::from(self.lines[usize::from(self.line[node as usize])].cpus)).sum()
    }

    /// Takes nodes for a job; returns true if all of them are on.
    pub(super) fn take(&mut self, nodes: &[u32]) -> bool {
        self.free.remove_all(nodes);
        let mut are_on = true;
        for &node in nodes {
            let power = &mut self.power[node as usize];
            if *power == Power::Asleep {
                *power = Power::Wanted;
            }
            are_on &= *power == Power::On;
        }
        are_on
    }

    /// Gives nodes back whose job has ended; they complete until they are cleaned up.
    pub(super) fn give(&mut self, nodes: &[u32]) {
        self.free.insert_all(nodes);
        self.completing.insert_all(nodes);
        for &node in nodes {
            let power = &mut self.power[node as usize];
            if *power == Power::Wanted {
                *power = Power::Asleep;
            }
        }
    }

    /// Ends the clean-up of nodes in a second.
    pub(super) fn clean_up(&mut self, nodes: &[u32], second: i64) {
        self.completing.remove_all(nodes);
        for &node in nodes {
            self.last_busy[node as usize] = second;
        }
    }

    /// Sets the power state of a node, and whether it is available.
    pub(super) fn turn(&mut self, node: u32, power: Power) {
        self.power[node as usize] = power;
        match power {
            Power::Stopping { .. } | Power::Down => _ = self.available.remove(node),
            Power::On | Power::Asleep | Power::Wanted | Power::Booting { .. } => _ = self.available.insert(node),
        }
    }

    /// Notes that a node did not boot in time.
    pub(super) fn lose(&mut self, node: u32) {
        self.turn(node, Power::Down);
        self.lost.insert(node);
    }

    /// True if a node did not boot in time.
    pub(super) fn is_lost(&self, node: u32) -> bool {
        self.lost.contains(node)
    }

    /// Free, cleaned-up and available nodes of a set: those on which a job may start now.
    pub(super) fn idle_in(&self, set: &NodeSet) -> NodeSet {
        let mut idle = set.clone();
        let (free, available, busy) = (self.free.words(), self.available.words(), self.completing.words());
        idle.keep(|word| free[word] & available[word] & !busy[word]);
        idle
    }

    /// Stores the weights of a partition's nodes again; true if any changes. Sleepers of a line all of whose nodes in
    /// the partition sleep come before sleepers of a line that is partly awake, and all sleepers after the others.
    pub(super) fn weigh(&mut self, partition: &NodeSet) -> bool {
        let mut is_awake = vec![false; self.lines.len()];
        for node in partition.iter().filter(|&node| !self.power[node as usize].is_asleep()) {
            is_awake[usize::from(self.line[node as usize])] = true;
        }
        let mut has_changed = false;
        for node in partition.iter() {
            let line = usize::from(self.line[node as usize]);
            let is_asleep = self.power[node as usize].is_asleep();
            let awake_weight = u64::from(self.lines[line].weight);
            let weight = if is_asleep { ASLEEP + u64::from(is_awake[line]) } else { awake_weight };
            has_changed |= std::mem::replace(&mut self.stored[node as usize], weight) != weight;
        }
        if has_changed {
            self.is_even = self.stored.windows(2).all(|pair| pair[0] == pair[1]);
        }
        has_changed
    }

    /// Nodes of a set for a job, by the stored weights.
    pub(super) fn choose(&self, usable: &NodeSet, need: u32) -> Option<Vec<u32>> {
        choose(usable, (!self.is_even).then_some(&self.stored[..]), need)
    }
}

/// A line for each stretch of neighbours with the same draws.
fn lines_of(platform: &Platform) -> Vec<NodeLine> {
    let mut lines: Vec<(usize, NodeLine)> = Vec::new();
    for node in 0..platform.len() {
        let kind = platform.kind(node);
        match lines.last_mut() {
            Some((same, line)) if *same == kind => line.count += 1,
            _ => lines.push((kind, NodeLine { count: 1, cpus: platform.slots(), weight: 1 })),
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}
