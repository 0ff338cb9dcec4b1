//! A plan of nodes, watts and wake-ups, where nodes sleep under a budget (page on sleep under a budget, rules 4 to 6 and
//! 11).
//!
//! It counts the nodes that are on, those of each cell by themselves where nodes are counted so, and knows those that are
//! off or shutting down by number. A job planned on the latter takes the watts to wake them and, as they stay on, their
//! idle watts for ever. Watts are one more column next to the cells and the licences.

use crate::algo::horizon::cells::change;
use crate::algo::horizon::{CellProfile, NodesByCell, Wish};
use crate::cluster::shares::Shares;
use crate::platform::node_state::NodeState;
use crate::policy::View;
use crate::policy::budget::outlook::Outlook;
use crate::units::{SimDuration, SimTime, Watts};

/// More microwatts than are ever needed, where none are counted.
const PLENTY: i64 = i64::MAX / 4;

/// Free nodes, licences and watts over time, and the nodes that could be woken.
#[derive(Clone, Debug)]
pub(in crate::policy) struct WakePlan {
    pub(super) now: SimTime,
    /// Nodes of each cell that are on and free, licences, and microwatts.
    pub(super) free: CellProfile,
    /// Column of the microwatts.
    pub(super) watts: u16,
    /// Number of cells; 1 where nodes are alike.
    cells: usize,
    /// Nodes that are off or shutting down, by number.
    pub(super) down: Vec<Down>,
    /// Time at which the last node of each cell is back that is off or in transition.
    soon: Vec<Option<SimTime>>,
    /// W of each cell: longest time that starting any of its nodes takes in plans that are down.
    margins: Vec<SimDuration>,
    /// Most microwatts that there are once all running jobs have ended, as planned and exactly.
    pub(super) most: (i64, Watts),
    /// True if the budget is known to fall.
    falls: bool,
    /// Wake-ups of the planned jobs, in their order.
    pub(super) wakes: Vec<Wake>,
    pub(super) holds: bool,
    /// Number of nodes of each cell that count as on and free now but still boot, longer than was planned.
    pub(super) late: Vec<i64>,
    /// Amounts of runs that are past their planned end: they count as free now.
    pub(super) overdue: Vec<i64>,
    pub(super) is_any_overdue: bool,
    /// Amounts left now after the starts, and those that jobs would take now for which nodes are being woken.
    left_now: Vec<i64>,
    pub(super) awaited: Vec<i64>,
}

/// A node that is off or shutting down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Down {
    pub(super) node: u32,
    pub(super) cell: u16,
    pub(super) is_off: bool,
    /// Earliest instant at which a plan could have it.
    pub(super) back: SimTime,
    /// Watts that it draws idle beyond what it draws off.
    pub(super) idle: Watts,
    /// Draw beyond idle while it boots, and for how long.
    pub(super) excess: Watts,
    pub(super) boot: SimDuration,
    /// True if a job that is planned wakes it.
    pub(super) is_taken: bool,
}

/// Nodes of one cell that are woken for a job.
#[derive(Clone, Debug)]
pub(super) struct Wake {
    pub(super) from: SimTime,
    /// Places of these nodes among those that are down.
    pub(super) woken: Vec<usize>,
    /// Microwatts that they may draw beyond idle.
    pub(super) grant: i64,
}

/// Amounts of single things that become free at some instants, for ever.
type Changes = Vec<(SimTime, u16, i64)>;

impl WakePlan {
    /// Begins with nothing planned. Without an outlook no watts are counted.
    pub(in crate::policy) fn new(view: &View<'_>, outlook: Option<&Outlook>) -> Self {
        let cells = view.shares.map(Shares::cells);
        let (count, width) = cells.map_or((1, 1), |cells| (cells.sets().len(), cells.width()));
        let mut left_now = Vec::new();
        match view.shares {
            Some(shares) => shares.free(view.slots, &mut left_now),
            None => left_now.push(view.slots.free_units()),
        }
        left_now.push(outlook.map_or(PLENTY, |outlook| outlook.now().microwatts_down()));
        let mut most = (PLENTY, Watts::of_microwatts(PLENTY));
        if let Some(outlook) = outlook {
            let releases = view.releases.total().microwatts;
            most = (outlook.now().microwatts_down() + releases + outlook.rise(), outlook.most() + view.claimed);
        }
        let mut plan = Self {
            now: view.now,
            free: CellProfile::default(),
            watts: u16::try_from(width).unwrap_or(u16::MAX),
            cells: count,
            down: Vec::new(),
            soon: vec![None; count],
            margins: (0..count).map(|cell| view.standby.map_or(SimDuration::ZERO, |all| all.margin(cell))).collect(),
            most,
            falls: outlook.is_some_and(Outlook::falls),
            wakes: Vec::new(),
            holds: false,
            late: vec![0; count],
            overdue: vec![0; width + 1],
            is_any_overdue: false,
            awaited: vec![0; width + 1],
            left_now,
        };
        let mut changes = plan.releases(view, outlook);
        plan.take_comebacks(view, outlook.is_some(), &mut changes);
        changes.sort_unstable_by_key(|&(at, ..)| at);
        plan.free.fill(view.now, &plan.left_now, changes.into_iter());
        plan
    }

    /// Releases of running jobs and of the budget; notes those that are overdue.
    fn releases(&mut self, view: &View<'_>, outlook: Option<&Outlook>) -> Changes {
        let mut changes = Changes::with_capacity(2 * view.releases.len() + 2 * self.left_now.len());
        for release in view.releases.iter() {
            match view.shares {
                Some(shares) => {
                    let own = shares.of_release(release).unwrap_or_default();
                    changes.extend(own.into_iter().map(|(thing, amount)| (release.at, thing, amount)));
                }
                None => changes.push((release.at, 0, release.claim.units)),
            }
            if outlook.is_some() {
                changes.push((release.at, self.watts, release.claim.microwatts));
            }
        }
        let overdue = changes.iter().filter(|(at, ..)| *at <= self.now);
        overdue.for_each(|&(_, thing, amount)| self.overdue[usize::from(thing)] += amount);
        self.is_any_overdue = self.overdue.iter().any(|&amount| amount != 0);
        let budget = outlook.map_or(&[][..], Outlook::changes);
        changes.extend(budget.iter().map(|release| (release.at, self.watts, release.claim.microwatts)));
        changes
    }

    /// Notes the nodes that are off or in transition, and what becomes free once these have settled.
    fn take_comebacks(&mut self, view: &View<'_>, counts_watts: bool, changes: &mut Changes) {
        for back in view.comebacks() {
            let (state, draw) = (view.nodes[back.node as usize], view.platform.node(back.node));
            let cell = cell_of(view, back.node);
            let soon = &mut self.soon[usize::from(cell)];
            *soon = (*soon).max(Some(back.at.max(self.now)));
            if matches!(state, NodeState::Booting { .. }) {
                changes.push((back.at, cell, 1));
                self.late[usize::from(cell)] += i64::from(back.at <= self.now);
            }
            if let Some((until, freed)) = view.settles(back.node) {
                let microwatts = freed.microwatts_down();
                if counts_watts {
                    changes.push((until, self.watts, microwatts));
                }
                self.most = (self.most.0 + microwatts, self.most.1 + freed);
            }
            if !matches!(state, NodeState::Booting { .. }) {
                self.down.push(Down {
                    node: back.node,
                    cell,
                    is_off: state == NodeState::Off,
                    back: back.at.max(self.now),
                    idle: draw.idle - draw.off,
                    excess: draw.beyond_idle_to_boot(),
                    boot: draw.boot_time,
                    is_taken: false,
                });
            }
        }
    }

    /// Extends the span in which jobs count as being woken for in a cell to `until`.
    pub(super) fn look_until(&mut self, cell: usize, until: SimTime) {
        self.soon[cell] = self.soon[cell].max(Some(until));
    }

    pub(super) fn counts_watts(&self) -> bool {
        self.most.0 < PLENTY / 2
    }

    /// W of a cell.
    pub(super) fn margin(&self, cell: usize) -> SimDuration {
        self.margins[cell]
    }

    /// Time at which the last node of some cells is back that is off or in transition.
    pub(super) fn soon_in(&self, cells: &[u16]) -> Option<SimTime> {
        cells.iter().filter_map(|&cell| self.soon[usize::from(cell)]).max()
    }

    /// Least microwatts that are free from an instant until before another.
    pub(super) fn least_watts(&self, from: SimTime, until: SimTime) -> i64 {
        self.free.least_of(self.watts, from, until)
    }

    /// Nodes of each cell that a job can start on now for so long alongside planned jobs; none if it cannot. A job of
    /// length zero must leave enough now for the jobs for which nodes are being woken.
    pub(in crate::policy) fn split_now(
        &self,
        wish: &Wish<'_>,
        free_parts: &[i64],
        length: SimDuration,
    ) -> Option<NodesByCell> {
        let mut free = free_parts.to_vec();
        if length > SimDuration::ZERO {
            self.free.least(self.now, length, wish, &mut free).ok()?;
        } else {
            free.iter_mut().zip(&self.awaited).for_each(|(free, awaited)| *free -= awaited);
        }
        wish.split(&free)
    }

    /// True if what a job takes that starts now is free for all its length alongside planned jobs. A job of length zero
    /// must leave enough now for the jobs for which nodes are being woken.
    pub(in crate::policy) fn lasts(&self, split: &[(u16, i64)], length: SimDuration) -> bool {
        if length == SimDuration::ZERO {
            let leaves = |&(thing, need): &(u16, i64)| {
                self.left_now[usize::from(thing)] - self.awaited[usize::from(thing)] >= need
            };
            return self.awaited.iter().all(|&awaited| awaited == 0) || split.iter().all(leaves);
        }
        !self.holds && !self.falls || split.iter().all(|&part| self.free.holds(self.now, length, part))
    }

    /// Starts a job that takes so much.
    pub(in crate::policy) fn start(&mut self, split: &[(u16, i64)], length: SimDuration) {
        change(&mut self.left_now, split, -1);
        self.free.reserve(self.now, length, split);
    }

    /// Column of the microwatts.
    pub(in crate::policy) fn watts(&self) -> u16 {
        self.watts
    }

    /// Most of each thing that a job can have that fits now or is being woken for.
    pub(in crate::policy) fn most_soon(&self) -> Vec<i64> {
        let (soon, mut most) = (self.soon.iter().copied().flatten().max().unwrap_or(self.now), Vec::new());
        self.free.most_by(soon, &mut most);
        for most in &mut most {
            *most = (*most).max(0);
        }
        for down in self.down.iter().filter(|down| !down.is_taken) {
            most[usize::from(down.cell)] += 1;
        }
        most
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
            || holds(self.least_watts(self.now, SimTime::NEVER), idle)
                && holds(self.least_watts(self.now, until), idle + excess);
        if !fits || room.is_some_and(|room| idle + excess > room.max(Watts::ZERO)) {
            return false;
        }
        *room = room.map(|room| room - idle - excess);
        self.down[place].is_taken = true;
        self.free.add_from(self.now, &[(self.watts, idle.microwatts_up())], -1);
        self.free.reserve(self.now, boot, &[(self.watts, excess.microwatts_up())]);
        true
    }

    /// Takes `more` watts until a node that begins to shut down is off; true if the plan and the room have them.
    pub(super) fn shut_down(&mut self, more: Watts, lasts: SimDuration, room: &mut Option<Watts>) -> bool {
        if more <= Watts::ZERO || !self.counts_watts() {
            return true;
        }
        let need = more.microwatts_up();
        let least = self.least_watts(self.now, self.now.saturating_add(lasts));
        if least < need || room.is_some_and(|room| more > room) {
            return false;
        }
        *room = room.map(|room| room - more);
        self.free.reserve(self.now, lasts, &[(self.watts, need)]);
        true
    }

    /// Steps of the number of nodes of a cell that are on and free.
    fn steps(&self, cell: usize) -> impl Iterator<Item = (SimTime, i64)> + '_ {
        self.free.steps_of(u16::try_from(cell).unwrap_or(u16::MAX))
    }

    /// Least number of nodes of a cell that are on and free up to an instant, and before another.
    pub(super) fn spare(&self, cell: usize, by: SimTime, before: SimTime) -> i64 {
        let within = self.steps(cell).take_while(|&(at, _)| at <= by || at < before);
        within.map(|(_, free)| free).min().unwrap_or(0)
    }

    /// First time at which at most `above` nodes of a cell are on and free.
    pub(super) fn lacking(&self, cell: usize, above: usize) -> SimTime {
        let above = i64::try_from(above).unwrap_or(i64::MAX);
        self.steps(cell).find(|&(_, free)| free <= above).map_or(SimTime::NEVER, |(at, _)| at)
    }

    /// Number of nodes left once all are back.
    pub(super) fn left(&self) -> i64 {
        let soon = self.soon.iter().copied().flatten().max().unwrap_or(self.now);
        let mut left: Vec<_> = (0..).take(self.cells).map(|cell| self.free.at(soon, cell)).collect();
        for down in self.down.iter().filter(|down| !down.is_taken) {
            left[usize::from(down.cell)] += 1;
        }
        left.into_iter().map(|left| left.max(0)).sum()
    }

    /// Number of cells.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }
}

/// Cell of a node; 0 where nodes are alike.
pub(super) fn cell_of(view: &View<'_>, node: u32) -> u16 {
    view.shares.and_then(|shares| shares.cells().cell_of(node)).unwrap_or(0)
}
