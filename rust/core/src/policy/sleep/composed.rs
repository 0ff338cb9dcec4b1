//! A policy of parts puts nodes to sleep by its plan, if that names nodes, and by counts otherwise.

use crate::algo::fit_list::{FitList, Waiting};
use crate::cluster::standby::Expected;
use crate::error::Result;
use crate::policy::compose::{Composed, Parts};
use crate::policy::sleep::counted::{Outlook, Plan};
use crate::policy::sleep::proposal::Proposal;
use crate::policy::sleep::{Leave, Sleep, Sleeper, Wakes, named};
use crate::policy::{Decisions, View};
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

impl Sleeper for Composed {
    fn counts(&self) -> bool {
        // Under a budget nodes that are off are known by number.
        !self.parts.backfill.names_nodes() && self.power.is_none()
    }

    fn expect(&self, view: &View<'_>, out: &mut Expected) {
        let Some(sleep) = &self.sleep else { return };
        if self.power.is_some() {
            sleep.expect_under_budget(view, out);
            return;
        }
        if self.counts() {
            sleep.returns(view, &mut out.returns);
        } else {
            sleep.comebacks(view, &mut out.comebacks);
            sleep.kept(view, &mut out.kept);
        }
    }

    fn rest(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        if self.power.is_some() {
            return self.rest_under_budget(view, out);
        }
        let Self { parts, sleep: Some(sleep), queue, .. } = self else { return Ok(()) };
        sleep.release(view, || queue.iter().map(|waiting| JobId(waiting.key.row)).collect());
        if let Some(first) = parts.backfill.first_jobs() {
            sleep.keep(view, first);
        }
        if sleep.chooses() {
            let list = || queue.iter().map(|waiting| JobId(waiting.key.row)).collect::<Vec<_>>();
            let waiting: (usize, &dyn Fn() -> Vec<JobId>) = (queue.len(), &list);
            match parts.backfill.first_jobs() {
                Some(first) => sleep.consult(view, first, waiting, out)?,
                None => sleep.consult(view, &as_backfilled(parts, queue, view), waiting, out)?,
            }
        } else if let Some(first) = parts.backfill.first_jobs() {
            let wakes = named::wakes(sleep, view, first);
            let leave = |node, rule: &_, _| Leave::given_if(named::is_far(view, first, node, rule));
            sleep.settle(view, &wakes, leave, out);
        } else if !queue.is_empty() && sleep.looks_ahead(view) {
            let outlook = as_planned(parts, queue, view, sleep);
            let wakes = outlook.wakes_of(sleep, view);
            sleep.settle(view, &wakes, |_, rule, asleep| outlook.leave(rule, asleep), out);
            sleep.give_back(outlook);
        } else {
            // No node is planned for, or none could be woken or put to sleep.
            sleep.settle(view, &Wakes::default(), |_, rule, _| Leave::given_if(rule.far.is_some()), out);
        }
        Ok(())
    }

    fn alarm(&self) -> Option<SimTime> {
        self.sleep.as_ref().and_then(Sleep::alarm)
    }
}

impl Composed {
    /// What the end of a pass asks for where nodes are counted.
    pub(super) fn proposal(&mut self, view: &View<'_>) -> Result<Proposal> {
        let Self { parts, sleep: Some(sleep), queue, .. } = self else { return Ok(Proposal::default()) };
        if sleep.chooses() {
            let list = || queue.iter().map(|waiting| JobId(waiting.key.row)).collect::<Vec<_>>();
            let (wakes, choice) = sleep.ask(view, &as_backfilled(parts, queue, view), (queue.len(), &list))?;
            return Ok(Proposal::chosen(wakes.and(choice.wake, choice.again), choice.sleep));
        }
        if !sleep.looks_ahead(view) {
            return Ok(Proposal::default());
        }
        let outlook = as_planned(parts, queue, view, sleep);
        Ok(Proposal::counted(outlook.wakes_of(sleep, view), outlook))
    }
}

/// What is held for the jobs that wait, in their order.
fn as_planned(parts: &Parts, queue: &FitList, view: &View<'_>, sleep: &mut Sleep) -> Outlook {
    let (is_strict, plan) = (parts.backfill.is_strict(), sleep.lend_plan());
    match parts.backfill.first_after() {
        None => Outlook::within(view, plan, queue, is_strict, sleep),
        Some(limit) => Outlook::within(view, plan, &in_turn(queue, view.now, limit), is_strict, sleep),
    }
}

/// The same as the backfill would have it if all nodes were on.
fn as_backfilled(parts: &Parts, queue: &FitList, view: &View<'_>) -> Outlook {
    let (backfill, plan) = (&parts.backfill, Plan::default());
    match backfill.first_after() {
        None if backfill.is_strict() => Outlook::new(view, plan, queue, true),
        None => Outlook::as_backfilled(view, plan, queue, backfill.reserves()),
        Some(limit) => Outlook::new(view, plan, &in_turn(queue, view.now, limit), false),
    }
}

/// The queue where those go first who have waited longer than a limit, the longest wait first.
pub(super) fn in_turn(queue: &FitList, now: SimTime, limit: SimDuration) -> FitList {
    let mut all: Vec<Waiting> = queue.iter().copied().collect();
    for waiting in all.iter_mut().filter(|waiting| now - waiting.key.submit > limit) {
        (waiting.key.tier, waiting.key.rank) = (i32::MIN, i64::MIN);
    }
    all.sort_by_key(|waiting| waiting.key);
    let mut list = FitList::default();
    for waiting in all {
        list.insert(waiting);
    }
    list
}
