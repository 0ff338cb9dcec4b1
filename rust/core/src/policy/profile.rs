//! Jobs that nodes cannot tell apart.

use crate::policy::View;
use crate::workload::JobId;

/// What decides how a job ranks nodes: its table row, and whether it brings a measured draw that matters.
pub type Profile = (Option<usize>, bool);

/// The job's profile. All measured draws are alike: a ratio row scales them all, and without a row nodes do not differ.
#[must_use]
pub fn profile(view: &View<'_>, job: JobId) -> Profile {
    let app = view.jobs.app(job);
    (view.predicted.row(app), view.jobs.power_w(job) > 0.0 && view.predicted.follows_measured(app))
}
