//! Attempts of jobs: those that were requeued, and sums over all attempts of a job.

use std::ops::Range;

use crate::cluster::runs::Run;
use crate::sim::plant::Outcome;
use crate::units::{Joules, SimDuration, SimTime};
use crate::workload::JobId;

/// Attempts of all jobs.
#[derive(Clone, Debug, Default)]
pub struct Attempts {
    /// Sums by job, if there may be several attempts, caps or suspensions.
    sums: Option<Vec<AttemptSums>>,
    reported: Reported,
    /// Requeued attempts in order of their ends, if no segments report them.
    requeued: Vec<LostAttempt>,
    lost_energy: Joules,
    /// True if jobs may be preempted by others.
    makes_way: bool,
}

/// An attempt whose job was requeued.
#[derive(Clone, Debug)]
pub struct LostAttempt {
    /// Its job.
    pub job: JobId,
    /// Number of the attempt among those of the job, from 1.
    pub number: u32,
    /// Start of the attempt.
    pub start: SimTime,
    /// End of the attempt.
    pub end: SimTime,
    /// Range of its nodes in the list of the nodes of all runs.
    pub places: Range<usize>,
    /// Energy that its nodes drew for it.
    pub energy: Joules,
}

/// Sums over the attempts of a job.
#[derive(Clone, Copy, Debug)]
struct AttemptSums {
    /// Number of attempts.
    attempts: u32,
    /// Total time suspended.
    stood: SimDuration,
    /// Energy of all attempts.
    energy: Joules,
    /// Energy of lost attempts: requeued ones, and those killed by an emergency, a failure or maintenance.
    lost: Joules,
    /// Lowest cap on any of its nodes in the last attempt, W; infinity if there was none.
    lowest_cap_w: f64,
}

/// Selection of the sums that a run reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reported {
    /// Number of attempts, and the energy of lost ones.
    attempts: bool,
    /// Time suspended.
    stood: bool,
    /// Lowest caps.
    caps: bool,
}

/// Columns of the sums: one per field, with one row per job.
#[derive(Debug, Default)]
pub struct SumColumns {
    /// Number of attempts, if there may be more than one.
    pub attempts: Option<Vec<i32>>,
    /// Time suspended, s, if jobs may be.
    pub suspended_s: Option<Vec<f64>>,
    /// Energy of lost attempts, J, if some may be lost.
    pub lost_j: Option<Vec<f64>>,
    /// Lowest cap in the last attempt, W, if there are caps; NaN if there was none.
    pub lowest_cap_w: Option<Vec<f64>>,
    /// Energy of the last attempt, J, if no segments report it.
    pub last_j: Option<Vec<f64>>,
}

impl Default for AttemptSums {
    fn default() -> Self {
        let (stood, energy, lost) = (SimDuration::ZERO, Joules::ZERO, Joules::ZERO);
        Self { attempts: 0, stood, energy, lost, lowest_cap_w: f64::INFINITY }
    }
}

impl Attempts {
    /// Counts attempts from now on, as nodes may go down. `starts` has the start of each job, or never.
    pub(super) fn watch(&mut self, starts: &[SimTime]) {
        self.reported.attempts = true;
        self.sum(starts);
    }

    /// Sums suspensions from now on, as jobs may be preempted by others.
    pub(super) fn watch_suspensions(&mut self, starts: &[SimTime]) {
        (self.reported.stood, self.makes_way) = (true, true);
        self.sum(starts);
    }

    /// Sums attempts, suspensions and caps from now on.
    pub(super) fn watch_power(&mut self, starts: &[SimTime]) {
        self.reported = Reported { attempts: true, stood: true, caps: true };
        self.sum(starts);
    }

    fn sum(&mut self, starts: &[SimTime]) {
        let so_far = |&start| AttemptSums { attempts: u32::from(start != SimTime::NEVER), ..AttemptSums::default() };
        self.sums.get_or_insert_with(|| starts.iter().map(so_far).collect());
    }

    /// Makes room for more jobs.
    pub(super) fn grow(&mut self, jobs: usize) {
        if let Some(sums) = &mut self.sums {
            sums.resize(jobs, AttemptSums::default());
        }
    }

    /// True if the timeline counts suspended jobs, as jobs may be preempted by others.
    pub(super) fn makes_way(&self) -> bool {
        self.makes_way
    }

    /// Number of attempts of a job that has started.
    pub(super) fn number(&self, row: usize) -> u32 {
        self.sums.as_ref().map_or(1, |sums| sums[row].attempts)
    }

    fn of(&mut self, job: JobId) -> Option<&mut AttemptSums> {
        self.sums.as_mut().map(|sums| &mut sums[job.0 as usize])
    }

    /// Adds an attempt that is over, lost or not; returns the energy of all attempts of its job.
    pub(super) fn end(&mut self, run: &Run, outcome: &Outcome, is_lost: bool) -> Joules {
        let Some(sums) = self.of(run.job) else { return outcome.energy };
        sums.attempts = run.attempt;
        sums.stood += outcome.stood;
        sums.lowest_cap_w = outcome.lowest_cap_w;
        sums.energy += outcome.energy;
        let all = sums.energy;
        if is_lost {
            sums.lost += outcome.energy;
            self.lost_energy += outcome.energy;
        }
        all
    }

    /// Adds an attempt whose job was requeued, and lists it if no segments report it; returns the energy of all
    /// attempts of the job.
    pub(super) fn requeue(&mut self, run: &Run, outcome: &Outcome, end: SimTime, is_listed: bool) -> Joules {
        let all = self.end(run, outcome, true);
        if is_listed {
            let Run { job, attempt: number, started: start, .. } = *run;
            let (places, energy) = (run.places.clone(), outcome.energy);
            self.requeued.push(LostAttempt { job, number, start, end, places, energy });
        }
        // Of preempted jobs only the suspension of the last attempt is reported.
        if self.makes_way
            && let Some(sums) = self.of(run.job)
        {
            sums.stood = SimDuration::ZERO;
        }
        all
    }

    /// Adds an attempt that was not over at the end of the window; returns the energy of all attempts of its job.
    pub(super) fn leave_off(&mut self, run: &Run, energy: Joules, stood: SimDuration, lowest_cap_w: f64) -> Joules {
        let Some(sums) = self.of(run.job) else { return energy };
        sums.energy += energy;
        (sums.attempts, sums.lowest_cap_w) = (run.attempt, lowest_cap_w);
        sums.stood += stood;
        sums.energy
    }

    /// Energy of lost attempts: requeued ones, and those killed by an emergency, a failure or maintenance.
    pub(super) fn lost_energy(&self) -> Joules {
        self.lost_energy
    }

    /// True if there are requeued attempts that no segments report.
    pub(super) fn has_requeued(&self) -> bool {
        !self.requeued.is_empty()
    }

    /// Takes the requeued attempts that no segments report.
    pub(super) fn take_requeued(&mut self) -> Vec<LostAttempt> {
        std::mem::take(&mut self.requeued)
    }

    /// Takes the sums as columns, if there are any, given the energy of each job.
    pub(super) fn take_columns(&mut self, energy_j: &[f64]) -> Option<SumColumns> {
        let (sums, Reported { attempts, stood, caps }) = (self.sums.take()?, self.reported);
        let cap = |sums: &AttemptSums| if sums.lowest_cap_w == f64::INFINITY { f64::NAN } else { sums.lowest_cap_w };
        let number = |sums: &AttemptSums| i32::try_from(sums.attempts).unwrap_or(i32::MAX);
        Some(SumColumns {
            last_j: (!stood).then(|| self.last_j(&sums, energy_j)),
            attempts: attempts.then(|| sums.iter().map(number).collect()),
            suspended_s: stood.then(|| sums.iter().map(|sums| sums.stood.seconds()).collect()),
            lost_j: attempts.then(|| sums.iter().map(|sums| sums.lost.joules()).collect()),
            lowest_cap_w: caps.then(|| sums.iter().map(cap).collect()),
        })
    }

    /// Energy of each job's last attempt, J: its total less that of its requeued attempts.
    fn last_j(&self, sums: &[AttemptSums], energy_j: &[f64]) -> Vec<f64> {
        let (mut last, mut left) = (energy_j.to_vec(), std::collections::BTreeMap::new());
        for lost in &self.requeued {
            let row = lost.job.0 as usize;
            let left = left.entry(row).or_insert(sums[row].energy);
            *left = *left - lost.energy;
            last[row] = left.joules();
        }
        last
    }
}
