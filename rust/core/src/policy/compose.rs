//! A policy made of parts: who is next, who may overtake, where, and under which budget.

use crate::algo::fit_list::{FitList, QueueKey, Waiting};
use crate::error::Result;
use crate::platform::Platform;
use crate::policy::backfill::Backfill;
use crate::policy::budget::Budget;
use crate::policy::budget::ledger::Ledger;
use crate::policy::first_runs::{Estimate, FirstRuns};
use crate::policy::order::Order;
use crate::policy::pass::{Desk, Pass, Scratch};
use crate::policy::placement::Placement;
use crate::policy::starvation::Starvation;
use crate::policy::{Decision, Decisions, Jobs, Notice, Policy, View};
use crate::units::{SimDuration, Watts};
use crate::workload::JobId;

/// The parts of a policy.
pub struct Parts {
    /// Who is next.
    pub order: Box<dyn Order>,
    /// Who may overtake.
    pub backfill: Box<dyn Backfill>,
    /// Where jobs go.
    pub placement: Box<dyn Placement>,
    /// What may be drawn in all, if there is a ceiling.
    pub power: Option<Box<dyn Budget>>,
    /// The run's seed, for what belongs to no part.
    pub seed: u64,
}

/// A scheduler composed of parts.
pub struct Composed {
    name: String,
    parts: Parts,
    queue: FitList,
    /// Submitted since the last pass; they join the queue when it is next looked at.
    submitted: Vec<JobId>,
    starvation: Option<Starvation>,
    first_runs: Option<FirstRuns>,
    ledger: Option<Ledger>,
    /// By application, of all jobs there are: made when first asked for.
    fewest_nodes: Option<Vec<Option<u32>>>,
    scratch: Scratch,
}

impl Composed {
    /// Puts a policy together for a machine.
    ///
    /// # Errors
    /// If nothing could ever start under the budget.
    pub fn new(name: impl Into<String>, parts: Parts, platform: &Platform) -> Result<Self> {
        let limit = parts.order.starvation_limit();
        let first_runs = parts.order.profiling_ratio().map(|ratio| FirstRuns::new(ratio, parts.seed));
        let ceiling = parts.power.as_ref().map(|power| power.ceiling(platform)).transpose()?;
        Ok(Self {
            name: name.into(),
            ledger: ceiling.map(|ceiling| Ledger::new(ceiling, platform, first_runs.is_some())),
            starvation: (limit != SimDuration::FOREVER).then(|| Starvation::new(limit)),
            first_runs,
            parts,
            queue: FitList::default(),
            submitted: Vec::new(),
            fewest_nodes: None,
            scratch: Scratch::default(),
        })
    }

    fn admit(&mut self, view: &View<'_>) {
        for job in std::mem::take(&mut self.submitted) {
            self.announce(view, job);
            let waiting = self.waiting(view, job);
            self.queue.insert(waiting);
        }
    }

    /// Sorts the queue anew for an order that changes as time passes.
    fn reorder(&mut self, view: &View<'_>) {
        let mut jobs: Vec<_> = self.queue.iter().map(|item| JobId(item.key.row)).collect();
        for job in std::mem::take(&mut self.submitted) {
            self.announce(view, job);
            jobs.push(job);
        }
        let mut items: Vec<_> = jobs.iter().map(|&job| self.waiting(view, job)).collect();
        items.sort_unstable_by_key(|item| item.key);
        self.queue.clear();
        for item in items {
            self.queue.insert(item);
        }
    }

    /// Tells a job that joins the queue to whoever keeps a list of their own.
    fn announce(&mut self, view: &View<'_>, job: JobId) {
        if let Some(starvation) = &mut self.starvation {
            starvation.queue(job);
        }
        if let Some(first_runs) = &mut self.first_runs {
            first_runs.queue(view.jobs, job);
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.queue(view, job);
        }
        self.parts.placement.queued(view, job);
    }

    fn waiting(&mut self, view: &View<'_>, job: JobId) -> Waiting {
        let estimate = self.estimate(view, job);
        let rank = self.parts.order.rank(view, job, estimate);
        self.needing(view, rank, job, estimate)
    }

    /// A waiting job with all it needs, the watts too if anybody counts them.
    fn needing(&mut self, view: &View<'_>, rank: i64, job: JobId, estimate: Estimate) -> Waiting {
        let least = self.ledger.as_mut().map_or(0, |ledger| ledger.quick_least(view, job, estimate).microwatts_down());
        Waiting { watts: least, ..waiting(view, rank, job) }
    }

    fn estimate(&self, view: &View<'_>, job: JobId) -> Estimate {
        self.first_runs.as_ref().map_or(Estimate::Predicted, |first_runs| first_runs.estimate(view.jobs, job))
    }

    fn pass(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        let desk = Desk {
            placement: self.parts.placement.as_mut(),
            ledger: self.ledger.as_mut(),
            first_runs: self.first_runs.as_mut(),
        };
        let mut pass = Pass::new(view, &mut self.queue, desk, &mut self.scratch, out);
        let served = match &mut self.starvation {
            Some(starvation) => serve_starving(starvation, self.parts.order.as_mut(), &mut pass)?,
            None => true,
        };
        if served {
            self.parts.backfill.select(&mut pass)?;
        }
        pass.finish()
    }

    /// Takes note of what a pass has started.
    fn settle(&mut self, view: &View<'_>, out: &Decisions) {
        self.book(view, out);
        let Some(first_runs) = &self.first_runs else { return };
        for app in first_runs.learned(view.jobs, out) {
            self.learn(view, app);
        }
        // What ran for the first time in this pass counts as predicted from now on.
        self.book(view, out);
    }

    fn book(&mut self, view: &View<'_>, out: &Decisions) {
        let Some(ledger) = &mut self.ledger else { return };
        for decision in out.list() {
            if let Decision::Start(start) = decision {
                let of = |first_runs: &FirstRuns| first_runs.estimate(view.jobs, start.job);
                let estimate = self.first_runs.as_ref().map_or(Estimate::Predicted, of);
                ledger.start(start.job, estimate, out.nodes_of(*start));
            }
        }
    }

    /// An application has a profile now: its queued jobs are estimated anew.
    fn learn(&mut self, view: &View<'_>, app: crate::workload::AppId) {
        let Some(first_runs) = &mut self.first_runs else { return };
        for job in first_runs.learn(app) {
            let before = waiting(view, self.parts.order.rank(view, job, Estimate::Tdp), job);
            if self.queue.remove(before.key).is_some() {
                let after = self.parts.order.rank(view, job, Estimate::Predicted);
                let item = self.needing(view, after, job, Estimate::Predicted);
                self.queue.insert(item);
            }
        }
    }
}

fn waiting(view: &View<'_>, rank: i64, job: JobId) -> Waiting {
    let key = QueueKey { rank, submit: view.jobs.submit(job), row: job.0 };
    let units = view.jobs.node_count(job) * view.jobs.need(job, view.platform);
    Waiting { key, units, length: view.jobs.planned(job), watts: 0 }
}

/// Starts the jobs that have waited too long, the longest wait first; false if one of them does not fit.
fn serve_starving(starvation: &mut Starvation, order: &mut dyn Order, pass: &mut Pass<'_>) -> Result<bool> {
    while let Some(job) = starvation.longest(pass.view) {
        pass.examine()?;
        let rank = order.rank(pass.view, job, pass.estimate(job));
        if let Some(place) = pass.queue.place_of(waiting(pass.view, rank, job).key) {
            let fits = match pass.queue.get(place).copied() {
                Some(waiting) => pass.fits(&waiting)?,
                None => false,
            };
            if !fits {
                return Ok(false);
            }
            pass.start(place)?;
        }
        starvation.forget();
    }
    Ok(true)
}

impl Policy for Composed {
    fn name(&self) -> &str {
        &self.name
    }

    fn notice(&mut self, _jobs: Jobs<'_>, notice: Notice) {
        match notice {
            Notice::Submitted(job) => self.submitted.push(job),
            Notice::Ended(job) => {
                if let Some(ledger) = &mut self.ledger {
                    ledger.end(job);
                }
            }
            Notice::NodeReady(_)
            | Notice::NodeOff(_)
            | Notice::NodeFailed(_)
            | Notice::BudgetChanged
            | Notice::Timer => {}
        }
    }

    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        // Every job needs something free; until there is, whoever came need not even be sorted in.
        if view.slots.free_units() > 0 && !(self.queue.is_empty() && self.submitted.is_empty()) {
            if self.parts.order.changes() {
                self.reorder(view);
            } else {
                self.admit(view);
            }
            self.parts.placement.begin(view)?;
            self.pass(view, out)?;
            self.settle(view, out);
        }
        let busy = view.platform.len() - view.slots.holding(1).len() + out.node_count();
        self.parts.placement.passed(view, busy);
        Ok(())
    }

    fn interval(&self) -> SimDuration {
        self.parts.placement.interval()
    }

    fn budget(&self) -> Option<Watts> {
        self.ledger.as_ref().map(Ledger::ceiling)
    }

    fn exceeds_budget(&mut self, view: &View<'_>, job: JobId) -> bool {
        let Some(ledger) = &mut self.ledger else { return false };
        let (own, flag) = (view.jobs.node_count(job), view.jobs.first_run(job));
        match (&self.first_runs, flag, view.jobs.app(job)) {
            (None, ..) | (_, Some(false), _) => ledger.exceeds(view, job),
            (_, Some(true), _) | (_, None, None) => ledger.exceeds_at_tdp(view, job, own),
            // Somebody must run first, and counts with TDP: the smallest job of the application at best.
            (_, None, Some(app)) => {
                let fewest = self.fewest_nodes.get_or_insert_with(|| view.jobs.fewest_nodes_by_app());
                let first = fewest[app.0 as usize].unwrap_or(own);
                ledger.exceeds(view, job) || ledger.exceeds_at_tdp(view, job, first)
            }
        }
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
