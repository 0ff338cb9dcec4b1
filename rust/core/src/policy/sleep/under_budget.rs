//! Wake-ups and shutdowns where nodes sleep under a budget (page on sleep under a budget, rules 8 to 10).

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::algo::fit_list::Waiting;
use crate::algo::horizon::Wish;
use crate::cluster::shares::Shares;
use crate::cluster::standby::{Comeback, Expected};
use crate::error::{Error, Result};
use crate::platform::NodeDraw;
use crate::platform::node_state::NodeState;
use crate::policy::analyzer::Ask;
use crate::policy::budget::Power;
use crate::policy::budget::draw::counted;
use crate::policy::budget::outlook::Outlook;
use crate::policy::compose::{Composed, Parts};
use crate::policy::sleep::answers::{Leave, RestChoice, Wakes};
use crate::policy::sleep::composed::in_turn;
use crate::policy::sleep::named::FirstJobs;
use crate::policy::sleep::node_rule::NodeRule;
use crate::policy::sleep::planned::Planned;
use crate::policy::sleep::wake_fit::{Fit, Need};
use crate::policy::sleep::wake_plan::{WakePlan, cell_of};
use crate::policy::sleep::{Sleep, idle};
use crate::policy::{Decisions, View};
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

/// Number of jobs planned between two checks for an interrupt.
const LOOK_EVERY: usize = 1024;

/// Cells of a machine whose nodes are alike.
const ALIKE: &[u16] = &[0];

/// Plan of the waiting jobs, and the wake-ups that follow from it.
struct UnderBudget {
    /// Cell of each node; none where all are alike.
    cell_of: Vec<u16>,
    plan: RefCell<WakePlan>,
    wakes: Wakes,
    /// Room left after the wake-ups, where watts are counted.
    room: RefCell<Option<Watts>>,
    /// Nodes that were let go to sleep, whose shutdowns are paid for.
    gone: RefCell<BTreeSet<u32>>,
    /// True if nodes stay on for a job that waits for the best of them.
    is_stuck: bool,
}

impl Sleep {
    /// Writes when plans have nodes back that are switched off; here starting one may take no time (rule 4).
    pub(super) fn expect_under_budget(&self, view: &View<'_>, out: &mut Expected) {
        let Some(standby) = view.standby else { return };
        let start = |node| self.start(node);
        out.comebacks.extend(standby.asleep().iter().filter_map(|node| {
            let state = view.nodes[node as usize];
            let at = self.comeback_within(start(node), view.now, (node, state), view.platform)?;
            Some(Comeback { node, at, at_once: false })
        }));
        let is_down = |node: &u32| !view.nodes[*node as usize].is_on();
        out.margins = self.longest_starts(view, standby.asleep().iter().filter(is_down));
    }

    /// Longest time that starting any of these nodes takes in plans, by cell.
    fn longest_starts(&self, view: &View<'_>, nodes: impl Iterator<Item = u32>) -> Vec<SimDuration> {
        let count = view.shares.map_or(1, |shares| shares.cells().sets().len());
        let mut longest = vec![SimDuration::ZERO; count];
        for node in nodes {
            let own = &mut longest[usize::from(cell_of(view, node))];
            *own = (*own).max(self.start(node));
        }
        longest
    }

    /// W: time that starting the node takes in plans; the microsecond that rules make of zero is zero here.
    fn start(&self, node: u32) -> SimDuration {
        let start = self.rule(node).start;
        if start.micros() > 1 { start } else { SimDuration::ZERO }
    }
}

impl Composed {
    /// Ends a pass where nodes sleep under a budget.
    pub(super) fn rest_under_budget(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        let Self { parts, sleep: Some(sleep), power: Some(power), queue, least, .. } = self else {
            return Ok(());
        };
        if !sleep.looks_ahead(view) {
            // None could be woken or put to sleep.
            return sleep.end(view, &FirstJobs::new(), queue, out);
        }
        let ask = Ask { view, analyzer: parts.analyzer.as_ref(), least };
        let overdue_first = parts.backfill.first_after().map(|limit| in_turn(queue, view.now, limit));
        let waiting: Vec<&Waiting> = overdue_first.as_ref().unwrap_or(queue).iter().collect();
        let starts = sleep.longest_starts(view, view.own_nodes());
        let found = UnderBudget::new(&ask, parts, power, (&waiting, &starts))?;
        sleep.end(view, &found, queue, out)
    }
}

impl UnderBudget {
    /// Plans all waiting jobs, in this order.
    fn new(
        ask: &Ask<'_>,
        parts: &Parts,
        power: &mut Power,
        (waiting, starts): (&[&Waiting], &[SimDuration]),
    ) -> Result<Self> {
        let view = ask.view;
        let outlook = power.ceiling.may_bind(view).then(|| power.ceiling.outlook(view));
        let outlook = outlook.as_ref();
        let mut room = outlook.map(Outlook::now);
        let mut plan = WakePlan::new(view, outlook);
        for (cell, &start) in starts.iter().enumerate() {
            plan.look_until(cell, view.now.saturating_add(start));
        }
        let stuck = plan_all(&mut plan, ask, parts, outlook.map(|_| power), waiting)?;
        let (now, due) = plan.wakes(&mut room);
        let (plan, room) = (RefCell::new(plan), RefCell::new(room));
        let wakes = Wakes { now, due };
        let mut found = Self { cell_of: cells(view), plan, wakes, room, gone: RefCell::default(), is_stuck: false };
        found.is_stuck = stuck.is_some() && view.releases.is_empty();
        if let Some(job) = stuck.filter(|_| found.is_stuck && found.wakes.now.is_empty() && !is_switching(view)) {
            found.wakes.now = best_nodes(ask, job, WakePlan::new(view, outlook), &mut outlook.map(Outlook::now));
        }
        Ok(found)
    }
}

/// Plans all waiting jobs. Returns the first that is planned for now on nodes that are on, and did not start.
fn plan_all(
    plan: &mut WakePlan,
    ask: &Ask<'_>,
    parts: &Parts,
    mut power: Option<&mut Power>,
    waiting: &[&Waiting],
) -> Result<Option<JobId>> {
    let (view, depth, is_strict) = (ask.view, parts.backfill.reserves(), parts.backfill.is_strict());
    // Those of each lane; none once its plan has ended.
    let mut lanes = vec![Some(Lane { from: view.now, held: 0 }); view.lanes()];
    let mut stuck = None;
    for (seen, one) in waiting.iter().enumerate() {
        if seen % LOOK_EVERY == LOOK_EVERY - 1 && (ask.view.interrupted)() {
            return Err(Error::Interrupted);
        }
        let number = view.lane(JobId(one.key.row));
        let Some(lane) = lanes[number].as_mut() else { continue };
        if lane.held >= depth && !may_fit_soon(plan, view, one) {
            if is_strict {
                lanes[number] = None;
            }
            continue;
        }
        let need = needed(ask, power.as_deref_mut(), one);
        let fit = plan.fit(&need, lane.from);
        if fit.as_ref().is_some_and(|fit| fit.is_for_now) {
            stuck.get_or_insert(JobId(one.key.row));
        }
        let is_at_once = |fit: &Fit| fit.is_for_now || plan.is_woken_for(&need, fit);
        match fit.filter(|fit| is_at_once(fit) || lane.held < depth) {
            Some(fit) => {
                lane.held += usize::from(!is_at_once(&fit));
                lane.from = if is_strict { fit.at } else { lane.from };
                plan.take(&need, &fit);
            }
            None if is_strict => lanes[number] = None,
            None => {}
        }
    }
    Ok(stuck)
}

/// Progress of a plan in the jobs of one lane.
#[derive(Clone, Copy, Debug)]
struct Lane {
    /// Instant before which none is planned.
    from: SimTime,
    /// Number of those that hold a reservation.
    held: usize,
}

/// Need of a job in a plan.
fn needed<'a>(ask: &Ask<'a>, power: Option<&mut Power>, waiting: &Waiting) -> Need<'a> {
    let price =
        power.map(|power| power.prices.in_class(ask, JobId(waiting.key.row), waiting.class)).unwrap_or_default();
    let (wish, length) = (wish(ask.view, waiting), waiting.length);
    Need { wish, mean: price.mean.microwatts_up(), least: price.least, length }
}

/// Nodes and licences of a waiting job.
pub(in crate::policy) fn wish<'a>(view: &View<'a>, waiting: &Waiting) -> Wish<'a> {
    let job = JobId(waiting.key.row);
    match view.shares.map(Shares::cells) {
        Some(cells) => cells.wish(job, view.jobs.node_count(job)),
        None => Wish { any_of: ALIKE, count: waiting.units, each: &[], also: None },
    }
}

/// True if a job may fit now, or as soon as nodes are back.
fn may_fit_soon(plan: &WakePlan, view: &View<'_>, waiting: &Waiting) -> bool {
    let most = plan.most_soon();
    waiting.units <= wish(view, waiting).room(&most) && waiting.watts <= most[usize::from(plan.watts())]
}

/// Cell of each node; none where all are alike.
fn cells(view: &View<'_>) -> Vec<u16> {
    let nodes = if view.shares.is_some() { view.platform.len() } else { 0 };
    (0..nodes).map(|node| cell_of(view, node)).collect()
}

/// True if a node is in transition.
fn is_switching(view: &View<'_>) -> bool {
    let mut asleep = view.standby.into_iter().flat_map(|standby| standby.asleep().iter());
    asleep.any(|node| view.nodes[node as usize] != NodeState::Off)
}

/// Off nodes among those where a job adds the fewest watts, as far as there is room (rule 10).
fn best_nodes(ask: &Ask<'_>, job: JobId, mut plan: WakePlan, room: &mut Option<Watts>) -> Vec<u32> {
    let view = ask.view;
    let counted = counted(ask, job, ask.estimate(job));
    let may_use = |node: &u32| view.shares.is_none_or(|shares| shares.cells().may_use(job, *node));
    let mut nodes: Vec<u32> = view.own_nodes().filter(may_use).collect();
    nodes.sort_by_key(|&node| (counted.on(node), node));
    nodes.truncate(view.jobs.node_count(job) as usize);
    nodes.sort_unstable();
    nodes.retain(|&node| plan.wake_beside(node, room));
    nodes
}

/// Draw of a node beyond idle while it shuts down, and for how long it does.
fn beyond_idle_to_stop(draw: &NodeDraw) -> (Watts, SimDuration) {
    let stopping = NodeState::ShuttingDown { until: SimTime::NEVER };
    (draw.held(stopping) - draw.idle, draw.shutdown_time)
}

impl Planned for UnderBudget {
    fn wakes(&self, _sleep: &Sleep, _view: &View<'_>) -> Wakes {
        self.wakes.clone()
    }

    fn cells(&self) -> usize {
        self.plan.borrow().cells()
    }

    fn cell(&self, node: u32) -> usize {
        self.cell_of.get(node as usize).map_or(0, |&cell| usize::from(cell))
    }

    fn next(&self, node: u32, above: usize) -> SimTime {
        self.plan.borrow().lacking(self.cell(node), above)
    }

    fn leave(&self, view: &View<'_>, node: u32, rule: &NodeRule, asleep: u32) -> Leave {
        let (mut plan, draw) = (self.plan.borrow_mut(), view.platform.node(node));
        let Some(far) = rule.far.filter(|_| !self.is_stuck && draw.off <= draw.idle) else {
            return Leave::Denied;
        };
        let by = view.now.saturating_add(rule.stop.saturating_add(rule.start));
        if i64::from(asleep) >= plan.spare(self.cell(node), by, view.now.saturating_add(far)) {
            return Leave::DeniedToAllAlike;
        }
        let (more, lasts) = beyond_idle_to_stop(draw);
        let is_given = plan.shut_down(more, lasts, &mut self.room.borrow_mut());
        if is_given {
            self.gone.borrow_mut().insert(node);
        }
        Leave::given_if(is_given)
    }

    fn spare(&self, _sleep: &Sleep, view: &View<'_>) -> u32 {
        let plan = self.plan.borrow();
        let mut there = vec![0; plan.cells()];
        let comebacks = view.comebacks().iter().map(|back| back.node);
        idle(view).chain(comebacks).for_each(|node| there[self.cell(node)] += 1);
        let spare = |(cell, &there): (usize, &u32)| {
            let least = plan.spare(cell, view.now.saturating_add(plan.margin(cell)), view.now);
            u32::try_from(least.max(0)).unwrap_or(u32::MAX).min(there)
        };
        there.iter().enumerate().map(spare).sum()
    }

    fn free(&self, _view: &View<'_>) -> u32 {
        u32::try_from(self.plan.borrow().left()).unwrap_or(0)
    }

    fn limit(&self, view: &View<'_>, choice: &mut RestChoice) {
        let (mut plan, mut room) = (self.plan.borrow_mut(), self.room.borrow_mut());
        choice.wake.retain(|&node| plan.wake_beside(node, &mut room));
        if self.is_stuck {
            choice.sleep.clear();
        }
        let gone = self.gone.borrow();
        choice.sleep.retain(|&node| {
            if gone.contains(&node) {
                return true;
            }
            let draw = view.platform.node(node);
            let (more, lasts) = beyond_idle_to_stop(draw);
            draw.off <= draw.idle && plan.shut_down(more, lasts, &mut room)
        });
    }
}
