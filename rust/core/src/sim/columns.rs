//! Columns of the records, as a data frame takes them over: in seconds, watts and words.

use crate::platform::node_state::Class;
use crate::policy::Eligible;
use crate::sim::attempts::{LostAttempt, SumColumns};
use crate::sim::job_state::{JobState, StartedBy};
use crate::sim::log::{Entry, EntryKind, Log};
use crate::sim::record::Records;
use crate::sim::segments::Segment;
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

/// Columns of the jobs: one per field, with one row per job in the workload's order. `started` and `ended` mark the
/// rows that hold a value.
#[derive(Debug, Default)]
pub struct JobFrame {
    /// True if the job started.
    pub started: Vec<bool>,
    /// True if the job ended.
    pub ended: Vec<bool>,
    /// Start, s; 0 where the job never started.
    pub start_s: Vec<f64>,
    /// End, s; 0 where the job did not end.
    pub end_s: Vec<f64>,
    /// Energy, J; 0 where the job never started.
    pub energy_j: Vec<f64>,
    /// State of the job.
    pub state: Vec<JobState>,
    /// Way in which it came to start; arbitrary if it never did.
    pub started_by: Vec<StartedBy>,
    /// True if the run was profiled.
    pub profiled: Vec<bool>,
    /// Offset of each job's nodes in `nodes`, and one more for the end.
    pub node_offsets: Vec<i64>,
    /// Nodes of all jobs, row by row, ascending within each.
    pub nodes: Vec<u32>,
    /// True if the job has energy to report: it has started, if only for an attempt that was lost.
    pub charged: Vec<bool>,
    /// Sums over the attempts of each job, if there may be several, caps or suspensions.
    pub attempts: Option<SumColumns>,
    /// Instant at which each job joined the queue, s, if that may be later than its submission; NaN if never.
    pub eligible_s: Option<Vec<f64>>,
}

/// Columns of lost attempts: one per field, with one row per attempt in order of their ends.
#[derive(Debug, Default)]
pub struct AttemptColumns {
    /// The job's row.
    pub row: Vec<i32>,
    /// Number of the attempt, from 1.
    pub attempt: Vec<i32>,
    /// Start, s.
    pub start_s: Vec<f64>,
    /// End, s.
    pub end_s: Vec<f64>,
    /// Offset of each row's nodes in `nodes`, and one more for the end.
    pub node_offsets: Vec<i64>,
    /// Nodes, row by row, ascending within each.
    pub nodes: Vec<u32>,
    /// Energy, J.
    pub energy_j: Vec<f64>,
}

/// Columns of segments: one per field, with one row per stretch by job and time.
#[derive(Debug, Default)]
pub struct SegmentColumns {
    /// The job's id.
    pub job_id: Vec<i64>,
    /// Number of the attempt, from 1.
    pub attempt: Vec<i32>,
    /// Start, s.
    pub start_s: Vec<f64>,
    /// End, s.
    pub end_s: Vec<f64>,
    /// Offset of each row's nodes in `nodes`, and one more for the end.
    pub node_offsets: Vec<i64>,
    /// Nodes, row by row, ascending within each.
    pub nodes: Vec<u32>,
    /// Mean of the caps in force, W; NaN if a node has none.
    pub cap_w: Vec<f64>,
    /// Speed 1/F; 0 while suspended.
    pub speed_ratio: Vec<f64>,
    /// Draw of all nodes, W; 0 while suspended.
    pub power_w: Vec<f64>,
    /// Energy, J.
    pub energy_j: Vec<f64>,
    /// True while the run is suspended.
    pub suspended: Vec<bool>,
}

/// Columns of the log: one per field, with one row per event.
#[derive(Debug, Default)]
pub struct LogColumns {
    /// Instant, s.
    pub time_s: Vec<f64>,
    /// Kind of the event.
    pub kind: Vec<EntryKind>,
    /// The job's id; 0 where there is none.
    pub job_id: Vec<i64>,
    /// True if there is one.
    pub has_job: Vec<bool>,
    /// The node; -1 where there is none.
    pub node: Vec<i32>,
    /// Budget or cap from now on, W, or number of nodes of a run; NaN if there is none.
    pub value_w: Vec<f64>,
    /// Draw of the machine just before, W.
    pub power_before_w: Vec<f64>,
    /// Draw of the machine just after, W.
    pub power_after_w: Vec<f64>,
}

/// Columns of the nodes: one per field, with one row per node.
#[derive(Debug, Default)]
pub struct NodeFrame {
    /// Time in each class, s.
    pub time_s: [Vec<f64>; Class::COUNT],
    /// Energy, J.
    pub energy_j: Vec<f64>,
}

impl Records {
    /// Takes the jobs' columns, and leaves their records empty.
    #[must_use]
    pub fn take_jobs(&mut self) -> JobFrame {
        let (node_offsets, nodes) = self.take_node_lists();
        // Segments and lost attempts, where there are any, still have to look up theirs.
        let runs = std::mem::take(&mut self.jobs.nodes);
        let mut jobs = std::mem::take(&mut self.jobs);
        let attempts = jobs.attempts.take_columns(&jobs.energy_j);
        (self.jobs.nodes, self.jobs.attempts) = (runs, std::mem::take(&mut jobs.attempts));
        let joined = |eligible: &Eligible, row: usize| {
            let job = JobId(u32::try_from(row).unwrap_or(u32::MAX));
            eligible.of(job).map_or(f64::NAN, SimTime::seconds)
        };
        let rows = 0..jobs.start.len();
        let eligible_s = jobs.eligible.as_ref().map(|eligible| rows.map(|row| joined(eligible, row)).collect());
        let charged: Vec<_> = jobs.start.iter().map(|&start| start != SimTime::NEVER).collect();
        let started: Vec<_> = (0..charged.len()).map(|row| jobs.start(row).is_some()).collect();
        let ended: Vec<_> = (0..started.len()).map(|row| jobs.end(row).is_some()).collect();
        let mut profiled = vec![false; started.len()];
        jobs.profiled.keys().for_each(|&row| profiled[row as usize] = true);
        JobFrame {
            profiled,
            start_s: seconds(jobs.start, &started),
            end_s: seconds(jobs.end, &ended),
            energy_j: jobs.energy_j,
            state: jobs.state,
            started_by: jobs.started_by,
            started,
            ended,
            node_offsets,
            nodes,
            charged,
            attempts,
            eligible_s,
        }
    }

    /// Takes the stretches of runs, by job and time; `None` if every attempt is one stretch.
    #[must_use]
    pub fn take_segments(&mut self) -> Option<SegmentColumns> {
        let segments = self.segments.take()?.sorted();
        let mut columns = SegmentColumns { node_offsets: vec![0], ..SegmentColumns::default() };
        for Segment { job, attempt, start, end, places, state, energy } in segments {
            columns.job_id.push(self.workload.job_id(job));
            columns.attempt.push(i32::try_from(attempt).unwrap_or(i32::MAX));
            columns.start_s.push(start.seconds());
            columns.end_s.push(end.seconds());
            columns.nodes.extend_from_slice(&self.jobs.nodes[places]);
            columns.node_offsets.push(i64::try_from(columns.nodes.len()).unwrap_or(i64::MAX));
            columns.cap_w.push(if state.cap_w == f64::INFINITY { f64::NAN } else { state.cap_w });
            columns.speed_ratio.push(if state.is_suspended { 0.0 } else { 1.0 / state.factor });
            let length = end - start;
            let is_told = state.draw > Watts::ZERO || state.is_suspended || length <= SimDuration::ZERO;
            columns.power_w.push(if is_told { state.draw.watts() } else { energy.joules() / length.seconds() });
            columns.energy_j.push(energy.joules());
            columns.suspended.push(state.is_suspended);
        }
        Some(columns)
    }

    /// Takes the lost attempts that no segments report.
    #[must_use]
    pub fn take_attempts(&mut self) -> AttemptColumns {
        let mut columns = AttemptColumns { node_offsets: vec![0], ..AttemptColumns::default() };
        for LostAttempt { job, number, start, end, places, energy } in self.jobs.attempts.take_requeued() {
            columns.row.push(i32::try_from(job.0).unwrap_or(i32::MAX));
            columns.attempt.push(i32::try_from(number).unwrap_or(i32::MAX));
            columns.start_s.push(start.seconds());
            columns.end_s.push(end.seconds());
            columns.nodes.extend_from_slice(&self.jobs.nodes[places]);
            columns.node_offsets.push(i64::try_from(columns.nodes.len()).unwrap_or(i64::MAX));
            columns.energy_j.push(energy.joules());
        }
        columns
    }

    /// True if there are lost attempts that no segments report.
    #[must_use]
    pub fn has_lost_attempts(&self) -> bool {
        self.jobs.attempts.has_requeued()
    }

    /// Time factors, relative to nominal, and total draws, W, of jobs without caps: those of the job in each of `rows`
    /// on the nodes from one offset to the next.
    #[must_use]
    pub fn uncapped(&self, rows: &[u32], offsets: &[usize], nodes: &[u32]) -> (Vec<f64>, Vec<f64>) {
        let of = |(&row, place): (&u32, &[usize])| {
            let (job, nodes) = (JobId(row), &nodes[place[0]..place[1]]);
            let draws = self.actual.of_job(&self.workload, job);
            let watts: Watts = nodes.iter().map(|&node| draws.on(node)).sum();
            let size_time = self.workload.time_at(job, u32::try_from(nodes.len()).unwrap_or(u32::MAX));
            (self.actual.slowest(self.workload.app(job), nodes) * size_time, watts.watts())
        };
        rows.iter().zip(offsets.windows(2)).map(of).unzip()
    }

    /// True if the log has entries, or could have had entries about power.
    #[must_use]
    pub fn has_log(&self) -> bool {
        !self.log.is_empty() || self.totals.alerts.is_some()
    }

    /// Takes the log of events other than starts and ends; `None` if it is empty and no entries about power were
    /// possible.
    #[must_use]
    pub fn take_log(&mut self) -> Option<LogColumns> {
        if !self.has_log() {
            return None;
        }
        let log = std::mem::take(&mut self.log);
        let node = |entry: Entry| entry.node.and_then(|node| i32::try_from(node).ok()).unwrap_or(-1);
        Some(LogColumns {
            time_s: column(&log, |entry| entry.at.seconds()),
            kind: column(&log, |entry| entry.kind),
            job_id: column(&log, |entry| entry.job.map_or(0, |job| self.workload.job_id(job))),
            has_job: column(&log, |entry| entry.job.is_some()),
            node: column(&log, node),
            value_w: column(&log, |entry| entry.value_w),
            power_before_w: column(&log, |entry| entry.before.watts()),
            power_after_w: column(&log, |entry| entry.after.watts()),
        })
    }

    /// Takes the jobs' nodes in the workload's order: offsets of the lists, and the lists themselves.
    fn take_node_lists(&mut self) -> (Vec<i64>, Vec<u32>) {
        let rows = self.jobs.start.len();
        let (mut offsets, mut next) = (Vec::with_capacity(rows + 1), 0);
        let keeps = self.segments.is_some() || self.has_lost_attempts();
        let mut stand_in_order = !keeps;
        offsets.push(0);
        for (row, job) in (0..rows).zip((0..).map(JobId)) {
            if let Some(nodes) = self.nodes_of(row) {
                stand_in_order &= self.jobs.first_place(job) == next;
                next += nodes.len();
            }
            offsets.push(i64::try_from(next).unwrap_or(i64::MAX));
        }
        if stand_in_order {
            let mut nodes = std::mem::take(&mut self.jobs.nodes);
            nodes.truncate(next);
            return (offsets, nodes);
        }
        let mut nodes = Vec::with_capacity(next);
        (0..rows).for_each(|row| nodes.extend_from_slice(self.nodes_of(row).unwrap_or_default()));
        if !keeps {
            self.jobs.nodes = Vec::new();
        }
        (offsets, nodes)
    }

    /// The nodes' columns.
    #[must_use]
    pub fn node_frame(&self) -> NodeFrame {
        let nodes = 0..u32::try_from(self.boots.len()).unwrap_or(u32::MAX);
        let time = |class| nodes.clone().map(|node| self.nodes.node_time(node, class).seconds()).collect();
        NodeFrame {
            time_s: [Class::Busy, Class::Idle, Class::Off, Class::Transition, Class::Down].map(time),
            energy_j: nodes.clone().map(|node| self.nodes.node_energy(node).joules()).collect(),
        }
    }
}

/// Column with the value of `of` for each row of a log.
fn column<T>(log: &Log, of: impl Fn(Entry) -> T) -> Vec<T> {
    let mut column = Vec::with_capacity(log.len());
    column.extend(log.iter().map(of));
    column
}

/// Seconds of valid instants, in the memory of the instants.
fn seconds(instants: Vec<SimTime>, valid: &[bool]) -> Vec<f64> {
    let of = |(row, instant): (usize, SimTime)| if valid[row] { instant.seconds() } else { 0.0 };
    instants.into_iter().enumerate().map(of).collect()
}
