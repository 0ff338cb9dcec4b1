//! Sleep of a composed policy: by its plan, if that names nodes, and by counts otherwise.

use std::borrow::Cow;

use crate::algo::fit_list::{FitList, Waiting};
use crate::cluster::shares::Shares;
use crate::cluster::standby::Expected;
use crate::error::Result;
use crate::policy::compose::{Composed, Parts};
use crate::policy::sleep::Sleep;
use crate::policy::sleep::by_cell::{CellOutlook, Manner};
use crate::policy::sleep::counted::{Outlook, Plan};
use crate::policy::sleep::named::FirstJobs;
use crate::policy::sleep::proposal::Proposal;
use crate::policy::{Decisions, View};
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

impl Composed {
    /// True if its plans count nodes; otherwise they name them.
    fn counts(&self) -> bool {
        // Under a budget nodes that are off are known by number.
        !self.parts.backfill.names_nodes() && self.power.is_none()
    }

    /// Writes when plans have nodes back that are off, shutting down or booting.
    pub(in crate::policy) fn expected(&self, view: &View<'_>, out: &mut Expected) -> bool {
        let counts = self.counts();
        let Some(sleep) = &self.sleep else { return counts };
        if self.power.is_some() {
            sleep.expect_under_budget(view, out);
        } else if counts {
            sleep.returns(view, &mut out.returns);
        } else {
            sleep.comebacks(view, &mut out.comebacks);
            sleep.kept(view, &mut out.kept);
        }
        counts
    }

    /// Ends a pass, once its starts are carried out: wakes nodes, then puts others to sleep.
    pub(in crate::policy) fn rest(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        if self.power.is_some() {
            return self.rest_under_budget(view, out);
        }
        let Self { parts, sleep: Some(sleep), queue, .. } = self else {
            return Ok(());
        };
        sleep.release(view, || queue.iter().map(|waiting| JobId(waiting.key.row)).collect());
        if let Some(first) = parts.backfill.first_jobs() {
            sleep.keep(view, first);
            return sleep.end(view, first, queue, out);
        }
        // With an empty queue, or if no node could be woken or put to sleep, nothing is planned.
        let is_planned = sleep.foresees() || !queue.is_empty() && sleep.looks_ahead(view);
        if !is_planned {
            return sleep.end(view, &FirstJobs::new(), queue, out);
        }
        if let Some(shares) = view.shares {
            let outlook = outlook_by_cell(parts, queue, view, shares, sleep);
            sleep.end(view, &outlook, queue, out)?;
            sleep.spare_cells = outlook.into_memory();
            return Ok(());
        }
        let outlook = outlook(parts, queue, view, sleep);
        sleep.end(view, &outlook, queue, out)?;
        sleep.leave(outlook);
        Ok(())
    }

    /// Plans further ahead for an alarm that is not sure.
    pub(in crate::policy) fn look_further(&mut self) {
        let Self { parts, sleep: Some(sleep), queue, .. } = self else {
            return;
        };
        sleep.look_further(|now| in_planning_order(parts, queue, now), parts.backfill.is_strict());
    }

    /// Notes that a node of its lane is put to sleep.
    pub(in crate::policy) fn note_shutdown(&mut self, now: SimTime, node: u32) {
        self.sleep.iter_mut().for_each(|sleep| sleep.note_shutdown(now, node));
    }

    /// Proposal of the end of a pass over a lane, where nodes are counted.
    pub(in crate::policy) fn proposal(&mut self, view: &View<'_>) -> Result<Proposal> {
        let Self { parts, sleep: Some(sleep), queue, .. } = self else {
            return Ok(Proposal::default());
        };
        if !sleep.looks_ahead(view) {
            return Ok(Proposal::default());
        }
        if let Some(shares) = view.shares {
            let outlook = outlook_by_cell(parts, queue, view, shares, sleep);
            let (wakes, choice) = sleep.ask(view, &outlook, queue)?;
            sleep.spare_cells = outlook.into_memory();
            return Ok(Proposal::of(wakes, choice));
        }
        let mut outlook = outlook(parts, queue, view, sleep);
        while !outlook.is_complete() {
            let order = in_planning_order(parts, queue, view.now);
            outlook = outlook.look_further(&order, parts.backfill.is_strict());
        }
        let (wakes, choice) = sleep.ask(view, &outlook, queue)?;
        sleep.give_back(outlook);
        Ok(Proposal::of(wakes, choice))
    }
}

/// Nodes that are held for the waiting jobs: as the backfill would plan them if a part chooses the nodes that sleep, or
/// else in their order, as far as it matters at once.
fn outlook(parts: &Parts, queue: &FitList, view: &View<'_>, sleep: &mut Sleep) -> Outlook {
    let plan = sleep.lend_plan();
    if sleep.foresees() {
        return as_backfilled(parts, queue, view, plan);
    }
    Outlook::within(view, plan, &in_planning_order(parts, queue, view.now), parts.backfill.is_strict(), sleep)
}

/// The same by cell.
fn outlook_by_cell<'a>(
    parts: &Parts,
    queue: &FitList,
    view: &View<'a>,
    shares: &'a Shares,
    sleep: &mut Sleep,
) -> CellOutlook<'a> {
    let backfill = &parts.backfill;
    let manner = match (sleep.foresees(), backfill.first_after()) {
        (true, None) if !backfill.is_strict() => Manner::AsBackfilled(backfill.reserves()),
        (true, Some(_)) => Manner::All,
        _ if backfill.is_strict() => Manner::InTurn,
        _ => Manner::All,
    };
    CellOutlook::new(view, shares, &in_planning_order(parts, queue, view.now), manner, sleep)
}

/// The queue in the order in which nodes are held for its jobs.
fn in_planning_order<'a>(parts: &Parts, queue: &'a FitList, now: SimTime) -> Cow<'a, FitList> {
    match parts.backfill.first_after() {
        None => Cow::Borrowed(queue),
        Some(limit) => Cow::Owned(in_turn(queue, now, limit)),
    }
}

/// Nodes that are held for the waiting jobs as the backfill would plan them if all nodes were on.
fn as_backfilled(parts: &Parts, queue: &FitList, view: &View<'_>, plan: Box<Plan>) -> Outlook {
    let backfill = &parts.backfill;
    match backfill.first_after() {
        None if backfill.is_strict() => Outlook::new(view, plan, queue, true),
        None => Outlook::as_backfilled(view, plan, queue, backfill.reserves()),
        Some(limit) => Outlook::new(view, plan, &in_turn(queue, view.now, limit), false),
    }
}

/// The queue with the jobs first that have waited longer than a limit, the longest wait first.
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
