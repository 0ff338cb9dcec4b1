//! Profiles that the starts of a pass give, known from the end of the pass on.

use crate::policy::analyzer::{Analyzer, Ask};
use crate::policy::budget::draw::beyond_idle;
use crate::policy::budget::least::LeastCaps;
use crate::policy::{Decisions, Jobs, View};
use crate::workload::{AppId, JobId};

/// Applications that have a profile from now on.
#[derive(Clone, Debug, Default)]
pub struct Lessons {
    /// Each once, in order.
    pub apps: Vec<AppId>,
}

impl Lessons {
    /// Notes in the starts which runs are profiled, and gives their applications a profile. Where watts are counted,
    /// starts of these applications claim their predicted watts from now on, not those at TDP.
    pub fn learn(
        view: &View<'_>,
        analyzer: &mut dyn Analyzer,
        least: &LeastCaps,
        out: &mut Decisions,
        counts_watts: bool,
    ) -> Self {
        let mut apps: Vec<_> = out.starts().filter_map(|start| analyzer.teaches(view.jobs, start.job)).collect();
        apps.sort_unstable();
        apps.dedup();
        out.revise(|start, _| start.profiling_ratio = analyzer.profiling_ratio(view.jobs, start.job));
        for &app in &apps {
            analyzer.learn(app);
        }
        let lessons = Self { apps };
        if counts_watts && !lessons.apps.is_empty() {
            out.revise(|start, nodes| {
                if lessons.concern(view.jobs, start.job) {
                    start.claim = beyond_idle(&Ask { view, analyzer, least }, start.job, nodes);
                }
            });
        }
        lessons
    }

    /// True if the job is counted by another estimate from now on.
    #[must_use]
    pub fn concern(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        jobs.first_run(job).is_none() && jobs.app(job).is_some_and(|app| self.apps.binary_search(&app).is_ok())
    }
}
