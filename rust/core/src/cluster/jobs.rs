//! The jobs as a policy may know them.

use crate::cluster::beliefs::Beliefs;
use crate::cluster::truth::Truth;
use crate::platform::Platform;
use crate::power::in_force::DrawProfile;
use crate::power::known::KnownDraw;
use crate::power::pvt::Predicted;
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::{AppId, JobId, Workload};

/// The jobs as a policy may know them: by what they stated at their submission, and by what is believed of them.
///
/// If walltimes are meant for nominal speed, the beliefs include the predicted time factor of the slowest node for each
/// application.
#[derive(Clone, Copy, Debug)]
pub struct Jobs<'a> {
    workload: &'a Workload,
    beliefs: &'a Beliefs,
    /// A job whose size is replaced by the number of nodes that it is to get in one cell.
    part: Option<(JobId, u32)>,
    /// True if each job is taken to be as small as it can be.
    is_least: bool,
}

impl<'a> Jobs<'a> {
    /// These jobs as they stated they are.
    #[must_use]
    pub fn new(workload: &'a Workload) -> Self {
        Self::believed(workload, Beliefs::NONE)
    }

    /// These jobs as they are believed to be.
    #[must_use]
    pub fn believed(workload: &'a Workload, beliefs: &'a Beliefs) -> Self {
        Self { workload, beliefs, part: None, is_least: false }
    }

    /// All jobs, present and to come.
    pub fn all(self) -> impl ExactSizeIterator<Item = JobId> {
        (0..u32::try_from(self.workload.len()).unwrap_or(u32::MAX)).map(JobId)
    }

    /// The same jobs, each on as few nodes as it can run on.
    #[must_use]
    pub fn least(self) -> Self {
        Self { is_least: true, ..self }
    }

    /// Fewest and most nodes the job can run on.
    #[must_use]
    pub fn size_range(self, job: JobId) -> (u32, u32) {
        self.workload.size_range(job)
    }

    /// True if the job may change its size while it runs.
    #[must_use]
    pub fn is_malleable(self, job: JobId) -> bool {
        self.workload.is_malleable(job)
    }

    /// Pause in its progress after a change of its size.
    #[must_use]
    pub fn pause(self, job: JobId) -> SimDuration {
        self.workload.pause(job)
    }

    /// Length of the job on so many nodes, relative to that on the nodes it asks for.
    #[must_use]
    pub fn time_at(self, job: JobId, nodes: u32) -> f64 {
        self.workload.time_at(job, nodes)
    }

    /// Nodes of the job, all cells together.
    fn size(self, job: JobId) -> u32 {
        match &self.beliefs.sizes {
            _ if self.is_least => self.workload.size_range(job).0,
            Some(chosen) => chosen[job.0 as usize],
            None => self.workload.node_count(job),
        }
    }

    /// Length of the job at its present size, relative to that at the size it asks for.
    fn size_time(self, job: JobId) -> f64 {
        if self.is_least || self.beliefs.sizes.is_some() { self.workload.time_at(job, self.size(job)) } else { 1.0 }
    }

    /// Nodes the job asks for.
    #[must_use]
    pub fn asked_nodes(self, job: JobId) -> u32 {
        self.workload.node_count(job)
    }

    /// The same jobs, with `count` in place of the size of one job: the nodes that it is to get in one cell.
    #[must_use]
    pub fn in_part(self, job: JobId, count: u32) -> Self {
        Self { part: Some((job, count)), ..self }
    }

    /// The job's own cap, W per node; infinity if it brings none.
    #[must_use]
    pub fn cap_w(self, job: JobId) -> f64 {
        self.workload.cap_w(job)
    }

    /// The number by which users know the job.
    #[must_use]
    pub fn job_id(self, job: JobId) -> i64 {
        self.workload.job_id(job)
    }

    /// Walltime of the job, if it brings one.
    #[must_use]
    pub fn walltime(self, job: JobId) -> Option<SimDuration> {
        self.workload.walltime(job)
    }

    /// Submission of the job.
    #[must_use]
    pub fn submit(self, job: JobId) -> SimTime {
        self.workload.submit(job)
    }

    /// Instant at which the job joined the queue: its submission, unless it waited for something. Orders use it for
    /// every submit and wait (operations page on machines, rule 4).
    #[must_use]
    pub fn eligible(self, job: JobId) -> SimTime {
        self.beliefs.eligible.as_ref().and_then(|eligible| eligible.of(job)).unwrap_or_else(|| self.submit(job))
    }

    /// True if any array has a limit.
    #[must_use]
    pub fn has_arrays(self) -> bool {
        self.workload.has_arrays()
    }

    /// The job's array and the limit on its jobs that run at once, if it has one with a limit.
    #[must_use]
    pub fn array(self, job: JobId) -> Option<(u32, u32)> {
        self.workload.array(job)
    }

    /// Planned length of the job while it waits: the believed length if there is one, or else its walltime, or else its
    /// nominal runtime. If these are meant for nominal speed, the length is that on the slowest node of the machine, or of
    /// the job's lane.
    #[must_use]
    pub fn planned(self, job: JobId) -> SimDuration {
        let factor = self.beliefs.slowest.as_ref().map_or(1.0, |slowest| slowest.of(job, self.app(job)));
        self.planned_on(job, factor)
    }

    /// Planned length on nodes that take `factor` times as long as nominal ones, if walltimes are meant for those.
    #[must_use]
    pub fn planned_on(self, job: JobId, factor: f64) -> SimDuration {
        let factor = factor * self.size_time(job);
        let by_own_cap = || self.beliefs.own_caps.as_ref().map_or(1.0, |own_caps| own_caps.of(job));
        let slowdown =
            self.beliefs.forecasts.as_ref().and_then(|forecasts| forecasts.slowdown(job)).unwrap_or_else(by_own_cap);
        match self.beliefs.forecasts.as_ref().and_then(|forecasts| forecasts.length(job)) {
            Some(length) => self.workload.believed_at(job, length, factor, slowdown),
            None => self.workload.planned_at(job, factor, slowdown),
        }
    }

    /// Planned length of the job on these nodes, of which these are the predictions.
    #[must_use]
    pub fn planned_among(self, job: JobId, predicted: &Predicted, nodes: &[u32]) -> SimDuration {
        let slowest = || predicted.slowest(self.app(job), nodes.iter().copied());
        self.planned_on(job, if self.beliefs.slowest.is_some() { slowest() } else { 1.0 })
    }

    /// Known draw of the job before it runs: the analyzer's forecast, or else that of these predictions.
    #[must_use]
    pub fn known_draw(self, predicted: &Predicted, job: JobId) -> KnownDraw {
        let belief = self.beliefs.forecasts.as_ref().and_then(|forecasts| forecasts.draw(job));
        belief.map_or_else(|| predicted.known_draw(self.workload, job), KnownDraw::Believed)
    }

    /// Profile of the job from which its caps are made, under these predictions.
    #[must_use]
    pub fn profile(self, predicted: &Predicted, job: JobId) -> DrawProfile {
        DrawProfile { app: self.app(job), own: self.known_draw(predicted, job) }
    }

    /// Share of the watts of whole nodes for the slots that a job holds of each; all of them if nodes are not shared.
    #[must_use]
    pub fn held(self, job: JobId, platform: &Platform, whole: Watts) -> Watts {
        whole.share(self.need(job, platform), platform.shared_slots())
    }

    /// Truth about the job, for parts that a paper describes as knowing it and for those that repeat a log.
    #[must_use]
    pub fn truth(self, job: JobId) -> Truth<'a> {
        Truth { workload: self.workload, job, size_time: self.size_time(job) }
    }

    /// Nodes of the job: those it asks for, or those that were chosen for it.
    #[must_use]
    pub fn node_count(self, job: JobId) -> u32 {
        let own = self.part.filter(|(own, _)| *own == job);
        own.map_or_else(|| self.size(job), |(_, count)| count)
    }

    /// Slots the job takes on each of its nodes: those it asks for if nodes are shared, else 1 (the node).
    #[must_use]
    pub fn need(self, job: JobId, platform: &Platform) -> u32 {
        match self.workload.slots(job) {
            _ if platform.is_exclusive() => 1,
            0 => platform.slots(),
            slots => slots,
        }
    }

    /// The job's application, if it is known.
    #[must_use]
    pub fn app(self, job: JobId) -> Option<AppId> {
        self.workload.app(job)
    }

    /// True if the job computes on accelerators, false if on CPUs.
    #[must_use]
    pub fn on_gpu(self, job: JobId) -> bool {
        self.workload.on_gpu(job)
    }

    /// True if the job counts as its application's first run; `None` if the trace does not say.
    #[must_use]
    pub fn first_run(self, job: JobId) -> Option<bool> {
        self.workload.first_run(job)
    }

    /// Total number of nodes, or of slots if nodes are shared, that the job takes.
    #[must_use]
    pub fn units(self, job: JobId, platform: &Platform) -> i64 {
        i64::from(self.node_count(job)) * i64::from(self.need(job, platform))
    }

    /// Number of applications; their ids are the numbers below it.
    #[must_use]
    pub fn app_count(self) -> usize {
        self.workload.app_names().len()
    }
}
