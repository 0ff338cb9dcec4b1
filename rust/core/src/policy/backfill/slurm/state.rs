//! State of the scheduler: what it knows of jobs and nodes, and the order of its beats within an instant.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::algo::fit_list::{ClassId, FitList, QueueKey, Waiting};
use crate::algo::node_set::NodeSet;
use crate::cluster::shares::Shares;
use crate::error::Result;
use crate::platform::node_state::NodeState;
use crate::policy::View;
use crate::policy::backfill::slurm::clock::{Beats, Clock, just_after};
use crate::policy::backfill::slurm::loops::{Agent, MainLoop};
use crate::policy::backfill::slurm::nodes::{Nodes, Power};
use crate::policy::backfill::slurm::pending::{Line, Pending};
use crate::policy::backfill::slurm::quiet::{Fruitless, Quiet};
use crate::policy::backfill::slurm::running::{Allocation, Running, Stage};
use crate::policy::backfill::slurm::saving::Saver;
use crate::policy::backfill::slurm::settings::Settings;
use crate::policy::backfill::start as start_in_queue;
use crate::policy::desk::Desk;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Everything that changes as time passes.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) settings: Arc<Settings>,
    pub(super) clock: Clock,
    main: MainLoop,
    agent: Option<Agent>,
    saver: Option<Saver>,
    /// Recomputations of priorities, where the plug-in counts any.
    recompute: Option<Beats>,
    /// Recomputations and epilog runs before this instant are over.
    seen: SimTime,
    /// Runs of the main loop at the ends of epilogs, where they are listed.
    epilogs: Option<Beats>,
    /// Ends of clean-ups, where they are listed.
    cleans: Option<Beats>,
    /// Checks of time limits before this instant are over.
    grid_seen: SimTime,
    pub(super) nodes: Nodes,
    pub(super) running: Running,
    pub(super) pending: Line,
    /// Nodes of each partition.
    pub(super) partitions: Vec<NodeSet>,
    /// Sets of nodes that jobs may use, and the number of the one for each partition and want.
    pub(super) usable: Vec<NodeSet>,
    usable_of: BTreeMap<(u16, usize), usize>,
    /// Licences of each kind that no job has.
    licences: Vec<i64>,
    /// Nodes that are being cleaned up.
    cleaning: Vec<Cleaning>,
    /// Rows of jobs whose run has ended in this instant.
    ended: Vec<u32>,
    pub(super) quiet: Quiet,
    /// True if nodes have ever been out of service.
    has_outages: bool,
    manner: Manner,
    /// The last timer that was set.
    alarm: Option<SimTime>,
}

/// Choices that are made outside of slurm.conf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// True if the policy's placement chooses the nodes.
    pub(super) lets_place: bool,
    /// Time after its limit at which a run is ended; none: never.
    pub(super) grace: Option<SimDuration>,
    /// Wait after which jobs go first.
    pub(super) first_after: Option<SimDuration>,
    /// True if beats that change nothing are passed over.
    pub(super) skips: bool,
}

/// Nodes whose job has ended, up to the instant at which they are idle.
#[derive(Clone, Debug)]
struct Cleaning {
    until: SimTime,
    nodes: Vec<u32>,
    /// True if a process of the job was still there at its end, so that an epilog's end runs the main loop.
    has_process: bool,
}

/// Beats in the order in which they come within an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Beat {
    Clean,
    Script,
    Recompute,
    Scan,
    Grid,
    Main { is_full: bool },
    Epilog,
    Cycle,
}

/// Seconds after its clean-up for which a requeued job is not eligible (rule 50).
const REQUEUE: i64 = 121;
/// Time after a job's end up to which a listed end of a clean-up is taken for its own.
const LONGEST_CLEAN_UP: SimDuration = SimDuration::from_micros(60_000_000);
/// Length of a cycle without tests.
const IDLE_CYCLE: SimDuration = SimDuration::from_micros(400);

impl State {
    pub(super) fn new(settings: &Arc<Settings>, view: &View<'_>, manner: Manner) -> Self {
        let settings = &Arc::new(settings.started_by(view.now));
        let (clock, timing) = (Clock::new(settings.timing.epoch), &settings.timing);
        // Nodes idle since the log's zero, unless the controller starts later.
        let begun = clock.second(timing.started().max(SimTime::default()));
        let periodic = |period: i64| {
            let period = SimDuration::from_micros(period.saturating_mul(1_000_000));
            let beats = Beats::periodic(timing.started().saturating_add(period), period.micros());
            beats.unless_listed(&settings.beats.recompute)
        };
        let all = NodeSet::full(view.platform.len());
        let mut state = Self {
            main: MainLoop::new(settings, clock),
            agent: Agent::new(settings, clock),
            saver: Saver::new(settings, clock),
            recompute: settings.priority.as_ref().and_then(|priority| match priority.period {
                0 => Beats::listed(&settings.beats.recompute),
                period => Some(periodic(period)),
            }),
            seen: timing.started(),
            epilogs: Beats::listed(&settings.beats.epilog),
            cleans: Beats::listed(&settings.beats.clean),
            grid_seen: timing.started(),
            nodes: Nodes::new(view.platform, &settings.lines, begun),
            running: Running::default(),
            pending: Line::default(),
            partitions: view.queues.map_or_else(
                || vec![all],
                |queues| queues.all().iter().map(|queue| set_of(view, &queue.nodes)).collect(),
            ),
            usable: Vec::new(),
            usable_of: BTreeMap::new(),
            licences: view.shares.map_or_else(Vec::new, |shares| shares.cells().licences().to_vec()),
            cleaning: Vec::new(),
            ended: Vec::new(),
            quiet: Quiet::default(),
            has_outages: false,
            manner,
            alarm: None,
            clock,
            settings: Arc::clone(settings),
        };
        state.inherit(view);
        state.forget_quiet();
        state
    }

    /// Takes over runs that others have started.
    fn inherit(&mut self, view: &View<'_>) {
        for (_, run) in view.runs.iter() {
            let key =
                QueueKey { tier: view.tier(run.job), rank: 0, submit: view.jobs.eligible(run.job), row: run.job.0 };
            let units = view.jobs.units(run.job, view.platform);
            let waiting = Waiting { key, units, length: view.jobs.planned(run.job), watts: 0, class: ClassId::OTHER };
            let job = Pending::new(view, self.clock, waiting, 0);
            let (nodes, end) = (view.runs.nodes(run).to_vec(), self.clock.second(run.started) + job.limit);
            self.nodes.take(&nodes);
            self.count_licences(&job.licences, -1);
            self.running.add((waiting, nodes, Stage::Running), (end, job.limit), job.licences, view.platform.len());
        }
    }

    /// Notes that jobs or nodes have changed, so that both loops have something to look at.
    pub(super) fn stir(&mut self, now: SimTime) {
        self.forget_quiet();
        self.note_change(now);
    }

    fn forget_quiet(&mut self) {
        let idle = Fruitless { until: i64::MAX, length: IDLE_CYCLE, has_planned: false };
        self.quiet = Quiet { main: self.settings.main.interval.is_none(), cycle: None };
        if self.agent.is_none() {
            self.quiet.cycle = Some(idle);
        }
    }

    /// Notes a change that backfill looks for.
    pub(super) fn note_change(&mut self, at: SimTime) {
        let second = self.clock.second(at);
        if let Some(agent) = &mut self.agent {
            agent.note_change(second);
        }
    }

    /// Notes a change at a beat that is passed over.
    fn note_beat(&mut self, at: SimTime) {
        let clock = self.clock;
        if let Some(agent) = &mut self.agent {
            agent.note_change_at(at, clock);
        }
    }

    fn note_node_change(&mut self, at: SimTime) {
        let second = self.clock.second(at);
        if let Some(saver) = &mut self.saver {
            saver.note_change(second);
        }
    }

    /// Passes the beats before an instant: those at which nobody waits, or nothing can start.
    pub(super) fn pass_beats(&mut self, now: SimTime) {
        let (clock, waits) = (self.clock, !self.pending.is_empty());
        let cycle = self.quiet.cycle.filter(|_| waits);
        let length = cycle.map_or(self.settings.timing.cycle.unwrap_or(IDLE_CYCLE), |cycle| cycle.length);
        loop {
            let main = self.main.due(clock).filter(|&(at, _)| at < now);
            let look = self.agent.as_ref().and_then(|agent| agent.due(clock)).filter(|&at| at < now);
            let counted = self.recompute.as_ref().map(|beats| beats.at_or_after(self.seen)).filter(|&at| at < now);
            match (counted, main, look) {
                (Some(at), ..) if main.is_none_or(|main| at <= main.0) && look.is_none_or(|look| at <= look) => {
                    self.seen = just_after(at);
                    self.note_beat(at);
                }
                (_, Some((at, is_full)), _) if look.is_none_or(|look| at <= look) => {
                    self.main.ran(at, is_full, clock);
                    if waits {
                        self.note_beat(at);
                    }
                }
                (.., Some(at)) => {
                    if let Some(agent) = &mut self.agent {
                        agent.ran(at, length, clock);
                    }
                    if cycle.is_some_and(|cycle| cycle.has_planned) {
                        self.note_change(at.saturating_add(length));
                    }
                }
                _ => break,
            }
        }
        self.main.pass(now);
        if let Some(agent) = &mut self.agent {
            agent.pass(now);
        }
        if let Some(saver) = &mut self.saver {
            saver.pass(now, clock);
        }
        self.seen = self.seen.max(now);
        self.main.pass_grid(now, clock);
        self.grid_seen = self.grid_seen.max(now);
    }

    /// Follows what has happened to runs and nodes.
    pub(super) fn follow(&mut self, view: &View<'_>) {
        self.ended.clear();
        let is_over = |nodes: &[u32]| {
            nodes.first().is_some_and(|&node| !matches!(view.nodes[node as usize], NodeState::Busy { .. }))
        };
        let jobs = self.running.list().iter().filter(|job| job.stage == Stage::Running && is_over(&job.nodes));
        let mut over: Vec<_> = jobs.map(|job| (job.number, job.waiting.key.row)).collect();
        over.sort_unstable();
        for (_, row) in over {
            self.ended.push(row);
            if let Some(place) = self.place_of(row) {
                self.release(place, view.now);
            }
        }
        self.has_outages |= view.outages.are_any();
        if self.saver.is_some() || self.has_outages {
            for node in 0..self.nodes.len() {
                self.follow_node(node, view);
            }
        }
    }

    /// Takes the nodes of the job in a place of the running ones; they are cleaned up.
    fn release(&mut self, place: usize, now: SimTime) {
        let job = self.running.remove(place);
        self.nodes.give(&job.nodes);
        self.count_licences(&job.licences, 1);
        let listed = self.cleans.as_ref().map(|beats| beats.at_or_after(now)).filter(|&at| at - now < LONGEST_CLEAN_UP);
        let until = listed.unwrap_or_else(|| now.saturating_add(self.settings.timing.clean_up));
        self.cleaning.push(Cleaning { until, nodes: job.nodes, has_process: false });
        self.stir(now);
        self.note_node_change(now);
    }

    fn follow_node(&mut self, node: u32, view: &View<'_>) {
        let second = self.clock.second(view.now);
        let power = match (self.nodes.power[node as usize], view.nodes[node as usize]) {
            (Power::Down, NodeState::Down) => return,
            (_, NodeState::Down) => Power::Down,
            (Power::Booting { .. }, NodeState::Idle) => Power::On,
            (Power::Down, NodeState::Idle) if !self.nodes.is_lost(node) => Power::On,
            _ => return,
        };
        if power == Power::On {
            self.nodes.last_busy[node as usize] = second;
            if self.nodes.free.contains(node) {
                self.main.note_event();
            }
        }
        self.nodes.turn(node, power);
        self.stir(view.now);
        self.note_node_change(view.now);
    }

    fn count_licences(&mut self, licences: &[(u16, i64)], sign: i64) {
        for &(kind, count) in licences {
            if let Some(free) = self.licences.get_mut(usize::from(kind)) {
                *free += sign * count;
            }
        }
    }

    /// True if fewer licences are free than the job asks for.
    pub(super) fn lacks_licences(&self, job: &Pending) -> bool {
        job.licences.iter().any(|&(kind, count)| self.licences.get(usize::from(kind)).is_some_and(|&free| free < count))
    }

    /// Licences of each kind that no job has.
    pub(super) fn free_licences(&self) -> &[i64] {
        &self.licences
    }

    /// Takes the keys by which the policy's order has ranked the queue.
    pub(super) fn take_keys(&mut self, queue: &FitList) {
        self.pending.take_keys(queue.everyone());
        for place in 0..self.running.list().len() {
            let job = self.running.at(place);
            if job.stage != Stage::Running
                && let Some(own) = queue.everyone().find(|waiting| waiting.key.row == job.waiting.key.row)
            {
                job.waiting.key = own.key;
            }
        }
        self.forget_quiet();
    }

    /// Lets jobs go that were withdrawn.
    pub(super) fn leave(&mut self, rows: &[u32], now: SimTime) {
        if rows.is_empty() {
            return;
        }
        self.pending.leave(rows);
        for place in (0..self.running.list().len()).rev() {
            let job = &self.running.list()[place];
            if job.stage != Stage::Running && rows.contains(&job.waiting.key.row) {
                self.release(place, now);
            }
        }
        self.stir(now);
    }

    /// Adds a job to the pending ones; one whose run has just ended is eligible again only later.
    pub(super) fn join(&mut self, view: &View<'_>, waiting: Waiting) {
        let job = JobId(waiting.key.row);
        let want = view.shares.map_or(0, |shares| shares.cells().number(job));
        let part = view.queues.map_or(0, |queues| queues.number(job));
        let usable = *self.usable_of.entry((part, want)).or_insert_with(|| {
            let mut nodes = self.partitions[usize::from(part)].clone();
            if let Some(cells) = view.shares.map(Shares::cells) {
                nodes.retain(|node| cells.serves(want, node));
            }
            self.usable.push(nodes);
            self.usable.len() - 1
        });
        let mut pending = Pending::new(view, self.clock, waiting, usable);
        if self.ended.contains(&job.0) {
            let clean = view.now.saturating_add(self.settings.timing.clean_up);
            pending = pending.beginning(self.clock.second(clean) + REQUEUE);
        }
        self.pending.join(pending, self.settings.priority.as_ref(), &self.nodes);
        self.main.note_event();
        self.weigh(usize::from(part));
        self.stir(view.now);
    }

    /// Stores the weights of a partition's nodes anew; they change only where nodes sleep.
    pub(super) fn weigh(&mut self, partition: usize) {
        if self.saver.is_some() && self.nodes.weigh(&self.partitions[partition]) {
            self.forget_quiet();
        }
    }

    /// True if the job in a place of the pending ones may not start now, whatever is free.
    pub(super) fn is_held(&self, desk: &Desk<'_>, place: usize) -> bool {
        let job = &self.pending.list()[place];
        job.begin > self.clock.second(desk.view.now) || desk.is_held(&job.waiting)
    }

    /// Puts jobs first that have waited too long.
    pub(super) fn sort_starving(&mut self, now: SimTime) {
        if let Some(limit) = self.manner.first_after {
            self.pending.put_first(SimTime::from_micros(now.micros().saturating_sub(limit.micros())));
        }
    }

    /// Nodes of a set for a job.
    pub(super) fn choose(
        &self,
        desk: &mut Desk<'_>,
        job: &Pending,
        free: &NodeSet,
        need: u32,
    ) -> Result<Option<Vec<u32>>> {
        if free.len() < need {
            return Ok(None);
        }
        if self.manner.lets_place { desk.choose(JobId(job.row()), free) } else { Ok(self.nodes.choose(free, need)) }
    }

    /// Allocates idle nodes of a set to the pending job in a place; false if they are too few. Its script starts at
    /// once if all of them are on.
    pub(super) fn start(
        &mut self,
        desk: &mut Desk<'_>,
        queue: &mut FitList,
        place: usize,
        usable: &NodeSet,
    ) -> Result<bool> {
        let job = &self.pending.list()[place];
        let Some(nodes) = self.choose(desk, job, &self.nodes.idle_in(usable), job.need)? else { return Ok(false) };
        let (job, now) = (self.pending.remove(place), desk.view.now);
        let latency = self.settings.timing.start;
        let stage = match self.nodes.take(&nodes) {
            false => Stage::Boots,
            true if latency > SimDuration::ZERO => Stage::Starts(now.saturating_add(latency)),
            true => Stage::Running,
        };
        if stage == Stage::Running {
            launch(desk, queue, &job.waiting, &nodes)?;
        }
        self.count_licences(&job.licences, -1);
        let end = self.clock.second(now) + job.limit;
        self.running.add((job.waiting, nodes, stage), (end, job.limit), job.licences, self.nodes.len());
        self.note_node_change(now);
        Ok(true)
    }

    /// Does what is due at this instant, one beat after the other.
    pub(super) fn work(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let now = desk.view.now;
        while let Some((at, beat)) = self.next_beat(now, true).filter(|&(at, _)| at <= now) {
            match beat {
                Beat::Clean => self.end_clean_up(desk, queue)?,
                Beat::Script => {
                    self.begin_scripts(desk, queue, |stage| matches!(stage, Stage::Starts(at) if at <= now))?;
                }
                Beat::Recompute => self.recompute_priorities(at),
                Beat::Scan => self.scan(desk, at),
                Beat::Grid => {
                    self.main.pass_grid(just_after(now), self.clock);
                    self.grid_seen = just_after(now);
                    self.begin_scripts(desk, queue, |stage| stage == Stage::Boots)?;
                    self.end_overdue(desk);
                }
                Beat::Main { is_full } => {
                    self.main.ran(at, is_full, self.clock);
                    self.main_run(desk, queue, is_full)?;
                }
                Beat::Epilog => {
                    // The epilog was the last thing to clean up.
                    self.cleaning.iter_mut().for_each(|cleaning| cleaning.until = cleaning.until.min(now));
                    while !self.cleaning.is_empty() {
                        self.end_clean_up(desk, queue)?;
                    }
                    self.seen = just_after(now);
                    self.main_run(desk, queue, false)?;
                }
                Beat::Cycle => {
                    let length = self.cycle(desk, queue)?;
                    if let Some(agent) = &mut self.agent {
                        agent.ran(at, length, self.clock);
                    }
                }
            }
        }
        Ok(())
    }

    /// The next beat; without `all`, the next one after `now` at which something may happen.
    fn next_beat(&self, now: SimTime, all: bool) -> Option<(SimTime, Beat)> {
        let (clock, waits) = (self.clock, all || !self.pending.is_empty());
        let scripts = self.running.list().iter().filter_map(|job| match job.stage {
            Stage::Starts(at) => Some(at),
            Stage::Running | Stage::Boots => None,
        });
        let clean = self.cleaning.iter().map(|cleaning| cleaning.until).min().map(|at| (at, Beat::Clean));
        let script = scripts.min().map(|at| (at, Beat::Script));
        let is_booted = self.running.list().iter().any(|job| self.is_booted(job));
        let boots = is_booted.then(|| if self.settings.prolog { self.grid_seen } else { self.main.grid(clock) });
        let grid = [boots, self.overdue(all)].into_iter().flatten().min().map(|at| (at, Beat::Grid));
        let scan = match &self.saver {
            Some(saver) if all => Some(saver.due(clock)),
            Some(saver) => saver.next_needed(&self.nodes, clock),
            None => None,
        };
        let (main, cycle) = (self.main.due(clock), self.agent.as_ref().and_then(|agent| agent.due(clock)));
        let recompute = self.recompute.as_ref().map(|beats| beats.at_or_after(self.seen));
        let epilog = self.epilogs.as_ref().map(|beats| beats.at_or_after(self.seen)).filter(|&at| at < SimTime::NEVER);
        let of_queue = [
            recompute.map(|at| (at, Beat::Recompute)),
            main.map(|(at, is_full)| (at, Beat::Main { is_full })),
            epilog.map(|at| (at, Beat::Epilog)),
            cycle.map(|at| (at, Beat::Cycle)),
        ];
        let of_queue = of_queue.into_iter().flatten().filter(|_| waits);
        let own = [clean, script, scan.map(|at| (at, Beat::Scan)), grid].into_iter().flatten();
        own.chain(of_queue).filter(|&(at, _)| all || at > now).min()
    }

    /// Second at which a run passes its limit, if runs are ended for that.
    fn due_second(&self, job: &Allocation) -> Option<i64> {
        let grace = self.manner.grace.filter(|_| job.stage == Stage::Running)?;
        Some(job.end.saturating_add(grace.micros().div_euclid(1_000_000)))
    }

    /// Next check of time limits at which a run is ended, or the instant at which the first run passes its limit; with
    /// `all`, checks only.
    fn overdue(&self, all: bool) -> Option<SimTime> {
        let due = self.running.list().iter().find_map(|job| self.due_second(job))?;
        let instant = self.clock.instant(due);
        if instant <= self.grid_seen { Some(self.main.grid(self.clock)) } else { Some(instant).filter(|_| !all) }
    }

    /// Ends the runs that have passed their limits: they leave the tables at once, and their nodes are cleaned up once
    /// their processes are killed.
    fn end_overdue(&mut self, desk: &mut Desk<'_>) {
        let now = self.clock.second(desk.view.now);
        for place in (0..self.running.list().len()).rev() {
            let job = &self.running.list()[place];
            if self.due_second(job).is_some_and(|due| due <= now) {
                desk.time_out(JobId(job.waiting.key.row));
                self.release(place, desk.view.now);
                if let Some(cleaning) = self.cleaning.last_mut() {
                    let kill = SimDuration::from_micros(self.settings.kill_wait.saturating_mul(1_000_000));
                    (cleaning.until, cleaning.has_process) = (cleaning.until.saturating_add(kill), true);
                }
            }
        }
    }

    /// Ends the first clean-up that is over: an event, unless an epilog's end runs the main loop at once (rule 7).
    fn end_clean_up(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let first = (0..self.cleaning.len()).min_by_key(|&place| self.cleaning[place].until);
        let Some(Cleaning { until, nodes, has_process }) = first.map(|place| self.cleaning.remove(place)) else {
            return Ok(());
        };
        self.nodes.clean_up(&nodes, self.clock.second(until));
        self.stir(until);
        self.note_node_change(until);
        let rules = &self.settings.main;
        if (rules.epilog || has_process) && !rules.defer && self.epilogs.is_none() && rules.interval.is_some() {
            return self.main_run(desk, queue, false);
        }
        self.main.note_event();
        Ok(())
    }

    /// True if a job waits for nodes to boot, and all have.
    fn is_booted(&self, job: &Allocation) -> bool {
        job.stage == Stage::Boots && job.nodes.iter().all(|&node| self.nodes.power[node as usize] == Power::On)
    }

    /// Starts the scripts of jobs in these stages whose nodes are on.
    fn begin_scripts(
        &mut self,
        desk: &mut Desk<'_>,
        queue: &mut FitList,
        is_due: impl Fn(Stage) -> bool,
    ) -> Result<()> {
        let are_on = |nodes: &[u32]| nodes.iter().all(|&node| self.nodes.power[node as usize] == Power::On);
        let jobs = self.running.list().iter().filter(|job| is_due(job.stage));
        let (ready, lost): (Vec<_>, Vec<_>) =
            jobs.map(|job| (job.waiting, job.nodes.clone())).partition(|job| are_on(&job.1));
        let now = desk.view.now;
        for (waiting, nodes) in ready {
            launch(desk, queue, &waiting, &nodes)?;
            if let Some(place) = self.place_of(waiting.key.row) {
                self.running.begin(place, self.clock.second(now));
            }
            self.stir(now);
        }
        for (waiting, nodes) in lost {
            if self.has_down(&nodes) {
                self.requeue(desk.view, waiting);
            }
        }
        Ok(())
    }

    fn has_down(&self, nodes: &[u32]) -> bool {
        nodes.iter().any(|&node| self.nodes.power[node as usize] == Power::Down)
    }

    fn place_of(&self, row: u32) -> Option<usize> {
        self.running.list().iter().position(|job| job.waiting.key.row == row)
    }

    /// Requeues a job whose nodes did not boot in time: its nodes complete, and it may start again later (rule 49).
    fn requeue(&mut self, view: &View<'_>, waiting: Waiting) {
        let Some(place) = self.place_of(waiting.key.row) else { return };
        self.release(place, view.now);
        self.ended.push(waiting.key.row);
        self.join(view, waiting);
        self.ended.pop();
    }

    fn recompute_priorities(&mut self, at: SimTime) {
        self.seen = just_after(at);
        let second = self.clock.second(at);
        if let Some(priority) = &self.settings.priority
            && self.pending.recompute(priority, second, &self.nodes)
        {
            self.forget_quiet();
        }
        self.note_change(at);
    }

    /// Makes a scan of power saving.
    fn scan(&mut self, desk: &mut Desk<'_>, at: SimTime) {
        let Some(saver) = &mut self.saver else { return };
        let view = desk.view;
        let scan = saver.scan((at, self.clock), (&mut self.nodes, &self.running), &|node| view.nodes[node as usize]);
        scan.resume.iter().for_each(|&node| desk.wake(node));
        scan.suspend.iter().for_each(|&node| desk.sleep(node));
        let has_any = [&scan.resume, &scan.suspend, &scan.asleep, &scan.failed].iter().any(|nodes| !nodes.is_empty());
        if has_any {
            self.stir(view.now);
        }
        for &node in &scan.failed {
            self.nodes.lose(node);
            let job = self.running.list().iter().find(|job| job.nodes.contains(&node)).map(|job| job.waiting);
            if let Some(waiting) = job {
                self.requeue(view, waiting);
            }
        }
    }

    /// Asks for a pass at the next beat at which something may happen.
    pub(super) fn set_timer(&mut self, desk: &mut Desk<'_>) {
        let now = desk.view.now;
        let quiet = self.quiet.holds_at(self.clock.second(now));
        let quiet = quiet.filter(|_| self.manner.skips && !self.pending.is_empty());
        let beat = match quiet {
            Some(cycle) => {
                let pending = std::mem::take(&mut self.pending);
                let own = self.next_beat(now, false);
                self.pending = pending;
                let again = (cycle.until < i64::MAX).then(|| self.clock.instant(cycle.until));
                // Where nothing runs, no order of the jobs lets one of them start.
                let may_change = again.is_some() || !self.running.list().is_empty() || !self.cleaning.is_empty();
                let recompute = self.recompute.as_ref().filter(|_| may_change);
                let recompute = recompute.map(|beats| beats.at_or_after(self.seen));
                [own.map(|(at, _)| at), again, recompute].into_iter().flatten().min()
            }
            None => self.next_beat(now, false).map(|(at, _)| at),
        };
        let next = beat.filter(|&at| at > now && at < SimTime::LATEST);
        if let Some(at) = next.filter(|_| next != self.alarm) {
            self.alarm = next;
            desk.timer(at);
        }
    }
}

/// Starts the script of a job that has its nodes.
fn launch(desk: &mut Desk<'_>, queue: &mut FitList, waiting: &Waiting, nodes: &[u32]) -> Result<()> {
    let (Some(place), Some(offer)) = (queue.place_of(waiting.key), desk.offer_on(waiting, nodes)?) else {
        return Ok(());
    };
    start_in_queue(desk, queue, place, offer)?;
    Ok(())
}

fn set_of(view: &View<'_>, nodes: &[u32]) -> NodeSet {
    let mut set = NodeSet::empty(view.platform.len());
    set.insert_all(nodes);
    set
}
