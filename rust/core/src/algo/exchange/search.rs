//! Pair after pair of nodes made cheapest, and forced exchanges.

use std::collections::VecDeque;

use super::pair::{CLOSED, Part};
use super::placement::Placement;
use super::{IntervalNode, PlacedIntervals};
use crate::error::{Error, Result};
use crate::random::Stream;

/// All of time.
const ALWAYS: (i64, i64) = (i64::MIN, i64::MAX);

/// Exchanges in a row that are forced before pairs are made cheapest again.
const FORCED: u32 = 2;

/// Work to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Number of times that exchanges are forced.
    pub rounds: u64,
    /// Seed of the random numbers that choose them.
    pub seed: u64,
}

/// A placement of the same intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Nodes of the intervals, by interval and number.
    pub places: Vec<IntervalNode>,
    /// Cost of the exchanges until no pair of nodes could be made cheaper for the first time; at most 0.
    pub of_pairs: f64,
    /// Cost of all exchanges; at most that.
    pub change: f64,
    /// Pairs of nodes that were looked at.
    pub looks: u64,
}

/// A placement that costs no more, and in which no two nodes can exchange anything for less.
///
/// # Errors
/// If the problem names rows, intervals or nodes that there are not, or a node serves two intervals at once; and
/// [`Error::Interrupted`].
pub fn cheaper_unless(
    problem: &PlacedIntervals<'_>,
    effort: Effort,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<Found> {
    problem.check()?;
    let nodes = problem.costs.nodes();
    let mut search = Search {
        placement: Placement::new(*problem)?,
        waiting: VecDeque::new(),
        window: vec![None; nodes],
        parts: Vec::new(),
        looks: 0,
        interrupted,
    };
    (0..nodes).for_each(|node| search.touch(node, ALWAYS));
    let of_pairs = search.settle()?;
    search.placement.keep();
    let (mut change, mut stream) = (of_pairs, Stream::new(effort.seed, "exchanges"));
    for _ in 0..effort.rounds {
        let forced = search.force(&mut stream);
        let found = forced + search.settle()?;
        // As much as roundings could be, and more.
        if found < -1e-12 * forced.abs() {
            change += found;
            search.placement.keep();
        } else {
            search.placement.take_back();
        }
    }
    Ok(Found { places: search.placement.places(), of_pairs, change, looks: search.looks })
}

struct Search<'p, 'i> {
    placement: Placement<'p>,
    /// Nodes of which pairs may be no longer the cheapest, the longest waiting first.
    waiting: VecDeque<usize>,
    /// Time in which each node has changed; None: it does not wait.
    window: Vec<Option<(i64, i64)>>,
    parts: Vec<Part>,
    looks: u64,
    interrupted: &'i mut dyn FnMut() -> bool,
}

impl Search<'_, '_> {
    fn touch(&mut self, node: usize, (from, until): (i64, i64)) {
        let window = &mut self.window[node];
        if window.is_none() {
            self.waiting.push_back(node);
        }
        *window = Some(window.map_or((from, until), |seen| (seen.0.min(from), seen.1.max(until))));
    }

    /// Makes pairs cheapest until none can be; gives what that costs, at most 0.
    fn settle(&mut self) -> Result<f64> {
        let mut change = 0.0;
        while let Some(node) = self.waiting.pop_front() {
            if (self.interrupted)() {
                return Err(Error::Interrupted);
            }
            let Some(window) = self.window[node].take() else { continue };
            for other in (0..self.window.len()).filter(|&other| other != node) {
                // A pair of two that wait is looked at once.
                if self.window[other].is_none_or(|waits| waits.0 > window.0 || waits.1 < window.1) {
                    change += self.improve(node, other, window);
                }
            }
        }
        Ok(change)
    }

    fn improve(&mut self, node: usize, other: usize, window: (i64, i64)) -> f64 {
        let mut parts = std::mem::take(&mut self.parts);
        self.placement.parts((node, other), window, Part::gains, &mut parts);
        self.looks += 1;
        let mut change = 0.0;
        // From the last one on: those before it keep their places.
        for part in parts.iter().rev() {
            change += self.exchange(node, other, part);
        }
        self.parts = parts;
        change
    }

    fn exchange(&mut self, node: usize, other: usize, part: &Part) -> f64 {
        self.placement.exchange(node, other, part);
        self.touch(node, (part.from, part.until));
        self.touch(other, (part.from, part.until));
        part.change
    }

    /// Exchanges parts around an interval of a node, whatever that costs.
    fn force(&mut self, stream: &mut Stream) -> f64 {
        let nodes = u32::try_from(self.window.len()).unwrap_or(u32::MAX);
        if nodes == 0 {
            return 0.0;
        }
        let mut node = stream.below(nodes) as usize;
        let entries = self.placement.entries(node);
        let Some(entry) = entries.get(stream.below(u32::try_from(entries.len().max(1)).unwrap_or(1)) as usize) else {
            return 0.0;
        };
        if entry.interval == CLOSED {
            return 0.0;
        }
        let window = (entry.from, entry.until);
        let (mut change, mut parts) = (0.0, Vec::new());
        for _ in 0..FORCED {
            let other = stream.below(nodes) as usize;
            if other == node {
                continue;
            }
            self.placement.parts((node, other), window, |_| true, &mut parts);
            if let Some(part) = parts.first().filter(|part| part.change.is_finite()) {
                change += self.exchange(node, other, part);
                node = other;
            }
        }
        change
    }
}
