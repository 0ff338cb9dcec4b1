//! Records by job.

use std::collections::BTreeMap;

use crate::cluster::runs::Homes;
use crate::policy::Eligible;
use crate::policy::budget::Between;
use crate::sim::attempts::Attempts;
use crate::sim::job_state::{JobState, StartedBy};
use crate::units::SimTime;
use crate::workload::{JobId, Workload};

/// One row a job, in the workload's order.
#[derive(Clone, Debug, Default)]
pub struct JobRecords {
    pub(in crate::sim) start: Vec<SimTime>,
    pub(in crate::sim) end: Vec<SimTime>,
    pub(in crate::sim) energy_j: Vec<f64>,
    pub(in crate::sim) state: Vec<JobState>,
    pub(in crate::sim) started_by: Vec<StartedBy>,
    /// Nodes of all attempts, ascending within each.
    pub(in crate::sim) nodes: Vec<u32>,
    /// Offsets of the nodes of first attempts in `nodes`.
    pub(super) homes: Homes,
    /// Offsets for jobs whose nodes are not those of a plain first attempt: later attempts, moldable and resized jobs.
    pub(super) moved: BTreeMap<u32, usize>,
    /// Number of nodes that moldable jobs had.
    pub(super) sizes: BTreeMap<u32, u32>,
    /// Needs of jobs that fit between no two budgets.
    pub between: BTreeMap<u32, Between>,
    /// Profiled runs, with the factor by which profiling lengthens them.
    pub(in crate::sim) profiled: BTreeMap<u32, f64>,
    pub(in crate::sim) attempts: Attempts,
    /// Instants at which jobs joined the queue, if that may be later than their submission.
    pub(in crate::sim) eligible: Option<Eligible>,
}

impl JobRecords {
    /// Records of jobs none of which has started.
    #[must_use]
    pub fn new(jobs: usize) -> Self {
        Self {
            start: vec![SimTime::NEVER; jobs],
            end: vec![SimTime::NEVER; jobs],
            energy_j: vec![0.0; jobs],
            state: vec![JobState::Pending; jobs],
            started_by: vec![StartedBy::Immediate; jobs],
            nodes: Vec::new(),
            homes: Homes::default(),
            moved: BTreeMap::new(),
            sizes: BTreeMap::new(),
            between: BTreeMap::new(),
            profiled: BTreeMap::new(),
            attempts: Attempts::default(),
            eligible: None,
        }
    }

    /// Makes room for more jobs, none of which has started.
    pub(super) fn grow(&mut self, jobs: usize) {
        self.start.resize(jobs, SimTime::NEVER);
        self.end.resize(jobs, SimTime::NEVER);
        self.energy_j.resize(jobs, 0.0);
        self.state.resize(jobs, JobState::Pending);
        self.started_by.resize(jobs, StartedBy::Immediate);
        self.attempts.grow(jobs);
    }

    /// Start of the job's last attempt, if it started.
    #[must_use]
    pub fn start(&self, job: usize) -> Option<SimTime> {
        self.has_started(job).then(|| self.start[job])
    }

    /// End of the job, if it ended.
    #[must_use]
    pub fn end(&self, job: usize) -> Option<SimTime> {
        (self.has_started(job) && self.state[job] != JobState::Running).then(|| self.end[job])
    }

    /// Energy of the job, J: of all its nodes together; `None` if it never started.
    #[must_use]
    pub fn energy_j(&self, job: usize) -> Option<f64> {
        (self.start[job] != SimTime::NEVER).then(|| self.energy_j[job])
    }

    /// State of the job.
    #[must_use]
    pub fn state(&self, job: usize) -> JobState {
        self.state[job]
    }

    /// Way in which the job came to start, if it did.
    #[must_use]
    pub fn started_by(&self, job: usize) -> Option<StartedBy> {
        self.has_started(job).then(|| self.started_by[job])
    }

    /// True if the job started later than it did in reality, according to the log.
    pub(super) fn is_late(&self, workload: &Workload, job: JobId) -> bool {
        let observed = workload.observed_start(job);
        self.start(job.0 as usize).zip(observed).is_some_and(|(start, observed)| start > observed)
    }

    /// Nodes of a started job that has `count` of them.
    pub(super) fn nodes_of(&self, job: JobId, count: u32) -> &[u32] {
        let first = self.first_place(job);
        &self.nodes[first..first + count as usize]
    }

    /// Offset of the first node of a started job in `nodes`.
    pub(in crate::sim) fn first_place(&self, job: JobId) -> usize {
        let moved = if self.moved.is_empty() { None } else { self.moved.get(&job.0).copied() };
        moved.or_else(|| self.homes.of(job)).unwrap_or(usize::MAX)
    }

    /// True if the job has an attempt to report. A job that was requeued and still waits has none.
    fn has_started(&self, job: usize) -> bool {
        let waits = matches!(self.state[job], JobState::Pending | JobState::Stranded | JobState::Cancelled);
        self.start[job] != SimTime::NEVER && !waits
    }
}
