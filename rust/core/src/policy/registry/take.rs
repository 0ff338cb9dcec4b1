//! Parameters of parts, read strictly from what users gave; all faults of a part are reported at once.

use crate::error::{ConfigError, Error, Result, config};
use crate::params::{Params, Value};
use crate::policy::backfill::candidates::Candidates;
use crate::policy::backfill::named::NamedPlan;
use crate::policy::backfill::patience::Patience;
use crate::policy::backfill::reservations::Reservations;
use crate::policy::budget::system_budget::{Limit, Split, SystemBudget};
use crate::policy::emergency::{Emergencies, Step, Victims};
use crate::policy::order::fair_share::FairShare;
use crate::policy::order::vahrm;
use crate::policy::placement::pools;
use crate::policy::placement::rank_by::RankBy;
use crate::policy::placement::sliding_window::{OnMiss, SlidingWindow};
use crate::policy::registry::Beside;
use crate::policy::timing::Timing;
use crate::power::budgets::Foresight;
use crate::units::{MAX_NODE_WATTS, MAX_SECONDS, MAX_SYSTEM_WATTS, SimDuration};
pub(super) fn take_depth(params: &mut Params) -> Result<usize> {
    take_depth_or(params, Value::Int(1))
}

pub(super) fn take_reservations(params: &mut Params) -> Result<Reservations> {
    let order = params.take_choice("order", "policy", &CANDIDATES);
    match (take_depth(params), order) {
        (Ok(depth), Ok(order)) => {
            let made = Reservations::new(depth);
            Ok(match Candidates::named(&order) {
                Some(order) => made.looking_in(order),
                None => made,
            })
        }
        (depth, order) => Err(all_faults([depth.err(), order.err()].into_iter().flatten())),
    }
}

/// Orders in which jobs that may overtake are looked at.
const CANDIDATES: [&str; 7] = ["policy", "fcfs", "shortest", "longest", "smallest", "largest", "smallest-area"];

fn take_depth_or(params: &mut Params, default: Value) -> Result<usize> {
    match params.take("depth", default) {
        Value::Int(depth @ 1..) => Ok(usize::try_from(depth).unwrap_or(usize::MAX)),
        Value::Text(word) if word == "unbounded" => Ok(usize::MAX),
        other => Err(config(params.path_of("depth"), other.to_string(), "a whole number from 1, or \"unbounded\"")),
    }
}

pub(super) fn take_plan(params: &mut Params) -> Result<(NamedPlan, Timing)> {
    let depth = take_depth_or(params, Value::Text("unbounded".into()));
    let expected = "seconds from 0 to 1e12";
    let horizon = params.take_number("horizon_s", Value::Int(2_592_000), &(0.0..=MAX_SECONDS), expected);
    let order = params.take_choice("order", "policy", &CANDIDATES);
    match (depth, horizon, take_interval(params), order) {
        (Ok(depth), Ok(horizon_s), Ok(interval), Ok(order)) => {
            let horizon = SimDuration::from_seconds(horizon_s).unwrap_or(SimDuration::FOREVER);
            let plan = NamedPlan::new(depth, horizon);
            let plan = match Candidates::named(&order) {
                Some(order) => plan.looking_in(order),
                None => plan,
            };
            Ok((plan, Timing::gathering(interval)))
        }
        (depth, horizon, interval, order) => {
            Err(all_faults([depth.err(), horizon.err(), interval.err(), order.err()].into_iter().flatten()))
        }
    }
}

pub(super) fn take_rank(params: &mut Params) -> Result<RankBy> {
    let word = params.take_choice("rank", "power", &["power", "time"])?;
    Ok(if word == "time" { RankBy::Time } else { RankBy::Power })
}

pub(super) fn take_interval(params: &mut Params) -> Result<SimDuration> {
    let expected = "0, or seconds from 1e-6 to 1e12";
    let seconds = params.take_number("interval_s", Value::Int(0), &(0.0..=MAX_SECONDS), expected)?;
    let whole = SimDuration::from_seconds(seconds).filter(|&whole| seconds == 0.0 || whole > SimDuration::ZERO);
    whole.ok_or_else(|| config(params.path_of("interval_s"), seconds.to_string(), expected))
}

pub(super) fn take_patience(params: &mut Params) -> Result<Patience> {
    let patience = take_seconds_or_none(params, "patience_s", 86_400);
    match (patience, take_depth(params), params.take_flag("suited_first", true)) {
        (Ok(patience), Ok(depth), Ok(suited_first)) => Ok(Patience::new(patience, depth, suited_first)),
        (patience, depth, suited) => Err(all_faults([patience.err(), depth.err(), suited.err()].into_iter().flatten())),
    }
}

pub(super) fn take_weights(params: &mut Params) -> Result<(vahrm::Weights, Beside)> {
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

pub(super) fn take_fair_share(params: &mut Params) -> Result<FairShare> {
    let value = params.take("half_life_s", Value::Int(604_800));
    let seconds = match value {
        Value::Int(seconds) => seconds as f64,
        Value::Float(seconds) => seconds,
        Value::Text(_) | Value::Bool(_) | Value::List(_) => f64::NAN,
    };
    let half_life = match &value {
        Value::Text(word) if word == "none" => Some(SimDuration::FOREVER),
        _ => SimDuration::from_seconds(seconds).filter(|&half_life| half_life > SimDuration::ZERO),
    };
    let expected = "seconds from 1e-6 to 1e12, or \"none\"";
    let half_life = half_life.ok_or_else(|| config(params.path_of("half_life_s"), value.to_string(), expected));
    // The host says to which group each job belongs.
    match (half_life, params.take_choice("by", "user", &["user", "account"])) {
        (Ok(half_life), Ok(_)) => Ok(FairShare::new(half_life)),
        (half_life, by) => Err(all_faults([half_life.err(), by.err()].into_iter().flatten())),
    }
}

/// Seconds, or the word `none`: no limit.
pub(super) fn take_seconds_or_none(params: &mut Params, name: &str, default: i64) -> Result<SimDuration> {
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

pub(super) fn take_budget(params: &mut Params) -> Result<SystemBudget> {
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

pub(super) fn take_limit(params: &mut Params) -> Result<Limit> {
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
        pcr => Err(config(params.path_of("pcr"), pcr.to_string(), "nothing with budget_w")),
    }
}

pub(super) fn take_foresight(params: &mut Params) -> Result<Foresight> {
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

pub(super) fn take_split(params: &mut Params) -> Result<Split> {
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
pub(super) fn take_seconds(params: &mut Params, name: &str) -> Result<SimDuration> {
    let expected = "0, or seconds from 1e-6 to 1e12";
    let seconds = params.take_number(name, Value::Int(0), &(0.0..=MAX_SECONDS), expected)?;
    let whole = SimDuration::from_seconds(seconds).filter(|&whole| seconds == 0.0 || whole > SimDuration::ZERO);
    whole.ok_or_else(|| config(params.path_of(name), seconds.to_string(), expected))
}

/// Caps in ascending order; none: those of the tables.
pub(super) fn take_caps(params: &mut Params) -> Result<Option<Vec<f64>>> {
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
pub(super) fn take_steps(params: &mut Params) -> Result<Vec<Step>> {
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

pub(super) fn take_window(params: &mut Params) -> Result<SlidingWindow> {
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

/// Takes the borders of the pools. Measured ones are for the host to fill in: it makes the run with random placement.
pub(super) fn take_borders(params: &mut Params) -> Result<pools::Borders> {
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

pub(super) fn all_faults(errors: impl Iterator<Item = Error>) -> Error {
    let mut faults = Vec::new();
    for error in errors {
        match error {
            Error::Config(config) => faults.extend(config.faults),
            other => return other,
        }
    }
    ConfigError { faults }.into()
}
