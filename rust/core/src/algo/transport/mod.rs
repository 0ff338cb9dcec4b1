//! Transportation problems that change over time: kinds of demand on nodes of limited capacity, at the least total cost.
//!
//! At any instant each kind has so many units to place, each node room for so many, and a unit of a kind on a node costs
//! so much. Units come and go, nodes leave and return; the cheapest placement follows from change to change, along
//! shortest paths (rules 9 and 10 of the bound given a run's starts, docs/background/bounds.md).
//!
//! | module | what it holds |
//! |---|---|
//! | `holdings` | who holds what of each node, and the cheapest unit that one kind could take from another |
//! | `search` | Dijkstra's algorithm between kinds |
//! | [`flow`] | one placement, kept cheapest as it changes, with the labels that prove it |
//! | [`over_time`] | supplies and outages with their instants, and the least cost integrated over time |
//! | [`worth`] | labels integrated over the time of a supply |
//!
//! Units stay whole where they come whole. All answers are deterministic, ties included.

pub mod flow;
mod holdings;
pub mod over_time;
mod search;
#[cfg(test)]
mod tests;
pub mod worth;

use crate::error::{Result, config};

pub use self::flow::{Flow, FlowValue};
pub use self::over_time::{FlowStretch, LeastCost, NodeOutage, Problem, Supply, least_cost, least_cost_unless};
pub use self::worth::SupplyWorth;

/// Rows of costs by node, per unit of time: at least 0, or +inf where a kind may not be.
#[derive(Clone, Copy, Debug)]
pub struct NodeCosts<'a> {
    nodes: usize,
    values: &'a [f64],
}

/// A kind of demand: a row of costs, times a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// Row of the costs.
    pub row: u32,
    /// Factor on them, above 0.
    pub scale: f64,
}

impl<'a> NodeCosts<'a> {
    /// Takes the costs, row after row.
    ///
    /// # Errors
    /// If the length is no multiple of `nodes`, or for the first number that is NaN or below 0.
    pub fn new(rows: usize, nodes: usize, values: &'a [f64]) -> Result<Self> {
        if rows.checked_mul(nodes) != Some(values.len()) {
            let expected = format!("{rows} rows × {nodes} nodes");
            return Err(config("cost", format!("{} numbers", values.len()), expected));
        }
        if let Some(place) = values.iter().position(|value| value.is_nan() || *value < 0.0) {
            let (row, node) = (place / nodes.max(1), place % nodes.max(1));
            let expected = "a cost of at least 0, or inf where a kind may not be";
            return Err(config(format!("cost[{row}, {node}]"), values[place].to_string(), expected));
        }
        Ok(Self { nodes, values })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.nodes).unwrap_or(0)
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Costs of a row by node.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &'a [f64] {
        &self.values[row * self.nodes..][..self.nodes]
    }
}
