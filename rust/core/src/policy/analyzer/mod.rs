//! What is believed of jobs' draws, and what running them teaches.

pub mod first_runs;
pub mod forecast;
pub mod lessons;
pub mod tables;

use dyn_clone::DynClone;

use crate::cluster::counted::Estimate;
use crate::policy::budget::least::LeastCaps;
use crate::policy::{Jobs, View};
use crate::workload::{AppId, JobId};

/// Says what a job's draw is taken for.
pub trait Analyzer: DynClone + Send + Sync {
    /// What the job's draw is taken for now.
    fn estimate(&self, jobs: Jobs<'_>, job: JobId) -> Estimate;

    /// What it is taken for once all is known that others can teach.
    fn at_last(&self, jobs: Jobs<'_>, job: JobId) -> Estimate {
        self.estimate(jobs, job)
    }

    /// Whether some job may be taken for something else than predicted.
    fn learns(&self) -> bool {
        false
    }

    /// The application that the job's run would give a profile to, if it has none yet.
    fn teaches(&self, jobs: Jobs<'_>, job: JobId) -> Option<AppId> {
        let _ = (jobs, job);
        None
    }

    /// From now on the application has a profile.
    fn learn(&mut self, app: AppId) {
        let _ = app;
    }

    /// How many times longer a run takes that is profiled; none if the job's would not be.
    fn profiling_ratio(&self, jobs: Jobs<'_>, job: JobId) -> Option<f64> {
        let _ = (jobs, job);
        None
    }
}

dyn_clone::clone_trait_object!(Analyzer);

/// What a part may ask when it decides.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The machine and the jobs.
    pub view: &'a View<'a>,
    /// What is believed of their draws.
    pub analyzer: &'a dyn Analyzer,
    /// The lowest caps that the policy may set for them.
    pub least: &'a LeastCaps,
}

impl Ask<'_> {
    /// What the job's draw is taken for now.
    #[must_use]
    pub fn estimate(&self, job: JobId) -> Estimate {
        self.analyzer.estimate(self.view.jobs, job)
    }
}
