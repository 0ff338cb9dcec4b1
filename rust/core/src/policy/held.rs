//! Jobs that wait for a profile: under the budget they fit as predicted, but not at TDP, with which a first run counts.
//!
//! Such a job can start only after a smaller one of its application has run. Until then it is held: it is in no queue, so it
//! blocks nothing, reserves nothing and does not starve. It is held as long as a job that could give the profile is queued;
//! where none is, it is rejected at once. What is submitted later is not waited for: it may never come.

use crate::workload::{AppId, JobId};

/// Held jobs by application.
#[derive(Clone, Debug, Default)]
pub struct Held {
    apps: Vec<App>,
    held: usize,
}

#[derive(Clone, Debug, Default)]
struct App {
    jobs: Vec<JobId>,
    /// Whether a job is queued that can run first. It leaves the queue only by its start, which gives the profile.
    hope: bool,
}

impl Held {
    /// Holds a job of `app`.
    pub fn hold(&mut self, app: AppId, job: JobId) {
        self.of(app).jobs.push(job);
        self.held += 1;
    }

    /// Notes that a job is queued that will give `app` its profile.
    pub fn expect(&mut self, app: AppId) {
        self.of(app).hope = true;
    }

    /// The application has a profile: returns the jobs that were held for it, in order of submission.
    pub fn release(&mut self, app: AppId) -> Vec<JobId> {
        let jobs = std::mem::take(&mut self.of(app).jobs);
        self.held -= jobs.len();
        jobs
    }

    /// Takes out the jobs that no queued job can give a profile.
    pub fn take_hopeless(&mut self) -> Vec<JobId> {
        let mut hopeless = Vec::new();
        if self.held > 0 {
            self.apps.iter_mut().filter(|app| !app.hope).for_each(|app| hopeless.append(&mut app.jobs));
            self.held -= hopeless.len();
        }
        hopeless
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
        let mut held = Held::default();
        held.hold(AppId(1), JobId(4));
        held.hold(AppId(0), JobId(5));
        held.expect(AppId(1));
        assert_eq!(held.take_hopeless(), [JobId(5)]);
        assert_eq!(held.release(AppId(1)), [JobId(4)]);
        assert!(held.take_hopeless().is_empty() && held.release(AppId(1)).is_empty());
    }
}
