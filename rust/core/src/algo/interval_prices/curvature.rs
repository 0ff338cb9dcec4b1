//! Directions of a limited-memory quasi-Newton method.

use std::collections::VecDeque;

/// Steps that are remembered.
const REMEMBERED: usize = 30;

/// A step, by how much it changed the slope, and the inverse of their product.
#[derive(Clone, Debug)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    inverse: f64,
}

/// The curvature, as far as steps so far have shown it.
#[derive(Clone, Debug, Default)]
pub(super) struct Curvature {
    pairs: VecDeque<Pair>,
}

impl Curvature {
    /// Notes a step down a slope, and how the slope changed; one that shows no curvature is left out.
    pub(super) fn note(&mut self, step: Vec<f64>, change: Vec<f64>) {
        let product = dot(&step, &change);
        if product > 1e-10 * (dot(&step, &step) * dot(&change, &change)).sqrt() {
            self.pairs.push_back(Pair { step, change, inverse: 1.0 / product });
            if self.pairs.len() > REMEMBERED {
                self.pairs.pop_front();
            }
        }
    }

    /// Direction of the next step for a slope; `first` applies the first guess of the inverse curvature.
    pub(super) fn direction(&self, slope: &[f64], guess: f64, first: &mut dyn FnMut(&mut [f64])) -> Vec<f64> {
        let (mut found, mut shares) = (slope.to_vec(), Vec::with_capacity(self.pairs.len()));
        for pair in self.pairs.iter().rev() {
            let share = pair.inverse * dot(&pair.step, &found);
            add(&mut found, &pair.change, -share);
            shares.push(share);
        }
        let scale = self.pairs.back().map_or(guess, |pair| {
            let mut change = pair.change.clone();
            first(&mut change);
            1.0 / (pair.inverse * dot(&pair.change, &change))
        });
        first(&mut found);
        for one in &mut found {
            *one *= scale;
        }
        for (pair, share) in self.pairs.iter().zip(shares.iter().rev()) {
            let back = pair.inverse * dot(&pair.change, &found);
            add(&mut found, &pair.step, share - back);
        }
        found
    }
}

pub(super) fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

fn add(to: &mut [f64], what: &[f64], times: f64) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += times * what);
}
