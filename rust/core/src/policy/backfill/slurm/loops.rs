//! Beats of the main loop and of the backfill agent: when each runs next (rules 4 to 11).

use crate::policy::backfill::slurm::clock::{Beats, Clock, just_after};
use crate::policy::backfill::slurm::settings::{Settings, SlurmRelease};
use crate::units::{SimDuration, SimTime};

/// Period of the main loop before it slept until whole seconds, in microseconds.
const MAIN_PERIOD: i64 = 1_001_700;
/// Seconds between two checks of time limits.
const GRID: i64 = 30;
const SECOND: i64 = 1_000_000;
/// Microseconds between listed beats of the main loop beyond which they are runs, not ticks.
const RUNS_APART: i64 = 2_500_000;

/// The main loop: its ticks, and what was run last.
#[derive(Clone, Debug)]
pub(super) struct MainLoop {
    ticks: Beats,
    /// Ticks at which time limits are checked.
    grid: Beats,
    /// Listed checks of time limits, if there are any.
    checks: Option<Beats>,
    /// The last listed beat, if beats are listed that are runs themselves.
    runs: Option<SimTime>,
    delay: i64,
    interval: Option<i64>,
    /// Ticks before this instant are over.
    seen: SimTime,
    /// Events since the last run.
    events: u32,
    last_full: i64,
    last_run: i64,
    last_grid: i64,
    /// Checks of time limits before this instant are over.
    checked: SimTime,
}

impl MainLoop {
    pub(super) fn new(settings: &Settings, clock: Clock) -> Self {
        let (timing, started) = (&settings.timing, clock.second(settings.timing.started()));
        let period = timing.main_period.map_or(MAIN_PERIOD, SimDuration::micros);
        let ticks = match (timing.main_phase, timing.main_period) {
            (Some(first), None) if settings.release >= SlurmRelease::R2311 => Beats::periodic(first, SECOND),
            (Some(first), _) => Beats::periodic(first, period),
            (None, None) if settings.release >= SlurmRelease::R2311 => {
                Beats::periodic(clock.next_whole(just_after(timing.started())), SECOND)
            }
            (None, _) => Beats::periodic(timing.started().saturating_add(SimDuration::from_micros(period)), period),
        };
        let (listed, grid) = (&settings.beats.main, ticks.clone());
        let ticks = ticks.unless_listed(listed);
        // Listed beats that are further apart than ticks are the runs of a recording.
        let are_runs = listed.windows(2).any(|pair| (pair[1] - pair[0]).micros() > RUNS_APART);
        Self {
            grid: if are_runs { grid } else { ticks.clone() },
            checks: Beats::listed(&settings.beats.grid),
            runs: are_runs.then(|| *listed.last().unwrap_or(&SimTime::NEVER)),
            ticks,
            delay: settings.main.delay,
            interval: settings.main.interval,
            seen: timing.started(),
            events: 0,
            last_full: started,
            last_run: started,
            last_grid: started,
            checked: timing.started(),
        }
    }

    /// Counts an event.
    pub(super) fn note_event(&mut self) {
        self.events += 1;
    }

    /// Next run, and whether it is a full one; none if the main loop never runs.
    pub(super) fn due(&self, clock: Clock) -> Option<(SimTime, bool)> {
        let interval = self.interval?;
        if self.runs.is_some_and(|last| self.seen <= last) {
            let at = self.ticks.at_or_after(self.seen);
            return Some((at, clock.second(at) - self.last_full >= interval));
        }
        let tick = |second: i64| self.ticks.at_or_after(self.seen.max(clock.instant(second)));
        let full = tick(self.last_full + interval);
        let quick = (self.events > 0).then(|| tick(self.last_run + self.delay));
        Some(quick.filter(|&quick| quick < full).map_or((full, true), |quick| (quick, false)))
    }

    /// Notes a run on a tick.
    pub(super) fn ran(&mut self, at: SimTime, is_full: bool, clock: Clock) {
        self.seen = just_after(at);
        self.events = 0;
        self.last_run = clock.second(at);
        if is_full {
            self.last_full = self.last_run;
        }
    }

    /// Notes that all ticks before an instant are over.
    pub(super) fn pass(&mut self, now: SimTime) {
        self.seen = self.seen.max(now);
    }

    /// Next tick at which time limits are checked: the first 30 s or more after the last such tick.
    pub(super) fn grid(&self, clock: Clock) -> SimTime {
        let listed = self.checks.as_ref().map(|checks| checks.at_or_after(self.checked));
        if let Some(at) = listed.filter(|&at| at < SimTime::NEVER) {
            return at;
        }
        self.grid.at_or_after(clock.instant(self.last_grid + GRID))
    }

    /// Notes that the checks of time limits before an instant are over.
    pub(super) fn pass_grid(&mut self, until: SimTime, clock: Clock) {
        self.checked = self.checked.max(until);
        while self.grid(clock) < until {
            self.last_grid = clock.second(self.grid(clock));
        }
    }
}

/// The backfill agent: when it looks, and whether anything has changed since its last cycle.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    listed: Option<Beats>,
    interval: i64,
    /// Next look.
    look: SimTime,
    /// Looks before this instant are over.
    seen: SimTime,
    /// Second in which the last cycle ended.
    last: i64,
    /// Second of the last change.
    updated: i64,
}

impl Agent {
    /// The agent; none if backfill is switched off.
    pub(super) fn new(settings: &Settings, clock: Clock) -> Option<Self> {
        let (timing, interval) = (&settings.timing, settings.backfill.interval?);
        let started = clock.second(timing.started());
        let look = timing.backfill_phase.unwrap_or_else(|| timing.started().saturating_add(seconds(interval)));
        let beats = Beats::periodic(look, interval * SECOND).unless_listed(&settings.beats.backfill);
        Some(Self {
            listed: beats.are_listed().then_some(beats),
            interval,
            look,
            seen: timing.started(),
            last: started.min(clock.second(look) - interval),
            updated: started,
        })
    }

    /// Notes a change of a job or a node.
    pub(super) fn note_change(&mut self, second: i64) {
        self.updated = self.updated.max(second);
    }

    /// Notes a change at an instant, before which all looks are over.
    pub(super) fn note_change_at(&mut self, at: SimTime, clock: Clock) {
        self.pass(at);
        self.note_change(clock.second(at));
    }

    /// Next cycle; none while nothing changes.
    pub(super) fn due(&self, clock: Clock) -> Option<SimTime> {
        if let Some(beats) = &self.listed {
            return Some(beats.at_or_after(self.seen));
        }
        let from = self.seen.max(clock.instant(self.last + self.interval));
        // Looks that find nothing are a second apart.
        (self.updated >= self.last).then(|| Beats::periodic(self.look, SECOND).at_or_after(from))
    }

    /// Notes a cycle of this length.
    pub(super) fn ran(&mut self, at: SimTime, length: SimDuration, clock: Clock) {
        let end = at.saturating_add(length);
        self.last = clock.second(end);
        self.look = end.saturating_add(seconds(self.interval));
        self.seen = just_after(at);
    }

    /// Notes that all looks before an instant are over.
    pub(super) fn pass(&mut self, now: SimTime) {
        self.seen = self.seen.max(now);
    }
}

fn seconds(count: i64) -> SimDuration {
    SimDuration::from_micros(count.saturating_mul(SECOND))
}
