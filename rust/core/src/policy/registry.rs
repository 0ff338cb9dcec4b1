//! Registry of parts: the only place that announces a part, with its name, description, parameters and constructor.

mod added;
mod parameters;
mod row;
mod sleep;
mod slurm;
mod take;

use std::collections::BTreeMap;

pub use added::{Rows, add, added, backfills, budgets, orders, placements};

use crate::error::{Result, config};
use crate::params::{Parameter, Params, Value};
use crate::policy::analyzer::{Analyzer, first_runs::FirstRuns, tables::AsPredicted};
use crate::policy::backfill::{Backfill, first_fit::FirstFit, none::NoBackfill, observed, starving::Starving};
use crate::policy::budget::Budget;
use crate::policy::compose::Parts;
use crate::policy::gate::{Gate, until_profiled::UntilProfiled};
use crate::policy::order::{self, Order, arrival::Fcfs, length, size, vahrm, wfp3::Wfp3};
use crate::policy::placement::{
    Placement, assignment::ByMatching, first_runs::FirstRunsByLot, lowest_id::LowestId, observed::ObservedNodes,
    opportunity_cost::OpportunityCost, pools, random::Random, ranked,
};
use crate::policy::registry::parameters::{
    FAIR_SHARE, PATIENCE, PLAN, POOLS, RESERVATIONS, SLIDING_WINDOW, SYSTEM_BUDGET, VAHRM,
};
use crate::policy::registry::take::{
    all_faults, take_borders, take_budget, take_fair_share, take_interval, take_patience, take_plan, take_rank,
    take_reservations, take_weights, take_window,
};
use crate::policy::sleep::rules::Rules;
use crate::policy::timing::Timing;
use crate::units::SimDuration;

/// A row of the registry.
#[expect(clippy::struct_excessive_bools, reason = "they are facts that do not depend on each other")]
pub struct Row<T: ?Sized> {
    /// The part's name.
    pub name: &'static str,
    /// One line that says what it does.
    pub doc: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// True if it draws random numbers, so that another seed can make another schedule.
    pub uses_chance: bool,
    /// Condition under which it decides by jobs' own draws.
    pub reads_draws: ReadsDraws,
    /// Needs that a run has to meet for it.
    pub needs: &'static [Need],
    /// True if it names the nodes of jobs: all placements do; of backfills, those that plan on named nodes.
    pub chooses_nodes: bool,
    /// True if it may leave the choice of nodes to a placement, although it names nodes.
    pub lets_place: bool,
    /// True if it distinguishes nodes that differ in what jobs ask for.
    pub knows_cells: bool,
    make: Make<T>,
}

use crate::policy::registry::slurm::{SLURM, take_slurm};

pub use crate::policy::registry::sleep::SLEEPS;

/// Constructor of a part, from its parameters and the run's seed.
enum Make<T: ?Sized> {
    /// The part alone.
    Alone(fn(&mut Params, u64) -> Result<Box<T>>),
    /// The part and what its parameters ask for in other roles.
    With(fn(&mut Params, u64) -> Result<Accompanied<T>>),
}

/// A part, and what it asks for in other roles.
type Accompanied<T> = (Box<T>, Beside);

/// Requests that the parameters of one part may make in other roles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Beside {
    /// Jobs that have waited longer go before all others.
    starvation_limit: Option<SimDuration>,
    /// Factor on the time of first runs, which are profiled.
    profiling_ratio: Option<f64>,
    /// Timing of passes.
    timing: Timing,
}

/// Condition under which a part decides by how much a job is known to draw of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadsDraws {
    /// Never.
    Never,
    /// Only with tables of factors: elsewhere a job's own draw is the same on every node.
    WithFactors,
    /// Wherever jobs bring one.
    Always,
}

/// Data that a run has to bring for a part, or work that it has to do; always, or if the named parameter is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Observed starts of jobs.
    ObservedStarts,
    /// Observed nodes of jobs.
    ObservedNodes,
    /// Profiling of first runs, which records show.
    FirstRuns(&'static str),
    /// The utilization under random placement, as the parameters `u_l` and `u_h`.
    Utilizations(&'static str),
    /// Group of each job, by the column that the parameter names.
    Groups(&'static str),
}

/// A part as a user names it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartSpec {
    /// Its name in the registry.
    pub name: String,
    /// Parameters that differ from their defaults.
    pub params: BTreeMap<String, Value>,
}

/// A composition as a user names it.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySpec {
    /// Name in messages.
    pub name: String,
    /// Order: which job is next.
    pub order: PartSpec,
    /// Backfill: which jobs may overtake.
    pub backfill: PartSpec,
    /// Placement: which nodes jobs get.
    pub placement: PartSpec,
    /// Budget: the ceiling on the machine's draw; none: there is none.
    pub power: Option<PartSpec>,
    /// Sleep part, which switches idle nodes off; none: no node is.
    pub sleep: Option<PartSpec>,
}

const fn plain<T: ?Sized>(
    name: &'static str,
    doc: &'static str,
    make: fn(&mut Params, u64) -> Result<Box<T>>,
) -> Row<T> {
    Row::new(name, doc, make)
}

/// Row of a part that may ask for something in other roles.
const fn asking<T: ?Sized>(
    name: &'static str,
    doc: &'static str,
    make: fn(&mut Params, u64) -> Result<Accompanied<T>>,
) -> Row<T> {
    Row::made(name, doc, Make::With(make))
}

/// The orders.
pub const ORDERS: &[Row<dyn Order>] = &[
    plain("fcfs", "earliest submit first", |_, _| Ok(Box::new(Fcfs))),
    plain("shortest", "shortest planned length first", |_, _| Ok(Box::new(length::Shortest))),
    plain("longest", "longest planned length first", |_, _| Ok(Box::new(length::Longest))),
    plain("smallest", "fewest nodes first", |_, _| Ok(Box::new(size::Smallest))),
    plain("largest", "most nodes first", |_, _| Ok(Box::new(size::Largest))),
    plain("smallest-area", "smallest nodes × planned length first", |_, _| Ok(Box::new(size::SmallestArea))),
    plain("wfp3", "highest (wait / planned length)³ × nodes first", |_, _| Ok(Box::new(Wfp3))),
    plain::<dyn Order>("observed", "earliest start in reality first", |_, _| {
        Ok(Box::new(order::observed::ObservedStarts))
    })
    .needing(&[Need::ObservedStarts]),
    asking::<dyn Order>("vahrm", "highest beta × predicted energy + (1 - beta) × wait first", |params, _| {
        let (weights, beside) = take_weights(params)?;
        Ok((Box::new(vahrm::Vahrm::new(weights)), beside))
    })
    .with_parameters(VAHRM)
    .reading_draws(ReadsDraws::Always)
    .needing(&[Need::FirstRuns("first_run")]),
    plain::<dyn Order>("fair-share", "least used of late by the job's user or account first", |params, _| {
        Ok(Box::new(take_fair_share(params)?))
    })
    .with_parameters(FAIR_SHARE)
    .needing(&[Need::Groups("by")]),
];

/// The backfills.
pub const BACKFILLS: &[Row<dyn Backfill>] = &[
    plain::<dyn Backfill>("none", "no job overtakes: the head of the queue blocks", |_, _| Ok(Box::new(NoBackfill)))
        .knowing_cells(),
    plain::<dyn Backfill>("first-fit", "every job that fits starts, in policy order", |_, _| Ok(Box::new(FirstFit)))
        .knowing_cells(),
    plain::<dyn Backfill>(
        "reservations",
        "later jobs start if they delay none of the first `depth` blocked ones",
        |params, _| Ok(Box::new(take_reservations(params)?)),
    )
    .with_parameters(RESERVATIONS)
    .knowing_cells(),
    asking::<dyn Backfill>(
        "plan",
        "each job is planned on named nodes at its earliest fit next to those before it",
        |params, _| {
            let (plan, timing) = take_plan(params)?;
            Ok((Box::new(plan), Beside { timing, ..Beside::default() }))
        },
    )
    .with_parameters(PLAN)
    .choosing_nodes()
    .knowing_cells(),
    plain::<dyn Backfill>(
        "slurm",
        "Slurm's main loop and backfill loop, with the settings of a slurm.conf, on named nodes",
        |params, _| Ok(Box::new(take_slurm(params)?)),
    )
    .with_parameters(SLURM)
    .choosing_nodes()
    .letting_place()
    .knowing_cells(),
    plain::<dyn Backfill>("observed", "each job starts when it did in reality, or as soon after as it fits", |_, _| {
        Ok(Box::new(observed::OnObservedStart::default()))
    })
    .needing(&[Need::ObservedStarts]),
    plain::<dyn Backfill>(
        "patience",
        "every job that fits starts, those that suit the free nodes first; long waits hold reservations",
        |params, _| Ok(Box::new(take_patience(params)?)),
    )
    .with_parameters(PATIENCE),
];

/// True if the backfill of this name names the nodes of jobs: then no placement but the default has a say.
#[must_use]
pub fn chooses_nodes(backfill: &str) -> bool {
    backfills().any(|row| row.name == backfill && row.chooses_nodes)
}

/// The placements.
pub const PLACEMENTS: &[Row<dyn Placement>] = &[
    plain::<dyn Placement>("lowest-id", "the free nodes with the lowest ids", |_, _| Ok(Box::new(LowestId)))
        .knowing_cells(),
    plain::<dyn Placement>(
        "observed",
        "the nodes it had in reality; those with the lowest ids where they are unknown",
        |_, _| Ok(Box::new(ObservedNodes)),
    )
    .needing(&[Need::ObservedNodes]),
    plain::<dyn Placement>("random", "any free nodes, each set equally likely", |_, seed| {
        Ok(Box::new(Random::new(seed)))
    })
    .using_chance()
    .knowing_cells(),
    plain::<dyn Placement>(
        "lowest-power",
        "the free nodes with the lowest predicted watts for the job's application",
        |_, _| Ok(Box::new(ranked::LowestPower::default())),
    )
    .knowing_cells(),
    plain::<dyn Placement>(
        "lowest-power-cpu",
        "the same for jobs on CPUs, any free nodes for jobs on other devices",
        |_, seed| Ok(Box::new(ranked::LowestPowerCpu::new(seed))),
    )
    .using_chance()
    .knowing_cells(),
    plain::<dyn Placement>("best-rank", "the free nodes of the best rank over all applications", |params, _| {
        Ok(Box::new(ranked::BestRank::new(take_rank(params)?)))
    })
    .with_parameters(&[Parameter {
        name: "rank",
        unit: "",
        default: "\"power\"",
        range: "\"power\" or \"time\"",
        doc: "mean predicted watts, or mean predicted time factor and then watts",
    }])
    .knowing_cells(),
    plain::<dyn Placement>(
        "opportunity-cost",
        "the free nodes with the least predicted watts and worth to the other jobs there are",
        |params, _| {
            let expected = "a number from 0 to 1e9";
            let tolerance = params.take_number("tolerance", Value::Float(1.0), &(0.0..=1e9), expected)?;
            Ok(Box::new(OpportunityCost::new(tolerance)))
        },
    )
    .with_parameters(&[Parameter {
        name: "tolerance",
        unit: "",
        default: "1.0",
        range: "a number from 0",
        doc: "nodes suit an application up to the mean cost of the best tolerance × its share of the machine",
    }])
    .reading_draws(ReadsDraws::WithFactors),
    asking::<dyn Placement>(
        "assignment",
        "the matching of this pass's jobs to the free nodes that is predicted to take the least energy",
        |params, _| {
            let timing = Timing::every(take_interval(params)?);
            Ok((Box::new(ByMatching::default()), Beside { timing, ..Beside::default() }))
        },
    )
    .with_parameters(&[Parameter {
        name: "interval_s",
        unit: "s",
        default: "0",
        range: "0, or seconds from 1e-6",
        doc: "passes wait for multiples of this, so that more jobs are matched together; 0: whenever something happened",
    }])
    .reading_draws(ReadsDraws::WithFactors),
    plain::<dyn Placement>(
        "sliding-window",
        "free nodes of like predicted speed: the best within the first window of ranks that holds enough",
        |params, _| Ok(Box::new(take_window(params)?)),
    )
    .with_parameters(SLIDING_WINDOW),
    plain::<dyn Placement>(
        "pools",
        "three pools by predicted watts, the most efficient emptied first, random nodes inside each",
        |params, seed| Ok(Box::new(pools::ByPool::new(take_borders(params)?, seed))),
    )
    .with_parameters(POOLS)
    .using_chance()
    .needing(&[Need::Utilizations("measured")]),
];

/// The budgets.
pub const BUDGETS: &[Row<dyn Budget>] = &[plain::<dyn Budget>(
    "system-budget",
    "a job starts only if the system's predicted draw with it stays within the budget",
    |params, _| Ok(Box::new(take_budget(params)?)),
)
.with_parameters(SYSTEM_BUDGET)
.reading_draws(ReadsDraws::Always)];

/// A part that was made.
struct Made<T: ?Sized> {
    part: Box<T>,
    beside: Beside,
    /// All its parameters.
    params: BTreeMap<String, Value>,
}

fn make<T: ?Sized + 'static>(
    role: &str,
    mut rows: impl Iterator<Item = &'static Row<T>> + Clone,
    spec: &PartSpec,
    seed: u64,
) -> Result<Made<T>> {
    let path = format!("policy.{role}");
    let known = rows.clone();
    let Some(row) = rows.find(|row| row.name == spec.name) else {
        let known: Vec<_> = known.map(|row| row.name).collect();
        return Err(config(path, format!("`{}`", spec.name), format!("one of {}", known.join(", "))));
    };
    let mut params = Params::new(path, spec.params.clone());
    let (part, beside) = match row.make {
        Make::Alone(make) => (make(&mut params, seed)?, Beside::default()),
        Make::With(make) => make(&mut params, seed)?,
    };
    Ok(Made { part, beside, params: params.finish()? })
}

/// Composes the parts with what their parameters ask for in other roles.
fn together(
    order: Made<dyn Order>,
    backfill: Made<dyn Backfill>,
    placement: Made<dyn Placement>,
    power: Option<Box<dyn Budget>>,
    sleep: Option<Rules>,
    seed: u64,
) -> Parts {
    let Beside { starvation_limit, profiling_ratio, .. } = order.beside;
    // Where the backfill chooses nodes, the placement has no timing.
    let timing =
        if backfill.beside.timing == Timing::AtOnce { placement.beside.timing } else { backfill.beside.timing };
    let mut backfill = backfill.part;
    if let Some(limit) = starvation_limit.filter(|&limit| !backfill.serve_first(limit)) {
        backfill = Box::new(Starving::new(limit, backfill));
    }
    let (analyzer, placement): (Box<dyn Analyzer>, Box<dyn Placement>) = match profiling_ratio {
        Some(ratio) => (Box::new(FirstRuns::new(ratio)), Box::new(FirstRunsByLot::new(placement.part, seed))),
        None => (Box::new(AsPredicted), placement.part),
    };
    // Without a budget every job fits, first run or not.
    let holds = profiling_ratio.is_some() && power.is_some();
    let gate = holds.then(|| Box::new(UntilProfiled::default()) as Box<dyn Gate>);
    Parts {
        analyzer,
        forecast: None,
        gate,
        order: order.part,
        backfill,
        placement,
        power,
        allocator: None,
        sizing: None,
        sleep,
        gauge: None,
        timing,
        learners: Vec::new(),
    }
}

impl ReadsDraws {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::WithFactors => "with_factors",
            Self::Always => "always",
        }
    }
}

impl Need {
    /// Its name, and the parameter that decides whether it holds, if one does.
    #[must_use]
    pub fn name(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::ObservedStarts => ("observed_starts", None),
            Self::ObservedNodes => ("observed_nodes", None),
            Self::FirstRuns(parameter) => ("first_runs", Some(parameter)),
            Self::Utilizations(parameter) => ("utilizations", Some(parameter)),
            Self::Groups(parameter) => ("groups", Some(parameter)),
        }
    }
}

impl PolicySpec {
    /// Makes the parts, and says with which parameters, defaults filled in.
    ///
    /// # Errors
    /// A [`ConfigError`](crate::error::ConfigError) with a fault for each part or parameter that is unknown or invalid.
    pub fn build(&self, seed: u64) -> Result<(Parts, Self)> {
        let order = make("order", orders(), &self.order, seed);
        let backfill = make("backfill", backfills(), &self.backfill, seed);
        let placement = make("placement", placements(), &self.placement, seed);
        let power = self.power.as_ref().map(|part| make("power", budgets(), part, seed)).transpose();
        let sleep = self.sleep.as_ref().map(|part| make("sleep", SLEEPS.iter(), part, seed)).transpose();
        match (order, backfill, placement, power, sleep) {
            (Ok(order), Ok(mut backfill), Ok(placement), Ok(power), Ok(sleep)) => {
                self.check_sleep()?;
                if chooses_nodes(&self.backfill.name) {
                    self.check_named(&order.beside)?;
                }
                if self.placement.name != "lowest-id" {
                    backfill.part.let_place();
                }
                let full =
                    |spec: &PartSpec, params: &BTreeMap<_, _>| PartSpec { params: params.clone(), ..spec.clone() };
                let spec = Self {
                    name: self.name.clone(),
                    order: full(&self.order, &order.params),
                    backfill: full(&self.backfill, &backfill.params),
                    placement: full(&self.placement, &placement.params),
                    power: self.power.as_ref().zip(power.as_ref()).map(|(spec, made)| full(spec, &made.params)),
                    sleep: self.sleep.as_ref().zip(sleep.as_ref()).map(|(spec, made)| full(spec, &made.params)),
                };
                let (power, sleep) = (power.map(|power| power.part), sleep.map(|sleep| *sleep.part));
                Ok((together(order, backfill, placement, power, sleep, seed), spec))
            }
            (order, backfill, placement, power, sleep) => {
                let faults = [order.err(), backfill.err(), placement.err(), power.err(), sleep.err()];
                Err(all_faults(faults.into_iter().flatten()))
            }
        }
    }
}

impl PolicySpec {
    /// Checks that no placement may refuse a job where nodes sleep: the job could wait for ever for a node that is off.
    fn check_sleep(&self) -> Result<()> {
        if self.sleep.is_none() {
            return Ok(());
        }
        if self.placement.params.get("on_miss") == Some(&Value::Text("wait".to_owned())) {
            let expected = "`narrowest` with a sleep part: nodes are not woken for a job that the placement refuses";
            return Err(config("policy.placement.on_miss", "`wait`", expected));
        }
        Ok(())
    }

    /// Checks that no other part chooses nodes or counts watts where the backfill names the nodes.
    fn check_named(&self, order: &Beside) -> Result<()> {
        let by = format!("`{}`", self.backfill.name);
        let mut faults = Vec::new();
        let lets_place = backfills().any(|row| row.name == self.backfill.name && row.lets_place);
        if self.placement.name != "lowest-id" && !lets_place {
            let found = format!("`{}`", self.placement.name);
            let expected = format!("lowest-id, the default: backfill {by} chooses the nodes");
            faults.push(config("policy.placement", found, expected));
        }
        if let Some(power) = &self.power {
            let found = format!("`{}`", power.name);
            let expected = format!("none: backfill {by} counts no watts; reservations does");
            faults.push(config("policy.power", found, expected));
        }
        if order.profiling_ratio.is_some() {
            let expected = format!("false: backfill {by} chooses the nodes, also of first runs");
            faults.push(config("policy.order.first_run", "true", expected));
        }
        if faults.is_empty() { Ok(()) } else { Err(all_faults(faults.into_iter())) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn part(name: &str) -> PartSpec {
        PartSpec { name: name.into(), params: BTreeMap::new() }
    }

    #[test]
    fn every_part_can_be_made_with_its_defaults() {
        for order in ORDERS {
            for backfill in BACKFILLS {
                for placement in
                    PLACEMENTS.iter().filter(|row| !chooses_nodes(backfill.name) || row.name == "lowest-id")
                {
                    let spec = PolicySpec {
                        name: "test".into(),
                        order: part(order.name),
                        backfill: part(backfill.name),
                        placement: part(placement.name),
                        power: None,
                        sleep: None,
                    };
                    let (_, full) = spec.build(0).unwrap();
                    let named = |row: &[Parameter]| row.iter().map(|p| p.name.to_owned()).collect::<BTreeSet<_>>();
                    assert_eq!(full.backfill.params.into_keys().collect::<BTreeSet<_>>(), named(backfill.parameters));
                    assert_eq!(full.placement.params.into_keys().collect::<BTreeSet<_>>(), named(placement.parameters));
                }
            }
        }
    }

    #[test]
    fn pools_must_not_end_before_they_begin() {
        let params = BTreeMap::from([("u_l".into(), Value::Float(0.9)), ("u_h".into(), Value::Float(0.5))]);
        let spec = PolicySpec {
            name: "test".into(),
            order: part("fcfs"),
            backfill: part("none"),
            placement: PartSpec { params, ..part("pools") },
            power: None,
            sleep: None,
        };
        let message = spec.build(0).err().unwrap().to_string();
        assert_eq!(message, "policy.placement.u_l: found 0.9, expected at most u_h, which is 0.5");
    }

    #[test]
    fn all_faults_come_at_once() {
        let spec = PolicySpec {
            name: "test".into(),
            order: part("fifo"),
            backfill: PartSpec { params: BTreeMap::from([("depth".into(), Value::Int(0))]), ..part("reservations") },
            placement: part("lowest-id"),
            power: None,
            sleep: None,
        };
        let message = spec.build(0).err().unwrap().to_string();
        assert_eq!(
            message,
            "policy.order: found `fifo`, expected one of fcfs, shortest, longest, smallest, largest, smallest-area, wfp3, observed, vahrm, fair-share\n\
             policy.backfill.depth: found 0, expected a whole number from 1, or \"unbounded\""
        );
    }
}
