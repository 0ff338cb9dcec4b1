//! Waking where nodes are counted (operations page on machines, rule 20).
//!
//! A wake plan, which binds nothing, says how many nodes are held at any time. They are compared with the nodes that
//! are free by then without waking any.

use std::sync::OnceLock;

use crate::algo::fit_list::{FitList, Place, Room, Waiting};
use crate::algo::floors::Floors;
use crate::algo::horizon::Profile;
use crate::algo::partial_plan::{CountedUnits, PartialPlan};
use crate::policy::View;
use crate::policy::backfill::base::Base;
use crate::policy::sleep::Sleep;
use crate::policy::sleep::answers::{Leave, Wakes};
use crate::policy::sleep::levels::{self, Levels};
use crate::policy::sleep::lows::Lows;
use crate::policy::sleep::node_rule::NodeRule;
use crate::units::{SimDuration, SimTime};

/// Surplus of nodes over time: those free by then, minus those that the wake plan holds.
#[derive(Clone, Debug)]
pub(super) struct Outlook {
    now: SimTime,
    /// Working state of the plan, or memory for one if lows are enough.
    plan: Box<Plan>,
    /// Lows of the surplus, where they are known without a plan.
    lows: Option<Lows>,
    ahead: OnceLock<Levels>,
    /// Number of nodes left, on or not, once all are back and the jobs that wait only for nodes to boot have theirs.
    left: i64,
    /// Time at which all nodes could be back that are off or shutting down, if there are any.
    soon: Option<SimTime>,
    /// Time up to which all starts are planned.
    by: SimTime,
    /// True if it is known which nodes are woken and when, regardless of the jobs that are yet to be planned.
    is_complete: bool,
}

/// Spans ahead in which a wake plan matters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// A lack within this span keeps all nodes on.
    pub(super) near: SimDuration,
    /// A lack beyond this span keeps none on.
    pub(super) far: SimDuration,
}

impl Reach {
    /// Reach for all nodes that may sleep.
    pub(super) fn of(rules: &[NodeRule]) -> Self {
        let sleepers = rules.iter().filter(|rule| !rule.is_excluded);
        let spans = sleepers.filter_map(|rule| {
            // Anything before `far` is at least a microsecond earlier.
            let before = SimDuration::from_micros(rule.far?.micros() - 1);
            Some(before.max(rule.stop.saturating_add(rule.start)))
        });
        let spans: Vec<_> = spans.collect();
        let (near, far) = (spans.iter().min(), spans.iter().max());
        Self { near: near.copied().unwrap_or_default(), far: far.copied().unwrap_or_default() }
    }
}

/// Working state of a wake plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    now: SimTime,
    /// Number of nodes, and of those that are free once all is released.
    all: (i64, i64),
    free: Profile<i64>,
    /// Releases of running jobs and of nodes on standby, kept from pass to pass.
    base: Base,
    floors: Floors,
    /// Jobs that are planned.
    partial: PartialPlan,
    /// Next job in strict order, and the instant before which it may not start; none if it never may.
    turn: Option<(Place, SimTime)>,
    /// Last planned start by count and length: jobs alike fit no earlier.
    last: Vec<((i64, SimDuration), SimTime)>,
    /// Numbers of nodes that come back once they are woken, by instant.
    woken: Vec<(SimTime, i64)>,
}

impl Plan {
    /// Notes the state of the machine, from which a plan can begin later.
    fn note(&mut self, view: &View<'_>) {
        self.now = view.now;
        self.all = (view.units(), view.slots.free_units() + view.releases.total().units);
        self.base.keep_up(view.releases, view.now);
        let woken = view.returns().iter().filter(|back| back.down > 0).map(|back| (back.at.max(view.now), back.down));
        self.woken.clear();
        self.woken.extend(woken);
    }

    /// Begins with nothing planned, from the state that was noted.
    fn begin(&mut self) {
        self.base.copy_units(self.all.1, &mut self.free);
        self.last.clear();
    }

    /// Begins a plan of all jobs, one after another.
    fn begin_all(&mut self) {
        self.begin();
        self.floors.reset(self.now, self.all.0);
        self.partial.begin(usize::MAX);
        self.turn = Some((Place::FRONT, self.now));
    }

    /// Plans a job at the earliest time from which there are enough nodes for all its length, if it starts by `by`;
    /// returns its start.
    fn add_by(&mut self, waiting: &Waiting, by: SimTime) -> SimTime {
        let (units, length) = (waiting.units, waiting.length.max(SimDuration::TICK));
        let place = self.place_of((units, length));
        let from = self.last[place].1;
        if from == SimTime::NEVER {
            return SimTime::NEVER;
        }
        let after = by.saturating_add(SimDuration::TICK);
        if by < SimTime::NEVER && !self.free.fits_between(from, after, units, length) {
            self.last[place].1 = from.max(after);
            return SimTime::NEVER;
        }
        let start = self.free.earliest_fit_from(from, units, length);
        self.last[place].1 = start;
        if start != SimTime::NEVER && start <= by {
            self.free.reserve(start, length, units);
        }
        start
    }

    /// Plans all jobs of a queue that start by `by`, until `is_enough`.
    fn add_all(&mut self, queue: &FitList, by: SimTime, is_enough: impl Fn(&Profile<i64>) -> bool) {
        self.partial.ask(by.saturating_add(SimDuration::TICK));
        let mut counts = CountedUnits { free: &mut self.free, floors: &mut self.floors };
        while !is_enough(counts.free)
            && let Some(start) = self.partial.next(&mut counts, queue)
        {
            self.partial.take(&mut counts, &start);
        }
    }

    /// The same in strict order: none is planned before the one ahead of it.
    fn add_in_turn(&mut self, queue: &FitList, by: SimTime) {
        while let Some((place, from)) = self.turn.filter(|turn| turn.1 <= by)
            && let Some(waiting) = queue.get(place)
        {
            let length = waiting.length.max(SimDuration::TICK);
            let start = self.free.earliest_fit_from(from, waiting.units, length);
            // Behind a job that never starts, no other does.
            self.turn = (start != SimTime::NEVER).then(|| (queue.after(place), start));
            if self.turn.is_some() {
                self.free.reserve(start, length, waiting.units);
            }
        }
    }

    /// True if all jobs of a queue are planned, or never start.
    fn holds_all(&self, queue: &FitList, is_strict: bool) -> bool {
        if is_strict {
            self.turn.is_none_or(|turn| queue.get(turn.0).is_none())
        } else {
            self.partial.count() == queue.len()
        }
    }

    fn place_of(&mut self, of: (i64, SimDuration)) -> usize {
        let place = self.last.partition_point(|(other, _)| *other < of);
        if self.last.get(place).is_none_or(|(other, _)| *other != of) {
            self.last.insert(place, (of, SimTime::from_micros(i64::MIN)));
        }
        place
    }
}

impl Outlook {
    /// Makes a complete plan for these waiting jobs, in their order; if it is strict, none is planned before the one
    /// ahead of it. It reuses the memory of `plan`.
    pub(super) fn new(view: &View<'_>, mut plan: Box<Plan>, queue: &FitList, is_strict: bool) -> Self {
        plan.note(view);
        plan.begin_all();
        if is_strict {
            plan.add_in_turn(queue, SimTime::NEVER);
        } else {
            plan.add_all(queue, SimTime::NEVER, |_| false);
        }
        let left = plan.free.least_between(all_back(view), SimDuration::TICK);
        Self::of(view, plan, left)
    }

    /// The same only as far as it decides which nodes are woken now, and which are put to sleep by rules of this reach.
    pub(super) fn within(view: &View<'_>, plan: Box<Plan>, queue: &FitList, is_strict: bool, sleep: &Sleep) -> Self {
        let by = view.now.saturating_add(sleep.span_ahead(view));
        match Lows::until(view, queue, by, is_strict) {
            Some(lows) => Self::low(view, plan, lows, (by, sleep.soon(view))),
            None => Self::planned_within(view, plan, queue, is_strict, sleep),
        }
    }

    /// The same from lows up to `by`.
    fn low(view: &View<'_>, mut plan: Box<Plan>, lows: Lows, (by, soon): (SimTime, Option<SimTime>)) -> Self {
        let is_known = lows.are_all() || soon.is_none();
        if !is_known {
            plan.note(view);
        }
        let by = if lows.are_all() { SimTime::NEVER } else { by };
        let mut outlook = Self { soon, by, lows: Some(lows), ..Self::of(view, plan, 0) };
        outlook.is_complete = is_known || soon.is_some_and(|soon| outlook.says_all(soon, by));
        outlook
    }

    /// The same by a plan.
    pub(super) fn planned_within(
        view: &View<'_>,
        plan: Box<Plan>,
        queue: &FitList,
        is_strict: bool,
        sleep: &Sleep,
    ) -> Self {
        let (now, reach, soon) = (view.now, sleep.reach(), sleep.soon(view));
        let by = now.saturating_add(sleep.span_ahead(view));
        let mut outlook = Self { soon, by, ..Self::of(view, plan, 0) };
        outlook.plan.note(view);
        outlook.plan.begin_all();
        if is_strict {
            outlook.plan.add_in_turn(queue, by);
        } else {
            // No node goes to sleep if one is lacking soon. If some are off, it matters how many are lacking, and when
            // more are.
            let near = reach.near.max(SimDuration::TICK);
            outlook.plan.add_all(queue, by, |free| soon.is_none() && free.least_between(now, near) <= 0);
        }
        outlook.conclude(queue, is_strict)
    }

    /// Extends the plan to jobs of the same queue that start within twice the span.
    pub(super) fn look_further(mut self, queue: &FitList, is_strict: bool) -> Self {
        self.ahead = OnceLock::new();
        if self.lows.take().is_some() {
            self.plan.begin_all();
        }
        let span = self.by - self.now;
        let longer = if self.by < SimTime::LATEST {
            span.saturating_add(span.max(SimDuration::TICK))
        } else {
            SimDuration::FOREVER
        };
        self.by = self.now.saturating_add(longer);
        if is_strict {
            self.plan.add_in_turn(queue, self.by);
        } else {
            self.plan.add_all(queue, self.by, |_| false);
        }
        self.conclude(queue, is_strict)
    }

    /// Determines if it is complete.
    fn conclude(mut self, queue: &FitList, is_strict: bool) -> Self {
        self.is_complete = self.by == SimTime::NEVER
            || self.plan.holds_all(queue, is_strict)
            || self.soon.is_none_or(|soon| self.says_all(soon, self.by));
        self
    }

    /// True if it is known which nodes are woken, and when, once all is planned that starts by `by`.
    fn says_all(&self, soon: SimTime, by: SimTime) -> bool {
        let down = self.plan.woken.iter().map(|woken| woken.1).sum::<i64>();
        let (lack, larger) = self.lack_by(soon, by);
        lack >= down || larger.is_some()
    }

    /// True if it is known which nodes are woken, and when.
    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Instant at which it was made.
    pub(super) fn now(&self) -> SimTime {
        self.now
    }

    /// Plans as the backfill would if all nodes were on: besides what the first `depth` blocked jobs hold, nodes are
    /// held only for jobs that fit as soon as all nodes are back.
    pub(super) fn as_backfilled(view: &View<'_>, plan: Box<Plan>, queue: &FitList, depth: usize) -> Self {
        let soon = all_back(view);
        // A job that starts by then leaves its reservation to the next.
        let is_brief = depth == 1 || depth > 1 && queue.len() <= 1;
        let lows = if is_brief { Lows::until(view, queue, soon, false) } else { None };
        match lows.filter(|lows| lows.are_all() || lows.starts_after(soon)) {
            Some(lows) => Self { lows: Some(lows), ..Self::of(view, plan, lows.left_at(view, soon)) },
            None => Self::planned_as_backfilled(view, plan, queue, depth),
        }
    }

    /// The same by a plan.
    fn planned_as_backfilled(view: &View<'_>, mut plan: Box<Plan>, queue: &FitList, depth: usize) -> Self {
        plan.note(view);
        plan.begin();
        let soon = all_back(view);
        // They are sorted by instant.
        let released = view.releases.iter().take_while(|release| release.at <= soon).map(|release| release.claim.units);
        let mut most = view.slots.free_units() + released.sum::<i64>();
        let (mut place, mut held) = (Place::FRONT, 0);
        while let Some(next) = if held < depth { Some(place) } else { queue.first_fit(place, Room::of(most)) }
            && let Some(waiting) = queue.get(next)
        {
            let start = plan.add_by(waiting, if held < depth { SimTime::NEVER } else { soon });
            if start > soon {
                held += usize::from(held < depth);
            } else if waiting.length >= soon - view.now {
                most -= waiting.units;
            }
            place = queue.after(next);
        }
        let left = plan.free.least_between(soon, SimDuration::TICK);
        Self::of(view, plan, left)
    }

    fn of(view: &View<'_>, plan: Box<Plan>, left: i64) -> Self {
        let (now, lows, ahead, soon, by) = (view.now, None, OnceLock::new(), None, SimTime::NEVER);
        Self { now, plan, lows, ahead, left, soon, by, is_complete: true }
    }

    /// Returns its memory for another plan.
    pub(super) fn into_plan(self) -> Box<Plan> {
        self.plan
    }

    /// Levels over time: nodes that are free without waking any, beyond those held. Nodes that would have to be woken
    /// come back at steps, and are subtracted there.
    fn levels(&self) -> impl Iterator<Item = (SimTime, i64)> + '_ {
        levels::awake(self.plan.free.steps(), &self.plan.woken)
    }

    fn ahead(&self) -> &Levels {
        self.ahead.get_or_init(|| match &self.lows {
            Some(lows) => Levels::of(lows.steps()),
            None => Levels::of(self.levels()),
        })
    }

    /// [`levels::lack`] of the levels up to `by`. Once all nodes are back that may come back, it is a search for a step.
    fn lack_by(&self, soon: SimTime, by: SimTime) -> (i64, Option<SimTime>) {
        if let Some(lows) = &self.lows {
            return levels::lack(lows.steps().take_while(|low| low.0 <= by), soon);
        }
        let settled = self.plan.woken.iter().map(|woken| woken.0).max().unwrap_or(soon).max(soon);
        let (lack, larger) = levels::lack(self.levels().take_while(|level| level.0 <= settled.min(by)), soon);
        if larger.is_some() || settled >= by {
            return (lack, larger);
        }
        let down = self.plan.woken.iter().map(|woken| woken.1).sum::<i64>();
        (lack, self.plan.free.next_lack(settled, down - lack).filter(|&at| at <= by))
    }

    /// Off nodes that are woken now, the lowest first, and the time at which the next have to be, if the plan is
    /// complete.
    pub(super) fn wakes_of(&self, sleep: &Sleep, view: &View<'_>) -> Wakes {
        let (Some(standby), Some(soon)) = (view.standby, sleep.soon(view)) else { return Wakes::default() };
        let known = if self.is_complete { SimTime::NEVER } else { self.by };
        let (lack, larger) = self.lack_by(soon, known);
        Wakes {
            now: standby.off().iter().take(usize::try_from(lack).unwrap_or(0)).collect(),
            due: larger.filter(|_| self.is_complete).map(|larger| self.due(soon, larger)),
        }
    }

    /// Time at which nodes have to be woken that are lacking at an instant.
    fn due(&self, soon: SimTime, lacking: SimTime) -> SimTime {
        self.now.saturating_add(lacking - soon)
    }

    /// Time at which the next nodes have to be woken, if it is complete.
    pub(super) fn next_wake(&self) -> Option<SimTime> {
        let soon = self.soon?;
        self.lack_by(soon, SimTime::NEVER).1.map(|larger| self.due(soon, larger))
    }

    /// Time before which no more nodes have to be woken, if it is not complete.
    pub(super) fn first_wake(&self) -> Option<SimTime> {
        self.soon.map(|soon| self.due(soon, self.by))
    }

    /// Least level up to an instant, and before another.
    pub(super) fn least_until(&self, by: SimTime, before: SimTime) -> i64 {
        let is_within = |&(at, _): &(SimTime, i64)| at <= by || at < before;
        let least = match &self.lows {
            Some(lows) => lows.steps().take_while(is_within).map(|low| low.1).min(),
            None => self.levels().take_while(is_within).map(|level| level.1).min(),
        };
        least.unwrap_or(i64::MAX)
    }

    /// Number of nodes that may sleep by these rules, as far as plans are concerned.
    pub(super) fn spared(&self, rule: &NodeRule) -> u32 {
        let Some(far) = rule.far else { return 0 };
        let (by, before) = levels::horizon(self.now, rule, far);
        u32::try_from(self.least_until(by, before).max(0)).unwrap_or(u32::MAX)
    }

    /// Time at which a node is lacking, if `above` others go to sleep.
    pub(super) fn lacking(&self, above: usize) -> SimTime {
        self.ahead().lacking(above)
    }

    /// Number of nodes left for jobs to come, on or not.
    pub(super) fn left(&self) -> i64 {
        self.left
    }

    /// Answer to whether a node may go to sleep, if `asleep` others did before it.
    pub(super) fn leave(&self, rule: &NodeRule, asleep: u32) -> Leave {
        self.ahead().leave(self.now, rule, asleep)
    }
}

/// Instant at which the last node is back that is off or in transition.
pub(super) fn all_back(view: &View<'_>) -> SimTime {
    view.returns().iter().map(|back| back.at).max().unwrap_or(view.now).max(view.now)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algo::fit_list::{ClassId, QueueKey};
    use crate::algo::releases::{Claim, Release, ReleasedBy, Releases};
    use crate::algo::span::Span;
    use crate::cluster::standby::{Expected, Standby};
    use crate::platform::node_state::NodeState;
    use crate::platform::scope::Scope;
    use crate::platform::slots::Slots;
    use crate::policy::sleep::as_planned::AsPlanned;
    use crate::policy::sleep::rules::{Far, Margin, Rules};
    use crate::policy::testing::World;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn rule(stop: i64, start: i64, far: i64) -> NodeRule {
        let span = SimDuration::from_micros;
        NodeRule { stop: span(stop), start: span(start), far: Some(span(far)), is_excluded: false, is_instant: false }
    }

    proptest! {
        /// Twin: a walk over all levels.
        #[test]
        fn the_first_larger_lack_is_that_of_a_walk_over_all_levels(
            releases in prop::collection::vec((1..400_i64, 1..5_i64), 0..200),
            held in prop::collection::vec((0..400_i64, 1..200_i64, 1..9_i64), 0..40),
            woken in prop::collection::vec((0..120_i64, 1..6_i64), 0..5),
            (soon, by) in (0..90_i64, prop_oneof![Just(i64::MAX), 0..500_i64]),
        ) {
            let (mut releases, mut plan) = (releases, Plan::default());
            releases.extend(&woken);
            releases.sort_unstable();
            plan.free.reset(at(0), 6, releases.iter().map(|&(then, units)| (at(then), units)));
            for (start, length, units) in held {
                plan.free.reserve(at(start), SimDuration::from_micros(length), units);
            }
            plan.woken.extend(woken.iter().map(|&(then, nodes)| (at(then), nodes)));
            plan.woken.sort_unstable();
            let by = if by == i64::MAX { SimTime::NEVER } else { at(by) };
            let outlook = outlook(plan);
            let walked = levels::lack(outlook.levels().take_while(|level| level.0 <= by), at(soon));
            prop_assert_eq!(outlook.lack_by(at(soon), by), walked);
        }
    }

    fn outlook(plan: Plan) -> Outlook {
        let (ahead, by) = (OnceLock::new(), SimTime::NEVER);
        Outlook { now: at(0), plan: Box::new(plan), lows: None, ahead, left: 0, soon: None, by, is_complete: true }
    }

    /// A machine with running jobs, nodes that are off, shut down and boot, and a queue.
    #[derive(Debug)]
    struct Scenario {
        now: i64,
        start: i64,
        ends: Vec<(i64, u32)>,
        asleep: [u32; 3],
        until: [i64; 2],
        free: u32,
        jobs: Vec<(i64, i64)>,
    }

    impl Scenario {
        /// Calls `check` with a view, the rules and the queue.
        fn with(&self, check: impl FnOnce(&View<'_>, &Sleep, &FitList)) {
            let world = World::new(3, 100, 1, true);
            let (span, platform) = (SimDuration::from_micros, world.platform());
            let (start, stop, far) = (Margin::Of(span(self.start)), Margin::Of(span(3)), Far::Of(span(self.start)));
            let rules = Rules { far, stop, start, ..Rules::unlimited(Box::new(AsPlanned)) };
            let sleep = Sleep::new(&rules, Scope::all(platform)).unwrap();
            let (mut standby, mut slots) = (Standby::new(at(0), platform), Slots::new(100, 1));
            (self.free..100).for_each(|node| slots.close(Span::of(node)));
            let mut next = self.free;
            let mut some = |count: u32| {
                let mut nodes = Span::of(next);
                (1..count).for_each(|more| assert!(nodes.extend(next + more)));
                next += count;
                nodes
            };
            let [off, stopping, booting] = self.asleep;
            let [stop, boot] = self.until.map(|until| at(self.now + until));
            let states = [NodeState::Off, NodeState::ShuttingDown { until: stop }, NodeState::Booting { until: boot }];
            for (count, state) in [off, stopping, booting].into_iter().zip(states).filter(|one| one.0 > 0) {
                standby.enter(at(self.now), some(count), NodeState::Idle, state);
            }
            let mut releases = Releases::followed();
            for (row, &(end, count)) in (0..).zip(&self.ends) {
                let claim = Claim { units: i64::from(count), microwatts: 0 };
                releases.insert(Release { at: at(self.now + end), by: ReleasedBy::Job(row), claim });
            }
            let mut queue = FitList::default();
            for (row, &(units, length)) in (0..).zip(&self.jobs) {
                let key = QueueKey { tier: 0, rank: 0, submit: at(0), row };
                queue.insert(Waiting { key, units, length: span(length), watts: 0, class: ClassId::OTHER });
            }
            let mut expected = Expected::default();
            sleep.returns(&View { now: at(self.now), standby: Some(&standby), ..world.view() }, &mut expected.returns);
            standby.expect(expected);
            standby.recount().1.iter().for_each(|&back| releases.insert(back));
            let (now, standby) = (at(self.now), Some(&standby));
            check(&View { now, standby, slots: &slots, releases: &releases, ..world.view() }, &sleep, &queue);
        }
    }

    fn scenario() -> impl Strategy<Value = Scenario> {
        let ends = prop::collection::vec((-3..60_i64, 1..9_u32), 0..6);
        let jobs = prop::collection::vec((1..40_i64, 0..60_i64), 0..5);
        let machine = (ends, prop::array::uniform3(0..9_u32), prop::array::uniform2(0..20_i64), 0..9_u32);
        (0..5_i64, 1..12_i64, machine, jobs).prop_map(|(now, start, (ends, asleep, until, free), jobs)| Scenario {
            now,
            start,
            ends,
            asleep,
            until,
            free,
            jobs,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Twin: a plan.
        #[test]
        fn lows_say_who_wakes_and_who_sleeps_as_a_plan_does(of in scenario(), is_strict in any::<bool>()) {
            of.with(|view, sleep, queue| {
                let planned = Outlook::planned_within(view, Box::default(), queue, is_strict, sleep);
                let further = |mut outlook: Outlook| {
                    while !outlook.is_complete() {
                        outlook = outlook.look_further(queue, is_strict);
                    }
                    outlook.next_wake()
                };
                let (by, soon) = (planned.by, sleep.soon(view));
                let Some(lows) = Lows::until(view, queue, by, is_strict) else { return };
                let outlook = Outlook::low(view, Box::default(), lows, (by, soon));
                if let Some(soon) = soon {
                    assert_eq!(outlook.lack_by(soon, by), planned.lack_by(soon, by));
                }
                for spare in [1, of.start / 2, of.start] {
                    let own = rule(spare, of.start, spare);
                    assert_eq!(outlook.spared(&own), planned.spared(&own));
                    (0..9).for_each(|asleep| assert_eq!(outlook.leave(&own, asleep), planned.leave(&own, asleep)));
                }
                assert_eq!(further(outlook), further(planned));
            });
        }

        /// Twin: a plan.
        #[test]
        fn lows_say_what_is_left_as_a_plan_does(of in scenario(), depth in 0..3_usize) {
            of.with(|view, sleep, queue| {
                let planned = Outlook::planned_as_backfilled(view, Box::default(), queue, depth);
                let outlook = Outlook::as_backfilled(view, Box::default(), queue, depth);
                assert_eq!(outlook.left(), planned.left());
                let soon = sleep.soon(view).unwrap_or(view.now);
                assert_eq!(outlook.lack_by(soon, SimTime::NEVER), planned.lack_by(soon, SimTime::NEVER));
                for then in 0..99 {
                    let by = at(of.now + then);
                    assert_eq!(outlook.least_until(by, by), planned.least_until(by, by));
                }
                (0..40).for_each(|above| assert_eq!(outlook.lacking(above), planned.lacking(above)));
            });
        }
    }

    #[test]
    fn a_node_is_spared_if_none_is_lacking_by_the_time_it_could_be_back_nor_before_it_pays() {
        // Three nodes are free, two are held over [50, 80).
        let mut plan = Plan::default();
        plan.free.reset(at(0), 3, std::iter::empty());
        plan.free.reserve(at(50), SimDuration::from_micros(30), 2);
        let outlook = outlook(plan);
        let spares = |rule: NodeRule| (0..4).take_while(|&asleep| outlook.leave(&rule, asleep) == Leave::Given).count();
        assert_eq!(spares(rule(20, 29, 0)), 3);
        assert_eq!(spares(rule(20, 30, 0)), 1, "back at 50, with a job that starts then");
        assert_eq!(spares(rule(0, 1, 50)), 3, "a job at 50 is far enough away");
        assert_eq!(spares(rule(0, 1, 51)), 1);
    }
}
