//! Jobs before their runs and between attempts: queued ones, held ones, and beliefs about them.

use crate::cluster::eligible::Eligible;
use crate::cluster::forecasts::Forecasts;
use crate::cluster::{Cluster, Phase};
use crate::power::known::{Belief, KnownDraw};
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

impl Cluster {
    /// Adds a job to the queue.
    pub fn submit(&mut self, job: JobId) {
        self.phases[job.0 as usize] = Phase::Queued;
        self.queued += 1;
    }

    /// Holds a submitted job, which is in no queue yet.
    pub fn hold(&mut self, job: JobId) {
        self.phases[job.0 as usize] = Phase::Held;
    }

    /// Adds a job to the queue that becomes eligible now.
    pub fn admit(&mut self, job: JobId) {
        if let Some(eligible) = &mut self.beliefs.eligible {
            eligible.note(job, self.now);
        }
        self.submit(job);
    }

    /// Adds a job to the queue that has been eligible since then.
    pub fn admit_since(&mut self, job: JobId, since: SimTime) {
        if let Some(eligible) = &mut self.beliefs.eligible {
            eligible.note(job, since);
        }
        self.submit(job);
    }

    /// True if a job was submitted and is in no queue yet.
    #[must_use]
    pub fn is_held(&self, job: JobId) -> bool {
        self.phases[job.0 as usize] == Phase::Held
    }

    /// Withdraws a job, and returns whether it was queued; `None` if it runs or is over.
    pub fn withdraw(&mut self, job: JobId) -> Option<bool> {
        let phase = &mut self.phases[job.0 as usize];
        let was_queued = match phase {
            Phase::Held => false,
            Phase::Queued => true,
            Phase::Unborn | Phase::Running | Phase::Over => return None,
        };
        *phase = Phase::Over;
        self.queued -= i32::from(was_queued);
        Some(was_queued)
    }

    /// Sets the believed length of a waiting job.
    pub fn believe(&mut self, job: JobId, length: SimDuration) {
        self.beliefs().note(job, length);
    }

    /// Sets the believed draw of a waiting job.
    pub fn believe_draw(&mut self, job: JobId, belief: Belief) {
        let (app, cap_w) = (self.workload.app(job), self.workload.cap_w(job));
        let nodes = self.capacity.nodes_of(job, self.platform.len());
        let slowdown = self.predicted.own_slowdown(nodes, (app, KnownDraw::Believed(belief)), cap_w);
        self.beliefs().note_draw(job, belief, slowdown);
    }

    fn beliefs(&mut self) -> &mut Forecasts {
        let jobs = self.workload.len();
        self.beliefs.forecasts.get_or_insert_with(|| Forecasts::new(jobs))
    }

    /// Instants at which jobs became eligible, if that may be later than their submission.
    #[must_use]
    pub fn eligible(&self) -> Option<&Eligible> {
        self.beliefs.eligible.as_ref()
    }

    /// Turns a job away: it never starts, and is in no queue.
    pub fn turn_away(&mut self, job: JobId) {
        self.phases[job.0 as usize] = Phase::Over;
    }

    /// Requeues a job whose run is over, in its old place.
    pub fn requeue(&mut self, job: JobId, attempts: u32) {
        self.attempts.insert(job.0, attempts);
        self.submit(job);
    }

    /// Number of lost attempts of a job.
    #[must_use]
    pub fn lost_attempts(&self, job: JobId) -> u32 {
        self.attempts.get(&job.0).copied().unwrap_or(0)
    }
}
