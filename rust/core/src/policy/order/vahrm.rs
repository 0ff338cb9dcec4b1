//! By predicted energy and wait: the priority of VAHRM (equation 1), as a number that never changes as time passes.

use std::collections::BTreeMap;

use crate::policy::View;
use crate::policy::class::JobClass;
use crate::policy::compose::rank_of;
use crate::policy::first_runs::Estimate;
use crate::policy::order::Order;
use crate::units::SimDuration;
use crate::workload::JobId;

/// What an energy is predicted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The nominal runtime: known in advance, as the paper assumes.
    Runtime,
    /// The walltime, or the nominal runtime of a job that brings none.
    Walltime,
}

/// What the order goes by.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Weight of a joule; a second of wait weighs `1 - beta`.
    pub beta: f64,
    /// What an energy is predicted for.
    pub length: Length,
    /// Who has waited longer goes first.
    pub starvation_limit: SimDuration,
    /// How many times longer a first run takes, if first runs are profiled.
    pub profiling_ratio: Option<f64>,
}

/// Highest `β·E - (1-β)·submit` first.
///
/// The paper's priority is `β·E + (1-β)·wait`. All waits grow alike, so its order is that of this number, in which the
/// wait has become the submit. `E` is the mean over the machine's nodes of the predicted watts × nodes asked for × length,
/// in joules, and for a first run the nodes' mean TDP × nodes × length.
#[derive(Clone, Debug)]
pub struct Vahrm {
    weights: Weights,
    /// Mean predicted watts of a node by class; of a class that follows jobs' own draws, per watt of these.
    means: BTreeMap<JobClass, f64>,
    tdp_w: Option<f64>,
}

impl Vahrm {
    /// An order by these weights.
    #[must_use]
    pub fn new(weights: Weights) -> Self {
        Self { weights, means: BTreeMap::new(), tdp_w: None }
    }

    fn watts(&mut self, view: &View<'_>, job: JobId, estimate: Estimate) -> f64 {
        match estimate {
            Estimate::Tdp => {
                *self.tdp_w.get_or_insert_with(|| view.platform.tdp().watts() / f64::from(view.platform.len()))
            }
            Estimate::Predicted => {
                let class = JobClass::of(view, job);
                let own = view.known_draw(job);
                let mean = self
                    .means
                    .entry(class)
                    .or_insert_with(|| view.predicted.mean_over_nodes(view.jobs.app(job), own.at(1.0)));
                if class.follows_own() { *mean * own.watts() } else { *mean }
            }
        }
    }
}

impl Order for Vahrm {
    fn rank(&mut self, view: &View<'_>, job: JobId, estimate: Estimate) -> i64 {
        let length = match self.weights.length {
            Length::Runtime => view.jobs.runtime(job),
            Length::Walltime => view.jobs.planned(job),
        };
        let watts = self.watts(view, job, estimate);
        let energy = watts * f64::from(view.jobs.node_count(job)) * length.seconds();
        let beta = self.weights.beta;
        rank_of(-(beta * energy - (1.0 - beta) * view.jobs.submit(job).seconds()))
    }

    fn starvation_limit(&self) -> SimDuration {
        self.weights.starvation_limit
    }

    fn profiling_ratio(&self) -> Option<f64> {
        self.weights.profiling_ratio
    }
}
