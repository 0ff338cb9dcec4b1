//! The jobs of a run, as columns.
//!
//! Reading them from a file is left to `trace` and the caller; here they are only checked and turned into whole
//! microseconds. Rows keep the caller's order, which is the order of the trace.

mod checks;
mod columns;
mod observed;
mod profiles;
mod sizes;
mod waits;

use crate::units::{SimDuration, SimTime};
use crate::workload::observed::Observed;
use crate::workload::profiles::Profiles;
use crate::workload::sizes::Sizes;
use crate::workload::waits::Waits;

pub use crate::workload::columns::JobColumns;
pub use crate::workload::observed::ObservedColumns;
pub use crate::workload::profiles::{Part, ProfileColumns};
pub use crate::workload::sizes::SizeColumns;
pub use crate::workload::waits::{How, WaitColumns};

/// A job: its row in the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId(pub u32);

/// An application: its place in [`Workload::app_names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AppId(pub u32);

const NO_APP: u32 = u32::MAX;

/// A checked workload.
#[derive(Clone, Debug, Default)]
pub struct Workload {
    job_id: Vec<i64>,
    submit: Vec<SimTime>,
    runtime: Vec<SimDuration>,
    /// [`SimDuration::FOREVER`] = none.
    walltime: Vec<SimDuration>,
    comm: Vec<SimDuration>,
    node_count: Vec<u32>,
    slots: Vec<u32>,
    power_w: Vec<f64>,
    /// Profiles, if some job has one.
    profiles: Option<Box<Profiles>>,
    /// Infinite = none.
    cap_w: Vec<f64>,
    app: Vec<u32>,
    app_names: Vec<String>,
    on_gpu: Vec<bool>,
    first_run: Vec<Option<bool>>,
    observed: Observed,
    /// Sizes, if some job has more than one.
    sizes: Option<Sizes>,
    waits: Option<Box<Waits>>,
}

impl Workload {
    /// Number of jobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.job_id.len()
    }

    /// True if there is no job.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.job_id.is_empty()
    }

    /// All jobs, in the order of the trace.
    pub fn jobs(&self) -> impl DoubleEndedIterator<Item = JobId> + use<> {
        #[expect(clippy::cast_possible_truncation, reason = "`into_workload` refuses more rows")]
        (0..self.len() as u32).map(JobId)
    }

    /// The users' number of a job.
    #[must_use]
    pub fn job_id(&self, job: JobId) -> i64 {
        self.job_id[job.0 as usize]
    }

    /// Submit instant of the job.
    #[must_use]
    pub fn submit(&self, job: JobId) -> SimTime {
        self.submit[job.0 as usize]
    }

    /// Runtime of the job at nominal speed.
    #[must_use]
    pub fn runtime(&self, job: JobId) -> SimDuration {
        self.runtime[job.0 as usize]
    }

    /// Walltime that the job requested, if it did.
    #[must_use]
    pub fn walltime(&self, job: JobId) -> Option<SimDuration> {
        let walltime = self.walltime.get(job.0 as usize).copied().unwrap_or(SimDuration::FOREVER);
        (walltime != SimDuration::FOREVER).then_some(walltime)
    }

    /// Time that communication adds to the job's run, however fast its nodes are (COA paper, eq. 4).
    #[must_use]
    pub fn comm(&self, job: JobId) -> SimDuration {
        self.comm.get(job.0 as usize).copied().unwrap_or(SimDuration::ZERO)
    }

    /// Length of the job in plans: its walltime or, if it brings none, its nominal runtime and communication.
    #[must_use]
    pub fn planned(&self, job: JobId) -> SimDuration {
        self.planned_at(job, 1.0, 1.0)
    }

    /// The same on nodes that take `factor` times as long as nominal ones. Walltimes are taken to be for nominal speed.
    ///
    /// A job without a walltime is planned `slowdown` times longer: its own cap slows it by that.
    #[must_use]
    pub fn planned_at(&self, job: JobId, factor: f64, slowdown: f64) -> SimDuration {
        let run = || self.runtime(job).stretched(factor * slowdown).saturating_add(self.comm(job));
        self.walltime(job).map_or_else(run, |walltime| walltime.stretched(factor))
    }

    /// The same for a job that is believed to run for `length` at nominal speed: no longer than its walltime.
    #[must_use]
    pub fn believed_at(&self, job: JobId, length: SimDuration, factor: f64, slowdown: f64) -> SimDuration {
        let longest = self.walltime(job).map_or(SimDuration::FOREVER, |walltime| walltime.stretched(factor));
        length.stretched(factor * slowdown).min(longest)
    }

    /// Nodes the job asks for, at least 1.
    #[must_use]
    pub fn node_count(&self, job: JobId) -> u32 {
        self.node_count[job.0 as usize]
    }

    /// True if some job has more than one size.
    #[must_use]
    pub fn has_sizes(&self) -> bool {
        self.sizes.is_some()
    }

    /// Fewest and most nodes the job can run on.
    #[must_use]
    pub fn size_range(&self, job: JobId) -> (u32, u32) {
        let asked = self.node_count(job);
        self.sizes.as_ref().map_or((asked, asked), |sizes| sizes.range(job))
    }

    /// True if some job may change its size while it runs.
    #[must_use]
    pub fn has_malleable(&self) -> bool {
        self.sizes.as_ref().is_some_and(Sizes::any_malleable)
    }

    /// True if the job may change its size while it runs.
    #[must_use]
    pub fn is_malleable(&self, job: JobId) -> bool {
        self.is_moldable(job) && self.sizes.as_ref().is_some_and(|sizes| sizes.is_malleable(job))
    }

    /// Time for which the job makes no progress after its size has changed.
    #[must_use]
    pub fn pause(&self, job: JobId) -> SimDuration {
        self.sizes.as_ref().map_or(SimDuration::ZERO, |sizes| sizes.pause(job))
    }

    /// True if the job has more than one size.
    #[must_use]
    pub fn is_moldable(&self, job: JobId) -> bool {
        let (low, high) = self.size_range(job);
        low < high
    }

    /// Runtime of the job on `nodes` nodes, as a multiple of that at the size it asks for.
    #[must_use]
    pub fn time_at(&self, job: JobId, nodes: u32) -> f64 {
        self.sizes.as_ref().map_or(1.0, |sizes| sizes.time_ratio(job, nodes))
    }

    /// Slots the job asks for on each of its nodes; 0 = the whole node.
    #[must_use]
    pub fn slots(&self, job: JobId) -> u32 {
        self.slots.get(job.0 as usize).copied().unwrap_or(0)
    }

    /// The job's measured mean watts per node; 0 = unknown.
    #[must_use]
    pub fn power_w(&self, job: JobId) -> f64 {
        self.power_w.get(job.0 as usize).copied().unwrap_or(0.0)
    }

    /// True if some job's draw was measured over time.
    #[must_use]
    pub fn has_profiles(&self) -> bool {
        self.profiles.is_some()
    }

    /// Measured draw of each node of the job in the course of its run, if there is one: at least one part.
    #[must_use]
    pub fn profile(&self, job: JobId) -> Option<&[Part]> {
        self.profiles.as_ref()?.of(job.0 as usize)
    }

    /// The power cap that the job asks for, its own cap, W per node; infinite if it asks for none.
    #[must_use]
    pub fn cap_w(&self, job: JobId) -> f64 {
        self.cap_w.get(job.0 as usize).copied().unwrap_or(f64::INFINITY)
    }

    /// The job's application, if it is known.
    #[must_use]
    pub fn app(&self, job: JobId) -> Option<AppId> {
        self.app.get(job.0 as usize).copied().filter(|&app| app != NO_APP).map(AppId)
    }

    /// True if the job computes on accelerators; otherwise on CPUs.
    #[must_use]
    pub fn on_gpu(&self, job: JobId) -> bool {
        self.on_gpu.get(job.0 as usize).copied().unwrap_or(false)
    }

    /// True if the job counts as its application's first run; none if the trace does not say.
    #[must_use]
    pub fn first_run(&self, job: JobId) -> Option<bool> {
        self.first_run.get(job.0 as usize).copied().flatten()
    }

    /// Observed start of the job, if the log has it.
    #[must_use]
    pub fn observed_start(&self, job: JobId) -> Option<SimTime> {
        self.observed.start(job.0 as usize)
    }

    /// Observed length of the job, where it is to run as long here, whatever its nodes are like.
    #[must_use]
    pub fn observed_length(&self, job: JobId) -> Option<SimDuration> {
        self.observed.length(job.0 as usize)
    }

    /// Observed nodes of the job, if the log has them.
    #[must_use]
    pub fn observed_nodes(&self, job: JobId) -> Option<&[u32]> {
        self.observed.nodes(job.0 as usize)
    }

    /// True if some job may wait before it joins the queue, or may be withdrawn, or belongs to an array with a limit.
    #[must_use]
    pub fn has_waits(&self) -> bool {
        self.waits.is_some()
    }

    /// True if some job depends on another.
    #[must_use]
    pub fn has_dependencies(&self) -> bool {
        self.waits.as_ref().is_some_and(|waits| waits.has_dependencies())
    }

    /// True if some array has a limit.
    #[must_use]
    pub fn has_arrays(&self) -> bool {
        self.waits.as_ref().is_some_and(|waits| waits.has_arrays())
    }

    /// Instant before which the job does not join the queue, if it has one.
    #[must_use]
    pub fn start_at(&self, job: JobId) -> Option<SimTime> {
        self.waits.as_ref()?.start(job.0 as usize)
    }

    /// The job that this one depends on, and the kind of end that it waits for.
    #[must_use]
    pub fn dependency(&self, job: JobId) -> Option<(JobId, How)> {
        self.waits.as_ref()?.dependency(job.0 as usize)
    }

    /// Think time: from that end to the instant at which the job joins the queue.
    #[must_use]
    pub fn think(&self, job: JobId) -> SimDuration {
        self.waits.as_ref().map_or(SimDuration::ZERO, |waits| waits.think(job.0 as usize))
    }

    /// Instant at which the job is withdrawn unless it runs by then or has ended: not before its submission.
    #[must_use]
    pub fn cancel_at(&self, job: JobId) -> Option<SimTime> {
        self.waits.as_ref()?.cancel(job.0 as usize).map(|cancel| cancel.max(self.submit(job)))
    }

    /// The job's array and the number of its jobs that may run at once, if it has one with a limit.
    #[must_use]
    pub fn array(&self, job: JobId) -> Option<(u32, u32)> {
        self.waits.as_ref()?.array(job.0 as usize)
    }

    /// The jobs that depend on this one.
    #[must_use]
    pub fn dependents(&self, job: JobId) -> &[JobId] {
        self.waits.as_ref().map_or(&[], |waits| waits.dependents(job.0 as usize))
    }

    /// True if the job ends at the instant at which it starts.
    #[must_use]
    pub fn takes_no_time(&self, job: JobId) -> bool {
        let length = self.observed_length(job).unwrap_or_else(|| self.runtime(job).saturating_add(self.comm(job)));
        length == SimDuration::ZERO
    }

    /// Names of all applications.
    #[must_use]
    pub fn app_names(&self) -> &[String] {
        &self.app_names
    }

    /// Jobs in the order of their submission; those submitted at one instant keep their order in the trace.
    #[must_use]
    pub fn submit_order(&self) -> Vec<JobId> {
        let mut order: Vec<_> = self.jobs().collect();
        order.sort_by_key(|&job| self.submit(job));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_job() -> JobColumns {
        JobColumns {
            job_id: vec![7],
            submit_s: vec![0.0],
            runtime_s: vec![10.0],
            node_count: vec![2],
            source: "table".into(),
            ..JobColumns::default()
        }
    }

    #[test]
    fn a_job_without_walltime_is_planned_with_its_runtime() {
        let workload = one_job().into_workload().unwrap();
        assert_eq!(workload.walltime(JobId(0)), None);
        assert_eq!(workload.planned(JobId(0)).seconds(), 10.0);
    }

    #[test]
    fn a_belief_is_stretched_and_no_longer_than_the_walltime() {
        let believed = |workload: &Workload, seconds: f64, factor: f64, slowdown: f64| {
            let length = SimDuration::from_seconds(seconds).unwrap();
            workload.believed_at(JobId(0), length, factor, slowdown).seconds()
        };
        let unlimited = JobColumns { comm_s: vec![2.5], ..one_job() }.into_workload().unwrap();
        assert_eq!(believed(&unlimited, 20.0, 1.5, 2.0), 60.0);
        let limited = JobColumns { walltime_s: vec![12.0], ..one_job() }.into_workload().unwrap();
        assert_eq!(believed(&limited, 5.0, 1.0, 1.0), 5.0);
        assert_eq!(believed(&limited, 20.0, 1.0, 1.0), 12.0);
        assert_eq!(believed(&limited, 20.0, 1.5, 1.0), 18.0);
    }

    #[test]
    fn communication_is_planned_beside_the_runtime() {
        let workload = JobColumns { comm_s: vec![2.5], ..one_job() }.into_workload().unwrap();
        assert_eq!(workload.planned(JobId(0)).seconds(), 12.5);
        let unknown = JobColumns { comm_s: vec![f64::NAN], ..one_job() }.into_workload().unwrap();
        assert_eq!(unknown.planned(JobId(0)).seconds(), 10.0);
    }

    #[test]
    fn a_planned_length_is_stretched_but_for_communication_and_rounded_up_once() {
        let unlimited = JobColumns { comm_s: vec![2.5], ..one_job() }.into_workload().unwrap();
        assert_eq!(unlimited.planned_at(JobId(0), 1.5, 1.0).seconds(), 17.5);
        assert_eq!(unlimited.planned_at(JobId(0), 1.000_000_03, 1.0).seconds(), 12.500_001);
        let limited = JobColumns { walltime_s: vec![12.0], comm_s: vec![2.5], ..one_job() }.into_workload().unwrap();
        assert_eq!(limited.planned_at(JobId(0), 1.5, 1.0).seconds(), 18.0);
        assert_eq!(limited.planned_at(JobId(0), 0.5, 1.0).seconds(), 6.0);
    }

    #[test]
    fn a_job_without_a_cap_of_its_own_has_an_infinite_one() {
        let of = |cap_w: Vec<f64>| JobColumns { cap_w, ..one_job() }.into_workload().unwrap().cap_w(JobId(0));
        assert_eq!([of(vec![]), of(vec![f64::NAN]), of(vec![150.25])], [f64::INFINITY, f64::INFINITY, 150.25]);
        let refused = |cap_w| JobColumns { cap_w: vec![cap_w], ..one_job() }.into_workload().unwrap_err().to_string();
        assert_eq!(refused(0.0), "table, line 0, cap_w: found `0`, expected watts above 0, up to 1e6, or null");
        for cap_w in [-1.0, 1e6 + 1.0, f64::INFINITY] {
            assert!(refused(cap_w).contains("cap_w"));
        }
    }

    #[test]
    fn faults_name_row_column_and_value() {
        let bad = JobColumns { runtime_s: vec![-3.0], ..one_job() };
        let message = bad.into_workload().unwrap_err().to_string();
        assert_eq!(message, "table, line 0, runtime_s: found `-3`, expected seconds from 0 to 1e12");
        for columns in [
            JobColumns { submit_s: vec![f64::NAN], ..one_job() },
            JobColumns { node_count: vec![0], ..one_job() },
            JobColumns { walltime_s: vec![1e300], ..one_job() },
            JobColumns { power_w: vec![f64::INFINITY], ..one_job() },
            JobColumns { comm_s: vec![-1.0], ..one_job() },
            JobColumns { app: vec![0], ..one_job() },
            JobColumns { submit_s: vec![], ..one_job() },
        ] {
            assert!(columns.into_workload().is_err());
        }
    }
}
