//! Parts of each cell and of each licence that running jobs hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::algo::horizon::NodesByCell;
use crate::algo::releases::{Release, ReleasedBy};
use crate::platform::cells::Cells;
use crate::platform::slots::Slots;
use crate::workload::JobId;

/// Shares of running jobs, on a machine whose nodes differ.
#[derive(Clone, Debug)]
pub struct Shares {
    cells: Arc<Cells>,
    /// Licences that no job holds.
    licences: Vec<i64>,
    /// Share of each running job, by row.
    held: BTreeMap<u32, NodesByCell>,
}

impl Shares {
    /// Shares if nothing runs.
    #[must_use]
    pub fn new(cells: Arc<Cells>) -> Self {
        Self { licences: cells.licences().to_vec(), cells, held: BTreeMap::new() }
    }

    /// The cells.
    #[must_use]
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// Takes the cells for a workload with more jobs.
    pub fn grow(&mut self, cells: Arc<Cells>) {
        self.cells = cells;
    }

    /// The kind of licence of which the job needs more than are free, if there is one.
    #[must_use]
    pub fn short_of(&self, job: JobId) -> Option<usize> {
        let first = self.cells.sets().len();
        let kinds = self.cells.want(job).licences.iter().map(|&(thing, need)| (usize::from(thing) - first, need));
        kinds.into_iter().find(|&(kind, need)| self.licences[kind] < need).map(|(kind, _)| kind)
    }

    /// Adds the share of a job that starts on these nodes.
    pub fn begin(&mut self, job: JobId, nodes: &[u32]) {
        self.take_licences(job, 1);
        self.held.insert(job.0, self.cells.split_on(job, nodes));
    }

    /// Removes the share of a job that is over.
    pub fn end(&mut self, job: JobId) {
        if self.held.remove(&job.0).is_some() {
            self.take_licences(job, -1);
        }
    }

    fn take_licences(&mut self, job: JobId, sign: i64) {
        let first = self.cells.sets().len();
        for &(thing, need) in &self.cells.want(job).licences {
            self.licences[usize::from(thing) - first] -= sign * need;
        }
    }

    /// Writes the free amounts of each cell, then of each licence, into `free`, on a machine of whole nodes.
    pub fn free(&self, slots: &Slots, free: &mut Vec<i64>) {
        free.clear();
        let idle = slots.holding(1).words();
        let common = |words: &[u64]| words.iter().zip(idle).map(|(one, other)| (one & other).count_ones()).sum::<u32>();
        free.extend(self.cells.sets().iter().map(|set| i64::from(common(set.words()))));
        free.extend_from_slice(&self.licences);
    }

    /// Licences that no job holds, of each kind.
    #[must_use]
    pub fn licences(&self) -> &[i64] {
        &self.licences
    }

    /// Amounts that a release gives back: the share of the job in that row, a node that was out of service, or nodes
    /// that slept.
    #[must_use]
    pub fn of_release(&self, release: &Release) -> Option<NodesByCell> {
        match release.by {
            ReleasedBy::Job(row) => self.held.get(&row).cloned(),
            ReleasedBy::Cell(cell) => Some(vec![(cell, release.claim.units)]),
            ReleasedBy::Node(node) => self.cells.cell_of(node).map(|cell| vec![(cell, 1)]),
            ReleasedBy::Budget => None,
        }
    }
}
