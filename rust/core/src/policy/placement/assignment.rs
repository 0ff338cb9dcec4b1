//! The cheapest matching of the jobs that start in this pass to the free nodes: COA.
//!
//! Zhou, Fukazawa & Nakashima, section 2.3.1: the weight of a job on a node is the energy that it is predicted to take
//! there, and the matching of least total weight is the plan. A job of q nodes is q rows (eq. 11). Where nodes differ
//! in speed such a job waits for its slowest node, so its rows are only a surrogate of the energy of the run. Jobs with
//! the same weights on all nodes are one type; the columns of a type go out in id order, to jobs in queue order.
//!
//! Where nodes differ in what jobs ask for, it is asked once per cell, for the nodes that each job has there. As these
//! numbers are given, and the weight of a matching is the sum over its rows, the matchings of least weight in each cell
//! are together one of least weight.

use std::collections::BTreeMap;

use crate::algo::assignment::{Costs, assign_types_unless, certify_types};
use crate::algo::node_set::NodeSet;
use crate::error::{Result, SimulationError};
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::class::JobClass;
use crate::policy::placement::{Choice, Placement};
use crate::workload::JobId;

/// Minimum-weight matching.
#[derive(Clone, Debug, Default)]
pub struct ByMatching {
    rates: Rates,
    types: Types,
    /// Nodes of the columns.
    nodes: Vec<u32>,
    weights: Vec<f64>,
}

/// Energy rates predicted for every node; per watt of the job's own draw where that counts.
#[derive(Clone, Debug, PartialEq)]
struct Rate {
    /// Watts × time factor: energy per second of nominal runtime.
    running: Vec<f64>,
    /// Watts: energy per second of communication, which no node makes shorter.
    communicating: Vec<f64>,
}

/// The rates of each class of jobs; equal ones are shared.
#[derive(Clone, Debug, Default)]
struct Rates {
    of: BTreeMap<JobClass, usize>,
    rates: Vec<Rate>,
}

impl Rates {
    fn of(&mut self, view: &View<'_>, job: JobId) -> usize {
        let (of, rates) = (&mut self.of, &mut self.rates);
        *of.entry(JobClass::of(view, job)).or_insert_with(|| {
            let own = Rate::of(view, job);
            let known = rates.iter().position(|rates| *rates == own);
            known.unwrap_or_else(|| {
                rates.push(own);
                rates.len() - 1
            })
        })
    }
}

/// Jobs whose rows are equal.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// Index of its rates.
    rates: usize,
    /// Seconds of nominal runtime, times the job's own draw where that counts.
    running: f64,
    /// Seconds of communication, times the same.
    communicating: f64,
}

/// Jobs of this pass by type.
#[derive(Clone, Debug, Default)]
struct Types {
    index: BTreeMap<(usize, u64, u64), usize>,
    kinds: Vec<Kind>,
    /// Rows of each type: nodes that its jobs need together.
    counts: Vec<u32>,
    /// The type of each start.
    of: Vec<usize>,
}

impl Types {
    fn gather(&mut self, view: &View<'_>, starts: &[(JobId, u32)], rates: &mut Rates) {
        self.index.clear();
        self.kinds.clear();
        self.counts.clear();
        self.of.clear();
        for &(job, count) in starts {
            let kind = Kind::of(view, job, rates);
            let key = (kind.rates, kind.running.to_bits(), kind.communicating.to_bits());
            let index = *self.index.entry(key).or_insert(self.kinds.len());
            if index == self.kinds.len() {
                self.kinds.push(kind);
                self.counts.push(0);
            }
            self.counts[index] += count;
            self.of.push(index);
        }
    }
}

impl Kind {
    fn of(view: &View<'_>, job: JobId, rates: &mut Rates) -> Self {
        let scale = if JobClass::of(view, job).follows_own() { view.known_draw(job).watts() } else { 1.0 };
        let truth = view.jobs.truth(job);
        let (runtime, comm) = (truth.runtime().seconds(), truth.comm().seconds());
        Self { rates: rates.of(view, job), running: runtime * scale, communicating: comm * scale }
    }
}

impl Rate {
    /// Rates for the class of this job.
    fn of(view: &View<'_>, job: JobId) -> Self {
        let (app, own, cap_w) = (view.jobs.app(job), view.known_draw(job), view.jobs.cap_w(job));
        let follows_own = JobClass::of(view, job).follows_own();
        let (own, divisor) = if follows_own { (own.at(REFERENCE_W), REFERENCE_W) } else { (own, 1.0) };
        let nodes = 0..view.platform.len();
        let watts = |node| view.predicted.draw_under(app, own, node, cap_w).watts() / divisor;
        let communicating: Vec<f64> = nodes.clone().map(watts).collect();
        let times = nodes.map(|node| view.predicted.factor_under(app, own, node, cap_w));
        Self { running: communicating.iter().zip(times).map(|(watts, time)| watts * time).collect(), communicating }
    }
}

/// Reference draw, large enough that rounding to whole picowatts makes no two factors alike.
const REFERENCE_W: f64 = 1e6;

impl ByMatching {
    /// Fills in the weights: a row per type, a column per free node.
    fn weigh(&mut self, free: &NodeSet) -> Result<()> {
        self.nodes.clear();
        self.nodes.extend(free.iter());
        self.weights.clear();
        let (types, nodes) = (self.types.kinds.len(), self.nodes.len());
        if self.weights.try_reserve_exact(types.saturating_mul(nodes)).is_err() {
            let gigabytes = types as f64 * nodes as f64 * size_of::<f64>() as f64 / 1e9;
            let what = format!(
                "placement assignment: not enough memory to match {types} kinds of jobs that start together to {nodes} \
                 free nodes, {gigabytes:.1} GB"
            );
            return Err(SimulationError(what).into());
        }
        for kind in &self.types.kinds {
            let Rate { running, communicating } = &self.rates.rates[kind.rates];
            let weight = |&node: &u32| {
                let comm = communicating[node as usize] * kind.communicating;
                running[node as usize] * kind.running + comm
            };
            self.weights.extend(self.nodes.iter().map(weight));
        }
        Ok(())
    }
}

impl Placement for ByMatching {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        self.match_all(ask, &[(job, ask.view.jobs.node_count(job))], free, nodes)?;
        Ok(Choice::Chosen)
    }

    fn is_joint(&self) -> bool {
        true
    }

    fn match_all(
        &mut self,
        ask: &Ask<'_>,
        jobs: &[(JobId, u32)],
        free: &mut NodeSet,
        nodes: &mut Vec<u32>,
    ) -> Result<()> {
        let view = ask.view;
        self.types.gather(view, jobs, &mut self.rates);
        self.weigh(free)?;
        let costs = Costs::new(self.types.kinds.len(), self.nodes.len(), &self.weights)?;
        let matching = assign_types_unless(&costs, &self.types.counts, &mut || (view.interrupted)())?;
        debug_assert_eq!(certify_types(&costs, &self.types.counts, &matching), Ok(()));
        let mut left: Vec<_> = matching.columns.iter().map(|columns| columns.iter()).collect();
        for (&(_, count), &kind) in jobs.iter().zip(&self.types.of) {
            for &column in left[kind].by_ref().take(count as usize) {
                let node = self.nodes[column as usize];
                free.remove(node);
                nodes.push(node);
            }
        }
        Ok(())
    }
}
