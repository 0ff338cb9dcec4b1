//! What a job would add to the idle machine, before it is known where it goes.

use std::collections::BTreeMap;

use crate::algo::fit_list::{ByKind, Kind};
use crate::algo::gallop::partition_near;
use crate::platform::Platform;
use crate::policy::View;
use crate::policy::analyzer::{Ask, Estimate};
use crate::policy::budget::draw::{Counted, beyond_idle, counted, held};
use crate::policy::class::JobClass;
use crate::units::Watts;
use crate::workload::JobId;

/// Watts beyond idle of a job on as many nodes as it asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// On the nodes where it adds least.
    pub least: Watts,
    /// On average over all nodes.
    pub mean: Watts,
    /// On the nodes where it adds most.
    pub most: Watts,
}

/// Lists that are kept: where every job brings another cap, each would have its own.
const MOST_LISTS: usize = 256;

/// Watts beyond idle of jobs alike on one node.
#[derive(Clone, Debug)]
struct List {
    /// By node.
    on: Vec<Watts>,
    /// Cheapest first and summed up.
    sums: Vec<Watts>,
    /// The same in whole microwatts, rounded down.
    microwatts: Vec<i64>,
    /// On how many nodes a job fitted when that was last asked.
    fit: usize,
}

/// Prices of the jobs that are queued: by class, and by job for those that bring a measured draw of their own.
#[derive(Clone, Debug)]
pub struct Prices {
    lists: BTreeMap<(JobClass, Estimate), List>,
    kinds: BTreeMap<JobClass, Kind>,
    own: BTreeMap<u32, Price>,
    /// Idle draws, highest first, and the sums of the first of them.
    idles: Vec<Watts>,
    idle_sums: Vec<Watts>,
}

impl Prices {
    /// No price is known yet.
    #[must_use]
    pub fn new(platform: &Platform) -> Self {
        let mut idles: Vec<_> = platform.nodes().iter().map(|node| node.idle).collect();
        idles.sort_unstable_by(|a, b| b.cmp(a));
        let mut sum = Watts::ZERO;
        let mut idle_sums = vec![sum];
        idle_sums.extend(idles.iter().map(|&idle| {
            sum += idle;
            sum
        }));
        Self { lists: BTreeMap::new(), kinds: BTreeMap::new(), own: BTreeMap::new(), idles, idle_sums }
    }

    /// The price of a job that is queued; to be forgotten when it starts.
    pub fn of(&mut self, ask: &Ask<'_>, job: JobId) -> Price {
        let estimate = ask.estimate(job);
        if !follows_own(ask.view, job, estimate) {
            return self.unkept(ask, job, estimate);
        }
        if let Some(price) = self.own.get(&job.0) {
            return *price;
        }
        let price = self.unkept(ask, job, estimate);
        self.own.insert(job.0, price);
        price
    }

    /// A job has left the queue.
    pub fn forget(&mut self, job: JobId) {
        self.own.remove(&job.0);
    }

    /// The same, and nothing is kept for the job.
    pub fn unkept(&mut self, ask: &Ask<'_>, job: JobId, estimate: Estimate) -> Price {
        let view = ask.view;
        let count = view.jobs.node_count(job);
        let (least, most, all) = if follows_own(view, job, estimate) {
            let counted = counted(ask, job, estimate);
            match counted.constant() {
                Some(draw) => self.of_constant(draw, count as usize),
                None => of_draws(everywhere(view, &counted), count as usize),
            }
        } else {
            let sums = &self.list_of(ask, job, estimate).sums;
            let all = sums[sums.len() - 1];
            let first = |nodes: usize| nodes.checked_sub(1).map_or(Watts::ZERO, |last| sums[last.min(sums.len() - 1)]);
            (first(count as usize), all - first(sums.len().saturating_sub(count as usize)), all)
        };
        let mean = held(view, job, all).share(count, view.platform.len());
        Price { least: held(view, job, least), mean, most: held(view, job, most) }
    }

    /// Of a draw that is the same on every node: least where nodes idle highest. Returns least, most and the sum over all.
    fn of_constant(&self, draw: Watts, count: usize) -> (Watts, Watts, Watts) {
        // From here on nodes idle below the draw.
        let first = self.idles.partition_point(|&idle| idle >= draw);
        let between = |from: usize, to: usize| {
            let from = from.max(first);
            if from >= to {
                return Watts::ZERO;
            }
            let nodes = u32::try_from(to - from).unwrap_or(u32::MAX);
            draw.times(nodes) - (self.idle_sums[to] - self.idle_sums[from])
        };
        let nodes = self.idles.len();
        let count = count.min(nodes);
        (between(0, count), between(nodes - count, nodes), between(0, nodes))
    }

    /// Watts beyond idle that a job takes on these nodes.
    pub fn on(&mut self, ask: &Ask<'_>, job: JobId, nodes: &[u32]) -> Watts {
        let estimate = ask.estimate(job);
        if follows_own(ask.view, job, estimate) {
            return beyond_idle(ask, job, nodes);
        }
        let on = &self.list_of(ask, job, estimate).on;
        held(ask.view, job, nodes.iter().map(|&node| on[node as usize]).sum())
    }

    /// Watts beyond idle of a job on each node, if it shares them with others alike.
    pub fn of_nodes(&mut self, ask: &Ask<'_>, job: JobId) -> Option<&[Watts]> {
        let estimate = ask.estimate(job);
        (!follows_own(ask.view, job, estimate)).then(|| self.list_of(ask, job, estimate).on.as_slice())
    }

    /// Jobs like which others wait that draw the same on each node.
    pub fn kind_of(&mut self, ask: &Ask<'_>, job: JobId) -> Kind {
        let class = JobClass::of(ask.view, job);
        let is_alike =
            !class.follows_own() && ask.estimate(job) == Estimate::Predicted && !ask.view.predicted.has_caps();
        if !is_alike || !ask.view.platform.is_exclusive() {
            return Kind::OTHER;
        }
        let new = Kind::numbered(self.kinds.len());
        match self.kinds.get(&class) {
            Some(&kind) => kind,
            // Those that have no number of their own are not worth remembering.
            None if new == Kind::OTHER => new,
            None => *self.kinds.entry(class).or_insert(new),
        }
    }

    /// Lowers `refused` to the fewest nodes of each kind that take more than so many microwatts wherever they are.
    pub fn refuse(&mut self, microwatts: i64, refused: &mut ByKind) {
        for (&class, &kind) in &self.kinds {
            if let Some(list) = self.lists.get_mut(&(class, Estimate::Predicted)) {
                list.fit = partition_near(&list.microwatts, list.fit, |&sum| sum <= microwatts);
                refused.lower(kind, i64::try_from(list.fit).unwrap_or(i64::MAX).saturating_add(1));
            }
        }
    }

    fn list_of(&mut self, ask: &Ask<'_>, job: JobId, estimate: Estimate) -> &List {
        let class = JobClass::of(ask.view, job);
        // Under caps also a first run is a matter of its class.
        let is_any = estimate == Estimate::Tdp && class.under.is_none() && !ask.view.predicted.has_caps();
        let of = if is_any { JobClass::ANY } else { class };
        if self.lists.len() >= MOST_LISTS && !self.lists.contains_key(&(of, estimate)) {
            self.lists.clear();
        }
        self.lists.entry((of, estimate)).or_insert_with(|| {
            let on = everywhere(ask.view, &counted(ask, job, estimate));
            let mut sums = on.clone();
            sums.sort_unstable();
            let mut sum = Watts::ZERO;
            for watts in &mut sums {
                sum += *watts;
                *watts = sum;
            }
            let microwatts = sums.iter().map(|sum| sum.microwatts_down()).collect();
            List { on, sums, microwatts, fit: 0 }
        })
    }
}

/// Whether the price is the job's alone: it is counted with the draw it brings.
fn follows_own(view: &View<'_>, job: JobId, estimate: Estimate) -> bool {
    estimate == Estimate::Predicted && JobClass::of(view, job).follows_own()
}

/// Least, most and the sum over all nodes, found without sorting them.
fn of_draws(mut watts: Vec<Watts>, count: usize) -> (Watts, Watts, Watts) {
    let all = watts.iter().copied().sum();
    if count >= watts.len() {
        return (all, all, all);
    }
    watts.select_nth_unstable(count);
    let least = watts[..count].iter().copied().sum();
    let dearest = watts.len() - count;
    watts.select_nth_unstable(dearest);
    (least, watts[dearest..].iter().copied().sum(), all)
}

fn everywhere(view: &View<'_>, counted: &Counted<'_>) -> Vec<Watts> {
    (0..view.platform.len()).map(|node| counted.on(node)).collect()
}
