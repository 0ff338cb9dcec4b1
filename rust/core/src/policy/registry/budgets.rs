//! The budgets, with their parameters.

use crate::params::{DefaultValue, Param, Params, Value};
use crate::policy::budget::system_budget::{Limit, Split, SystemBudget};
use crate::policy::emergency::{Emergencies, Step, Victims};
use crate::policy::registry::row::{ReadsDraws, Row};
use crate::power::budgets::Foresight;
use crate::units::{MAX_NODE_WATTS, MAX_SYSTEM_WATTS, SimDuration};

/// The budgets.
pub const BUDGETS: &[Row<SystemBudget>] = &[Row::<SystemBudget>::new(
    "system-budget",
    "a job starts only if the system's predicted draw with it stays within the budget",
    system_budget,
)
.reading_draws(ReadsDraws::Always)];

const PCR: Param<f64> = Param::read_by(
    "pcr",
    "",
    DefaultValue::Float(1.0),
    "a number above 0, up to 1000",
    |_, value| value.number().filter(|&share| share > 0.0 && share <= 1000.0),
    "power constraint ratio: the budget as a share of the platform's TDP",
);
const BUDGET: Param<Option<f64>> = Param::read_by(
    "budget_w",
    "W",
    DefaultValue::Text("none"),
    "watts above 0, up to 1e15, or \"none\"",
    |_, value| match value {
        Value::Text(word) if word == "none" => Some(None),
        other => other.number().filter(|&watts| watts > 0.0 && watts <= MAX_SYSTEM_WATTS).map(Some),
    },
    "the budget itself, in place of pcr",
);
const FORESIGHT: Param<Option<SimDuration>> = Param::seconds_or(
    "all",
    "foresight_s",
    DefaultValue::Int(0),
    0.0,
    "how far ahead the policy knows the budgets of events when it plans",
);
const ALLOCATOR: Param<Split> = Param::words(
    "allocator",
    &[("static", Split::Static), ("uniform", Split::Uniform), ("equal-slowdown", Split::EqualSlowdown(2.0))],
    "what splits the watts between running jobs: uniform sets one cap for all nodes at work, equal-slowdown caps that slow all jobs alike, static none",
);
const ALLOCATOR_INTERVAL: Param<SimDuration> = Param::interval(
    "allocator_interval_s",
    "caps are set at multiples of this, when jobs start and when the budget changes; 0: at every pass",
);
const CAPS: Param<Option<Vec<f64>>> = Param::read_by(
    "caps_w",
    "W",
    DefaultValue::Text("tables"),
    "watts above 0, up to 1e6, ascending, or \"tables\": the finite caps of the platform's tables",
    |_, value| match value {
        Value::Text(word) if word == "tables" => Some(None),
        Value::List(list) => caps(list).map(Some),
        _ => None,
    },
    "levels of caps on a node; tables: the finite caps of the platform's tables",
);
const SLOWDOWN_LIMIT: Param<f64> =
    Param::number("slowdown_limit", "a factor", 2.0, (1.0, 1000.0), "the most that equal-slowdown may slow a job");
const ON_EXCESS: Param<Vec<Step>> = Param::read_by(
    "on_excess",
    "",
    DefaultValue::Empty,
    "a list of some of lower-caps, suspend, requeue, kill, in this order",
    |_, value| if let Value::List(list) = value { steps(list) } else { None },
    "what is done when the actual draw exceeds the budget",
);
const VICTIMS: Param<Victims> = Param::words(
    "victims",
    &[("newest", Victims::Newest), ("lowest-priority", Victims::LowestPriority)],
    "which running jobs it is done to first",
);
const MONITOR_INTERVAL: Param<SimDuration> =
    Param::interval("monitor_interval_s", "the draw is measured at multiples of this; 0: after every instant");
const MAX_REQUEUES: Param<u32> =
    Param::count("max_requeues", "", 3, 0, "how often a job is queued again before it is killed instead");

fn system_budget(params: &mut Params, _seed: u64) -> Box<SystemBudget> {
    let limit = limit(params);
    let foresight = params.take(&FORESIGHT).map_or(Foresight::All, Foresight::For);
    let split = params.take(&ALLOCATOR);
    let allocator_interval = params.take(&ALLOCATOR_INTERVAL);
    let caps_w = params.take(&CAPS);
    let slowdown = params.take(&SLOWDOWN_LIMIT);
    let split = if let Split::EqualSlowdown(_) = split { Split::EqualSlowdown(slowdown) } else { split };
    let emergencies = Emergencies {
        steps: params.take(&ON_EXCESS),
        victims: params.take(&VICTIMS),
        monitor_interval: params.take(&MONITOR_INTERVAL),
        max_requeues: params.take(&MAX_REQUEUES),
        levels: Vec::new(),
    };
    Box::new(SystemBudget { limit: Some(limit), foresight, split, allocator_interval, caps_w, emergencies })
}

fn limit(params: &mut Params) -> Limit {
    let (share, watts) = (params.take(&PCR), params.take(&BUDGET));
    if watts.is_some() && share != 1.0 {
        params.refuse(&PCR, &share, "nothing with budget_w");
    }
    watts.map_or(Limit::Pcr(share), Limit::Watts)
}

/// Caps, at least one, in ascending order.
fn caps(list: &[Value]) -> Option<Vec<f64>> {
    let watts: Vec<f64> = list.iter().map(Value::number).collect::<Option<_>>()?;
    let are_valid = watts.iter().all(|watts| *watts > 0.0 && *watts <= MAX_NODE_WATTS);
    Some(watts).filter(|watts| are_valid && !watts.is_empty() && watts.is_sorted_by(|one, next| one < next))
}

/// Steps of an emergency, each once and in their order.
fn steps(list: &[Value]) -> Option<Vec<Step>> {
    let step = |value: &Value| match value {
        Value::Text(word) => Step::NAMES.iter().find(|(name, _)| name == word).map(|&(_, step)| step),
        _ => None,
    };
    let steps: Vec<Step> = list.iter().map(step).collect::<Option<_>>()?;
    Some(steps).filter(|steps| steps.is_sorted_by(|one, next| one < next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_are_named_in_the_order_in_which_they_are_taken() {
        let names = Step::NAMES.map(|(name, _)| name);
        assert!(ON_EXCESS.to_string().contains(&names.join(", ")));
        let list = |names: &[&str]| Value::List(names.iter().map(|name| Value::Text((*name).to_owned())).collect());
        assert_eq!(ON_EXCESS.read(&list(&names)), Some(Step::NAMES.map(|(_, step)| step).to_vec()));
        for wrong in [&["kill", "suspend"][..], &["suspend", "suspend"], &["sleep"]] {
            assert_eq!(ON_EXCESS.read(&list(wrong)), None, "{wrong:?}");
        }
    }

    #[test]
    fn caps_ascend_within_what_a_node_may_draw() {
        let list = |watts: &[f64]| Value::List(watts.iter().map(|&watts| Value::Float(watts)).collect());
        assert_eq!(CAPS.read(&list(&[100.0, 200.0])), Some(Some(vec![100.0, 200.0])));
        for wrong in [&[200.0, 100.0][..], &[0.0], &[2e6], &[f64::NAN], &[]] {
            assert_eq!(CAPS.read(&list(wrong)), None, "{wrong:?}");
        }
    }
}
