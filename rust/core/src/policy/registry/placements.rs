//! The placements, with their parameters.

use crate::params::{Param, Params};
use crate::policy::placement::Placement;
use crate::policy::placement::assignment::ByMatching;
use crate::policy::placement::lowest_id::LowestId;
use crate::policy::placement::observed::ObservedNodes;
use crate::policy::placement::opportunity_cost::OpportunityCost;
use crate::policy::placement::pools::{Borders, ByPool};
use crate::policy::placement::random::Random;
use crate::policy::placement::rank_by::RankBy;
use crate::policy::placement::ranked::{BestRank, LowestPower, LowestPowerCpu};
use crate::policy::placement::sliding_window::{OnMiss, SlidingWindow};
use crate::policy::registry::row::{Accompanied, Beside, Need, ReadsDraws, Row};
use crate::policy::timing::Timing;
use crate::units::SimDuration;

/// The placements.
pub const PLACEMENTS: &[Row<dyn Placement>] = &[
    Row::<dyn Placement>::new("lowest-id", "the free nodes with the lowest ids", |_, _| Box::new(LowestId))
        .knowing_cells(),
    Row::<dyn Placement>::new(
        "observed",
        "the nodes it had in reality; those with the lowest ids where they are unknown",
        |_, _| Box::new(ObservedNodes),
    )
    .needing(&[Need::ObservedNodes]),
    Row::<dyn Placement>::new("random", "any free nodes, each set equally likely", |_, seed| {
        Box::new(Random::new(seed))
    })
    .using_chance()
    .knowing_cells(),
    Row::<dyn Placement>::new(
        "lowest-power",
        "the free nodes with the lowest predicted watts for the job's application",
        |_, _| Box::new(LowestPower::default()),
    )
    .knowing_cells(),
    Row::<dyn Placement>::new(
        "lowest-power-cpu",
        "the same for jobs on CPUs, any free nodes for jobs on other devices",
        |_, seed| Box::new(LowestPowerCpu::new(seed)),
    )
    .using_chance()
    .knowing_cells(),
    Row::<dyn Placement>::new("best-rank", "the free nodes of the best rank over all applications", |params, _| {
        Box::new(BestRank::new(params.take(&RANK)))
    })
    .knowing_cells(),
    Row::<dyn Placement>::new(
        "opportunity-cost",
        "the free nodes with the least predicted watts and worth to the other jobs there are",
        |params, _| Box::new(OpportunityCost::new(params.take(&TOLERANCE))),
    )
    .reading_draws(ReadsDraws::WithFactors),
    Row::<dyn Placement>::asking(
        "assignment",
        "the matching of this pass's jobs to the free nodes that is predicted to take the least energy",
        assignment,
    )
    .reading_draws(ReadsDraws::WithFactors)
    .knowing_cells(),
    Row::<dyn Placement>::new(
        "sliding-window",
        "free nodes of like predicted speed: the best within the first window of ranks that holds enough",
        sliding_window,
    ),
    Row::<dyn Placement>::new(
        "pools",
        "three pools by predicted watts, the most efficient emptied first, random nodes inside each",
        pools,
    )
    .using_chance()
    .needing(&[Need::Utilizations("measured")]),
];

const RANK: Param<RankBy> = Param::words(
    "rank",
    &[("power", RankBy::Power), ("time", RankBy::Time)],
    "mean predicted watts, or mean predicted time factor and then watts",
);
const TOLERANCE: Param<f64> = Param::number(
    "tolerance",
    "a number",
    1.0,
    (0.0, 1e9),
    "nodes suit an application up to the mean cost of the best tolerance × its share of the machine",
);
const MATCHING: Param<SimDuration> = Param::interval(
    "interval_s",
    "passes wait for multiples of this, so that more jobs are matched together; 0: whenever something happened",
);

fn assignment(params: &mut Params, _seed: u64) -> Accompanied<dyn Placement> {
    let timing = Timing::every(params.take(&MATCHING));
    (Box::new(ByMatching::default()), Beside { timing, ..Beside::default() })
}

const WINDOW: Param<u32> =
    Param::count("window", "ranks", 10, 1, "ranks in the window, busy nodes counted; never fewer than the job's nodes");
const ON_MISS: Param<OnMiss> = Param::words(
    "on_miss",
    &[("narrowest", OnMiss::Narrowest), ("wait", OnMiss::Wait)],
    "if no window holds enough: the free nodes that span the fewest ranks, or the job is blocked",
);
const APPLICATION_AWARE: Param<bool> =
    Param::flag("application_aware", false, "rank by the job's own application instead of by means over all");

fn sliding_window(params: &mut Params, _seed: u64) -> Box<dyn Placement> {
    let (window, on_miss) = (params.take(&WINDOW), params.take(&ON_MISS));
    Box::new(SlidingWindow::new(window, on_miss, params.take(&APPLICATION_AWARE)))
}

const LOWEST: Param<f64> = Param::number(
    "u_l",
    "a share",
    0.65,
    (0.0, 1.0),
    "lowest utilization the machine has, at most u_h: the share of nodes in the first pool",
);
const HIGHEST: Param<f64> = Param::number(
    "u_h",
    "a share",
    0.8,
    (0.0, 1.0),
    "highest utilization the machine has: the share of nodes in the first two pools",
);
const MEASURED: Param<bool> = Param::flag(
    "measured",
    false,
    "take both from a run with random placement and the same seed: the lowest and the highest utilization from when the machine first reached its median to the last submit",
);

fn pools(params: &mut Params, seed: u64) -> Box<dyn Placement> {
    let (low, high) = (params.take(&LOWEST), params.take(&HIGHEST));
    // Measured ones are for the host to fill in: it makes the run with random placement.
    params.take(&MEASURED);
    if params.are_valid() && low > high {
        params.refuse(&LOWEST, &low, format!("at most u_h, which is {high}"));
    }
    Box::new(ByPool::new(Borders { low, high }, seed))
}
