//! Prices raised step by step, and the bound that they prove.

use super::SizedIntervals;
use super::chains::{Chains, Room};
use super::curvature::{Curvature, dot};
use super::stretches::Stretches;
use crate::error::{Error, Result};

/// Widths of the smoothing, as shares of how much an interval's costs differ between nodes, and the share of all steps
/// that is taken with each.
const SMOOTHING: [(f64, f64); 2] = [(0.1, 0.2), (0.03, 0.8)];

/// Least width, as a share of the mean one: intervals that cost the same everywhere still compete for nodes.
const LEAST_WIDTH: f64 = 0.1;

/// Steps between two looks at the exact bound.
const LOOKS: u64 = 8;

/// Halvings of a step after which a climb has come to its end.
const HALVINGS: u32 = 12;

/// Work to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Climb {
    /// Number of steps.
    pub steps: u64,
    /// Cost of a placement: a bound that comes up to it has no need to climb on.
    pub target: f64,
}

/// Lower bound of the cost of every placement, and the prices that prove it.
#[derive(Clone, Debug, PartialEq)]
pub struct PriceBound {
    /// Price of a unit of each interval.
    pub prices: Vec<f64>,
    /// The bound, before any allowance for rounding.
    pub least: f64,
    /// Bound of the prices to begin with.
    pub at_first: f64,
    /// Upper limit of the sum of the absolute values of all terms.
    pub terms: f64,
    /// Passes over all nodes: a measure of the work done.
    pub passes: u64,
}

/// Raises prices; the bound is no lower than that of the prices to begin with.
///
/// # Errors
/// If the problem names rows or nodes that there are not, or a price is not finite; and [`Error::Interrupted`].
pub fn raise_unless(
    problem: &SizedIntervals<'_>,
    prices: &[f64],
    climb: Climb,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<PriceBound> {
    problem.check(prices)?;
    let chains = Chains::new(problem);
    let mut ascent = Ascent { problem, chains, room: Room::default(), best: prices.to_vec(), least: 0.0, passes: 0 };
    ascent.least = ascent.exactly(prices);
    let at_first = ascent.least;
    let spread = spread(problem);
    if spread.iter().any(|&one| one > 0.0) {
        for (width, share) in SMOOTHING {
            let widths: Vec<f64> = spread.iter().map(|one| one * width).collect();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the steps")]
            let steps = (climb.steps as f64 * share).round() as u64;
            ascent.climb(&widths, steps, climb.target, interrupted)?;
        }
    }
    let worth: f64 = ascent.worth(&ascent.best.iter().map(|price| price.abs()).collect::<Vec<_>>());
    let terms = 2.0 * worth + ascent.least.abs() + ascent.chains.most;
    Ok(PriceBound { prices: ascent.best, least: ascent.least, at_first, terms, passes: ascent.passes })
}

/// Step up: its length, the prices to which it leads, and their height and slope.
struct Step {
    length: f64,
    prices: Vec<f64>,
    height: f64,
    slope: Vec<f64>,
}

struct Ascent<'p> {
    problem: &'p SizedIntervals<'p>,
    chains: Chains,
    room: Room,
    best: Vec<f64>,
    least: f64,
    passes: u64,
}

impl Ascent<'_> {
    fn worth(&self, prices: &[f64]) -> f64 {
        prices.iter().zip(self.problem.sizes).map(|(price, &size)| price * f64::from(size)).sum()
    }

    fn exactly(&mut self, prices: &[f64]) -> f64 {
        self.passes += 1;
        self.worth(prices) - self.chains.highest(prices, &mut self.room)
    }

    /// Keeps prices if their bound is the best so far.
    fn look(&mut self, prices: &[f64]) {
        let least = self.exactly(prices);
        if least > self.least {
            self.least = least;
            self.best.copy_from_slice(prices);
        }
    }

    /// Climbs the bound smoothed by these widths, from the prices of the best bound so far.
    fn climb(&mut self, widths: &[f64], steps: u64, target: f64, interrupted: &mut dyn FnMut() -> bool) -> Result<()> {
        let roots: Vec<f64> = widths.iter().map(|width| width.sqrt()).collect();
        let mut stretches = Stretches::new(self.problem.intervals, self.problem.costs.rows(), &roots);
        let mut prices = self.best.clone();
        let (mut height, mut slope) = self.smoothly(&prices, widths, &roots);
        let mut curvature = Curvature::default();
        for step in 1..=steps {
            if interrupted() {
                return Err(Error::Interrupted);
            }
            let first = &mut |moves: &mut [f64]| stretches.spread(moves, &roots);
            let direction = curvature.direction(&slope, 0.25, first);
            let rise = dot(&direction, &slope);
            let Some(found) = self.step(&prices, &direction, (height, rise), widths, &roots) else { break };
            let change = slope.iter().zip(&found.slope).map(|(before, after)| before - after).collect();
            curvature.note(direction.iter().map(|one| found.length * one).collect(), change);
            (prices, height, slope) = (found.prices, found.height, found.slope);
            if step % LOOKS == 0 || step == steps {
                self.look(&prices);
            }
            if self.least >= target {
                break;
            }
        }
        self.look(&prices);
        Ok(())
    }

    /// The longest of some steps that rises enough.
    fn step(
        &mut self,
        prices: &[f64],
        direction: &[f64],
        (height, rise): (f64, f64),
        widths: &[f64],
        roots: &[f64],
    ) -> Option<Step> {
        let mut length = 1.0;
        for _ in 0..HALVINGS {
            let moved = prices.iter().zip(direction.iter().zip(roots));
            let there: Vec<f64> = moved.map(|(price, (one, root))| price + length * one * root).collect();
            let (higher, slope) = self.smoothly(&there, widths, roots);
            if higher >= height + 1e-4 * length * rise && higher > height {
                return Some(Step { length, prices: there, height: higher, slope });
            }
            length *= 0.5;
        }
        None
    }

    /// Smoothed bound, and its slope in units of the roots of the widths.
    fn smoothly(&mut self, prices: &[f64], widths: &[f64], roots: &[f64]) -> (f64, Vec<f64>) {
        self.passes += 1;
        let mut taken = vec![0.0; prices.len()];
        let brings = self.chains.smooth(prices, widths, &mut taken, &mut self.room);
        let more = taken.iter().zip(self.problem.sizes).map(|(taken, &size)| f64::from(size) - taken);
        let slope = more.zip(roots).map(|(more, root)| more * root).collect();
        (self.worth(prices) - brings, slope)
    }
}

/// Standard deviation of each interval's cost over the nodes that it may have, or a tenth of the mean one.
fn spread(problem: &SizedIntervals<'_>) -> Vec<f64> {
    let of_row = |row: usize| {
        let costs: Vec<f64> = problem.costs.row(row).iter().copied().filter(|cost| cost.is_finite()).collect();
        let mean = costs.iter().sum::<f64>() / costs.len().max(1) as f64;
        let squares: f64 = costs.iter().map(|cost| (cost - mean) * (cost - mean)).sum();
        (squares / costs.len().max(1) as f64).sqrt()
    };
    let rows: Vec<f64> = (0..problem.costs.rows()).map(of_row).collect();
    let rates: Vec<f64> = problem.intervals.iter().map(|one| rows[one.row as usize] * one.scale).collect();
    let lengths = problem.intervals.iter().map(|one| (one.until - one.from) as f64);
    let node_time: Vec<f64> = lengths.clone().zip(problem.sizes).map(|(long, &size)| long * f64::from(size)).collect();
    let mean = dot(&rates, &node_time) / node_time.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    rates.iter().zip(lengths).map(|(rate, long)| rate.max(LEAST_WIDTH * mean) * long).collect()
}
