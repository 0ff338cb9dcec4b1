//! A reserve of idle nodes that stay on for jobs to come, sized like a newsvendor's stock.
//!
//! Demand in past windows that followed as much recent demand gives the probability that each further node is needed
//! before it could be back. Nodes with a probability above a threshold stay on; the threshold follows a budget, a share
//! of the time in which nodes are free. All of it comes from the past.

use crate::error::Result;
use crate::policy::recollection::{Recollection, bits, number};
use crate::policy::sleep::answers::RestChoice;
use crate::policy::sleep::node_rule::NodeRule;
use crate::policy::sleep::rest::{Alike, IdleNode, Rest, Scene};
use crate::units::{SimDuration, SimTime};

/// Levels of recent demand: zero, and one for each power of two up to the largest number of nodes.
const LEVELS: usize = 34;

/// Number of windows that are remembered of each level.
const REMEMBERED: usize = 500;
/// Number of windows below which a level goes by the recent windows of all levels.
const FEWEST: usize = 30;
/// Nodes that stop and start within this span do so in no time.
const INSTANT: SimDuration = SimDuration::from_micros(1);
/// Length of the shortest window, in microseconds.
const SHORTEST: i64 = 1_000_000;
/// Most windows without demand that are noted at once.
const QUIET: i64 = 20;

/// Bounds of the threshold, and its initial value.
const LEAST: f64 = 1e-4;
const MOST: f64 = 0.5;
const FIRST: f64 = 0.2;
/// Relative change of the threshold in a window in which the reserve costs twice its budget, or nothing. It is so small
/// that the threshold is nearly the same in busy hours and in quiet ones, and the reserve stands where it is likeliest
/// needed.
const GAIN: f64 = 0.002;
/// Memory of the budget, in microseconds.
const DAY: f64 = 86_400e6;
/// A node stays on until it has idled for this long divided by the threshold, in microseconds.
const HOLD: f64 = 12e6;
/// Nodes are woken only for a reserve whose probability of need is this many times the threshold.
const EAGER: f64 = 3.0;

/// The newsvendor part.
#[derive(Clone, Debug)]
pub struct Newsvendor {
    budget: Budget,
    demand: Demand,
    /// Longest time that stopping and starting a node takes; none until it is first needed.
    window: Option<SimDuration>,
}

impl Newsvendor {
    /// A reserve that takes `ratio` of the time in which nodes are free.
    #[must_use]
    pub fn new(ratio: f64) -> Self {
        Self { budget: Budget::new(ratio), demand: Demand::default(), window: None }
    }
}

impl Rest for Newsvendor {
    fn rest(&mut self, scene: &Scene<'_>, choice: &mut RestChoice) -> Result<()> {
        let now = scene.view.now;
        let window = *self.window.get_or_insert_with(|| window(scene.rules));
        if window <= INSTANT {
            // No job waits for a node that is off.
            let spared = scene.idle_descending().filter(|one| is_spared(one, now, scene.rules));
            choice.sleep.extend(spared.map(|one| one.node));
            return Ok(());
        }
        let window = SimDuration::from_micros(window.micros().max(SHORTEST));
        let (spare, free) = (scene.spare(), scene.free());
        let level = self.demand.see(now, window, free);
        self.budget.spend(now, window, spare, free.max(spare));
        let threshold = self.budget.threshold;
        let reserve = self.demand.exceeded(level, threshold);
        #[expect(clippy::cast_possible_truncation, reason = "at most a day and a half in microseconds")]
        let hold = SimDuration::from_micros((HOLD / threshold) as i64);
        let excess = spare.saturating_sub(reserve);
        let stay = match scene.alike() {
            Some(alike) => rest_alike(&alike, excess, (now, hold), choice),
            None => rest_each(scene, excess, (now, hold), choice),
        };
        let lowest = self.demand.exceeded(level, EAGER * threshold);
        choice.wake.extend(scene.off().take(lowest.saturating_sub(spare) as usize));
        let later = now.saturating_add(window);
        let is_kept = stay.is_any || !choice.wake.is_empty();
        choice.again = is_kept.then(|| stay.ripe.map_or(later, |ripe| ripe.min(later)));
        Ok(())
    }

    fn remember(&self, kept: &mut Recollection) {
        self.budget.remember(kept);
        self.demand.remember(kept);
    }

    fn recall(&mut self, kept: &Recollection) {
        self.budget.recall(kept);
        self.demand.recall(kept);
    }
}

/// Spared nodes that stay on.
struct Stay {
    /// True if there is any.
    is_any: bool,
    /// First instant at which one of the excess has idled for long enough.
    ripe: Option<SimTime>,
}

/// Puts those of the first `excess` spared nodes to sleep that have idled for long enough.
fn rest_each(scene: &Scene<'_>, excess: u32, (now, hold): (SimTime, SimDuration), choice: &mut RestChoice) -> Stay {
    let mut spared = scene.idle_descending().filter(|one| is_spared(one, now, scene.rules));
    let is_ripe = |one: &IdleNode| one.since.saturating_add(hold) <= now;
    let (go, stay): (Vec<IdleNode>, Vec<_>) = spared.by_ref().take(excess as usize).partition(is_ripe);
    choice.sleep.extend(go.iter().map(|one| one.node));
    let ripe = stay.iter().map(|one| one.since.saturating_add(hold)).min();
    Stay { is_any: !stay.is_empty() || spared.next().is_some(), ripe }
}

/// The same where all nodes are alike: the spared ones are then the highest.
fn rest_alike(alike: &Alike<'_>, excess: u32, (now, hold): (SimTime, SimDuration), choice: &mut RestChoice) -> Stay {
    let first = excess.min(alike.spared);
    let by = now.saturating_add(SimDuration::ZERO - hold);
    let oldest = alike.split(first, by, &mut choice.sleep);
    let is_any = alike.spared > first || choice.sleep.len() < first as usize;
    Stay { is_any, ripe: oldest.map(|since| since.saturating_add(hold)) }
}

/// Longest time that stopping and starting a node takes.
fn window(rules: &[NodeRule]) -> SimDuration {
    rules.iter().map(|rule| rule.stop.saturating_add(rule.start)).max().unwrap_or_default()
}

/// True if sleep saves energy until a node's next planned job, as under the part `planned`.
fn is_spared(one: &IdleNode, now: SimTime, rules: &[NodeRule]) -> bool {
    let rule = &rules[one.node as usize];
    let away = one.next - now;
    one.may_sleep && rule.far.is_some_and(|far| away >= far) && away > rule.stop.saturating_add(rule.start)
}

/// Recent demand for nodes, with decaying weight.
#[derive(Clone, Copy, Debug)]
struct Recent {
    at: SimTime,
    free: u32,
    nodes: f64,
}

impl Recent {
    /// Level of the demand at an instant, if nothing has happened since: the number of binary digits of twice the
    /// nodes.
    fn level_at(&self, at: SimTime, window: SimDuration) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "no more than the digits of 64 bits"
        )]
        let twice = (2.0 * self.nodes_at(at, window)) as u64;
        ((u64::BITS - twice.leading_zeros()) as usize).min(LEVELS - 1)
    }

    fn nodes_at(&self, at: SimTime, window: SimDuration) -> f64 {
        let (lasted, window) = ((at - self.at).micros() as f64, window.micros() as f64);
        self.nodes * (window / (window + lasted))
    }

    /// Recent demand once `free` nodes are free from now on.
    fn then(&self, now: SimTime, window: SimDuration, free: u32) -> Self {
        let asked = f64::from(self.free.saturating_sub(free));
        Self { at: now, free, nodes: self.nodes_at(now, window) + asked }
    }
}

/// Demand in past windows: the largest drop in the number of free nodes.
#[derive(Clone, Debug)]
struct Demand {
    /// Windows by the level of recent demand at their beginning; last those of all levels.
    levels: Vec<Windows>,
    open: Option<Open>,
    recent: Option<Recent>,
}

/// Window that is not over yet.
#[derive(Clone, Copy, Debug)]
struct Open {
    from: SimTime,
    level: usize,
    free: u32,
    least: u32,
}

impl Default for Demand {
    fn default() -> Self {
        Self { levels: vec![Windows::default(); LEVELS + 1], open: None, recent: None }
    }
}

impl Demand {
    /// Notes that `free` nodes are free from now on. Returns the level of recent demand.
    fn see(&mut self, now: SimTime, window: SimDuration, free: u32) -> usize {
        let before = self.recent.unwrap_or(Recent { at: now, free, nodes: 0.0 });
        let recent = before.then(now, window, free);
        self.recent = Some(recent);
        let level = recent.level_at(now, window);
        let begun = Open { from: now, level, free, least: free };
        let Some(open) = self.open else {
            self.open = Some(begun);
            return level;
        };
        let windows = (now - open.from).micros() / window.micros();
        if windows < 1 {
            self.open = Some(Open { least: open.least.min(free), ..open });
            return level;
        }
        // What happens at the end of a window belongs to the next.
        self.note(open.level, open.free - open.least);
        for quiet in 1..windows.min(QUIET) {
            let from = open.from.saturating_add(SimDuration::from_micros(quiet * window.micros()));
            self.note(before.level_at(from, window), 0);
        }
        self.open = Some(begun);
        level
    }

    fn remember(&self, kept: &mut Recollection) {
        for (level, windows) in self.levels.iter().enumerate() {
            kept.keep(&format!("demand {level}"), windows.in_order().map(i64::from).collect());
        }
        let open = self.open.map(|open| {
            [open.from.micros(), i64::try_from(open.level).unwrap_or_default(), open.free.into(), open.least.into()]
        });
        kept.keep("window", open.into_iter().flatten().collect());
        let recent = self.recent.map(|recent| [recent.at.micros(), recent.free.into(), bits(recent.nodes)]);
        kept.keep("recent", recent.into_iter().flatten().collect());
    }

    fn recall(&mut self, kept: &Recollection) {
        for (level, windows) in self.levels.iter_mut().enumerate() {
            let drops = kept.of(&format!("demand {level}")).iter();
            drops.filter_map(|&drop| drop.try_into().ok()).for_each(|drop| windows.note(drop));
        }
        for [from, level, free, least] in kept.rows("window") {
            let numbers =
                (level.try_into().ok().filter(|&level: &usize| level < LEVELS), free.try_into(), least.try_into());
            if let (Some(level), Ok(free), Ok(least)) = numbers {
                self.open = Some(Open { from: SimTime::from_micros(from), level, free, least });
            }
        }
        for [at, free, nodes] in kept.rows("recent") {
            if let Ok(free) = free.try_into() {
                self.recent = Some(Recent { at: SimTime::from_micros(at), free, nodes: number(nodes) });
            }
        }
    }

    fn note(&mut self, level: usize, drop: u32) {
        self.levels[level].note(drop);
        self.levels[LEVELS].note(drop);
    }

    /// Least number of nodes that was exceeded in no more than this share of the windows of the level.
    fn exceeded(&self, level: usize, share: f64) -> u32 {
        let own = &self.levels[level];
        let windows = if own.drops.len() < FEWEST { &self.levels[LEVELS] } else { own };
        windows.exceeded(share)
    }
}

/// The last windows of a level.
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

    /// The windows, the oldest first.
    fn in_order(&self) -> impl Iterator<Item = u32> + '_ {
        let (new, old) = self.drops.split_at(self.oldest);
        old.iter().chain(new).copied()
    }

    fn exceeded(&self, share: f64) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the number of windows")]
        let beyond = (share.min(1.0) * self.sorted.len() as f64) as usize;
        let place = self.sorted.len().checked_sub(1 + beyond);
        place.map_or(0, |place| self.sorted[place])
    }
}

/// Budget of the reserve. It adapts the threshold, the probability of need above which a node stays on, such that the
/// reserve costs what it may.
#[derive(Clone, Debug)]
struct Budget {
    ratio: f64,
    threshold: f64,
    /// Time of the last update, and the numbers of spare and free nodes then.
    last: Option<(SimTime, f64, f64)>,
    /// Time of spare and of free nodes, with decaying weight.
    spare: f64,
    free: f64,
}

impl Budget {
    fn new(ratio: f64) -> Self {
        Self { ratio, threshold: FIRST, last: None, spare: 0.0, free: 0.0 }
    }

    fn remember(&self, kept: &mut Recollection) {
        kept.keep("reserve", vec![bits(self.threshold), bits(self.spare), bits(self.free)]);
        let last = self.last.map(|(at, spare, free)| [at.micros(), bits(spare), bits(free)]);
        kept.keep("reserve since", last.into_iter().flatten().collect());
    }

    fn recall(&mut self, kept: &Recollection) {
        for [threshold, spare, free] in kept.rows("reserve") {
            (self.threshold, self.spare, self.free) = (number(threshold), number(spare), number(free));
        }
        for [at, spare, free] in kept.rows("reserve since") {
            self.last = Some((SimTime::from_micros(at), number(spare), number(free)));
        }
    }

    /// Notes the numbers of spare and free nodes from now on.
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
            demand.see(at(second), span(100), free);
        }
        let told = &demand.levels[LEVELS].drops;
        assert_eq!(told, &[6, 0, 0, 0, 0], "then one in which more came free, and three without a pass");
    }

    #[test]
    fn windows_are_told_apart_by_what_was_asked_for_before_them() {
        let mut demand = Demand::default();
        let levels = [(0, 20), (10, 20), (20, 16), (30, 18), (130, 12), (140, 12), (1500, 12)];
        let levels = levels.map(|(second, free)| demand.see(at(second), span(100), free));
        // Twice 4, twice 4 over 1.1, and then with 6 more.
        assert_eq!(levels, [0, 0, 4, 3, 4, 4, 0]);
        assert_eq!(demand.levels[0].drops[0], 4, "nothing had been asked for before the first");
        assert_eq!(demand.levels[4].drops, [0], "after ten nodes none");
        assert_eq!(demand.levels[3].drops.len(), 2, "the demand fades in quiet windows");
    }

    #[test]
    fn a_level_that_is_new_goes_by_all_windows() {
        let mut demand = Demand::default();
        for begin in (0..).step_by(1000).take(2 * FEWEST) {
            demand.see(at(begin), span(100), 9);
            demand.see(at(begin + 50), span(100), 4);
            demand.see(at(begin + 100), span(100), 9);
        }
        assert_eq!((demand.exceeded(0, 0.0), demand.exceeded(20, 0.0)), (5, 5));
        assert_eq!(demand.exceeded(3, 0.0), 0, "of this one enough is known");
    }

    #[test]
    fn a_reserve_that_costs_more_than_it_may_has_to_be_likelier_needed() {
        let mut budget = Budget::new(0.1);
        (0..400).for_each(|window| budget.spend(at(100 * window), span(100), 20, 100));
        let dear = budget.threshold;
        assert!(dear > 2.0 * FIRST, "{dear}");
        (400..5000).for_each(|window| budget.spend(at(100 * window), span(100), 0, 100));
        assert!(budget.threshold < dear / 5.0 && budget.threshold >= LEAST, "{}", budget.threshold);
    }
}
