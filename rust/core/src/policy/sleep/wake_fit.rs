//! Fits of jobs into a plan of nodes, watts and wake-ups, and what they take there (page on sleep under a budget, rules 5,
//! 6 and 11).

use crate::algo::horizon::Wish;
use crate::policy::sleep::wake_plan::{Down, Wake, WakePlan};
use crate::units::{SimDuration, SimTime, Watts};

/// Need of a waiting job.
#[derive(Clone, Copy, Debug)]
pub(in crate::policy) struct Need<'a> {
    /// Nodes, by the cells that can serve it, and licences.
    pub(in crate::policy) wish: Wish<'a>,
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
    parts: Vec<Part>,
    /// Microwatts that it takes itself.
    own: i64,
}

/// Nodes of one cell that a planned job takes.
#[derive(Clone, Debug)]
struct Part {
    cell: u16,
    nodes: i64,
    /// Instant at which those are woken that are down, by their places among these.
    from: SimTime,
    woken: Vec<usize>,
    /// Microwatts that the woken ones take idle.
    idle: i64,
}

/// Amounts that a job could have throughout from an instant on.
struct There {
    at: SimTime,
    until: SimTime,
    /// Nodes of each of its cells that are on and free.
    on: Vec<i64>,
    microwatts: i64,
    /// True if what jobs hold that run past their planned end does not count.
    is_sure: bool,
}

impl WakePlan {
    /// The earliest instant, not before `from`, from which a job has what it needs.
    pub(in crate::policy) fn fit(&self, need: &Need<'_>, from: SimTime) -> Option<Fit> {
        let (length, on) = (need.length.max(SimDuration::TICK), Vec::with_capacity(need.wish.any_of.len()));
        let mut there = There { at: from, until: from, on, microwatts: 0, is_sure: true };
        self.candidates(need, from, length).into_iter().find_map(|at| {
            (there.at, there.until) = (at, at.saturating_add(length));
            self.fit_at(need, &mut there)
        })
    }

    /// Instants at which it may be another question than just before whether the job fits.
    fn candidates(&self, need: &Need<'_>, from: SimTime, length: SimDuration) -> Vec<SimTime> {
        let Wish { any_of, each, .. } = need.wish;
        let things = any_of.iter().copied().chain(each.iter().map(|&(thing, _)| thing)).chain([self.watts]);
        let mut all: Vec<_> = things.flat_map(|thing| self.free.steps_of(thing)).map(|step| step.0).collect();
        if any_of.len() > 1 {
            // As fewer nodes of one cell are free for all its length, it takes more of the next.
            let ends: Vec<_> = all.iter().map(|&at| at.saturating_add(SimDuration::TICK - length)).collect();
            all.extend(ends);
        }
        let own = |down: &&Down| any_of.contains(&down.cell);
        all.extend(self.down.iter().filter(own).map(|down| down.back));
        let mut margins: Vec<_> = any_of.iter().map(|&cell| self.margin(usize::from(cell))).collect();
        margins.sort_unstable();
        margins.dedup();
        for margin in margins.into_iter().filter(|&margin| margin > SimDuration::ZERO) {
            all.extend(self.free.steps_of(self.watts).map(|(at, _)| at.saturating_add(margin)));
        }
        all.retain(|&at| from < at && at < SimTime::NEVER);
        all.push(from);
        // These are some sorted lists, one behind the other: a merge.
        all.sort();
        all.dedup();
        all
    }

    /// Fits a job without what overdue runs hold, or else with it; now on nodes that are on, or else with others.
    fn fit_at(&self, need: &Need<'_>, there: &mut There) -> Option<Fit> {
        self.look(need, there, true);
        let sure = self.fit_within(need, there);
        if sure.is_some() || !self.is_any_overdue {
            return sure.map(|fit| Fit { is_for_now: there.at == self.now && self.is_on(&fit), is_sure: true, ..fit });
        }
        self.look(need, there, false);
        self.fit_within(need, there)
    }

    /// Looks up what could be had of each cell, and of the watts.
    fn look(&self, need: &Need<'_>, there: &mut There, is_sure: bool) {
        let (at, until) = (there.at, there.until);
        there.is_sure = is_sure;
        there.on.clear();
        there.on.extend(need.wish.any_of.iter().map(|&cell| self.least(cell, (at, until), is_sure)));
        there.microwatts = self.least(self.watts, (at, until), is_sure);
    }

    /// Least amount over a span, without what overdue runs hold if it has to be sure.
    fn least(&self, thing: u16, (from, until): (SimTime, SimTime), is_sure: bool) -> i64 {
        let overdue = if is_sure { self.overdue[usize::from(thing)] } else { 0 };
        self.free.least_of(thing, from, until) - overdue
    }

    /// True if a job that is planned for now has all its nodes on.
    fn is_on(&self, fit: &Fit) -> bool {
        fit.parts.iter().all(|part| {
            let cell = usize::from(part.cell);
            let on = self.free.first().nth(cell).unwrap_or(0) - self.late[cell] - self.overdue[cell];
            part.woken.is_empty() && part.nodes <= on
        })
    }

    /// Fits a job into what could be had throughout its length. Now it has nodes that are on before others.
    fn fit_within(&self, need: &Need<'_>, there: &There) -> Option<Fit> {
        let licences = need.wish.each;
        if licences.iter().any(|&(kind, need)| self.least(kind, (there.at, there.until), there.is_sure) < need) {
            return None;
        }
        let with = |wakes| self.parts(need, there, wakes).and_then(|parts| self.fit_on(need, there, parts));
        let is_choice = there.at == self.now && need.wish.any_of.len() > 1;
        if is_choice { with(false).or_else(|| with(true)) } else { with(true) }
    }

    /// Nodes that a job takes of each cell, the plainest first; none if these are too few. What is not on is woken, if
    /// `wakes`.
    fn parts(&self, need: &Need<'_>, there: &There, wakes: bool) -> Option<Vec<Part>> {
        let (mut left, mut parts) = (need.wish.count, Vec::new());
        for (&cell, &on) in need.wish.any_of.iter().zip(&there.on) {
            let lack = usize::try_from(left - on.min(left)).unwrap_or(usize::MAX);
            let can_be_had = |down: &Down| wakes && down.cell == cell && !down.is_taken && down.back <= there.at;
            let down = (0..self.down.len()).filter(|&place| can_be_had(&self.down[place]));
            let woken: Vec<_> = down.take(lack).collect();
            let nodes = (on + i64::try_from(woken.len()).unwrap_or(0)).min(left);
            if nodes > 0 {
                left -= nodes;
                parts.push(self.part(cell, (there.at, nodes), woken));
            }
        }
        (left == 0).then_some(parts)
    }

    fn part(&self, cell: u16, (at, nodes): (SimTime, i64), woken: Vec<usize>) -> Part {
        let back = SimDuration::ZERO - self.margin(usize::from(cell));
        let from = if woken.is_empty() { at } else { at.saturating_add(back).max(self.now) };
        let idle = if self.counts_watts() { self.idle(&woken).microwatts_down() } else { 0 };
        Part { cell, nodes, from, woken, idle }
    }

    /// Watts that these nodes draw idle beyond what they draw off.
    fn idle(&self, woken: &[usize]) -> Watts {
        woken.iter().map(|&place| self.down[place].idle).sum()
    }

    /// Fits a job on these nodes, if there are the watts.
    fn fit_on(&self, need: &Need<'_>, there: &There, parts: Vec<Part>) -> Option<Fit> {
        let exact: Watts = parts.iter().map(|part| self.idle(&part.woken)).sum();
        let idle: i64 = parts.iter().map(|part| part.idle).sum();
        if need.least > self.most.1 - exact {
            return None;
        }
        let own = need.mean.min(self.most.0 - idle);
        if there.microwatts < own + idle {
            return None;
        }
        // From the instant on at which those of a cell are woken, they idle, and so do those woken before them.
        let lasts = parts.iter().filter(|part| !part.woken.is_empty()).all(|part| {
            let before = parts.iter().filter(|other| other.from <= part.from);
            let idle: i64 = before.map(|other| other.idle).sum();
            idle <= 0 || self.least_watts(part.from, SimTime::NEVER) >= idle
        });
        lasts.then_some(Fit { at: there.at, is_for_now: false, is_sure: false, parts, own })
    }

    /// Takes what a job needs out of the plan.
    pub(in crate::policy) fn take(&mut self, need: &Need<'_>, fit: &Fit) {
        self.holds = true;
        let length = need.length.max(SimDuration::TICK);
        let end = fit.at.saturating_add(length);
        let woken = || fit.parts.iter().filter(|part| !part.woken.is_empty());
        for part in woken() {
            for &place in &part.woken {
                self.down[place].is_taken = true;
            }
            self.free.add_from(part.from, &[(self.watts, part.idle)], -1);
            if end < SimTime::NEVER {
                self.free.add_from(end, &[(part.cell, part.count())], 1);
            }
        }
        for part in woken() {
            let (boot, excess) = self.to_boot(&part.woken);
            let least = self.least_watts(part.from, part.from.saturating_add(boot));
            let grant = least.clamp(0, excess.microwatts_up());
            self.free.reserve(part.from, boot, &[(self.watts, grant)]);
            self.wakes.push(Wake { from: part.from, woken: part.woken.clone(), grant });
        }
        for part in &fit.parts {
            self.free.reserve(fit.at, length, &[(part.cell, part.nodes - part.count())]);
        }
        self.free.reserve(fit.at, length, need.wish.each);
        self.free.reserve(fit.at, length, &[(self.watts, fit.own)]);
        if fit.at == self.now && self.is_woken_for(need, fit) {
            self.await_what(need, fit);
        }
    }

    /// Longest boot of these nodes, and their draw beyond idle while they boot.
    fn to_boot(&self, woken: &[usize]) -> (SimDuration, Watts) {
        let nodes = || woken.iter().map(|&place| &self.down[place]);
        (nodes().map(|down| down.boot).max().unwrap_or_default(), nodes().map(|down| down.excess).sum())
    }

    /// Notes what a job would take now for which nodes are being woken.
    fn await_what(&mut self, need: &Need<'_>, fit: &Fit) {
        let idle: i64 = fit.parts.iter().map(|part| part.idle).sum();
        let nodes = fit.parts.iter().map(|part| (part.cell, part.nodes - part.count()));
        for (thing, amount) in nodes.chain(need.wish.each.iter().copied()).chain([(self.watts, fit.own + idle)]) {
            self.awaited[usize::from(thing)] += amount;
        }
    }

    /// True if nodes are being woken for a job with this fit: it does not start now on nodes that are all on, but
    /// starts no later than all nodes of its cells are back that are off or in transition.
    pub(in crate::policy) fn is_woken_for(&self, need: &Need<'_>, fit: &Fit) -> bool {
        self.soon_in(need.wish.any_of).is_some_and(|soon| fit.at <= soon) && fit.is_sure && !fit.is_for_now
    }
}

impl Part {
    /// Number of its nodes that are woken.
    fn count(&self) -> i64 {
        i64::try_from(self.woken.len()).unwrap_or(0)
    }
}
