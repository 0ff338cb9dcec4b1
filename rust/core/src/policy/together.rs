//! Starts of a pass that are placed together at its end, by a placement that matches them jointly.
//!
//! What they draw is known only once all are matched to nodes. Under a budget that may bind, while even the hungriest nodes
//! would keep them within the room, and as soon as not even the best nodes would, that need not be found out.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::budget::draw::beyond_idle;
use crate::policy::budget::prices::Price;
use crate::policy::placement::Joint;
use crate::units::Watts;
use crate::workload::JobId;

/// The list so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Together {
    pub(super) jobs: Vec<JobId>,
    /// What they draw beyond idle on the best nodes there are, and on the hungriest.
    least: Watts,
    most: Watts,
    /// What they draw on the nodes they would get together; none if that was not asked yet.
    sum: Option<Watts>,
    nodes: Vec<u32>,
    free: NodeSet,
}

/// A job that would join the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joining {
    job: JobId,
    price: Price,
    /// What the list draws with it, if that was asked.
    sum: Option<Watts>,
}

/// Whom the list asks.
pub(super) struct Host<'a> {
    pub(super) ask: Ask<'a>,
    pub(super) joint: &'a mut dyn Joint,
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

    /// What is left of `room` for another job, at the most.
    pub(super) fn left(&self, room: Watts) -> Watts {
        room - self.least
    }

    /// Whether the list and one more job stay within `room`.
    pub(super) fn fits(&mut self, joining: &mut Joining, room: Watts, host: &mut Host<'_>) -> Result<bool> {
        if self.least + joining.price.least > room {
            return Ok(false);
        }
        Ok(self.most + joining.price.most <= room || self.sum_with(joining, host)? <= room)
    }

    /// What one more job adds to what the list draws.
    pub(super) fn added(&mut self, joining: &mut Joining, host: &mut Host<'_>) -> Result<Watts> {
        Ok(self.sum_with(joining, host)?.max(self.sum(host)?) - self.sum(host)?)
    }

    pub(super) fn push(&mut self, joining: &Joining) {
        self.jobs.push(joining.job);
        self.least += joining.price.least;
        self.most += joining.price.most;
        self.sum = joining.sum;
    }

    /// The list, and what each of it draws beyond idle.
    pub(super) fn matched(&mut self, host: &mut Host<'_>) -> Result<Vec<(JobId, Watts)>> {
        if self.jobs.is_empty() {
            return Ok(Vec::new());
        }
        self.free.copy_from(host.free);
        self.nodes.clear();
        host.joint.match_all(&host.ask, &self.jobs, &mut self.free, &mut self.nodes)?;
        let mut left = self.nodes.as_slice();
        let watts = self.jobs.iter().map(|&job| {
            let own = left.split_off(..host.ask.view.jobs.node_count(job) as usize).unwrap_or_default();
            (job, beyond_idle(&host.ask, job, own))
        });
        Ok(watts.collect())
    }

    /// What the list draws beyond idle.
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
