//! Whose draw can be predicted: an application is profiled when it first runs (VAHRM, sections III-C and VI-C-6).
//!
//! A first run counts with the nodes' TDP, goes to random nodes and takes longer. What it teaches is known from the end of
//! the pass in which it started. Where the trace itself says which jobs are first runs, nothing is learned.

use crate::algo::node_set::NodeSet;
use crate::policy::placement::random::Lots;
use crate::policy::{Decisions, Jobs};
use crate::workload::{AppId, JobId};

/// What a job's draw is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Estimate {
    /// What the predicted table says.
    Predicted,
    /// What its nodes are built for: its application has no profile yet.
    Tdp,
}

/// Which applications have a profile.
#[derive(Clone, Debug)]
pub struct FirstRuns {
    profiling_ratio: f64,
    profiled: Vec<bool>,
    /// Jobs of each application that were queued before it had a profile.
    waiting: Vec<Vec<JobId>>,
    lots: Lots,
}

impl FirstRuns {
    /// No application has a profile yet; a first run takes `profiling_ratio` times as long.
    #[must_use]
    pub fn new(profiling_ratio: f64, seed: u64) -> Self {
        Self { profiling_ratio, profiled: Vec::new(), waiting: Vec::new(), lots: Lots::of_stream(seed, "first runs") }
    }

    /// What the job's draw is taken for now. A job without application never has a profile.
    #[must_use]
    pub fn estimate(&self, jobs: Jobs<'_>, job: JobId) -> Estimate {
        let known = || jobs.app(job).is_some_and(|app| self.profiled.get(app.0 as usize) == Some(&true));
        if jobs.first_run(job).unwrap_or_else(|| !known()) { Estimate::Tdp } else { Estimate::Predicted }
    }

    /// Notes a job that joins the queue.
    pub fn queue(&mut self, jobs: Jobs<'_>, job: JobId) {
        let Some(app) = self.teaches(jobs, job) else { return };
        if self.profiled.is_empty() {
            self.profiled.resize(jobs.app_count(), false);
            self.waiting.resize(jobs.app_count(), Vec::new());
        }
        self.waiting[app.0 as usize].push(job);
    }

    /// Starts a first run: on random nodes of `free`, and longer than it would take.
    pub fn start(&mut self, jobs: Jobs<'_>, job: JobId, free: &mut NodeSet, out: &mut Decisions) {
        out.start_with(job, |nodes| self.lots.take(jobs.node_count(job), free, nodes));
        out.profile_last(self.profiling_ratio);
    }

    /// The application that the job's run would give a profile to, if it has none yet.
    #[must_use]
    pub fn teaches(&self, jobs: Jobs<'_>, job: JobId) -> Option<AppId> {
        learnable(jobs, job).filter(|_| self.estimate(jobs, job) == Estimate::Tdp)
    }

    /// How many times longer a first run takes.
    #[must_use]
    pub fn profiling_ratio(&self) -> f64 {
        self.profiling_ratio
    }

    /// Applications whose first runs are among the starts of a pass, each once.
    #[must_use]
    pub fn learned(&self, jobs: Jobs<'_>, out: &Decisions) -> Vec<AppId> {
        let started = out.starts().filter_map(|start| learnable(jobs, start.job));
        let mut apps: Vec<_> = started.filter(|app| self.profiled.get(app.0 as usize) == Some(&false)).collect();
        apps.sort_unstable();
        apps.dedup();
        apps
    }

    /// From now on the application has a profile. Returns its jobs that were queued without; some may have started.
    pub fn learn(&mut self, app: AppId) -> Vec<JobId> {
        self.profiled[app.0 as usize] = true;
        std::mem::take(&mut self.waiting[app.0 as usize])
    }
}

/// The application that a run of this job gives a profile to: none if it has no name, or if the trace says itself which
/// runs are first ones.
fn learnable(jobs: Jobs<'_>, job: JobId) -> Option<AppId> {
    if jobs.first_run(job).is_some() { None } else { jobs.app(job) }
}
