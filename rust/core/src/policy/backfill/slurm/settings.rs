//! Settings of Slurm's scheduler, as slurm.conf has them.

use crate::units::{SimDuration, SimTime};

/// Releases of Slurm that schedule differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlurmRelease {
    /// 22.05.
    R2205,
    /// 23.02.
    R2302,
    /// 23.11: main ticks on whole seconds.
    R2311,
    /// 24.05: rates of power saving as token buckets.
    R2405,
    /// 24.11: jobs that end after the next edge of the table stay in the will-run test.
    R2411,
    /// 25.05: planned starts follow the jobs whose nodes are used.
    R2505,
}

impl SlurmRelease {
    /// The releases by their names, ascending.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("22.05", Self::R2205),
        ("23.02", Self::R2302),
        ("23.11", Self::R2311),
        ("24.05", Self::R2405),
        ("24.11", Self::R2411),
        ("25.05", Self::R2505),
    ];
}

/// Settings of the whole scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Release whose rules hold.
    pub release: SlurmRelease,
    /// Clock and latencies.
    pub timing: LoopTiming,
    /// Explicit beats, where a recording gives them.
    pub beats: BeatLists,
    /// Main loop.
    pub main: Main,
    /// Backfill loop.
    pub backfill: BackfillRules,
    /// Seconds between the signal at a job's limit and its kill.
    pub kill_wait: i64,
    /// True if a `PrologSlurmctld` lets jobs start as soon as their nodes have booted.
    pub prolog: bool,
    /// Priority plug-in `multifactor`; none: `basic`.
    pub priority: Option<Multifactor>,
    /// Power saving, if idle nodes are suspended.
    pub saving: Option<Saving>,
    /// `NodeName` lines in configuration order; none: one for each kind of node.
    pub lines: Vec<NodeLine>,
}

/// Clock and latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopTiming {
    /// Microseconds of Unix time at the log's zero.
    pub epoch: i64,
    /// Start of the controller; none: a minute before the run begins.
    pub started: Option<SimTime>,
    /// Period of main ticks; none: by release.
    pub main_period: Option<SimDuration>,
    /// First main tick; none: from the start of the controller.
    pub main_phase: Option<SimTime>,
    /// First backfill cycle; none: from the start of the controller.
    pub backfill_phase: Option<SimTime>,
    /// First power scan; none: from the start of the controller.
    pub scan_phase: Option<SimTime>,
    /// Length of a backfill cycle; none: by its number of tests.
    pub cycle: Option<SimDuration>,
    /// Time from a job's end until its nodes are idle.
    pub clean_up: SimDuration,
    /// Time from an allocation until the script runs.
    pub start: SimDuration,
}

impl LoopTiming {
    /// Start of the controller, once it is settled.
    #[must_use]
    pub fn started(&self) -> SimTime {
        self.started.unwrap_or_default()
    }
}

impl Settings {
    /// The same for a run that begins at an instant: the start of the controller is settled.
    #[must_use]
    pub fn started_by(&self, begin: SimTime) -> Self {
        let started = self.timing.started.unwrap_or(SimTime::from_micros(begin.micros() - 60_000_000));
        Self { timing: LoopTiming { started: Some(started), ..self.timing.clone() }, ..self.clone() }
    }
}

/// Explicit beats, ascending; an empty list: by rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BeatLists {
    /// Ticks of the main loop.
    pub main: Vec<SimTime>,
    /// Backfill cycles.
    pub backfill: Vec<SimTime>,
    /// Recomputations of priorities.
    pub recompute: Vec<SimTime>,
    /// Runs of the main loop that an epilog's end caused.
    pub epilog: Vec<SimTime>,
    /// Scans of power saving.
    pub scan: Vec<SimTime>,
    /// Ends of clean-ups.
    pub clean: Vec<SimTime>,
    /// Checks of time limits, at which jobs on booted nodes start.
    pub grid: Vec<SimTime>,
}

/// Settings of the main loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Main {
    /// `batch_sched_delay`, in seconds.
    pub delay: i64,
    /// `sched_interval`, in seconds; none: the main loop never runs.
    pub interval: Option<i64>,
    /// `default_queue_depth`.
    pub depth: u32,
    /// `partition_job_depth`; 0: no limit.
    pub partition_depth: u32,
    /// `sched_max_job_start`; 0: no limit.
    pub max_start: u32,
    /// True if the end of an epilog runs the main loop at each job's end.
    pub epilog: bool,
    /// True if ends of epilogs are events, and run nothing at once.
    pub defer: bool,
}

/// Settings of the backfill loop; times in seconds, counts of 0 are no limit.
#[derive(Clone, Debug, PartialEq)]
pub struct BackfillRules {
    /// `bf_interval`; none: no backfill.
    pub interval: Option<i64>,
    /// `bf_window`.
    pub window: i64,
    /// `bf_resolution`.
    pub resolution: i64,
    /// `bf_window_linear`; 0: windows double.
    pub window_linear: i64,
    /// `bf_max_job_test`.
    pub max_test: u32,
    /// `bf_max_job_start`.
    pub max_start: u32,
    /// `bf_max_job_part`.
    pub max_part: u32,
    /// `bf_max_job_user`, of the log's only user.
    pub max_user: u32,
    /// Records that the table may hold.
    pub records: u32,
    /// `bf_min_prio_reserve`.
    pub min_priority: i64,
    /// `bf_min_age_reserve`.
    pub min_age: i64,
    /// `bf_job_part_count_reserve`.
    pub part_plans: u32,
    /// `bf_licenses`.
    pub licences: bool,
    /// `bf_running_job_reserve`.
    pub reserve_running: bool,
}

/// Settings of the priority plug-in `multifactor`.
#[derive(Clone, Debug, PartialEq)]
pub struct Multifactor {
    /// `PriorityWeightAge`.
    pub age: f64,
    /// `PriorityWeightJobSize`.
    pub size: f64,
    /// `PriorityMaxAge`, in seconds.
    pub max_age: i64,
    /// `PriorityCalcPeriod`, in seconds.
    pub period: i64,
    /// `PriorityFavorSmall`.
    pub favor_small: bool,
}

/// Settings of power saving; times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Saving {
    /// `SuspendTime`.
    pub idle: i64,
    /// `SuspendTimeout`.
    pub suspend_timeout: i64,
    /// `ResumeTimeout`.
    pub resume_timeout: i64,
    /// `SuspendRate`, nodes a minute; 0: no limit.
    pub suspend_rate: u32,
    /// `ResumeRate`, nodes a minute; 0: no limit.
    pub resume_rate: u32,
    /// `power_save_interval`.
    pub interval: i64,
    /// `power_save_min_interval`.
    pub min_interval: i64,
    /// Spans of nodes that are never suspended, first and last.
    pub exclude: Vec<(u32, u32)>,
}

/// A `NodeName` line: nodes that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLine {
    /// Number of its nodes.
    pub count: u32,
    /// CPUs of each.
    pub cpus: u32,
    /// `Weight` of each.
    pub weight: u32,
}
