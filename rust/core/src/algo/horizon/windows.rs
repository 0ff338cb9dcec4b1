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
            let stop = start.saturating_add(need.length);
            while let Some(window) = self.all.get(end).filter(|window| end == first || window.begins < stop) {
                // After a window that has enough, one that lacks nothing has it, too.
                let may_lack = tells && (sound == end || window.falls);
                end += 1;
                if may_lack && !self.planes[window.place as usize].suffices(need) {
                    sound = end;
                }
            }
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
        let (first, rest) = (&self.all[first..=first], &self.all[first + 1..windows.end.max(first + 1)]);
        first.iter().chain(rest.iter().filter(|window| window.falls)).map(|window| &self.planes[window.place as usize])
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
mod tests;
