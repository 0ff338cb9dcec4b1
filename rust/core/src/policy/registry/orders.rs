//! The orders, with their parameters.

use crate::params::{DefaultValue, Param, Params};
use crate::policy::order::arrival::Fcfs;
use crate::policy::order::fair_share::FairShare;
use crate::policy::order::vahrm::{Length, Vahrm, Weights};
use crate::policy::order::wfp3::Wfp3;
use crate::policy::order::{Order, length, observed, size};
use crate::policy::registry::row::{Accompanied, Beside, Need, ReadsDraws, Row};
use crate::units::SimDuration;

/// The orders.
pub const ORDERS: &[Row<dyn Order>] = &[
    Row::<dyn Order>::new("fcfs", "earliest submit first", |_, _| Box::new(Fcfs)),
    Row::<dyn Order>::new("shortest", "shortest planned length first", |_, _| Box::new(length::Shortest)),
    Row::<dyn Order>::new("longest", "longest planned length first", |_, _| Box::new(length::Longest)),
    Row::<dyn Order>::new("smallest", "fewest nodes first", |_, _| Box::new(size::Smallest)),
    Row::<dyn Order>::new("largest", "most nodes first", |_, _| Box::new(size::Largest)),
    Row::<dyn Order>::new("smallest-area", "smallest nodes × planned length first", |_, _| {
        Box::new(size::SmallestArea)
    }),
    Row::<dyn Order>::new("wfp3", "highest (wait / planned length)³ × nodes first", |_, _| Box::new(Wfp3)),
    Row::<dyn Order>::new("observed", "earliest start in reality first", |_, _| Box::new(observed::ObservedStarts))
        .needing(&[Need::ObservedStarts]),
    Row::<dyn Order>::asking("vahrm", "highest beta × predicted energy + (1 - beta) × wait first", vahrm)
        .reading_draws(ReadsDraws::Always)
        .needing(&[Need::FirstRuns("first_run")]),
    Row::<dyn Order>::new("fair-share", "least used of late by the job's user or account first", fair_share)
        .needing(&[Need::Groups("by")]),
];

const BETA: Param<f64> = Param::number(
    "beta",
    "a number",
    1.0 / 4096.0,
    (0.0, 1.0),
    "weight of a joule of predicted energy; a second of wait weighs 1 - beta",
);
const STARVATION_LIMIT: Param<Option<SimDuration>> = Param::seconds_or(
    "none",
    "starvation_limit_s",
    DefaultValue::Int(604_800),
    0.0,
    "while a job has waited longer than this, nothing else starts; the longest wait goes first",
);
const FIRST_RUN: Param<bool> = Param::flag(
    "first_run",
    false,
    "whether applications are profiled: a first run counts with TDP, goes to random nodes and takes longer",
);
const PROFILING_RATIO: Param<f64> =
    Param::number("profiling_ratio", "a factor", 1.05, (1.0, 1000.0), "factor on the time of a profiled run");
const LENGTH: Param<Length> = Param::words(
    "length",
    &[("runtime", Length::Runtime), ("walltime", Length::Walltime)],
    "length for which energies are predicted; a job without a walltime counts with its runtime",
);

fn vahrm(params: &mut Params, _seed: u64) -> Accompanied<dyn Order> {
    let beta = params.take(&BETA);
    let starvation_limit = params.take(&STARVATION_LIMIT);
    let (first_run, ratio) = (params.take(&FIRST_RUN), params.take(&PROFILING_RATIO));
    let weights = Weights { beta, length: params.take(&LENGTH) };
    let profiling_ratio = first_run.then_some(ratio);
    (Box::new(Vahrm::new(weights)), Beside { starvation_limit, profiling_ratio, ..Beside::default() })
}

const HALF_LIFE: Param<Option<SimDuration>> = Param::seconds_or(
    "none",
    "half_life_s",
    DefaultValue::Int(604_800),
    1e-6,
    "after how long what was used counts half; none: always as much",
);
const BY: Param<()> = Param::words(
    "by",
    &[("user", ()), ("account", ())],
    "the column of the log by which use is added up; jobs without a value have one share together",
);

fn fair_share(params: &mut Params, _seed: u64) -> Box<dyn Order> {
    let half_life = params.take(&HALF_LIFE);
    // The host says to which group each job belongs.
    params.take(&BY);
    Box::new(FairShare::new(half_life.unwrap_or(SimDuration::FOREVER)))
}
