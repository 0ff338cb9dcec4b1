//! Prices: watts that a job would add to the idle machine, before its nodes are known.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::algo::fit_list::{ByClass, ClassId};
use crate::algo::gallop::partition_near;
use crate::algo::node_set::NodeSet;
use crate::cluster::counted::Estimate;
use crate::cluster::shares::Shares;
use crate::platform::queues::Queues;
use crate::platform::scope::Scope;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::budget::draw::{beyond_idle, counted};
pub use crate::policy::budget::firsts::Edition;
use crate::policy::budget::firsts::Firsts;
use crate::policy::budget::price::{OnEach, OnNodes, Price};
use crate::policy::class::JobClass;
use crate::units::Watts;
use crate::workload::JobId;

/// Most classes that are numbered: where every job brings another cap, each would need its own. Other jobs have prices
/// of their own.
const MOST_CLASSES: usize = 256;

/// Key of jobs that add the same watts on each node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alike {
    class: JobClass,
    estimate: Estimate,
    /// Number of their want, where nodes differ in what jobs ask for.
    want: usize,
    /// Number of their queue, where that has some of the nodes.
    queue: Option<u16>,
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

/// Prices of the jobs that are queued: by class, and by job for those that are like no other.
#[derive(Clone, Debug)]
pub struct Prices {
    classes: BTreeMap<Alike, ClassId>,
    /// Lists by number of the class.
    lists: Vec<List>,
    /// Classes with slots in the summaries of the queue, in the order of these.
    in_slots: Vec<ClassId>,
    /// Sums of their prices over free nodes.
    firsts: Firsts,
    own: BTreeMap<u32, Price>,
    /// Idle draws, highest first, and their prefix sums.
    idles: Vec<Watts>,
    idle_sums: Vec<Watts>,
}

impl Prices {
    /// No prices known yet.
    #[must_use]
    pub fn new(scope: Scope<'_>) -> Self {
        let mut idles: Vec<_> = scope.draws().map(|(_, node)| node.idle).collect();
        idles.sort_unstable_by(|a, b| b.cmp(a));
        let mut sum = Watts::ZERO;
        let mut idle_sums = vec![sum];
        idle_sums.extend(idles.iter().map(|&idle| {
            sum += idle;
            sum
        }));
        let (classes, own) = (BTreeMap::new(), BTreeMap::new());
        Self { classes, lists: Vec::new(), in_slots: Vec::new(), firsts: Firsts::default(), own, idles, idle_sums }
    }

    /// Class of a job that joins the queue: of those that add the same watts on each node.
    pub fn class_of(&mut self, ask: &Ask<'_>, job: JobId) -> ClassId {
        self.class_by(ask, job, ask.estimate(job))
    }

    fn class_by(&mut self, ask: &Ask<'_>, job: JobId, estimate: Estimate) -> ClassId {
        let view = ask.view;
        if follows_own(view, job, estimate) {
            return ClassId::OTHER;
        }
        let key = Alike::of(view, job, estimate);
        let new = ClassId::numbered(self.lists.len());
        let entry = match self.classes.entry(key) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(_) if self.lists.len() == MOST_CLASSES => return ClassId::OTHER,
            Entry::Vacant(entry) => entry,
        };
        let list = List::of(ask, job, estimate);
        // Under caps the watts of a start are not those of the price, and on shared nodes units are slots.
        let differs_in_size = estimate == Estimate::Predicted
            && !view.predicted.has_caps()
            && view.platform.is_exclusive()
            && view.shares.is_none();
        let in_slot = new.in_slot(self.in_slots.len());
        let has_slot = differs_in_size && in_slot.slot() > 0 && self.firsts.add(in_slot, &list.on);
        if has_slot {
            self.in_slots.push(in_slot);
        }
        self.lists.push(list);
        *entry.insert(if has_slot { in_slot } else { new })
    }

    /// Price of a job, which is kept for one that is like no other: to be forgotten when it starts.
    pub fn of(&mut self, ask: &Ask<'_>, job: JobId) -> Price {
        let class = self.class_of(ask, job);
        self.in_class(ask, job, class)
    }

    /// Price of a queued job of a class.
    pub fn in_class(&mut self, ask: &Ask<'_>, job: JobId, class: ClassId) -> Price {
        if let Some(list) = class.index().map(|index| &self.lists[index]) {
            return list.price(ask.view, job);
        }
        if let Some(price) = self.own.get(&job.0) {
            return *price;
        }
        let price = self.own(ask, job, ask.estimate(job));
        self.own.insert(job.0, price);
        price
    }

    /// Forgets the price of a job that has left the queue.
    pub fn forget(&mut self, job: JobId) {
        self.own.remove(&job.0);
    }

    /// Price of any job; nothing is kept for the job itself.
    pub fn unkept(&mut self, ask: &Ask<'_>, job: JobId, estimate: Estimate) -> Price {
        match self.class_by(ask, job, estimate).index() {
            Some(index) => self.lists[index].price(ask.view, job),
            None => self.own(ask, job, estimate),
        }
    }

    /// Price of a job that is like no other.
    fn own(&self, ask: &Ask<'_>, job: JobId, estimate: Estimate) -> Price {
        let (view, count) = (ask.view, ask.view.jobs.node_count(job));
        let counted = counted(ask, job, estimate);
        let (least, most, all, nodes) =
            match counted.constant().filter(|_| view.shares.is_none() && own_nodes(view, job).is_none()) {
                Some(draw) => self.of_constant(draw, count as usize),
                None => of_draws(serving(view, job).map(|node| counted.on(node)).collect(), count as usize),
            };
        Price::new(view, job, (least, most), (all, nodes))
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

    /// Watts beyond idle that a queued job of a class takes on these nodes.
    #[must_use]
    pub fn on(&self, ask: &Ask<'_>, job: JobId, class: ClassId, nodes: &[u32]) -> Watts {
        match self.of_nodes(class) {
            Some(on) => ask.view.held(job, nodes.iter().map(|&node| on[node as usize]).sum()),
            None => beyond_idle(ask, job, nodes),
        }
    }

    /// Watts beyond idle of a queued job of a class on any nodes.
    pub fn on_nodes<'a>(&'a mut self, ask: &Ask<'a>, job: JobId, class: ClassId) -> OnNodes<'a> {
        let price = self.in_class(ask, job, class);
        let on = match self.of_nodes(class) {
            Some(on) => OnEach::Known(on),
            None => OnEach::Counted(counted(ask, job, ask.estimate(job))),
        };
        OnNodes { view: ask.view, job, price, on }
    }

    /// Watts beyond idle of the jobs of a class on each node; none for jobs that are like no other.
    #[must_use]
    pub fn of_nodes(&self, class: ClassId) -> Option<&[Watts]> {
        class.index().map(|index| self.lists[index].on.as_slice())
    }

    /// Watts beyond idle of jobs of a class on the `count` lowest nodes of `free`, whole ones; none within if they are
    /// more than `most`. None at all for classes that have no slot in the queue's summaries.
    pub fn on_first(
        &mut self,
        class: ClassId,
        (free, edition): (&NodeSet, Edition),
        count: usize,
        most: Watts,
    ) -> Option<Option<Watts>> {
        if class.slot() == 0 {
            return None;
        }
        self.firsts.follow(edition);
        Some(self.firsts.on(class, free, count, most))
    }

    /// Fewest nodes, by class, that take more than `most` if they are the lowest ones of `free`.
    pub fn refused_first(&mut self, (free, edition): (&NodeSet, Edition), most: Watts) -> ByClass {
        self.firsts.follow(edition);
        let mut refused = ByClass::NONE;
        for &class in &self.in_slots {
            refused.lower(class, units(self.firsts.fitting(class, free, most)) + 1);
        }
        refused
    }

    /// Notes that the `count` lowest free nodes were taken, and nothing else has changed from one edition to the other.
    pub fn take_first(&mut self, count: usize, editions: (Edition, Edition)) {
        self.firsts.take(count, editions);
    }

    /// Number of classes that have slots in the queue's summaries.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.in_slots.len()
    }

    /// Lowers `refused` to the fewest nodes, by class, that take more than `microwatts` on any nodes.
    pub fn refuse(&mut self, microwatts: i64, refused: &mut ByClass) {
        for class in &self.in_slots {
            if let Some(list) = class.index().map(|index| &mut self.lists[index]) {
                list.fit = partition_near(&list.microwatts, list.fit, |&sum| sum <= microwatts);
                refused.lower(*class, units(list.fit) + 1);
            }
        }
    }
}

impl Alike {
    fn of(view: &View<'_>, job: JobId, estimate: Estimate) -> Self {
        let class = JobClass::of(view, job);
        // Under caps even the price of a first run depends on its class.
        let is_any = estimate == Estimate::Tdp && class.under.is_none() && !view.predicted.has_caps();
        let class = if is_any { JobClass::ANY } else { class };
        let want = view.shares.map_or(0, |shares| shares.cells().number(job));
        let queue = own_nodes(view, job).and(view.queues).map(|queues| queues.number(job));
        let bound_ratio = view.predicted.bound_ratio(view.jobs.app(job), view.known_draw(job)).map(f64::to_bits);
        Self { class, estimate, want, queue, bound_ratio }
    }
}

impl List {
    /// List of the jobs that are like this one.
    fn of(ask: &Ask<'_>, job: JobId, estimate: Estimate) -> Self {
        let counted = counted(ask, job, estimate);
        let on: Vec<_> = (0..ask.view.platform.len()).map(|node| counted.on(node)).collect();
        let mut sums: Vec<_> = serving(ask.view, job).map(|node| on[node as usize]).collect();
        sums.sort_unstable();
        let mut sum = Watts::ZERO;
        for watts in &mut sums {
            sum += *watts;
            *watts = sum;
        }
        let microwatts = sums.iter().map(|sum| sum.microwatts_down()).collect();
        Self { on, sums, microwatts, fit: 0 }
    }

    /// Price of a job of this list.
    fn price(&self, view: &View<'_>, job: JobId) -> Price {
        let (sums, count) = (&self.sums, view.jobs.node_count(job) as usize);
        let all = sums.last().copied().unwrap_or_default();
        let first = |nodes: usize| nodes.min(sums.len()).checked_sub(1).map_or(Watts::ZERO, |last| sums[last]);
        Price::new(view, job, (first(count), all - first(sums.len().saturating_sub(count))), (all, sums.len()))
    }
}

fn units(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX - 1)
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
    let (cells, own) = (view.shares.map(Shares::cells), own_nodes(view, job));
    let may_use = move |node: &u32| cells.is_none_or(|cells| cells.may_use(job, *node));
    view.own_nodes().filter(may_use).filter(move |&node| own.is_none_or(|own| own.contains(node)))
}

/// Nodes of the job's queue, if these are some of the nodes and cells do not say so.
fn own_nodes<'a>(view: &View<'a>, job: JobId) -> Option<&'a NodeSet> {
    let queues = view.queues.filter(|_| view.lanes() == 1)?;
    Queues::sets(queues).get(usize::from(queues.number(job))).filter(|own| own.len() < view.node_count())
}
