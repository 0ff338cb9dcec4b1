//! Gate, which holds jobs outside of the queue: there they block nothing, reserve nothing and do not starve.
//!
//! It holds jobs that wait for a profile: under the budget they fit as predicted, but not at TDP, with which a first run counts.
//!
//! Such a job can start only after a smaller one of its application has run. Until then it is held: it is in no queue, so it
//! blocks nothing, reserves nothing and does not starve. It is held as long as a job that could give the profile is queued;
//! where none is, it is rejected at once. What is submitted later is not waited for: it may never come.

use crate::cluster::counted::Estimate;
use crate::policy::Rejection;
use crate::policy::analyzer::Ask;
use crate::policy::budget::Power;
use crate::workload::{AppId, JobId};

/// Holds the jobs that cannot start before their application has a profile.
#[derive(Clone, Debug, Default)]
pub struct UntilProfiled {
    apps: Vec<App>,
    held: usize,
}

#[derive(Clone, Debug, Default)]
struct App {
    jobs: Vec<JobId>,
    /// True if a job is queued that can run first. It leaves the queue only by its start, which gives the profile.
    hope: bool,
}

impl UntilProfiled {
    /// True if a submitted job joins the queue; otherwise it is held.
    pub fn admits(&mut self, ask: &Ask<'_>, power: Option<&mut Power>, job: JobId) -> bool {
        let Some(app) = ask.analyzer.teaches(ask.view.jobs, job) else { return true };
        if power.is_some_and(|power| power.exceeds(ask, job, Estimate::Tdp)) {
            self.hold(app, job);
            return false;
        }
        self.of(app).hope = true;
        true
    }

    /// Removes the held jobs that will never join the queue, and returns them with the reason.
    pub fn reject(&mut self) -> Vec<(JobId, Rejection)> {
        let mut hopeless = Vec::new();
        if self.held > 0 {
            self.apps.iter_mut().filter(|app| !app.hope).for_each(|app| hopeless.append(&mut app.jobs));
            self.held -= hopeless.len();
        }
        hopeless.into_iter().map(|job| (job, Rejection::NoProfile)).collect()
    }

    /// Removes and returns the held jobs that join the queue now that an application has a profile, in order of
    /// submission.
    pub fn release(&mut self, app: AppId) -> Vec<JobId> {
        let jobs = std::mem::take(&mut self.of(app).jobs);
        self.held -= jobs.len();
        jobs
    }

    fn hold(&mut self, app: AppId, job: JobId) {
        self.of(app).jobs.push(job);
        self.held += 1;
    }

    fn of(&mut self, app: AppId) -> &mut App {
        let index = app.0 as usize;
        if self.apps.len() <= index {
            self.apps.resize(index + 1, App::default());
        }
        &mut self.apps[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_held_while_another_is_queued_that_can_run_first() {
        let mut gate = UntilProfiled::default();
        gate.hold(AppId(1), JobId(4));
        gate.hold(AppId(0), JobId(5));
        gate.of(AppId(1)).hope = true;
        assert_eq!(gate.reject(), [(JobId(5), Rejection::NoProfile)]);
        assert_eq!(gate.release(AppId(1)), [JobId(4)]);
        assert!(gate.reject().is_empty() && gate.release(AppId(1)).is_empty());
    }
}
