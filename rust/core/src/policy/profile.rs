//! Jobs that nodes cannot tell apart.

use crate::policy::View;
use crate::power::known::KnownDraw;
use crate::workload::JobId;

/// What decides how a job ranks nodes: its table row, whether what it draws is a multiple of known watts of its own, and
/// whether it counts with TDP instead.
pub type Profile = (Option<usize>, bool, bool);

/// The job's profile. All known watts are alike: a ratio row scales them all, and without a row nodes do not differ.
#[must_use]
pub fn profile(view: &View<'_>, job: JobId) -> Profile {
    let app = view.jobs.app(job);
    let row = view.predicted.row(app);
    match view.known_draw(job) {
        KnownDraw::Watts(_) if view.predicted.follows_own(app) => (row, true, false),
        KnownDraw::Tdp if view.predicted.follows_own(app) => (row, false, true),
        KnownDraw::Unknown | KnownDraw::Watts(_) | KnownDraw::Tdp => (row, false, false),
    }
}
