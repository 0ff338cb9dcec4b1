//! Columns of jobs as a caller has them, and their checks.

use crate::error::Result;
use crate::units::{MAX_NODE_WATTS, MAX_SECONDS, SimDuration, SimTime};
use crate::workload::checks::{CheckedTable, added, flag, span};
use crate::workload::observed::{Observed, ObservedColumns};
use crate::workload::profiles::{ProfileColumns, Profiles};
use crate::workload::sizes::{SizeColumns, Sizes};
use crate::workload::waits::{WaitColumns, Waits};
use crate::workload::{NO_APP, Workload};

/// Columns as a caller has them: seconds and watts as floats, NaN where a value is unknown.
///
/// Columns that may be missing are empty then; all others have one value per job.
#[derive(Clone, Debug, Default)]
pub struct JobColumns {
    /// The users' job numbers.
    pub job_id: Vec<i64>,
    /// Submit instants, s.
    pub submit_s: Vec<f64>,
    /// Nominal runtimes, s.
    pub runtime_s: Vec<f64>,
    /// Nodes each job asks for.
    pub node_count: Vec<i32>,
    /// Requested times, s; NaN or not above zero = none. May be empty.
    pub walltime_s: Vec<f64>,
    /// Slots per node; 0 = whole nodes. May be empty.
    pub slots: Vec<i64>,
    /// Time that communication adds to the run on whatever nodes, s; NaN = none. May be empty.
    pub comm_s: Vec<f64>,
    /// Measured mean watts per node; NaN or not above zero = unknown. May be empty.
    pub power_w: Vec<f64>,
    /// Power caps the jobs ask for, W per node; NaN = none. May be empty.
    pub cap_w: Vec<f64>,
    /// Index into `app_names`; -1 = unknown. May be empty.
    pub app: Vec<i32>,
    /// Names of the applications.
    pub app_names: Vec<String>,
    /// 1 = the job computes on accelerators, 0 = on CPUs. May be empty: all on CPUs.
    pub on_gpu: Vec<i64>,
    /// 1 = the job counts as its application's first run, 0 = it does not, -1 = the policy finds out. May be empty.
    pub first_run: Vec<i64>,
    /// Measured draws over time.
    pub profiles: ProfileColumns,
    /// Observed places and times of runs, from the log.
    pub observed: ObservedColumns,
    /// Sizes that jobs can have besides the one they ask for.
    pub sizes: SizeColumns,
    /// Events that jobs wait for.
    pub waits: WaitColumns,
    /// Name of the table in errors, such as a file's name.
    pub source: String,
}

impl JobColumns {
    /// Checks every value and turns the columns into a [`Workload`].
    ///
    /// # Errors
    /// A [`TraceError`](crate::error::TraceError) with the row, the column and the value of the first fault.
    pub fn into_workload(self) -> Result<Workload> {
        let (rows, table) = (self.job_id.len(), CheckedTable { source: &self.source });
        u32::try_from(rows).map_err(|_| table.whole_table("rows", rows, "fewer than 2^32 jobs"))?;
        self.check_lengths(rows, table)?;
        // Sizes are compared with the nodes that a job asks for.
        let sizes = Sizes::new(table, &self.sizes, &self.node_count);
        let instants = "seconds from -1e12 to 1e12";
        let submit = table.taken("submit_s", self.submit_s, instants, SimTime::from_seconds)?;
        let runtime = table.taken("runtime_s", self.runtime_s, "seconds from 0 to 1e12", span)?;
        let walltime = table.taken("walltime_s", self.walltime_s, "seconds up to 1e12, or null", limit)?;
        let comm = table.taken("comm_s", self.comm_s, "seconds from 0 to 1e12, or null", added)?;
        let node_count = table.taken("node_count", self.node_count, "a whole number from 1", node_count)?;
        let slots = "a whole number from 1, or null";
        let slots = table.taken("slots", self.slots, slots, |slots| u32::try_from(slots).ok())?;
        let names = i32::try_from(self.app_names.len()).unwrap_or(i32::MAX);
        let app = table.taken("app", self.app, "an index into the names", |code| app_code(code, names))?;
        let on_gpu = table.taken("on_gpu", self.on_gpu, "0 or 1", flag)?;
        let first_run = table.taken("first_run", self.first_run, "-1, 0 or 1", |code| match code {
            -1 => Some(None),
            other => flag(other).map(Some),
        })?;
        let power_w = table.taken("power_w", self.power_w, "watts up to 1e6, or null", measured_watts)?;
        let cap_w = table.taken("cap_w", self.cap_w, "watts above 0, up to 1e6, or null", own_cap)?;
        let profiles = Profiles::new(table, &self.profiles)?.map(Box::new);
        let (observed, sizes, waits) =
            (Observed::new(table, &self.observed)?, sizes?, Waits::new(table, &self.waits, rows)?);
        Ok(Workload {
            profiles,
            observed,
            sizes,
            waits,
            job_id: self.job_id,
            submit,
            runtime,
            walltime,
            comm,
            node_count,
            slots,
            power_w,
            cap_w,
            app,
            app_names: self.app_names,
            on_gpu,
            first_run,
        })
    }

    fn check_lengths(&self, rows: usize, table: CheckedTable<'_>) -> Result<()> {
        let required = [
            ("submit_s", self.submit_s.len()),
            ("runtime_s", self.runtime_s.len()),
            ("node_count", self.node_count.len()),
        ];
        let optional = [
            ("walltime_s", self.walltime_s.len()),
            ("comm_s", self.comm_s.len()),
            ("slots", self.slots.len()),
            ("power_w", self.power_w.len()),
            ("cap_w", self.cap_w.len()),
            ("app", self.app.len()),
            ("on_gpu", self.on_gpu.len()),
            ("first_run", self.first_run.len()),
            ("power_profile_s", self.profiles.interval_s.len()),
            ("power_profile_offsets", self.profiles.offsets.len().saturating_sub(1)),
            ("observed_start_s", self.observed.start_s.len()),
            ("observed_end_s", self.observed.end_s.len()),
            ("observed_node_offsets", self.observed.node_offsets.len().saturating_sub(1)),
            ("malleable", self.sizes.malleable.len()),
            ("resize_s", self.sizes.resize_s.len()),
        ];
        let wrong = required.iter().find(|(_, len)| *len != rows);
        let (waits, is_odd) = (self.waits.lengths(), |(_, len): &&(&str, usize)| *len != rows && *len != 0);
        match wrong.or_else(|| optional.iter().chain(&waits).find(is_odd)) {
            Some((column, len)) => Err(table.whole_table(column, len, &format!("{rows} values, one a job")).into()),
            None => Ok(()),
        }
    }
}

fn limit(seconds: f64) -> Option<SimDuration> {
    if seconds.is_nan() || seconds <= 0.0 {
        return Some(SimDuration::FOREVER);
    }
    (seconds <= MAX_SECONDS).then(|| SimDuration::from_seconds(seconds)).flatten()
}

fn node_count(count: i32) -> Option<u32> {
    u32::try_from(count).ok().filter(|&count| count > 0)
}

fn app_code(code: i32, names: i32) -> Option<u32> {
    if code == -1 { Some(NO_APP) } else { (0..names).contains(&code).then(|| u32::try_from(code).ok()).flatten() }
}

fn measured_watts(watts: f64) -> Option<f64> {
    if watts.is_nan() || watts <= 0.0 { Some(0.0) } else { (watts <= MAX_NODE_WATTS).then_some(watts) }
}

fn own_cap(watts: f64) -> Option<f64> {
    if watts.is_nan() { Some(f64::INFINITY) } else { (watts > 0.0 && watts <= MAX_NODE_WATTS).then_some(watts) }
}
