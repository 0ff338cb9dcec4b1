//! Beats: their order within an instant, those that are passed over, and the next one to wait for.

use crate::algo::fit_list::FitList;
use crate::error::Result;
use crate::policy::backfill::slurm::clock::just_after;
use crate::policy::backfill::slurm::nodes::Power;
use crate::policy::backfill::slurm::running::{Allocation, Stage};
use crate::policy::backfill::slurm::state::{IDLE_CYCLE, State};
use crate::policy::desk::Desk;
use crate::units::SimTime;

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

impl State {
    /// Notes a change at a beat that is passed over.
    fn note_beat(&mut self, at: SimTime) {
        let clock = self.clock;
        if let Some(agent) = &mut self.agent {
            agent.note_change_at(at, clock);
        }
    }

    /// Passes the beats before an instant: those at which no job waits, or nothing can start.
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
    pub(super) fn due_second(&self, job: &Allocation) -> Option<i64> {
        let grace = self.manner.grace.filter(|_| job.stage == Stage::Running)?;
        Some(job.end.saturating_add(grace.micros().div_euclid(1_000_000)))
    }

    /// Next check of time limits at which a run is ended, or the instant at which the first run passes its limit; with
    /// `all`, checks only.
    fn overdue(&self, all: bool) -> Option<SimTime> {
        self.manner.grace?;
        let due = self.running.list().iter().find_map(|job| self.due_second(job))?;
        let instant = self.clock.instant(due);
        if instant <= self.grid_seen { Some(self.main.grid(self.clock)) } else { Some(instant).filter(|_| !all) }
    }

    /// True if a job waits for nodes to boot, and all have.
    fn is_booted(&self, job: &Allocation) -> bool {
        job.stage == Stage::Boots && job.nodes.iter().all(|&node| self.nodes.power[node as usize] == Power::On)
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
