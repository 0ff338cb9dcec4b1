//! The sleep parts: one rule, different numbers (operations page on machines, rule 14).

use crate::error::{Result, config};
use crate::params::{Parameter, Params, Value};
use crate::policy::registry::take::all_faults;
use crate::policy::registry::{Row, plain};
use crate::policy::sleep::newsvendor::Newsvendor;
use crate::policy::sleep::rules::{Far, Margin, NodeList, Rules};
use crate::units::SimDuration;

/// The defaults of one part.
struct Defaults {
    min_idle_s: &'static str,
    estimated_off_s: &'static str,
    stop_margin_s: &'static str,
    start_margin_s: &'static str,
    off_limit_per_day: &'static str,
}

const TIMEOUT: Defaults = Defaults {
    min_idle_s: "600",
    estimated_off_s: "0",
    stop_margin_s: "\"actual\"",
    start_margin_s: "\"actual\"",
    off_limit_per_day: "\"none\"",
};

const NQSV: Defaults = Defaults {
    min_idle_s: "7200",
    estimated_off_s: "3600",
    stop_margin_s: "600",
    start_margin_s: "1200",
    off_limit_per_day: "5",
};

const PLANNED: Defaults = Defaults { min_idle_s: "0", estimated_off_s: "\"break-even\"", ..TIMEOUT };

/// The sleep parts.
pub const SLEEPS: &[Row<Rules>] = &[
    Row {
        parameters: TIMEOUT_ROWS,
        ..plain(
            "timeout",
            "nodes that have idled for `min_idle_s` are switched off, and on again for jobs",
            |params, _| take(params, &TIMEOUT).map(Box::new),
        )
    },
    Row {
        parameters: NQSV_ROWS,
        ..plain(
            "nqsv",
            "the same with margins, daily limits and a look at the next planned job: NEC's NQSV",
            |params, _| take(params, &NQSV).map(Box::new),
        )
    },
    Row {
        parameters: PLANNED_ROWS,
        ..plain(
            "planned",
            "idle nodes are switched off at once if that saves energy until their next job",
            |params, _| take(params, &PLANNED).map(Box::new),
        )
    },
    Row {
        parameters: NEWSVENDOR_ROWS,
        ..plain(
            "newsvendor",
            "the same, but a reserve stays on for jobs to come: as many as earlier demand tells, within a budget",
            |params, _| take_newsvendor(params).map(Box::new),
        )
    },
];

/// The parameter that the newsvendor has beyond those of all.
const RESERVE: Parameter = Parameter {
    name: "reserve_ratio",
    unit: "",
    default: "0.08",
    range: "a number from 0 to 1",
    doc: "share of the time of free nodes that the reserve may take",
};

const TIMEOUT_ROWS: &[Parameter] = &parameters(&TIMEOUT);
const NQSV_ROWS: &[Parameter] = &parameters(&NQSV);
const PLANNED_ROWS: &[Parameter] = &parameters(&PLANNED);
const NEWSVENDOR_ROWS: &[Parameter] = &with_reserve(&parameters(&PLANNED));

const fn with_reserve(common: &[Parameter; 7]) -> [Parameter; 8] {
    let [idle, off, stop, start, limit, on, exclude] = *common;
    [idle, off, stop, start, limit, on, exclude, RESERVE]
}

const fn parameters(of: &Defaults) -> [Parameter; 7] {
    [
        Parameter {
            name: "min_idle_s",
            unit: "s",
            default: of.min_idle_s,
            range: "seconds from 0",
            doc: "how long a node must have been idle",
        },
        Parameter {
            name: "estimated_off_s",
            unit: "s",
            default: of.estimated_off_s,
            range: "seconds from 0, or \"break-even\"",
            doc: "how far away its next planned job must be at least; break-even: so far that sleep saves energy",
        },
        Parameter {
            name: "stop_margin_s",
            unit: "s",
            default: of.stop_margin_s,
            range: "seconds from 0, or \"actual\"",
            doc: "how long stopping takes in plans; actual: the node's shutdown_s",
        },
        Parameter {
            name: "start_margin_s",
            unit: "s",
            default: of.start_margin_s,
            range: "seconds from 0, or \"actual\"",
            doc: "how long starting takes in plans; actual: the node's boot_s",
        },
        Parameter {
            name: "off_limit_per_day",
            unit: "shutdowns",
            default: of.off_limit_per_day,
            range: "a whole number from 0, or \"none\"",
            doc: "how many shutdowns of one node may begin in one day of the log's clock",
        },
        Parameter {
            name: "min_on_nodes",
            unit: "nodes",
            default: "0",
            range: "a whole number from 0",
            doc: "how many nodes of the platform stay on: idle, busy or booting",
        },
        Parameter {
            name: "exclude",
            unit: "nodes",
            default: "\"\"",
            range: "nodes as in \"0-3,7\", or a list",
            doc: "nodes that are never put to sleep",
        },
    ]
}

/// A default as it is written.
fn value(default: &str) -> Value {
    default.parse().map_or_else(|_| Value::Text(default.trim_matches('"').to_owned()), Value::Int)
}

fn take(params: &mut Params, of: &Defaults) -> Result<Rules> {
    let min_idle = take_span(params, "min_idle_s", of.min_idle_s, None);
    let far = take_span(params, "estimated_off_s", of.estimated_off_s, Some("break-even"));
    let stop = take_span(params, "stop_margin_s", of.stop_margin_s, Some("actual"));
    let start = take_span(params, "start_margin_s", of.start_margin_s, Some("actual"));
    let off_limit = take_limit(params, of.off_limit_per_day);
    let min_on = params.take_count("min_on_nodes", 0, 0);
    let exclude = take_nodes(params);
    let margin = |span: Option<SimDuration>| span.map_or(Margin::Platform, Margin::Of);
    match (min_idle, far, stop, start, off_limit, min_on, exclude) {
        (Ok(min_idle), Ok(far), Ok(stop), Ok(start), Ok(off_limit), Ok(min_on), Ok(exclude)) => Ok(Rules {
            min_idle: min_idle.unwrap_or_default(),
            far: far.map_or(Far::BreakEven, Far::Of),
            stop: margin(stop),
            start: margin(start),
            off_limit,
            min_on,
            exclude,
            own: None,
        }),
        (min_idle, far, stop, start, off_limit, min_on, exclude) => {
            let spans = [min_idle.err(), far.err(), stop.err(), start.err()];
            let others = [off_limit.err(), min_on.err(), exclude.err()];
            Err(all_faults(spans.into_iter().chain(others).flatten()))
        }
    }
}

fn take_newsvendor(params: &mut Params) -> Result<Rules> {
    let rules = take(params, &PLANNED);
    let ratio = params.take_number("reserve_ratio", Value::Float(0.08), &(0.0..=1.0), "a number from 0 to 1");
    match (rules, ratio) {
        (Ok(rules), Ok(ratio)) => Ok(Rules { own: Some(Box::new(Newsvendor::new(ratio))), ..rules }),
        (rules, ratio) => Err(all_faults([rules.err(), ratio.err()].into_iter().flatten())),
    }
}

/// Seconds, or none for the word that stands for something else.
fn take_span(params: &mut Params, name: &str, default: &str, word: Option<&str>) -> Result<Option<SimDuration>> {
    let given = params.take(name, value(default));
    let seconds = match &given {
        Value::Text(text) if word == Some(text) => return Ok(None),
        Value::Int(seconds) => *seconds as f64,
        Value::Float(seconds) => *seconds,
        Value::Text(_) | Value::Bool(_) | Value::List(_) => f64::NAN,
    };
    let or = word.map_or_else(String::new, |word| format!(", or \"{word}\""));
    let span = SimDuration::from_seconds(seconds).filter(|_| seconds >= 0.0);
    let fault = || config(params.path_of(name), given.to_string(), format!("seconds from 0 to 1e12{or}"));
    span.map(Some).ok_or_else(fault)
}

fn take_limit(params: &mut Params, default: &str) -> Result<Option<u32>> {
    let given = params.take("off_limit_per_day", value(default));
    let count = match &given {
        Value::Text(word) if word == "none" => return Ok(None),
        Value::Int(count) => u32::try_from(*count).ok(),
        Value::Float(_) | Value::Text(_) | Value::Bool(_) | Value::List(_) => None,
    };
    let expected = "a whole number from 0, or \"none\"";
    count.map(Some).ok_or_else(|| config(params.path_of("off_limit_per_day"), given.to_string(), expected))
}

/// Nodes as `"0-3,7"`, one number, or a list.
fn take_nodes(params: &mut Params) -> Result<NodeList> {
    let given = params.take("exclude", Value::Text(String::new()));
    let node = |value: &Value| if let Value::Int(node) = value { u32::try_from(*node).ok() } else { None };
    let list = |values: &[Value]| {
        let mut list = NodeList::default();
        values.iter().map(node).try_for_each(|node| node.map(|node| list.push(node))).map(|()| list)
    };
    let nodes = match &given {
        Value::Text(text) => NodeList::parse(text),
        Value::Int(_) => list(std::slice::from_ref(&given)),
        Value::List(values) => list(values),
        Value::Float(_) | Value::Bool(_) => None,
    };
    let expected = "nodes as in \"0-3,7\", ends included, or a list of them";
    nodes.ok_or_else(|| config(params.path_of("exclude"), given.to_string(), expected))
}
