//! A cheapest placement that is kept cheapest while units and nodes come and go.
//!
//! Successive shortest paths (Ahuja, Magnanti & Orlin, Network Flows (1993), pages 320-324) between holders of nodes: an
//! arc from one to another is as long as the cheapest unit that the first could give to the second. A unit is added
//! along the shortest path from the free nodes to its kind, and taken away along the shortest one from its kind to the
//! free nodes; a placement that no cycle of moves makes cheaper stays one.
//!
//! Labels of kinds prove it. With `λ[k] = max(0, max over kinds of label − cost on k)`, the price of a unit of node `k`,
//! every placement of the same units costs at least `Σ label × units − Σ λ × capacity`, by weak duality and for any
//! labels at all: [`Flow::value`] works that out and trusts nothing that the search did.

use super::holdings::{FREE, Holdings};
use super::search::Search;
use super::{Kind, NodeCosts};

/// Lower bound of the cost of any placement, certified by the labels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowValue {
    /// The bound, per unit of time; never below 0.
    pub least: f64,
    /// Sum of the absolute values of all terms, for an allowance for rounding.
    pub terms: f64,
}

/// A cheapest placement of what is there now.
#[derive(Debug)]
pub struct Flow<'c> {
    kinds: &'c [Kind],
    holdings: Holdings<'c>,
    /// Number of each kind among the holders; [`FREE`] while it has no units.
    number: Vec<usize>,
    /// The kind of each holder.
    kind: Vec<usize>,
    /// Dual value of a unit of each holder.
    labels: Vec<f64>,
    /// Units of each node in service.
    capacity: Vec<u64>,
    search: Search,
    searches: u64,
}

impl<'c> Flow<'c> {
    /// Nodes with room for so many units each, and nothing on them.
    ///
    /// # Panics
    /// If there is not a capacity for each node.
    #[must_use]
    pub fn new(costs: NodeCosts<'c>, kinds: &'c [Kind], capacity: &[u64]) -> Self {
        assert_eq!(capacity.len(), costs.nodes(), "a capacity a node");
        Self {
            kinds,
            holdings: Holdings::new(costs, capacity),
            number: vec![FREE; kinds.len()],
            kind: vec![usize::MAX],
            labels: vec![0.0],
            capacity: capacity.to_vec(),
            search: Search::default(),
            searches: 0,
        }
    }

    /// Number of searches so far: a measure of the work done.
    #[must_use]
    pub fn searches(&self) -> u64 {
        self.searches
    }

    /// Adds units of a kind; gives how many found no room.
    pub fn add(&mut self, kind: usize, amount: u64) -> u64 {
        let own = self.joined(kind);
        let mut left = amount;
        while left > 0 {
            self.begin();
            self.search.reach(FREE, 0.0, 0);
            let Some(end) = self.run(|_, holder| holder == own) else { break };
            left -= self.shift(end, left, false);
        }
        self.leave_if_empty(kind);
        left
    }

    /// Takes units of a kind away, or as many as there are.
    pub fn take(&mut self, kind: usize, amount: u64) {
        let own = self.number[kind];
        let mut left = if own == FREE { 0 } else { amount.min(self.holdings.held(own)) };
        while left > 0 {
            self.begin();
            self.search.reach(own, 0.0, 0);
            let Some(end) = self.run(|_, holder| holder == FREE) else { break };
            left -= self.shift(end, left, false);
        }
        self.leave_if_empty(kind);
    }

    /// Takes units of a node into service.
    pub fn open(&mut self, node: u32, amount: u64) {
        self.capacity[node as usize] += amount;
        let mut left = amount;
        while left > 0 {
            let price = self.price(node);
            self.begin();
            for &holder in self.holdings.present() {
                let reduced = self.holdings.cost(holder, node) + price - self.labels[holder];
                if reduced < f64::INFINITY {
                    self.search.reach(holder, reduced, node);
                }
            }
            let Some(end) = self.run(|_, holder| holder == FREE) else { break };
            left -= self.shift(end, left, true);
        }
    }

    /// Takes units of a node out of service, or as many as there are; gives how many units of kinds lost their place.
    pub fn close(&mut self, node: u32, amount: u64) -> u64 {
        let mut left = amount.min(self.capacity[node as usize]);
        self.capacity[node as usize] -= left;
        let mut lost = 0;
        while left > 0 {
            self.begin();
            self.search.reach(FREE, 0.0, 0);
            if let Some(end) = self.run(|holdings, holder| holdings.amount(holder, node) > 0) {
                let most = left.min(self.holdings.amount(end, node));
                let moved = if end == FREE { most } else { self.shift(end, most, false) };
                self.holdings.take(end, node, moved);
                left -= moved;
                continue;
            }
            let Some(holder) = self.holdings.present().iter().copied().find(|&one| self.holdings.amount(one, node) > 0)
            else {
                break;
            };
            let dropped = left.min(self.holdings.amount(holder, node));
            self.holdings.take(holder, node, dropped);
            left -= dropped;
            lost += dropped;
            self.leave_if_empty(self.kind[holder]);
        }
        lost
    }

    /// Units of each kind that has any, with its label.
    pub fn kinds(&self) -> impl Iterator<Item = (usize, u64, f64)> + '_ {
        let present = self.holdings.present().iter().filter(|&&holder| holder != FREE);
        present.map(|&holder| (self.kind[holder], self.holdings.held(holder), self.labels[holder]))
    }

    /// Cost of the placement.
    #[must_use]
    pub fn cost(&self) -> f64 {
        let costs = self.holdings.present().iter().flat_map(|&holder| {
            let own = self.holdings.nodes(holder).iter();
            own.map(move |&node| self.holdings.cost(holder, node) * self.holdings.amount(holder, node) as f64)
        });
        costs.sum()
    }

    /// Lower bound of the cost of every placement of the same units on the nodes in service.
    ///
    /// `prices` is room to work in.
    #[must_use]
    pub fn value(&self, prices: &mut Vec<f64>) -> FlowValue {
        prices.clear();
        prices.resize(self.capacity.len(), 0.0);
        let mut work = 0.0;
        for &holder in self.holdings.present() {
            let label = self.labels[holder];
            work += label * self.holdings.held(holder) as f64;
            for (price, cost) in prices.iter_mut().zip(self.holdings.costs(holder)) {
                *price = price.max(label - cost);
            }
        }
        let worth: f64 = prices.iter().zip(&self.capacity).map(|(price, &units)| price * units as f64).sum();
        FlowValue { least: (work - worth).max(0.0), terms: work.abs() + worth }
    }

    /// The holder of a kind, which joins if it has no units.
    fn joined(&mut self, kind: usize) -> usize {
        if self.number[kind] != FREE {
            return self.number[kind];
        }
        let own = self.holdings.join(self.kinds[kind]);
        let count = self.holdings.numbers();
        self.labels.resize(count, 0.0);
        self.kind.resize(count, usize::MAX);
        (self.number[kind], self.kind[own]) = (own, kind);
        let mut label = f64::INFINITY;
        for at in 0..self.holdings.present().len() {
            let giver = self.holdings.present()[at];
            if giver != own {
                label = label.min(self.holdings.cheapest(giver, own).0 + self.labels[giver]);
            }
        }
        // Without a node at all no unit will be placed, and the label counts for nothing.
        self.labels[own] = if label.is_finite() { label } else { 0.0 };
        own
    }

    fn leave_if_empty(&mut self, kind: usize) {
        let own = self.number[kind];
        if own != FREE && self.holdings.held(own) == 0 {
            self.holdings.leave(own);
            self.number[kind] = FREE;
        }
    }

    /// Price of a unit of a node by the labels.
    fn price(&self, node: u32) -> f64 {
        let worth = |&holder: &usize| self.labels[holder] - self.holdings.cost(holder, node);
        self.holdings.present().iter().map(worth).fold(0.0, f64::max)
    }

    fn begin(&mut self) {
        self.searches += 1;
        self.search.begin(&self.holdings);
    }

    /// Searches on to a target, and moves the labels.
    fn run(&mut self, is_target: impl Fn(&Holdings<'_>, usize) -> bool) -> Option<usize> {
        let end = self.search.run(&mut self.holdings, &self.labels, is_target)?;
        self.search.relabel(&self.holdings, &mut self.labels, end);
        Some(end)
    }

    /// Shifts as many units as the chain to a holder allows; with `enters`, its first step brings them from outside.
    fn shift(&mut self, end: usize, most: u64, enters: bool) -> u64 {
        let chain = self.search.chain(end);
        let there = chain.iter().filter_map(|(step, _)| Some(self.holdings.amount(step.giver?, step.node)));
        let amount = there.fold(most, u64::min);
        for &(step, taker) in &chain {
            match step.giver {
                Some(giver) => {
                    self.holdings.take(giver, step.node, amount);
                    self.holdings.give(taker, step.node, amount);
                }
                None if enters => self.holdings.give(taker, step.node, amount),
                None => {}
            }
        }
        amount
    }
}
