//! Prices of intervals: a lower bound of the cost of placing them on nodes, and placements that the prices suggest.
//!
//! Let `π` be any prices, one a unit of each interval. No placement of the intervals (see [`super::exchange`]) costs less
//! than
//!
//! ```text
//! D(π) = Σ size × π − Σ over nodes of the most that intervals which do not overlap can bring in, each π less its cost
//! ```
//!
//! for a placement costs `Σ size × π` less what it brings in on each node. What a node can bring in at most is weighted
//! interval scheduling, one pass over the intervals by end (rules 15 to 17 of the best placement with hindsight,
//! docs/background/bounds.md). The best prices solve a linear program. Here they are raised step by step: the maximum of
//! two numbers, of which the pass is made, is smoothed (Mensch and Blondel, Differentiable dynamic programming, ICML 2018),
//! and the smooth function climbed by a limited-memory quasi-Newton method (Nocedal and Wright, Numerical Optimization,
//! 2nd ed., algorithm 7.5) whose first guess of the curvature knows that prices of long stretches move together.
//!
//! | module | what it holds |
//! |---|---|
//! | `chains` | intervals by end on blocks of nodes: the most that they bring in, exactly and smoothed |
//! | `stretches` | moves of the prices of whole stretches of time |
//! | `curvature` | the quasi-Newton step |
//! | [`ascent`] | the climb |
//! | [`placing`] | intervals placed one after another by their prices |
//!
//! All answers are deterministic, ties included.

pub mod ascent;
mod chains;
mod curvature;
pub mod placing;
mod stretches;
#[cfg(test)]
mod tests;

use crate::algo::exchange::{Closed, Interval};
use crate::algo::transport::NodeCosts;
use crate::error::{Result, config};

pub use self::ascent::{Climb, PriceBound, raise_unless};
pub use self::placing::placed_unless;

/// Intervals to be placed, with their sizes.
#[derive(Clone, Copy, Debug)]
pub struct SizedIntervals<'a> {
    /// Rows of costs on nodes, per unit of time; +inf where an interval may not be.
    pub costs: NodeCosts<'a>,
    /// The intervals.
    pub intervals: &'a [Interval],
    /// Numbers of nodes.
    pub sizes: &'a [u32],
    /// Spans out of service.
    pub closed: &'a [Closed],
}

impl SizedIntervals<'_> {
    fn check(&self, prices: &[f64]) -> Result<()> {
        super::exchange::check_intervals(self.costs, self.intervals, self.closed)?;
        for (name, found) in [("sizes", self.sizes.len()), ("prices", prices.len())] {
            if found != self.intervals.len() {
                let expected = format!("one for each of {} intervals", self.intervals.len());
                return Err(config(name, format!("{found} numbers"), expected));
            }
        }
        if let Some(place) = prices.iter().position(|price| !price.is_finite()) {
            return Err(config(format!("prices[{place}]"), prices[place].to_string(), "a finite number"));
        }
        Ok(())
    }
}

/// Cost of an interval: length times the factor on its row.
fn weight(one: &Interval) -> f64 {
    one.scale * (one.until - one.from) as f64
}
