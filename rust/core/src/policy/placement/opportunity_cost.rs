//! Placement by opportunity cost: a job on a node costs its draw there, and the price of the node: its worth to the
//! other jobs to come.
//!
//! If the demand seen so far came for ever, the cheapest way to serve it would be a transportation problem: each
//! application needs its share of the machine, and each node serves one. Its dual variables say what each node is
//! worth. A job then costs its own joules and the worth of the nodes it keeps from others. Among nodes that are equally
//! good for the machine the one that draws least goes first. On an empty machine nodes are worth nothing, and this is
//! lowest-power.

use std::collections::{BTreeMap, BTreeSet};

use crate::algo::assignment::{Costs, assign_types_unless};
use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::class::JobClass;
use crate::policy::placement::ranking::Ranking;
use crate::policy::placement::{Choice, News, Placement, Verdict};
use crate::policy::recollection::{JOINED, Recollection, bits, number};
use crate::power::known::KnownDraw;
use crate::units::SimTime;
use crate::workload::{AppId, JobId};

/// Growth of the demand, as a factor, after which prices are computed again.
const GROWTH: f64 = 1.1;

/// Number of classes of jobs, those of the largest demand, from which prices are made.
const PRICED: usize = 16;

/// Demand by the jobs of one class so far.
#[derive(Clone, Copy, Debug)]
struct Demand {
    /// One of the jobs.
    like: JobId,
    app: Option<AppId>,
    /// Known draw of a job: of the same kind for all jobs of a class.
    own: KnownDraw,
    /// The jobs' own cap, W a node.
    cap_w: f64,
    node_s: f64,
    /// Known watts × node-seconds, for a mean.
    known: f64,
}

/// Ranking and costs of the nodes for one class of jobs.
#[derive(Clone, Debug)]
struct Standing {
    ranking: Ranking,
    /// Predicted watts plus price of each node.
    costs: Vec<f64>,
    /// Nodes whose mean cost is above this are for others.
    limit: f64,
}

/// The free nodes with the least predicted watts plus price.
#[derive(Clone, Debug)]
pub struct OpportunityCost {
    tolerance: f64,
    demand: BTreeMap<JobClass, Demand>,
    total_node_s: f64,
    priced_node_s: f64,
    prices: Vec<f64>,
    shares: BTreeMap<JobClass, u32>,
    standings: BTreeMap<JobClass, Standing>,
    /// Instant up to which seconds are counted, and the number of units that are busy from then on.
    seen: Option<(SimTime, i64)>,
    /// Jobs that will join the queue again and are counted in the demand.
    counted: BTreeSet<JobId>,
    /// Unit-seconds so far: of busy units, and of all.
    busy_unit_s: f64,
    all_unit_s: f64,
}

impl OpportunityCost {
    /// A placement for which nodes suit an application if they are no worse for it than the best `tolerance` × its
    /// share of the machine.
    #[must_use]
    pub fn new(tolerance: f64) -> Self {
        Self {
            tolerance,
            demand: BTreeMap::new(),
            total_node_s: 0.0,
            priced_node_s: 0.0,
            prices: Vec::new(),
            shares: BTreeMap::new(),
            standings: BTreeMap::new(),
            seen: None,
            counted: BTreeSet::new(),
            busy_unit_s: 0.0,
            all_unit_s: 0.0,
        }
    }

    /// Counts how busy the machine has been until now.
    fn look(&mut self, view: &View<'_>) {
        if let Some((since, busy)) = &mut self.seen {
            let span = (view.now - *since).seconds();
            self.busy_unit_s += *busy as f64 * span;
            self.all_unit_s += view.units() as f64 * span;
            *since = view.now;
        }
    }

    fn count(&mut self, view: &View<'_>, job: JobId) {
        let whole_nodes = view.jobs.units(job, view.platform) as f64 / f64::from(view.platform.shared_slots());
        let node_s = whole_nodes * view.jobs.planned(job).seconds();
        let own = view.known_draw(job);
        let cap_w = view.jobs.cap_w(job);
        let new = Demand { like: job, app: view.jobs.app(job), own, cap_w, node_s: 0.0, known: 0.0 };
        let demand = self.demand.entry(JobClass::of(view, job)).or_insert(new);
        demand.node_s += node_s;
        demand.known += node_s * own.watts();
        self.total_node_s += node_s;
    }

    /// Computes prices again if the demand has grown enough.
    fn price(&mut self, view: &View<'_>) -> Result<()> {
        if !self.prices.is_empty() && self.total_node_s <= GROWTH * self.priced_node_s {
            return Ok(());
        }
        self.priced_node_s = self.total_node_s;
        self.standings.clear();
        self.shares.clear();
        let mut largest: Vec<_> = self.demand.iter().map(|(&class, &demand)| (class, demand)).collect();
        largest.sort_by(|a, b| b.1.node_s.total_cmp(&a.1.node_s).then(a.0.cmp(&b.0)));
        largest.truncate(PRICED);
        let utilization = if self.all_unit_s > 0.0 { self.busy_unit_s / self.all_unit_s } else { 0.0 };
        let nodes = f64::from(view.node_count()) * utilization;
        let counts: Vec<u32> = largest
            .iter()
            .map(|(_, demand)| whole(nodes * demand.node_s / self.total_node_s.max(f64::MIN_POSITIVE)))
            .collect();
        let own = |watts: Vec<f64>| view.own_nodes().map(move |node| watts[node as usize]);
        let costs: Vec<f64> = largest.iter().flat_map(|&(_, demand)| own(watts(view, demand))).collect();
        let costs = Costs::new(largest.len(), view.node_count() as usize, &costs)?;
        let solved = assign_types_unless(&costs, &counts, &mut || (view.interrupted)())?;
        self.prices = vec![0.0; view.platform.len() as usize];
        for (node, worth) in view.own_nodes().zip(solved.column_duals.iter()) {
            self.prices[node as usize] = -worth;
        }
        self.shares = largest.iter().map(|(of, _)| *of).zip(counts).collect();
        Ok(())
    }

    fn standing(&mut self, view: &View<'_>, job: JobId) -> &mut Standing {
        let of = JobClass::of(view, job);
        let Self { demand, prices, shares, tolerance, standings, .. } = self;
        standings.entry(of).or_insert_with(|| {
            let known = view.known_draw(job);
            let cap_w = view.jobs.cap_w(job);
            let own =
                Demand { like: job, app: view.jobs.app(job), own: known, cap_w, node_s: 1.0, known: known.watts() };
            let watts = watts(view, demand.get(&of).copied().filter(|seen| seen.node_s > 0.0).unwrap_or(own));
            let costs: Vec<_> = watts.iter().zip(prices.iter()).map(|(watts, price)| watts + price).collect();
            // Costs that are equal but for rounding must not decide before watts do.
            let key = |node: u32| (micro(costs[node as usize]), watts[node as usize]);
            let by_key = |a: &(i64, f64), b: &(i64, f64)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
            let ranking = Ranking::sorted(view.platform.len(), view.own_nodes(), key, by_key);
            let last = shares.get(&of).map(|&share| whole(f64::from(share) * *tolerance) as usize);
            let limit = last.and_then(|last| ranking.nodes().get(last)).map(|&node| costs[node as usize]);
            Standing { ranking, limit: limit.unwrap_or(f64::INFINITY), costs }
        })
    }
}

fn whole(number: f64) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the nodes; `as` saturates")]
    let whole = number.max(0.0).floor() as u32;
    whole
}

fn micro(watts: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "`as` saturates")]
    let micro = (watts * 1e6).round() as i64;
    micro
}

/// Predicted joules per nominal second of a class's jobs on each node.
fn watts(view: &View<'_>, demand: Demand) -> Vec<f64> {
    let own = demand.own.at(demand.known / demand.node_s.max(f64::MIN_POSITIVE));
    let on = |node| {
        let (draw, factor) = view.predicted.under(demand.app, own, node, demand.cap_w);
        draw.watts() * factor
    };
    (0..view.platform.len()).map(on).collect()
}

impl Placement for OpportunityCost {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        let count = ask.view.jobs.node_count(job);
        self.standing(ask.view, job).ranking.take_best(ask.view.slots, free, count, nodes);
        Ok(Choice::Chosen)
    }

    fn judge(&mut self, ask: &Ask<'_>, job: JobId, free: &NodeSet) -> Verdict {
        let count = ask.view.jobs.node_count(job);
        let Standing { ranking, costs, limit } = self.standing(ask.view, job);
        if *limit == f64::INFINITY {
            return Verdict::Suits;
        }
        let nodes = ranking.free_nodes(ask.view.slots, free).take(count as usize);
        let sum: f64 = nodes.map(|node| costs[node as usize]).sum();
        if sum <= *limit * f64::from(count) { Verdict::Suits } else { Verdict::Spare }
    }

    fn notice(&mut self, view: &View<'_>, news: News) -> Result<()> {
        match news {
            News::Joined(job) if self.counted.remove(&job) => {}
            News::Joined(job) => self.count(view, job),
            News::Begins => {
                self.look(view);
                self.price(view)?;
            }
            News::Over(busy) => {
                self.look(view);
                self.seen = Some((view.now, busy));
            }
        }
        Ok(())
    }

    /// Costs that were worked out since the last prices are worked out again, of the demand by then.
    fn remember(&self, kept: &mut Recollection) {
        kept.note_gap();
        let rows = self.demand.iter().flat_map(|(of, own)| {
            let share = self.shares.get(of).map_or(-1, |&share| i64::from(share));
            [i64::from(own.like.0), bits(own.node_s), bits(own.known), share]
        });
        kept.keep("demand", rows.collect());
        kept.keep("priced", vec![bits(self.priced_node_s), bits(self.busy_unit_s), bits(self.all_unit_s)]);
        kept.keep("prices", self.prices.iter().map(|&price| bits(price)).collect());
        kept.keep("busy", self.seen.iter().flat_map(|(at, busy)| [at.micros(), *busy]).collect());
    }

    /// Prices are for these nodes.
    fn recall(&mut self, view: &View<'_>, kept: &Recollection) {
        for [like, node_s, known, share] in kept.rows("demand") {
            let Some(like) = u32::try_from(like).ok().map(JobId).filter(|job| (job.0 as usize) < view.jobs.all().len())
            else {
                continue;
            };
            let (of, own, cap_w) = (JobClass::of(view, like), view.known_draw(like), view.jobs.cap_w(like));
            let (node_s, known) = (number(node_s), number(known));
            self.demand.insert(of, Demand { like, app: view.jobs.app(like), own, cap_w, node_s, known });
            self.total_node_s += node_s;
            self.shares.extend(u32::try_from(share).ok().map(|share| (of, share)));
        }
        self.counted.extend(kept.of(JOINED).iter().filter_map(|&job| u32::try_from(job).ok()).map(JobId));
        for [priced, busy, all] in kept.rows("priced") {
            (self.priced_node_s, self.busy_unit_s, self.all_unit_s) = (number(priced), number(busy), number(all));
        }
        let prices = kept.of("prices");
        if prices.len() == view.platform.len() as usize {
            self.prices = prices.iter().map(|&price| number(price)).collect();
        }
        for [at, busy] in kept.rows("busy") {
            self.seen = Some((SimTime::from_micros(at), busy));
        }
    }
}
