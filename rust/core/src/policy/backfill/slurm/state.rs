//! State of the scheduler: what it knows of jobs and nodes, and the order of its beats within an instant.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::algo::fit_list::{ClassId, FitList, QueueKey, Waiting};
use crate::algo::node_set::NodeSet;
use crate::cluster::shares::Shares;
use crate::error::Result;
use crate::policy::View;
use crate::policy::backfill::slurm::clock::{Beats, Clock};
use crate::policy::backfill::slurm::loops::{Agent, MainLoop};
use crate::policy::backfill::slurm::nodes::Nodes;
use crate::policy::backfill::slurm::pending::{Line, Pending};
use crate::policy::backfill::slurm::quiet::{Fruitless, Quiet};
use crate::policy::backfill::slurm::running::{Running, Stage};
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
    pub(super) main: MainLoop,
    pub(super) agent: Option<Agent>,
    pub(super) saver: Option<Saver>,
    /// Recomputations of priorities, where the plug-in counts any.
    pub(super) recompute: Option<Beats>,
    /// Recomputations and epilog runs before this instant are over.
    pub(super) seen: SimTime,
    /// Runs of the main loop at the ends of epilogs, where they are listed.
    pub(super) epilogs: Option<Beats>,
    /// Ends of clean-ups, where they are listed.
    pub(super) cleans: Option<Beats>,
    /// Checks of time limits before this instant are over.
    pub(super) grid_seen: SimTime,
    pub(super) nodes: Nodes,
    pub(super) running: Running,
    pub(super) pending: Line,
    /// Nodes of each partition.
    pub(super) partitions: Vec<NodeSet>,
    /// Sets of nodes that jobs may use, and the number of the one for each partition and want.
    pub(super) usable: Vec<NodeSet>,
    pub(super) usable_of: BTreeMap<(u16, usize), usize>,
    /// Licences of each kind that no job has.
    pub(super) licences: Vec<i64>,
    /// Nodes that are being cleaned up.
    pub(super) cleaning: Vec<Cleaning>,
    /// Rows of jobs whose run has ended in this instant.
    pub(super) ended: Vec<u32>,
    pub(super) quiet: Quiet,
    /// True if nodes have ever been out of service.
    pub(super) has_outages: bool,
    pub(super) manner: Manner,
    /// The last timer that was set.
    pub(super) alarm: Option<SimTime>,
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
pub(super) struct Cleaning {
    pub(super) until: SimTime,
    pub(super) nodes: Vec<u32>,
    /// True if a process of the job was still there at its end, so that an epilog's end runs the main loop.
    pub(super) has_process: bool,
}

/// Seconds after its clean-up for which a requeued job is not eligible (rule 50).
pub(super) const REQUEUE: i64 = 121;
/// Length of a cycle without tests.
pub(super) const IDLE_CYCLE: SimDuration = SimDuration::from_micros(400);

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
    pub(super) fn inherit(&mut self, view: &View<'_>) {
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

    pub(super) fn forget_quiet(&mut self) {
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

    pub(super) fn note_node_change(&mut self, at: SimTime) {
        let second = self.clock.second(at);
        if let Some(saver) = &mut self.saver {
            saver.note_change(second);
        }
    }

    pub(super) fn count_licences(&mut self, licences: &[(u16, i64)], sign: i64) {
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

    /// Stores the weights of a partition's nodes again; they change only where nodes sleep.
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
}

/// Starts the script of a job that has its nodes.
pub(super) fn launch(desk: &mut Desk<'_>, queue: &mut FitList, waiting: &Waiting, nodes: &[u32]) -> Result<()> {
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
