//! Forecasts of jobs: how long they are believed to run and what they are believed to draw, as an analyzer says.

use std::collections::BTreeMap;

use crate::power::known::Belief;
use crate::units::SimDuration;
use crate::workload::JobId;

/// What is believed of each job; nothing of those that were not asked about.
#[derive(Clone, Debug)]
pub struct Forecasts {
    lengths: Vec<SimDuration>,
    /// By row.
    draws: BTreeMap<u32, Draw>,
}

/// What is believed of a job's draw, and how much its own cap slows it then.
#[derive(Clone, Copy, Debug)]
struct Draw {
    belief: Belief,
    slowdown: f64,
}

impl Forecasts {
    /// Nothing is believed yet.
    #[must_use]
    pub fn new(jobs: usize) -> Self {
        Self { lengths: vec![SimDuration::FOREVER; jobs], draws: BTreeMap::new() }
    }

    /// There are more jobs.
    pub fn grow(&mut self, jobs: usize) {
        self.lengths.resize(jobs, SimDuration::FOREVER);
    }

    /// A job is believed to run so long, which is longer than no time at all.
    pub fn note(&mut self, job: JobId, length: SimDuration) {
        self.lengths[job.0 as usize] = length.max(SimDuration::from_micros(1));
    }

    /// A job is believed to draw this, and to be slowed so many times by its own cap.
    pub fn note_draw(&mut self, job: JobId, belief: Belief, slowdown: f64) {
        self.draws.insert(job.0, Draw { belief, slowdown });
    }

    /// How long the job is believed to run, if anything is.
    #[must_use]
    pub fn length(&self, job: JobId) -> Option<SimDuration> {
        self.lengths.get(job.0 as usize).copied().filter(|&length| length != SimDuration::FOREVER)
    }

    /// What is believed of its draw, if anything is.
    #[must_use]
    pub fn draw(&self, job: JobId) -> Option<Belief> {
        self.draws.get(&job.0).map(|draw| draw.belief)
    }

    /// How much its own cap slows it then.
    #[must_use]
    pub fn slowdown(&self, job: JobId) -> Option<f64> {
        self.draws.get(&job.0).map(|draw| draw.slowdown)
    }
}
