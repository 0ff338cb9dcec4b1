//! Free nodes from now on, before any promise: running jobs end, and nodes come and go.

use crate::algo::horizon::windows::{NodeReturn, Throughout, What};
use crate::algo::horizon::{NodeNeed, Planes, Windows};
use crate::algo::node_set::NodeSet;
use crate::cluster::standby::Standby;
use crate::platform::outages::Maintenance;
use crate::policy::View;
use crate::policy::backfill::named::Memory;
use crate::policy::backfill::named::needs::groups;
use crate::policy::budget::outlook::Outlook;
use crate::units::{SimDuration, SimTime, Watts};

/// Free nodes over time. Maintenance is applied only as far ahead as needed: its windows may be known for years.
pub(super) struct Future<'a> {
    view: &'a View<'a>,
    windows: Windows,
    /// Maintenance that begins before this instant is applied.
    known: SimTime,
    /// Maintenance yet to be applied, sorted by beginning.
    to_come: Box<dyn Iterator<Item = Maintenance> + 'a>,
    next: Option<Maintenance>,
}

impl<'a> Future<'a> {
    /// Starts with maintenance yet to be applied, sorted by beginning.
    fn new(view: &'a View<'a>, windows: Windows, to_come: impl Iterator<Item = Maintenance> + 'a) -> Self {
        let mut to_come: Box<dyn Iterator<Item = Maintenance> + 'a> = Box::new(to_come);
        let next = to_come.next();
        Self { view, windows, known: view.now, to_come, next }
    }

    /// Starts with all maintenance applied already.
    pub(super) fn whole(view: &'a View<'a>, windows: Windows) -> Self {
        Self::new(view, windows, std::iter::empty())
    }

    /// Goes on with the plan of an earlier pass, if there is one and no window of it has begun since.
    pub(super) fn of_last(view: &'a View<'a>, memory: &mut Memory) -> Option<Self> {
        let mut plan = memory.plan.take_if(|plan| plan.changes_at().is_none_or(|at| at > view.now))?;
        plan.advance(view.now);
        Some(Self::whole(view, plan))
    }

    /// Starts with what running jobs give back, in a pass that has begun, and the maintenance that is known by now.
    pub(super) fn of(view: &'a View<'a>, memory: &mut Memory) -> Option<Self> {
        let base = memory.base.windows(view)?;
        let windows = match memory.plan.take() {
            Some(mut plan) => {
                plan.copy_from(base);
                plan
            }
            None => base.clone(),
        };
        Some(Self::new(view, windows, view.outages.known(view.now)))
    }

    /// Adds the watts that a budget leaves running jobs, now and as it is known to change (page on power in time, rule
    /// 48). What recovery withholds from starts counts as taken for a moment.
    pub(super) fn power(mut self, outlook: Option<&Outlook>) -> Self {
        let Some(outlook) = outlook else { return self };
        let (now, withheld) = (self.view.now, self.view.withheld);
        self.windows.add_watts(now, outlook.now() + self.view.claimed);
        for &(at, watts) in outlook.steps() {
            self.windows.add_watts(at, watts);
        }
        if withheld > Watts::ZERO {
            self.windows.add_watts(now, Watts::ZERO - withheld);
            self.windows.add_watts(now.saturating_add(SimDuration::TICK), withheld);
        }
        self
    }

    /// Applies the maintenance that begins before an instant.
    fn look(&mut self, until: SimTime) {
        while let Some(window) = self.next.filter(|window| window.from < until) {
            self.windows.close(groups(self.view), window.from, window.until - window.from, window.node);
            self.next = self.to_come.next();
        }
        self.known = if self.next.is_none() { SimTime::NEVER } else { self.known.max(until) };
    }

    /// Calls [`Windows::may_start`] for the length of the need.
    pub(super) fn may_start(&mut self, need: &NodeNeed<'_>, suits: impl FnOnce(Throughout<'_>) -> bool) -> bool {
        self.look(self.view.now.saturating_add(need.length));
        self.windows.may_start(need, suits)
    }

    /// Calls [`Windows::earliest`] as far ahead as it takes.
    pub(super) fn earliest(
        &mut self,
        need: &NodeNeed<'_>,
        (mut from, until): (SimTime, SimTime),
        mut pick: impl FnMut(&Planes, Throughout<'_>) -> bool,
    ) -> Option<SimTime> {
        self.look(from.saturating_add(need.length));
        loop {
            // A job that ends by then is not affected by maintenance that is yet to be applied.
            let certain = self.known.saturating_add(SimDuration::ZERO - need.length);
            let by = if self.known == SimTime::NEVER { until } else { until.min(certain) };
            let found = self.windows.earliest(need, (from, by), &mut pick);
            if found.is_some() || by == until {
                return found;
            }
            from = by;
            self.look(self.known.saturating_add((self.known - self.view.now).max(SimDuration::TICK)));
        }
    }

    /// The windows, with the maintenance that has been applied.
    pub(super) fn windows(&self) -> &Windows {
        &self.windows
    }

    /// Calls [`Windows::free_for`].
    pub(super) fn free_for(&mut self, at: SimTime, need: &NodeNeed<'_>) -> Option<u32> {
        self.windows.free_for(at, need)
    }

    /// Calls [`Windows::hold`] for what [`Self::earliest`] has found.
    pub(super) fn hold(&mut self, at: SimTime, need: &NodeNeed<'_>, nodes: &[u32]) {
        self.windows.hold(at, need, nodes);
    }

    /// Calls [`Windows::hold_lowest`] for a need that is known to fit.
    pub(super) fn hold_lowest(&mut self, at: SimTime, need: &NodeNeed<'_>, nodes: &mut NodeSet) {
        self.windows.hold_lowest(at, need, nodes);
    }

    /// Leaves the windows, for their memory.
    pub(super) fn into_windows(self) -> Windows {
        self.windows
    }

    /// True if no maintenance is known that begins later.
    pub(super) fn is_undisturbed(&self) -> bool {
        self.known == self.view.now && self.next.is_none()
    }
}

/// Nodes that are off or shutting down, if any, except those that a wake-up brings back in no time.
pub(super) fn asleep(view: &View<'_>) -> Option<NodeSet> {
    let mut asleep = view.standby?.asleep().clone();
    for back in view.standby?.comebacks() {
        if view.nodes[back.node as usize].is_on() || back.at_once {
            asleep.remove(back.node);
        }
    }
    (!asleep.is_empty()).then_some(asleep)
}

/// True if all these nodes, which the plan has free now, are on. Those that wake up in no time may still be off.
pub(super) fn are_on(view: &View<'_>, nodes: &[u32]) -> bool {
    let asleep = view.standby.map(Standby::asleep).filter(|asleep| !asleep.is_empty());
    asleep.is_none_or(|asleep| !nodes.iter().any(|&node| asleep.contains(node)))
}

/// Units of nodes that are off and wake up in no time: plans have them now.
pub(super) fn units_back_now(view: &View<'_>) -> i64 {
    let comebacks = view.comebacks();
    let nodes = comebacks.iter().filter(|back| back.at_once).count();
    i64::try_from(nodes).unwrap_or(i64::MAX).saturating_mul(i64::from(view.slots.per_node()))
}

/// Free nodes over time from what is free now and what returns, with all maintenance that is known applied.
pub(super) fn known_by_now(now: Planes, view: &View<'_>, returns: Vec<NodeReturn<'_>>) -> Windows {
    let mut windows = Windows::new(view.now, now);
    in_service(&mut windows, view, returns);
    for window in view.outages.known(view.now) {
        windows.close(groups(view), window.from, window.until - window.from, window.node);
    }
    windows
}

/// Adds what returns to what is free now; nodes that sleep or are out of service return, too, if they are to.
pub(super) fn in_service<'a>(windows: &mut Windows, view: &View<'a>, mut returns: Vec<NodeReturn<'a>>) {
    let soonest = view.now.saturating_add(SimDuration::TICK);
    let whole = if view.platform.is_exclusive() { 1 } else { i64::from(view.platform.slots()) };
    let comebacks = view.comebacks();
    returns.extend(comebacks.iter().map(|back| NodeReturn {
        at: if back.at_once { view.now } else { back.at.max(soonest) },
        nodes: std::slice::from_ref(&back.node),
        what: What::Node(whole),
    }));
    let mut order: Vec<_> = (0..).zip(&returns).map(|(place, back): (u32, _)| (back.at, place)).collect();
    order.sort_unstable();
    windows.give_back(groups(view), order.iter().map(|&(_, place)| returns[place as usize]));
    for (node, until) in view.outages.coming_back() {
        windows.open(groups(view), until, node, whole);
    }
}
