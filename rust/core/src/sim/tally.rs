//! Running sums over a run, from which an agent's rewards are computed.

use crate::control::Effect;
use crate::policy::Decision;
use crate::units::{SimDuration, Watts};
use crate::workload::{JobId, Workload};

/// Lower bound on runtimes in (bounded) slowdowns, s.
const SHORTEST_S: f64 = 10.0;

/// Integrals over time since the first submit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Integral of the number of queued jobs, s.
    pub waited_s: f64,
    /// Integral of the sum of 1 / max(runtime, 10 s) over the queued jobs.
    pub slowed: f64,
    /// Integral of the machine's draw, J.
    pub energy_j: f64,
    queued: u32,
    rate: f64,
}

impl Tally {
    pub(super) fn advance(&mut self, span: SimDuration, draw: Watts) {
        let seconds = span.seconds();
        self.waited_s += seconds * f64::from(self.queued);
        self.slowed += seconds * self.rate;
        self.energy_j += seconds * draw.watts();
    }

    /// Adds a job that joins the queue.
    pub(super) fn join(&mut self, workload: &Workload, job: JobId) {
        self.queued += 1;
        self.rate += rate(workload, job);
    }

    /// Follows a decision that was carried out.
    pub(super) fn note(&mut self, workload: &Workload, decision: &Decision, effect: &Effect) {
        match (decision, effect) {
            (Decision::Start(start), _) => self.leave(workload, start.job),
            (Decision::Reject(job, _), _) => self.leave(workload, *job),
            (Decision::Requeue(_), Effect::Ended(_, run)) => self.join(workload, run.job),
            _ => {}
        }
    }

    /// Removes a job that leaves the queue.
    pub(super) fn leave(&mut self, workload: &Workload, job: JobId) {
        self.queued = self.queued.saturating_sub(1);
        // The rate of an empty queue is reset to 0, so that no rounding error is carried on.
        self.rate = if self.queued == 0 { 0.0 } else { self.rate - rate(workload, job) };
    }
}

fn rate(workload: &Workload, job: JobId) -> f64 {
    1.0 / workload.runtime(job).seconds().max(SHORTEST_S)
}
