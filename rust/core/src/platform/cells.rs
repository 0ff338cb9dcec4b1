//! Cells of alike nodes, and wants of jobs: heterogeneous nodes as the engine sees them.
//!
//! Nodes that are alike in features and resources form a *cell*. A job's request is a *want*, of which there are few:
//! the cells that can serve it, the plainest first, and the licences that it takes. The meaning of names is settled
//! before: here are only numbers.

use crate::algo::fit_list::{ByClass, ClassId};
use crate::algo::horizon::{NodesByCell, Wish};
use crate::algo::node_set::NodeSet;
use crate::error::{Result, config};
use crate::workload::JobId;

/// Reason why a job can never be served: no suitable node, or not enough of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// No node satisfies its constraint.
    Constraint,
    /// None of those has as many GPUs.
    Gpus,
    /// None of those has as much memory.
    Memory,
    /// Fewer nodes satisfy all that than it asks for.
    Nodes,
    /// The platform has fewer licences.
    Licences,
}

/// Request of a job.
#[derive(Clone, Debug, Default)]
pub struct Want {
    /// Cells that can serve it, in the order in which it takes nodes.
    pub cells: Vec<u16>,
    /// Licences: the kind, counted from 0, and the number.
    pub licences: Vec<(u16, i64)>,
    /// GPUs of each of its nodes.
    pub gpus: i64,
    /// Memory of each of its nodes.
    pub memory: i64,
    /// Reason why nothing can ever serve it, if so.
    pub lack: Option<Lack>,
}

/// Cells and wants as a caller has them.
#[derive(Clone, Debug, Default)]
pub struct CellColumns {
    /// The cell of each node.
    pub of_node: Vec<u16>,
    /// The distinct wants.
    pub wants: Vec<Want>,
    /// Index of each job's want.
    pub of_job: Vec<u32>,
    /// Licences of each kind.
    pub licences: Vec<i64>,
    /// GPUs and memory of each node, where jobs share them; otherwise empty.
    pub stock: Vec<(i64, i64)>,
}

/// Cells of nodes, and wants of jobs.
#[derive(Clone, Debug)]
pub struct Cells {
    of_node: Vec<u16>,
    nodes: Vec<NodeSet>,
    wants: Vec<Want>,
    /// `allowed[want][cell]`: true if the cell can serve the want.
    allowed: Vec<Vec<bool>>,
    of_job: Vec<u32>,
    licences: Vec<i64>,
    stock: Vec<(i64, i64)>,
    /// Greatest common divisor of all memory that nodes have and jobs need: amounts in it are small numbers.
    memory_unit: i64,
}

impl CellColumns {
    /// Checks that all numbers are valid references.
    ///
    /// # Errors
    /// If one is not.
    pub fn into_cells(self, jobs: usize, nodes: u32) -> Result<Cells> {
        let Self { of_node, mut wants, of_job, licences, stock } = self;
        let count = of_node.iter().map(|&cell| usize::from(cell) + 1).max().unwrap_or(0);
        let is_cell = |cell: &u16| usize::from(*cell) < count;
        let is_licence = |(kind, _): &(u16, i64)| usize::from(*kind) < licences.len();
        let width = u16::try_from(count + licences.len()).ok();
        let fits = of_node.len() == nodes as usize
            && of_job.len() == jobs
            && of_job.iter().all(|&want| (want as usize) < wants.len())
            && (stock.is_empty() || stock.len() == of_node.len())
            && wants.iter().all(|want| want.cells.iter().all(is_cell) && want.licences.iter().all(is_licence));
        if !fits || width.is_none() {
            return Err(config("cells", "numbers out of range", "a cell for each node, a want for each job"));
        }
        let mut sets = vec![NodeSet::empty(nodes); count];
        for (node, &cell) in (0..).zip(&of_node) {
            sets[usize::from(cell)].insert(node);
        }
        #[expect(clippy::cast_possible_truncation, reason = "`width` says that it fits")]
        let first_licence = count as u16;
        for (kind, _) in wants.iter_mut().flat_map(|want| &mut want.licences) {
            *kind += first_licence;
        }
        let needs = wants.iter().map(|want| want.memory);
        let memory_unit = stock.iter().map(|&(_, memory)| memory).chain(needs).fold(0, common_divisor).max(1);
        let all = |want: &Want| (0..count).map(|cell| want.cells.iter().any(|&own| usize::from(own) == cell)).collect();
        let allowed = wants.iter().map(all).collect();
        Ok(Cells { allowed, nodes: sets, of_node, wants, of_job, licences, stock, memory_unit })
    }
}

/// Greatest common divisor of two numbers that are not below zero; 0 if both are.
fn common_divisor(one: i64, other: i64) -> i64 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

impl Cells {
    /// One cell of all nodes, which every job wants.
    #[must_use]
    pub fn alike(jobs: usize, nodes: u32) -> Self {
        Self {
            of_node: vec![0; nodes as usize],
            nodes: vec![NodeSet::full(nodes)],
            wants: vec![Want { cells: vec![0], ..Want::default() }],
            allowed: vec![vec![true]],
            of_job: vec![0; jobs],
            licences: Vec::new(),
            stock: Vec::new(),
            memory_unit: 1,
        }
    }

    /// The cells as columns.
    #[must_use]
    pub fn columns(&self) -> CellColumns {
        let mut wants = self.wants.clone();
        let first_licence = u16::try_from(self.nodes.len()).unwrap_or(u16::MAX);
        wants.iter_mut().flat_map(|want| &mut want.licences).for_each(|(kind, _)| *kind -= first_licence);
        CellColumns {
            of_node: self.of_node.clone(),
            wants,
            of_job: self.of_job.clone(),
            licences: self.licences.clone(),
            stock: self.stock.clone(),
        }
    }

    /// True if nodes or jobs must be told apart: there are several cells, or something is counted besides nodes.
    #[must_use]
    pub fn divide(&self) -> bool {
        let counts = |want: &Want| {
            let takes = want.gpus > 0 || want.memory > 0;
            want.lack.is_none() && (!want.licences.is_empty() || takes && !self.stock.is_empty())
        };
        self.nodes.len() > 1 || self.wants.iter().any(counts)
    }

    /// True if these are cells for more jobs in which nothing has changed for the earlier jobs.
    #[must_use]
    pub fn goes_on(&self, before: &Self) -> bool {
        let same_nodes =
            self.of_node == before.of_node && self.stock == before.stock && self.licences == before.licences;
        let same = |(one, other): (&Want, &Want)| {
            let words = |want: &Want| (want.cells.clone(), want.licences.clone(), want.gpus, want.memory, want.lack);
            words(one) == words(other)
        };
        let known = self.wants.iter().zip(&before.wants);
        same_nodes
            && self.wants.len() == before.wants.len()
            && known.into_iter().all(same)
            && self.of_job.starts_with(&before.of_job)
    }

    /// Request of the job.
    #[must_use]
    pub fn want(&self, job: JobId) -> &Want {
        &self.wants[self.number(job)]
    }

    /// Index of the job's want.
    #[must_use]
    pub fn number(&self, job: JobId) -> usize {
        self.of_job[job.0 as usize] as usize
    }

    /// Number of wants.
    #[must_use]
    pub fn wants(&self) -> usize {
        self.wants.len()
    }

    /// Reason why a job of so many nodes can never start, if it cannot.
    #[must_use]
    pub fn lack(&self, job: JobId, count: u32) -> Option<Lack> {
        let want = self.want(job);
        let there: u32 = want.cells.iter().map(|&cell| self.nodes[usize::from(cell)].len()).sum();
        want.lack.or_else(|| (there < count).then_some(Lack::Nodes))
    }

    /// The same if only these nodes may serve the job.
    #[must_use]
    pub fn lack_within(&self, job: JobId, count: u32, nodes: &NodeSet) -> Option<Lack> {
        let (want, mut both) = (self.want(job), NodeSet::empty(0));
        let mut there = 0;
        for &cell in &want.cells {
            both.copy_common(&self.nodes[usize::from(cell)], nodes);
            there += both.len();
        }
        want.lack.or_else(|| (there < count).then_some(Lack::Nodes))
    }

    /// True if the node can serve jobs of a want of this number; false if there is no such want.
    #[must_use]
    pub fn serves(&self, want: usize, node: u32) -> bool {
        self.allowed.get(want).is_some_and(|allowed| allowed[usize::from(self.of_node[node as usize])])
    }

    /// True if the node can serve the job.
    #[must_use]
    pub fn may_use(&self, job: JobId, node: u32) -> bool {
        self.serves(self.number(job), node)
    }

    /// The nodes among these that can serve the job.
    #[must_use]
    pub fn serving(&self, job: JobId, nodes: &NodeSet) -> NodeSet {
        let mut own = NodeSet::empty(nodes.capacity());
        own.insert_all(&nodes.iter().filter(|&node| self.may_use(job, node)).collect::<Vec<_>>());
        own
    }

    /// Need of cells and licences of a job of so many nodes.
    #[must_use]
    pub fn wish(&self, job: JobId, count: u32) -> Wish<'_> {
        let want = self.want(job);
        Wish { any_of: &want.cells, count: i64::from(count), each: &want.licences, also: None }
    }

    /// For each want, the number of nodes that could serve it with these free amounts; 0 where its licences are short.
    pub fn rooms<'a>(&'a self, free: &'a [i64]) -> impl Iterator<Item = i64> + 'a {
        let wish = |want: &'a Want| Wish { any_of: &want.cells, count: 0, each: &want.licences, also: None };
        self.wants.iter().map(move |want| wish(want).room(free))
    }

    /// Fewest units of jobs, by class, that do not fit into these free amounts.
    #[must_use]
    pub fn refused(&self, free: &[i64]) -> ByClass {
        let (mut refused, mut others) = (ByClass::NONE, 0);
        for (number, room) in self.rooms(free).enumerate() {
            match ClassId::OTHER.in_slot(number) {
                ClassId::OTHER => others = others.max(room),
                class => refused.lower(class, room + 1),
            }
        }
        refused.lower(ClassId::OTHER, others + 1);
        refused
    }

    /// Amounts that the job takes of each thing on these nodes.
    #[must_use]
    pub fn split_on(&self, job: JobId, nodes: &[u32]) -> NodesByCell {
        let want = self.want(job);
        let on = |cell: u16| nodes.iter().filter(|&&node| self.of_node[node as usize] == cell).count();
        let mut split: NodesByCell = match want.cells[..] {
            [only] => vec![(only, on(only))],
            ref several => several.iter().map(|&cell| (cell, on(cell))).collect(),
        }
        .into_iter()
        .map(|(cell, count)| (cell, i64::try_from(count).unwrap_or(i64::MAX)))
        .collect();
        split.extend_from_slice(&want.licences);
        split
    }

    /// The cell of a node; none if there is no such node.
    #[must_use]
    pub fn cell_of(&self, node: u32) -> Option<u16> {
        self.of_node.get(node as usize).copied()
    }

    /// Number of nodes.
    #[expect(clippy::len_without_is_empty, reason = "a machine has nodes")]
    #[must_use]
    pub fn len(&self) -> u32 {
        u32::try_from(self.of_node.len()).unwrap_or(u32::MAX)
    }

    /// The nodes of a cell; none if it is a licence.
    #[must_use]
    pub fn nodes(&self, thing: u16) -> Option<&NodeSet> {
        self.nodes.get(usize::from(thing))
    }

    /// All cells, each with its nodes.
    #[must_use]
    pub fn sets(&self) -> &[NodeSet] {
        &self.nodes
    }

    /// Number of cells and kinds of licences.
    #[must_use]
    pub fn width(&self) -> usize {
        self.nodes.len() + self.licences.len()
    }

    /// Licences of each kind.
    #[must_use]
    pub fn licences(&self) -> &[i64] {
        &self.licences
    }

    /// GPUs and memory of each node, where jobs share them.
    #[must_use]
    pub fn stock(&self) -> &[(i64, i64)] {
        &self.stock
    }

    /// Memory of nodes and needs of jobs are whole multiples of this.
    #[must_use]
    pub fn memory_unit(&self) -> i64 {
        self.memory_unit
    }

    /// Class of the job in the queue, put in the slot of its want.
    #[must_use]
    pub fn in_slot(&self, job: JobId, class: ClassId) -> ClassId {
        class.in_slot(self.number(job))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(cells: &[u16], licences: &[(u16, i64)]) -> Want {
        Want { cells: cells.to_vec(), licences: licences.to_vec(), ..Want::default() }
    }

    fn columns() -> CellColumns {
        CellColumns {
            of_node: vec![0, 0, 1],
            wants: vec![want(&[0, 1], &[]), want(&[1], &[(0, 2)])],
            of_job: vec![0, 1],
            licences: vec![3],
            stock: Vec::new(),
        }
    }

    #[test]
    fn a_job_takes_of_cells_and_licences_what_its_nodes_are() {
        let cells = columns().into_cells(2, 3).unwrap();
        assert_eq!(cells.split_on(JobId(0), &[1, 2]), [(0, 1), (1, 1)]);
        assert_eq!(cells.split_on(JobId(1), &[2]), [(1, 1), (2, 2)]);
        assert_eq!(cells.wish(JobId(0), 2).split(&[1, 1, 3]), Some(vec![(0, 1), (1, 1)]));
        assert_eq!(cells.wish(JobId(1), 1).split(&[2, 1, 1]), None);
    }

    #[test]
    fn what_can_never_be_is_told_apart() {
        let cells = columns().into_cells(2, 3).unwrap();
        assert_eq!([cells.lack(JobId(0), 3), cells.lack(JobId(1), 2)], [None, Some(Lack::Nodes)]);
        assert!(cells.may_use(JobId(0), 0) && !cells.may_use(JobId(1), 0) && cells.may_use(JobId(1), 2));
    }

    #[test]
    fn one_cell_without_anything_counted_divides_nothing() {
        let plain = CellColumns {
            of_node: vec![0; 3],
            wants: vec![want(&[0], &[]), Want { lack: Some(Lack::Gpus), licences: vec![(0, 9)], ..Want::default() }],
            ..columns()
        };
        assert!(!plain.clone().into_cells(2, 3).unwrap().divide());
        assert!(columns().into_cells(2, 3).unwrap().divide());
        let shared = CellColumns { stock: vec![(4, 0); 3], ..plain.clone() };
        let takes = Want { gpus: 1, ..want(&[0], &[]) };
        assert!(!shared.clone().into_cells(2, 3).unwrap().divide());
        assert!(CellColumns { wants: vec![takes.clone(); 2], ..shared }.into_cells(2, 3).unwrap().divide());
        assert!(!CellColumns { wants: vec![takes; 2], ..plain }.into_cells(2, 3).unwrap().divide());
    }

    #[test]
    fn numbers_that_name_nothing_are_refused() {
        for wrong in [
            CellColumns { of_node: vec![0], ..columns() },
            CellColumns { of_job: vec![0, 2], ..columns() },
            CellColumns { wants: vec![want(&[7], &[]); 2], ..columns() },
            CellColumns { wants: vec![want(&[0], &[(1, 1)]); 2], ..columns() },
        ] {
            assert!(wrong.into_cells(2, 3).is_err());
        }
    }
}
