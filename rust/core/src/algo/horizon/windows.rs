//! Which nodes are free when: windows of time, each with what is free throughout.
//!
//! A promise names its nodes, so that it can be kept where nodes differ, where they are shared, and where they belong to
//! overlapping groups. What a job may take from then on is what the windows it would run through have in common; which of
//! these nodes it takes is for the caller to say.

use crate::algo::horizon::Need;
use crate::algo::node_set::NodeSet;
use crate::units::{SimDuration, SimTime};

/// What is free of each node in a window.
pub trait Freedom: Clone + PartialEq {
    /// What a job asks for, made ready for many looks.
    type Ask;

    /// What is taken or given back of some nodes, made ready for many windows.
    type Lot<'n>;

    /// Makes a need ready.
    fn ask(&self, need: &Need) -> Self::Ask;

    /// Makes so many slots on each of `nodes` ready.
    fn lot<'n>(&self, nodes: &'n [u32], slots: i32) -> Self::Lot<'n>;

    /// Keeps what is free here and there, as far as the job may take it; whether that suffices.
    fn meet(&mut self, other: &Self, ask: &Self::Ask) -> bool;

    /// Makes this equal to `other`, keeping its memory.
    fn copy_from(&mut self, other: &Self);

    /// Whether there are as many nodes as the job needs, each with what it asks of a node.
    #[must_use]
    fn suffices(&self, ask: &Self::Ask) -> bool;

    /// Whether that is known without a look at nodes.
    #[must_use]
    fn is_counted(&self) -> bool {
        false
    }

    /// Takes slots away on nodes; false if whole nodes were to be taken and one was not free.
    fn take(&mut self, lot: &Self::Lot<'_>) -> bool;

    /// Gives back what was taken; false if whole nodes were to be given back and one was free.
    fn give(&mut self, lot: &Self::Lot<'_>) -> bool;

    /// A node of which nothing was free is back with so many slots; false if it is a whole node, and was free.
    fn open(&mut self, node: u32, slots: i32) -> bool;

    /// Nothing of a node is free, whatever is held of it; false if it is a whole node, and was not free.
    fn close(&mut self, node: u32) -> bool;
}

/// Whole nodes, free or not: one is held by one promise at a time.
impl Freedom for NodeSet {
    /// How many.
    type Ask = u32;

    type Lot<'n> = NodeSet;

    fn ask(&self, need: &Need) -> u32 {
        need.nodes
    }

    fn lot(&self, nodes: &[u32], _slots: i32) -> NodeSet {
        let mut lot = Self::empty(self.capacity());
        lot.insert_all(nodes);
        lot
    }

    fn meet(&mut self, other: &Self, ask: &u32) -> bool {
        self.keep_common(other);
        self.len() >= *ask
    }

    fn copy_from(&mut self, other: &Self) {
        self.copy_from(other);
    }

    fn suffices(&self, ask: &u32) -> bool {
        self.len() >= *ask
    }

    fn is_counted(&self) -> bool {
        true
    }

    fn take(&mut self, lot: &NodeSet) -> bool {
        let were_free = self.remove_set(lot);
        debug_assert!(were_free, "a node is held twice");
        were_free
    }

    fn give(&mut self, lot: &NodeSet) -> bool {
        let were_held = self.insert_set(lot);
        debug_assert!(were_held, "a node is given back twice");
        were_held
    }

    fn open(&mut self, node: u32, _slots: i32) -> bool {
        self.insert(node)
    }

    fn close(&mut self, node: u32) -> bool {
        self.remove(node)
    }
}

/// Free slots of each node.
///
/// Below zero where more is held than there is: a node that is out of service is held whole, whatever runs on it, and what
/// was held can be given back in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotTable {
    free: Vec<i32>,
}

impl SlotTable {
    /// As many slots as are said, node by node.
    #[must_use]
    pub fn new(free: Vec<i32>) -> Self {
        Self { free }
    }

    /// Free slots of a node.
    #[must_use]
    pub fn of(&self, node: u32) -> i32 {
        self.free[node as usize]
    }

    /// The nodes with at least so many free slots, ascending.
    pub fn holding(&self, slots: i32) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.free).filter(move |&(_, &free)| free >= slots).map(|(node, _)| node)
    }

    /// Whether so many of `own` have at least so many free slots.
    #[must_use]
    pub fn has(&self, own: &NodeSet, slots: i32, nodes: u32) -> bool {
        let mut lacking = nodes;
        for (free, &own) in self.free.chunks(u64::BITS as usize).zip(own.words()) {
            let mut left = own;
            while left != 0 && lacking > 0 {
                lacking -= u32::from(free[left.trailing_zeros() as usize] >= slots);
                left &= left - 1;
            }
        }
        lacking == 0
    }

    /// Keeps what is free here and there.
    pub fn keep_least(&mut self, other: &Self) {
        for (free, other) in self.free.iter_mut().zip(&other.free) {
            *free = (*free).min(*other);
        }
    }
}

impl Freedom for SlotTable {
    type Ask = Need;

    type Lot<'n> = (&'n [u32], i32);

    fn ask(&self, need: &Need) -> Need {
        *need
    }

    fn lot<'n>(&self, nodes: &'n [u32], slots: i32) -> (&'n [u32], i32) {
        (nodes, slots)
    }

    fn meet(&mut self, other: &Self, ask: &Need) -> bool {
        self.keep_least(other);
        self.suffices(ask)
    }

    fn copy_from(&mut self, other: &Self) {
        self.free.clone_from(&other.free);
    }

    fn suffices(&self, ask: &Need) -> bool {
        let enough = self.free.iter().filter(|&&free| free >= ask.slots).count();
        enough >= ask.nodes as usize
    }

    fn take(&mut self, &(nodes, slots): &(&[u32], i32)) -> bool {
        for &node in nodes {
            self.free[node as usize] -= slots;
        }
        true
    }

    fn give(&mut self, &(nodes, slots): &(&[u32], i32)) -> bool {
        for &node in nodes {
            self.free[node as usize] += slots;
        }
        true
    }

    fn open(&mut self, node: u32, slots: i32) -> bool {
        self.free[node as usize] += slots;
        true
    }

    fn close(&mut self, node: u32) -> bool {
        self.free[node as usize] = i32::MIN / 2;
        true
    }
}

/// What is free from now on, node by node, and of watts.
#[derive(Clone, Debug)]
pub struct Windows<F> {
    windows: Vec<Window<F>>,
}

/// A stretch of time up to the next window's beginning; the last one has no end.
#[derive(Clone, Debug, PartialEq)]
struct Window<F> {
    begins: SimTime,
    free: F,
    microwatts: i64,
}

/// What comes back, and when.
#[derive(Clone, Copy, Debug)]
pub struct Return<'a> {
    /// The instant; one that has passed counts as now.
    pub at: SimTime,
    /// The nodes it was held on.
    pub nodes: &'a [u32],
    /// Slots on each of them.
    pub slots: i32,
    /// Microwatts in all.
    pub microwatts: i64,
}

impl<F: Freedom> Windows<F> {
    /// From `now` on `free` and so many microwatts, and what comes back later, ascending by instant.
    #[must_use]
    pub fn new<'a>(now: SimTime, free: F, microwatts: i64, returns: impl IntoIterator<Item = Return<'a>>) -> Self {
        let mut windows = Vec::new();
        let mut last = Window { begins: now, free, microwatts };
        for back in returns {
            if back.at > last.begins {
                windows.push(last.clone());
                last.begins = back.at;
            }
            last.free.give(&last.free.lot(back.nodes, back.slots));
            last.microwatts += back.microwatts;
        }
        windows.push(last);
        Self { windows }
    }

    /// How many windows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.windows.len()
    }

    /// Whether nothing is known of the future; never.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Forgets what was before `now`, which is not before the first window.
    pub fn advance(&mut self, now: SimTime) {
        let past = self.in_force(now);
        self.windows.drain(..past);
        self.windows[0].begins = now;
    }

    /// The earliest instant at or after `from` and not after `until`, itself or a window's beginning, at which `need` is free
    /// for its length and `pick` finds nodes that it likes.
    ///
    /// `pick` is told what is free at the instant and what is throughout; it writes down nodes and says whether it took them.
    pub fn earliest(
        &self,
        need: &Need,
        (from, until): (SimTime, SimTime),
        mut pick: impl FnMut(&F, &F, &mut Vec<u32>) -> bool,
    ) -> Option<(SimTime, Vec<u32>)> {
        let (mut first, ask) = (self.in_force(from), self.windows[0].free.ask(need));
        let mut found: Option<(F, Vec<u32>)> = None;
        while let Some(window) = self.windows.get(first) {
            let start = window.begins.max(from);
            if start > until {
                return None;
            }
            if !self.lets(first, need, &ask) {
                first += 1;
                continue;
            }
            let (common, nodes) = found.get_or_insert_with(|| (window.free.clone(), Vec::new()));
            first = match self.common(first, start, (need, &ask), common) {
                None => {
                    nodes.clear();
                    if pick(&window.free, common, nodes) {
                        return found.map(|(_, nodes)| (start, nodes));
                    }
                    first + 1
                }
                Some(bad) => self.after(first, bad, (need, &ask), common),
            };
        }
        None
    }

    /// Whether a window by itself has what is needed.
    fn lets(&self, index: usize, need: &Need, ask: &F::Ask) -> bool {
        let window = &self.windows[index];
        window.microwatts >= need.microwatts && window.free.suffices(ask)
    }

    /// What the windows from one on have in common while a job that starts at `start` would run; if that is too little, a
    /// window with which it is: the last that has too little by itself, if one is known to.
    fn common(&self, first: usize, start: SimTime, (need, ask): (&Need, &F::Ask), common: &mut F) -> Option<usize> {
        let end = start.saturating_add(need.length);
        // A length of zero needs its instant all the same.
        let later = first + 1..first + 1 + self.windows[first + 1..].partition_point(|window| window.begins < end);
        if self.windows[first].free.is_counted()
            && let Some(bad) = later.clone().rev().find(|&index| !self.lets(index, need, ask))
        {
            return Some(bad);
        }
        common.copy_from(&self.windows[first].free);
        let mut goes_on = |window: &Window<F>| window.microwatts >= need.microwatts && common.meet(&window.free, ask);
        self.windows[later].iter().position(|window| !goes_on(window)).map(|place| first + 1 + place)
    }

    /// The next window in which a job may start, if one that starts in the window `first` has too little with the window
    /// `bad`: a job that starts in between runs through that, too.
    fn after(&self, first: usize, bad: usize, (need, ask): (&Need, &F::Ask), common: &mut F) -> usize {
        if !self.lets(bad, need, ask) {
            return bad + 1;
        }
        common.copy_from(&self.windows[bad].free);
        let too_little = (first + 1..bad).rev().find(|&index| !common.meet(&self.windows[index].free, ask));
        too_little.unwrap_or(first) + 1
    }

    /// Promises `nodes` from `at` on, which is not before the first window.
    pub fn hold(&mut self, at: SimTime, need: &Need, nodes: &[u32]) {
        let lot = self.windows[0].free.lot(nodes, need.slots);
        self.change(at, need.length, |window| {
            window.free.take(&lot);
            window.microwatts -= need.microwatts;
        });
    }

    /// Has a node that is out of service back from `at` on, with so many slots.
    pub fn open(&mut self, at: SimTime, node: u32, slots: i32) {
        let first = self.split(at.max(self.windows[0].begins));
        self.windows[first..].iter_mut().for_each(|window| _ = window.free.open(node, slots));
    }

    /// Has a node out of service from `at` on for `length`, whatever it is held for.
    pub fn close(&mut self, at: SimTime, length: SimDuration, node: u32) {
        self.change(at, length, |window| _ = window.free.close(node));
    }

    /// Gives back what [`Windows::hold`] was told in the same words, whatever has been held since; of the past nothing
    /// comes back.
    pub fn drop(&mut self, at: SimTime, need: &Need, nodes: &[u32]) {
        let lot = self.windows[0].free.lot(nodes, need.slots);
        self.change(at, need.length, |window| {
            window.free.give(&lot);
            window.microwatts += need.microwatts;
        });
    }

    /// Changes all windows from `start` on for `length`.
    fn change(&mut self, start: SimTime, length: SimDuration, mut change: impl FnMut(&mut Window<F>)) {
        let end = start.saturating_add(length);
        let start = start.max(self.windows[0].begins);
        if start >= end {
            return;
        }
        let (first, last) = (self.split(start), self.split(end));
        self.windows[first..last].iter_mut().for_each(&mut change);
        // In between windows differ as they did.
        self.join(last);
        self.join(first);
    }

    /// Makes sure that a window begins at `at`; returns which.
    fn split(&mut self, at: SimTime) -> usize {
        let index = self.in_force(at);
        if self.windows[index].begins == at {
            return index;
        }
        let later = Window { begins: at, ..self.windows[index].clone() };
        self.windows.insert(index + 1, later);
        index + 1
    }

    /// Makes one window of one and the last before it if they do not differ.
    fn join(&mut self, index: usize) {
        if index == 0 || index >= self.windows.len() {
            return;
        }
        let (before, here) = (&self.windows[index - 1], &self.windows[index]);
        if before.microwatts == here.microwatts && before.free == here.free {
            self.windows.remove(index);
        }
    }

    /// The window that holds at `at`, or the first.
    fn in_force(&self, at: SimTime) -> usize {
        self.windows.partition_point(|window| window.begins <= at).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CELLS: i64 = 800;
    const NODES: u32 = 6;

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    fn need(nodes: u32, slots: i32, microwatts: i64, micros: i64) -> Need {
        Need { nodes, slots, microwatts, length: SimDuration::from_micros(micros) }
    }

    /// Takes the lowest-numbered of `nodes`, if there are enough.
    fn lowest(nodes: impl Iterator<Item = u32>, need: &Need, out: &mut Vec<u32>) -> bool {
        out.extend(nodes.take(need.nodes as usize));
        out.len() == need.nodes as usize
    }

    /// A kind of freedom, as the twin sees it.
    trait Seen: Freedom + std::fmt::Debug {
        fn all(slots: i32) -> Self;
        fn members(&self, need: &Need) -> Vec<u32>;
    }

    impl Seen for NodeSet {
        fn all(_slots: i32) -> Self {
            Self::full(NODES)
        }
        fn members(&self, _need: &Need) -> Vec<u32> {
            self.iter().collect()
        }
    }

    impl Seen for SlotTable {
        fn all(slots: i32) -> Self {
            Self::new(vec![slots; NODES as usize])
        }
        fn members(&self, need: &Need) -> Vec<u32> {
            self.holding(need.slots).collect()
        }
    }

    /// Twin: for every microsecond the free slots of each node, and the watts.
    struct Cells(Vec<(Vec<i32>, i64)>);

    impl Cells {
        fn change(&mut self, start: i64, need: &Need, nodes: &[u32], sign: i32) {
            let end = (start + need.length.micros()).min(CELLS);
            for cell in &mut self.0[usize::try_from(start).unwrap()..usize::try_from(end.max(start)).unwrap()] {
                for &node in nodes {
                    cell.0[node as usize] += sign * need.slots;
                }
                cell.1 += i64::from(sign) * need.microwatts;
            }
        }

        /// The nodes that have what is needed throughout, if the watts are there, too.
        fn free_throughout(&self, start: i64, need: &Need) -> Option<Vec<u32>> {
            let first = usize::try_from(start).unwrap();
            let last = first + usize::try_from(need.length.micros()).unwrap().max(1);
            let during = &self.0[first.min(self.0.len() - 1)..last.clamp(first + 1, self.0.len()).max(1)];
            let has = |node: &u32| during.iter().all(|cell| cell.0[*node as usize] >= need.slots);
            let watts = during.iter().all(|cell| cell.1 >= need.microwatts);
            watts.then(|| (0..NODES).filter(has).collect())
        }

        fn earliest(&self, from: i64, need: &Need, likes: impl Fn(u32) -> bool) -> Option<(SimTime, Vec<u32>)> {
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
            free.take(&free.lot(nodes, slots));
            cells.change(0, &need(1, slots, 2, *end), nodes, -1);
        }
        let watts = 20 - 2 * i64::try_from(running.len()).unwrap();
        let back = running.iter().map(|(end, nodes)| Return { at: at(*end), nodes, slots, microwatts: 2 });
        let mut windows = Windows::new(at(0), free, watts, back);
        let mut held: Vec<(SimTime, Need, Vec<u32>)> = Vec::new();
        for (index, &(nodes, few, microwatts, length, from, fussy)) in wishes.iter().enumerate() {
            let need = need(nodes, few.min(slots), microwatts, length);
            let likes = |node: u32| !fussy || node.is_multiple_of(2);
            let found = windows.earliest(&need, (at(from), SimTime::NEVER), |_, free, out| {
                lowest(free.members(&need).into_iter().filter(|&node| likes(node)), &need, out)
            });
            prop_assert_eq!(&found, &cells.earliest(from, &need, likes));
            if let Some((start, nodes)) = found {
                windows.hold(start, &need, &nodes);
                cells.change(start.micros(), &need, &nodes, -1);
                held.push((start, need, nodes));
            }
            if index % 3 == 2 && !held.is_empty() {
                let (start, need, nodes) = held.swap_remove(index % held.len());
                windows.drop(start, &need, &nodes);
                cells.change(start.micros(), &need, &nodes, 1);
            }
        }
        let mut changes = cells.0.windows(2).filter(|pair| pair[0] != pair[1]).count();
        changes += 1;
        for (start, need, nodes) in held {
            windows.drop(start, &need, &nodes);
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
        let mut windows = Windows::new(at(0), SlotTable::new(vec![2, 3]), 0, []);
        let (job, outage) = (need(1, 1, 0, 50), need(1, 2, 0, 30));
        windows.hold(at(0), &job, &[0]);
        windows.hold(at(10), &outage, &[0]);
        let first = |windows: &Windows<SlotTable>, wish: &Need| {
            windows.earliest(wish, (at(0), SimTime::NEVER), |_, free, out| {
                lowest(free.holding(wish.slots).take(1), wish, out)
            })
        };
        assert_eq!(first(&windows, &need(1, 1, 0, 11)), Some((at(0), vec![1])));
        windows.hold(at(0), &need(1, 3, 0, 60), &[1]);
        assert_eq!(first(&windows, &need(1, 1, 0, 11)), Some((at(40), vec![0])));
        windows.drop(at(0), &job, &[0]);
        windows.drop(at(10), &outage, &[0]);
        assert_eq!(first(&windows, &need(1, 2, 0, 11)), Some((at(0), vec![0])));
    }

    #[test]
    fn what_is_past_is_forgotten_and_does_not_come_back() {
        let mut windows = Windows::new(at(0), NodeSet::full(2), 0, []);
        let early = need(1, 1, 0, 20);
        windows.hold(at(5), &early, &[0]);
        windows.advance(at(10));
        assert_eq!(windows.len(), 2);
        windows.drop(at(5), &early, &[0]);
        assert_eq!(windows.len(), 1);
        let wish = need(2, 1, 0, 1);
        let all = windows.earliest(&wish, (at(0), SimTime::NEVER), |_, free, out| lowest(free.iter(), &wish, out));
        assert_eq!(all, Some((at(10), vec![0, 1])));
    }
}
