//! Records of a run, in columns: written while it goes on, and its output at the end.

mod jobs;

use std::sync::Arc;

use crate::algo::span::Span;
use crate::cluster::Cluster;
use crate::cluster::runs::{Run, RunId};
use crate::control::Refusal;
use crate::platform::node_state::Class;
use crate::policy::budget::Between;
use crate::policy::{Decision, Rejection};
use crate::power::meter::Meter;
use crate::power::pvt::Actual;
use crate::sim::attempts::LostAttempt;
use crate::sim::job_state::{JobState, StartedBy};
use crate::sim::log::{Entry, EntryKind, Log};
use crate::sim::plant::Outcome;
use crate::sim::segments::Segments;
use crate::sim::timeline::{Overdraw, Timeline, TimelineRow};
use crate::sim::work::Work;
use crate::units::{Joules, SimDuration, SimTime, Watts};
use crate::workload::{JobId, Workload};

pub use jobs::JobRecords;

/// Totals of a run.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// First submit and last end; `None` if there is no job.
    pub window: Option<(SimTime, SimTime)>,
    /// Energy of the system: the sum of the next five.
    pub energy: Joules,
    /// Energy drawn while nodes serve jobs.
    pub job_energy: Joules,
    /// Energy drawn while nodes are idle.
    pub idle_energy: Joules,
    /// Energy drawn while nodes boot and shut down.
    pub transition_energy: Joules,
    /// Energy drawn while nodes are off.
    pub off_energy: Joules,
    /// Energy drawn while nodes are down.
    pub down_energy: Joules,
    /// Integral of the system's draw, accumulated independently of the sums above.
    pub integral: Joules,
    /// Nominal work of the jobs that started and ended.
    pub work: Work,
    /// Time nodes served jobs, all nodes together, s.
    pub busy_node_s: f64,
    /// Highest draw of the timeline.
    pub peak: Watts,
    /// Scheduling passes made.
    pub passes: u64,
    /// Events absorbed.
    pub events: u64,
    /// Cells of the actual table below their node's idle draw.
    pub below_idle: usize,
    /// Jobs without a walltime, which are planned with their nominal runtime.
    pub clairvoyant: usize,
    /// Jobs that bring a measured draw that no watts of a predicted table override.
    pub measured: usize,
    /// Runs that were profiled.
    pub profiled: usize,
    /// Jobs that the policy left out.
    pub left_out: usize,
    /// Jobs that started later than the log says they did in reality.
    pub late: usize,
    /// Ceiling of the policy's predicted draw, if it has one, and the overdraw: the actual draw above the ceiling in
    /// force.
    pub budget: Option<(Watts, Overdraw)>,
    /// Number of emergencies, if the draw is monitored.
    pub alerts: Option<u64>,
    /// Energy of lost attempts: requeued ones, and those killed by an emergency, a failure or maintenance.
    pub lost_energy: Joules,
}

/// Everything a run leaves behind.
#[derive(Clone, Debug)]
pub struct Records {
    /// The jobs that were run.
    pub workload: Arc<Workload>,
    /// Records by job.
    pub jobs: JobRecords,
    /// Records by instant.
    pub timeline: Timeline,
    /// Meter of each node.
    pub nodes: Meter,
    /// Number of boots of each node.
    pub boots: Vec<i32>,
    /// Number of shutdowns of each node.
    pub shutdowns: Vec<i32>,
    /// Totals over the whole run.
    pub totals: Totals,
    /// Stretches of runs in which nothing changed. `None` if nothing can change during an attempt: each is one stretch.
    pub segments: Option<Segments>,
    /// Log of events other than starts and ends.
    pub log: Log,
    /// Actual table, by which runs were charged.
    pub actual: Arc<Actual>,
}

/// Records under construction while a run goes on.
#[derive(Clone, Debug)]
pub(super) struct History {
    jobs: JobRecords,
    timeline: Timeline,
    boots: Vec<i32>,
    shutdowns: Vec<i32>,
    work: Work,
    /// Number of jobs in a final state.
    done: usize,
    log: Log,
    last_end: SimTime,
    alerts: Option<u64>,
    /// True if the timeline shows the budget in force.
    shows_budget: bool,
    /// True if segments report lost attempts.
    has_segments: bool,
}

impl History {
    pub(super) fn new(workload: &Workload, nodes: u32) -> Self {
        Self {
            jobs: JobRecords::new(workload.len()),
            timeline: Timeline::with_capacity(2 * workload.len() + 2),
            boots: vec![0; nodes as usize],
            shutdowns: vec![0; nodes as usize],
            work: Work::default(),
            done: 0,
            log: Log::default(),
            last_end: SimTime::NEVER,
            alerts: None,
            shows_budget: false,
            has_segments: false,
        }
    }

    /// Records caps, suspensions and requeued attempts from now on; with `monitors` also emergencies, as the draw is
    /// compared with the budget.
    pub(super) fn watch_power(&mut self, monitors: bool) {
        self.jobs.attempts.watch_power(&self.jobs.start);
        self.watch_segments();
        if monitors && self.alerts.is_none() {
            self.alerts = Some(0);
            self.timeline.tell_suspended();
        }
    }

    /// Takes the attempts that are over, each of which ran in one stretch, so that segments can report them from now
    /// on.
    pub(super) fn attempts_over(&mut self, cluster: &Cluster) -> Vec<LostAttempt> {
        let mut over = self.jobs.attempts.take_requeued();
        for row in 0..self.jobs.state.len() {
            let Some((start, end)) = self.jobs.start(row).zip(self.jobs.end(row)) else { continue };
            let job = JobId(u32::try_from(row).unwrap_or(u32::MAX));
            let count = self.jobs.sizes.get(&job.0).copied().unwrap_or_else(|| cluster.workload().node_count(job));
            let first = self.jobs.moved.get(&job.0).copied().or_else(|| cluster.runs().home(job)).unwrap_or_default();
            let number = self.jobs.attempts.number(row);
            let energy = Joules::from_joules(self.jobs.energy_j[row]);
            over.push(LostAttempt { job, number, start, end, places: first..first + count as usize, energy });
        }
        over
    }

    /// Shows the budget in force in the timeline from now on, and `before` in the rows so far.
    pub(super) fn tell_budget(&mut self, before: Option<Watts>) {
        if !self.shows_budget {
            self.timeline.tell_budget(before);
        }
        self.shows_budget = true;
    }

    /// Records suspensions from now on, as jobs may be preempted by others.
    pub(super) fn watch_suspensions(&mut self) {
        self.jobs.attempts.watch_suspensions(&self.jobs.start);
        self.watch_segments();
    }

    /// Leaves lost attempts to the segments from now on.
    pub(super) fn watch_segments(&mut self) {
        self.has_segments = true;
    }

    /// Counts attempts from now on, as nodes may go down.
    pub(super) fn watch_attempts(&mut self) {
        self.jobs.attempts.watch(&self.jobs.start);
    }

    /// Makes room for more jobs.
    pub(super) fn grow(&mut self, jobs: usize) {
        self.jobs.grow(jobs);
    }

    /// State of a job that is over, and the time at which it ended if it has run; none if it is not over.
    pub(super) fn end_of(&self, job: JobId) -> Option<(JobState, Option<SimTime>)> {
        let state = self.jobs.state[job.0 as usize];
        let waits = matches!(state, JobState::Pending | JobState::Running | JobState::LeftOut);
        (!waits).then(|| (state, self.jobs.end(job.0 as usize)))
    }

    /// True if a job has joined the queue, provided that it was submitted. Valid only if jobs join the queue at their
    /// submission.
    pub(super) fn has_joined(&self, job: JobId) -> bool {
        use JobState::{Barred, Lacking, LeftOut, RejectedNodes, RejectedPower, RejectedSlots};
        let state = self.jobs.state[job.0 as usize];
        !matches!(state, Barred(_) | Lacking(_) | LeftOut | RejectedNodes | RejectedPower | RejectedSlots)
    }

    /// Records that a job is withdrawn.
    pub(super) fn cancel(&mut self, job: JobId, why: JobState) {
        self.jobs.state[job.0 as usize] = why;
        self.done += 1;
    }

    /// Shows the budget in force in the timeline from now on.
    pub(super) fn show_budget(&mut self) {
        self.shows_budget = true;
    }

    /// Adds an entry to the log, and counts it if it is an alert.
    pub(super) fn note(&mut self, entry: Entry) {
        self.log.push(entry);
        if let (EntryKind::Alert, Some(alerts)) = (entry.kind, &mut self.alerts) {
            *alerts += 1;
        }
    }

    /// Adds an entry for each of several equal nodes, to which the same happened one after the other. `draw` is the
    /// machine's draw before the first, and the step by which each changed it.
    pub(super) fn note_nodes(&mut self, at: SimTime, kind: EntryKind, nodes: Span, draw: (Watts, Watts)) {
        self.log.push_nodes(at, kind, nodes, draw);
    }

    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Writes the instant down, once nothing more happens at it.
    pub(super) fn record(&mut self, cluster: &Cluster, draw: Watts, ceiling: impl FnOnce() -> Option<Watts>) {
        let [busy, idle, off, transition, down] = cluster.classes();
        let suspended = cluster.suspended();
        let counts = [busy, idle, off, transition, down, cluster.queued(), cluster.running() - suspended];
        let row = TimelineRow {
            budget_w: self.budget_w(ceiling),
            suspended: self.tells_suspended().then_some(suspended),
            ..TimelineRow::new(draw, counts)
        };
        self.timeline.record(cluster.now(), row);
    }

    /// True if the timeline counts suspended jobs.
    fn tells_suspended(&self) -> bool {
        self.alerts.is_some() || self.jobs.attempts.makes_way()
    }

    fn budget_w(&self, ceiling: impl FnOnce() -> Option<Watts>) -> Option<f64> {
        self.shows_budget.then(|| ceiling().map_or(f64::INFINITY, Watts::watts))
    }

    /// Records that a job was turned away at its submission.
    pub(super) fn turn_away(&mut self, job: JobId, why: Refusal) {
        self.jobs.state[job.0 as usize] = match why {
            Refusal::Bar(bar) => JobState::Barred(bar),
            Refusal::Nodes => JobState::RejectedNodes,
            Refusal::Slots => JobState::RejectedSlots,
            Refusal::Lack(lack) => JobState::Lacking(lack),
            Refusal::LeftOut => JobState::LeftOut,
            Refusal::Power => JobState::RejectedPower,
            Refusal::Between => JobState::RejectedBetween,
        };
        self.done += 1;
    }

    /// Keeps the need of a job that fits between no two budgets to come.
    pub(super) fn note_between(&mut self, job: JobId, need: Between) {
        self.jobs.between.insert(job.0, need);
    }

    /// Records that a queued job will never start.
    pub(super) fn reject(&mut self, job: JobId, why: Rejection) {
        self.jobs.state[job.0 as usize] = match why {
            Rejection::NoProfile => JobState::RejectedProfile,
            // One that has run before was queued again.
            Rejection::Power if self.jobs.start[job.0 as usize] != SimTime::NEVER => JobState::Unpowered,
            Rejection::Power => JobState::RejectedPower,
        };
        self.done += 1;
    }

    /// Records the start of a run; `joined_now` is true for a job that was submitted in this round.
    pub(super) fn start(
        &mut self,
        cluster: &Cluster,
        id: RunId,
        decision: &Decision,
        joined_now: impl FnOnce(JobId) -> bool,
    ) {
        let (Some(run), Decision::Start(start)) = (cluster.runs().get(id), decision) else { return };
        let row = run.job.0 as usize;
        self.jobs.start[row] = run.started;
        self.jobs.state[row] = JobState::Running;
        let is_moldable = cluster.workload().is_moldable(run.job);
        if run.attempt > 1 || is_moldable || cluster.runs().home(run.job).is_none() {
            self.jobs.moved.insert(run.job.0, run.places.start);
        }
        if is_moldable {
            self.jobs.sizes.insert(run.job.0, u32::try_from(run.places.len()).unwrap_or(u32::MAX));
        }
        self.note_overtaking(run.job, start.overtakes, !start.overtakes && joined_now(run.job));
        if let Some(ratio) = run.profiling_ratio {
            self.jobs.profiled.insert(run.job.0, ratio);
        }
    }

    /// Records that the nodes of a run have changed.
    pub(super) fn resize(&mut self, run: &Run) {
        self.jobs.moved.insert(run.job.0, run.places.start);
        self.jobs.sizes.insert(run.job.0, u32::try_from(run.places.len()).unwrap_or(u32::MAX));
    }

    /// Records how a job came to start. Called again after the pass, once it is known which jobs stay queued: only then
    /// is it certain that the job overtook one.
    pub(super) fn note_overtaking(&mut self, job: JobId, overtakes: bool, joined_now: bool) {
        self.jobs.started_by[job.0 as usize] = match overtakes {
            true => StartedBy::Backfill,
            false if joined_now => StartedBy::Immediate,
            false => StartedBy::Reservation,
        };
    }

    /// Records the end of a run, and returns its state: that of the outcome, unless `how` says that something else
    /// ended it.
    pub(super) fn end(&mut self, cluster: &Cluster, run: &Run, outcome: &Outcome, how: Option<JobState>) -> JobState {
        let natural = if outcome.is_cut { JobState::Timeout } else { JobState::Completed };
        let (row, how) = (run.job.0 as usize, how.unwrap_or(natural));
        self.last_end = cluster.now();
        let cut = how.cut_by().map(|cause| (cause, outcome.ran, outcome.whole));
        self.work.end(cluster.workload(), run.job, cut);
        let is_lost = matches!(how, JobState::Overdrawn | JobState::Failed | JobState::Evicted);
        self.jobs.energy_j[row] = self.jobs.attempts.end(run, outcome, is_lost).joules();
        (self.jobs.end[row], self.jobs.state[row]) = (cluster.now(), how);
        self.done += 1;
        how
    }

    /// Records that all jobs that still wait, in the queue or outside it, will wait for ever.
    pub(super) fn strand(&mut self, is_held: impl Fn(JobId) -> bool) {
        let JobRecords { state, between, .. } = &mut self.jobs;
        for (job, state) in (0..).map(JobId).zip(state).filter(|(_, state)| **state == JobState::Pending) {
            *state = match job {
                job if is_held(job) => JobState::Unmet,
                JobId(row) if between.contains_key(&row) => JobState::Between,
                _ => JobState::Stranded,
            };
        }
    }

    /// Records that a run was ended and its job requeued.
    pub(super) fn requeue(&mut self, cluster: &Cluster, run: &Run, outcome: &Outcome) {
        let row = run.job.0 as usize;
        self.last_end = cluster.now();
        let energy = self.jobs.attempts.requeue(run, outcome, cluster.now(), !self.has_segments);
        self.jobs.energy_j[row] = energy.joules();
        (self.jobs.end[row], self.jobs.state[row]) = (cluster.now(), JobState::Pending);
    }

    /// Records a run that was not over at the end of the window.
    pub(super) fn leave_off(&mut self, run: &Run, energy: Joules, stood: SimDuration, lowest_cap_w: f64) {
        let all = self.jobs.attempts.leave_off(run, energy, stood, lowest_cap_w);
        self.jobs.energy_j[run.job.0 as usize] = all.joules();
    }

    pub(super) fn boot(&mut self, nodes: Span) {
        self.boots[nodes.places()].iter_mut().for_each(|boots| *boots += 1);
    }

    pub(super) fn shut_down(&mut self, nodes: Span) {
        self.shutdowns[nodes.places()].iter_mut().for_each(|shutdowns| *shutdowns += 1);
    }

    /// End of the last attempt that has ended.
    pub(super) fn last_end(&self) -> SimTime {
        self.last_end
    }

    /// Forgets the budgets and the states of the machine that were noted after the end of the window.
    pub(super) fn go_back(&mut self, end: SimTime) {
        self.log.keep_budgets(|entry| entry.at <= end);
        self.timeline.go_back(end);
    }

    /// Makes `end` the end of the window.
    pub(super) fn close(&mut self, end: SimTime) {
        self.timeline.close(end);
    }

    /// Keeps only the budget entries at `at`, and adds `more` of them: in a run in which nothing started, only budgets
    /// that begin or end at its one instant are reported.
    pub(super) fn tell_only(&mut self, at: SimTime, more: usize, draw: Watts, ceiling: Option<Watts>) {
        self.log.keep_budgets(|entry| entry.at == at);
        let value_w = ceiling.map_or(f64::NAN, Watts::watts);
        let entry = Entry { value_w, ..Entry::new(at, EntryKind::Budget, draw) };
        std::iter::repeat_n(entry, more).for_each(|entry| self.log.push(entry));
    }

    /// Reduces the timeline to one row, at `start`: a run in which nothing started has a window of length zero.
    pub(super) fn forget(&mut self, start: SimTime, cluster: &Cluster, draw: Watts, ceiling: Option<Watts>) {
        self.timeline = Timeline::default();
        let idle = cluster.classes().iter().sum();
        let (budget_w, suspended) = (self.budget_w(|| ceiling), self.tells_suspended().then_some(0));
        self.timeline
            .record(start, TimelineRow { budget_w, suspended, ..TimelineRow::new(draw, [0, idle, 0, 0, 0, 0, 0]) });
        self.timeline.close(start);
    }

    /// Overdraw: how long and how far the draw exceeded a budget.
    pub(super) fn beyond(&self, budget: Watts) -> Overdraw {
        self.timeline.beyond(budget)
    }

    /// Finishes the records of the run.
    pub(super) fn into_records(
        self,
        cluster: Cluster,
        meter: Meter,
        (segments, actual): (Option<Segments>, Arc<Actual>),
        mut totals: Totals,
    ) -> Records {
        let (workload, eligible) = (Arc::clone(cluster.workload()), cluster.eligible().cloned());
        let (nodes, homes) = cluster.into_nodes();
        let jobs = JobRecords { nodes, homes, eligible, ..self.jobs };
        totals.read(&meter, self.timeline.peak());
        totals.profiled = jobs.profiled.len();
        totals.left_out = jobs.state.iter().filter(|&&job| job == JobState::LeftOut).count();
        totals.late = workload.jobs().filter(|&job| jobs.is_late(&workload, job)).count();
        totals.work = self.work;
        (totals.alerts, totals.lost_energy) = (self.alerts, jobs.attempts.lost_energy());
        let Self { timeline, boots, shutdowns, log, .. } = self;
        Records { workload, jobs, timeline, nodes: meter, boots, shutdowns, totals, segments, log, actual }
    }
}

impl Totals {
    /// Takes the energies and times from the meter, whose books are closed.
    pub(super) fn read(&mut self, meter: &Meter, peak: Watts) {
        self.peak = peak;
        self.job_energy = meter.energy_of(Class::Busy);
        self.idle_energy = meter.energy_of(Class::Idle);
        self.transition_energy = meter.energy_of(Class::Transition);
        self.off_energy = meter.energy_of(Class::Off);
        self.down_energy = meter.energy_of(Class::Down);
        let parts = [self.job_energy, self.idle_energy, self.transition_energy, self.off_energy, self.down_energy];
        self.energy = parts.into_iter().sum();
        self.integral = meter.integral();
        self.busy_node_s = meter.seconds_in(Class::Busy);
    }
}

impl Records {
    /// End of the job in this row, if it ended.
    #[must_use]
    pub fn end(&self, job: usize) -> Option<SimTime> {
        self.jobs.end(job)
    }

    /// The nodes of the job in this row, ascending; `None` if it never started.
    #[must_use]
    pub fn nodes_of(&self, job: usize) -> Option<&[u32]> {
        self.jobs.start(job)?;
        let id = JobId(u32::try_from(job).ok()?);
        let count = self.jobs.sizes.get(&id.0).copied().unwrap_or_else(|| self.workload.node_count(id));
        Some(self.jobs.nodes_of(id, count))
    }
}
