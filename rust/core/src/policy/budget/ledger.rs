//! What running jobs are predicted to add to the idle machine, kept under a ceiling.
//!
//! System power is the idle draw of all nodes and, for each node that serves a job, what the job is predicted to draw there
//! beyond it. A draw below idle counts as idle.

use std::collections::{BTreeMap, BTreeSet};

use crate::algo::node_set::NodeSet;
use crate::algo::releases::Release;
use crate::platform::Platform;
use crate::policy::View;
use crate::policy::budget::prices::{Price, Prices};
use crate::policy::first_runs::Estimate;
use crate::power::pvt::JobDraws;
use crate::units::Watts;
use crate::workload::JobId;

/// So many ended jobs may stand among the unread ones before they are thrown out.
const UNREAD: usize = 1024;

/// Relative slack of the ceiling: it must not be missed by a rounding.
const SLACK: f64 = 1e-9;

/// Running jobs and their watts beyond idle.
#[derive(Clone, Debug)]
pub struct Ledger {
    ceiling: Watts,
    /// What may be added to the idle machine, slack included.
    all: Watts,
    running: BTreeMap<u32, Running>,
    added: Watts,
    /// Jobs whose watts were not asked for yet: while the budget cannot bind they need not be summed up.
    unread: Vec<u32>,
    /// Running jobs that were summed up only later: what they give back stands in no release.
    unclaimed: BTreeSet<u32>,
    prices: Prices,
    /// The highest measured draw of a job seen, and whether all nodes busy with the hungriest jobs stay under the ceiling.
    highest_measured_w: f64,
    never_binds: Option<bool>,
    /// The most that any job with a measured draw up to the first number may draw on a node.
    widest: Option<(f64, Watts)>,
    first_runs: bool,
    idles_alike: bool,
}

/// A running job.
#[derive(Clone, Debug)]
enum Running {
    /// Its watts beyond idle.
    Summed(Watts),
    /// Where it runs, and what its draw is taken for.
    Unread(Vec<u32>, Estimate),
}

impl Ledger {
    /// Nothing runs on the machine. `first_runs` says whether jobs may count with their nodes' TDP.
    #[must_use]
    pub fn new(ceiling: Watts, platform: &Platform, first_runs: bool) -> Self {
        let all = ceiling.scaled(1.0 + SLACK).max(ceiling) - platform.idle();
        Self {
            ceiling,
            all,
            running: BTreeMap::new(),
            added: Watts::ZERO,
            unread: Vec::new(),
            unclaimed: BTreeSet::new(),
            prices: Prices::new(platform),
            highest_measured_w: 0.0,
            never_binds: None,
            widest: None,
            first_runs,
            idles_alike: platform.nodes().iter().all(|node| node.idle == platform.node(0).idle),
        }
    }

    /// The ceiling.
    #[must_use]
    pub fn ceiling(&self) -> Watts {
        self.ceiling
    }

    /// Watts that may still be added, the host's own budget respected.
    #[must_use]
    pub fn room(&self, view: &View<'_>) -> Watts {
        let host = view.budget.map(|budget| budget.scaled(1.0 + SLACK).max(budget) - view.platform.idle());
        host.map_or(self.all, |host| host.min(self.all)) - self.added
    }

    /// Microwatts that a running job gives back when it ends.
    #[must_use]
    pub fn given_back(&self, release: &Release) -> i64 {
        match self.running.get(&release.row) {
            Some(Running::Summed(watts)) if self.unclaimed.contains(&release.row) => watts.microwatts_down(),
            _ => release.claim.microwatts,
        }
    }

    /// Whether the releases of all running jobs say what they give back.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        self.unclaimed.is_empty()
    }

    /// Watts beyond idle that a job takes on these nodes.
    #[must_use]
    pub fn beyond_idle(view: &View<'_>, job: JobId, estimate: Estimate, nodes: &[u32]) -> Watts {
        let draws = view.predicted.of_job(view.jobs.app(job), view.known_draw(job));
        let sum = nodes.iter().map(|&node| beyond_idle_on(view, draws, estimate, node)).sum();
        held(view, job, sum)
    }

    /// What a queued job takes beyond idle, wherever it goes.
    #[must_use]
    pub fn price(&mut self, view: &View<'_>, job: JobId, estimate: Estimate) -> Price {
        self.prices.of(view, job, estimate)
    }

    /// Watts that may be added to the idle machine.
    #[must_use]
    pub fn all(&self) -> Watts {
        self.all
    }

    /// Whether no job runs.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether the fewest watts are the fewest beyond idle: where nodes idle alike.
    #[must_use]
    pub fn idles_alike(&self) -> bool {
        self.idles_alike
    }

    /// Moves as many nodes of `free` as a job asks for to the end of `taken`: those where it adds least, ties to the lower
    /// id.
    pub fn take_cheapest(view: &View<'_>, job: JobId, estimate: Estimate, free: &mut NodeSet, taken: &mut Vec<u32>) {
        let draws = view.predicted.of_job(view.jobs.app(job), view.known_draw(job));
        let mut nodes: Vec<u32> = free.iter().collect();
        nodes.sort_by_key(|&node| (beyond_idle_on(view, draws, estimate, node), node));
        nodes.truncate(view.jobs.node_count(job) as usize);
        for &node in &nodes {
            free.remove(node);
        }
        taken.extend(nodes);
    }

    /// Whether the job at its nodes' TDP would pass the ceiling wherever it goes.
    #[must_use]
    pub fn exceeds_at_tdp(&mut self, view: &View<'_>, job: JobId) -> bool {
        self.prices.unkept(view, job, Estimate::Tdp).least > self.all
    }

    /// Whether the job would pass the ceiling on whatever nodes of an otherwise idle machine.
    #[must_use]
    pub fn exceeds(&mut self, view: &View<'_>, job: JobId) -> bool {
        let measured = view.known_draw(job).watts();
        let most = |node| view.predicted.highest_draw(measured.max(self.highest_measured_w), node);
        if !self.widest.is_some_and(|(of, _)| of >= measured) {
            self.widest = Some((measured, (0..view.platform.len()).map(most).max().unwrap_or_default()));
        }
        // A job that would fit with the hungriest draw on every node need not be looked at closely.
        let count = view.jobs.node_count(job);
        let fits = self.widest.is_some_and(|(_, most)| most.times(count) <= self.all);
        !fits && self.prices.unkept(view, job, Estimate::Predicted).least > self.all
    }

    /// A job runs on these nodes; returns the microwatts it will give back, as far as they are counted: where the budget
    /// `binds`.
    pub fn start(&mut self, view: &View<'_>, job: JobId, estimate: Estimate, nodes: &[u32], binds: bool) -> i64 {
        self.prices.forget(job);
        if !binds {
            self.running.insert(job.0, Running::Unread(nodes.to_vec(), estimate));
            self.unread.push(job.0);
            return 0;
        }
        let watts = Self::beyond_idle(view, job, estimate, nodes);
        self.added += watts;
        self.running.insert(job.0, Running::Summed(watts));
        watts.microwatts_down()
    }

    /// A job runs no more.
    pub fn end(&mut self, job: JobId) {
        if let Some(Running::Summed(watts)) = self.running.remove(&job.0) {
            self.added -= watts;
            self.unclaimed.remove(&job.0);
        }
    }

    /// Sums up what has started since it was last asked for.
    fn read(&mut self, view: &View<'_>) {
        for row in self.unread.drain(..) {
            let Some(Running::Unread(nodes, estimate)) = self.running.get(&row) else { continue };
            let watts = Self::beyond_idle(view, JobId(row), *estimate, nodes);
            self.added += watts;
            self.running.insert(row, Running::Summed(watts));
            self.unclaimed.insert(row);
        }
    }

    /// Notes a job that joins the queue.
    pub fn queue(&mut self, view: &View<'_>, job: JobId) {
        let measured = view.known_draw(job).watts();
        if measured > self.highest_measured_w {
            self.highest_measured_w = measured;
            self.never_binds = None;
        }
    }

    /// Whether some choice of jobs and nodes could pass the ceiling. If none can, it need not be asked before each start.
    pub fn may_bind(&mut self, view: &View<'_>) -> bool {
        let binds = view.budget.is_some() || !self.never_binds(view);
        if binds {
            self.read(view);
        } else if self.unread.len() > 2 * self.running.len() + UNREAD {
            self.unread.retain(|row| self.running.contains_key(row));
        }
        binds
    }

    fn never_binds(&mut self, view: &View<'_>) -> bool {
        let never = self.never_binds.unwrap_or_else(|| {
            let highest = (0..view.platform.len()).map(|node| {
                let tdp = if self.first_runs { view.platform.node(node).tdp } else { Watts::ZERO };
                let draw = view.predicted.highest_draw(self.highest_measured_w, node).max(tdp);
                draw.max(view.platform.node(node).idle) - view.platform.node(node).idle
            });
            highest.sum::<Watts>() <= self.all
        });
        self.never_binds = Some(never);
        never
    }
}

/// Where nodes are shared, the share of whole nodes' watts that falls to the slots a job holds.
pub(super) fn held(view: &View<'_>, job: JobId, whole: Watts) -> Watts {
    whole.share(view.jobs.need(job, view.platform), view.platform.shared_slots())
}

pub(super) fn beyond_idle_on(view: &View<'_>, draws: JobDraws<'_>, estimate: Estimate, node: u32) -> Watts {
    let own = view.platform.node(node);
    let draw = match estimate {
        Estimate::Predicted => draws.on(node),
        Estimate::Tdp => own.tdp,
    };
    draw.max(own.idle) - own.idle
}
