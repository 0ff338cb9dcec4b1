//! Units of nodes by holder, and the cheapest one that a holder could give to another.
//!
//! Holders are numbered from 0: [`FREE`] holds what no kind does, at no cost. Kinds take numbers as they come, and give
//! them back as they go, so that all tables are as wide as there are kinds at one time.

/// Holder of what no kind holds.
pub(super) const FREE: usize = 0;

const NOWHERE: u32 = u32::MAX;

/// Cheapest unit that one holder could give to another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    /// To be looked for.
    Unknown,
    /// There is none.
    None,
    /// What it costs to give it, and its node.
    Cheapest(f64, u32),
}

#[derive(Debug)]
struct Holder {
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
    moves: Vec<Move>,
}

/// All holders and their units.
#[derive(Debug)]
pub(super) struct Holdings {
    holders: Vec<Holder>,
    /// Numbers of holders in use, ascending; free units come first.
    present: Vec<usize>,
    unused: Vec<usize>,
}

impl Holder {
    fn new(nodes: usize) -> Self {
        let (amount, place) = (vec![0; nodes], vec![NOWHERE; nodes]);
        Self { costs: Vec::new(), amount, nodes: Vec::new(), place, held: 0, moves: Vec::new() }
    }

    #[inline]
    fn cost(&self, node: usize) -> f64 {
        self.costs.get(node).copied().unwrap_or(0.0)
    }

    /// Cheapest unit that it could give to a holder with other costs; the first in its list of those that cost the same.
    fn cheapest_for(&self, other: &Self) -> Move {
        let mut found = Move::None;
        let mut least = f64::INFINITY;
        for &node in &self.nodes {
            let length = other.cost(node as usize) - self.cost(node as usize);
            if length < least {
                (least, found) = (length, Move::Cheapest(length, node));
            }
        }
        found
    }
}

impl Holdings {
    /// Nodes with so many units each, all free.
    pub(super) fn new(capacity: &[u64]) -> Self {
        let mut free = Holder::new(capacity.len());
        free.moves.push(Move::None);
        let mut own = Self { holders: vec![free], present: vec![FREE], unused: Vec::new() };
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

    /// Adds a holder with these costs, which holds nothing yet; gives its number.
    pub(super) fn join(&mut self, costs: impl Iterator<Item = f64>) -> usize {
        let number = self.unused.pop().unwrap_or_else(|| {
            let nodes = self.holders[FREE].amount.len();
            self.holders.push(Holder::new(nodes));
            for holder in &mut self.holders {
                holder.moves.push(Move::None);
            }
            self.holders.len() - 1
        });
        let count = self.holders.len();
        let joining = &mut self.holders[number];
        joining.costs.clear();
        joining.costs.extend(costs);
        joining.moves.clear();
        joining.moves.resize(count, Move::None);
        for holder in &mut self.holders {
            holder.moves[number] = if holder.held > 0 { Move::Unknown } else { Move::None };
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

    /// Cheapest unit that `from` could give to `to`, with what that costs.
    #[inline]
    pub(super) fn cheapest(&mut self, from: usize, to: usize) -> Option<(f64, u32)> {
        if matches!(self.holders[from].moves[to], Move::Unknown) {
            let found = self.holders[from].cheapest_for(&self.holders[to]);
            self.holders[from].moves[to] = found;
        }
        match self.holders[from].moves[to] {
            Move::Cheapest(length, node) => Some((length, node)),
            _ => None,
        }
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
        for at in 0..self.present.len() {
            let to = self.present[at];
            let length = self.holders[to].cost(node as usize) - own;
            let known = &mut self.holders[number].moves[to];
            match *known {
                _ if to == number => {}
                Move::None if length < f64::INFINITY => *known = Move::Cheapest(length, node),
                Move::Cheapest(least, _) if length < least => *known = Move::Cheapest(length, node),
                _ => {}
            }
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
        for known in &mut holder.moves {
            if matches!(*known, Move::Cheapest(_, cheapest) if cheapest == node) {
                *known = Move::Unknown;
            }
        }
    }
}

fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(NOWHERE)
}
