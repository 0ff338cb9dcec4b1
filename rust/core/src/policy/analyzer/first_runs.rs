//! Profiles of applications: an application gets one when it first runs, and its draw can be predicted from then on
//! (VAHRM, sections III-C and VI-C-6).
//!
//! A first run counts with the nodes' TDP and takes longer. The profile that it gives is known from the end of the pass
//! in which it started. If the trace itself says which jobs are first runs, nothing is learned.

use crate::policy::Jobs;
use crate::policy::analyzer::{Analyzer, Estimate};
use crate::policy::recollection::Recollection;
use crate::workload::{AppId, JobId};

/// Applications that have a profile.
#[derive(Clone, Debug)]
pub struct FirstRuns {
    profiling_ratio: f64,
    /// True for each application that has one; none beyond the end has.
    profiled: Vec<bool>,
}

impl FirstRuns {
    /// No application has a profile yet; a first run takes `profiling_ratio` times as long.
    #[must_use]
    pub fn new(profiling_ratio: f64) -> Self {
        Self { profiling_ratio, profiled: Vec::new() }
    }
}

impl Analyzer for FirstRuns {
    /// Counts first runs at TDP. A job without application never has a profile.
    fn estimate(&self, jobs: Jobs<'_>, job: JobId) -> Estimate {
        let known = || jobs.app(job).is_some_and(|app| self.profiled.get(app.0 as usize) == Some(&true));
        if jobs.first_run(job).unwrap_or_else(|| !known()) { Estimate::Tdp } else { Estimate::Predicted }
    }

    fn at_last(&self, jobs: Jobs<'_>, job: JobId) -> Estimate {
        let never = jobs.first_run(job).unwrap_or_else(|| jobs.app(job).is_none());
        if never { Estimate::Tdp } else { Estimate::Predicted }
    }

    fn learns(&self) -> bool {
        true
    }

    fn teaches(&self, jobs: Jobs<'_>, job: JobId) -> Option<AppId> {
        let is_learnable = jobs.first_run(job).is_none();
        jobs.app(job).filter(|_| is_learnable && self.estimate(jobs, job) == Estimate::Tdp)
    }

    fn learn(&mut self, app: AppId) {
        let index = app.0 as usize;
        if self.profiled.len() <= index {
            self.profiled.resize(index + 1, false);
        }
        self.profiled[index] = true;
    }

    fn profiling_ratio(&self, jobs: Jobs<'_>, job: JobId) -> Option<f64> {
        (self.estimate(jobs, job) == Estimate::Tdp).then_some(self.profiling_ratio)
    }

    fn remember(&self, kept: &mut Recollection) {
        let known = (0..).zip(&self.profiled).filter(|(_, known)| **known);
        kept.keep("profiled", known.map(|(app, _)| app).collect());
    }

    fn recall(&mut self, kept: &Recollection) {
        kept.of("profiled").iter().filter_map(|&app| u32::try_from(app).ok()).for_each(|app| self.learn(AppId(app)));
    }
}
