//! Events: ends of runs and clean-ups, nodes that boot or fail, jobs that are withdrawn or pass their limits.

use crate::algo::fit_list::{FitList, Waiting};
use crate::error::Result;
use crate::platform::node_state::NodeState;
use crate::policy::View;
use crate::policy::backfill::slurm::nodes::Power;
use crate::policy::backfill::slurm::running::Stage;
use crate::policy::backfill::slurm::state::{Cleaning, State, launch};
use crate::policy::desk::Desk;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Time after a job's end up to which a listed end of a clean-up is taken for its own.
const LONGEST_CLEAN_UP: SimDuration = SimDuration::from_micros(60_000_000);

impl State {
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

    /// Takes the nodes of the job in a place of the running ones; they are cleaned up.
    pub(super) fn release(&mut self, place: usize, now: SimTime) {
        let job = self.running.remove(place);
        self.nodes.give(&job.nodes);
        self.count_licences(&job.licences, 1);
        let listed = self.cleans.as_ref().map(|beats| beats.at_or_after(now)).filter(|&at| at - now < LONGEST_CLEAN_UP);
        let until = listed.unwrap_or_else(|| now.saturating_add(self.settings.timing.clean_up));
        self.cleaning.push(Cleaning { until, nodes: job.nodes, has_process: false });
        self.stir(now);
        self.note_node_change(now);
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

    /// Ends the runs that have passed their limits: they leave the tables at once, and their nodes are cleaned up once
    /// their processes are killed.
    pub(super) fn end_overdue(&mut self, desk: &mut Desk<'_>) {
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
    pub(super) fn end_clean_up(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
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

    /// Starts the scripts of jobs in these stages whose nodes are on.
    pub(super) fn begin_scripts(
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

    pub(super) fn place_of(&self, row: u32) -> Option<usize> {
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

    /// Makes a scan of power saving.
    pub(super) fn scan(&mut self, desk: &mut Desk<'_>, at: SimTime) {
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
}
