//! Dijkstra's algorithm between holders: the cheapest chain in which each gives a unit to the next.

use super::holdings::{FREE, Holdings};

/// A step of a chain: who gives, and a unit of which node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The giver; `None` where the unit came from outside.
    pub(super) giver: Option<usize>,
    pub(super) node: u32,
}

/// Labels of one search.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// Length of the shortest chain to each holder, beyond what the labels account for.
    pub(super) distance: Vec<f64>,
    from: Vec<Step>,
    is_settled: Vec<bool>,
}

const NO_STEP: Step = Step { giver: None, node: 0 };

impl Search {
    /// Begins without a source.
    pub(super) fn begin(&mut self, holdings: &Holdings) {
        let count = holdings.numbers();
        self.distance.clear();
        self.distance.resize(count, f64::INFINITY);
        self.from.clear();
        self.from.resize(count, NO_STEP);
        self.is_settled.clear();
        self.is_settled.resize(count, false);
    }

    /// Makes a holder a source, at a distance and by a unit of a node from outside.
    pub(super) fn reach(&mut self, holder: usize, distance: f64, node: u32) {
        self.distance[holder] = distance.max(0.0);
        self.from[holder] = Step { giver: None, node };
    }

    /// Goes on to the nearest target; `None` if none can be reached. Of several at one distance it is the lowest.
    pub(super) fn run(
        &mut self,
        holdings: &mut Holdings,
        labels: &[f64],
        is_target: impl Fn(&Holdings, usize) -> bool,
    ) -> Option<usize> {
        loop {
            let mut nearest = None;
            let mut least = f64::INFINITY;
            for &holder in holdings.present() {
                if !self.is_settled[holder] && self.distance[holder] < least {
                    (least, nearest) = (self.distance[holder], Some(holder));
                }
            }
            let giver = nearest?;
            if is_target(holdings, giver) {
                return Some(giver);
            }
            self.is_settled[giver] = true;
            for at in 0..holdings.present().len() {
                let taker = holdings.present()[at];
                if self.is_settled[taker] {
                    continue;
                }
                if let Some((length, node)) = holdings.cheapest(giver, taker) {
                    // Below 0 by rounding only: the labels leave no chain shorter than nothing.
                    let reduced = (length + labels[giver] - labels[taker]).max(0.0);
                    if least + reduced < self.distance[taker] {
                        self.distance[taker] = least + reduced;
                        self.from[taker] = Step { giver: Some(giver), node };
                    }
                }
            }
        }
    }

    /// The steps of the chain that ends at a holder, the last first, each with its taker.
    pub(super) fn chain(&self, end: usize) -> Vec<(Step, usize)> {
        let (mut steps, mut taker) = (Vec::new(), end);
        loop {
            let step = self.from[taker];
            match step.giver {
                Some(giver) => {
                    steps.push((step, taker));
                    taker = giver;
                }
                None => {
                    steps.push((step, taker));
                    return steps;
                }
            }
        }
    }

    /// Moves the labels so that no step is shorter than nothing and those of the chain are of no length; free units
    /// keep label 0.
    pub(super) fn relabel(&self, holdings: &Holdings, labels: &mut [f64], end: usize) {
        let most = self.distance[end];
        let shift = labels[FREE] + self.distance[FREE].min(most);
        for &holder in holdings.present() {
            labels[holder] += self.distance[holder].min(most) - shift;
        }
        labels[FREE] = 0.0;
    }
}
