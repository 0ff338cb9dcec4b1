//! Named nodes that are free over time: windows of time, each with what is free throughout.
//!
//! A promise names its nodes, so that it can be kept where nodes differ, where they are shared, and where they belong
//! to overlapping groups. A job may take those nodes that have enough in all windows it would run through; the caller
//! chooses among them.

use crate::algo::horizon::{Freedom, NodeNeed};
use crate::algo::node_set::NodeSet;
use crate::units::{SimDuration, SimTime};

/// Free capacity from now on, by node, and free watts.
#[derive(Clone, Debug)]
pub struct Windows<F> {
    all: Vec<Window<F>>,
    /// Spare memory for windows to come.
    spare: Vec<F>,
    /// Scratch memory: the nodes that windows have in common, or those of a promise.
    scratch: NodeSet,
}

/// A stretch of time up to the next window's beginning; the last one has no end.
#[derive(Clone, Debug, PartialEq)]
struct Window<F> {
    begins: SimTime,
    free: F,
    microwatts: i64,
}

/// Something that comes back, and its instant.
#[derive(Clone, Copy, Debug)]
pub struct NodeReturn<'a> {
    /// The instant; one that has passed counts as now.
    pub at: SimTime,
    /// The nodes that come back.
    pub nodes: &'a [u32],
    /// Capacity of each of them that comes back.
    pub what: What,
    /// Microwatts in all.
    pub microwatts: i64,
}

/// Capacity that comes back of a node.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// The slots that were held of it, as stated in a need.
    Slots(i32),
    /// All of it: the node was out of service, and has so many slots.
    Node(i32),
}

impl<F: Freedom> Windows<F> {
    /// Windows from `now` on, with `free` and `microwatts` now and the returns later, ascending by instant.
    #[must_use]
    pub fn new<'a, 'c>(
        facts: &'c F::Facts<'c>,
        now: SimTime,
        (free, microwatts): (F, i64),
        returns: impl IntoIterator<Item = NodeReturn<'a>>,
    ) -> Self {
        let all = vec![Window { begins: now, free, microwatts }];
        let mut windows = Self { all, spare: Vec::new(), scratch: NodeSet::default() };
        windows.give_back(facts, returns);
        windows
    }

    /// Starts over at `now` with what is free and no returns; `free` may be built in the memory that it gets.
    pub fn reset(&mut self, now: SimTime, microwatts: i64, free: impl FnOnce(Option<F>) -> F) {
        self.spare.extend(self.all.drain(..).map(|window| window.free));
        let free = free(self.spare.pop());
        self.all.push(Window { begins: now, free, microwatts });
    }

    /// Adds returns, ascending by instant, to windows of which none begins later than the first of them.
    pub fn give_back<'a, 'c>(&mut self, facts: &'c F::Facts<'c>, returns: impl IntoIterator<Item = NodeReturn<'a>>) {
        let mut set = std::mem::take(&mut self.scratch);
        for back in returns {
            let last = self.all.len() - 1;
            let last = if back.at > self.all[last].begins { self.copy(last, back.at) } else { last };
            let Window { free, microwatts, .. } = &mut self.all[last];
            match back.what {
                What::Slots(slots) => _ = free.give(&free.lot(facts, (back.nodes, slots), &mut set)),
                What::Node(slots) => back.nodes.iter().for_each(|&node| _ = free.open(facts, node, slots)),
            }
            *microwatts += back.microwatts;
        }
        self.scratch = set;
    }

    /// Becomes a copy of another, keeping its memory.
    pub fn copy_from(&mut self, other: &Self) {
        let both = self.all.len().min(other.all.len());
        self.spare.extend(self.all.drain(both..).map(|window| window.free));
        for (window, other) in self.all.iter_mut().zip(&other.all) {
            window.free.copy_from(&other.free);
            (window.begins, window.microwatts) = (other.begins, other.microwatts);
        }
        for Window { begins, free, microwatts } in &other.all[both..] {
            let free = copied(&mut self.spare, free);
            self.all.push(Window { begins: *begins, free, microwatts: *microwatts });
        }
    }

    /// Capacity free from the first window's beginning on.
    #[must_use]
    pub fn first(&self) -> &F {
        &self.all[0].free
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
        self.spare.extend(self.all.drain(..past).map(|window| window.free));
        self.all[0].begins = now;
    }

    /// The earliest instant at or after `from` and not after `until`, itself or a window's beginning, at which `need`
    /// is free for its length and `pick` accepts.
    ///
    /// `pick` gets what is free at the instant and the nodes that have enough throughout; it returns whether it took
    /// any.
    pub fn earliest<'c>(
        &mut self,
        facts: &'c F::Facts<'c>,
        need: &NodeNeed,
        (from, until): (SimTime, SimTime),
        mut pick: impl FnMut(&F, &NodeSet) -> bool,
    ) -> Option<SimTime> {
        let mut common = std::mem::take(&mut self.scratch);
        let found = self.earliest_with(&mut common, (need, &F::ask(facts, need)), (from, until), &mut pick);
        self.scratch = common;
        found
    }

    /// True if `need` is free from the first window's beginning on for its length.
    pub fn may_start<'c>(&mut self, facts: &'c F::Facts<'c>, need: &NodeNeed) -> bool {
        let mut common = std::mem::take(&mut self.scratch);
        let bad = self.common(0, self.all[0].begins, (need, &F::ask(facts, need)), &mut common);
        self.scratch = common;
        bad.is_none()
    }

    fn earliest_with(
        &self,
        common: &mut NodeSet,
        (need, ask): (&NodeNeed, &F::Ask<'_>),
        (from, until): (SimTime, SimTime),
        pick: &mut impl FnMut(&F, &NodeSet) -> bool,
    ) -> Option<SimTime> {
        let mut first = self.in_force(from);
        while let Some(window) = self.all.get(first) {
            let start = window.begins.max(from);
            if start > until {
                return None;
            }
            first = match self.common(first, start, (need, ask), common) {
                None if pick(&window.free, common) => return Some(start),
                None => first + 1,
                Some(bad) => self.after(first, bad, (need, ask), common),
            };
        }
        None
    }

    /// True if a window by itself has what is needed.
    fn lets(&self, index: usize, need: &NodeNeed, ask: &F::Ask<'_>) -> bool {
        let window = &self.all[index];
        window.microwatts >= need.microwatts && window.free.suffices(ask)
    }

    /// Finds the nodes that the windows from one on have in common while a job that starts at `start` would run. If
    /// these are too few, returns a window with which they are: the last that has too little by itself, if one is known
    /// to.
    fn common(
        &self,
        first: usize,
        start: SimTime,
        (need, ask): (&NodeNeed, &F::Ask<'_>),
        common: &mut NodeSet,
    ) -> Option<usize> {
        let (window, is_counted) = (&self.all[first], self.all[first].free.is_counted());
        let is_short = |common: &mut NodeSet| {
            window.microwatts < need.microwatts
                || is_counted && !window.free.suffices(ask)
                || !is_counted && !window.free.fitting(ask, common)
        };
        if is_short(common) {
            return Some(first);
        }
        let end = start.saturating_add(need.length);
        // A length of zero still needs its instant.
        let later = first + 1..first + 1 + self.all[first + 1..].partition_point(|window| window.begins < end);
        if is_counted {
            if let Some(bad) = later.clone().rev().find(|&index| !self.lets(index, need, ask)) {
                return Some(bad);
            }
            window.free.fitting(ask, common);
        }
        let mut goes_on =
            |window: &Window<F>| window.microwatts >= need.microwatts && window.free.keep_fitting(ask, common);
        self.all[later].iter().position(|window| !goes_on(window)).map(|place| first + 1 + place)
    }

    /// The next window in which a job may start, if one that starts in the window `first` has too little because of the
    /// window `bad`: a job that starts in between runs through that, too.
    fn after(&self, first: usize, bad: usize, (need, ask): (&NodeNeed, &F::Ask<'_>), common: &mut NodeSet) -> usize {
        if bad == first || self.all[bad].microwatts < need.microwatts || !self.all[bad].free.fitting(ask, common) {
            return bad + 1;
        }
        let too_few = (first + 1..bad).rev().find(|&index| !self.all[index].free.keep_fitting(ask, common));
        too_few.unwrap_or(first) + 1
    }

    /// Promises `nodes` from `at` on, which is not before the first window.
    pub fn hold<'c>(&mut self, facts: &'c F::Facts<'c>, at: SimTime, need: &NodeNeed, nodes: &[u32]) {
        self.promise(facts, (at, need, nodes), true);
    }

    /// Brings a node that is out of service back from `at` on, with so many slots.
    pub fn open<'c>(&mut self, facts: &'c F::Facts<'c>, at: SimTime, node: u32, slots: i32) {
        let first = self.split(at.max(self.all[0].begins));
        self.all[first..].iter_mut().for_each(|window| _ = window.free.open(facts, node, slots));
    }

    /// Takes a node out of service from `at` on for `length`, whatever it is held for.
    pub fn close<'c>(&mut self, facts: &'c F::Facts<'c>, at: SimTime, length: SimDuration, node: u32) {
        self.change(at, length, |window| _ = window.free.close(facts, node));
    }

    /// Undoes [`Windows::hold`] with the same arguments, whatever has been held since; nothing comes back of the past.
    pub fn drop<'c>(&mut self, facts: &'c F::Facts<'c>, at: SimTime, need: &NodeNeed, nodes: &[u32]) {
        self.promise(facts, (at, need, nodes), false);
    }

    /// Makes a promise if `is_made`, or else undoes it.
    fn promise<'c>(&mut self, facts: &'c F::Facts<'c>, (at, need, nodes): (SimTime, &NodeNeed, &[u32]), is_made: bool) {
        let mut set = std::mem::take(&mut self.scratch);
        let lot = self.all[0].free.lot(facts, (nodes, need.slots), &mut set);
        self.change(at, need.length, |window| {
            _ = if is_made { window.free.take(&lot) } else { window.free.give(&lot) };
            window.microwatts += if is_made { -need.microwatts } else { need.microwatts };
        });
        drop(lot);
        self.scratch = set;
    }

    /// Changes all windows from `start` on for `length`.
    fn change(&mut self, start: SimTime, length: SimDuration, mut change: impl FnMut(&mut Window<F>)) {
        let end = start.saturating_add(length);
        let start = start.max(self.all[0].begins);
        if start >= end {
            return;
        }
        let (first, last) = (self.split(start), self.split(end));
        self.all[first..last].iter_mut().for_each(&mut change);
        // The windows in between differ as before.
        self.join(last);
        self.join(first);
    }

    /// Makes a window begin at `at`; returns its index.
    fn split(&mut self, at: SimTime) -> usize {
        let index = self.in_force(at);
        if self.all[index].begins == at {
            return index;
        }
        self.copy(index, at)
    }

    /// Inserts a copy of a window right behind it, from `at` on; returns its index.
    fn copy(&mut self, index: usize, at: SimTime) -> usize {
        let Window { free, microwatts, .. } = &self.all[index];
        let free = copied(&mut self.spare, free);
        let later = Window { begins: at, free, microwatts: *microwatts };
        self.all.insert(index + 1, later);
        index + 1
    }

    /// Merges a window with the last before it if they do not differ.
    fn join(&mut self, index: usize) {
        if index == 0 || index >= self.all.len() {
            return;
        }
        let (before, here) = (&self.all[index - 1], &self.all[index]);
        if before.microwatts == here.microwatts && before.free == here.free {
            let gone = self.all.remove(index);
            self.spare.push(gone.free);
        }
    }

    /// The window that holds at `at`, or the first.
    fn in_force(&self, at: SimTime) -> usize {
        self.all.partition_point(|window| window.begins <= at).saturating_sub(1)
    }
}

/// A copy in spare memory, if there is some.
fn copied<F: Freedom>(spare: &mut Vec<F>, free: &F) -> F {
    match spare.pop() {
        Some(mut copy) => {
            copy.copy_from(free);
            copy
        }
        None => free.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algo::horizon::SlotTable;

    const CELLS: i64 = 800;
    const NODES: u32 = 6;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn need(nodes: u32, slots: i32, microwatts: i64, micros: i64) -> NodeNeed {
        NodeNeed { nodes, slots, microwatts, length: SimDuration::from_micros(micros) }
    }

    /// Takes the lowest-numbered of `nodes`, if there are enough.
    fn lowest(nodes: impl Iterator<Item = u32>, need: &NodeNeed, out: &mut Vec<u32>) -> bool {
        out.extend(nodes.take(need.nodes as usize));
        out.len() == need.nodes as usize
    }

    /// A kind of freedom, as the twin sees it.
    trait Seen: for<'c> Freedom<Facts<'c> = ()> + std::fmt::Debug {
        fn all(slots: i32) -> Self;
    }

    impl Seen for NodeSet {
        fn all(_slots: i32) -> Self {
            Self::full(NODES)
        }
    }

    impl Seen for SlotTable {
        fn all(slots: i32) -> Self {
            Self::new(slots, [slots; NODES as usize])
        }
    }

    /// Twin: for every microsecond the free slots of each node, and the watts.
    struct Cells(Vec<(Vec<i32>, i64)>);

    impl Cells {
        fn change(&mut self, start: i64, need: &NodeNeed, nodes: &[u32], sign: i32) {
            let end = (start + need.length.micros()).min(CELLS);
            for cell in &mut self.0[usize::try_from(start).unwrap()..usize::try_from(end.max(start)).unwrap()] {
                for &node in nodes {
                    cell.0[node as usize] += sign * need.slots;
                }
                cell.1 += i64::from(sign) * need.microwatts;
            }
        }

        /// The nodes that have what is needed throughout, if the watts are there, too.
        fn free_throughout(&self, start: i64, need: &NodeNeed) -> Option<Vec<u32>> {
            let first = usize::try_from(start).unwrap();
            let last = first + usize::try_from(need.length.micros()).unwrap().max(1);
            let during = &self.0[first.min(self.0.len() - 1)..last.clamp(first + 1, self.0.len()).max(1)];
            let has = |node: &u32| during.iter().all(|cell| cell.0[*node as usize] >= need.slots);
            let watts = during.iter().all(|cell| cell.1 >= need.microwatts);
            watts.then(|| (0..NODES).filter(has).collect())
        }

        fn earliest(&self, from: i64, need: &NodeNeed, likes: impl Fn(u32) -> bool) -> Option<(SimTime, Vec<u32>)> {
            (from..CELLS).find_map(|start| {
                let chosen = self.free_throughout(start, need)?.into_iter().filter(|&node| likes(node));
                let mut nodes = Vec::new();
                lowest(chosen, need, &mut nodes).then(|| (at(start), nodes))
            })
        }
    }

    type Wish = (u32, i32, i64, i64, i64, bool);

    /// Plans, holds and drops in both, wish by wish.
    fn agrees<F: Seen>(slots: i32, running: &[(i64, u32)], wishes: &[Wish]) -> Result<(), TestCaseError> {
        // A job runs alone on each of some nodes until its end, with 2 of the watts.
        let mut running: Vec<_> = (0..NODES).zip(running).map(|(node, &(end, _))| (end, [node])).collect();
        running.sort_unstable();
        let mut cells = Cells(vec![(vec![slots; NODES as usize], 20); usize::try_from(CELLS).unwrap()]);
        let mut free = F::all(slots);
        for (end, nodes) in &running {
            free.take(&free.lot(&(), (nodes, slots), &mut NodeSet::default()));
            cells.change(0, &need(1, slots, 2, *end), nodes, -1);
        }
        let watts = 20 - 2 * i64::try_from(running.len()).unwrap();
        let back = running.iter().map(|(end, nodes)| NodeReturn {
            at: at(*end),
            nodes,
            what: What::Slots(slots),
            microwatts: 2,
        });
        let mut windows = Windows::new(&(), at(0), (free, watts), back);
        let (mut held, mut copy): (Vec<(SimTime, NodeNeed, Vec<u32>)>, _) = (Vec::new(), windows.clone());
        for (index, &(nodes, few, microwatts, length, from, fussy)) in wishes.iter().enumerate() {
            let need = need(nodes, few.min(slots), microwatts, length);
            let likes = |node: u32| !fussy || node.is_multiple_of(2);
            let now = cells.free_throughout(0, &need).is_some_and(|nodes| nodes.len() >= need.nodes as usize);
            prop_assert_eq!(windows.may_start(&(), &need), now);
            let mut out = Vec::new();
            let found = windows.earliest(&(), &need, (at(from), SimTime::NEVER), |_, free| {
                out.clear();
                lowest(free.iter().filter(|&node| likes(node)), &need, &mut out)
            });
            let found = found.map(|start| (start, out));
            prop_assert_eq!(&found, &cells.earliest(from, &need, likes));
            if let Some((start, nodes)) = found {
                windows.hold(&(), start, &need, &nodes);
                cells.change(start.micros(), &need, &nodes, -1);
                held.push((start, need, nodes));
            }
            if index % 3 == 2 && !held.is_empty() {
                let (start, need, nodes) = held.swap_remove(index % held.len());
                windows.drop(&(), start, &need, &nodes);
                cells.change(start.micros(), &need, &nodes, 1);
            }
            copy.copy_from(&windows);
            prop_assert_eq!(&copy.all, &windows.all);
            prop_assert_eq!(copy.changes_at(), windows.all.get(1).map(|window| window.begins));
        }
        let mut changes = cells.0.windows(2).filter(|pair| pair[0] != pair[1]).count();
        changes += 1;
        for (start, need, nodes) in held {
            windows.drop(&(), start, &need, &nodes);
        }
        let ends: std::collections::BTreeSet<_> = running.iter().map(|run| run.0).filter(|&end| end > 0).collect();
        prop_assert!(changes > 0);
        prop_assert_eq!(windows.len(), ends.len() + 1, "what is dropped leaves no trace");
        Ok(())
    }

    fn wishes() -> impl Strategy<Value = Vec<Wish>> {
        prop::collection::vec((1..7_u32, 1..4_i32, 0..9_i64, 0..25_i64, 0..30_i64, any::<bool>()), 0..24)
    }

    proptest! {
        #[test]
        fn whole_nodes_agree_with_a_set_for_every_instant(
            running in prop::collection::vec((0..40_i64, 0..1_u32), 0..6),
            wishes in wishes(),
        ) {
            agrees::<NodeSet>(1, &running, &wishes)?;
        }

        #[test]
        fn shared_nodes_agree_with_a_table_for_every_instant(
            running in prop::collection::vec((0..40_i64, 0..1_u32), 0..6),
            wishes in wishes(),
        ) {
            agrees::<SlotTable>(3, &running, &wishes)?;
        }
    }

    #[test]
    fn a_node_out_of_service_is_held_whole_whoever_runs_on_it() {
        let mut windows = Windows::new(&(), at(0), (SlotTable::new(3, [2, 3]), 0), []);
        let (job, outage) = (need(1, 1, 0, 50), need(1, 2, 0, 30));
        windows.hold(&(), at(0), &job, &[0]);
        windows.hold(&(), at(10), &outage, &[0]);
        let first = |windows: &mut Windows<SlotTable>, wish: &NodeNeed| {
            let mut out = Vec::new();
            let found = windows
                .earliest(&(), wish, (at(0), SimTime::NEVER), |_, free| lowest(free.iter().take(1), wish, &mut out));
            found.map(|start| (start, out))
        };
        assert_eq!(first(&mut windows, &need(1, 1, 0, 11)), Some((at(0), vec![1])));
        windows.hold(&(), at(0), &need(1, 3, 0, 60), &[1]);
        assert_eq!(first(&mut windows, &need(1, 1, 0, 11)), Some((at(40), vec![0])));
        windows.drop(&(), at(0), &job, &[0]);
        windows.drop(&(), at(10), &outage, &[0]);
        assert_eq!(first(&mut windows, &need(1, 2, 0, 11)), Some((at(0), vec![0])));
    }

    #[test]
    fn what_is_past_is_forgotten_and_does_not_come_back() {
        let mut windows = Windows::new(&(), at(0), (NodeSet::full(2), 0), []);
        let early = need(1, 1, 0, 20);
        windows.hold(&(), at(5), &early, &[0]);
        windows.advance(at(10));
        assert_eq!(windows.len(), 2);
        windows.drop(&(), at(5), &early, &[0]);
        assert_eq!(windows.len(), 1);
        let wish = need(2, 1, 0, 1);
        let mut out = Vec::new();
        let all = windows.earliest(&(), &wish, (at(0), SimTime::NEVER), |_, free| lowest(free.iter(), &wish, &mut out));
        assert_eq!((all, out), (Some(at(10)), vec![0, 1]));
    }
}
