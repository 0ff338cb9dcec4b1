//! Waking where nodes are counted (operations page on machines, rule 20).
//!
//! A wake plan, which binds nothing, says how many nodes are held at any time; against it stand those that are free by then
//! without waking any.

use std::collections::BTreeMap;

use crate::algo::fit_list::{FitList, Room, Waiting};
use crate::algo::horizon::Profile;
use crate::algo::sorted_blocks::Place;
use crate::policy::View;
use crate::policy::sleep::rules::NodeRule;
use crate::policy::sleep::standby::Return;
use crate::policy::sleep::{Leave, Sleep, Wakes};
use crate::units::{SimDuration, SimTime};

/// A job needs its nodes for at least this long.
const TICK: SimDuration = SimDuration::from_micros(1);

/// By how many the nodes that are free by then exceed those that the wake plan holds, from now on.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    now: SimTime,
    /// Each holds until the next.
    steps: Vec<(SimTime, i64)>,
    /// The least of all up to each.
    least: Vec<i64>,
    /// How many nodes are left, on or not, once all are back and the jobs have theirs that wait for nothing else.
    left: i64,
}

/// One job after the other at the earliest time from which there are enough nodes for all its length.
struct WakePlan<'a> {
    view: &'a View<'a>,
    free: Profile<i64>,
    /// Where a count and a length were planned last: those alike fit no earlier.
    last: BTreeMap<(i64, SimDuration), SimTime>,
}

impl<'a> WakePlan<'a> {
    fn new(view: &'a View<'a>) -> Self {
        let (now, idle) = (view.now, view.slots.free_units());
        let releases = view.releases.iter().map(|release| (release.at.max(now), release.claim.units));
        let mut free = Profile::default();
        free.reset(now, idle, releases);
        Self { view, free, last: BTreeMap::new() }
    }

    /// Plans a job, not before `from`; returns its start.
    fn add(&mut self, waiting: &Waiting, from: SimTime) -> SimTime {
        self.add_by(waiting, from, SimTime::NEVER)
    }

    /// The same if it starts by then.
    fn add_by(&mut self, waiting: &Waiting, from: SimTime, by: SimTime) -> SimTime {
        let (units, length) = (waiting.units, waiting.length.max(TICK));
        let last = self.last.entry((units, length)).or_insert(self.view.now);
        if *last == SimTime::NEVER {
            return SimTime::NEVER;
        }
        let from = from.max(*last);
        let after = by.saturating_add(TICK);
        if by < SimTime::NEVER && !self.free.fits_between(from, after, units, length) {
            *last = from.max(after);
            return SimTime::NEVER;
        }
        let start = self.free.earliest_fit_from(from, units, length);
        *last = start;
        if start != SimTime::NEVER && start <= by {
            self.free.reserve(start, length, units);
        }
        start
    }
}

impl Outlook {
    /// With these jobs waiting, in their order; where it is strict none is planned before the one ahead of it.
    pub(super) fn new<'w>(view: &View<'_>, queue: impl Iterator<Item = &'w Waiting>, is_strict: bool) -> Self {
        let mut plan = WakePlan::new(view);
        let mut from = view.now;
        for waiting in queue {
            let start = plan.add(waiting, from);
            if is_strict {
                from = start;
            }
            if from == SimTime::NEVER {
                break;
            }
        }
        Self::of(&plan, 0)
    }

    /// The same as the backfill would have it if all nodes were on: beside what the first `depth` jobs hold that do not fit,
    /// nodes are held only for jobs that fit as soon as all nodes are back.
    pub(super) fn as_backfilled(view: &View<'_>, queue: &FitList, depth: usize) -> Self {
        let mut plan = WakePlan::new(view);
        let soon = returns(view).iter().map(|back| back.at).max().unwrap_or(view.now).max(view.now);
        let released = view.releases.iter().filter(|release| release.at <= soon).map(|release| release.claim.units);
        let mut most = view.slots.free_units() + released.sum::<i64>();
        let (mut place, mut held) = (Place::FRONT, 0);
        while let Some(next) = if held < depth { Some(place) } else { queue.first_fit(place, Room::of(most)) }
            && let Some(waiting) = queue.get(next)
        {
            let start = plan.add_by(waiting, view.now, if held < depth { SimTime::NEVER } else { soon });
            if start > soon {
                held += usize::from(held < depth);
            } else if waiting.length >= soon - view.now {
                most -= waiting.units;
            }
            place = queue.after(next);
        }
        let left = plan.free.least_between(soon, TICK);
        Self::of(&plan, left)
    }

    fn of(plan: &WakePlan<'_>, left: i64) -> Self {
        let now = plan.view.now;
        let returns = returns(plan.view).iter().filter(|back| back.down > 0).map(|back| (back.at.max(now), back.down));
        let (mut returns, mut returned) = (returns.peekable(), 0);
        let mut outlook = Self::with_capacity(now, plan.free.count(), left);
        // What is free without waking any: all of them come back at a step.
        plan.free.steps().for_each(|(at, free)| {
            while let Some((_, down)) = returns.next_if(|back| back.0 <= at) {
                returned += down;
            }
            outlook.push(at, free - returned);
        });
        outlook
    }

    fn with_capacity(now: SimTime, steps: usize, left: i64) -> Self {
        Self { now, steps: Vec::with_capacity(steps), least: Vec::with_capacity(steps), left }
    }

    fn push(&mut self, at: SimTime, level: i64) {
        self.steps.push((at, level));
        self.least.push(self.least.last().map_or(level, |&least| level.min(least)));
    }

    /// The off nodes that are woken now, the lowest first, and when the next have to be.
    pub(super) fn wakes_of(&self, sleep: &Sleep, view: &View<'_>) -> Wakes {
        let Some(standby) = view.standby else { return Wakes::default() };
        let spans = standby.kinds_down().map(|like| sleep.rule(like).start);
        let Some(span) = spans.max() else { return Wakes::default() };
        let soon = self.now.saturating_add(span);
        let first_later = self.steps.partition_point(|step| step.0 <= soon);
        let lack = -self.least[first_later - 1];
        let larger = self.steps[first_later..].iter().find(|step| -step.1 > lack.max(0));
        Wakes {
            now: standby.off().iter().take(usize::try_from(lack).unwrap_or(0)).collect(),
            due: larger.map(|step| self.now.saturating_add((step.0 - self.now) - span)),
        }
    }

    /// The least there is left over until then.
    pub(super) fn least_until(&self, until: SimTime) -> i64 {
        self.least[self.steps.partition_point(|step| step.0 <= until) - 1]
    }

    /// When a node is lacking, if so many go to sleep beside it.
    pub(super) fn lacking(&self, above: usize) -> SimTime {
        let above = i64::try_from(above).unwrap_or(i64::MAX);
        let first = self.least.partition_point(|&least| least > above);
        self.steps.get(first).map_or(SimTime::NEVER, |step| step.0)
    }

    /// How many nodes are left for jobs to come, on or not.
    pub(super) fn left(&self) -> i64 {
        self.left
    }

    /// Whether a node may go to sleep, if so many others did before it.
    pub(super) fn leave(&self, rule: &NodeRule, asleep: u32) -> Leave {
        let Some(far) = rule.far else { return Leave::Denied };
        let (by, before) =
            (self.now.saturating_add(rule.stop.saturating_add(rule.start)), self.now.saturating_add(far));
        let within = self.steps.partition_point(|step| step.0 <= by || step.0 < before);
        if i64::from(asleep) < self.least[within - 1] { Leave::Given } else { Leave::DeniedToAllAlike }
    }
}

fn returns<'a>(view: &View<'a>) -> &'a [Return] {
    view.standby.map_or(&[], |standby| standby.returns())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn rule(stop: i64, start: i64, far: i64) -> NodeRule {
        let span = SimDuration::from_micros;
        NodeRule { stop: span(stop), start: span(start), far: Some(span(far)), is_excluded: false }
    }

    #[test]
    fn a_node_is_spared_if_none_is_lacking_by_the_time_it_could_be_back_nor_before_it_pays() {
        // Three nodes are free, two are held over [50, 80).
        let mut outlook = Outlook::with_capacity(at(0), 3, 0);
        for (from, level) in [(0, 3), (50, 1), (80, 3)] {
            outlook.push(at(from), level);
        }
        let spares = |rule: NodeRule| (0..4).take_while(|&asleep| outlook.leave(&rule, asleep) == Leave::Given).count();
        assert_eq!(spares(rule(20, 29, 0)), 3);
        assert_eq!(spares(rule(20, 30, 0)), 1, "back at 50, with a job that starts then");
        assert_eq!(spares(rule(0, 1, 50)), 3, "a job at 50 is far enough away");
        assert_eq!(spares(rule(0, 1, 51)), 1);
    }
}
