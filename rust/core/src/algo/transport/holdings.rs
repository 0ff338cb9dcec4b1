//! Units of nodes by holder, and the cheapest one that a holder could give to another.
//!
//! Holders are numbered from 0: [`FREE`] holds what no kind does, at no cost. Kinds take numbers as they come, and give
//! them back as they go, so that all tables are as wide as there are kinds at one time.
//!
//! Kinds of one row of costs take the same free node first, whatever their factors: it is looked for once a row.

use super::{Kind, NodeCosts};

/// Holder of what no kind holds.
pub(super) const FREE: usize = 0;

const NOWHERE: u32 = u32::MAX;

/// Length of a move that is to be looked for; infinity if there is none.
const UNKNOWN: f64 = f64::NAN;

/// Cheapest units that a holder could give, by who would take them: what it costs to give them, and their nodes.
#[derive(Debug, Default)]
struct Moves {
    lengths: Vec<f64>,
    nodes: Vec<u32>,
}

impl Moves {
    fn resize(&mut self, count: usize) {
        self.lengths.resize(count, f64::INFINITY);
        self.nodes.resize(count, NOWHERE);
    }

    fn set(&mut self, to: usize, (length, node): (f64, u32)) {
        (self.lengths[to], self.nodes[to]) = (length, node);
    }

    /// Notes a unit that can be given; what is unknown stays so.
    fn offer(&mut self, to: usize, length: f64, node: u32) {
        if length < self.lengths[to] {
            self.set(to, (length, node));
        }
    }

    /// Forgets the moves of a node that can no longer be given.
    fn forget(&mut self, node: u32) {
        for (length, _) in self.lengths.iter_mut().zip(&self.nodes).filter(|(_, known)| **known == node) {
            *length = UNKNOWN;
        }
    }
}

#[derive(Debug)]
struct Holder {
    /// Its row of costs and the factor on them; of the free nodes neither counts.
    kind: Kind,
    /// Its costs by node; empty: nothing costs anything.
    costs: Vec<f64>,
    /// Its units by node.
    amount: Vec<u64>,
    /// Nodes of which it holds units, in no order.
    nodes: Vec<u32>,
    /// Place of each node in `nodes`.
    place: Vec<u32>,
    held: u64,
    /// Cheapest units to give, by the number of the holder that would take them.
    moves: Moves,
}

/// All holders and their units.
#[derive(Debug)]
pub(super) struct Holdings<'c> {
    rows: NodeCosts<'c>,
    /// Cheapest free units by row of costs, with the row's cost.
    free: Moves,
    holders: Vec<Holder>,
    /// Numbers of holders in use, ascending; free units come first.
    present: Vec<usize>,
    unused: Vec<usize>,
}

impl Holder {
    fn new(nodes: usize) -> Self {
        let (amount, place) = (vec![0; nodes], vec![NOWHERE; nodes]);
        let kind = Kind { row: 0, scale: 1.0 };
        Self { kind, costs: Vec::new(), amount, nodes: Vec::new(), place, held: 0, moves: Moves::default() }
    }

    #[inline]
    fn cost(&self, node: usize) -> f64 {
        self.costs.get(node).copied().unwrap_or(0.0)
    }

    /// Cheapest unit that it could give to a holder with other costs; the first in its list of those that cost the same.
    fn cheapest_for(&self, other: &Self) -> (f64, u32) {
        let mut found = (f64::INFINITY, NOWHERE);
        for &node in &self.nodes {
            let length = other.cost(node as usize) - self.cost(node as usize);
            if length < found.0 {
                found = (length, node);
            }
        }
        found
    }
}

impl<'c> Holdings<'c> {
    /// Nodes with so many units each, all free.
    pub(super) fn new(rows: NodeCosts<'c>, capacity: &[u64]) -> Self {
        let mut free = Holder::new(capacity.len());
        free.moves.resize(1);
        let known = Moves { lengths: vec![UNKNOWN; rows.rows()], nodes: vec![NOWHERE; rows.rows()] };
        let mut own = Self { rows, free: known, holders: vec![free], present: vec![FREE], unused: Vec::new() };
        for (node, &amount) in (0..).zip(capacity) {
            own.give(FREE, node, amount);
        }
        own
    }

    /// Numbers of the holders in use.
    pub(super) fn present(&self) -> &[usize] {
        &self.present
    }

    /// An upper limit on the numbers of holders.
    pub(super) fn numbers(&self) -> usize {
        self.holders.len()
    }

    /// Adds a holder of this kind, which holds nothing yet; gives its number.
    pub(super) fn join(&mut self, kind: Kind) -> usize {
        let number = self.unused.pop().unwrap_or_else(|| {
            let nodes = self.holders[FREE].amount.len();
            self.holders.push(Holder::new(nodes));
            let count = self.holders.len();
            self.holders.iter_mut().for_each(|holder| holder.moves.resize(count));
            count - 1
        });
        let count = self.holders.len();
        let joining = &mut self.holders[number];
        joining.kind = kind;
        joining.costs.clear();
        joining.costs.extend(self.rows.row(kind.row as usize).iter().map(|cost| cost * kind.scale));
        joining.moves = Moves::default();
        joining.moves.resize(count);
        for holder in &mut self.holders {
            holder.moves.set(number, (if holder.held > 0 { UNKNOWN } else { f64::INFINITY }, NOWHERE));
        }
        let at = self.present.partition_point(|&other| other < number);
        self.present.insert(at, number);
        number
    }

    /// Removes a holder that holds nothing.
    pub(super) fn leave(&mut self, number: usize) {
        debug_assert_eq!(self.holders[number].held, 0, "it holds nothing");
        self.present.retain(|&other| other != number);
        self.unused.push(number);
    }

    pub(super) fn held(&self, number: usize) -> u64 {
        self.holders[number].held
    }

    pub(super) fn amount(&self, number: usize, node: u32) -> u64 {
        self.holders[number].amount[node as usize]
    }

    pub(super) fn cost(&self, number: usize, node: u32) -> f64 {
        self.holders[number].cost(node as usize)
    }

    pub(super) fn costs(&self, number: usize) -> &[f64] {
        &self.holders[number].costs
    }

    /// Nodes of which a holder has units.
    pub(super) fn nodes(&self, number: usize) -> &[u32] {
        &self.holders[number].nodes
    }

    /// Cheapest unit that `from` could give to `to`: what that costs, infinity if there is none, and its node.
    #[inline]
    pub(super) fn cheapest(&mut self, from: usize, to: usize) -> (f64, u32) {
        if from == FREE {
            return self.cheapest_free(self.holders[to].kind);
        }
        let known = &self.holders[from].moves;
        if !known.lengths[to].is_nan() {
            return (known.lengths[to], known.nodes[to]);
        }
        let found = self.holders[from].cheapest_for(&self.holders[to]);
        self.holders[from].moves.set(to, found);
        found
    }

    /// Cheapest free unit for a kind, with what it costs.
    #[inline]
    fn cheapest_free(&mut self, kind: Kind) -> (f64, u32) {
        let at = kind.row as usize;
        if self.free.lengths[at].is_nan() {
            let (mut found, row) = ((f64::INFINITY, NOWHERE), self.rows.row(at));
            for &node in &self.holders[FREE].nodes {
                if row[node as usize] < found.0 {
                    found = (row[node as usize], node);
                }
            }
            self.free.set(at, found);
        }
        (self.free.lengths[at] * kind.scale, self.free.nodes[at])
    }

    /// Gives a holder more of a node.
    pub(super) fn give(&mut self, number: usize, node: u32, amount: u64) {
        if amount == 0 {
            return;
        }
        let holder = &mut self.holders[number];
        let is_new = holder.amount[node as usize] == 0;
        holder.amount[node as usize] += amount;
        holder.held += amount;
        if !is_new {
            return;
        }
        holder.place[node as usize] = index(holder.nodes.len());
        holder.nodes.push(node);
        let own = holder.cost(node as usize);
        if number == FREE {
            self.offer_free(node);
            return;
        }
        for at in 0..self.present.len() {
            let to = self.present[at];
            let length = self.holders[to].cost(node as usize) - own;
            if to != number {
                self.holders[number].moves.offer(to, length, node);
            }
        }
    }

    /// Notes a node that has become free.
    fn offer_free(&mut self, node: u32) {
        for row in 0..self.rows.rows() {
            self.free.offer(row, self.rows.row(row)[node as usize], node);
        }
    }

    /// Takes some of a node from its holder, which has as much.
    pub(super) fn take(&mut self, number: usize, node: u32, amount: u64) {
        let holder = &mut self.holders[number];
        let left = &mut holder.amount[node as usize];
        debug_assert!(*left >= amount, "it holds as much");
        *left -= amount;
        holder.held -= amount;
        if *left > 0 || amount == 0 {
            return;
        }
        let place = holder.place[node as usize] as usize;
        holder.nodes.swap_remove(place);
        if let Some(&moved) = holder.nodes.get(place) {
            holder.place[moved as usize] = index(place);
        }
        holder.place[node as usize] = NOWHERE;
        let moves = if number == FREE { &mut self.free } else { &mut holder.moves };
        moves.forget(node);
    }
}

fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(NOWHERE)
}
