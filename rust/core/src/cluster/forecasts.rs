//! Forecasts by an analyzer: believed lengths and draws of jobs.

use std::collections::BTreeMap;

use crate::power::known::Belief;
use crate::units::SimDuration;
use crate::workload::JobId;

/// Forecast for each job, except for those that the analyzer was not asked about.
#[derive(Clone, Debug)]
pub struct Forecasts {
    lengths: Vec<SimDuration>,
    /// Believed draws, by row.
    draws: BTreeMap<u32, Draw>,
}

/// Believed draw of a job, and its slowdown under its own cap for that draw.
#[derive(Clone, Copy, Debug)]
struct Draw {
    belief: Belief,
    slowdown: f64,
}

impl Forecasts {
    /// No forecasts yet.
    #[must_use]
    pub fn new(jobs: usize) -> Self {
        Self { lengths: vec![SimDuration::FOREVER; jobs], draws: BTreeMap::new() }
    }

    /// Makes room for more jobs.
    pub fn grow(&mut self, jobs: usize) {
        self.lengths.resize(jobs, SimDuration::FOREVER);
    }

    /// Sets the believed length of a job, which is at least a microsecond.
    pub fn note(&mut self, job: JobId, length: SimDuration) {
        self.lengths[job.0 as usize] = length.max(SimDuration::TICK);
    }

    /// Sets the believed draw of a job, and its slowdown under its own cap.
    pub fn note_draw(&mut self, job: JobId, belief: Belief, slowdown: f64) {
        self.draws.insert(job.0, Draw { belief, slowdown });
    }

    /// Believed length of the job, if there is one.
    #[must_use]
    pub fn length(&self, job: JobId) -> Option<SimDuration> {
        self.lengths.get(job.0 as usize).copied().filter(|&length| length != SimDuration::FOREVER)
    }

    /// Believed draw of the job, if there is one.
    #[must_use]
    pub fn draw(&self, job: JobId) -> Option<Belief> {
        self.draws.get(&job.0).map(|draw| draw.belief)
    }

    /// Slowdown of the job under its own cap for that draw.
    #[must_use]
    pub fn slowdown(&self, job: JobId) -> Option<f64> {
        self.draws.get(&job.0).map(|draw| draw.slowdown)
    }
}
