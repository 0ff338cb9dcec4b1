//! The sleep parts: one rule, different numbers (operations page on machines, rule 14).

use crate::params::DefaultValue::{Int, Text};
use crate::params::{DefaultValue, Param, Params, Value};
use crate::policy::registry::row::Row;
use crate::policy::sleep::as_planned::AsPlanned;
use crate::policy::sleep::newsvendor::Newsvendor;
use crate::policy::sleep::rules::{Far, Margin, NodeList, Rules};
use crate::units::SimDuration;

/// The sleep parts.
pub const SLEEPS: &[Row<Rules>] = &[
    Row::<Rules>::new(
        "timeout",
        "nodes that have idled for `min_idle_s` are switched off, and on again for jobs",
        |params, _| Box::new(rules(params, &TIMEOUT)),
    ),
    Row::<Rules>::new(
        "nqsv",
        "the same with margins, daily limits and a look at the next planned job: NEC's NQSV",
        |params, _| Box::new(rules(params, &NQSV)),
    ),
    Row::<Rules>::new(
        "planned",
        "idle nodes are switched off at once if that saves energy until their next job",
        |params, _| Box::new(rules(params, &PLANNED)),
    ),
    Row::<Rules>::new(
        "newsvendor",
        "the same, but a reserve stays on for jobs to come: as many as earlier demand tells, within a budget",
        |params, _| {
            let rules = rules(params, &PLANNED);
            Box::new(Rules { rest: Box::new(Newsvendor::new(params.take(&RESERVE))), ..rules })
        },
    ),
];

/// The defaults of one part.
struct Defaults {
    min_idle: DefaultValue,
    estimated_off: DefaultValue,
    stop_margin: DefaultValue,
    start_margin: DefaultValue,
    off_limit: DefaultValue,
}

const TIMEOUT: Defaults = Defaults {
    min_idle: Int(600),
    estimated_off: Int(0),
    stop_margin: Text("actual"),
    start_margin: Text("actual"),
    off_limit: Text("none"),
};
const NQSV: Defaults = Defaults {
    min_idle: Int(7200),
    estimated_off: Int(3600),
    stop_margin: Int(600),
    start_margin: Int(1200),
    off_limit: Int(5),
};
const PLANNED: Defaults = Defaults { min_idle: Int(0), estimated_off: Text("break-even"), ..TIMEOUT };

const MIN_IDLE: Param<SimDuration> =
    Param::seconds("min_idle_s", TIMEOUT.min_idle, "how long a node must have been idle");
const ESTIMATED_OFF: Param<Option<SimDuration>> = Param::seconds_or(
    "break-even",
    "estimated_off_s",
    TIMEOUT.estimated_off,
    0.0,
    "how far away its next planned job must be at least; break-even: so far that sleep saves energy",
);
const STOP_MARGIN: Param<Option<SimDuration>> = Param::seconds_or(
    "actual",
    "stop_margin_s",
    TIMEOUT.stop_margin,
    0.0,
    "how long stopping takes in plans; actual: the node's shutdown_s",
);
const START_MARGIN: Param<Option<SimDuration>> = Param::seconds_or(
    "actual",
    "start_margin_s",
    TIMEOUT.start_margin,
    0.0,
    "how long starting takes in plans; actual: the node's boot_s",
);
const OFF_LIMIT: Param<Option<u32>> = Param::count_or(
    "none",
    "off_limit_per_day",
    "shutdowns",
    TIMEOUT.off_limit,
    0,
    "how many shutdowns of one node may begin in one day of the log's clock",
);
const MIN_ON: Param<u32> =
    Param::count("min_on_nodes", "nodes", 0, 0, "how many nodes of the platform stay on: idle, busy or booting");
const EXCLUDE: Param<NodeList> = Param::read_by(
    "exclude",
    "nodes",
    Text(""),
    "nodes as in \"0-3,7\", ends included, or a list of them",
    |_, value| match value {
        Value::Text(text) => NodeList::parse(text),
        Value::Int(_) => nodes(std::slice::from_ref(value)),
        Value::List(list) => nodes(list),
        Value::Float(_) | Value::Bool(_) => None,
    },
    "nodes that are never put to sleep",
);
const RESERVE: Param<f64> = Param::number(
    "reserve_ratio",
    "a number",
    0.08,
    (0.0, 1.0),
    "share of the time of free nodes that the reserve may take",
);

fn rules(params: &mut Params, of: &Defaults) -> Rules {
    let margin = |span: Option<SimDuration>| span.map_or(Margin::Platform, Margin::Of);
    Rules {
        min_idle: params.take(&MIN_IDLE.defaulting(of.min_idle)),
        far: params.take(&ESTIMATED_OFF.defaulting(of.estimated_off)).map_or(Far::BreakEven, Far::Of),
        stop: margin(params.take(&STOP_MARGIN.defaulting(of.stop_margin))),
        start: margin(params.take(&START_MARGIN.defaulting(of.start_margin))),
        off_limit: params.take(&OFF_LIMIT.defaulting(of.off_limit)),
        min_on: params.take(&MIN_ON),
        exclude: params.take(&EXCLUDE),
        rest: Box::new(AsPlanned),
    }
}

/// A list of nodes by their numbers.
fn nodes(list: &[Value]) -> Option<NodeList> {
    let mut nodes = NodeList::default();
    for value in list {
        let Value::Int(node) = *value else { return None };
        nodes.push(u32::try_from(node).ok()?);
    }
    Some(nodes)
}
