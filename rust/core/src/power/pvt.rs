//! Variation tables: draw and speed of each application on each node.
//!
//! There are two of them in a run (engine rule 5): `Predicted`, which policies read, and `Actual`, which the run
//! charges. They are different types, so that no path leads from a policy to the truth.

mod capped;
mod check;
mod draws;
pub(super) mod table;
#[cfg(test)]
mod tests;

use crate::error::{Result, config};
use crate::platform::Platform;
use crate::power::caps::CapsSpec;
use crate::power::known::{KnownDraw, KnownDraws};
use crate::units::Watts;
use crate::workload::{AppId, JobId, Workload};

pub use crate::power::pvt::capped::{ForAlike, NodeLikeness};
use crate::power::pvt::draws::Draws;
pub use crate::power::pvt::draws::{Capped, JobDraws};
use crate::power::pvt::table::few;
pub use crate::power::pvt::table::{ANY_APP, OnUnknownApp, TableKind, VariationTable};

/// Actual draws, which the run charges. Only `sim` holds them.
#[derive(Clone, Debug)]
pub struct Actual(Draws);

/// Predicted draws, which policies decide by: tables, and the knowledge of jobs' own draws.
#[derive(Clone, Debug)]
pub struct Predicted(Draws, KnownDraws);

/// Actual and predicted draws, built and checked together, for a run without caps. Decisions know measured draws,
/// unless [`Predicted::knowing`] says otherwise.
///
/// # Errors
/// A [`ConfigError`](crate::error::ConfigError) for a table of the wrong shape, with invalid values, or without a row for an application that
/// some job has (unless `unknown` allows it); also if `predicted` has other applications than `actual`, or a job a cap.
pub fn tables(
    platform: &Platform,
    workload: &Workload,
    actual: Option<&VariationTable>,
    predicted: Option<&VariationTable>,
    unknown: OnUnknownApp,
) -> Result<(Actual, Predicted)> {
    tables_with_caps(platform, workload, actual, predicted, &CapsSpec::None, unknown)
}

/// The same with a source of draws and speeds under caps. Tables by cap stand in place of `actual` and `predicted`; a
/// model serves both.
///
/// # Errors
/// As [`tables`] and [`CapsSpec::check`]; also for tables by cap in addition to others or with other applications at
/// some cap, and for a job's cap that nothing serves, or that is below the lowest of the tables or below what the model
/// allows on some node.
pub fn tables_with_caps(
    platform: &Platform,
    workload: &Workload,
    actual: Option<&VariationTable>,
    predicted: Option<&VariationTable>,
    caps: &CapsSpec,
    unknown: OnUnknownApp,
) -> Result<(Actual, Predicted)> {
    caps.check(platform.nodes().len())?;
    let (actual, predicted) = match caps {
        CapsSpec::None => uncapped(platform, workload, actual, predicted, unknown)?,
        CapsSpec::Tables(tables) => {
            check::check_alone(actual.or(predicted))?;
            capped::by_tables(platform, workload, tables, unknown)?
        }
        CapsSpec::Model(model) => {
            let draws = uncapped(platform, workload, actual, predicted, unknown)?;
            capped::by_model(workload, draws, [actual, predicted.or(actual)], model, unknown)?
        }
    };
    let (actual, predicted) = (Actual(actual), Predicted(predicted, KnownDraws::default()));
    actual.check_own_caps(workload)?;
    Ok((actual, predicted))
}

fn uncapped(
    platform: &Platform,
    workload: &Workload,
    actual: Option<&VariationTable>,
    predicted: Option<&VariationTable>,
    unknown: OnUnknownApp,
) -> Result<(Draws, Draws)> {
    let charged = Draws::new(platform, workload, actual, unknown)?;
    let believed = match predicted {
        None => charged.clone(),
        Some(table) => {
            check_same_apps(actual, table)?;
            Draws::new(platform, workload, Some(table), unknown)?
        }
    };
    Ok((charged, believed))
}

fn check_same_apps(actual: Option<&VariationTable>, predicted: &VariationTable) -> Result<()> {
    let sorted = |table: &VariationTable| {
        let mut apps = table.apps.clone();
        apps.sort();
        apps
    };
    let Some(actual) = actual else {
        return Err(config(&predicted.name, "a predicted table alone", "an actual table with it"));
    };
    if sorted(actual) == sorted(predicted) {
        return Ok(());
    }
    let expected = format!("the applications of the actual table: {}", few(&actual.apps));
    Err(config(format!("{}.apps", predicted.name), few(&predicted.apps), expected))
}

impl Actual {
    /// Draws of nodes while they serve `job` alone.
    #[must_use]
    pub fn of_job(&self, workload: &Workload, job: JobId) -> JobDraws<'_> {
        self.0.of_job(workload.app(job), KnownDraw::measured(workload.power_w(job)))
    }

    /// Slowdown against nominal of a job of this application on these nodes: at the pace of the slowest.
    #[must_use]
    pub fn slowest(&self, app: Option<AppId>, nodes: &[u32]) -> f64 {
        self.0.slowest(app, nodes.iter().copied())
    }

    /// Number of table cells below their node's idle draw: accepted, but reported.
    #[must_use]
    pub fn below_idle(&self, platform: &Platform) -> usize {
        let nodes = platform.nodes();
        self.0.watts.iter().enumerate().filter(|(cell, watts)| **watts < nodes[cell % nodes.len()].idle).count()
    }
}

impl Predicted {
    /// The same tables, with other knowledge of jobs' own draws.
    #[must_use]
    pub fn knowing(self, known: KnownDraws) -> Self {
        Self(self.0, known)
    }

    /// Knowledge of a job's own draw before it runs.
    #[must_use]
    pub fn known_draw(&self, workload: &Workload, job: JobId) -> KnownDraw {
        self.1.of(workload, job)
    }

    /// Number of jobs with a measured draw that is not overridden by watts of a table.
    #[must_use]
    pub fn following(&self, workload: &Workload) -> usize {
        let follows = |job: &JobId| workload.power_w(*job) > 0.0 && self.follows_own(workload.app(*job));
        workload.jobs().filter(follows).count()
    }

    /// Predicted draws of nodes while they serve a job of this application and own draw alone.
    #[must_use]
    pub fn of_job(&self, app: Option<AppId>, own: KnownDraw) -> JobDraws<'_> {
        self.0.of_job(app, own)
    }

    /// Predicted draw of `node` while it serves a job of this application and own draw alone.
    #[must_use]
    pub fn draw(&self, app: Option<AppId>, own: KnownDraw, node: u32) -> Watts {
        self.0.draw(app, own, node)
    }

    /// Predicted slowdown of this application on `node` against nominal.
    #[must_use]
    pub fn time_ratio(&self, app: Option<AppId>, node: u32) -> f64 {
        self.0.time_ratio(app, node)
    }

    /// The largest of these slowdowns over some nodes, at least one.
    #[must_use]
    pub fn slowest(&self, app: Option<AppId>, nodes: impl Iterator<Item = u32>) -> f64 {
        self.0.slowest(app, nodes)
    }

    /// Row of the table that serves this application, if one does. Applications with the same row are alike in
    /// everything here but their speeds under a cap model, whose `bound_ratio` is by application.
    #[must_use]
    pub fn row(&self, app: Option<AppId>) -> Option<usize> {
        self.0.row(app)
    }

    /// True if the predicted draw of a job of this application depends on what is known of its own draw.
    #[must_use]
    pub fn follows_own(&self, app: Option<AppId>) -> bool {
        self.0.kind == TableKind::Ratio || self.row(app).is_none()
    }

    /// Mean over the table's applications of the predicted draw (nominal draw times factor where the table holds factors)
    /// on `node`, in watts; the node's busy draw if there is no table.
    #[must_use]
    pub fn mean_draw(&self, node: u32) -> f64 {
        let cells = |row: usize| row * self.0.nodes + node as usize;
        let busy = self.0.busy[node as usize].watts();
        let (rows, sum) = match self.0.kind {
            TableKind::Watts => {
                let rows = self.0.watts.len() / self.0.nodes;
                (rows, (0..rows).map(|row| self.0.watts[cells(row)].watts()).sum::<f64>())
            }
            TableKind::Ratio => {
                let rows = self.0.ratios.len() / self.0.nodes;
                (rows, (0..rows).map(|row| self.0.ratios[cells(row)] * busy).sum())
            }
        };
        if rows == 0 { busy } else { sum / rows as f64 }
    }

    /// Mean over these nodes of the predicted draw of a job of this application and own draw under a cap, in watts.
    #[must_use]
    pub fn mean_over(&self, nodes: impl Iterator<Item = u32>, app: Option<AppId>, own: KnownDraw, cap_w: f64) -> f64 {
        let draws = self.of_job_under(app, own, cap_w);
        let (sum, count) = nodes.fold((0.0, 0.0), |(sum, count), node| (sum + draws.on(node).watts(), count + 1.0));
        sum / count
    }

    /// Highest predicted draw on `node` of any job whose own draw is known to be at most `own_w`, or is not known.
    #[must_use]
    pub fn highest_draw(&self, own_w: f64, node: u32) -> Watts {
        let Draws { nodes, watts, ratios, busy, tdp, .. } = &self.0;
        let unknown =
            if self.1.may_be_tdp() { busy[node as usize].max(tdp[node as usize]) } else { busy[node as usize] };
        let nominal = unknown.max(Watts::from_watts(own_w).unwrap_or_default());
        let tabled = watts.iter().skip(node as usize).step_by(*nodes).copied().max().unwrap_or_default();
        let ratio = ratios.iter().skip(node as usize).step_by(*nodes).copied().fold(1.0, f64::max);
        nominal.scaled(ratio).max(tabled)
    }

    /// Mean over the table's applications of the time factor on `node`; 1 if there is none.
    #[must_use]
    pub fn mean_time_ratio(&self, node: u32) -> f64 {
        let rows = self.0.time_ratio.len() / self.0.nodes;
        let column = self.0.time_ratio.iter().skip(node as usize).step_by(self.0.nodes);
        if rows == 0 { 1.0 } else { column.sum::<f64>() / rows as f64 }
    }
}
