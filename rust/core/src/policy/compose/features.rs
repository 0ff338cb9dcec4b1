//! Features of a policy's parts on its machine, which others may refuse.

use crate::error::{Result, config};
use crate::platform::{NodeDraw, Platform};
use crate::policy::compose::Parts;
use crate::policy::registry::refused::{Feature, Features};
use crate::units::Watts;

/// Features of the parts by themselves, on whatever machine.
pub(in crate::policy) fn of_parts(parts: &mut Parts) -> Features {
    let (sleeps, names_nodes) = (parts.sleep.is_some(), parts.backfill.names_nodes());
    let under_budget = sleeps && parts.power.is_some();
    Features::default()
        .with(Feature::Sleep, sleeps)
        .with(Feature::SleepByCount, sleeps && !names_nodes)
        .with(Feature::SleepByPlan, sleeps && names_nodes)
        .with(Feature::SleepUnderBudget, under_budget)
        .with(Feature::CountsNoBoots, under_budget && parts.backfill.beside_sleep().is_none())
        .with(Feature::CountsNodes, !names_nodes)
        .with(Feature::OwnCandidates, parts.backfill.has_own_order())
        .with(Feature::StarvationLimit, parts.backfill.first_after().is_some())
        .with(Feature::BeyondSlots, parts.power.is_some())
}

/// Features of the parts on a platform.
pub(super) fn of(parts: &mut Parts, platform: &Platform, governs: bool) -> Features {
    of_parts(parts).with(Feature::Governance, governs).with(Feature::SharedNodes, !platform.is_exclusive())
}

/// Checks that a node of the idle machine can boot under a ceiling (page on sleep under a budget, rule 3).
pub(super) fn check_boots(ceiling: Watts, platform: &Platform) -> Result<()> {
    let most = platform.nodes().iter().map(NodeDraw::beyond_idle_to_boot).max().unwrap_or_default();
    let least = platform.idle() + most;
    if ceiling.as_ceiling() >= least {
        return Ok(());
    }
    let why = format!(
        "at least {} W: the idle machine draws {} W, and one of its nodes {} W more while it boots",
        least.watts(),
        platform.idle().watts(),
        most.watts()
    );
    Err(config("policy.power", format!("{} W", ceiling.watts()), why))
}
