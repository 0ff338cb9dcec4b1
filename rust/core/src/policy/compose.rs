//! A policy made of parts: who is next, who may overtake, where, and under which budget.

use crate::algo::fit_list::{FitList, QueueKey, Waiting};
use crate::error::Result;
use crate::platform::Platform;
use crate::policy::backfill::Backfill;
use crate::policy::budget::draw::beyond_idle;
use crate::policy::budget::{Budget, Power};
use crate::policy::first_runs::{Estimate, FirstRuns};
use crate::policy::held::Held;
use crate::policy::order::Order;
use crate::policy::pass::{Desk, Pass, Scratch};
use crate::policy::placement::Placement;
use crate::policy::starvation::Starvation;
use crate::policy::{Decisions, Jobs, Notice, Policy, Rejection, View};
use crate::units::{SimDuration, Watts};
use crate::workload::JobId;

/// The parts of a policy.
#[derive(Clone)]
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
#[derive(Clone)]
pub struct Composed {
    name: String,
    parts: Parts,
    queue: FitList,
    /// Submitted since the last pass; they join the queue when it is next looked at.
    submitted: Vec<JobId>,
    starvation: Option<Starvation>,
    first_runs: Option<FirstRuns>,
    power: Option<Power>,
    held: Held,
    /// How many of `submitted` were asked whether they are to be held.
    judged: usize,
    scratch: Scratch,
}

impl Composed {
    /// Puts a policy together for a machine.
    ///
    /// # Errors
    /// If nothing could ever start under the budget.
    pub fn new(name: impl Into<String>, mut parts: Parts, platform: &Platform) -> Result<Self> {
        parts.backfill.queue_in(parts.order.as_ref());
        let limit = parts.order.starvation_limit();
        let first_runs = parts.order.profiling_ratio().map(|ratio| FirstRuns::new(ratio, parts.seed));
        let power =
            parts.power.as_deref().map(|budget| Power::new(budget, platform, first_runs.is_some())).transpose()?;
        Ok(Self {
            name: name.into(),
            power,
            starvation: (limit != SimDuration::FOREVER).then(|| Starvation::new(limit)),
            first_runs,
            parts,
            queue: FitList::default(),
            submitted: Vec::new(),
            held: Held::default(),
            judged: 0,
            scratch: Scratch::default(),
        })
    }

    /// Holds the jobs that cannot start before their application has a profile, and rejects those that never will.
    fn judge(&mut self, view: &View<'_>, out: &mut Decisions) {
        let (Some(first_runs), Some(power)) = (&self.first_runs, &mut self.power) else { return };
        let held = &mut self.held;
        let mut kept = self.judged;
        for index in self.judged..self.submitted.len() {
            let job = self.submitted[index];
            match first_runs.teaches(view.jobs, job) {
                Some(app) if power.exceeds(view, job, Estimate::Tdp) => held.hold(app, job),
                teaches => {
                    if let Some(app) = teaches {
                        held.expect(app);
                    }
                    self.submitted[kept] = job;
                    kept += 1;
                }
            }
        }
        self.submitted.truncate(kept);
        self.judged = kept;
        held.take_hopeless().into_iter().for_each(|job| out.reject(job, Rejection::NoProfile));
    }

    fn take_submitted(&mut self) -> Vec<JobId> {
        self.judged = 0;
        std::mem::take(&mut self.submitted)
    }

    fn admit(&mut self, view: &View<'_>) {
        for job in self.take_submitted() {
            self.join(view, job);
        }
    }

    fn join(&mut self, view: &View<'_>, job: JobId) {
        self.announce(view, job);
        let waiting = self.waiting(view, job);
        self.queue.insert(waiting);
    }

    /// Sorts the queue anew for an order that changes as time passes.
    fn reorder(&mut self, view: &View<'_>) {
        let (order, first_runs) = (&mut self.parts.order, &self.first_runs);
        self.queue.rekey(|waiting| {
            let job = JobId(waiting.key.row);
            let estimate = estimate(first_runs.as_ref(), view, job);
            waiting.key.rank = order.rank(view, job, estimate);
        });
        self.admit(view);
    }

    /// Tells a job that joins the queue to the parts that keep lists of their own.
    fn announce(&mut self, view: &View<'_>, job: JobId) {
        if let Some(starvation) = &mut self.starvation {
            starvation.queue(view.jobs, job);
        }
        if let Some(first_runs) = &mut self.first_runs {
            first_runs.queue(view.jobs, job);
        }
        if let Some(power) = &mut self.power {
            power.ceiling.joined(view, job);
        }
        self.parts.placement.queued(view, job);
    }

    fn waiting(&mut self, view: &View<'_>, job: JobId) -> Waiting {
        let estimate = estimate(self.first_runs.as_ref(), view, job);
        let rank = self.parts.order.rank(view, job, estimate);
        self.needing(view, rank, job, estimate)
    }

    /// A waiting job with all it needs, the watts too if they are counted.
    fn needing(&mut self, view: &View<'_>, rank: i64, job: JobId, estimate: Estimate) -> Waiting {
        let price = |power: &mut Power| power.prices.of(view, job, estimate);
        let least = self.power.as_mut().map_or(0, |power| price(power).least.microwatts_down());
        Waiting { watts: least, ..waiting(view, rank, job) }
    }

    fn pass(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<i64> {
        let desk = Desk {
            placement: self.parts.placement.as_mut(),
            power: self.power.as_mut(),
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

    /// Takes note of what a pass has started, and writes into the decisions what it claims.
    fn settle(&mut self, view: &View<'_>, out: &mut Decisions) {
        self.claim(view, out);
        if let Some(first_runs) = &self.first_runs {
            for app in first_runs.learned(view.jobs, out) {
                self.learn(view, app);
            }
        }
    }

    /// What each start claims of the watts: what it was granted, and what it counts with once this pass is over. What runs
    /// for the first time counts as predicted from then on.
    fn claim(&mut self, view: &View<'_>, out: &mut Decisions) {
        let Some(power) = &mut self.power else { return };
        let first_runs = self.first_runs.as_ref();
        let learned = first_runs.map_or_else(Vec::new, |first_runs| first_runs.learned(view.jobs, out));
        out.claim(|job, nodes| {
            power.prices.forget(job);
            let granted = beyond_idle(view, job, estimate(first_runs, view, job), nodes);
            let is_learned = view.jobs.app(job).is_some_and(|app| learned.contains(&app));
            let learns = is_learned && view.jobs.first_run(job).is_none();
            (granted, if learns { beyond_idle(view, job, Estimate::Predicted, nodes) } else { granted })
        });
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
        for job in self.held.release(app) {
            self.join(view, job);
        }
    }
}

/// What the job's draw is taken for.
fn estimate(first_runs: Option<&FirstRuns>, view: &View<'_>, job: JobId) -> Estimate {
    first_runs.map_or(Estimate::Predicted, |first_runs| first_runs.estimate(view.jobs, job))
}

fn waiting(view: &View<'_>, rank: i64, job: JobId) -> Waiting {
    let key = QueueKey { rank, submit: view.jobs.submit(job), row: job.0 };
    Waiting { key, units: view.jobs.units(job, view.platform), length: view.jobs.planned(job), watts: 0 }
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
            pass.start_first(place)?;
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
            Notice::Ended(_)
            | Notice::NodeReady(_)
            | Notice::NodeOff(_)
            | Notice::NodeFailed(_)
            | Notice::BudgetChanged
            | Notice::Timer => {}
        }
    }

    fn decide(&mut self, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        self.judge(view, out);
        let mut free_units = view.slots.free_units();
        // Every job needs something free; until there is, those that came need not even be sorted in.
        if free_units > 0 && !(self.queue.is_empty() && self.submitted.is_empty()) {
            if self.parts.order.changes() {
                self.reorder(view);
            } else {
                self.admit(view);
            }
            self.parts.placement.begin(view)?;
            free_units = self.pass(view, out)?;
            self.settle(view, out);
        }
        self.parts.placement.passed(view, view.platform.units() - free_units);
        Ok(())
    }

    fn interval(&self) -> SimDuration {
        self.parts.placement.interval()
    }

    fn budget(&self) -> Option<Watts> {
        self.power.as_ref().map(|power| power.ceiling.draw())
    }

    fn leaves_out(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        self.parts.backfill.leaves_out(jobs, job)
    }

    fn exceeds_budget(&mut self, view: &View<'_>, job: JobId) -> bool {
        let Some(power) = &mut self.power else { return false };
        let at_tdp = match (&self.first_runs, view.jobs.first_run(job)) {
            (None, _) | (_, Some(false)) => false,
            // Without a name there never is a profile; with one the job is held until there is.
            (_, first_run) => first_run == Some(true) || view.jobs.app(job).is_none(),
        };
        power.exceeds(view, job, if at_tdp { Estimate::Tdp } else { Estimate::Predicted })
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
