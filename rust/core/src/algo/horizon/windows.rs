//! Named nodes that are free over time: windows of time, each with what is free throughout.
//!
//! A promise names its nodes, so that it can be kept where nodes differ, where they are shared, and where they belong
//! to overlapping groups. A job may take those nodes that have enough in all windows it would run through; the caller
//! chooses among them.

use std::ops::Range;

use crate::algo::horizon::planes::Lot;
use crate::algo::horizon::{Groups, NodeNeed, Planes};
use crate::algo::node_set::NodeSet;
use crate::units::{SimDuration, SimTime, Watts};

/// Free capacity from now on, by node.
#[derive(Clone, Debug)]
pub struct Windows {
    all: Vec<Window>,
    /// Free capacity in each window, at the place that the window names: windows come and go, and these stay.
    planes: Vec<Planes>,
    /// Places that no window names.
    spare: Vec<u32>,
    /// Scratch memory: the nodes that windows have in common, or those of a promise.
    scratch: NodeSet,
}

/// A stretch of time up to the next window's beginning; the last one has no end.
#[derive(Clone, Copy, Debug)]
struct Window {
    begins: SimTime,
    place: u32,
    /// True if it may lack something that is free in the window before. Few do: most begin where a run gives
    /// back what it held, and only promises and outages take anything.
    falls: bool,
}

impl Window {
    /// A window that lacks nothing, at a place.
    fn at(begins: SimTime, place: u32) -> Self {
        Self { begins, place, falls: false }
    }
}

/// Something that comes back, and its instant.
#[derive(Clone, Copy, Debug)]
pub struct NodeReturn<'a> {
    /// The instant; one that has passed counts as now.
    pub at: SimTime,
    /// The nodes that come back.
    pub nodes: &'a [u32],
    /// Capacity of each of them that comes back.
    pub what: What<'a>,
}

/// Capacity that comes back of a node.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// All that a job has held.
    Held(NodeNeed<'a>),
    /// All of it: the node was out of service, and has so many slots.
    Node(i64),
}

/// Capacity that is free throughout some windows.
#[derive(Clone, Copy, Debug)]
pub struct Throughout<'n> {
    /// Nodes that have what is needed of a node.
    pub nodes: &'n NodeSet,
    /// Watts that are left, where they count.
    pub watts: Watts,
}

impl Windows {
    /// A window from `now` on, with what is free.
    #[must_use]
    pub fn new(now: SimTime, free: Planes) -> Self {
        let all = vec![Window::at(now, 0)];
        Self { all, planes: vec![free], spare: Vec::new(), scratch: NodeSet::default() }
    }

    /// Starts over at `now`, with what `fill` makes free.
    pub fn reset(&mut self, now: SimTime, fill: impl FnOnce(&mut Planes)) {
        self.cut(1);
        self.all[0].begins = now;
        fill(self.free_mut(0));
    }

    /// Adds returns, ascending by instant, to windows of which none begins later than the first of them.
    pub fn give_back<'a>(&mut self, groups: Groups<'_>, returns: impl IntoIterator<Item = NodeReturn<'a>>) {
        let mut set = std::mem::take(&mut self.scratch);
        for back in returns {
            let last = self.all.len() - 1;
            let last = if back.at > self.all[last].begins { self.copy(last, back.at) } else { last };
            let free = self.free_mut(last);
            match back.what {
                What::Held(need) => free.give(&free.lot(&need, back.nodes, &mut set)),
                What::Node(slots) => back.nodes.iter().for_each(|&node| free.open(groups, node, slots)),
            }
        }
        self.scratch = set;
    }

    /// Becomes a copy of another, keeping its memory.
    pub fn copy_from(&mut self, other: &Self) {
        self.cut(other.all.len());
        while self.all.len() < other.all.len() {
            let place = self.spare_place();
            self.all.push(Window::at(SimTime::NEVER, place));
        }
        for (window, copied) in self.all.iter_mut().zip(&other.all) {
            (window.begins, window.falls) = (copied.begins, copied.falls);
            self.planes[window.place as usize].copy_from(&other.planes[copied.place as usize]);
        }
    }

    /// Forgets the windows from an index on.
    fn cut(&mut self, len: usize) {
        self.spare.extend(self.all.drain(len.min(self.all.len())..).map(|window| window.place));
    }

    /// Capacity free from the first window's beginning on.
    #[must_use]
    pub fn first(&self) -> &Planes {
        self.free(0)
    }

    /// The last window: its beginning, and what is free from then on.
    #[must_use]
    pub fn last(&self) -> (SimTime, &Planes) {
        let last = self.all.len() - 1;
        (self.all[last].begins, self.free(last))
    }

    fn free(&self, index: usize) -> &Planes {
        &self.planes[self.all[index].place as usize]
    }

    fn free_mut(&mut self, index: usize) -> &mut Planes {
        &mut self.planes[self.all[index].place as usize]
    }

    /// Beginning of the second window, at which what is free changes first, if there is one.
    #[must_use]
    pub fn changes_at(&self) -> Option<SimTime> {
        self.all.get(1).map(|window| window.begins)
    }

    /// Number of windows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// True if there is no window, which never happens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Forgets what was before `now`, which is not before the first window.
    pub fn advance(&mut self, now: SimTime) {
        let past = self.in_force(now);
        self.spare.extend(self.all.drain(..past).map(|window| window.place));
        self.all[0].begins = now;
    }

    /// The earliest instant at or after `from` and not after `until`, itself or a window's beginning, at which `need`
    /// is free for its length and `pick` accepts.
    ///
    /// `pick` gets what is free at the instant, and what is free throughout; it returns whether it took any nodes.
    pub fn earliest(
        &mut self,
        need: &NodeNeed<'_>,
        (from, until): (SimTime, SimTime),
        mut pick: impl FnMut(&Planes, Throughout<'_>) -> bool,
    ) -> Option<SimTime> {
        let mut common = std::mem::take(&mut self.scratch);
        let found = self.earliest_with(&mut common, need, (from, until), &mut pick);
        self.scratch = common;
        found
    }

    /// True if `need` is free from the first window's beginning on for its length, and `suits` says the same of what is
    /// free throughout.
    pub fn may_start(&mut self, need: &NodeNeed<'_>, suits: impl FnOnce(Throughout<'_>) -> bool) -> bool {
        let mut common = std::mem::take(&mut self.scratch);
        let windows = 0..self.end(0, self.all[0].begins, need);
        let may = self.binding(windows.clone()).all(|free| !free.is_short(need))
            && self.too_few_up_to(windows.clone(), need, &mut common).is_none()
            && suits(self.throughout(windows, need, &common));
        self.scratch = common;
        may
    }

    /// Number of nodes that a job may take and that are free for its length from `at` on, where jobs get whole nodes; none
    /// if they are not counted.
    pub fn free_for(&mut self, at: SimTime, need: &NodeNeed<'_>) -> Option<u32> {
        let first = self.in_force(at);
        if !self.free(first).is_counted(need) {
            return None;
        }
        let mut common = std::mem::take(&mut self.scratch);
        Planes::free_in_all(self.binding(first..self.end(first, at, need)), need, &mut common);
        let count = common.len();
        self.scratch = common;
        Some(count)
    }

    fn earliest_with(
        &self,
        common: &mut NodeSet,
        need: &NodeNeed<'_>,
        (from, until): (SimTime, SimTime),
        pick: &mut impl FnMut(&Planes, Throughout<'_>) -> bool,
    ) -> Option<SimTime> {
        let mut first = self.in_force(from);
        // Windows before `end` have been looked at, and those from `sound` on have enough each, as far as counts tell.
        let (mut end, mut sound, tells) = (first, first, self.free(first).is_counted(need));
        while let Some(window) = self.all.get(first) {
            let start = window.begins.max(from);
            if start > until {
                return None;
            }
            let needed = self.end(end.max(first + 1) - 1, start, need);
            for index in end..needed {
                // After a window that has enough, one that lacks nothing has it, too.
                if tells && (sound == index || self.all[index].falls) && !self.free(index).suffices(need) {
                    sound = index + 1;
                }
            }
            end = needed;
            first = if sound > first {
                sound
            } else if let Some(bad) = self.too_few_up_to(first..end, need, common) {
                self.after(first, bad, need, common)
            } else if pick(self.free(first), self.throughout(first..end, need, common)) {
                return Some(start);
            } else {
                first + 1
            };
        }
        None
    }

    /// Capacity that is free in all of these windows, of which `nodes` are the nodes.
    fn throughout<'n>(&self, windows: Range<usize>, need: &NodeNeed<'_>, nodes: &'n NodeSet) -> Throughout<'n> {
        let least = need.watts.and_then(|_| self.binding(windows).map(Planes::watts).min());
        Throughout { nodes, watts: least.unwrap_or_default() }
    }

    /// Capacity in those of some windows that decide what is free in all of them: the first, and each that may lack something
    /// that the one before has.
    fn binding(&self, windows: Range<usize>) -> impl Iterator<Item = &Planes> + Clone {
        let first = windows.start;
        windows.filter(move |&index| index == first || self.all[index].falls).map(|index| self.free(index))
    }

    /// Index behind the last window through which a job runs that starts at `start`, given one through which it does.
    fn end(&self, index: usize, start: SimTime, need: &NodeNeed<'_>) -> usize {
        let end = start.saturating_add(need.length);
        // A length of zero still needs its instant.
        let later = self.all[index + 1..].iter().take_while(|window| window.begins < end);
        index + 1 + later.count()
    }

    /// Finds the nodes that windows have in common and that have what is needed in all of them. If these are too few,
    /// returns a window up to which they are. By itself, none of the windows is short.
    fn too_few_up_to(&self, windows: Range<usize>, need: &NodeNeed<'_>, common: &mut NodeSet) -> Option<usize> {
        if self.free(windows.start).is_counted(need) {
            // Nodes are counted once, for all windows: counting costs more than what windows have in common.
            let all = self.binding(windows.clone());
            return (!Planes::free_in_all(all, need, common)).then_some(windows.end - 1);
        }
        if !self.free(windows.start).fitting(need, common) {
            return Some(windows.start);
        }
        let mut rest = (windows.start + 1..windows.end).filter(|&index| self.all[index].falls);
        rest.find(|&index| !self.free(index).keep_fitting(need, common))
    }

    /// The next window in which a job may start, if one that starts in the window `first` has too little up to the
    /// window `bad`: a job that starts in between runs through that, too.
    fn after(&self, first: usize, bad: usize, need: &NodeNeed<'_>, common: &mut NodeSet) -> usize {
        if self.free(first).is_counted(need) {
            return self.after_counted(first, bad, need, common);
        }
        if bad == first || !self.free(bad).fitting(need, common) {
            return bad + 1;
        }
        let too_few = (first + 1..bad).rev().find(|&index| !self.free(index).keep_fitting(need, common));
        too_few.unwrap_or(first) + 1
    }

    /// The same where nodes are counted. From one window that falls to the next, a later start has no fewer nodes: the
    /// first with enough is found by bisection.
    fn after_counted(&self, first: usize, bad: usize, need: &NodeNeed<'_>, common: &mut NodeSet) -> usize {
        self.free(bad).all_of(need, common);
        let mut end = bad + 1;
        loop {
            // A start before `end` also needs its nodes in the windows behind, which have `common`.
            let is_short = |window: &Window| self.planes[window.place as usize].in_common(common) < need.nodes;
            let begins = (first + 1..end).rev().find(|&index| self.all[index].falls).unwrap_or(first);
            if begins == first || is_short(&self.all[begins]) {
                return begins + 1 + self.all[begins + 1..end].partition_point(is_short);
            }
            self.free(begins).keep_free(common);
            end = begins;
        }
    }

    /// Promises `nodes` from `at` on, which is not before the first window.
    pub fn hold(&mut self, at: SimTime, need: &NodeNeed<'_>, nodes: &[u32]) {
        self.promise(at, need, nodes, Planes::take);
    }

    /// Promises the lowest of the nodes that are free for a job's length from `at` on, where jobs get whole nodes, and leaves
    /// them in `nodes`.
    pub fn hold_lowest(&mut self, at: SimTime, need: &NodeNeed<'_>, nodes: &mut NodeSet) {
        let first = self.in_force(at);
        Planes::free_in_all(self.binding(first..self.end(first, at, need)), need, nodes);
        nodes.keep_lowest(need.nodes);
        debug_assert_eq!(nodes.len(), need.nodes, "a job is promised what fits");
        let lot = Lot::of_whole(need, nodes);
        self.change(at, need.length, |free| free.take(&lot));
    }

    /// Undoes [`Windows::hold`] with the same arguments, whatever has been held since; nothing comes back of the past.
    pub fn drop(&mut self, at: SimTime, need: &NodeNeed<'_>, nodes: &[u32]) {
        self.promise(at, need, nodes, Planes::give);
    }

    fn promise(&mut self, at: SimTime, need: &NodeNeed<'_>, nodes: &[u32], change: impl Fn(&mut Planes, &Lot<'_>)) {
        let mut set = std::mem::take(&mut self.scratch);
        let lot = self.first().lot(need, nodes, &mut set);
        self.change(at, need.length, |free| change(free, &lot));
        self.scratch = set;
    }

    /// Adds watts from `at` on, which may be below zero.
    pub fn add_watts(&mut self, at: SimTime, watts: Watts) {
        let first = self.split(at.max(self.all[0].begins));
        (first..self.all.len()).for_each(|index| self.free_mut(index).add_watts(watts));
        self.settle(first);
    }

    /// Brings a node that is out of service back from `at` on, with so many slots.
    pub fn open(&mut self, groups: Groups<'_>, at: SimTime, node: u32, slots: i64) {
        let first = self.split(at.max(self.all[0].begins));
        (first..self.all.len()).for_each(|index| self.free_mut(index).open(groups, node, slots));
    }

    /// Takes a node out of service from `at` on for `length`, whatever it is held for.
    pub fn close(&mut self, groups: Groups<'_>, at: SimTime, length: SimDuration, node: u32) {
        self.change(at, length, |free| free.close(groups, node));
    }

    /// Changes all windows from `start` on for `length`.
    fn change(&mut self, start: SimTime, length: SimDuration, change: impl Fn(&mut Planes)) {
        let end = start.saturating_add(length);
        let start = start.max(self.all[0].begins);
        if start >= end {
            return;
        }
        let (first, last) = (self.split(start), self.split(end));
        (first..last).for_each(|index| change(self.free_mut(index)));
        // The windows in between differ as before.
        self.settle(last);
        self.settle(first);
    }

    /// Makes a window begin at `at`; returns its index.
    fn split(&mut self, at: SimTime) -> usize {
        let index = self.in_force(at);
        if self.all[index].begins == at { index } else { self.copy(index, at) }
    }

    /// Inserts a copy of a window right behind it, from `at` on; returns its index.
    fn copy(&mut self, index: usize, at: SimTime) -> usize {
        let (place, from) = (self.spare_place(), self.all[index].place);
        let mut copy = std::mem::take(&mut self.planes[place as usize]);
        copy.copy_from(&self.planes[from as usize]);
        self.planes[place as usize] = copy;
        self.all.insert(index + 1, Window::at(at, place));
        index + 1
    }

    /// A place that no window names.
    fn spare_place(&mut self) -> u32 {
        self.spare.pop().unwrap_or_else(|| {
            self.planes.push(Planes::default());
            u32::try_from(self.planes.len() - 1).expect("fewer windows than 32 bits count")
        })
    }

    /// Compares a window with the last before it, of which one was changed, and merges them if they do not differ.
    fn settle(&mut self, index: usize) {
        if index == 0 || index >= self.all.len() {
            return;
        }
        let (before, free) = (self.free(index - 1), self.free(index));
        if before == free {
            self.spare.push(self.all.remove(index).place);
        } else {
            self.all[index].falls = !free.has_all_of(before);
        }
    }

    /// The window that holds at `at`, or the first.
    fn in_force(&self, at: SimTime) -> usize {
        self.all.partition_point(|window| window.begins <= at).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algo::horizon::planes::THINGS;

    const INSTANTS: i64 = 800;
    const NODES: u32 = 6;
    /// Amount of each thing on a node of its own, and licences in all.
    const STOCK: [i64; THINGS] = [3, 2, 40];
    const LICENCES: i64 = 4;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn lasting(micros: i64) -> SimDuration {
        SimDuration::from_micros(micros)
    }

    fn set(nodes: &[u32]) -> NodeSet {
        let mut set = NodeSet::empty(NODES);
        set.insert_all(nodes);
        set
    }

    /// Takes the lowest-numbered of `nodes`, if there are enough.
    fn lowest(nodes: impl Iterator<Item = u32>, need: &NodeNeed<'_>, out: &mut Vec<u32>) -> bool {
        out.clear();
        out.extend(nodes.take(need.nodes as usize));
        out.len() == need.nodes as usize
    }

    /// Windows as their contents.
    fn contents(windows: &Windows) -> Vec<(SimTime, Planes)> {
        (0..windows.len()).map(|index| (windows.all[index].begins, windows.free(index).clone())).collect()
    }

    /// An instant of the twin: what is free of each node, the nodes that are closed, and free licences and microwatts.
    #[derive(Clone, PartialEq)]
    struct Instant {
        free: Vec<[i64; THINGS]>,
        closed: Vec<bool>,
        licences: i64,
        watts: i64,
    }

    /// Twin: what is free in every microsecond.
    struct Instants(Vec<Instant>);

    impl Instants {
        fn during(&mut self, start: i64, length: i64) -> &mut [Instant] {
            let end = (start + length).min(INSTANTS).max(start);
            &mut self.0[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()]
        }

        fn change(&mut self, start: i64, need: &NodeNeed<'_>, nodes: &[u32], sign: i64) {
            for instant in self.during(start, need.length.micros()) {
                for &node in nodes {
                    for (free, amount) in instant.free[node as usize].iter_mut().zip(need.amounts) {
                        *free += sign * amount;
                    }
                }
                instant.licences += sign * need.licences.iter().map(|(_, number)| number).sum::<i64>();
                instant.watts += sign * need.watts.map_or(0, Watts::microwatts_down);
            }
        }

        /// The instants through which a job runs that starts at `start`.
        fn run_through(&self, start: i64, need: &NodeNeed<'_>) -> &[Instant] {
            let first = usize::try_from(start).unwrap();
            let last = first + usize::try_from(need.length.micros()).unwrap().max(1);
            &self.0[first..last.min(self.0.len())]
        }

        /// The nodes that have what is needed throughout, if the licences are there, too.
        fn free_throughout(&self, start: i64, need: &NodeNeed<'_>) -> Option<Vec<u32>> {
            let during = self.run_through(start, need);
            let may = |node: u32| {
                need.queue.is_none_or(|queue| need.groups.queues[queue].contains(node))
                    && need.cells.is_none_or(|cells| {
                        cells.iter().any(|&cell| need.groups.cells[usize::from(cell)].contains(node))
                    })
            };
            let has = |node: &u32| {
                may(*node)
                    && during.iter().all(|instant| {
                        let free = instant.free[*node as usize];
                        !instant.closed[*node as usize]
                            && free.iter().zip(need.amounts).all(|(free, need)| *free >= need)
                    })
            };
            let licences = need.licences.iter().map(|(_, number)| number).sum::<i64>();
            during.iter().all(|instant| instant.licences >= licences).then(|| (0..NODES).filter(has).collect())
        }

        /// The earliest start on the lowest nodes, if they have the watts throughout that they take.
        fn earliest(
            &self,
            from: i64,
            need: &NodeNeed<'_>,
            likes: impl Fn(u32) -> bool,
            takes: impl Fn(&[u32]) -> i64,
        ) -> Option<(SimTime, Vec<u32>)> {
            (from..INSTANTS).find_map(|start| {
                let chosen = self.free_throughout(start, need)?.into_iter().filter(|&node| likes(node));
                let mut nodes = Vec::new();
                let is_there = lowest(chosen, need, &mut nodes)
                    && self.run_through(start, need).iter().all(|instant| takes(&nodes) <= instant.watts);
                is_there.then(|| (at(start), nodes))
            })
        }
    }

    /// Nodes, amounts, queue, cells, licences; length, first instant; true if the job takes even nodes only; microwatts on
    /// an even node, half as many as on an odd one.
    type Wish = (u32, [i64; THINGS], Option<usize>, Option<Vec<u16>>, i64, i64, i64, bool, i64);

    /// Plans, holds and drops in both, wish by wish.
    fn agrees(
        is_whole: bool,
        running: &[i64],
        closed: &[(i64, i64, u32)],
        budget: &[(i64, i64)],
        wishes: &[Wish],
    ) -> Result<(), TestCaseError> {
        let (queues, cells) = ([set(&[0, 1, 2, 3]), set(&[2, 3, 4, 5])], [set(&[1, 4]), set(&[0, 2, 3, 5])]);
        let groups = Groups { queues: &queues, cells: &cells };
        let stock = if is_whole { [1, 0, 0] } else { STOCK };
        let alone = NodeNeed { groups, amounts: stock, ..NodeNeed::of_slots(1, 0, lasting(0)) };
        // A job runs alone on each of some nodes until its end.
        let mut running: Vec<_> = (0..NODES).zip(running).map(|(node, &end)| (end, [node])).collect();
        running.sort_unstable();
        let instant = Instant {
            free: vec![stock; NODES as usize],
            closed: vec![false; NODES as usize],
            licences: LICENCES,
            watts: 0,
        };
        let mut twin = Instants(vec![instant; usize::try_from(INSTANTS).unwrap()]);
        let mut free = Planes::default();
        if is_whole {
            free.fill_whole(groups, &NodeSet::full(NODES), &[LICENCES]);
        } else {
            free.fill_shared(NODES, stock.map(|whole| (whole, [whole; NODES as usize])), &[LICENCES]);
        }
        for (end, nodes) in &running {
            free.take(&free.lot(&alone, nodes, &mut NodeSet::default()));
            twin.change(0, &NodeNeed { length: lasting(*end), ..alone }, nodes, -1);
        }
        let mut windows = Windows::new(at(0), free);
        let back = running.iter().map(|(end, nodes)| NodeReturn { at: at(*end), nodes, what: What::Held(alone) });
        windows.give_back(groups, back);
        for &(start, length, node) in closed {
            windows.close(groups, at(start), lasting(length), node);
            twin.during(start, length).iter_mut().for_each(|instant| instant.closed[node as usize] = true);
        }
        for &(start, watts) in budget {
            windows.add_watts(at(start), Watts::of_microwatts(watts));
            twin.during(start, INSTANTS).iter_mut().for_each(|instant| instant.watts += watts);
        }
        let (mut held, mut copy): (Vec<(SimTime, NodeNeed<'_>, Vec<u32>)>, _) = (Vec::new(), windows.clone());
        let licences: Vec<_> = wishes.iter().map(|wish| [(2_u16, wish.4)]).collect();
        for (index, (wish, licences)) in wishes.iter().zip(&licences).enumerate() {
            let &(nodes, amounts, queue, ref cells, _, length, from, fussy, draw) = wish;
            let amounts = if is_whole { stock } else { amounts };
            let cells = cells.as_deref();
            let takes = |nodes: &[u32]| nodes.iter().map(|node| draw * (1 + i64::from(node % 2))).sum::<i64>();
            let watts = (!budget.is_empty()).then(|| Watts::of_microwatts(draw * i64::from(nodes)));
            let need = NodeNeed { groups, nodes, amounts, queue, cells, licences, watts, length: lasting(length) };
            let likes = |node: u32| !fussy || node.is_multiple_of(2);
            let least = twin.run_through(0, &need).iter().map(|instant| instant.watts).min().unwrap();
            let now = twin.free_throughout(0, &need).is_some_and(|nodes| nodes.len() >= need.nodes as usize)
                && watts.is_none_or(|watts| watts.microwatts_down() <= least);
            let suits = |found: Throughout<'_>| {
                assert!(watts.is_none() || found.watts == Watts::of_microwatts(least), "the least on the way");
                true
            };
            prop_assert_eq!(windows.may_start(&need, suits), now);
            if let Some(free) = twin.free_throughout(from, &need) {
                let count = u32::try_from(free.len()).unwrap();
                let is_counted = is_whole && cells.is_none();
                prop_assert_eq!(windows.free_for(at(from), &need), is_counted.then_some(count));
            }
            let mut out = Vec::new();
            let found = windows.earliest(&need, (at(from), SimTime::NEVER), |_, free| {
                lowest(free.nodes.iter().filter(|&node| likes(node)), &need, &mut out)
                    && (watts.is_none() || Watts::of_microwatts(takes(&out)) <= free.watts)
            });
            let found = found.map(|start| (start, out));
            let takes = |nodes: &[u32]| if watts.is_some() { takes(nodes) } else { i64::MIN };
            prop_assert_eq!(&found, &twin.earliest(from, &need, likes, takes));
            if let Some((start, nodes)) = found {
                let need = NodeNeed { watts: watts.map(|_| Watts::of_microwatts(takes(&nodes))), ..need };
                if is_whole && cells.is_none() && !fussy {
                    let mut lowest = NodeSet::default();
                    windows.hold_lowest(start, &need, &mut lowest);
                    prop_assert!(lowest.iter().eq(nodes.iter().copied()));
                } else {
                    windows.hold(start, &need, &nodes);
                }
                twin.change(start.micros(), &need, &nodes, -1);
                held.push((start, need, nodes));
            }
            if index % 3 == 2 && !held.is_empty() {
                let (start, need, nodes) = held.swap_remove(index % held.len());
                windows.drop(start, &need, &nodes);
                twin.change(start.micros(), &need, &nodes, 1);
            }
            let tells =
                |index: usize| windows.all[index].falls || windows.free(index).has_all_of(windows.free(index - 1));
            prop_assert!(!is_whole || (1..windows.len()).all(tells));
            copy.copy_from(&windows);
            prop_assert_eq!(contents(&copy), contents(&windows));
            prop_assert_eq!(copy.changes_at(), windows.all.get(1).map(|window| window.begins));
        }
        for (start, need, nodes) in held {
            windows.drop(start, &need, &nodes);
        }
        let ends: std::collections::BTreeSet<_> = running.iter().map(|run| run.0).filter(|&end| end > 0).collect();
        let is_plain = closed.is_empty() && budget.is_empty();
        prop_assert!(!is_plain || windows.len() == ends.len() + 1, "what is dropped leaves no trace");
        Ok(())
    }

    fn wishes() -> impl Strategy<Value = Vec<Wish>> {
        let amounts =
            (0..=STOCK[0], 0..=STOCK[1], 0..=STOCK[2]).prop_map(|(slots, gpus, memory)| [slots, gpus, memory]);
        let cells = prop_oneof![Just(vec![0]), Just(vec![1]), Just(vec![1, 0])];
        let of = (prop::option::of(0..2_usize), prop::option::of(cells), 0..=LICENCES);
        let when = (0..25_i64, 0..30_i64, any::<bool>(), 0..4_i64);
        let wish = (1..=NODES, amounts, of, when).prop_map(
            |(nodes, amounts, (queue, cells, licences), (length, from, fussy, draw))| {
                (nodes, amounts, queue, cells, licences, length, from, fussy, draw)
            },
        );
        prop::collection::vec(wish, 0..24)
    }

    proptest! {
        #[test]
        fn windows_agree_with_a_table_for_every_instant(
            is_whole in any::<bool>(),
            running in prop::collection::vec(0..40_i64, 0..6),
            closed in prop_oneof![
                Just(Vec::new()),
                prop::collection::vec((0..60_i64, 1..40_i64, 0..NODES), 0..4),
            ],
            budget in prop_oneof![
                Just(Vec::new()),
                prop::collection::vec((0..60_i64, -6..9_i64), 1..5),
            ],
            wishes in wishes(),
        ) {
            agrees(is_whole, &running, &closed, &budget, &wishes)?;
        }
    }

    /// Two nodes with 2 and 3 free slots of 3.
    fn two_nodes() -> Windows {
        let mut free = Planes::default();
        free.fill_shared(2, [(3, [2, 3])], &[]);
        Windows::new(at(0), free)
    }

    fn slots(nodes: u32, slots: i64, length: i64) -> NodeNeed<'static> {
        NodeNeed::of_slots(nodes, slots, lasting(length))
    }

    #[test]
    fn a_node_out_of_service_is_held_whole_whoever_runs_on_it() {
        let mut windows = two_nodes();
        let (job, outage) = (slots(1, 1, 50), slots(1, 2, 30));
        windows.hold(at(0), &job, &[0]);
        windows.hold(at(10), &outage, &[0]);
        let first = |windows: &mut Windows, wish: &NodeNeed<'_>| {
            let mut out = Vec::new();
            let found = windows
                .earliest(wish, (at(0), SimTime::NEVER), |_, free| lowest(free.nodes.iter().take(1), wish, &mut out));
            found.map(|start| (start, out))
        };
        assert_eq!(first(&mut windows, &slots(1, 1, 11)), Some((at(0), vec![1])));
        windows.hold(at(0), &slots(1, 3, 60), &[1]);
        assert_eq!(first(&mut windows, &slots(1, 1, 11)), Some((at(40), vec![0])));
        windows.drop(at(0), &job, &[0]);
        windows.drop(at(10), &outage, &[0]);
        assert_eq!(first(&mut windows, &slots(1, 2, 11)), Some((at(0), vec![0])));
    }

    #[test]
    fn what_is_past_is_forgotten_and_does_not_come_back() {
        let mut free = Planes::default();
        free.fill_whole(Groups::default(), &NodeSet::full(2), &[]);
        let mut windows = Windows::new(at(0), free);
        let early = slots(1, 1, 20);
        windows.hold(at(5), &early, &[0]);
        windows.advance(at(10));
        assert_eq!(windows.len(), 2);
        windows.drop(at(5), &early, &[0]);
        assert_eq!(windows.len(), 1);
        let wish = slots(2, 1, 1);
        let mut out = Vec::new();
        let all =
            windows.earliest(&wish, (at(0), SimTime::NEVER), |_, free| lowest(free.nodes.iter(), &wish, &mut out));
        assert_eq!((all, out), (Some(at(10)), vec![0, 1]));
    }
}
