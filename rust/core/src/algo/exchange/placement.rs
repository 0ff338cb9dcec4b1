//! Contents of every node.

use std::mem::take;

use super::pair::{CLOSED, Entry, Pair, Part};
use super::{IntervalNode, PlacedIntervals};
use crate::error::{Result, config};

/// Entries of every node by start, and what has changed since they were last kept.
pub(super) struct Placement<'a> {
    problem: PlacedIntervals<'a>,
    nodes: Vec<Vec<Entry>>,
    /// Places that no exchange may touch.
    pinned: Vec<IntervalNode>,
    /// Nodes that have changed, with what they held before.
    before: Vec<(usize, Vec<Entry>)>,
    is_saved: Vec<bool>,
    /// Costs of all rows on a node, node after node.
    by_node: Vec<f64>,
    more: Vec<f64>,
}

impl<'a> Placement<'a> {
    /// # Errors
    /// If a node serves two intervals at once.
    pub(super) fn new(problem: PlacedIntervals<'a>) -> Result<Self> {
        let mut nodes = vec![Vec::new(); problem.costs.nodes()];
        for place in problem.places {
            let one = &problem.intervals[place.interval as usize];
            let weight = one.scale * (one.until - one.from) as f64;
            let entry = Entry { from: one.from, until: one.until, weight, row: one.row, interval: place.interval };
            nodes[place.node as usize].push(entry);
        }
        for one in problem.closed.iter().filter(|one| one.from < one.until) {
            let entry = Entry { from: one.from, until: one.until, weight: 0.0, row: 0, interval: CLOSED };
            nodes[one.node as usize].push(entry);
        }
        let mut pinned = Vec::new();
        for (node, entries) in (0..).zip(&mut nodes) {
            *entries = apart(node, take(entries), &mut pinned)?;
        }
        let costs = &problem.costs;
        let by_node =
            (0..nodes.len()).flat_map(|node| (0..costs.rows()).map(move |row| costs.row(row)[node])).collect();
        let (is_saved, more) = (vec![false; nodes.len()], Vec::new());
        Ok(Self { problem, nodes, pinned, before: Vec::new(), is_saved, by_node, more })
    }

    pub(super) fn entries(&self, node: usize) -> &[Entry] {
        &self.nodes[node]
    }

    /// The parts of two nodes that touch a window, those that are asked for; none if the nodes cost the same.
    pub(super) fn parts(
        &mut self,
        (left, right): (usize, usize),
        window: (i64, i64),
        is_asked: impl Fn(&Part) -> bool,
        found: &mut Vec<Part>,
    ) {
        found.clear();
        let rows = self.problem.costs.rows();
        let (one, other) = (&self.by_node[left * rows..][..rows], &self.by_node[right * rows..][..rows]);
        self.more.clear();
        self.more.extend(other.iter().zip(one).map(|(other, one)| other - one));
        if self.more.iter().all(|&more| more == 0.0) {
            return;
        }
        Pair { left: &self.nodes[left], right: &self.nodes[right], more: &self.more }.parts(window, is_asked, found);
    }

    /// Lets a part of two nodes change sides. Places of later parts move.
    pub(super) fn exchange(&mut self, left: usize, right: usize, part: &Part) {
        self.save(left);
        self.save(right);
        let (mut one, mut other) = (take(&mut self.nodes[left]), take(&mut self.nodes[right]));
        let moved: Vec<_> = one[part.left.clone()].to_vec();
        let back: Vec<_> = other.splice(part.right.clone(), moved).collect();
        one.splice(part.left.clone(), back);
        (self.nodes[left], self.nodes[right]) = (one, other);
    }

    fn save(&mut self, node: usize) {
        if !self.is_saved[node] {
            self.is_saved[node] = true;
            self.before.push((node, self.nodes[node].clone()));
        }
    }

    /// Makes all changes since the last time final.
    pub(super) fn keep(&mut self) {
        for (node, _) in self.before.drain(..) {
            self.is_saved[node] = false;
        }
    }

    /// Takes all changes back since they were last kept.
    pub(super) fn take_back(&mut self) {
        for (node, entries) in self.before.drain(..) {
            self.is_saved[node] = false;
            self.nodes[node] = entries;
        }
    }

    /// Nodes of the intervals, by interval and number.
    pub(super) fn places(&self) -> Vec<IntervalNode> {
        let entries = (0..).zip(&self.nodes).flat_map(|(node, list)| list.iter().map(move |one| (node, one.interval)));
        let own =
            entries.filter(|&(_, interval)| interval != CLOSED).map(|(node, interval)| IntervalNode { interval, node });
        let mut found: Vec<_> = own.chain(self.pinned.iter().copied()).collect();
        found.sort_unstable();
        found
    }
}

/// Entries of a node by start. Intervals on it while it is closed are pinned, and a part of what closes it.
pub(super) fn apart(node: u32, mut entries: Vec<Entry>, pinned: &mut Vec<IntervalNode>) -> Result<Vec<Entry>> {
    entries.sort_unstable_by_key(|one| (one.from, one.until, one.interval));
    let mut found: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        let Some(last) = found.last_mut().filter(|last| entry.from < last.until) else {
            found.push(entry);
            continue;
        };
        if last.interval != CLOSED && entry.interval != CLOSED {
            let both = format!("interval {} while it serves interval {}", entry.interval, last.interval);
            return Err(config(format!("places, node {node}"), both, "one interval at a time"));
        }
        let intervals = [last.interval, entry.interval].into_iter().filter(|&one| one != CLOSED);
        pinned.extend(intervals.map(|interval| IntervalNode { interval, node }));
        *last = Entry { until: last.until.max(entry.until), interval: CLOSED, ..*last };
    }
    Ok(found)
}
