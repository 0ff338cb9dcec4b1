//! Exchanges between nodes that differ in speed: an interval that changes nodes changes its length.
//!
//! The parts of two nodes are those of `pair`. One changes sides if the lengths that follow still fit, on all nodes of
//! its intervals, and the whole costs less.

use std::collections::VecDeque;

use super::pair::{CLOSED, Entry, Pair, Part};
use super::placement::apart;
use super::{Closed, IntervalNode};
use crate::algo::transport::NodeCosts;
use crate::error::{Error, Result, config};

/// All of time.
const ALWAYS: (i64, i64) = (i64::MIN, i64::MAX);

/// A length that nothing reaches.
const FOREVER: i64 = 1 << 62;

/// Share of what changes that an exchange has to gain, so that roundings never count as gains.
const LEAST_GAIN: f64 = 1e-12;

/// Length of an interval on nodes the slowest of which has a time factor, in whole ticks; the fields are those of the
/// jobs of the bound given the starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthRule {
    /// Nominal length.
    pub runtime: i64,
    /// Factor on it next to the node's own.
    pub pace: f64,
    /// Time that no node makes longer.
    pub comm: i64,
    /// Length at which it is cut, before `walltime_pace`; from 2⁶² on it never is.
    pub walltime: i64,
    /// Factor on the walltime.
    pub walltime_pace: f64,
    /// Time after the walltime.
    pub grace: i64,
    /// True if the node's factor counts for the walltime, too.
    pub stretches: bool,
    /// Longest that there is time for.
    pub left: i64,
}

impl LengthRule {
    /// The length at a factor.
    #[must_use]
    pub fn at(&self, factor: f64) -> i64 {
        let runs = stretched(self.runtime, factor * self.pace).saturating_add(self.comm);
        let pace = if self.stretches { self.walltime_pace * factor } else { self.walltime_pace };
        let cut =
            if self.walltime >= FOREVER { FOREVER } else { stretched(self.walltime, pace).saturating_add(self.grace) };
        runs.min(cut).min(self.left)
    }
}

/// Whole ticks times a factor, rounded up once.
fn stretched(length: i64, factor: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "below 2⁶²")]
    let longer = (length as f64 * factor).ceil().min(FOREVER as f64) as i64;
    if factor == 1.0 { length } else { longer }
}

/// Interval whose length depends on its nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacedInterval {
    /// Row of the costs and of the factors.
    pub row: u32,
    /// Factor on the costs, above 0.
    pub scale: f64,
    /// First instant.
    pub from: i64,
    /// Its length.
    pub length: LengthRule,
}

/// Intervals on nodes that differ in speed.
#[derive(Clone, Copy, Debug)]
pub struct PacedIntervals<'a> {
    /// Rows of costs on nodes, per unit of time; +inf where an interval may not be.
    pub costs: NodeCosts<'a>,
    /// Time factors, of the same shape: at least 0 and finite.
    pub factors: &'a [f64],
    /// The intervals.
    pub intervals: &'a [PacedInterval],
    /// Nodes that they have.
    pub places: &'a [IntervalNode],
    /// Spans out of service.
    pub closed: &'a [Closed],
}

impl PacedIntervals<'_> {
    fn check(&self) -> Result<()> {
        let (rows, nodes) = (self.costs.rows(), self.costs.nodes());
        if self.factors.len() != rows * nodes {
            let expected = format!("{rows} rows × {nodes} nodes");
            return Err(config("factors", format!("{} numbers", self.factors.len()), expected));
        }
        if let Some(factor) = self.factors.iter().find(|factor| !(factor.is_finite() && **factor >= 0.0)) {
            return Err(config("factors", factor.to_string(), "finite numbers of at least 0"));
        }
        let is_sound = |one: &PacedInterval| (one.row as usize) < rows && one.scale > 0.0 && one.scale.is_finite();
        if let Some(one) = self.intervals.iter().find(|one| !is_sound(one)) {
            let found = format!("row {} times {}", one.row, one.scale);
            return Err(config("intervals", found, format!("a row below {rows} and a factor above 0")));
        }
        let count = self.intervals.len();
        let is_known = |one: &IntervalNode| (one.interval as usize) < count && (one.node as usize) < nodes;
        if let Some(one) = self.places.iter().find(|one| !is_known(one)) {
            let found = format!("interval {} on node {}", one.interval, one.node);
            return Err(config("places", found, format!("{count} intervals on {nodes} nodes")));
        }
        if let Some(one) = self.closed.iter().find(|one| one.node as usize >= nodes) {
            return Err(config("closed", format!("node {}", one.node), format!("a node below {nodes}")));
        }
        Ok(())
    }
}

/// A placement of the same intervals, with the same starts.
#[derive(Clone, Debug, PartialEq)]
pub struct PacedFound {
    /// Nodes of the intervals, by interval and number.
    pub places: Vec<IntervalNode>,
    /// Cost of the exchanges; at most 0.
    pub change: f64,
    /// Exchanges that were made.
    pub exchanges: u64,
}

/// A placement that costs no more, and in which no two nodes can exchange a part for less.
///
/// # Errors
/// If the problem names rows, intervals or nodes that there are not, or a node serves two intervals at once; and
/// [`Error::Interrupted`].
pub fn cheaper_paced_unless(problem: &PacedIntervals<'_>, interrupted: &mut dyn FnMut() -> bool) -> Result<PacedFound> {
    problem.check()?;
    let mut search = PacedSearch::new(*problem)?;
    (0..problem.costs.nodes()).for_each(|node| search.touch(node, ALWAYS));
    let mut change = 0.0;
    while let Some(node) = search.waiting.pop_front() {
        if interrupted() {
            return Err(Error::Interrupted);
        }
        let Some(window) = search.window[node].take() else { continue };
        for other in (0..problem.costs.nodes()).filter(|&other| other != node) {
            change += search.improve(node, other, window);
        }
    }
    Ok(PacedFound { places: search.places(), change, exchanges: search.exchanges })
}

struct PacedSearch<'a> {
    problem: PacedIntervals<'a>,
    /// Intervals of every node, by start.
    entries: Vec<Vec<Entry>>,
    /// Nodes of every interval.
    nodes: Vec<Vec<u32>>,
    until: Vec<i64>,
    cost: Vec<f64>,
    /// Intervals that keep their nodes: they hold one while it is closed.
    is_pinned: Vec<bool>,
    waiting: VecDeque<usize>,
    window: Vec<Option<(i64, i64)>>,
    /// Differences of costs by row: none, as a part's cost follows from its lengths.
    no_more: Vec<f64>,
    parts: Vec<Part>,
    moves: Vec<Move>,
    exchanges: u64,
}

/// Interval that changes one node for another, and what follows.
#[derive(Clone, Copy, Debug)]
struct Move {
    interval: u32,
    from: u32,
    to: u32,
    /// Start of what comes after it on the other node.
    next: i64,
    until: i64,
    cost: f64,
}

impl<'a> PacedSearch<'a> {
    fn new(problem: PacedIntervals<'a>) -> Result<Self> {
        let count = problem.intervals.len();
        let mut nodes = vec![Vec::new(); count];
        problem.places.iter().for_each(|place| nodes[place.interval as usize].push(place.node));
        let mut search = Self {
            problem,
            entries: vec![Vec::new(); problem.costs.nodes()],
            nodes,
            until: vec![0; count],
            cost: vec![0.0; count],
            is_pinned: vec![false; count],
            waiting: VecDeque::new(),
            window: vec![None; problem.costs.nodes()],
            no_more: vec![0.0; problem.costs.rows()],
            parts: Vec::new(),
            moves: Vec::new(),
            exchanges: 0,
        };
        for own in 0..count {
            (search.until[own], search.cost[own]) = search.on(own, search.nodes[own].iter().copied());
        }
        search.fill()?;
        Ok(search)
    }

    fn fill(&mut self) -> Result<()> {
        for place in self.problem.places {
            let own = place.interval as usize;
            let (from, until) = (self.problem.intervals[own].from, self.until[own]);
            if until > from {
                let entry = Entry { from, until, weight: 0.0, row: 0, interval: place.interval };
                self.entries[place.node as usize].push(entry);
            } else {
                self.is_pinned[own] = true;
            }
        }
        for one in self.problem.closed.iter().filter(|one| one.from < one.until) {
            let entry = Entry { from: one.from, until: one.until, weight: 0.0, row: 0, interval: CLOSED };
            self.entries[one.node as usize].push(entry);
        }
        let mut pinned = Vec::new();
        for (node, entries) in (0..).zip(&mut self.entries) {
            *entries = apart(node, std::mem::take(entries), &mut pinned)?;
        }
        for place in pinned {
            self.is_pinned[place.interval as usize] = true;
        }
        Ok(())
    }

    /// End and cost of an interval on some nodes.
    fn on(&self, own: usize, nodes: impl Iterator<Item = u32>) -> (i64, f64) {
        let one = &self.problem.intervals[own];
        let (row, width) = (one.row as usize, self.problem.costs.nodes());
        let (costs, factors) = (self.problem.costs.row(row), &self.problem.factors[row * width..][..width]);
        let (mut rate, mut slowest) = (0.0, 0.0_f64);
        for node in nodes {
            rate += costs[node as usize];
            slowest = slowest.max(factors[node as usize]);
        }
        let length = one.length.at(slowest);
        (one.from + length, rate * one.scale * length as f64)
    }

    fn touch(&mut self, node: usize, (from, until): (i64, i64)) {
        let window = &mut self.window[node];
        if window.is_none() {
            self.waiting.push_back(node);
        }
        *window = Some(window.map_or((from, until), |seen| (seen.0.min(from), seen.1.max(until))));
    }

    fn improve(&mut self, left: usize, right: usize, window: (i64, i64)) -> f64 {
        let mut parts = std::mem::take(&mut self.parts);
        Pair { left: &self.entries[left], right: &self.entries[right], more: &self.no_more }.parts(
            window,
            |_| true,
            &mut parts,
        );
        let mut change = 0.0;
        // From the last one on: those before it keep their places and their ends.
        for part in parts.iter().rev().filter(|part| part.change.is_finite()) {
            change += self.try_part(left, right, part);
        }
        self.parts = parts;
        change
    }

    /// Lets a part change sides if that fits and costs less; gives what it costs, at most 0.
    fn try_part(&mut self, left: usize, right: usize, part: &Part) -> f64 {
        let mut moves = std::mem::take(&mut self.moves);
        moves.clear();
        self.moves_of(left, right, part, &mut moves);
        let (mut change, mut terms) = (0.0, 0.0);
        for one in &mut moves {
            let own = one.interval as usize;
            let new = self.nodes[own].iter().map(|&node| if node == one.from { one.to } else { node });
            (one.until, one.cost) = self.on(own, new);
            change += one.cost - self.cost[own];
            terms += self.cost[own];
        }
        let is_worth = change < -LEAST_GAIN * terms && moves.iter().all(|one| self.fits(one));
        if is_worth {
            self.exchange(left, right, part, &moves);
        }
        self.moves = moves;
        if is_worth { change } else { 0.0 }
    }

    /// Intervals of a part that are on one of two nodes only.
    fn moves_of(&self, left: usize, right: usize, part: &Part, moves: &mut Vec<Move>) {
        let sides = [(left, &part.left, right, part.right.end), (right, &part.right, left, part.left.end)];
        for (from, places, to, beyond) in sides {
            let list = &self.entries[from];
            let after = self.entries[to].get(beyond).map_or(i64::MAX, |one| one.from);
            let (from, to) = (index(from), index(to));
            for place in places.clone() {
                let interval = list[place].interval;
                if !self.nodes[interval as usize].contains(&to) {
                    let next = if place + 1 < places.end { list[place + 1].from } else { after };
                    moves.push(Move { interval, from, to, next, until: 0, cost: 0.0 });
                }
            }
        }
    }

    /// True if what an interval's new length asks for is free on all of its nodes.
    fn fits(&self, one: &Move) -> bool {
        let own = one.interval as usize;
        let from = self.problem.intervals[own].from;
        let is_free = |&node: &u32| {
            let list = &self.entries[node as usize];
            let place = list.partition_point(|entry| entry.from <= from);
            list.get(place).is_none_or(|next| next.from >= one.until)
        };
        let mut others = self.nodes[own].iter().filter(|&&node| node != one.from);
        !self.is_pinned[own] && one.cost.is_finite() && from < one.until && one.until <= one.next && others.all(is_free)
    }

    fn exchange(&mut self, left: usize, right: usize, part: &Part, moves: &[Move]) {
        let there: Vec<_> = self.entries[left][part.left.clone()].to_vec();
        let back: Vec<_> = self.entries[right].splice(part.right.clone(), there).collect();
        self.entries[left].splice(part.left.clone(), back);
        let mut window = (part.from, part.until);
        for one in moves {
            let own = one.interval as usize;
            window.1 = window.1.max(one.until);
            self.nodes[own].iter_mut().filter(|node| **node == one.from).for_each(|node| *node = one.to);
            self.cost[own] = one.cost;
            self.lengthen(own, one.until);
        }
        self.touch(left, window);
        self.touch(right, window);
        self.exchanges += 1;
    }

    /// Notes a new end on all nodes of an interval.
    fn lengthen(&mut self, own: usize, until: i64) {
        let (from, before) = (self.problem.intervals[own].from, self.until[own]);
        self.until[own] = until;
        for at in 0..self.nodes[own].len() {
            let node = self.nodes[own][at] as usize;
            let place = self.entries[node].partition_point(|entry| entry.from < from);
            self.entries[node][place].until = until;
            if until != before {
                self.touch(node, (from, until.max(before)));
            }
        }
    }

    fn places(&self) -> Vec<IntervalNode> {
        let own = (0..).zip(&self.nodes);
        let mut found: Vec<_> =
            own.flat_map(|(interval, nodes)| nodes.iter().map(move |&node| IntervalNode { interval, node })).collect();
        found.sort_unstable();
        found
    }
}

fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
