//! Jobs that fit none of the budgets to come: they are rejected.

use crate::policy::analyzer::Ask;
use crate::policy::compose::Composed;
use crate::policy::compose::Parts;
use crate::policy::{Decisions, Rejection, View};
use crate::workload::JobId;

impl Composed {
    /// Rejects jobs just submitted that fit none of the budgets to come, if a forecast predicts draws: it is asked as a
    /// pass begins, so that the jobs could not be judged at their submission.
    pub(super) fn judge_new(&mut self, view: &View<'_>, out: &mut Decisions) {
        if self.power.is_none() || self.submitted.is_empty() || !self.tells_draws() {
            return;
        }
        let mut submitted = std::mem::take(&mut self.submitted);
        submitted.retain(|&job| {
            let fits_none = self.is_beyond(view, job);
            if fits_none {
                out.reject(job, Rejection::Power);
            }
            !fits_none
        });
        self.submitted = submitted;
    }

    /// True if its forecast predicts the draws of jobs.
    pub(super) fn tells_draws(&self) -> bool {
        self.parts.forecast.as_ref().is_some_and(|forecast| forecast.tells_draws())
    }

    /// True if the job would pass the ceiling now and at all times to come, on any nodes of an otherwise idle machine.
    pub(super) fn is_beyond(&mut self, view: &View<'_>, job: JobId) -> bool {
        let estimate = self.parts.analyzer.at_last(view.jobs, job);
        let view = &smallest(view, &self.parts);
        let ask = Ask { view, analyzer: self.parts.analyzer.as_ref(), least: &self.least };
        self.power.as_mut().is_some_and(|power| power.exceeds(&ask, job, estimate))
    }

    /// Rejects the jobs of the queue that fit none of the budgets to come (operations page, rule 11).
    pub(super) fn judge_again(&mut self, view: &View<'_>, out: &mut Decisions) {
        let Self { power: Some(power), queue, submitted, admitted, parts, judged, least, memory, .. } = self else {
            return;
        };
        if view.budgets.have_no_end() {
            // The budgets repeat: one that a job was admitted for comes again.
            return;
        }
        memory.quotas.put_all_back(queue);
        let view = &smallest(view, parts);
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        let ever = Some(power.ceiling.ever(view));
        if std::mem::replace(judged, ever) == ever {
            return;
        }
        let mut exceeds = |job| {
            let fits_none = power.exceeds(&ask, job, parts.analyzer.at_last(view.jobs, job));
            if fits_none {
                out.reject(job, Rejection::Power);
                power.prices.forget(job);
            }
            fits_none
        };
        submitted.retain(|&job| !exceeds(job));
        admitted.retain(|&job| !exceeds(job));
        let keys: Vec<_> = queue.iter().map(|waiting| waiting.key).filter(|key| exceeds(JobId(key.row))).collect();
        for key in keys {
            memory.quotas.leave(view.jobs, JobId(key.row));
            queue.remove(key);
        }
    }
}

/// The same view with each job as small as the policy can make it.
pub(super) fn smallest<'a>(view: &View<'a>, parts: &Parts) -> View<'a> {
    if parts.sizing.is_some() { View { jobs: view.jobs.least(), ..*view } } else { *view }
}
