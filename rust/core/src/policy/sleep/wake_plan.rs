//! A plan of nodes, watts and wake-ups, where nodes sleep under a budget (page on sleep under a budget, rules 4 to 6).
//!
//! It counts the nodes that are on, and knows those that are off or shutting down by number. A job planned on the
//! latter takes the watts to wake them and, as they stay on, their idle watts for ever.

use std::collections::BTreeMap;

use crate::algo::releases::Claim;
use crate::cluster::standby::Standby;
use crate::platform::node_state::NodeState;
use crate::policy::View;
use crate::policy::budget::outlook::Outlook;
use crate::units::{SimDuration, SimTime, Watts};

/// A job needs its nodes for at least this long.
const TICK: SimDuration = SimDuration::from_micros(1);

/// More microwatts than are ever needed, where none are counted.
const PLENTY: i64 = i64::MAX / 4;

/// Free nodes and watts over time, and the nodes that could be woken.
#[derive(Clone, Debug)]
pub(in crate::policy) struct WakePlan {
    now: SimTime,
    /// Steps in order of time, the first now; each holds until the next.
    steps: Vec<Step>,
    /// Nodes that are off or shutting down, by number.
    down: Vec<Down>,
    /// W: longest time that starting any of the nodes that are down takes in plans.
    margin: SimDuration,
    /// Time at which the last node is back that is off or in transition.
    soon: Option<SimTime>,
    /// Most microwatts that there are once all running jobs have ended, as planned and exactly.
    most: (i64, Watts),
    /// True if the budget is known to fall.
    falls: bool,
    /// Wake-ups of the planned jobs, in their order.
    wakes: Vec<Wake>,
    holds: bool,
    /// Number of nodes that count as on and free now but still boot, longer than was planned.
    late: i64,
    /// Claim of runs that are past their planned end: it counts as free now.
    overdue: Claim,
    /// Nodes and watts left now after the starts, and those that jobs would take now for which nodes are being woken.
    left_now: Claim,
    awaited: Claim,
}

/// Nodes that are on and free, and microwatts.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: SimTime,
    free: Claim,
}

/// A node that is off or shutting down.
#[derive(Clone, Copy, Debug)]
struct Down {
    node: u32,
    is_off: bool,
    /// Earliest instant at which a plan could have it.
    back: SimTime,
    /// Watts that it draws idle beyond what it draws off.
    idle: Watts,
    /// Draw beyond idle while it boots, and for how long.
    excess: Watts,
    boot: SimDuration,
    /// True if a job that is planned wakes it.
    is_taken: bool,
}

/// Need of a waiting job.
#[derive(Clone, Copy, Debug)]
pub(in crate::policy) struct Need {
    /// Nodes.
    pub(in crate::policy) nodes: i64,
    /// Its mean least watts, in microwatts rounded up.
    pub(in crate::policy) mean: i64,
    /// Its least watts on the best nodes.
    pub(in crate::policy) least: Watts,
    /// Its least length.
    pub(in crate::policy) length: SimDuration,
}

/// Start of a job in a plan, and what it takes.
#[derive(Clone, Debug)]
pub(in crate::policy) struct Fit {
    /// Its start.
    pub(in crate::policy) at: SimTime,
    /// True if that is now, on nodes that are all on.
    pub(in crate::policy) is_for_now: bool,
    /// True if it waits for no run that is past its planned end.
    is_sure: bool,
    /// Instant at which its nodes are woken.
    from: SimTime,
    /// Woken nodes, by their places among those that are down.
    woken: Vec<usize>,
    /// Microwatts that it takes itself, and that its woken nodes take idle.
    own: i64,
    idle: i64,
}

/// Nodes that are woken for a job.
#[derive(Clone, Debug)]
struct Wake {
    from: SimTime,
    woken: Vec<usize>,
    /// Microwatts that they may draw beyond idle.
    grant: i64,
}

impl WakePlan {
    /// Begins with nothing planned. Without an outlook no watts are counted.
    pub(in crate::policy) fn new(view: &View<'_>, outlook: Option<&Outlook>) -> Self {
        let (now, mut changes) = (view.now, BTreeMap::<SimTime, Claim>::new());
        let mut most = (PLENTY, Watts::of_microwatts(PLENTY));
        if let Some(outlook) = outlook {
            let releases = view.releases.total().microwatts;
            most = (outlook.now().microwatts_down() + releases + outlook.rise(), outlook.most() + view.claimed);
        }
        let first = outlook.map_or(PLENTY, |outlook| outlook.now().microwatts_down());
        let counts = |microwatts: i64| if outlook.is_some() { microwatts } else { 0 };
        let mut change = |at: SimTime, units, microwatts| {
            *changes.entry(at.max(now)).or_default() += Claim { units, microwatts: counts(microwatts) };
        };
        for release in view.releases.iter() {
            change(release.at, release.claim.units, release.claim.microwatts);
        }
        for release in outlook.map_or(&[][..], Outlook::changes) {
            change(release.at, 0, release.claim.microwatts);
        }
        let (mut down, mut soon, mut late) = (Vec::new(), None, 0);
        for back in view.standby.map_or(&[][..], |standby| standby.comebacks()) {
            let (state, draw) = (view.nodes[back.node as usize], view.platform.node(back.node));
            soon = soon.max(Some(back.at.max(now)));
            if matches!(state, NodeState::Booting { .. }) {
                change(back.at, 1, 0);
                late += i64::from(back.at <= now);
            }
            if let Some((until, freed)) = view.settles(back.node) {
                change(until, 0, freed.microwatts_down());
                most = (most.0 + freed.microwatts_down(), most.1 + freed);
            }
            if !matches!(state, NodeState::Booting { .. }) {
                down.push(Down {
                    node: back.node,
                    is_off: state == NodeState::Off,
                    back: back.at.max(now),
                    idle: draw.idle - draw.off,
                    excess: draw.beyond_idle_to_boot(),
                    boot: draw.boot_time,
                    is_taken: false,
                });
            }
        }
        let left_now = Claim { units: view.slots.free_units(), microwatts: first };
        let mut free = left_now;
        let mut steps = vec![Step { at: now, free }];
        for (at, by) in changes {
            free += by;
            if at > now {
                steps.push(Step { at, free });
            } else {
                steps[0].free = free;
            }
        }
        Self {
            now,
            steps,
            down,
            margin: view.standby.map_or(SimDuration::ZERO, Standby::margin),
            soon,
            most,
            falls: outlook.is_some_and(Outlook::falls),
            wakes: Vec::new(),
            holds: false,
            late,
            overdue: view.releases.overdue(now),
            left_now,
            awaited: Claim::default(),
        }
    }

    /// Extends the span in which jobs count as being woken for to `until`.
    pub(super) fn look_until(&mut self, until: SimTime) {
        self.soon = self.soon.max(Some(until));
    }

    /// The earliest instant, not before `from`, from which a job has what it needs.
    pub(in crate::policy) fn fit(&self, need: &Need, from: SimTime) -> Option<Fit> {
        let length = need.length.max(TICK);
        self.candidates(from).into_iter().find_map(|at| self.fit_at(need, at, length))
    }

    /// Instants at which more may be available than just before.
    fn candidates(&self, from: SimTime) -> Vec<SimTime> {
        let steps = self.steps.iter().map(|step| step.at);
        let mut all: Vec<_> = steps.clone().chain(self.down.iter().map(|down| down.back)).collect();
        if !self.down.is_empty() && self.margin > SimDuration::ZERO {
            all.extend(steps.map(|at| at.saturating_add(self.margin)));
        }
        all.retain(|&at| at > from);
        all.push(from);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Fits a job without what overdue runs hold, or else with it.
    fn fit_at(&self, need: &Need, at: SimTime, length: SimDuration) -> Option<Fit> {
        let least = self.least(at, at.saturating_add(length));
        let sure = self.fit_within(need, at, least - self.overdue);
        let is_sure = sure.is_some();
        let found = if is_sure || self.overdue == Claim::default() { sure } else { self.fit_within(need, at, least) };
        let is_on = self.steps[0].free.units - self.late - self.overdue.units >= need.nodes;
        found.map(|fit| {
            let is_for_now = at == self.now && is_sure && fit.woken.is_empty() && is_on;
            Fit { is_for_now, is_sure, ..fit }
        })
    }

    /// The same, with `least` on and free throughout its length.
    fn fit_within(&self, need: &Need, at: SimTime, least: Claim) -> Option<Fit> {
        let lack = usize::try_from(need.nodes - least.units.min(need.nodes)).unwrap_or(usize::MAX);
        let can_be_had = |down: &Down| !down.is_taken && down.back <= at;
        let woken: Vec<_> = (0..self.down.len()).filter(|&place| can_be_had(&self.down[place])).take(lack).collect();
        let idle: Watts = woken.iter().map(|&place| self.down[place].idle).sum();
        if woken.len() < lack || need.least > self.most.1 - idle {
            return None;
        }
        let idle = if self.counts_watts() { idle.microwatts_down() } else { 0 };
        let own = need.mean.min(self.most.0 - idle);
        if least.microwatts < own + idle {
            return None;
        }
        let from = if lack == 0 { at } else { self.woken_from(at) };
        let lasts = idle <= 0 || self.least(from, SimTime::NEVER).microwatts >= idle;
        lasts.then_some(Fit { at, is_for_now: false, is_sure: false, from, woken, own, idle })
    }

    fn counts_watts(&self) -> bool {
        self.most.0 < PLENTY / 2
    }

    fn woken_from(&self, at: SimTime) -> SimTime {
        at.saturating_add(SimDuration::ZERO - self.margin).max(self.now)
    }

    /// Least of each that is free from an instant until before another, which is later.
    fn least(&self, from: SimTime, until: SimTime) -> Claim {
        let first = self.steps.partition_point(|step| step.at <= from) - 1;
        let within = self.steps[first..].iter().take_while(|step| step.at < until || step.at <= from);
        let none = Claim { units: i64::MAX, microwatts: i64::MAX };
        within.fold(none, |least, step| Claim {
            units: least.units.min(step.free.units),
            microwatts: least.microwatts.min(step.free.microwatts),
        })
    }

    /// Changes what is free from an instant until before another.
    fn change(&mut self, from: SimTime, until: SimTime, by: Claim) {
        for at in [from, until] {
            let place = self.steps.partition_point(|step| step.at < at);
            if at != SimTime::NEVER && self.steps.get(place).is_none_or(|step| step.at != at) {
                let free = self.steps[place - 1].free;
                self.steps.insert(place, Step { at, free });
            }
        }
        let changed = self.steps.iter_mut().filter(|step| from <= step.at && step.at < until);
        changed.for_each(|step| step.free += by);
    }

    /// Takes what a job needs out of the plan.
    pub(in crate::policy) fn take(&mut self, need: &Need, fit: &Fit) {
        self.holds = true;
        let (end, count) = (fit.at.saturating_add(need.length.max(TICK)), i64::try_from(fit.woken.len()).unwrap_or(0));
        if !fit.woken.is_empty() {
            for &place in &fit.woken {
                self.down[place].is_taken = true;
            }
            self.change(fit.from, SimTime::NEVER, Claim { units: 0, microwatts: -fit.idle });
            self.change(end, SimTime::NEVER, Claim { units: count, microwatts: 0 });
            let boot = fit.woken.iter().map(|&place| self.down[place].boot).max().unwrap_or_default();
            let excess: Watts = fit.woken.iter().map(|&place| self.down[place].excess).sum();
            let until = fit.from.saturating_add(boot);
            let grant = self.least(fit.from, until).microwatts.clamp(0, excess.microwatts_up());
            self.change(fit.from, until, Claim { units: 0, microwatts: -grant });
            self.wakes.push(Wake { from: fit.from, woken: fit.woken.clone(), grant });
        }
        self.change(fit.at, end, Claim { units: count - need.nodes, microwatts: -fit.own });
        if fit.at == self.now && self.is_woken_for(fit) {
            self.awaited += Claim { units: need.nodes - count, microwatts: fit.own + fit.idle };
        }
    }

    /// True if the claim of a job that starts now is free for all its length alongside planned jobs. A job of length
    /// zero must leave enough now for the jobs for which nodes are being woken.
    pub(in crate::policy) fn lasts(&self, claim: Claim, length: SimDuration) -> bool {
        if length == SimDuration::ZERO {
            return self.awaited == Claim::default() || (self.left_now - self.awaited).covers(claim);
        }
        !self.holds && !self.falls || self.least(self.now, self.now.saturating_add(length)).covers(claim)
    }

    /// Starts a job with this claim.
    pub(in crate::policy) fn start(&mut self, claim: Claim, length: SimDuration) {
        self.left_now -= claim;
        if length > SimDuration::ZERO {
            self.change(self.now, self.now.saturating_add(length), Claim::default() - claim);
        }
    }

    /// True if nodes are being woken for a job with this fit: it does not start now on nodes that are all on, but
    /// starts no later than all nodes are back that are off or in transition.
    pub(in crate::policy) fn is_woken_for(&self, fit: &Fit) -> bool {
        self.soon.is_some_and(|soon| fit.at <= soon) && fit.is_sure && !fit.is_for_now
    }

    /// Most nodes and microwatts that a job can have that fits now or is being woken for.
    pub(in crate::policy) fn most_soon(&self) -> Claim {
        let soon = self.soon.unwrap_or(self.now);
        let by_then = self.steps.iter().take_while(|step| step.at <= soon);
        let most = by_then.fold(Claim::default(), |most, step| Claim {
            units: most.units.max(step.free.units),
            microwatts: most.microwatts.max(step.free.microwatts),
        });
        let down = self.down.iter().filter(|down| !down.is_taken).count();
        Claim { units: most.units + i64::try_from(down).unwrap_or(0), ..most }
    }

    /// Nodes that are woken now, as far as there is room (none: watts are not counted), and the time of the next
    /// wake-up.
    pub(super) fn wakes(&self, room: &mut Option<Watts>) -> (Vec<u32>, Option<SimTime>) {
        let mut now = Vec::new();
        for wake in self.wakes.iter().filter(|wake| wake.from <= self.now) {
            let mut excess = Watts::ZERO;
            for down in wake.woken.iter().map(|&place| &self.down[place]).filter(|down| down.is_off) {
                excess += down.excess;
                let more = down.idle + down.excess;
                if room.is_some_and(|room| more > room.max(Watts::ZERO))
                    || self.counts_watts() && excess.microwatts_up() > wake.grant
                {
                    break;
                }
                *room = room.map(|room| room - more);
                now.push(down.node);
            }
        }
        now.sort_unstable();
        let later = self.wakes.iter().map(|wake| wake.from).filter(|&from| from > self.now);
        (now, later.min())
    }

    /// Wakes an off node that is planned for no job, if the plan leaves the watts for it; true if it does.
    pub(super) fn wake_beside(&mut self, node: u32, room: &mut Option<Watts>) -> bool {
        let found = self.down.iter().position(|down| down.node == node && down.is_off && !down.is_taken);
        let Some(place) = found else { return false };
        let Down { idle, excess, boot, .. } = self.down[place];
        let until = self.now.saturating_add(boot);
        // Where the room is negative, nodes that take nothing may still be woken.
        let holds = |least: i64, need: Watts| least.max(0) >= need.microwatts_up();
        let fits = !self.counts_watts()
            || holds(self.least(self.now, SimTime::NEVER).microwatts, idle)
                && holds(self.least(self.now, until).microwatts, idle + excess);
        if !fits || room.is_some_and(|room| idle + excess > room.max(Watts::ZERO)) {
            return false;
        }
        *room = room.map(|room| room - idle - excess);
        self.down[place].is_taken = true;
        self.change(self.now, SimTime::NEVER, Claim { units: 0, microwatts: -idle.microwatts_up() });
        self.change(self.now, until, Claim { units: 0, microwatts: -excess.microwatts_up() });
        true
    }

    /// Takes `more` watts until a node that begins to shut down is off; true if the plan and the room have them.
    pub(super) fn shut_down(&mut self, more: Watts, lasts: SimDuration, room: &mut Option<Watts>) -> bool {
        let until = self.now.saturating_add(lasts);
        if more <= Watts::ZERO || !self.counts_watts() {
            return true;
        }
        let need = more.microwatts_up();
        if self.least(self.now, until).microwatts < need || room.is_some_and(|room| more > room) {
            return false;
        }
        *room = room.map(|room| room - more);
        self.change(self.now, until, Claim { units: 0, microwatts: -need });
        true
    }

    /// Least number of nodes that are on and free up to an instant, and before another.
    pub(super) fn spare(&self, by: SimTime, before: SimTime) -> i64 {
        let within = self.steps.iter().take_while(|step| step.at <= by || step.at < before);
        within.map(|step| step.free.units).min().unwrap_or(0)
    }

    /// First time at which at most `above` nodes are on and free.
    pub(super) fn lacking(&self, above: usize) -> SimTime {
        let above = i64::try_from(above).unwrap_or(i64::MAX);
        self.steps.iter().find(|step| step.free.units <= above).map_or(SimTime::NEVER, |step| step.at)
    }

    /// Number of nodes left once all are back.
    pub(super) fn left(&self) -> i64 {
        let soon = self.soon.unwrap_or(self.now);
        let down = self.down.iter().filter(|down| !down.is_taken).count();
        self.least(soon, soon.saturating_add(TICK)).units + i64::try_from(down).unwrap_or(0)
    }

    /// W: longest time that starting any of the nodes that are down takes in plans.
    pub(super) fn margin(&self) -> SimDuration {
        self.margin
    }
}
