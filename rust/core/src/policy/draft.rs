//! The machine as it would be if the decisions of this pass were carried out. Knows no policy.
//!
//! A backfill tries jobs out: whether one fits may depend on its nodes. So a draft can be rolled back to a mark; it is
//! then exactly what it was there, to the last free node.

use crate::algo::fit_list::Waiting;
use crate::algo::horizon::NodesByCell;
use crate::algo::horizon::cells::change;
use crate::algo::node_set::NodeSet;
use crate::algo::releases::{Claim, Release, ReleasedBy};
use crate::algo::sorted_blocks::Keyed;
use crate::error::Result;
use crate::platform::cells::Cells;
use crate::platform::slots::Slots;
use crate::policy::{Decision, Decisions, Start, View};
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// Buffers that a draft hands on to the next, so that a pass allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct DraftMemory {
    puts: Vec<Put>,
    ends: Vec<Release>,
    /// Free nodes, once they were asked for; where nodes are shared, those that can serve a job.
    free: NodeSet,
    /// Slots that the starts so far have left, where nodes are shared.
    shared: Option<Slots>,
    /// Free amounts of each cell and licence, where nodes differ.
    free_parts: Vec<i64>,
    /// Amounts of these that each start takes, with its place among the starts and its planned end.
    splits: Vec<(usize, SimTime, NodesByCell)>,
}

/// A start in a draft.
#[derive(Clone, Copy, Debug)]
struct Put {
    release: (SimTime, ReleasedBy),
    units: i64,
    watts: Watts,
}

/// A state that a draft can go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    puts: usize,
    decisions: usize,
}

/// Starts so far, and what they leave.
pub struct Draft<'a> {
    view: &'a View<'a>,
    memory: &'a mut DraftMemory,
    out: &'a mut Decisions,
    free_units: i64,
    granted: Watts,
    /// True if the memory knows the free nodes of a whole-node machine.
    is_free_known: bool,
    /// Number of changes.
    version: u64,
}

impl<'a> Draft<'a> {
    /// A machine as it is, for decisions that are added to `out`.
    pub fn new(view: &'a View<'a>, memory: &'a mut DraftMemory, out: &'a mut Decisions) -> Self {
        memory.puts.clear();
        memory.ends.clear();
        let shares = !view.platform.is_exclusive() || view.slots.lends();
        memory.shared = shares.then(|| view.slots.clone());
        memory.splits.clear();
        if let Some(shares) = view.shares.filter(|_| view.platform.is_exclusive()) {
            shares.free(view.slots, &mut memory.free_parts);
        }
        let free_units = view.slots.free_units();
        Self { view, memory, out, free_units, granted: Watts::ZERO, is_free_known: false, version: 0 }
    }

    /// Free units that no start has taken.
    #[must_use]
    pub fn free_units(&self) -> i64 {
        self.free_units
    }

    /// Number of changes so far: as long as it is the same, the same is free.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Watts granted to the starts.
    #[must_use]
    pub fn granted(&self) -> Watts {
        self.granted
    }

    /// Planned ends of the started jobs, sorted.
    #[must_use]
    pub fn ends(&self) -> &[Release] {
        &self.memory.ends
    }

    /// The free nodes that can serve the job.
    pub fn serving(&mut self, job: JobId) -> &NodeSet {
        if self.memory.shared.is_none() {
            return self.free();
        }
        let need = self.view.jobs.need(job, self.view.platform);
        self.memory.shared.as_ref().map_or(&self.memory.free, |shared| shared.holding(need))
    }

    /// Shows `look` the free nodes that could serve the job at `mark`. No other job may have started since then.
    pub fn look_back<T>(&mut self, mark: Mark, job: JobId, look: impl FnOnce(&NodeSet) -> T) -> T {
        let need = self.view.jobs.need(job, self.view.platform);
        self.free();
        let own = self.out.nodes_since(mark.decisions).to_vec();
        let DraftMemory { free, shared, .. } = &mut *self.memory;
        for &node in &own {
            match shared {
                Some(shared) => shared.give(node, need),
                None => _ = free.insert(node),
            }
        }
        let seen = look(shared.as_ref().map_or(&*free, |shared| shared.holding(need)));
        for &node in &own {
            match shared {
                Some(shared) => _ = shared.take(node, need),
                None => _ = free.remove(node),
            }
        }
        seen
    }

    /// Starts a job on nodes that `choose` moves from the free ones that can serve it to the end of a list. `choose`
    /// returns the watts that the job takes there, or none if nothing starts: then it must have moved nothing.
    ///
    /// # Errors
    /// If `choose` fails.
    pub fn put(
        &mut self,
        waiting: &Waiting,
        choose: impl FnOnce(&mut NodeSet, &mut Vec<u32>) -> Result<Option<Watts>>,
    ) -> Result<Option<Watts>> {
        let job = JobId(waiting.key.row);
        let need = self.view.jobs.need(job, self.view.platform);
        match &self.memory.shared {
            Some(shared) => self.memory.free.copy_from(shared.holding(need)),
            None => drop(self.free()),
        }
        let first = self.out.nodes.len();
        let Some(watts) = choose(&mut self.memory.free, &mut self.out.nodes)? else { return Ok(None) };
        self.out.start_on(job, first..self.out.nodes.len(), watts);
        let mut units = waiting.units;
        if let Some(shared) = &mut self.memory.shared {
            let before = shared.free_units();
            for &node in &self.out.nodes[first..] {
                if !shared.take(node, need) && shared.lends() {
                    shared.take_lent(node, need);
                }
            }
            units = before - shared.free_units();
        }
        self.book(waiting, units, watts);
        Ok(Some(watts))
    }

    /// Starts so far that have their nodes.
    pub fn begun(&self) -> impl Iterator<Item = (&Start, &[u32])> {
        self.out.starts().map(|start| (start, self.out.nodes_of(start)))
    }

    /// Free amounts of each cell and licence that the starts so far leave, where nodes differ.
    #[must_use]
    pub fn free_parts(&self) -> &[i64] {
        &self.memory.free_parts
    }

    /// Planned end, use of cells and licences, and microwatts of each start so far.
    pub fn started(&self) -> impl Iterator<Item = (SimTime, &NodesByCell, i64)> {
        self.memory.splits.iter().map(|(put, at, split)| (*at, split, self.microwatts(self.memory.puts[*put].release)))
    }

    /// Microwatts that a start gives back at its planned end.
    fn microwatts(&self, release: (SimTime, ReleasedBy)) -> i64 {
        let ends = &self.memory.ends;
        let index = ends.partition_point(|end| end.key() < release);
        ends.get(index).map_or(0, |end| end.claim.microwatts)
    }

    /// Use of cells and licences by the last start, if there has been one.
    #[must_use]
    pub fn last_split(&self) -> Option<&NodesByCell> {
        self.memory.splits.last().map(|(.., split)| split)
    }

    /// Counts the use of cells and licences by the last start.
    pub fn divide(&mut self, cells: &Cells, waiting: &Waiting) {
        let Some(Decision::Start(start)) = self.out.list().last() else { return };
        let split = cells.split_on(start.job, self.out.nodes_of(start));
        self.take(waiting, split);
    }

    /// Starts a job whose nodes are chosen later, with [`Draft::place`]; `split` is its use of cells and licences, where
    /// nodes differ.
    pub fn count(&mut self, waiting: &Waiting, split: Option<NodesByCell>) {
        self.book(waiting, waiting.units, Watts::ZERO);
        if let Some(split) = split {
            self.take(waiting, split);
        }
    }

    /// Notes the use of cells and licences by the last start.
    fn take(&mut self, waiting: &Waiting, split: NodesByCell) {
        change(&mut self.memory.free_parts, &split, -1);
        let at = self.view.now.saturating_add(waiting.length);
        self.memory.splits.push((self.memory.puts.len() - 1, at, split));
    }

    /// Gives jobs that were counted their nodes, as `choose` moves them from the free ones to the end of a list, one
    /// job's after the other's. `watts` returns the watts that each takes there.
    ///
    /// # Errors
    /// If `choose` fails.
    pub fn place(
        &mut self,
        jobs: &[JobId],
        choose: impl FnOnce(&mut NodeSet, &mut Vec<u32>) -> Result<()>,
        watts: impl Fn(JobId, &[u32]) -> Watts,
    ) -> Result<()> {
        self.free();
        let mut first = self.out.nodes.len();
        choose(&mut self.memory.free, &mut self.out.nodes)?;
        for &job in jobs {
            let next = first + self.view.jobs.node_count(job) as usize;
            let watts = watts(job, &self.out.nodes[first..next]);
            self.out.start_on(job, first..next, watts);
            first = next;
        }
        Ok(())
    }

    /// Notes the watts that a counted job will give back at its end.
    pub fn note(&mut self, job: JobId, microwatts: i64) {
        if let Some(end) = self.memory.ends.iter_mut().find(|end| end.by == ReleasedBy::Job(job.0)) {
            end.claim.microwatts = microwatts;
        }
    }

    /// Adds a decision about a run.
    pub fn push(&mut self, decision: Decision) {
        self.out.push(decision);
    }

    /// Switches a node on.
    pub fn wake(&mut self, node: u32) {
        self.out.wake(node);
    }

    /// Switches a node off.
    pub fn sleep(&mut self, node: u32) {
        self.out.sleep(node);
    }

    /// Asks for a pass at `at`, which is after now.
    pub fn timer(&mut self, at: SimTime) {
        self.out.timer(at);
    }

    /// Mark of the current state.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark { puts: self.memory.puts.len(), decisions: self.out.list().len() }
    }

    /// Undoes everything since `mark`.
    pub fn rollback(&mut self, mark: Mark) {
        if self.mark() == mark {
            return;
        }
        self.version += 1;
        let Self { view, memory, out, .. } = self;
        out.truncate(mark.decisions, |job, node| match &mut memory.shared {
            Some(shared) => shared.give(node, view.jobs.need(job, view.platform)),
            None => drop(memory.free.insert(node)),
        });
        while let Some((_, _, split)) = memory.splits.pop_if(|(put, ..)| *put >= mark.puts) {
            change(&mut memory.free_parts, &split, 1);
        }
        for put in memory.puts.drain(mark.puts..) {
            self.free_units += put.units;
            self.granted -= put.watts;
            let index = memory.ends.partition_point(|end| end.key() < put.release);
            memory.ends.remove(index);
        }
    }

    /// Notes in each start whether it overtakes, which is known only at the end of a pass.
    pub fn note_overtaking(&mut self, overtakes: impl Fn(JobId) -> bool) {
        self.out.revise(|start, _| start.overtakes = overtakes(start.job));
    }

    /// Nodes with something free. Nodes for jobs that are only counted are still among them.
    pub fn free(&mut self) -> &NodeSet {
        if !self.is_free_known {
            self.memory.free.copy_from(self.view.slots.holding(1));
            self.is_free_known = true;
        }
        &self.memory.free
    }

    /// Books a start that takes `units` of the free units.
    fn book(&mut self, waiting: &Waiting, units: i64, watts: Watts) {
        self.version += 1;
        self.free_units -= units;
        self.granted += watts;
        let at = self.view.now.saturating_add(waiting.length);
        let claim = Claim { units: waiting.units, microwatts: watts.microwatts_down() };
        let release = Release { at, by: ReleasedBy::Job(waiting.key.row), claim };
        let index = self.memory.ends.partition_point(|other| *other < release);
        self.memory.ends.insert(index, release);
        self.memory.puts.push(Put { release: release.key(), units, watts });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algo::fit_list::{ClassId, QueueKey};
    use crate::policy::testing::World;
    use crate::units::SimDuration;

    /// All that can be seen of a draft.
    fn seen(draft: &mut Draft<'_>) -> (i64, Watts, Vec<Release>, Vec<u32>, String) {
        let nodes = draft.serving(JobId(0)).iter().collect();
        (draft.free_units(), draft.granted(), draft.ends().to_vec(), nodes, format!("{:?}", draft.out))
    }

    fn start(draft: &mut Draft<'_>, row: u32, length: i64, counted: bool) {
        let job = JobId(row);
        let units = draft.view.jobs.units(job, draft.view.platform);
        let count = draft.view.jobs.node_count(job);
        let key = QueueKey { tier: 0, rank: 0, submit: SimTime::default(), row };
        let waiting = Waiting { key, units, length: SimDuration::from_micros(length), watts: 0, class: ClassId::OTHER };
        if draft.serving(job).len() < count {
            return;
        }
        if counted {
            draft.count(&waiting, None);
            return;
        }
        let watts = Watts::of_system(f64::from(row));
        let chosen = draft.put(&waiting, |free, nodes| {
            free.take_lowest(count, nodes);
            Ok(Some(watts))
        });
        assert_eq!(chosen.unwrap(), Some(watts));
    }

    proptest! {
        #[test]
        fn going_back_to_a_mark_undoes_all_that_was_done_since(
            before in prop::collection::vec((0..40_u32, 0..9_i64, any::<bool>()), 0..6),
            after in prop::collection::vec((40..80_u32, 0..9_i64, any::<bool>(), any::<bool>()), 0..8),
            exclusive in any::<bool>(),
        ) {
            let world = World::new(80, 6, 3, exclusive);
            let (mut memory, mut out) = (DraftMemory::default(), Decisions::default());
            let view = world.view();
            let mut draft = Draft::new(&view, &mut memory, &mut out);
            for (row, (_, length, counted)) in (0..).zip(before) {
                start(&mut draft, row, length, counted && exclusive);
            }
            let (mark, then) = (draft.mark(), seen(&mut draft));
            for (row, (_, length, counted, alarm)) in (40..).zip(after) {
                start(&mut draft, row, length, counted && exclusive);
                if alarm {
                    draft.timer(SimTime::from_micros(length + 1));
                }
            }
            draft.rollback(mark);
            prop_assert_eq!(seen(&mut draft), then);
        }
    }

    #[test]
    fn nothing_starts_where_nothing_is_chosen() {
        let world = World::new(2, 2, 1, true);
        let (mut memory, mut out) = (DraftMemory::default(), Decisions::default());
        let view = world.view();
        let mut draft = Draft::new(&view, &mut memory, &mut out);
        let before = seen(&mut draft);
        let key = QueueKey { tier: 0, rank: 0, submit: SimTime::default(), row: 0 };
        let waiting = Waiting { key, units: 1, length: SimDuration::ZERO, watts: 0, class: ClassId::OTHER };
        assert_eq!(draft.put(&waiting, |_, _| Ok(None)).unwrap(), None);
        assert_eq!(seen(&mut draft), before);
    }
}
