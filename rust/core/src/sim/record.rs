//! What a run writes down as it goes, and leaves behind: columns.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::algo::span::Span;
use crate::cluster::Cluster;
use crate::cluster::runs::{Homes, Run, RunId};
use crate::control::Refusal;
use crate::platform::cells::Lack;
use crate::platform::node_state::Class;
use crate::platform::queues::Bar;
use crate::policy::budget::Between;
use crate::policy::{Decision, Eligible, Rejection};
use crate::power::meter::Meter;
use crate::power::pvt::Actual;
use crate::sim::log::{Entry, Kind, Log};
use crate::sim::plant::Outcome;
use crate::sim::segments::Segments;
use crate::sim::timeline::{Overdraw, Row, Timeline};
use crate::sim::work::{Cause, Work};
use crate::units::{Joules, SimDuration, SimTime, Watts};
use crate::workload::{JobId, Workload};

/// What became of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// Waits, or was never submitted before the run stopped.
    Pending,
    /// Is left out by the policy: nothing says when it would start.
    LeftOut,
    /// Runs when the run stopped.
    Running,
    /// Ran to its end.
    Completed,
    /// Was killed at its walltime.
    Timeout,
    /// Was killed by a node that failed.
    Failed,
    /// Its queue takes no jobs of its kind.
    Barred(Bar),
    /// Asks for more nodes than there are.
    RejectedNodes,
    /// Asks for more slots a node than nodes have.
    RejectedSlots,
    /// No node, or not enough, have what it asks for.
    Lacking(Lack),
    /// Would exceed the power budget on whatever nodes.
    RejectedPower,
    /// Fits between no two budgets to come, and was turned away.
    RejectedBetween,
    /// Fits between no two budgets to come, and waited.
    Between,
    /// Fits the power budget only with a profile that no queued job can give its application.
    RejectedProfile,
    /// Was killed because the machine drew more than its budget.
    Overdrawn,
    /// Waits when nothing is to come that could let it start.
    Stranded,
    /// Was queued again in an emergency, and fits none of the budgets to come.
    Unpowered,
    /// Was ended by the maintenance of a node.
    Evicted,
    /// Was withdrawn.
    Cancelled,
    /// Waited for another job to end as it has not ended.
    Hopeless,
    /// Waits for another job, which never ends.
    Unmet,
}

/// The cause that ended a job in this state before its work was done; none if nothing did.
fn cut_by(state: JobState) -> Option<Cause> {
    match state {
        JobState::Completed => None,
        JobState::Timeout => Some(Cause::Walltime),
        _ => Some(Cause::Failure),
    }
}

/// How a job came to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartedBy {
    /// In the round it was submitted, with no job before it left waiting.
    Immediate,
    /// While an earlier job in policy order stayed queued.
    Backfill,
    /// After waiting, in its turn.
    Reservation,
}

/// One row a job, in the workload's order.
#[derive(Clone, Debug, Default)]
pub struct JobRecords {
    pub(super) start: Vec<SimTime>,
    pub(super) end: Vec<SimTime>,
    pub(super) energy_j: Vec<f64>,
    pub(super) state: Vec<JobState>,
    pub(super) started_by: Vec<StartedBy>,
    /// Nodes of all attempts, each one's ascending.
    pub(super) nodes: Vec<u32>,
    /// Where the nodes of first attempts are.
    homes: Homes,
    /// Where those of jobs are that have started again.
    moved: BTreeMap<u32, usize>,
    /// How many nodes moldable jobs had.
    sizes: BTreeMap<u32, u32>,
    /// Needs of jobs that fit between no two budgets.
    pub between: BTreeMap<u32, Between>,
    /// Runs that are profiled, and how many times longer they take for it.
    pub(super) profiled: BTreeMap<u32, f64>,
    /// What emergencies, caps and failures have made of each job, where there can be any.
    pub(super) ordeals: Option<Vec<Ordeal>>,
    /// Which of that is told.
    pub(super) told: Told,
    /// Attempts that were lost, in order of their ends, where no segments tell of them.
    pub(super) lost: Vec<LostAttempt>,
    /// When jobs joined the queue, where that may be later than their submission.
    pub(super) eligible: Option<Eligible>,
}

/// Which of the ordeals of jobs a run tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// How often they started, and what was lost.
    pub(super) attempts: bool,
    /// How long they stood still.
    pub(super) stood: bool,
    /// The lowest caps.
    pub(super) caps: bool,
}

/// An attempt whose job was queued again.
#[derive(Clone, Debug)]
pub struct LostAttempt {
    /// Which job.
    pub job: JobId,
    /// Which of its attempts, from 1.
    pub number: u32,
    /// From when.
    pub start: SimTime,
    /// Until when.
    pub end: SimTime,
    /// Where its nodes stand among those of all runs.
    pub places: Range<usize>,
    /// What its nodes drew for it.
    pub energy: Joules,
}

/// What emergencies and caps have made of a job.
#[derive(Clone, Copy, Debug)]
pub struct Ordeal {
    /// How often it started.
    pub attempts: u32,
    /// How long it stood still in all.
    pub stood: SimDuration,
    /// Energy of all attempts.
    pub energy: Joules,
    /// Of those that were queued again or killed in an emergency.
    pub lost: Joules,
    /// The lowest cap on any of its nodes in the last attempt, W; infinity: none.
    pub lowest_cap_w: f64,
}

impl Default for Ordeal {
    fn default() -> Self {
        Self {
            attempts: 0,
            stood: SimDuration::ZERO,
            energy: Joules::ZERO,
            lost: Joules::ZERO,
            lowest_cap_w: f64::INFINITY,
        }
    }
}

/// Totals of a run.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// First submit and last end; `None` if there is no job.
    pub window: Option<(SimTime, SimTime)>,
    /// Energy of the system: the sum of the next five.
    pub energy: Joules,
    /// While nodes serve jobs.
    pub job_energy: Joules,
    /// While nodes are idle.
    pub idle_energy: Joules,
    /// While nodes boot and shut down.
    pub transition_energy: Joules,
    /// While nodes are off.
    pub off_energy: Joules,
    /// While nodes are down.
    pub down_energy: Joules,
    /// Integral of the system's draw, kept in a book of its own.
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
    /// Jobs that bring no walltime: planning knows how long they run.
    pub clairvoyant: usize,
    /// Jobs that bring a measured draw that no watts of a predicted table stand before.
    pub measured: usize,
    /// Runs that were profiled.
    pub profiled: usize,
    /// Jobs that the policy left out.
    pub left_out: usize,
    /// Jobs that started later than the log says they did in reality.
    pub late: usize,
    /// Ceiling of the policy's predicted draw, if it has one, and how the actual draw went beyond what was in force.
    pub budget: Option<(Watts, Overdraw)>,
    /// Emergencies, where the draw is monitored.
    pub alerts: Option<u64>,
    /// Energy of attempts that were queued again or killed in them.
    pub lost_energy: Joules,
}

/// Everything a run leaves behind.
#[derive(Clone, Debug)]
pub struct Records {
    /// The jobs that were run.
    pub workload: Arc<Workload>,
    /// By job.
    pub jobs: JobRecords,
    /// By instant.
    pub timeline: Timeline,
    /// By node.
    pub nodes: Meter,
    /// How often each node booted.
    pub boots: Vec<i32>,
    /// How often each node shut down.
    pub shutdowns: Vec<i32>,
    /// Over all.
    pub totals: Totals,
    /// The stretches of runs in which nothing changed, where anything can; none: each attempt is one.
    pub segments: Option<Segments>,
    /// What happened about power.
    pub log: Log,
    /// What runs were charged by.
    pub actual: Arc<Actual>,
}

/// All that is written down while a run goes on.
#[derive(Clone, Debug)]
pub(super) struct History {
    jobs: JobRecords,
    timeline: Timeline,
    boots: Vec<i32>,
    shutdowns: Vec<i32>,
    work: Work,
    /// Jobs that will change no more.
    done: usize,
    log: Log,
    last_end: SimTime,
    alerts: Option<u64>,
    lost_energy: Joules,
    /// Whether the timeline says which budget is in force.
    shows_budget: bool,
    /// Whether jobs make way for others.
    makes_way: bool,
    /// Whether segments tell of attempts that are lost.
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
            lost_energy: Joules::ZERO,
            shows_budget: false,
            makes_way: false,
            has_segments: false,
        }
    }

    /// From now on jobs may be capped, stand still or be queued again; `monitors`: the draw is compared with the budget.
    pub(super) fn watch_power(&mut self, monitors: bool) {
        self.watch_attempts();
        self.watch_segments();
        self.jobs.told = Told { attempts: true, stood: true, caps: true };
        if monitors && self.alerts.is_none() {
            self.alerts = Some(0);
            self.timeline.tell_suspended();
        }
    }

    /// Attempts that are over, where each ran in one stretch; from now on others tell of them.
    pub(super) fn attempts_over(&mut self, cluster: &Cluster) -> Vec<LostAttempt> {
        let mut over = std::mem::take(&mut self.jobs.lost);
        for row in 0..self.jobs.state.len() {
            let Some((start, end)) = self.jobs.start(row).zip(self.jobs.end(row)) else { continue };
            let job = JobId(u32::try_from(row).unwrap_or(u32::MAX));
            let count = self.jobs.sizes.get(&job.0).copied().unwrap_or_else(|| cluster.workload().node_count(job));
            let first = self.jobs.moved.get(&job.0).copied().or_else(|| cluster.runs().home(job)).unwrap_or_default();
            let number = self.jobs.ordeals.as_ref().map_or(1, |ordeals| ordeals[row].attempts);
            let energy = Joules::from_joules(self.jobs.energy_j[row]);
            over.push(LostAttempt { job, number, start, end, places: first..first + count as usize, energy });
        }
        over
    }

    /// From now on the timeline says which budget is in force; before, it was this one.
    pub(super) fn tell_budget(&mut self, before: Option<Watts>) {
        if !self.shows_budget {
            self.timeline.tell_budget(before);
        }
        self.shows_budget = true;
    }

    /// From now on jobs may make way for others.
    pub(super) fn watch_suspensions(&mut self) {
        self.jobs.ordeals.get_or_insert_with(|| vec![Ordeal::default(); self.jobs.state.len()]);
        self.jobs.told.stood = true;
        self.makes_way = true;
        self.watch_segments();
    }

    /// From now on segments tell of attempts that are lost.
    pub(super) fn watch_segments(&mut self) {
        self.has_segments = true;
    }

    /// From now on nodes may go down: it is told how often jobs have started.
    pub(super) fn watch_attempts(&mut self) {
        self.jobs.told.attempts = true;
        if self.jobs.ordeals.is_none() {
            let attempts = self.jobs.start.iter().map(|&start| u32::from(start != SimTime::NEVER));
            self.jobs.ordeals = Some(attempts.map(|attempts| Ordeal { attempts, ..Ordeal::default() }).collect());
        }
    }

    /// There are more jobs.
    pub(super) fn grow(&mut self, jobs: usize) {
        self.jobs.grow(jobs);
    }

    /// State of a job that is over, and the time at which it ended if it has run; none if it is not over.
    pub(super) fn end_of(&self, job: JobId) -> Option<(JobState, Option<SimTime>)> {
        let state = self.jobs.state[job.0 as usize];
        let waits = matches!(state, JobState::Pending | JobState::Running | JobState::LeftOut);
        (!waits).then(|| (state, self.jobs.end(job.0 as usize)))
    }

    /// True if a job has joined the queue, where it does so at its submission: if it was submitted at all.
    pub(super) fn has_joined(&self, job: JobId) -> bool {
        use JobState::{Barred, Lacking, LeftOut, RejectedNodes, RejectedPower, RejectedSlots};
        let state = self.jobs.state[job.0 as usize];
        !matches!(state, Barred(_) | Lacking(_) | LeftOut | RejectedNodes | RejectedPower | RejectedSlots)
    }

    /// Whether a job was turned away for good.
    pub(super) fn is_rejected(&self, job: JobId) -> bool {
        self.jobs.state[job.0 as usize] != JobState::LeftOut
    }

    /// A job is withdrawn.
    pub(super) fn cancel(&mut self, job: JobId, why: JobState) {
        self.jobs.state[job.0 as usize] = why;
        self.done += 1;
    }

    /// From now on the timeline says which budget is in force.
    pub(super) fn show_budget(&mut self) {
        self.shows_budget = true;
    }

    /// Something happened about power.
    pub(super) fn note(&mut self, entry: Entry) {
        self.log.push(entry);
        if let (Kind::Alert, Some(alerts)) = (entry.kind, &mut self.alerts) {
            *alerts += 1;
        }
    }

    /// The same happened to nodes that are alike, one after the other: each changed the draw, which
    /// was the one, by the other.
    pub(super) fn note_nodes(&mut self, at: SimTime, kind: Kind, nodes: Span, draw: (Watts, Watts)) {
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
        let row = Row {
            budget_w: self.budget_w(ceiling),
            suspended: self.tells_suspended().then_some(suspended),
            ..Row::new(draw, counts)
        };
        self.timeline.record(cluster.now(), row);
    }

    /// Whether the timeline tells how many jobs stand still.
    fn tells_suspended(&self) -> bool {
        self.alerts.is_some() || self.makes_way
    }

    fn budget_w(&self, ceiling: impl FnOnce() -> Option<Watts>) -> Option<f64> {
        self.shows_budget.then(|| ceiling().map_or(f64::INFINITY, Watts::watts))
    }

    /// A job joined no queue.
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

    /// A job fits between no two budgets to come.
    pub(super) fn note_between(&mut self, job: JobId, need: Between) {
        self.jobs.between.insert(job.0, need);
    }

    /// A job of the queue will never start.
    pub(super) fn reject(&mut self, job: JobId, why: Rejection) {
        self.jobs.state[job.0 as usize] = match why {
            Rejection::NoProfile => JobState::RejectedProfile,
            // One that has run before was queued again.
            Rejection::Power if self.jobs.start[job.0 as usize] != SimTime::NEVER => JobState::Unpowered,
            Rejection::Power => JobState::RejectedPower,
        };
        self.done += 1;
    }

    /// A run has begun; `joined_now` says whether a job was submitted in this round.
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

    /// A run has other nodes.
    pub(super) fn resize(&mut self, run: &Run) {
        self.jobs.moved.insert(run.job.0, run.places.start);
        self.jobs.sizes.insert(run.job.0, u32::try_from(run.places.len()).unwrap_or(u32::MAX));
    }

    /// A pass is over: now it is known whether a job that started in it overtook one that stays queued.
    pub(super) fn note_overtaking(&mut self, job: JobId, overtakes: bool, joined_now: bool) {
        self.jobs.started_by[job.0 as usize] = match overtakes {
            true => StartedBy::Backfill,
            false if joined_now => StartedBy::Immediate,
            false => StartedBy::Reservation,
        };
    }

    /// A run is over: as its outcome says, unless something else ended it. Returns how.
    pub(super) fn end(&mut self, cluster: &Cluster, run: &Run, outcome: &Outcome, how: Option<JobState>) -> JobState {
        let natural = if outcome.is_cut { JobState::Timeout } else { JobState::Completed };
        let (row, how) = (run.job.0 as usize, how.unwrap_or(natural));
        self.last_end = cluster.now();
        let cut = cut_by(how).map(|cause| (cause, outcome.ran, outcome.whole));
        self.work.end(cluster.workload(), run.job, cut);
        self.charge(run, outcome.energy);
        self.endure(run, outcome, matches!(how, JobState::Overdrawn | JobState::Failed | JobState::Evicted));
        (self.jobs.end[row], self.jobs.state[row]) = (cluster.now(), how);
        self.done += 1;
        how
    }

    /// All jobs that wait will do so for ever, in the queue or outside it.
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

    /// A run was ended and its job queued again.
    pub(super) fn requeue(&mut self, cluster: &Cluster, run: &Run, outcome: &Outcome) {
        let row = run.job.0 as usize;
        self.last_end = cluster.now();
        self.charge(run, outcome.energy);
        self.endure(run, outcome, true);
        if !self.has_segments {
            let Run { job, attempt: number, started: start, .. } = *run;
            let (end, places, energy) = (cluster.now(), run.places.clone(), outcome.energy);
            self.jobs.lost.push(LostAttempt { job, number, start, end, places, energy });
        }
        // Of jobs that made way it is told how long their last attempt stood still.
        if let Some(ordeals) = self.jobs.ordeals.as_mut().filter(|_| self.makes_way) {
            ordeals[row].stood = SimDuration::ZERO;
        }
        (self.jobs.end[row], self.jobs.state[row]) = (cluster.now(), JobState::Pending);
    }

    /// What an attempt leaves of a job beside its times; `is_lost`: its work is.
    fn endure(&mut self, run: &Run, outcome: &Outcome, is_lost: bool) {
        let Some(ordeal) = self.jobs.ordeals.as_mut().map(|ordeals| &mut ordeals[run.job.0 as usize]) else { return };
        ordeal.attempts = run.attempt;
        ordeal.stood += outcome.stood;
        ordeal.lowest_cap_w = outcome.lowest_cap_w;
        if is_lost {
            ordeal.lost += outcome.energy;
            self.lost_energy += outcome.energy;
        }
    }

    /// What a run has drawn, beside the earlier attempts of its job.
    pub(super) fn charge(&mut self, run: &Run, energy: Joules) {
        let row = run.job.0 as usize;
        let all = self.jobs.ordeals.as_mut().map_or(energy, |ordeals| {
            ordeals[row].energy += energy;
            ordeals[row].energy
        });
        self.jobs.energy_j[row] = all.joules();
    }

    /// What is to say of a run that was not over when the window was.
    pub(super) fn leave_off(&mut self, run: &Run, energy: Joules, stood: SimDuration, lowest_cap_w: f64) {
        self.charge(run, energy);
        if let Some(ordeals) = &mut self.jobs.ordeals {
            let ordeal = &mut ordeals[run.job.0 as usize];
            *ordeal = Ordeal { attempts: run.attempt, stood: ordeal.stood + stood, lowest_cap_w, ..*ordeal };
        }
    }

    pub(super) fn boot(&mut self, nodes: Span) {
        self.boots[nodes.places()].iter_mut().for_each(|boots| *boots += 1);
    }

    pub(super) fn shut_down(&mut self, nodes: Span) {
        self.shutdowns[nodes.places()].iter_mut().for_each(|shutdowns| *shutdowns += 1);
    }

    /// When the last attempt ended that did.
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

    /// Of a run in which nothing started only those budgets are told that begin or end as it does.
    pub(super) fn tell_only(&mut self, at: SimTime, more: usize, draw: Watts, ceiling: Option<Watts>) {
        self.log.keep_budgets(|entry| entry.at == at);
        let value_w = ceiling.map_or(f64::NAN, Watts::watts);
        let entry = Entry { value_w, ..Entry::new(at, Kind::Budget, draw) };
        std::iter::repeat_n(entry, more).for_each(|entry| self.log.push(entry));
    }

    /// A run in which nothing started has a window of length zero: its one row is its start.
    pub(super) fn forget(&mut self, start: SimTime, cluster: &Cluster, draw: Watts, ceiling: Option<Watts>) {
        self.timeline = Timeline::default();
        let idle = cluster.classes().iter().sum();
        let (budget_w, suspended) = (self.budget_w(|| ceiling), self.tells_suspended().then_some(0));
        self.timeline.record(start, Row { budget_w, suspended, ..Row::new(draw, [0, idle, 0, 0, 0, 0, 0]) });
    }

    /// How the draw went beyond a budget.
    pub(super) fn beyond(&self, budget: Watts) -> Overdraw {
        self.timeline.beyond(budget)
    }

    /// All there is to say of the run.
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
        (totals.alerts, totals.lost_energy) = (self.alerts, self.lost_energy);
        let Self { timeline, boots, shutdowns, log, .. } = self;
        Records { workload, jobs, timeline, nodes: meter, boots, shutdowns, totals, segments, log, actual }
    }
}

impl JobRecords {
    /// Each node has another number, the one that stands in its place.
    pub(super) fn renumber(&mut self, numbers: &[u32]) {
        self.nodes.iter_mut().for_each(|node| *node = numbers[*node as usize]);
    }

    /// No job has started.
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
            ordeals: None,
            told: Told::default(),
            lost: Vec::new(),
            eligible: None,
        }
    }

    /// There are more jobs, of which none has started.
    fn grow(&mut self, jobs: usize) {
        self.start.resize(jobs, SimTime::NEVER);
        self.end.resize(jobs, SimTime::NEVER);
        self.energy_j.resize(jobs, 0.0);
        self.state.resize(jobs, JobState::Pending);
        self.started_by.resize(jobs, StartedBy::Immediate);
        if let Some(ordeals) = &mut self.ordeals {
            ordeals.resize(jobs, Ordeal::default());
        }
    }

    /// When the job started, if it did.
    #[must_use]
    pub fn start(&self, job: usize) -> Option<SimTime> {
        self.has_started(job).then(|| self.start[job])
    }

    /// When the job ended, if it did.
    #[must_use]
    pub fn end(&self, job: usize) -> Option<SimTime> {
        (self.has_started(job) && self.state[job] != JobState::Running).then(|| self.end[job])
    }

    /// Energy of the job, J: of all its nodes together; `None` if it never started.
    #[must_use]
    pub fn energy_j(&self, job: usize) -> Option<f64> {
        (self.start[job] != SimTime::NEVER).then(|| self.energy_j[job])
    }

    /// What became of the job.
    #[must_use]
    pub fn state(&self, job: usize) -> JobState {
        self.state[job]
    }

    /// How the job came to start, if it did.
    #[must_use]
    pub fn started_by(&self, job: usize) -> Option<StartedBy> {
        self.has_started(job).then(|| self.started_by[job])
    }

    /// Whether the job started later than the log says it did in reality.
    fn is_late(&self, workload: &Workload, job: JobId) -> bool {
        let observed = workload.observed_start(job);
        self.start(job.0 as usize).zip(observed).is_some_and(|(start, observed)| start > observed)
    }

    /// The nodes of a started job that has so many.
    fn nodes_of(&self, job: JobId, count: u32) -> &[u32] {
        let first = self.first_place(job);
        &self.nodes[first..first + count as usize]
    }

    /// Where the nodes of a started job begin.
    pub(super) fn first_place(&self, job: JobId) -> usize {
        let moved = if self.moved.is_empty() { None } else { self.moved.get(&job.0).copied() };
        moved.or_else(|| self.homes.of(job)).unwrap_or(usize::MAX)
    }

    /// Energy of each job's last attempt, J, where attempts were lost: what is left of its energy.
    pub(super) fn last_j(&self) -> Vec<f64> {
        let mut last = self.energy_j.clone();
        let Some(ordeals) = &self.ordeals else { return last };
        let mut before = BTreeMap::new();
        for lost in &self.lost {
            *before.entry(lost.job.0 as usize).or_insert(Joules::ZERO) += lost.energy;
        }
        for (row, lost) in before {
            last[row] = (ordeals[row].energy - lost).joules();
        }
        last
    }

    /// Whether there is an attempt to speak of: none of a job that was queued again and waits.
    fn has_started(&self, job: usize) -> bool {
        let waits = matches!(self.state[job], JobState::Pending | JobState::Stranded | JobState::Cancelled);
        self.start[job] != SimTime::NEVER && !waits
    }
}

impl Totals {
    /// Reads the meter's books, closed.
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
    /// When the job in this row ended, if it did.
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
