//! Classes of jobs that rank all nodes alike.

use crate::policy::View;
use crate::power::known::KnownDraw;
use crate::workload::{AppId, JobId};

/// Class of jobs that rank all nodes alike. They also draw alike on them, up to the size of each job's own draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobClass {
    /// Its row of the predicted table, if it has one.
    pub row: Option<usize>,
    /// Base to which the nodes' own differences are applied.
    pub scale: Scale,
    /// Its own cap, if it brings one, and all else that decides its draw and its speed under that cap.
    pub under: Option<Under>,
}

/// A job's own cap and the draw that it caps, as bits: jobs under different caps are in different classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Under {
    cap_w: u64,
    own_w: u64,
    app: Option<AppId>,
    /// Bound ratio that an analyzer predicts: the share of the run time that stretches with the clock.
    bound_ratio: Option<u64>,
}

/// Base of which a job's draw on a node is a multiple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scale {
    /// Nothing of the job's own: the table's watts, or the nodes' busy draw.
    Nominal,
    /// The nodes' TDP.
    Tdp,
    /// Watts that the job brings.
    Own,
}

impl JobClass {
    /// Class of all jobs whose draw depends on nothing but the node.
    pub const ANY: Self = Self { row: None, scale: Scale::Nominal, under: None };

    /// Class of a job. All known watts are alike: a row of ratios scales them all, and without a row nodes do not
    /// differ.
    #[must_use]
    pub fn of(view: &View<'_>, job: JobId) -> Self {
        let app = view.jobs.app(job);
        let (own, cap_w) = (view.known_draw(job), view.jobs.cap_w(job));
        let scale = match own {
            _ if own == KnownDraw::Unknown || !view.predicted.follows_own(app) => Scale::Nominal,
            KnownDraw::Tdp => Scale::Tdp,
            _ => Scale::Own,
        };
        let row = view.predicted.row(app);
        if cap_w == f64::INFINITY {
            return Self { row, scale, under: None };
        }
        // A cap does not scale with the draw that it caps.
        let own_w = if scale == Scale::Own { own.watts() } else { 0.0 };
        let bound_ratio = own.bound_ratio().map(f64::to_bits);
        let under = Under { cap_w: cap_w.to_bits(), own_w: own_w.to_bits(), app, bound_ratio };
        Self { row, scale: if scale == Scale::Own { Scale::Nominal } else { scale }, under: Some(under) }
    }

    /// True if the draw of its jobs is a multiple of the watts that each of them brings.
    #[must_use]
    pub fn follows_own(self) -> bool {
        self.scale == Scale::Own
    }
}
