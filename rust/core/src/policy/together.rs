//! Starts of a pass that are placed together at its end, by a placement that matches them jointly.
//!
//! Their draw is known only once all are matched to nodes. Under a budget that may bind, bounds save most of that work:
//! nothing is matched while even the hungriest nodes would keep the jobs within the room, nor as soon as not even the
//! best nodes would.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::budget::draw::beyond_idle;
use crate::policy::budget::prices::Price;
use crate::policy::placement::Placement;
use crate::units::Watts;
use crate::workload::JobId;

/// Jobs that start together so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Together {
    pub(super) jobs: Vec<JobId>,
    /// Bounds of their draw beyond idle: on the best nodes there are, and on the hungriest.
    least: Watts,
    most: Watts,
    /// Draw on the nodes that they would get together; none if it is not known yet.
    sum: Option<Watts>,
    nodes: Vec<u32>,
    free: NodeSet,
}

/// A job that would join the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joining {
    job: JobId,
    price: Price,
    /// Draw of the list with this job, if it is known.
    sum: Option<Watts>,
}

/// Placement, free nodes and knowledge by which a list is matched.
pub(super) struct Host<'a> {
    pub(super) ask: Ask<'a>,
    pub(super) placement: &'a mut dyn Placement,
    pub(super) free: &'a NodeSet,
}

impl Joining {
    /// A job at this price.
    pub(super) fn new(job: JobId, price: Price) -> Self {
        Self { job, price, sum: None }
    }
}

impl Together {
    pub(super) fn clear(&mut self) {
        self.jobs.clear();
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
        self.jobs.push(joining.job);
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
        host.placement.match_all(&host.ask, &self.jobs, &mut self.free, &mut self.nodes)?;
        let mut left = self.nodes.as_slice();
        let watts = self.jobs.iter().map(|&job| {
            let own = left.split_off(..host.ask.view.jobs.node_count(job) as usize).unwrap_or_default();
            (job, beyond_idle(&host.ask, job, own))
        });
        Ok(watts.collect())
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
        self.jobs.push(joining.job);
        let matched = self.matched(host);
        self.jobs.pop();
        let sum = matched?.iter().map(|(_, watts)| *watts).sum();
        joining.sum = Some(sum);
        Ok(sum)
    }
}
