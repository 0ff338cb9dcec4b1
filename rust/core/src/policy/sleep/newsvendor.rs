//! A reserve of idle nodes that stay on for jobs to come, as large as a newsvendor would stock it.
//!
//! What the machine was asked for in earlier windows of the same hour of day says how likely each further node is to be
//! needed before it could be back. Nodes that are likelier than a threshold stay on; the threshold follows a budget, a
//! share of the time in which nodes are free. All of it comes from the past.

use crate::error::Result;
use crate::policy::sleep::rest::{Choice, IdleNode, Rest, Scene};
use crate::policy::sleep::rules::NodeRule;
use crate::units::{SimDuration, SimTime};

const HOUR: i64 = 3_600_000_000;
const HOURS: usize = 24;

/// Windows that are remembered of each hour of day, with jobs waiting and without.
const REMEMBERED: usize = 500;
/// With fewer of its own an hour goes by all windows of late.
const FEWEST: usize = 30;
/// No window is shorter, in microseconds.
const SHORTEST: i64 = 1_000_000;
/// So many windows without anything are remembered at once.
const QUIET: i64 = 20;

/// Bounds of the threshold, and where it begins.
const LEAST: f64 = 1e-4;
const MOST: f64 = 0.5;
const FIRST: f64 = 0.02;
/// By how much it changes in a window in which the reserve costs twice what it may, or nothing.
const GAIN: f64 = 0.05;
/// How long the budget remembers, in microseconds.
const DAY: f64 = 86_400e6;
/// A node stays on for this long over the threshold, in microseconds.
const HOLD: f64 = 12e6;
/// Nodes are woken for a reserve that is needed so many times as often.
const EAGER: f64 = 30.0;

/// The part.
#[derive(Clone, Debug)]
pub struct Newsvendor {
    budget: Budget,
    demand: Demand,
}

impl Newsvendor {
    /// A reserve that takes `ratio` of the time in which nodes are free.
    #[must_use]
    pub fn new(ratio: f64) -> Self {
        Self { budget: Budget::new(ratio), demand: Demand::default() }
    }
}

impl Rest for Newsvendor {
    fn rest(&mut self, scene: &Scene<'_>, choice: &mut Choice) -> Result<()> {
        let now = scene.view.now;
        let window = scene.rules.iter().map(|rule| rule.stop.saturating_add(rule.start)).max().unwrap_or_default();
        let window = SimDuration::from_micros(window.micros().max(SHORTEST));
        let kind = kind_of(now, scene.waiting > 0);
        self.demand.see(now, window, kind, scene.free);
        self.budget.spend(now, window, scene.spare, scene.free.max(scene.spare));
        let threshold = self.budget.threshold;
        let reserve = self.demand.exceeded(kind, threshold);
        #[expect(clippy::cast_possible_truncation, reason = "at most a day and a half in microseconds")]
        let hold = SimDuration::from_micros((HOLD / threshold) as i64);
        let spared: Vec<_> = scene.idle.iter().rev().filter(|one| is_spared(one, now, scene.rules)).collect();
        let excess = scene.spare.saturating_sub(reserve) as usize;
        let is_ripe = |one: &&IdleNode| one.since.saturating_add(hold) <= now;
        let (go, stay): (Vec<&IdleNode>, Vec<_>) = spared.iter().copied().take(excess).partition(is_ripe);
        choice.sleep.extend(go.iter().map(|one| one.node));
        let lowest = self.demand.exceeded(kind, EAGER * threshold);
        choice.wake.extend(scene.off.iter().take(lowest.saturating_sub(scene.spare) as usize));
        let ripe = stay.iter().map(|one| one.since.saturating_add(hold)).min();
        let is_kept = spared.len() > go.len() || !choice.wake.is_empty();
        let next_hour = SimTime::from_micros((now.micros().div_euclid(HOUR) + 1) * HOUR);
        choice.again = is_kept.then(|| ripe.map_or(next_hour, |ripe| ripe.min(next_hour)));
        Ok(())
    }
}

/// Whether sleep saves energy until a node's next planned job, as under the part `planned`.
fn is_spared(one: &IdleNode, now: SimTime, rules: &[NodeRule]) -> bool {
    let rule = &rules[one.node as usize];
    let away = one.next - now;
    one.may_sleep && rule.far.is_some_and(|far| away >= far) && away > rule.stop.saturating_add(rule.start)
}

/// The hour of day on the log's clock, and whether jobs wait, as a number.
fn kind_of(now: SimTime, waits: bool) -> usize {
    let hour = usize::try_from(now.micros().div_euclid(HOUR).rem_euclid(24)).unwrap_or(0);
    2 * hour + usize::from(waits)
}

/// How many nodes were asked for in windows of the past: by how many those that are free dropped at most.
#[derive(Clone, Debug)]
struct Demand {
    /// By kind; the last of all.
    kinds: Vec<Windows>,
    open: Option<Open>,
}

/// A window that lasts.
#[derive(Clone, Copy, Debug)]
struct Open {
    from: SimTime,
    kind: usize,
    free: u32,
    least: u32,
}

impl Default for Demand {
    fn default() -> Self {
        Self { kinds: vec![Windows::default(); 2 * HOURS + 1], open: None }
    }
}

impl Demand {
    /// So many nodes are free from now on.
    fn see(&mut self, now: SimTime, window: SimDuration, kind: usize, free: u32) {
        let begun = Open { from: now, kind, free, least: free };
        let Some(open) = self.open else {
            self.open = Some(begun);
            return;
        };
        let windows = (now - open.from).micros() / window.micros();
        if windows < 1 {
            self.open = Some(Open { least: open.least.min(free), ..open });
            return;
        }
        // What happens at the end of a window belongs to the next.
        for drop in std::iter::once(open.free - open.least).chain((1..windows.min(QUIET)).map(|_| 0)) {
            self.kinds[open.kind].note(drop);
            self.kinds[2 * HOURS].note(drop);
        }
        self.open = Some(begun);
    }

    /// The least number of nodes that was exceeded in no more than this share of the windows like this one.
    fn exceeded(&self, kind: usize, share: f64) -> u32 {
        let own = &self.kinds[kind];
        let windows = if own.drops.len() < FEWEST { &self.kinds[2 * HOURS] } else { own };
        windows.exceeded(share)
    }
}

/// The last windows of a kind.
#[derive(Clone, Debug, Default)]
struct Windows {
    drops: Vec<u32>,
    /// The same in ascending order.
    sorted: Vec<u32>,
    oldest: usize,
}

impl Windows {
    fn note(&mut self, drop: u32) {
        if self.drops.len() < REMEMBERED {
            self.drops.push(drop);
        } else {
            let gone = std::mem::replace(&mut self.drops[self.oldest], drop);
            self.oldest = (self.oldest + 1) % REMEMBERED;
            let place = self.sorted.partition_point(|&one| one < gone);
            self.sorted.remove(place);
        }
        let place = self.sorted.partition_point(|&one| one < drop);
        self.sorted.insert(place, drop);
    }

    fn exceeded(&self, share: f64) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the number of windows")]
        let beyond = (share.min(1.0) * self.sorted.len() as f64) as usize;
        let place = self.sorted.len().checked_sub(1 + beyond);
        place.map_or(0, |place| self.sorted[place])
    }
}

/// How likely a node must be needed to stay on, so that the reserve costs what it may.
#[derive(Clone, Debug)]
struct Budget {
    ratio: f64,
    threshold: f64,
    /// When it was last looked at, and how many nodes were spare and free then.
    last: Option<(SimTime, f64, f64)>,
    /// Time of spare and of free nodes, the past counting less and less.
    spare: f64,
    free: f64,
}

impl Budget {
    fn new(ratio: f64) -> Self {
        Self { ratio, threshold: FIRST, last: None, spare: 0.0, free: 0.0 }
    }

    /// So many nodes are spare and free from now on.
    fn spend(&mut self, now: SimTime, window: SimDuration, spare: u32, free: u32) {
        if let Some((from, spare, free)) = self.last.replace((now, f64::from(spare), f64::from(free))) {
            let lasted = (now - from).micros() as f64;
            let kept = DAY / (DAY + lasted);
            self.spare = self.spare * kept + spare * lasted;
            self.free = self.free * kept + free * lasted;
            let may = self.ratio * self.free;
            let excess = if may > 0.0 { (self.spare / may - 1.0).min(1.0) } else { 1.0 };
            let change = (GAIN * excess * lasted / window.micros() as f64).clamp(-0.5, 1.0);
            self.threshold = (self.threshold * (1.0 + change)).clamp(LEAST, MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> SimTime {
        SimTime::from_micros(seconds * 1_000_000)
    }

    fn span(seconds: i64) -> SimDuration {
        SimDuration::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn the_last_windows_count_and_older_ones_are_forgotten() {
        let mut windows = Windows::default();
        (0..100).for_each(|drop| windows.note(drop));
        assert_eq!([0.0, 0.01, 0.1, 0.5, 1.0, 30.0].map(|share| windows.exceeded(share)), [99, 98, 89, 49, 0, 0]);
        (0..REMEMBERED).for_each(|_| windows.note(7));
        assert_eq!((windows.exceeded(0.0), windows.exceeded(0.9), windows.drops.len()), (7, 7, REMEMBERED));
        assert_eq!(Windows::default().exceeded(0.5), 0, "nothing is known of it");
    }

    #[test]
    fn a_window_asks_for_as_many_nodes_as_the_free_ones_dropped_by() {
        let mut demand = Demand::default();
        for (second, free) in [(0, 10), (50, 4), (90, 9), (100, 8), (150, 12), (200, 12), (500, 12)] {
            demand.see(at(second), span(100), 0, free);
        }
        assert_eq!(
            demand.kinds[0].drops,
            [6, 0, 0, 0, 0],
            "then one in which more came free, and three without a pass"
        );
        assert_eq!(demand.kinds[2 * HOURS].drops, demand.kinds[0].drops);
    }

    #[test]
    fn an_hour_that_is_new_goes_by_all_windows() {
        let mut demand = Demand::default();
        for begin in (0..).step_by(200).take(FEWEST) {
            demand.see(at(begin), span(100), 0, 9);
            demand.see(at(begin + 50), span(100), 0, 4);
            demand.see(at(begin + 100), span(100), 1, 9);
            demand.see(at(begin + 200), span(100), 0, 9);
        }
        assert_eq!((demand.exceeded(0, 0.0), demand.exceeded(6, 0.0)), (5, 5));
        assert_eq!(demand.exceeded(1, 0.0), 0, "of this one enough is known");
    }

    #[test]
    fn a_reserve_that_costs_more_than_it_may_has_to_be_likelier_needed() {
        let mut budget = Budget::new(0.1);
        (0..100).for_each(|window| budget.spend(at(100 * window), span(100), 20, 100));
        let dear = budget.threshold;
        assert!(dear > 5.0 * FIRST, "{dear}");
        (100..1000).for_each(|window| budget.spend(at(100 * window), span(100), 0, 100));
        assert!(budget.threshold < dear / 5.0 && budget.threshold >= LEAST, "{}", budget.threshold);
    }

    #[test]
    fn the_hour_is_that_of_the_logs_clock() {
        assert_eq!([0, 3599, 3600, 86_400 + 7200, -1].map(|second| kind_of(at(second), false)), [0, 0, 2, 4, 46]);
        assert_eq!(kind_of(at(3600), true), 3);
    }
}
