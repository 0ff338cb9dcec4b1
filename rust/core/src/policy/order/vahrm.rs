//! Order by predicted energy and wait: the priority of VAHRM (equation 1), as a number that does not change as time
//! passes.

use std::collections::BTreeMap;

use crate::cluster::counted::Estimate;
use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::class::JobClass;
use crate::policy::order::{Order, each, rank_of};
use crate::units::Watts;
use crate::workload::JobId;

/// Length of a job for which its energy is predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// The nominal runtime: known in advance, as the paper assumes.
    Runtime,
    /// The walltime, or the nominal runtime of a job that brings none.
    Walltime,
}

/// Parameters of the order.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    /// Weight of a joule; a second of wait weighs `1 - beta`.
    pub beta: f64,
    /// Length of a job for which its energy is predicted.
    pub length: Length,
}

/// Highest `β·E - (1-β)·submit` first.
///
/// The paper's priority is `β·E + (1-β)·wait`. All waits grow alike, so its order is that of this number, which has the
/// submit in place of the wait. `E` is the mean over the machine's nodes of the predicted watts × nodes asked for ×
/// length, in joules, and for a first run the nodes' mean TDP × nodes × length.
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

    fn watts(&mut self, ask: &Ask<'_>, job: JobId) -> f64 {
        let view = ask.view;
        match ask.estimate(job) {
            Estimate::Tdp => {
                let tdp = || view.own_nodes().map(|node| view.platform.node(node).tdp).sum::<Watts>();
                *self.tdp_w.get_or_insert_with(|| tdp().watts() / f64::from(view.node_count()))
            }
            Estimate::Predicted => {
                let class = JobClass::of(view, job);
                let own = view.known_draw(job);
                let mean = self.means.entry(class).or_insert_with(|| {
                    let own = if class.follows_own() { own.at(1.0) } else { own };
                    view.predicted.mean_over(view.own_nodes(), view.jobs.app(job), own, view.jobs.cap_w(job))
                });
                if class.follows_own() { *mean * own.watts() } else { *mean }
            }
        }
    }

    fn rank_of(&mut self, ask: &Ask<'_>, job: JobId) -> i64 {
        let jobs = ask.view.jobs;
        let length = match self.weights.length {
            Length::Runtime => jobs.truth(job).runtime(),
            Length::Walltime => jobs.planned(job),
        };
        let energy = self.watts(ask, job) * f64::from(jobs.node_count(job)) * length.seconds();
        let beta = self.weights.beta;
        rank_of(-(beta * energy - (1.0 - beta) * jobs.eligible(job).seconds()))
    }
}

impl Order for Vahrm {
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        each(jobs, ranks, |job| self.rank_of(ask, job))
    }
}
