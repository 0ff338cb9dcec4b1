//! Intervals placed one after another by their prices.

use super::{SizedIntervals, weight};
use crate::algo::exchange::IntervalNode;
use crate::error::{Error, Result};

/// Places each interval, by start, on those nodes of the free ones where it costs least, what its time there is worth to
/// others included; `None` if one finds too few of them.
///
/// By these prices the time of an interval on a node is worth what the node brings in at most, less what it can bring in
/// before and after.
///
/// # Errors
/// If the problem names rows or nodes that there are not, or a price is not finite; and [`Error::Interrupted`].
pub fn placed_unless(
    problem: &SizedIntervals<'_>,
    prices: &[f64],
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<Option<Vec<IntervalNode>>> {
    problem.check(prices)?;
    let orders = Orders::new(problem);
    let (nodes, mut costs) = (problem.costs.nodes(), Vec::new());
    for node in 0..nodes {
        if interrupted() {
            return Err(Error::Interrupted);
        }
        costs.push(orders.costs(problem, prices, node));
    }
    let mut free = vec![i64::MIN; nodes];
    let mut places = Vec::new();
    for &own in &orders.by_start {
        let one = &problem.intervals[own];
        let mut open: Vec<(f64, usize)> = (0..nodes)
            .filter(|&node| free[node] <= one.from)
            .map(|node| (costs[node][own], node))
            .filter(|(cost, _)| cost.is_finite())
            .collect();
        let size = problem.sizes[own] as usize;
        if open.len() < size {
            return Ok(None);
        }
        open.sort_unstable_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        for &(_, node) in &open[..size] {
            free[node] = one.until;
            let (interval, node) = (index(own), index(node));
            places.push(IntervalNode { interval, node });
        }
    }
    places.sort_unstable();
    Ok(Some(places))
}

/// Intervals by end and by start.
struct Orders {
    by_end: Vec<usize>,
    /// Number of intervals that end by the start of each, in the order of ends.
    before: Vec<usize>,
    by_start: Vec<usize>,
    /// Place in the order of starts of the first that starts after the end of each, in that order.
    after: Vec<usize>,
}

impl Orders {
    fn new(problem: &SizedIntervals<'_>) -> Self {
        let of = |own: usize| &problem.intervals[own];
        let mut by_end: Vec<usize> = (0..problem.intervals.len()).collect();
        let mut by_start = by_end.clone();
        by_end.sort_unstable_by_key(|&own| (of(own).until, of(own).from, own));
        by_start.sort_unstable_by_key(|&own| (of(own).from, of(own).until, own));
        let before = |&own: &usize| by_end.partition_point(|&other| of(other).until <= of(own).from);
        let after = |&own: &usize| by_start.partition_point(|&other| of(other).from < of(own).until);
        let (before, after) = (by_end.iter().map(before).collect(), by_start.iter().map(after).collect());
        Self { by_end, before, by_start, after }
    }

    /// Cost of each interval on a node and what its time there is worth; infinity where it may not be.
    fn costs(&self, problem: &SizedIntervals<'_>, prices: &[f64], node: usize) -> Vec<f64> {
        let mut own: Vec<f64> =
            problem.intervals.iter().map(|one| problem.costs.row(one.row as usize)[node] * weight(one)).collect();
        for span in problem.closed.iter().filter(|span| span.node as usize == node && span.from < span.until) {
            for (cost, one) in own.iter_mut().zip(problem.intervals) {
                if one.from < span.until && span.from < one.until {
                    *cost = f64::INFINITY;
                }
            }
        }
        let count = own.len();
        let (mut until, mut from) = (vec![0.0_f64; count + 1], vec![0.0_f64; count + 1]);
        for (place, (&one, &before)) in self.by_end.iter().zip(&self.before).enumerate() {
            until[place + 1] = until[place].max(until[before] + (prices[one] - own[one]));
        }
        for (place, (&one, &after)) in self.by_start.iter().zip(&self.after).enumerate().rev() {
            from[place] = from[place + 1].max(from[after] + (prices[one] - own[one]));
        }
        for (&one, &before) in self.by_end.iter().zip(&self.before) {
            own[one] += until[count] - until[before];
        }
        for (&one, &after) in self.by_start.iter().zip(&self.after) {
            own[one] -= from[after];
        }
        own
    }
}

fn index(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
