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
    /// Holders that are not settled.
    open: Vec<usize>,
}

/// The nearest holder of those seen; of several the one with the lowest number.
struct Nearest {
    place: Option<usize>,
    holder: usize,
    distance: f64,
}

impl Default for Nearest {
    fn default() -> Self {
        Self { place: None, holder: usize::MAX, distance: f64::INFINITY }
    }
}

impl Nearest {
    #[inline]
    fn offer(&mut self, place: usize, holder: usize, distance: f64) {
        let is_tied = distance == self.distance && holder < self.holder && distance < f64::INFINITY;
        if distance < self.distance || is_tied {
            *self = Self { place: Some(place), holder, distance };
        }
    }
}

const NO_STEP: Step = Step { giver: None, node: 0 };

impl Search {
    /// Begins without a source.
    pub(super) fn begin(&mut self, holdings: &Holdings<'_>) {
        let count = holdings.numbers();
        self.distance.clear();
        self.distance.resize(count, f64::INFINITY);
        self.from.clear();
        self.from.resize(count, NO_STEP);
        self.open.clear();
        self.open.extend(holdings.present());
    }

    /// Makes a holder a source, at a distance and by a unit of a node from outside.
    pub(super) fn reach(&mut self, holder: usize, distance: f64, node: u32) {
        self.distance[holder] = distance.max(0.0);
        self.from[holder] = Step { giver: None, node };
    }

    /// Goes on to the nearest target; `None` if none can be reached. Of several at one distance it is the lowest.
    pub(super) fn run(
        &mut self,
        holdings: &mut Holdings<'_>,
        labels: &[f64],
        is_target: impl Fn(&Holdings<'_>, usize) -> bool,
    ) -> Option<usize> {
        let mut nearest = self.nearest()?;
        loop {
            let giver = self.open[nearest];
            if is_target(holdings, giver) {
                return Some(giver);
            }
            self.open.swap_remove(nearest);
            nearest = self.relax(holdings, labels, giver)?;
        }
    }

    /// Lets a settled holder give to all that are not; place of the nearest of these.
    ///
    /// One pass looks up lengths, shortens distances and finds the nearest: it is most of the work of a bound whose jobs
    /// all have watts of their own.
    fn relax(&mut self, holdings: &mut Holdings<'_>, labels: &[f64], giver: usize) -> Option<usize> {
        let (least, label) = (self.distance[giver], labels[giver]);
        let mut found = Nearest::default();
        for (place, &taker) in self.open.iter().enumerate() {
            let (length, node) = holdings.cheapest(giver, taker);
            // Below 0 by rounding only: the labels leave no chain shorter than nothing.
            let reached = least + (length + label - labels[taker]).max(0.0);
            let distance = &mut self.distance[taker];
            if reached < *distance {
                *distance = reached;
                self.from[taker] = Step { giver: Some(giver), node };
            }
            found.offer(place, taker, *distance);
        }
        found.place
    }

    /// Place of the nearest holder that is not settled.
    fn nearest(&self) -> Option<usize> {
        let mut found = Nearest::default();
        for (place, &holder) in self.open.iter().enumerate() {
            found.offer(place, holder, self.distance[holder]);
        }
        found.place
    }

    /// The steps of the chain that ends at a holder, the last first, each with its taker.
    pub(super) fn chain(&self, end: usize) -> Vec<(Step, usize)> {
        let (mut steps, mut taker) = (Vec::new(), end);
        loop {
            let step = self.from[taker];
            steps.push((step, taker));
            let Some(giver) = step.giver else { return steps };
            taker = giver;
        }
    }

    /// Moves the labels so that no step is shorter than nothing and those of the chain are of no length; free units
    /// keep label 0.
    pub(super) fn relabel(&self, holdings: &Holdings<'_>, labels: &mut [f64], end: usize) {
        let most = self.distance[end];
        let shift = labels[FREE] + self.distance[FREE].min(most);
        for &holder in holdings.present() {
            labels[holder] += self.distance[holder].min(most) - shift;
        }
        labels[FREE] = 0.0;
    }
}
