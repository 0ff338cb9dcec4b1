//! Sleep rules: which idle nodes are switched off, and which are switched on again and when (operations page on
//! machines, rules 14 to 21).
//!
//! At the end of every pass nodes are woken for the jobs that are planned, then idle nodes are put to sleep that no
//! plan needs soon. The plan either names nodes (`named`) or counts them (`counted`).

pub mod answers;
pub mod as_planned;
mod by_cell;
mod comebacks;
mod composed;
pub(super) mod counted;
mod levels;
mod lows;
pub(super) mod named;
pub mod newsvendor;
pub mod node_rule;
mod oldest;
mod planned;
pub mod proposal;
pub mod rest;
mod resting;
pub mod rules;
pub(super) mod under_budget;
pub(super) mod wake_fit;
pub(super) mod wake_plan;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::algo::fit_list::FitList;
use crate::algo::node_set::NodeSet;
use crate::error::{Result, config};
use crate::platform::node_state::NodeState;
use crate::platform::scope::Scope;
use crate::policy::recollection::Recollection;
use crate::policy::sleep::answers::{RestChoice, Wakes};
use crate::policy::sleep::as_planned::AsPlanned;
use crate::policy::sleep::by_cell::CellMemory;
use crate::policy::sleep::counted::{Outlook, Plan, Reach};
use crate::policy::sleep::named::{FirstJobs, FirstStarts};
use crate::policy::sleep::node_rule::NodeRule;
use crate::policy::sleep::oldest::Oldest;
use crate::policy::sleep::planned::Planned;
use crate::policy::sleep::rest::{IdleNode, Rest, Scene};
use crate::policy::sleep::resting::Resting;
use crate::policy::sleep::rules::Rules;
use crate::policy::{Decisions, View};
use crate::units::{SimDuration, SimTime, soonest};
use crate::workload::JobId;

/// A day of the log's clock.
const DAY: i64 = 86_400_000_000;

/// Time at which there has to be another pass, whatever happens until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// The instant.
    pub at: SimTime,
    /// False if it may turn out to be later, or never: usually something else happens before that matters.
    pub is_sure: bool,
}

/// Wake plan that is not complete.
#[derive(Clone)]
struct Vague {
    outlook: Outlook,
    /// Time at which the next node will have been idle for long enough.
    ripening: Option<SimTime>,
}

/// Puts idle nodes to sleep.
#[derive(Clone)]
pub struct Sleep {
    /// Rule of each node.
    rules: Vec<NodeRule>,
    /// Rule of the first node in scope.
    first_own: Option<NodeRule>,
    min_idle: SimDuration,
    off_limit: Option<u32>,
    min_on: u32,
    /// Day of each node's last shutdown, and the number of shutdowns begun on it.
    begun: Vec<(i64, u32)>,
    /// The nodes that have been idle for long enough.
    resting: Resting,
    /// True if all nodes that ever sleep do so by equal rules.
    is_uniform: bool,
    /// Spans ahead in which it matters whether these nodes are needed.
    reach: Reach,
    alarm: Option<SimTime>,
    /// Wake plan of the last pass, if it is incomplete: it only gives a time before which no more nodes are woken.
    vague: Option<Vague>,
    part: Box<dyn Rest>,
    /// Jobs that arrived since the part was last asked, if it foresees any.
    arrived: Vec<JobId>,
    /// Job for which each node was woken that has not served since, where plans name nodes.
    kept: BTreeMap<u32, JobId>,
    /// Memory for wake plans.
    spare: Option<Box<Plan>>,
    /// The same where nodes are counted by cell.
    spare_cells: CellMemory,
    /// True if the rules let every node sleep, by the same numbers and any number of times.
    is_plain: bool,
    /// Idle nodes by the start of their idle period, where a [`Rest`] part chooses among nodes that are alike.
    oldest: Oldest,
}

impl Sleep {
    /// Applies these rules to the nodes in scope; others are never put to sleep.
    ///
    /// # Errors
    /// If they name a node that the machine lacks.
    pub fn new(rules: &Rules, scope: Scope<'_>) -> Result<Self> {
        let platform = scope.platform();
        if let Some(node) = rules.exclude.beyond(platform.len()) {
            let expected = format!("nodes of the platform, 0 to {}", platform.len() - 1);
            return Err(config("policy.sleep.exclude", format!("node {node}"), expected));
        }
        let nodes = (0..).zip(platform.nodes());
        let rule_of = |(node, draw)| {
            let rule = rules.of(node, draw);
            NodeRule { is_excluded: rule.is_excluded || !scope.contains(node), ..rule }
        };
        let (min_idle, all) = (rules.min_idle, nodes.map(rule_of).collect::<Vec<NodeRule>>());
        let first_own = scope.draws().next().map(|(node, _)| all[node as usize]);
        let mut own = scope.draws().map(|(node, _)| &all[node as usize]);
        let mut sleepers = all.iter().filter(|rule| !rule.is_excluded && rule.far.is_some());
        let (first, mut resting) = (sleepers.next(), NodeSet::empty(platform.len()));
        let counted = (0..).zip(&all).filter(|(_, rule)| !rule.is_excluded);
        counted.for_each(|(node, _)| _ = resting.insert(node));
        Ok(Self {
            resting: Resting::new(min_idle, resting),
            reach: Reach::of(&all),
            is_uniform: sleepers.all(|rule| Some(rule) == first),
            is_plain: rules.off_limit.is_none()
                && own.all(|rule| !rule.is_excluded && rule.far.is_some() && Some(*rule) == first_own),
            first_own,
            rules: all,
            min_idle: rules.min_idle,
            off_limit: rules.off_limit,
            min_on: rules.min_on,
            begun: vec![(i64::MIN, 0); platform.len() as usize],
            alarm: None,
            vague: None,
            part: rules.rest.clone(),
            arrived: Vec::new(),
            kept: BTreeMap::new(),
            spare: None,
            spare_cells: CellMemory::default(),
            oldest: Oldest::default(),
        })
    }

    /// Writes the job for which each node was woken that has not served since.
    fn kept(&self, view: &View<'_>, out: &mut Vec<(u32, JobId)>) {
        let kept = self.kept.iter().filter(|&(&node, _)| !self.wakes_at_once(view, node));
        out.extend(kept.map(|(&node, &job)| (node, job)));
    }

    /// Releases the nodes that serve or went down, or whose jobs no longer wait: they are kept for no job.
    fn release(&mut self, view: &View<'_>, waiting: impl FnOnce() -> BTreeSet<JobId>) {
        if self.kept.is_empty() {
            return;
        }
        let waiting = waiting();
        let stands = |node: u32| matches!(view.nodes[node as usize], NodeState::Booting { .. } | NodeState::Idle);
        self.kept.retain(|&node, job| stands(node) && waiting.contains(job));
    }

    /// Reserves the nodes that are woken now for their planned jobs.
    fn keep(&mut self, view: &View<'_>, first: &FirstJobs) {
        for node in named::wakes(self, view, first).now {
            self.kept.insert(node, first[&node].1);
        }
    }

    /// Notes a job that arrived.
    pub(super) fn note_arrival(&mut self, job: JobId) {
        if self.foresees() {
            self.arrived.push(job);
        }
    }

    /// Lends the memory for a wake plan.
    fn lend_plan(&mut self) -> Box<Plan> {
        match self.vague.take() {
            Some(vague) => vague.outlook.into_plan(),
            None => self.spare.take().unwrap_or_default(),
        }
    }

    /// Takes the memory back, once the plan is of no more use.
    fn give_back(&mut self, outlook: Outlook) {
        self.spare = Some(outlook.into_plan());
    }

    /// Keeps the plan of this pass if it is incomplete, and sets the alarm to what is certain.
    fn leave(&mut self, outlook: Outlook) {
        if outlook.is_complete() {
            self.give_back(outlook);
            return;
        }
        let ripening = self.alarm;
        self.alarm = sooner(outlook.first_wake(), ripening);
        self.vague = Some(Vague { outlook, ripening });
    }

    /// Plans further ahead for the next wake-up, by the queue as it was planned at an instant.
    fn look_further<'a>(&mut self, queue_at: impl FnOnce(SimTime) -> Cow<'a, FitList>, is_strict: bool) {
        let Some(Vague { outlook, ripening }) = self.vague.take() else {
            return;
        };
        let queue = queue_at(outlook.now());
        let outlook = outlook.look_further(&queue, is_strict);
        if outlook.is_complete() {
            self.alarm = sooner(outlook.next_wake(), ripening);
            self.give_back(outlook);
        } else {
            self.alarm = sooner(outlook.first_wake(), ripening);
            self.vague = Some(Vague { outlook, ripening });
        }
    }

    /// True if its part provides for jobs to come.
    pub(super) fn foresees(&self) -> bool {
        self.part.foresees()
    }

    /// Spans ahead in which it matters whether nodes that may sleep are needed.
    fn reach(&self) -> Reach {
        self.reach
    }

    pub(super) fn rule(&self, node: u32) -> &NodeRule {
        &self.rules[node as usize]
    }

    /// Time at which there has to be another pass, according to the last one.
    #[must_use]
    pub fn alarm(&self) -> Option<Alarm> {
        let ripening = self.vague.as_ref().map(|vague| vague.ripening);
        let is_sure = |at| ripening.is_none_or(|ripening| ripening == Some(at));
        self.alarm.map(|at| Alarm { at, is_sure: is_sure(at) })
    }

    /// True if it matters what is planned for later: some node may be woken or put to sleep because of it.
    pub(super) fn looks_ahead(&mut self, view: &View<'_>) -> bool {
        if self.foresees() {
            return true;
        }
        self.follow(view);
        if view.standby.is_some_and(|standby| standby.kinds_down().next().is_some()) {
            return true;
        }
        self.resting.ripe().iter().any(|node| self.may_sleep(view, node))
    }

    /// Updates the nodes that have been idle for long enough by now.
    fn follow(&mut self, view: &View<'_>) {
        self.resting.follow(view);
    }

    /// Nodes whose next planned job matters, each with the latest start that settles the question: off nodes that are
    /// woken at once for it, idle nodes that then stay on and, for a part that counts what is free, nodes in transition
    /// that are then not.
    pub(super) fn awaited(&mut self, view: &View<'_>) -> FirstStarts {
        self.follow(view);
        let now = view.now;
        let off = view.standby.into_iter().flat_map(|standby| standby.off().iter());
        let woken = off.map(|node| (node, now.saturating_add(self.rule(node).start)));
        if self.foresees() {
            let comebacks = view.comebacks();
            let turning = comebacks.iter().filter(|back| view.nodes[back.node as usize] != NodeState::Off);
            let turning = turning.map(|back| (back.node, back.at.min(now.saturating_add(self.rule(back.node).start))));
            return woken.chain(idle(view).map(|node| (node, now))).chain(turning).collect();
        }
        let kept = self.resting.ripe().iter().filter(|&node| self.may_sleep(view, node)).map(|node| {
            let rule = self.rule(node);
            // Times are whole microseconds: anything before `far` is at least a microsecond earlier.
            let near = SimDuration::from_micros(rule.far.unwrap_or_default().micros() - 1);
            (node, now.saturating_add(near.max(rule.stop.saturating_add(rule.start))))
        });
        woken.chain(kept).collect()
    }

    /// Time at which an idle node has been idle for long enough; none if it is never put to sleep.
    fn ripe_at(&self, view: &View<'_>, node: u32) -> Option<SimTime> {
        let since = view.standby?.idle_since(node);
        (!self.rule(node).is_excluded).then(|| since.saturating_add(self.min_idle))
    }

    /// True if an idle node may be put to sleep, by the rules for it alone.
    fn may_sleep(&self, view: &View<'_>, node: u32) -> bool {
        let (day, count) = self.begun[node as usize];
        let today = if day == day_of(view.now) { count } else { 0 };
        self.rule(node).far.is_some()
            && !self.kept.contains_key(&node)
            && self.ripe_at(view, node).is_some_and(|at| at <= view.now)
            && self.off_limit.is_none_or(|limit| today < limit)
    }

    /// Idle nodes that the rules let sleep, from the highest down, as of the last look at what has changed.
    pub(super) fn ready<'a>(&'a self, view: &'a View<'a>) -> impl Iterator<Item = u32> + 'a {
        self.resting.ripe().descending().filter(move |&node| self.may_sleep(view, node))
    }

    /// Ends a pass by a plan: wakes nodes that it needs, and lets the part choose.
    fn end(&mut self, view: &View<'_>, plan: &dyn Planned, queue: &FitList, out: &mut Decisions) -> Result<()> {
        if let Some(vague) = self.vague.take() {
            self.give_back(vague.outlook);
        }
        let (wakes, mut choice) = self.ask(view, plan, queue)?;
        plan.limit(view, &mut choice);
        self.carry_out(view, &wakes, &choice, out);
        Ok(())
    }

    /// Wakes nodes, puts others to sleep, and sets the alarm (rules 16 and 21).
    fn carry_out(&mut self, view: &View<'_>, wakes: &Wakes, choice: &RestChoice, out: &mut Decisions) {
        wakes.now.iter().chain(&choice.wake).for_each(|&node| out.wake(node));
        if !choice.sleep.is_empty() {
            let most = self.most_asleep(view, wakes.now.len() + choice.wake.len());
            let today = day_of(view.now);
            for &node in choice.sleep.iter().take(most as usize) {
                out.sleep(node);
                self.note_shutdown_on(today, node);
            }
        }
        self.alarm = sooner(sooner(wakes.due, self.resting.next()), choice.again);
    }

    /// Nodes that are woken for planned jobs, and the choice of the part.
    fn ask(&mut self, view: &View<'_>, plan: &dyn Planned, queue: &FitList) -> Result<(Wakes, RestChoice)> {
        let wakes = plan.wakes(self, view);
        let mut choice = RestChoice::default();
        self.look(view);
        // The part reads the rest of the rules meanwhile; the one in its place is never asked.
        let mut part = std::mem::replace(&mut self.part, Box::new(AsPlanned));
        let arrived = std::mem::take(&mut self.arrived);
        let scene = Scene {
            view,
            waiting: queue.len(),
            queue: &|| queue.iter().map(|waiting| JobId(waiting.key.row)).collect(),
            arrived: &arrived,
            rules: &self.rules,
            sleep: self,
            plan,
            woken: &wakes.now,
        };
        let done = part.rest(&scene, &mut choice);
        self.part = part;
        choice.again = choice.again.filter(|&again| again > view.now);
        done.map(|()| (wakes, choice))
    }

    /// Updates what is known of idle nodes, as far as the part asks for it.
    fn look(&mut self, view: &View<'_>) {
        if !self.foresees() || self.min_idle > SimDuration::ZERO {
            self.follow(view);
        }
        if let Some(standby) = view.standby.filter(|_| self.foresees() && self.tells_no_node_apart(view)) {
            self.oldest.follow(view.slots.holding(1), standby);
        }
    }

    /// True if the rules do not distinguish idle nodes: all of them may sleep, and the idle nodes are the free ones.
    fn tells_no_node_apart(&self, view: &View<'_>) -> bool {
        self.min_idle == SimDuration::ZERO && self.is_plain && self.kept.is_empty() && has_whole_nodes(view)
    }

    /// Rule of the first node in scope.
    fn first_own(&self) -> Option<&NodeRule> {
        self.first_own.as_ref()
    }

    /// True if a node had been idle for long enough at the last look.
    fn has_ripe(&self) -> bool {
        !self.resting.ripe().is_empty()
    }

    /// The nodes that have been idle for long enough, if all of these may sleep by the same rules.
    fn alike_ripe(&self) -> Option<(&NodeSet, &NodeRule)> {
        let is_one = self.is_plain && self.kept.is_empty();
        is_one.then_some(self.resting.ripe()).zip(self.first_own())
    }

    /// Idle nodes by age, where these are all alike.
    fn oldest(&self, view: &View<'_>) -> Option<&Oldest> {
        self.tells_no_node_apart(view).then_some(&self.oldest)
    }

    /// Description of an idle node for a [`Rest`] part, with `above` idle nodes of its cell above it.
    fn idle_node(&self, view: &View<'_>, plan: &dyn Planned, node: u32, above: usize) -> IdleNode {
        IdleNode {
            node,
            since: view.standby.map_or(view.now, |standby| standby.idle_since(node)),
            next: if self.kept.contains_key(&node) { view.now } else { plan.next(node, above) },
            may_sleep: self.may_sleep(view, node),
        }
    }

    /// Number of nodes that may be put to sleep such that enough stay on, if `woken` others are woken.
    fn most_asleep(&self, view: &View<'_>, woken: usize) -> u32 {
        if self.min_on == 0 {
            return u32::MAX;
        }
        let on = view.nodes.iter().filter(|state| state.is_on()).count() + woken;
        u32::try_from(on).unwrap_or(u32::MAX).saturating_sub(self.min_on)
    }

    /// Keeps the shutdowns of the day, nodes that wait for a job, and what its own part knows.
    pub fn remember(&self, kept: &mut Recollection) {
        let begun = (0..).zip(&self.begun).filter(|(_, begun)| begun.1 > 0);
        kept.keep("begun", begun.flat_map(|(node, &(day, count))| [node, day, i64::from(count)]).collect());
        let waits = self.kept.iter().flat_map(|(&node, job)| [i64::from(node), i64::from(job.0)]);
        kept.keep("kept", waits.collect());
        self.part.remember(kept);
    }

    /// Goes on with what was kept.
    pub fn recall(&mut self, kept: &Recollection) {
        for [node, day, count] in kept.rows("begun") {
            let own = usize::try_from(node).ok().and_then(|node| self.begun.get_mut(node));
            if let Some((own, count)) = own.zip(u32::try_from(count).ok()) {
                *own = (day, count);
            }
        }
        let waits =
            kept.rows("kept").filter_map(|[node, job]| Some((node.try_into().ok()?, JobId(job.try_into().ok()?))));
        self.kept.extend(waits);
        self.part.recall(kept);
    }

    pub(in crate::policy) fn note_shutdown(&mut self, now: SimTime, node: u32) {
        self.note_shutdown_on(day_of(now), node);
    }

    fn note_shutdown_on(&mut self, day: i64, node: u32) {
        let begun = &mut self.begun[node as usize];
        *begun = if begun.0 == day { (day, begun.1 + 1) } else { (day, 1) };
    }
}

/// Sooner of two alarms, if it is within the range of times.
fn sooner(one: Option<SimTime>, other: Option<SimTime>) -> Option<SimTime> {
    soonest([one, other]).filter(|&alarm| alarm <= SimTime::LATEST)
}

/// Nodes that idle and hold no job, ascending.
fn idle<'a>(view: &View<'a>) -> impl Iterator<Item = u32> + 'a {
    let nodes = view.nodes;
    view.slots.holding(view.platform.shared_slots()).iter().filter(move |&node| nodes[node as usize] == NodeState::Idle)
}

/// Number of idle nodes, up to `most`.
fn idle_up_to(view: &View<'_>, most: u32) -> u32 {
    if has_whole_nodes(view) {
        return view.slots.holding(1).len().min(most);
    }
    u32::try_from(idle(view).take(most as usize).count()).unwrap_or(u32::MAX)
}

/// True if jobs get whole nodes for as long as they run: then the idle nodes are the free ones.
fn has_whole_nodes(view: &View<'_>) -> bool {
    view.platform.is_exclusive() && !view.slots.lends()
}

/// Idle nodes that hold no job, descending.
fn idle_descending<'a>(view: &View<'a>) -> impl Iterator<Item = u32> + 'a {
    let (nodes, slots) = (view.nodes, view.platform.shared_slots());
    view.slots.holding(slots).descending().filter(move |&node| nodes[node as usize] == NodeState::Idle)
}

fn day_of(now: SimTime) -> i64 {
    now.micros().div_euclid(DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_one_of_the_logs_clock() {
        let day = |seconds: i64| day_of(SimTime::from_micros(seconds * 1_000_000));
        assert_eq!([day(0), day(86_399), day(86_400), day(-1)], [0, 0, 1, -1]);
    }
}
