//! Analyzers, which say by which estimate jobs' draws are counted, and learn from runs.

pub mod first_runs;
pub mod forecast;
pub mod lessons;
pub mod tables;

use dyn_clone::DynClone;

use crate::cluster::counted::Estimate;
use crate::policy::budget::least::LeastCaps;
use crate::policy::recollection::Recollection;
use crate::policy::{Jobs, View};
use crate::workload::{AppId, JobId};

/// Says by which estimate a job's draw is counted.
pub trait Analyzer: DynClone + Send + Sync {
    /// Estimate by which the job's draw is counted now.
    fn estimate(&self, jobs: Jobs<'_>, job: JobId) -> Estimate;

    /// Estimate once all is known that other jobs can teach.
    fn at_last(&self, jobs: Jobs<'_>, job: JobId) -> Estimate {
        self.estimate(jobs, job)
    }

    /// True if some job may be counted by another estimate than the predicted one.
    fn learns(&self) -> bool {
        false
    }

    /// Application that a run of the job would give a profile to, if it has none yet.
    fn teaches(&self, jobs: Jobs<'_>, job: JobId) -> Option<AppId> {
        let _ = (jobs, job);
        None
    }

    /// Gives the application a profile from now on.
    fn learn(&mut self, app: AppId) {
        let _ = app;
    }

    /// Factor on the time of the job's run if it is profiled; none if it would not be.
    fn profiling_ratio(&self, jobs: Jobs<'_>, job: JobId) -> Option<f64> {
        let _ = (jobs, job);
        None
    }

    /// Keeps the part of its knowledge that no state of the machine shows.
    fn remember(&self, kept: &mut Recollection) {
        let _ = kept;
    }

    /// Goes on with what was kept.
    fn recall(&mut self, kept: &Recollection) {
        let _ = kept;
    }
}

dyn_clone::clone_trait_object!(Analyzer);

/// Knowledge that a part may consult when it decides.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The machine and the jobs.
    pub view: &'a View<'a>,
    /// Estimates of their draws.
    pub analyzer: &'a dyn Analyzer,
    /// The lowest caps that the policy may set for them.
    pub least: &'a LeastCaps,
}

impl Ask<'_> {
    /// Estimate by which the job's draw is counted now.
    #[must_use]
    pub fn estimate(&self, job: JobId) -> Estimate {
        self.analyzer.estimate(self.view.jobs, job)
    }
}
