//! How much jobs' own caps slow them where they bring no walltime: σ of rule 6 of the operations page.

use std::collections::BTreeMap;

use crate::power::known::KnownDraw;
use crate::power::pvt::Predicted;
use crate::workload::{JobId, Workload};

/// The largest predicted slowdown over all nodes of each such job.
#[derive(Clone, Debug)]
pub struct OwnCaps(BTreeMap<u32, f64>);

impl OwnCaps {
    /// Of all jobs that bring a cap and no walltime; none if there is none.
    #[must_use]
    pub fn of(predicted: &Predicted, workload: &Workload) -> Option<Self> {
        let mut known = BTreeMap::new();
        let mut slowdown = |job| {
            let (app, own, cap_w) = (workload.app(job), predicted.known_draw(workload, job), workload.cap_w(job));
            let key = (app, own == KnownDraw::Tdp, own.watts().to_bits(), cap_w.to_bits());
            *known.entry(key).or_insert_with(|| predicted.own_slowdown(app, own, cap_w))
        };
        let capped = workload.jobs().filter(|&job| workload.cap_w(job) < f64::INFINITY);
        let slowed: BTreeMap<_, _> =
            capped.filter(|&job| workload.walltime(job).is_none()).map(|job| (job.0, slowdown(job))).collect();
        (!slowed.is_empty()).then_some(Self(slowed))
    }

    /// How much a job is planned to be slowed; 1 for all others.
    #[must_use]
    pub fn slowdown(&self, job: JobId) -> f64 {
        self.0.get(&job.0).copied().unwrap_or(1.0)
    }
}
