//! Free capacity of each node in a window of time.
//!
//! Where jobs get whole nodes, a node is free or not. Where they share nodes, there is a table of free amounts for each
//! thing that they share: slots, and on nodes that differ GPUs and memory. Licences belong to no node, nor do the watts
//! of a budget.

use std::iter::zip;
use std::ops::Range;

use crate::algo::horizon::SlotTable;
use crate::algo::node_set::NodeSet;
use crate::units::{SimDuration, Watts};

/// Most things of which a job may need an amount on each node.
pub const THINGS: usize = 3;

/// Most queues whose free nodes are counted.
const COUNTED: usize = 8;

/// Sets of nodes to which needs refer by number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Groups<'a> {
    /// The nodes of each queue; empty: there are no queues.
    pub queues: &'a [NodeSet],
    /// The nodes of each cell; empty: nodes are alike.
    pub cells: &'a [NodeSet],
}

/// A job's need of named nodes, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct NodeNeed<'a> {
    /// Sets to which queue and cells refer.
    pub groups: Groups<'a>,
    /// Nodes.
    pub nodes: u32,
    /// Amount of each thing on each of them; ignored where jobs get whole nodes.
    pub amounts: [i64; THINGS],
    /// Queue whose nodes it may take; none: all.
    pub queue: Option<usize>,
    /// Cells whose nodes it may take, in the order in which it prefers them; none: all.
    pub cells: Option<&'a [u16]>,
    /// Licences: the kind, counted behind the cells, and the number.
    pub licences: &'a [(u16, i64)],
    /// Watts: when nodes are looked for, the least that it takes on any; when they are held, what it takes there. None:
    /// watts do not count.
    pub watts: Option<Watts>,
    /// Time for which the job holds them.
    pub length: SimDuration,
}

impl<'a> NodeNeed<'a> {
    /// Need of nodes, each with so many slots, on a machine without queues, cells and licences.
    #[must_use]
    pub fn of_slots(nodes: u32, slots: i64, length: SimDuration) -> Self {
        let (groups, amounts) = (Groups::default(), [slots, 0, 0]);
        Self { groups, nodes, amounts, queue: None, cells: None, licences: &[], watts: None, length }
    }

    /// The nodes of its queue; none: all.
    fn own(&self) -> Option<&'a NodeSet> {
        self.queue.map(|queue| &self.groups.queues[queue])
    }

    /// Bit mask of the nodes of a group of 64 that its cells have.
    fn in_cells(&self, group: usize) -> u64 {
        self.cells.map_or(u64::MAX, |cells| {
            cells.iter().fold(0, |mask, &cell| mask | self.groups.cells[usize::from(cell)].words()[group])
        })
    }

    /// Nodes out of a set, those of its first cell first: each with the place of the cell in the order of cells.
    pub fn by_cell<'n>(&'n self, nodes: &'n NodeSet) -> impl Iterator<Item = (usize, u32)> + 'n {
        let in_cell = |(place, &cell): (usize, &u16)| {
            nodes.common_nodes(&self.groups.cells[usize::from(cell)]).map(move |node| (place, node))
        };
        let all = self.cells.is_none().then(|| nodes.iter().map(|node| (0, node)));
        all.into_iter().flatten().chain(self.cells.unwrap_or_default().iter().enumerate().flat_map(in_cell))
    }

    /// Place of each of its licences among all kinds, with the number that it needs.
    fn kinds(&self) -> impl Iterator<Item = (usize, i64)> + use<'a> {
        let first = self.groups.cells.len();
        self.licences.iter().map(move |&(kind, number)| (usize::from(kind) - first, number))
    }
}

/// Free capacity of each node in a window of time, and free licences and watts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Planes {
    /// Number of free nodes of each of the first queues, where jobs get whole nodes.
    counts: [u32; COUNTED],
    /// Free nodes; where nodes are shared, those of which anything may be taken.
    open: NodeSet,
    /// Free amounts of each thing on each node; empty: jobs get whole nodes.
    tables: Vec<SlotTable>,
    licences: Vec<i64>,
    /// Watts that are left; below zero where more is promised than there is.
    watts: Watts,
}

/// Amounts that a job takes of each of some nodes, prepared for many windows.
pub struct Lot<'n> {
    need: &'n NodeNeed<'n>,
    nodes: &'n [u32],
    /// The same nodes, the words in which they are, and their number in each of the first queues, where jobs get whole
    /// nodes.
    set: (&'n NodeSet, Range<usize>),
    counts: [u32; COUNTED],
}

impl<'n> Lot<'n> {
    /// Lot of a job that gets these nodes whole.
    #[must_use]
    pub fn of_whole(need: &'n NodeNeed<'n>, nodes: &'n NodeSet) -> Self {
        Self { need, nodes: &[], set: (nodes, nodes.places()), counts: counted(need.groups, nodes) }
    }
}

impl Planes {
    /// Becomes a machine of whole nodes, some of them free, keeping its memory.
    pub fn fill_whole(&mut self, groups: Groups<'_>, free: &NodeSet, licences: &[i64]) {
        self.open.copy_from(free);
        self.tables.clear();
        self.fill_common(licences);
        self.counts = counted(groups, &self.open);
    }

    /// Becomes a machine of shared nodes, all open, keeping its memory: `tables` has the amount of a thing that a node
    /// has at most, for each thing, and the free amount on each node.
    pub fn fill_shared<I: IntoIterator<Item = i64>>(
        &mut self,
        nodes: u32,
        tables: impl IntoIterator<Item = (i64, I)>,
        licences: &[i64],
    ) {
        self.open.fill(nodes);
        let mut filled = 0;
        for (whole, free) in tables {
            if filled == self.tables.len() {
                self.tables.push(SlotTable::default());
            }
            self.tables[filled].refill(whole, free);
            filled += 1;
        }
        self.tables.truncate(filled);
        self.fill_common(licences);
        self.counts = [0; COUNTED];
    }

    /// Licences as given; no watts.
    fn fill_common(&mut self, licences: &[i64]) {
        self.licences.clear();
        self.licences.extend_from_slice(licences);
        self.watts = Watts::ZERO;
    }

    /// Makes this equal to `other`, keeping its memory.
    pub fn copy_from(&mut self, other: &Self) {
        (self.counts, self.watts) = (other.counts, other.watts);
        self.open.copy_from(&other.open);
        self.tables.truncate(other.tables.len());
        let known = self.tables.len();
        zip(&mut self.tables, &other.tables).for_each(|(table, other)| table.copy_from(other));
        self.tables.extend_from_slice(&other.tables[known..]);
        self.licences.clone_from(&other.licences);
    }

    /// Watts that are left.
    #[must_use]
    pub fn watts(&self) -> Watts {
        self.watts
    }

    /// Adds watts.
    pub fn add_watts(&mut self, watts: Watts) {
        self.watts += watts;
    }

    /// True if jobs get whole nodes.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.tables.is_empty()
    }

    /// Free slots of a node; 0 where jobs get whole nodes.
    #[must_use]
    pub fn slots_of(&self, node: u32) -> i64 {
        self.tables.first().map_or(0, |slots| slots.of(node))
    }

    /// Number of the nodes a job may take that are free, if it is known.
    #[must_use]
    #[inline]
    pub fn count(&self, need: &NodeNeed<'_>) -> Option<u32> {
        match need.queue {
            _ if !self.is_whole() || need.cells.is_some() => None,
            None => Some(self.open.len()),
            Some(queue) => self.counts.get(queue).copied(),
        }
    }

    /// True if [`Planes::suffices`] answers from a count, without a look at nodes.
    #[must_use]
    pub fn is_counted(&self, need: &NodeNeed<'_>) -> bool {
        self.count(need).is_some()
    }

    /// True if there are as many nodes as the job needs, each with what it asks of a node, and its licences and
    /// least watts.
    #[must_use]
    #[inline]
    pub fn suffices(&self, need: &NodeNeed<'_>) -> bool {
        let enough = match self.count(need) {
            Some(count) => count >= need.nodes,
            None => self.has(need),
        };
        enough && self.has_common(need)
    }

    /// True if there is too little, as far as counts tell.
    #[must_use]
    pub fn is_short(&self, need: &NodeNeed<'_>) -> bool {
        self.is_counted(need) && !self.suffices(need)
    }

    /// True if all that is free in another window is free here, too. Where nodes are shared, it is not looked at, and false.
    #[must_use]
    pub fn has_all_of(&self, other: &Self) -> bool {
        self.is_whole()
            && self.watts >= other.watts
            && zip(&self.licences, &other.licences).all(|(own, other)| own >= other)
            && self.open.has_all_of(&other.open)
    }

    /// True if there are as many nodes as needed, found by a look at nodes.
    #[inline(never)]
    fn has(&self, need: &NodeNeed<'_>) -> bool {
        let (own, mut found) = (need.own(), 0);
        found >= need.nodes
            || self.open.words().iter().enumerate().any(|(group, &open)| {
                let mut mask = open & own.map_or(u64::MAX, |own| own.words()[group]);
                if mask != 0 {
                    mask &= need.in_cells(group);
                    mask = zip(&self.tables, need.amounts).fold(mask, |mask, (table, amount)| match mask {
                        0 => 0,
                        mask => mask & table.having(group, amount),
                    });
                    found += mask.count_ones();
                }
                found >= need.nodes
            })
    }

    /// True if there is what belongs to no node: its licences and least watts.
    #[inline]
    fn has_common(&self, need: &NodeNeed<'_>) -> bool {
        let is_licensed = need.licences.is_empty() || need.kinds().all(|(kind, number)| self.licences[kind] >= number);
        is_licensed && need.watts.is_none_or(|watts| watts <= self.watts)
    }

    /// Sets `nodes` to those that have what the job asks for; true if there are as many as it needs, and its licences
    /// and least watts.
    pub fn fitting(&self, need: &NodeNeed<'_>, nodes: &mut NodeSet) -> bool {
        match need.own() {
            Some(own) => nodes.copy_common(&self.open, own),
            None => nodes.copy_from(&self.open),
        }
        if need.cells.is_some() {
            nodes.keep(|group| need.in_cells(group));
        }
        self.keep_having(need, nodes)
    }

    /// Sets `nodes` to those that are free in all of these windows, of a machine whose jobs get whole nodes, among those
    /// that a job may take; true if there are as many as it needs. Licences and watts are not
    /// looked at.
    pub fn free_in_all<'p>(
        windows: impl Iterator<Item = &'p Self> + Clone,
        need: &NodeNeed<'_>,
        nodes: &mut NodeSet,
    ) -> bool {
        let open = windows.map(|window| &window.open);
        match need.own() {
            Some(own) => nodes.copy_from(own),
            None => open.clone().take(1).for_each(|first| nodes.copy_from(first)),
        }
        nodes.keep_common_to_all(open);
        nodes.len() >= need.nodes
    }

    /// Sets `nodes` to all that a job may take.
    pub fn all_of(&self, need: &NodeNeed<'_>, nodes: &mut NodeSet) {
        match need.own() {
            Some(own) => nodes.copy_from(own),
            None => nodes.fill(self.open.capacity()),
        }
    }

    /// Number of free nodes in common with a set, where jobs get whole nodes.
    #[must_use]
    pub fn in_common(&self, nodes: &NodeSet) -> u32 {
        self.open.common(nodes)
    }

    /// Keeps of `nodes` those that are free, where jobs get whole nodes.
    pub fn keep_free(&self, nodes: &mut NodeSet) {
        nodes.keep_common(&self.open);
    }

    /// Keeps of `nodes`, which a job may take, those that have what it asks for in this window, too; true if there are
    /// still as many as it needs, and its licences and least watts.
    pub fn keep_fitting(&self, need: &NodeNeed<'_>, nodes: &mut NodeSet) -> bool {
        if self.is_whole() || self.open.len() < self.open.capacity() {
            nodes.keep_common(&self.open);
        }
        self.keep_having(need, nodes)
    }

    fn keep_having(&self, need: &NodeNeed<'_>, nodes: &mut NodeSet) -> bool {
        for (table, amount) in zip(&self.tables, need.amounts) {
            nodes.keep(|group| table.having(group, amount));
        }
        nodes.len() >= need.nodes && self.has_common(need)
    }

    /// Prepares what a job takes of each of `nodes`, in the memory of `set`.
    #[must_use]
    pub fn lot<'n>(&self, need: &'n NodeNeed<'n>, nodes: &'n [u32], set: &'n mut NodeSet) -> Lot<'n> {
        if self.is_whole() {
            set.clear(self.open.capacity());
            set.insert_all(nodes);
            return Lot::of_whole(need, set);
        }
        Lot { need, nodes, set: (set, 0..0), counts: [0; COUNTED] }
    }

    /// Takes what a job gets; whole nodes must be free.
    pub fn take(&mut self, lot: &Lot<'_>) {
        if self.is_whole() {
            let were_free = self.open.remove_set_in(lot.set.clone());
            debug_assert!(were_free, "a node is held twice");
            (0..COUNTED).for_each(|queue| self.counts[queue] -= lot.counts[queue]);
        }
        zip(&mut self.tables, lot.need.amounts).for_each(|(table, amount)| table.add(lot.nodes, -amount));
        lot.need.kinds().for_each(|(kind, number)| self.licences[kind] -= number);
        lot.need.watts.into_iter().for_each(|watts| self.watts -= watts);
    }

    /// Gives back what was taken.
    pub fn give(&mut self, lot: &Lot<'_>) {
        if self.is_whole() {
            let were_held = self.open.insert_set_in(lot.set.clone());
            debug_assert!(were_held, "a node is given back twice");
            (0..COUNTED).for_each(|queue| self.counts[queue] += lot.counts[queue]);
        }
        zip(&mut self.tables, lot.need.amounts).for_each(|(table, amount)| table.add(lot.nodes, amount));
        lot.need.kinds().for_each(|(kind, number)| self.licences[kind] += number);
        lot.need.watts.into_iter().for_each(|watts| self.watts += watts);
    }

    /// Makes a node of which nothing was free free again, with so many slots.
    pub fn open(&mut self, groups: Groups<'_>, node: u32, slots: i64) {
        match self.tables.first_mut() {
            Some(table) => table.add(&[node], slots),
            None if self.open.insert(node) => self.recount(groups, node, |count| *count += 1),
            None => {}
        }
    }

    /// Makes nothing of a node free, whatever is held of it.
    pub fn close(&mut self, groups: Groups<'_>, node: u32) {
        if self.open.remove(node) && self.is_whole() {
            self.recount(groups, node, |count| *count -= 1);
        }
    }

    /// Changes the number of free nodes of the queues that have a node.
    fn recount(&mut self, groups: Groups<'_>, node: u32, change: impl Fn(&mut u32)) {
        let theirs = zip(&mut self.counts, groups.queues).filter(|(_, queue)| queue.contains(node));
        theirs.for_each(|(count, _)| change(count));
    }
}

/// Number of nodes of a set in each of the first queues.
fn counted(groups: Groups<'_>, nodes: &NodeSet) -> [u32; COUNTED] {
    let mut counts = [0; COUNTED];
    nodes.count_by_set(&groups.queues[..groups.queues.len().min(COUNTED)], &mut counts);
    counts
}
