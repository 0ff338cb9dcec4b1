//! Beliefs about jobs, in place of what they asked for: instants of joining the queue, sizes, lengths and draws.

use std::sync::Arc;

use crate::cluster::eligible::Eligible;
use crate::cluster::forecasts::Forecasts;
use crate::platform::queues::Queues;
use crate::power::slowest::{OwnSlowdowns, Slowest};
use crate::workload::{AppId, JobId};

/// Beliefs about jobs; each field is set only if there is a source for it.
#[derive(Clone, Debug, Default)]
pub struct Beliefs {
    /// Slowdowns on the slowest node, if walltimes are meant for nominal speed.
    pub(super) slowest: Option<Arc<SlowestOfLane>>,
    /// Slowdowns by jobs' own caps, where they bring no walltime.
    pub(super) own_caps: Option<Arc<OwnSlowdowns>>,
    /// Instants at which jobs joined the queue, if that may be later than their submission.
    pub(super) eligible: Option<Eligible>,
    /// Lengths and draws forecast by an analyzer.
    pub(super) forecasts: Option<Forecasts>,
    /// Size of each job in nodes, if some can have more or fewer than they ask for.
    pub(super) sizes: Option<Vec<u32>>,
}

impl Beliefs {
    /// No beliefs: jobs are what they asked for.
    pub(super) const NONE: &'static Self =
        &Self { slowest: None, own_caps: None, eligible: None, forecasts: None, sizes: None };
}

/// Slowdowns on the slowest node of the machine or, where there are lanes, of a job's lane.
#[derive(Clone, Debug, Default)]
pub(super) struct SlowestOfLane {
    all: Vec<Slowest>,
    queues: Option<Arc<Queues>>,
}

impl SlowestOfLane {
    /// Slowdowns of each lane of these queues, by number; without queues, those of the machine.
    pub(super) fn new(all: Vec<Slowest>, queues: Option<Arc<Queues>>) -> Self {
        Self { all, queues }
    }

    /// Slowdown of a job of this application.
    pub(super) fn of(&self, job: JobId, app: Option<AppId>) -> f64 {
        let lane = self.queues.as_ref().map_or(0, |queues| queues.lane(job));
        self.all.get(lane).map_or(1.0, |slowest| slowest.of(app))
    }
}
