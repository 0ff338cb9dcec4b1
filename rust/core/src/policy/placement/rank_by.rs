//! Rankings of nodes by predicted values, for all applications alike or for each application.

use std::collections::BTreeMap;

use crate::policy::View;
use crate::policy::class::JobClass;
use crate::policy::placement::ranking::Ranking;
use crate::units::Watts;
use crate::workload::JobId;

/// Criterion of a ranking, all of it predicted; ties go to the lower node id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankBy {
    /// Watts.
    Power,
    /// Time factor, then watts.
    Time,
}

impl RankBy {
    /// The application-unaware ranking: by unweighted means over the table's applications, as PAA's (COA paper,
    /// section 2.3).
    #[must_use]
    pub fn for_all(self, view: &View<'_>) -> Ranking {
        let key = |node| {
            let time = if self == Self::Time { view.predicted.mean_time_ratio(node) } else { 0.0 };
            (time, view.predicted.mean_draw(node))
        };
        let by_key = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1));
        Ranking::sorted(view.platform.len(), view.own_nodes(), key, by_key)
    }

    fn for_job(self, view: &View<'_>, job: JobId) -> Ranking {
        let (app, cap_w) = (view.jobs.app(job), view.jobs.cap_w(job));
        let own = view.known_draw(job);
        let own = if JobClass::of(view, job).follows_own() { own.at(REFERENCE_W) } else { own };
        let key = |node| -> (f64, Watts) {
            let time = if self == Self::Time { view.predicted.factor_under(app, own, node, cap_w) } else { 0.0 };
            (time, view.predicted.draw_under(app, own, node, cap_w))
        };
        let by_key = |a: &(f64, Watts), b: &(f64, Watts)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        Ranking::sorted(view.platform.len(), view.own_nodes(), key, by_key)
    }
}

/// Reference draw, large enough that no two factors that differ rank alike, whatever the job's own draw.
const REFERENCE_W: f64 = 1e6;

/// A ranking for each class of jobs, sorted when first asked for.
#[derive(Clone, Debug)]
pub struct ByApplication {
    by: RankBy,
    rankings: BTreeMap<JobClass, Ranking>,
}

impl ByApplication {
    /// Rankings by `by`.
    #[must_use]
    pub fn new(by: RankBy) -> Self {
        Self { by, rankings: BTreeMap::new() }
    }

    /// The ranking for this job's application.
    pub fn of(&mut self, view: &View<'_>, job: JobId) -> &mut Ranking {
        self.rankings.entry(JobClass::of(view, job)).or_insert_with(|| self.by.for_job(view, job))
    }
}
