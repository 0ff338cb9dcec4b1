//! Free capacity of each node in a window of time, and its simplest form: whole nodes, free or not.

use crate::algo::horizon::NodeNeed;
use crate::algo::node_set::NodeSet;

/// Free capacity of each node in a window.
pub trait Freedom: Clone + PartialEq + 'static {
    /// Data by which needs are read: the jobs for which a need stands, and the nodes that they may take. It is not
    /// stored here, so that windows can outlive it.
    type Facts<'c>;

    /// A job's need, prepared for many checks.
    type Ask<'c>;

    /// Capacity taken or given back on some nodes, prepared for many windows.
    type Lot<'c, 'n>;

    /// Prepares a need.
    fn ask<'c>(facts: &'c Self::Facts<'c>, need: &NodeNeed) -> Self::Ask<'c>;

    /// Prepares so many slots on each of `nodes`, in the memory of `set`.
    fn lot<'c, 'n>(
        &self,
        facts: &'c Self::Facts<'c>,
        held: (&'n [u32], i32),
        set: &'n mut NodeSet,
    ) -> Self::Lot<'c, 'n>;

    /// Sets `nodes` to those that have what the job asks for; true if there are as many as it needs.
    fn fitting(&self, ask: &Self::Ask<'_>, nodes: &mut NodeSet) -> bool;

    /// Keeps of `nodes`, which a job may take, those that have what it asks for in this window, too; true if there are
    /// still as many as it needs.
    fn keep_fitting(&self, ask: &Self::Ask<'_>, nodes: &mut NodeSet) -> bool;

    /// Makes this equal to `other`, keeping its memory.
    fn copy_from(&mut self, other: &Self);

    /// True if there are as many nodes as the job needs, each with what it asks of a node.
    #[must_use]
    fn suffices(&self, ask: &Self::Ask<'_>) -> bool;

    /// True if [`Freedom::suffices`] answers from a count, without a look at nodes.
    #[must_use]
    fn is_counted(&self) -> bool {
        false
    }

    /// Takes slots away on nodes; false if whole nodes were to be taken and one was not free.
    fn take(&mut self, lot: &Self::Lot<'_, '_>) -> bool;

    /// Gives back what was taken; false if whole nodes were to be given back and one was free.
    fn give(&mut self, lot: &Self::Lot<'_, '_>) -> bool;

    /// Makes a node of which nothing was free free again with so many slots; false if it is a whole node that was free
    /// already.
    fn open(&mut self, facts: &Self::Facts<'_>, node: u32, slots: i32) -> bool;

    /// Makes nothing of a node free, whatever is held of it; false if it is a whole node that was not free.
    fn close(&mut self, facts: &Self::Facts<'_>, node: u32) -> bool;
}

/// Whole nodes, free or not: one is held by one promise at a time.
impl Freedom for NodeSet {
    type Facts<'c> = ();

    /// Number of nodes.
    type Ask<'c> = u32;

    type Lot<'c, 'n> = &'n NodeSet;

    fn ask(_facts: &(), need: &NodeNeed) -> u32 {
        need.nodes
    }

    fn lot<'n>(&self, _facts: &(), (nodes, _): (&'n [u32], i32), set: &'n mut NodeSet) -> &'n NodeSet {
        set.clear(self.capacity());
        set.insert_all(nodes);
        set
    }

    fn fitting(&self, ask: &u32, nodes: &mut NodeSet) -> bool {
        nodes.copy_from(self);
        self.suffices(ask)
    }

    fn keep_fitting(&self, ask: &u32, nodes: &mut NodeSet) -> bool {
        nodes.keep_common(self);
        nodes.len() >= *ask
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

    fn take(&mut self, lot: &&NodeSet) -> bool {
        let were_free = self.remove_set(lot);
        debug_assert!(were_free, "a node is held twice");
        were_free
    }

    fn give(&mut self, lot: &&NodeSet) -> bool {
        let were_held = self.insert_set(lot);
        debug_assert!(were_held, "a node is given back twice");
        were_held
    }

    fn open(&mut self, _facts: &(), node: u32, _slots: i32) -> bool {
        self.insert(node)
    }

    fn close(&mut self, _facts: &(), node: u32) -> bool {
        self.remove(node)
    }
}
