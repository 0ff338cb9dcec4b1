//! The backfills, with their parameters.

use crate::params::{DefaultValue, Param, Params};
use crate::policy::backfill::Backfill;
use crate::policy::backfill::candidates::Candidates;
use crate::policy::backfill::first_fit::FirstFit;
use crate::policy::backfill::named::NamedPlan;
use crate::policy::backfill::none::NoBackfill;
use crate::policy::backfill::observed::OnObservedStart;
use crate::policy::backfill::patience::with_patience;
use crate::policy::backfill::reservations::Reservations;
use crate::policy::backfill::two_orders::in_two_orders;
use crate::policy::registry::row::{Accompanied, Beside, Need, Row};
use crate::policy::registry::slurm;
use crate::policy::timing::Timing;
use crate::units::SimDuration;

/// The backfills.
pub const BACKFILLS: &[Row<dyn Backfill>] = &[
    Row::<dyn Backfill>::new("none", "no job overtakes: the head of the queue blocks", |_, _| Box::new(NoBackfill))
        .knowing_cells(),
    Row::<dyn Backfill>::new("first-fit", "every job that fits starts, in policy order", |_, _| Box::new(FirstFit))
        .knowing_cells(),
    Row::<dyn Backfill>::new(
        "reservations",
        "later jobs start if they delay none of the first `depth` blocked ones",
        reservations,
    )
    .knowing_cells(),
    Row::<dyn Backfill>::asking(
        "plan",
        "each job is planned on named nodes at its earliest fit next to those before it",
        plan,
    )
    .choosing_nodes()
    .planning_watts()
    .knowing_cells(),
    Row::<dyn Backfill>::new(
        "slurm",
        "Slurm's main loop and backfill loop, with the settings of a slurm.conf, on named nodes",
        slurm::scheduler,
    )
    .choosing_nodes()
    .letting_place()
    .knowing_cells(),
    Row::<dyn Backfill>::new(
        "observed",
        "each job starts when it did in reality, or as soon after as it fits",
        |_, _| Box::new(OnObservedStart::default()),
    )
    .needing(&[Need::ObservedStarts]),
    Row::<dyn Backfill>::new(
        "patience",
        "every job that fits starts, those that suit the free nodes first; long waits hold reservations",
        patience,
    )
    .knowing_cells(),
];

/// Number of jobs, or all of them.
const fn depth(default: DefaultValue, doc: &'static str) -> Param<Option<u32>> {
    Param::count_or("unbounded", "depth", "jobs", default, 1, doc)
}

fn jobs(depth: Option<u32>) -> usize {
    depth.map_or(usize::MAX, |depth| depth as usize)
}

/// Order in which jobs are looked at; none: that of the policy.
const fn candidates(doc: &'static str) -> Param<Option<Candidates>> {
    Param::words("order", &Candidates::NAMES, doc)
}

const RESERVED: Param<Option<u32>> = depth(
    DefaultValue::Int(1),
    "number of blocked jobs that hold a reservation, which no job may delay; 1 is EASY, unbounded is conservative",
);
const OVERTAKING: Param<Option<Candidates>> = candidates(
    "the order in which jobs are looked at that may overtake those with reservations; with `depth` 1, shortest is EASY-SJBF; without a sleep part, and not where nodes are counted for several sets of queues",
);

fn reservations(params: &mut Params, _seed: u64) -> Box<dyn Backfill> {
    let (depth, order) = (jobs(params.take(&RESERVED)), params.take(&OVERTAKING));
    match order {
        // With a reservation for every job there are none behind the last.
        Some(order) if depth != usize::MAX => in_two_orders(depth, order),
        _ => Box::new(Reservations::new(depth)),
    }
}

const PLANNED: Param<Option<u32>> = depth(
    DefaultValue::Text("unbounded"),
    "number of jobs that are planned on named nodes for later; the others start if they fit next to these",
);
const HORIZON: Param<SimDuration> =
    Param::seconds("horizon_s", DefaultValue::Int(2_592_000), "how far ahead jobs are planned");
const GATHERING: Param<SimDuration> = Param::interval(
    "interval_s",
    "submissions are gathered and planned at multiples of this, or when anything else happens",
);
const BEYOND_DEPTH: Param<Option<Candidates>> = candidates(
    "the order in which jobs are looked at once `depth` of them are planned for later; without a sleep part",
);

fn plan(params: &mut Params, _seed: u64) -> Accompanied<dyn Backfill> {
    let depth = jobs(params.take(&PLANNED));
    let made = NamedPlan::new(depth, params.take(&HORIZON));
    let timing = Timing::gathering(params.take(&GATHERING));
    let made = match params.take(&BEYOND_DEPTH) {
        Some(order) => made.looking_in(order),
        None => made,
    };
    (Box::new(made), Beside { timing, ..Beside::default() })
}

const PATIENCE: Param<Option<SimDuration>> = Param::seconds_or(
    "none",
    "patience_s",
    DefaultValue::Int(86_400),
    0.0,
    "a job that has waited longer goes first and, if it does not fit, holds a reservation",
);
const PATIENT: Param<Option<u32>> =
    depth(DefaultValue::Int(1), "number of such reservations at once, the longest waits first");
const SUITED_FIRST: Param<bool> = Param::flag(
    "suited_first",
    true,
    "whether jobs that suit the free nodes, according to the placement, start before all others",
);

fn patience(params: &mut Params, _seed: u64) -> Box<dyn Backfill> {
    let limit = params.take(&PATIENCE).unwrap_or(SimDuration::FOREVER);
    let depth = jobs(params.take(&PATIENT));
    with_patience(limit, depth, params.take(&SUITED_FIRST))
}
