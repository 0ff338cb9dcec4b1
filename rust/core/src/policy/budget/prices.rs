//! Prices: watts that a job would add to the idle machine, before its nodes are known.

use std::collections::BTreeMap;

use crate::algo::fit_list::{ByKind, Kind};
use crate::algo::gallop::partition_near;
use crate::cluster::counted::Estimate;
use crate::cluster::shares::Shares;
use crate::platform::Platform;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::budget::draw::{beyond_idle, counted};
use crate::policy::class::JobClass;
use crate::units::Watts;
use crate::workload::JobId;

/// Watts beyond idle of a job on as many nodes as it asks for, of those that can serve it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// Watts on the nodes where it adds least.
    pub least: Watts,
    /// Average over all of them.
    pub mean: Watts,
    /// Watts on the nodes where it adds most.
    pub most: Watts,
}

/// Most lists that are kept: where every job brings another cap, each would need its own.
const MOST_LISTS: usize = 256;

/// Key of jobs that add the same watts on each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alike {
    class: JobClass,
    estimate: Estimate,
    /// Number of their want, where nodes differ in what jobs ask for.
    want: usize,
    /// Slowdown by the system's caps, as bits, where a model gives it: their least watts follow from it.
    bound_ratio: Option<u64>,
}

/// Watts beyond idle of jobs alike on one node.
#[derive(Clone, Debug)]
struct List {
    /// Watts on each node.
    on: Vec<Watts>,
    /// Prefix sums over the nodes that can serve them, cheapest first.
    sums: Vec<Watts>,
    /// The same in whole microwatts, rounded down.
    microwatts: Vec<i64>,
    /// Number of nodes that fitted when this was last asked, where the next search begins.
    fit: usize,
}

/// Prices of the jobs that are queued: by class, and by job for those that bring a measured draw of their own.
#[derive(Clone, Debug)]
pub struct Prices {
    lists: BTreeMap<Alike, List>,
    kinds: BTreeMap<JobClass, Kind>,
    own: BTreeMap<u32, Price>,
    /// Idle draws, highest first, and their prefix sums.
    idles: Vec<Watts>,
    idle_sums: Vec<Watts>,
}

impl Prices {
    /// No prices known yet.
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

    /// Price of a queued job; to be forgotten when it starts.
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

    /// Forgets the price of a job that has left the queue.
    pub fn forget(&mut self, job: JobId) {
        self.own.remove(&job.0);
    }

    /// The same for any job, and nothing is kept for it.
    pub fn unkept(&mut self, ask: &Ask<'_>, job: JobId, estimate: Estimate) -> Price {
        let view = ask.view;
        let count = view.jobs.node_count(job);
        let (least, most, all, nodes) = if follows_own(view, job, estimate) {
            let counted = counted(ask, job, estimate);
            match counted.constant().filter(|_| view.shares.is_none()) {
                Some(draw) => self.of_constant(draw, count as usize),
                None => of_draws(serving(view, job).map(|node| counted.on(node)).collect(), count as usize),
            }
        } else {
            let sums = &self.list_of(ask, job, estimate).sums;
            let all = sums.last().copied().unwrap_or_default();
            let first = |nodes: usize| nodes.min(sums.len()).checked_sub(1).map_or(Watts::ZERO, |last| sums[last]);
            (first(count as usize), all - first(sums.len().saturating_sub(count as usize)), all, sums.len())
        };
        let mean = view.held(job, all).share(count, u32::try_from(nodes).unwrap_or(u32::MAX).max(1));
        Price { least: view.held(job, least), mean, most: view.held(job, most) }
    }

    /// Price of a draw that is the same on every node: least where nodes idle highest. Returns least, most, the sum
    /// over all nodes, and the number of nodes.
    fn of_constant(&self, draw: Watts, count: usize) -> (Watts, Watts, Watts, usize) {
        // Nodes from here on idle below the draw.
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
        (between(0, count), between(nodes - count, nodes), between(0, nodes), nodes)
    }

    /// Watts beyond idle that a job takes on these nodes.
    pub fn on(&mut self, ask: &Ask<'_>, job: JobId, nodes: &[u32]) -> Watts {
        let estimate = ask.estimate(job);
        if follows_own(ask.view, job, estimate) {
            return beyond_idle(ask, job, nodes);
        }
        let on = &self.list_of(ask, job, estimate).on;
        ask.view.held(job, nodes.iter().map(|&node| on[node as usize]).sum())
    }

    /// Watts beyond idle of a job on each node; none if its price is its own.
    pub fn of_nodes(&mut self, ask: &Ask<'_>, job: JobId) -> Option<&[Watts]> {
        let estimate = ask.estimate(job);
        (!follows_own(ask.view, job, estimate)).then(|| self.list_of(ask, job, estimate).on.as_slice())
    }

    /// Kind of the queued jobs that draw the same on each node.
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
            // Kinds without a number are not worth remembering.
            None if new == Kind::OTHER => new,
            None => *self.kinds.entry(class).or_insert(new),
        }
    }

    /// Lowers `refused` to the fewest nodes of each kind that take more than `microwatts` on any nodes.
    pub fn refuse(&mut self, microwatts: i64, refused: &mut ByKind) {
        for (&class, &kind) in &self.kinds {
            let alike = Alike { class, estimate: Estimate::Predicted, want: 0, bound_ratio: None };
            if let Some(list) = self.lists.get_mut(&alike) {
                list.fit = partition_near(&list.microwatts, list.fit, |&sum| sum <= microwatts);
                refused.lower(kind, i64::try_from(list.fit).unwrap_or(i64::MAX).saturating_add(1));
            }
        }
    }

    fn list_of(&mut self, ask: &Ask<'_>, job: JobId, estimate: Estimate) -> &List {
        let view = ask.view;
        let class = JobClass::of(view, job);
        // Under caps even the price of a first run depends on its class.
        let is_any = estimate == Estimate::Tdp && class.under.is_none() && !view.predicted.has_caps();
        let class = if is_any { JobClass::ANY } else { class };
        let want = view.shares.map_or(0, |shares| shares.cells().number(job));
        let bound_ratio = view.predicted.bound_ratio(view.jobs.app(job), view.known_draw(job)).map(f64::to_bits);
        let key = Alike { class, estimate, want, bound_ratio };
        if self.lists.len() >= MOST_LISTS && !self.lists.contains_key(&key) {
            self.lists.clear();
        }
        self.lists.entry(key).or_insert_with(|| {
            let counted = counted(ask, job, estimate);
            let on: Vec<_> = (0..view.platform.len()).map(|node| counted.on(node)).collect();
            let mut sums: Vec<_> = serving(view, job).map(|node| on[node as usize]).collect();
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

/// True if the price is the job's alone: it is counted with the draw that it brings, or with caps made for it.
fn follows_own(view: &View<'_>, job: JobId, estimate: Estimate) -> bool {
    (estimate == Estimate::Predicted || view.predicted.has_caps()) && JobClass::of(view, job).follows_own()
}

/// Least, most, the sum over all nodes, and the number of nodes; found by selection, without sorting.
fn of_draws(mut watts: Vec<Watts>, count: usize) -> (Watts, Watts, Watts, usize) {
    let (all, nodes) = (watts.iter().copied().sum(), watts.len());
    if count >= nodes {
        return (all, all, all, nodes);
    }
    watts.select_nth_unstable(count);
    let least = watts[..count].iter().copied().sum();
    let dearest = watts.len() - count;
    watts.select_nth_unstable(dearest);
    (least, watts[dearest..].iter().copied().sum(), all, nodes)
}

/// The nodes that can serve the job, ascending.
fn serving<'a>(view: &View<'a>, job: JobId) -> impl Iterator<Item = u32> + use<'a> {
    let cells = view.shares.map(Shares::cells);
    (0..view.platform.len()).filter(move |&node| cells.is_none_or(|cells| cells.may_use(job, node)))
}
