//! A policy made of parts: who is next, who may overtake, where.

use crate::algo::fit_list::{FitList, QueueKey, Waiting};
use crate::error::Result;
use crate::policy::backfill::Backfill;
use crate::policy::order::Order;
use crate::policy::pass::{Pass, Scratch};
use crate::policy::placement::Placement;
use crate::policy::{Decisions, Jobs, Notice, Policy, View};
use crate::units::SimDuration;
use crate::workload::JobId;

/// The parts of a policy.
pub struct Parts {
    /// Who is next.
    pub order: Box<dyn Order>,
    /// Who may overtake.
    pub backfill: Box<dyn Backfill>,
    /// Where jobs go.
    pub placement: Box<dyn Placement>,
}

/// A scheduler composed of parts.
pub struct Composed {
    name: String,
    parts: Parts,
    queue: FitList,
    /// Submitted since the last pass; they join the queue when it is next looked at.
    submitted: Vec<JobId>,
    scratch: Scratch,
}

impl Composed {
    /// Puts a policy together.
    #[must_use]
    pub fn new(name: impl Into<String>, parts: Parts) -> Self {
        Self { name: name.into(), parts, queue: FitList::default(), submitted: Vec::new(), scratch: Scratch::default() }
    }

    fn admit(&mut self, view: &View<'_>) {
        for job in self.submitted.drain(..) {
            self.queue.insert(waiting(view, self.parts.order.as_ref(), job));
        }
    }

    /// Sorts the queue anew for an order that changes as time passes.
    fn reorder(&mut self, view: &View<'_>) {
        let mut jobs: Vec<_> = self.queue.iter().map(|item| JobId(item.key.row)).collect();
        jobs.append(&mut self.submitted);
        let mut items: Vec<_> = jobs.iter().map(|&job| waiting(view, self.parts.order.as_ref(), job)).collect();
        items.sort_unstable_by_key(|item| item.key);
        self.queue.clear();
        for item in items {
            self.queue.insert(item);
        }
    }
}

fn waiting(view: &View<'_>, order: &dyn Order, job: JobId) -> Waiting {
    let key = QueueKey { rank: order.rank(view.jobs, job, view.now), submit: view.jobs.submit(job), row: job.0 };
    let units = view.jobs.node_count(job) * view.jobs.need(job, view.platform);
    Waiting { key, units, length: view.jobs.planned(job) }
}

impl Policy for Composed {
    fn name(&self) -> &str {
        &self.name
    }

    fn notice(&mut self, _jobs: Jobs<'_>, notice: Notice) {
        match notice {
            Notice::Submitted(job) => self.submitted.push(job),
            Notice::Ended(_)
            | Notice::NodeReady(_)
            | Notice::NodeOff(_)
            | Notice::NodeFailed(_)
            | Notice::BudgetChanged
            | Notice::Timer => {}
        }
    }

    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        // Every job needs something free; until there is, whoever came need not even be sorted in.
        if view.slots.free_units() == 0 || (self.queue.is_empty() && self.submitted.is_empty()) {
            return Ok(());
        }
        if self.parts.order.changes() {
            self.reorder(view);
        } else {
            self.admit(view);
        }
        let mut pass = Pass::new(view, &mut self.queue, self.parts.placement.as_mut(), &mut self.scratch, out);
        self.parts.backfill.select(&mut pass)?;
        pass.finish()
    }

    fn interval(&self) -> SimDuration {
        self.parts.placement.interval()
    }
}

/// The rank of a number that orders a queue: lower numbers first, equal numbers equal.
#[must_use]
pub fn rank_of(value: f64) -> i64 {
    let bits = (value + 0.0).to_bits().cast_signed();
    if bits < 0 { i64::MIN.wrapping_sub(bits) } else { bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_keep_the_order_of_numbers() {
        let numbers = [f64::NEG_INFINITY, -2.5, -1.0, -0.0, 1e-300, 1.0, 3.0, f64::INFINITY];
        assert!(numbers.windows(2).all(|pair| rank_of(pair[0]) < rank_of(pair[1])));
        assert_eq!(rank_of(-0.0), rank_of(0.0));
    }
}
