//! The only place a part is announced: its name, what it does, its parameters and how it is made.

use std::collections::BTreeMap;

use crate::error::{ConfigError, Error, Result, config};
use crate::params::{Parameter, Params, Value};
use crate::policy::analyzer::{Analyzer, first_runs::FirstRuns, tables::Tables};
use crate::policy::backfill::{
    Backfill, first_fit::FirstFit, none::NoBackfill, observed, patience::Patience, reservations::Reservations,
    starving::Starving,
};
use crate::policy::budget::{
    Budget,
    system_budget::{Limit, Split, SystemBudget},
};
use crate::policy::compose::Parts;
use crate::policy::emergency::{Emergencies, Step, Victims};
use crate::policy::gate::{Gate, until_profiled::UntilProfiled};
use crate::policy::order::{self, Order, arrival::Fcfs, length, size, vahrm, wfp3::Wfp3};
use crate::policy::placement::{
    Placement,
    assignment::Assignment,
    first_runs::FirstRunsByLot,
    lowest_id::LowestId,
    observed::ObservedNodes,
    opportunity_cost::OpportunityCost,
    pools,
    random::Random,
    rank_by::RankBy,
    ranked,
    sliding_window::{OnMiss, SlidingWindow},
};
use crate::policy::timing::Timing;
use crate::power::budgets::Foresight;
use crate::units::{MAX_NODE_WATTS, MAX_SECONDS, MAX_SYSTEM_WATTS, SimDuration};

/// A row of the registry.
pub struct Row<T: ?Sized> {
    /// The part's name.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Whether it draws lots, so that another seed can make another schedule.
    pub uses_chance: bool,
    /// Whether it decides by what is known of jobs' own draws.
    pub reads_draws: ReadsDraws,
    /// What a run has to bring or to do for it.
    pub needs: &'static [Need],
    make: Make<T>,
}

/// How a part is made, from its parameters and the run's seed.
enum Make<T: ?Sized> {
    /// By itself.
    Alone(fn(&mut Params, u64) -> Result<Box<T>>),
    /// With something in other roles that its parameters ask for.
    With(fn(&mut Params, u64) -> Result<Accompanied<T>>),
}

/// A part, and what it asks for beside it.
type Accompanied<T> = (Box<T>, Beside);

/// What the parameters of one part may ask for in other roles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Beside {
    /// Jobs that have waited longer go before all others.
    starvation_limit: Option<SimDuration>,
    /// First runs are profiled, and take so many times longer.
    profiling_ratio: Option<f64>,
    /// When passes are made.
    timing: Timing,
}

/// When a part decides by how much a job is known to draw of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadsDraws {
    /// It does not.
    Never,
    /// Where tables hold factors: elsewhere a job's own draw is the same on every node.
    WithFactors,
    /// Wherever jobs bring one.
    Always,
}

/// What a run has to bring or to do for a part; always, or where the named parameter is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// When jobs started in reality.
    ObservedStarts,
    /// Which nodes they had in reality.
    ObservedNodes,
    /// First runs are profiled, which records show.
    FirstRuns(&'static str),
    /// The utilization under random placement, as the parameters `u_l` and `u_h`.
    Utilizations(&'static str),
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
    /// What messages call it.
    pub name: String,
    /// Who is next.
    pub order: PartSpec,
    /// Who may overtake.
    pub backfill: PartSpec,
    /// Where jobs go.
    pub placement: PartSpec,
    /// What may be drawn in all; none: there is no ceiling.
    pub power: Option<PartSpec>,
}

const fn plain<T: ?Sized>(
    name: &'static str,
    doc: &'static str,
    make: fn(&mut Params, u64) -> Result<Box<T>>,
) -> Row<T> {
    Row {
        name,
        doc,
        parameters: &[],
        uses_chance: false,
        reads_draws: ReadsDraws::Never,
        needs: &[],
        make: Make::Alone(make),
    }
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
    Row {
        needs: &[Need::ObservedStarts],
        ..plain("observed", "earliest start in reality first", |_, _| Ok(Box::new(order::observed::ObservedStarts)))
    },
    Row {
        name: "vahrm",
        doc: "highest beta × predicted energy + (1 - beta) × wait first",
        parameters: VAHRM,
        uses_chance: false,
        reads_draws: ReadsDraws::Always,
        needs: &[Need::FirstRuns("first_run")],
        make: Make::With(|params, _| {
            let (weights, beside) = take_weights(params)?;
            Ok((Box::new(vahrm::Vahrm::new(weights)), beside))
        }),
    },
];

/// The backfills.
pub const BACKFILLS: &[Row<dyn Backfill>] = &[
    plain("none", "no job overtakes: the head of the queue blocks", |_, _| Ok(Box::new(NoBackfill))),
    plain("first-fit", "every job that fits starts, in policy order", |_, _| Ok(Box::new(FirstFit))),
    Row {
        name: "reservations",
        doc: "later jobs start if they delay none of the first `depth` blocked ones",
        parameters: &[Parameter {
            name: "depth",
            unit: "jobs",
            default: "1",
            range: "a whole number from 1, or \"unbounded\"",
            doc: "how many blocked jobs hold a reservation: 1 is EASY, unbounded is conservative",
        }],
        uses_chance: false,
        reads_draws: ReadsDraws::Never,
        needs: &[],
        make: Make::Alone(|params, _| Ok(Box::new(Reservations::new(take_depth(params)?)))),
    },
    Row {
        needs: &[Need::ObservedStarts],
        ..plain("observed", "each job starts when it did in reality, or as soon after as it fits", |_, _| {
            Ok(Box::new(observed::OnObservedStart::default()))
        })
    },
    Row {
        name: "patience",
        doc: "every job that fits starts, those that suit the free nodes first; long waits hold reservations",
        parameters: PATIENCE,
        uses_chance: false,
        reads_draws: ReadsDraws::Never,
        needs: &[],
        make: Make::Alone(|params, _| Ok(Box::new(take_patience(params)?))),
    },
];

const PATIENCE: &[Parameter] = &[
    Parameter {
        name: "patience_s",
        unit: "s",
        default: "86400",
        range: "seconds from 0, or \"none\"",
        doc: "who has waited longer goes first and, if it does not fit, holds a reservation",
    },
    Parameter {
        name: "depth",
        unit: "jobs",
        default: "1",
        range: "a whole number from 1, or \"unbounded\"",
        doc: "how many of them hold a reservation at once, the longest waits first",
    },
    Parameter {
        name: "suited_first",
        unit: "",
        default: "true",
        range: "true or false",
        doc: "start first those whom the placement finds in good hands on the free nodes",
    },
];

/// The placements.
pub const PLACEMENTS: &[Row<dyn Placement>] = &[
    plain("lowest-id", "the free nodes with the lowest ids", |_, _| Ok(Box::new(LowestId))),
    Row {
        needs: &[Need::ObservedNodes],
        ..plain("observed", "the nodes it had in reality; those with the lowest ids where they are unknown", |_, _| {
            Ok(Box::new(ObservedNodes))
        })
    },
    Row {
        uses_chance: true,
        ..plain("random", "any free nodes, each set equally likely", |_, seed| Ok(Box::new(Random::new(seed))))
    },
    plain("lowest-power", "the free nodes with the lowest predicted watts for the job's application", |_, _| {
        Ok(Box::new(ranked::LowestPower::default()))
    }),
    Row {
        uses_chance: true,
        ..plain("lowest-power-cpu", "the same for jobs on CPUs, any free nodes for jobs on other devices", |_, seed| {
            Ok(Box::new(ranked::LowestPowerCpu::new(seed)))
        })
    },
    Row {
        name: "best-rank",
        doc: "the free nodes of the best rank over all applications",
        parameters: &[Parameter {
            name: "rank",
            unit: "",
            default: "\"power\"",
            range: "\"power\" or \"time\"",
            doc: "mean predicted watts, or mean predicted time factor and then watts",
        }],
        uses_chance: false,
        reads_draws: ReadsDraws::Never,
        needs: &[],
        make: Make::Alone(|params, _| Ok(Box::new(ranked::BestRank::new(take_rank(params)?)))),
    },
    Row {
        name: "opportunity-cost",
        doc: "the free nodes with the least predicted watts and worth to the other jobs there are",
        parameters: &[Parameter {
            name: "tolerance",
            unit: "",
            default: "1.0",
            range: "a number from 0",
            doc: "nodes suit an application up to the mean cost of the best tolerance × its share of the machine",
        }],
        uses_chance: false,
        reads_draws: ReadsDraws::WithFactors,
        needs: &[],
        make: Make::Alone(|params, _| {
            let expected = "a number from 0 to 1e9";
            let tolerance = params.take_number("tolerance", Value::Float(1.0), &(0.0..=1e9), expected)?;
            Ok(Box::new(OpportunityCost::new(tolerance)))
        }),
    },
    Row {
        name: "assignment",
        doc: "the matching of this pass's jobs to the free nodes that is predicted to take the least energy",
        parameters: &[Parameter {
            name: "interval_s",
            unit: "s",
            default: "0",
            range: "0, or seconds from 1e-6",
            doc: "jobs are gathered and matched at multiples of this; 0: whenever something happened",
        }],
        uses_chance: false,
        reads_draws: ReadsDraws::WithFactors,
        needs: &[],
        make: Make::With(|params, _| {
            let timing = Timing::every(take_interval(params)?);
            Ok((Box::new(Assignment::default()), Beside { timing, ..Beside::default() }))
        }),
    },
    Row {
        name: "sliding-window",
        doc: "free nodes of like predicted speed: the best within the first window of ranks that holds enough",
        parameters: SLIDING_WINDOW,
        uses_chance: false,
        reads_draws: ReadsDraws::Never,
        needs: &[],
        make: Make::Alone(|params, _| Ok(Box::new(take_window(params)?))),
    },
    Row {
        name: "pools",
        doc: "three pools by predicted watts, the most efficient emptied first, random nodes inside each",
        parameters: POOLS,
        uses_chance: true,
        reads_draws: ReadsDraws::Never,
        needs: &[Need::Utilizations("measured")],
        make: Make::Alone(|params, seed| Ok(Box::new(pools::Pools::new(take_borders(params)?, seed)))),
    },
];

/// The budgets.
pub const BUDGETS: &[Row<dyn Budget>] = &[Row {
    name: "system-budget",
    doc: "a job starts only if the system's predicted draw with it stays within the budget",
    parameters: &[
        Parameter {
            name: "pcr",
            unit: "",
            default: "1.0",
            range: "a number above 0",
            doc: "power constraint ratio: the budget as a share of the platform's TDP",
        },
        Parameter {
            name: "budget_w",
            unit: "W",
            default: "\"none\"",
            range: "watts above 0, or \"none\"",
            doc: "the budget itself, in place of pcr",
        },
        Parameter {
            name: "foresight_s",
            unit: "s",
            default: "0",
            range: "seconds from 0, or \"all\"",
            doc: "how far ahead budgets from outside are known when jobs are planned",
        },
        Parameter {
            name: "allocator",
            unit: "",
            default: "\"static\"",
            range: "\"static\", \"uniform\" or \"equal-slowdown\"",
            doc: "who splits the watts between running jobs",
        },
        Parameter {
            name: "allocator_interval_s",
            unit: "s",
            default: "0",
            range: "0, or seconds from 1e-6",
            doc: "caps are set at multiples of this and when jobs start; 0: at every pass",
        },
        Parameter {
            name: "caps_w",
            unit: "W",
            default: "\"tables\"",
            range: "watts above 0, ascending, or \"tables\"",
            doc: "caps that may be set on a node; tables: the finite caps of the platform's tables",
        },
        Parameter {
            name: "slowdown_limit",
            unit: "",
            default: "2.0",
            range: "1 to 1000",
            doc: "the most that equal-slowdown may slow a job",
        },
        Parameter {
            name: "on_excess",
            unit: "",
            default: "[]",
            range: "some of lower-caps, suspend, requeue, kill, in this order",
            doc: "what is done when the measured draw exceeds the budget",
        },
        Parameter {
            name: "victims",
            unit: "",
            default: "\"newest\"",
            range: "\"newest\" or \"lowest-priority\"",
            doc: "whom it is done to first",
        },
        Parameter {
            name: "monitor_interval_s",
            unit: "s",
            default: "0",
            range: "0, or seconds from 1e-6",
            doc: "the draw is measured at multiples of this; 0: after every instant",
        },
        Parameter {
            name: "max_requeues",
            unit: "",
            default: "3",
            range: "a whole number from 0",
            doc: "how often a job is queued again before it is killed instead",
        },
    ],
    uses_chance: false,
    reads_draws: ReadsDraws::Always,
    needs: &[],
    make: Make::Alone(|params, _| Ok(Box::new(take_budget(params)?))),
}];

const VAHRM: &[Parameter] = &[
    Parameter {
        name: "beta",
        unit: "",
        default: "0.000244140625",
        range: "0 to 1",
        doc: "weight of a joule of predicted energy; a second of wait weighs 1 - beta",
    },
    Parameter {
        name: "starvation_limit_s",
        unit: "s",
        default: "604800",
        range: "seconds from 0, or \"none\"",
        doc: "while a job has waited longer than this nothing else starts",
    },
    Parameter {
        name: "first_run",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "profile applications: the first run counts with TDP, on random nodes, and takes longer",
    },
    Parameter {
        name: "profiling_ratio",
        unit: "",
        default: "1.05",
        range: "1 to 1000",
        doc: "how many times longer a profiled run takes",
    },
    Parameter {
        name: "length",
        unit: "",
        default: "\"runtime\"",
        range: "\"runtime\" or \"walltime\"",
        doc: "what energies are predicted for",
    },
];

const SLIDING_WINDOW: &[Parameter] = &[
    Parameter {
        name: "window",
        unit: "ranks",
        default: "10",
        range: "a whole number from 1",
        doc: "ranks in the window, busy nodes counted; never fewer than the job's nodes",
    },
    Parameter {
        name: "on_miss",
        unit: "",
        default: "\"narrowest\"",
        range: "\"narrowest\" or \"wait\"",
        doc: "when no window holds enough: take the free nodes that span the fewest ranks, or block",
    },
    Parameter {
        name: "application_aware",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "rank nodes for the job's own application instead of by means over all",
    },
];

const POOLS: &[Parameter] = &[
    Parameter {
        name: "u_l",
        unit: "",
        default: "0.65",
        range: "0 to u_h",
        doc: "lowest utilization the machine has: the share of nodes in the first pool",
    },
    Parameter {
        name: "u_h",
        unit: "",
        default: "0.8",
        range: "u_l to 1",
        doc: "highest utilization the machine has: the share of nodes in the first two pools",
    },
    Parameter {
        name: "measured",
        unit: "",
        default: "false",
        range: "true or false",
        doc: "take u_l and u_h from a run with random placement and the same seed",
    },
];

fn take_depth(params: &mut Params) -> Result<usize> {
    match params.take("depth", Value::Int(1)) {
        Value::Int(depth @ 1..) => Ok(usize::try_from(depth).unwrap_or(usize::MAX)),
        Value::Text(word) if word == "unbounded" => Ok(usize::MAX),
        other => Err(config(params.path_of("depth"), other.to_string(), "a whole number from 1, or \"unbounded\"")),
    }
}

fn take_rank(params: &mut Params) -> Result<RankBy> {
    let word = params.take_choice("rank", "power", &["power", "time"])?;
    Ok(if word == "time" { RankBy::Time } else { RankBy::Power })
}

fn take_interval(params: &mut Params) -> Result<SimDuration> {
    let expected = "0, or seconds from 1e-6 to 1e12";
    let seconds = params.take_number("interval_s", Value::Int(0), &(0.0..=MAX_SECONDS), expected)?;
    let whole = SimDuration::from_seconds(seconds).filter(|&whole| seconds == 0.0 || whole > SimDuration::ZERO);
    whole.ok_or_else(|| config(params.path_of("interval_s"), seconds.to_string(), expected))
}

fn take_patience(params: &mut Params) -> Result<Patience> {
    let patience = take_seconds_or_none(params, "patience_s", 86_400);
    match (patience, take_depth(params), params.take_flag("suited_first", true)) {
        (Ok(patience), Ok(depth), Ok(suited_first)) => Ok(Patience::new(patience, depth, suited_first)),
        (patience, depth, suited) => Err(all_faults([patience.err(), depth.err(), suited.err()].into_iter().flatten())),
    }
}

fn take_weights(params: &mut Params) -> Result<(vahrm::Weights, Beside)> {
    let beta = params.take_number("beta", Value::Float(0.25_f64.powi(6)), &(0.0..=1.0), "a number from 0 to 1");
    let limit = take_seconds_or_none(params, "starvation_limit_s", 604_800);
    let first_run = params.take_flag("first_run", false);
    let expected = "a factor from 1 to 1000";
    let ratio = params.take_number("profiling_ratio", Value::Float(1.05), &(1.0..=1000.0), expected);
    let length = params.take_choice("length", "runtime", &["runtime", "walltime"]);
    match (beta, limit, first_run, ratio, length) {
        (Ok(beta), Ok(limit), Ok(first_run), Ok(ratio), Ok(length)) => {
            let length = if length == "walltime" { vahrm::Length::Walltime } else { vahrm::Length::Runtime };
            let beside = Beside {
                starvation_limit: (limit != SimDuration::FOREVER).then_some(limit),
                profiling_ratio: first_run.then_some(ratio),
                ..Beside::default()
            };
            Ok((vahrm::Weights { beta, length }, beside))
        }
        (beta, limit, first_run, ratio, length) => {
            let faults = [beta.err(), limit.err(), first_run.err(), ratio.err(), length.err()];
            Err(all_faults(faults.into_iter().flatten()))
        }
    }
}

/// Seconds, or the word `none`: no limit.
fn take_seconds_or_none(params: &mut Params, name: &str, default: i64) -> Result<SimDuration> {
    let value = params.take(name, Value::Int(default));
    let seconds = match value {
        Value::Text(ref word) if word == "none" => return Ok(SimDuration::FOREVER),
        Value::Int(seconds) => seconds as f64,
        Value::Float(seconds) => seconds,
        Value::Text(_) | Value::Bool(_) | Value::List(_) => f64::NAN,
    };
    let taken = SimDuration::from_seconds(seconds).filter(|_| seconds >= 0.0);
    taken.ok_or_else(|| config(params.path_of(name), value.to_string(), "seconds from 0 to 1e12, or \"none\""))
}

fn take_budget(params: &mut Params) -> Result<SystemBudget> {
    let limit = take_limit(params);
    let foresight = take_foresight(params);
    let split = take_split(params);
    let interval = take_seconds(params, "allocator_interval_s");
    let caps_w = take_caps(params);
    let steps = take_steps(params);
    let victims = params.take_choice("victims", "newest", &["newest", "lowest-priority"]);
    let monitor = take_seconds(params, "monitor_interval_s");
    let max_requeues = params.take_count("max_requeues", 3, 0);
    match (limit, foresight, split, interval, caps_w, steps, victims, monitor, max_requeues) {
        (
            Ok(limit),
            Ok(foresight),
            Ok(split),
            Ok(allocator_interval),
            Ok(caps_w),
            Ok(steps),
            Ok(victims),
            Ok(monitor_interval),
            Ok(max_requeues),
        ) => {
            let victims = if victims == "newest" { Victims::Newest } else { Victims::LowestPriority };
            let emergencies = Emergencies { steps, victims, monitor_interval, max_requeues, levels: Vec::new() };
            Ok(SystemBudget { limit: Some(limit), foresight, split, allocator_interval, caps_w, emergencies })
        }
        (limit, foresight, split, interval, caps_w, steps, victims, monitor, requeues) => Err(all_faults(
            [
                limit.err(),
                foresight.err(),
                split.err(),
                interval.err(),
                caps_w.err(),
                steps.err(),
                victims.err(),
                monitor.err(),
                requeues.err(),
            ]
            .into_iter()
            .flatten(),
        )),
    }
}

fn take_limit(params: &mut Params) -> Result<Limit> {
    let expected = "a number above 0, up to 1000";
    let pcr = params.take_number("pcr", Value::Float(1.0), &(f64::MIN_POSITIVE..=1000.0), expected);
    let value = params.take("budget_w", Value::Text("none".to_owned()));
    let watts = match value {
        Value::Text(ref word) if word == "none" => return pcr.map(Limit::Pcr),
        Value::Int(watts) => watts as f64,
        Value::Float(watts) => watts,
        Value::Text(_) | Value::Bool(_) | Value::List(_) => f64::NAN,
    };
    if !(watts > 0.0 && watts <= MAX_SYSTEM_WATTS) {
        let fault = config(params.path_of("budget_w"), value.to_string(), "watts above 0, up to 1e15, or \"none\"");
        return Err(all_faults([pcr.err(), Some(fault)].into_iter().flatten()));
    }
    match pcr? {
        1.0 => Ok(Limit::Watts(watts)),
        pcr => Err(config(params.path_of("pcr"), pcr.to_string(), "nothing beside budget_w")),
    }
}

fn take_foresight(params: &mut Params) -> Result<Foresight> {
    let value = params.take("foresight_s", Value::Int(0));
    let seconds = match value {
        Value::Text(ref word) if word == "all" => return Ok(Foresight::All),
        Value::Int(seconds) => seconds as f64,
        Value::Float(seconds) => seconds,
        Value::Text(_) | Value::Bool(_) | Value::List(_) => f64::NAN,
    };
    let taken = SimDuration::from_seconds(seconds).filter(|_| seconds >= 0.0).map(Foresight::For);
    taken.ok_or_else(|| config(params.path_of("foresight_s"), value.to_string(), "seconds from 0 to 1e12, or \"all\""))
}

fn take_split(params: &mut Params) -> Result<Split> {
    let allocator = params.take_choice("allocator", "static", &["static", "uniform", "equal-slowdown"]);
    let limit = params.take_number("slowdown_limit", Value::Float(2.0), &(1.0..=1000.0), "a factor from 1 to 1000");
    match (allocator, limit) {
        (Ok(allocator), Ok(limit)) => Ok(match allocator.as_str() {
            "uniform" => Split::Uniform,
            "equal-slowdown" => Split::EqualSlowdown(limit),
            _ => Split::Static,
        }),
        (allocator, limit) => Err(all_faults([allocator.err(), limit.err()].into_iter().flatten())),
    }
}

/// Zero, or seconds of at least a microsecond.
fn take_seconds(params: &mut Params, name: &str) -> Result<SimDuration> {
    let expected = "0, or seconds from 1e-6 to 1e12";
    let seconds = params.take_number(name, Value::Int(0), &(0.0..=MAX_SECONDS), expected)?;
    let whole = SimDuration::from_seconds(seconds).filter(|&whole| seconds == 0.0 || whole > SimDuration::ZERO);
    whole.ok_or_else(|| config(params.path_of(name), seconds.to_string(), expected))
}

/// Caps in ascending order; none: those of the tables.
fn take_caps(params: &mut Params) -> Result<Option<Vec<f64>>> {
    let value = params.take("caps_w", Value::Text("tables".to_owned()));
    let expected = "watts above 0, up to 1e6, ascending, or \"tables\": the finite caps of the platform's tables";
    let fault = || config(params.path_of("caps_w"), value.to_string(), expected);
    let list = match &value {
        Value::Text(word) if word == "tables" => return Ok(None),
        Value::List(list) => list,
        _ => return Err(fault()),
    };
    let watts = list.iter().map(|cap| match cap {
        Value::Int(watts) => *watts as f64,
        Value::Float(watts) => *watts,
        Value::Text(_) | Value::Bool(_) | Value::List(_) => f64::NAN,
    });
    let watts: Vec<f64> = watts.collect();
    let is_fine = watts.iter().all(|watts| *watts > 0.0 && *watts <= MAX_NODE_WATTS)
        && watts.windows(2).all(|pair| pair[0] < pair[1])
        && !watts.is_empty();
    if is_fine { Ok(Some(watts)) } else { Err(fault()) }
}

/// Steps of an emergency, each once and in their order.
fn take_steps(params: &mut Params) -> Result<Vec<Step>> {
    let value = params.take("on_excess", Value::List(Vec::new()));
    let known = |word: &Value| match word {
        Value::Text(word) => Step::NAMES.iter().find(|(name, _)| name == word).map(|(_, step)| *step),
        _ => None,
    };
    let steps: Option<Vec<Step>> = match &value {
        Value::List(list) => list.iter().map(known).collect(),
        _ => None,
    };
    steps.filter(|steps| steps.windows(2).all(|pair| pair[0] < pair[1])).ok_or_else(|| {
        let names = Step::NAMES.map(|(name, _)| name).join(", ");
        config(params.path_of("on_excess"), value.to_string(), format!("a list of some of {names}, in this order"))
    })
}

fn take_window(params: &mut Params) -> Result<SlidingWindow> {
    let window = params.take_count("window", 10, 1);
    let on_miss = params.take_choice("on_miss", "narrowest", &["narrowest", "wait"]);
    match (window, on_miss, params.take_flag("application_aware", false)) {
        (Ok(window), Ok(on_miss), Ok(application_aware)) => {
            let on_miss = if on_miss == "wait" { OnMiss::Wait } else { OnMiss::Narrowest };
            Ok(SlidingWindow::new(window, on_miss, application_aware))
        }
        (window, on_miss, aware) => Err(all_faults([window.err(), on_miss.err(), aware.err()].into_iter().flatten())),
    }
}

/// Measured borders are the host's to fill in: it makes the random run, and gives the part what it saw.
fn take_borders(params: &mut Params) -> Result<pools::Borders> {
    let share = "a share from 0 to 1";
    let low = params.take_number("u_l", Value::Float(0.65), &(0.0..=1.0), share);
    let high = params.take_number("u_h", Value::Float(0.8), &(0.0..=1.0), share);
    match (low, high, params.take_flag("measured", false)) {
        (Ok(low), Ok(high), Ok(_)) if low <= high => Ok(pools::Borders { low, high }),
        (Ok(low), Ok(high), Ok(_)) => {
            Err(config(params.path_of("u_l"), low.to_string(), format!("at most u_h, which is {high}")))
        }
        (low, high, measured) => Err(all_faults([low.err(), high.err(), measured.err()].into_iter().flatten())),
    }
}

/// A part that was made.
struct Made<T: ?Sized> {
    part: Box<T>,
    beside: Beside,
    /// All its parameters.
    params: BTreeMap<String, Value>,
}

fn make<T: ?Sized>(role: &str, rows: &[Row<T>], spec: &PartSpec, seed: u64) -> Result<Made<T>> {
    let path = format!("policy.{role}");
    let Some(row) = rows.iter().find(|row| row.name == spec.name) else {
        let known: Vec<_> = rows.iter().map(|row| row.name).collect();
        return Err(config(path, format!("`{}`", spec.name), format!("one of {}", known.join(", "))));
    };
    let mut params = Params::new(path, spec.params.clone());
    let (part, beside) = match row.make {
        Make::Alone(make) => (make(&mut params, seed)?, Beside::default()),
        Make::With(make) => make(&mut params, seed)?,
    };
    Ok(Made { part, beside, params: params.finish()? })
}

/// Puts the parts together with what their parameters ask for beside them.
fn together(
    order: Made<dyn Order>,
    backfill: Box<dyn Backfill>,
    placement: Made<dyn Placement>,
    power: Option<Box<dyn Budget>>,
    seed: u64,
) -> Parts {
    let Beside { starvation_limit, profiling_ratio, .. } = order.beside;
    let timing = placement.beside.timing;
    let backfill: Box<dyn Backfill> = match starvation_limit {
        Some(limit) => Box::new(Starving::new(limit, backfill)),
        None => backfill,
    };
    let (analyzer, placement): (Box<dyn Analyzer>, Box<dyn Placement>) = match profiling_ratio {
        Some(ratio) => (Box::new(FirstRuns::new(ratio)), Box::new(FirstRunsByLot::new(placement.part, seed))),
        None => (Box::new(Tables), placement.part),
    };
    // Without a budget every job fits, first run or not.
    let holds = profiling_ratio.is_some() && power.is_some();
    let gate = holds.then(|| Box::new(UntilProfiled::default()) as Box<dyn Gate>);
    Parts { analyzer, gate, order: order.part, backfill, placement, power, timing }
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
        }
    }
}

impl PolicySpec {
    /// Makes the parts, and says with which parameters, defaults filled in.
    ///
    /// # Errors
    /// A [`ConfigError`] with a fault for each part or parameter that is unknown or cannot be.
    pub fn build(&self, seed: u64) -> Result<(Parts, Self)> {
        let order = make("order", ORDERS, &self.order, seed);
        let backfill = make("backfill", BACKFILLS, &self.backfill, seed);
        let placement = make("placement", PLACEMENTS, &self.placement, seed);
        let power = self.power.as_ref().map(|part| make("power", BUDGETS, part, seed)).transpose();
        match (order, backfill, placement, power) {
            (Ok(order), Ok(backfill), Ok(placement), Ok(power)) => {
                let full =
                    |spec: &PartSpec, params: &BTreeMap<_, _>| PartSpec { params: params.clone(), ..spec.clone() };
                let spec = Self {
                    name: self.name.clone(),
                    order: full(&self.order, &order.params),
                    backfill: full(&self.backfill, &backfill.params),
                    placement: full(&self.placement, &placement.params),
                    power: self.power.as_ref().zip(power.as_ref()).map(|(spec, made)| full(spec, &made.params)),
                };
                Ok((together(order, backfill.part, placement, power.map(|power| power.part), seed), spec))
            }
            (order, backfill, placement, power) => {
                let faults = [order.err(), backfill.err(), placement.err(), power.err()];
                Err(all_faults(faults.into_iter().flatten()))
            }
        }
    }
}

fn all_faults(errors: impl Iterator<Item = Error>) -> Error {
    let mut faults = Vec::new();
    for error in errors {
        match error {
            Error::Config(config) => faults.extend(config.faults),
            other => return other,
        }
    }
    ConfigError { faults }.into()
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
                for placement in PLACEMENTS {
                    let spec = PolicySpec {
                        name: "test".into(),
                        order: part(order.name),
                        backfill: part(backfill.name),
                        placement: part(placement.name),
                        power: None,
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
        };
        let message = spec.build(0).err().unwrap().to_string();
        assert_eq!(
            message,
            "policy.order: found `fifo`, expected one of fcfs, shortest, longest, smallest, largest, smallest-area, wfp3, observed, vahrm\n\
             policy.backfill.depth: found 0, expected a whole number from 1, or \"unbounded\""
        );
    }
}
