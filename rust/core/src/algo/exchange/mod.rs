//! Exchanges between nodes: intervals of time that hold given nodes, moved to cheaper ones.
//!
//! An interval holds a number of different nodes from one instant to another, no node serves two at once, and an
//! interval on a node costs so much per unit of time. To find the cheapest placement is NP-hard. Here pairs of nodes
//! are made cheapest one after another, until none is left that could be; then some exchanges are forced, and what
//! does not lead to less in the end is taken back (rule 17 of the best placement with hindsight,
//! docs/background/bounds.md).
//!
//! | module | what it holds |
//! |---|---|
//! | [`paced`] | the same between nodes that differ in speed |
//! | `pair` | the contents of two nodes, in parts that can be exchanged one by one |
//! | `placement` | the contents of every node |
//! | [`search`] | pair after pair, and forced exchanges |
//!
//! All answers are deterministic, ties included.

pub mod paced;
mod pair;
mod placement;
pub mod search;
#[cfg(test)]
mod tests;

use crate::algo::transport::NodeCosts;
use crate::error::{Result, config};

pub use self::paced::{LengthRule, PacedFound, PacedInterval, PacedIntervals, cheaper_paced_unless};
pub use self::search::{Effort, Found, cheaper_unless};

/// Interval that holds nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Row of the costs.
    pub row: u32,
    /// Factor on them, above 0.
    pub scale: f64,
    /// First instant.
    pub from: i64,
    /// Instant from which on its nodes are free.
    pub until: i64,
}

/// Span in which a node serves none of the intervals, unless it does from the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// The node.
    pub node: u32,
    /// First instant.
    pub from: i64,
    /// Instant from which on it is open.
    pub until: i64,
}

/// Node of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IntervalNode {
    /// The interval.
    pub interval: u32,
    /// The node.
    pub node: u32,
}

/// Intervals on nodes.
#[derive(Clone, Copy, Debug)]
pub struct PlacedIntervals<'a> {
    /// Rows of costs on nodes, per unit of time; +inf where an interval may not be.
    pub costs: NodeCosts<'a>,
    /// The intervals.
    pub intervals: &'a [Interval],
    /// Nodes that they have.
    pub places: &'a [IntervalNode],
    /// Spans out of service.
    pub closed: &'a [Closed],
}

impl PlacedIntervals<'_> {
    fn check(&self) -> Result<()> {
        check_intervals(self.costs, self.intervals, self.closed)?;
        let (count, nodes) = (self.intervals.len(), self.costs.nodes());
        let is_known = |one: &IntervalNode| (one.interval as usize) < count && (one.node as usize) < nodes;
        if let Some(one) = self.places.iter().find(|one| !is_known(one)) {
            let found = format!("interval {} on node {}", one.interval, one.node);
            return Err(config("places", found, format!("{count} intervals on {nodes} nodes")));
        }
        Ok(())
    }
}

/// Refuses intervals without a row of the costs, a factor or a length, and spans of nodes that there are not.
pub(super) fn check_intervals(costs: NodeCosts<'_>, intervals: &[Interval], closed: &[Closed]) -> Result<()> {
    let (rows, nodes) = (costs.rows(), costs.nodes());
    let is_sound =
        |one: &Interval| (one.row as usize) < rows && one.scale > 0.0 && one.scale.is_finite() && one.from < one.until;
    if let Some(one) = intervals.iter().find(|one| !is_sound(one)) {
        let found = format!("row {} times {} from {} to {}", one.row, one.scale, one.from, one.until);
        let expected = format!("a row below {rows}, a factor above 0, and an end after the start");
        return Err(config("intervals", found, expected));
    }
    if let Some(one) = closed.iter().find(|one| one.node as usize >= nodes) {
        return Err(config("closed", format!("node {}", one.node), format!("a node below {nodes}")));
    }
    Ok(())
}
