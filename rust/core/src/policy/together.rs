//! Starts of a pass that are placed together at its end, by a placement that matches them jointly.
//!
//! Their draw is known only once all are matched to nodes. Under a budget that may bind, bounds save most of that work:
//! nothing is matched while even the hungriest nodes would keep the jobs within the room, nor as soon as not even the
//! best nodes would.

use crate::algo::horizon::NodesByCell;
use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::platform::cells::Cells;
use crate::policy::analyzer::Ask;
use crate::policy::budget::draw::beyond_idle;
use crate::policy::budget::price::Price;
use crate::policy::placement::Placement;
use crate::units::Watts;
use crate::workload::JobId;

/// Jobs that start together so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Together {
    jobs: Vec<JobId>,
    /// Nodes of each cell that each of them gets, where nodes differ; otherwise empty.
    splits: Vec<NodesByCell>,
    /// Bounds of their draw beyond idle: on the best nodes there are, and on the hungriest.
    least: Watts,
    most: Watts,
    /// Draw on the nodes that they would get together; none if it is not known yet.
    sum: Option<Watts>,
    nodes: Vec<u32>,
    free: NodeSet,
}

/// A job that would join the list.
#[derive(Clone, Debug)]
pub(super) struct Joining {
    job: JobId,
    price: Price,
    /// Nodes of each cell that it gets, and its licences, where nodes differ.
    pub(super) split: Option<NodesByCell>,
    /// Draw of the list with this job, if it is known.
    sum: Option<Watts>,
}

/// Placement, free nodes and knowledge by which a list is matched.
pub(super) struct Host<'a> {
    pub(super) ask: Ask<'a>,
    pub(super) placement: &'a mut dyn Placement,
    pub(super) free: &'a NodeSet,
}

/// Jobs that are matched to nodes together, each with its nodes of each cell where nodes differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Starts<'a> {
    pub(super) jobs: &'a [JobId],
    splits: &'a [NodesByCell],
}

impl Starts<'_> {
    /// Moves the nodes of the jobs from `free` to the end of `nodes`, one job's after the other's.
    pub(super) fn place(
        self,
        ask: &Ask<'_>,
        placement: &mut dyn Placement,
        free: &mut NodeSet,
        nodes: &mut Vec<u32>,
    ) -> Result<()> {
        if let Some(shares) = ask.view.shares {
            return self.place_by_cell(shares.cells(), ask, placement, free, nodes);
        }
        let all: Vec<_> = self.jobs.iter().map(|&job| (job, ask.view.jobs.node_count(job))).collect();
        placement.match_all(ask, &all, free, nodes)
    }

    /// The same cell by cell: each job gets as many nodes of each as its split says.
    fn place_by_cell(
        self,
        cells: &Cells,
        ask: &Ask<'_>,
        placement: &mut dyn Placement,
        free: &mut NodeSet,
        nodes: &mut Vec<u32>,
    ) -> Result<()> {
        let mut of_jobs = vec![Vec::new(); self.jobs.len()];
        let (mut own, mut found) = (NodeSet::empty(free.capacity()), Vec::new());
        for (cell, all) in (0..).zip(cells.sets()) {
            let parts: Vec<_> = self.splits.iter().map(|split| count_in(split, cell)).collect();
            let here: Vec<_> = self.jobs.iter().copied().zip(parts.iter().copied()).filter(|part| part.1 > 0).collect();
            if here.is_empty() {
                continue;
            }
            own.copy_common(free, all);
            found.clear();
            placement.match_all(ask, &here, &mut own, &mut found)?;
            free.remove_all(&found);
            let mut left = found.as_slice();
            for (job, count) in of_jobs.iter_mut().zip(parts) {
                job.extend_from_slice(left.split_off(..count as usize).unwrap_or_default());
            }
        }
        nodes.extend(of_jobs.iter().flatten());
        Ok(())
    }
}

/// Number of nodes of a cell in a split.
fn count_in(split: &NodesByCell, cell: u16) -> u32 {
    let count = split.iter().find(|(thing, _)| *thing == cell).map_or(0, |(_, count)| *count);
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Joining {
    /// A job at this price, on so many nodes of each cell where nodes differ.
    pub(super) fn new(job: JobId, price: Price, split: Option<NodesByCell>) -> Self {
        Self { job, price, split, sum: None }
    }
}

impl Together {
    pub(super) fn clear(&mut self) {
        self.jobs.clear();
        self.splits.clear();
        (self.least, self.most, self.sum) = (Watts::ZERO, Watts::ZERO, Some(Watts::ZERO));
    }

    /// Most watts of `room` that are left for another job.
    pub(super) fn left(&self, room: Watts) -> Watts {
        room - self.least
    }

    /// True if the list and one more job stay within `room`. Matches them only if the bounds do not decide it.
    pub(super) fn fits(&mut self, joining: &mut Joining, room: Watts, host: &mut Host<'_>) -> Result<bool> {
        if self.least + joining.price.least > room {
            return Ok(false);
        }
        Ok(self.most + joining.price.most <= room || self.sum_with(joining, host)? <= room)
    }

    /// Watts that one more job adds to the draw of the list.
    pub(super) fn added(&mut self, joining: &mut Joining, host: &mut Host<'_>) -> Result<Watts> {
        Ok(self.sum_with(joining, host)?.max(self.sum(host)?) - self.sum(host)?)
    }

    pub(super) fn push(&mut self, joining: &Joining) {
        self.add(joining);
        self.least += joining.price.least;
        self.most += joining.price.most;
        self.sum = joining.sum;
    }

    /// Matches the list to nodes; returns each job with its draw beyond idle.
    pub(super) fn matched(&mut self, host: &mut Host<'_>) -> Result<Vec<(JobId, Watts)>> {
        if self.jobs.is_empty() {
            return Ok(Vec::new());
        }
        self.free.copy_from(host.free);
        self.nodes.clear();
        let Self { jobs, splits, free, nodes, .. } = self;
        Starts { jobs, splits }.place(&host.ask, host.placement, free, nodes)?;
        let mut left = self.nodes.as_slice();
        let watts = self.jobs.iter().map(|&job| {
            let own = left.split_off(..host.ask.view.jobs.node_count(job) as usize).unwrap_or_default();
            (job, beyond_idle(&host.ask, job, own))
        });
        Ok(watts.collect())
    }

    /// The jobs of the list, and where they start.
    pub(super) fn starts(&self) -> Starts<'_> {
        Starts { jobs: &self.jobs, splits: &self.splits }
    }

    fn add(&mut self, joining: &Joining) {
        self.jobs.push(joining.job);
        self.splits.extend(joining.split.clone());
    }

    /// Draw of the list beyond idle.
    fn sum(&mut self, host: &mut Host<'_>) -> Result<Watts> {
        if let Some(sum) = self.sum {
            return Ok(sum);
        }
        let sum = self.matched(host)?.iter().map(|(_, watts)| *watts).sum();
        self.sum = Some(sum);
        Ok(sum)
    }

    fn sum_with(&mut self, joining: &mut Joining, host: &mut Host<'_>) -> Result<Watts> {
        if let Some(sum) = joining.sum {
            return Ok(sum);
        }
        self.add(joining);
        let matched = self.matched(host);
        self.jobs.pop();
        self.splits.truncate(self.jobs.len());
        let sum = matched?.iter().map(|(_, watts)| *watts).sum();
        joining.sum = Some(sum);
        Ok(sum)
    }
}
