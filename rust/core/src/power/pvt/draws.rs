//! Draws and time factors by job and node, without caps.

use std::sync::Arc;

use crate::error::{ConfigError, Fault, Result};
use crate::platform::Platform;
use crate::power::known::KnownDraw;
use crate::power::pvt::capped::{Capped, Caps};
use crate::power::pvt::{ANY_APP, MOST_FAULTS, OnUnknownApp, TableKind, VariationTable, few};
use crate::units::Watts;
use crate::workload::{AppId, Workload};

const NO_ROW: u32 = u32::MAX;

/// Draws and speeds by job and node, from a table where it has a row, from the job or the platform where it has none.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    pub(super) kind: TableKind,
    pub(super) nodes: usize,
    /// Picowatts or factors, row after row.
    pub(super) watts: Vec<Watts>,
    pub(super) ratios: Vec<f64>,
    pub(super) time_ratio: Vec<f64>,
    /// The table's row of each application.
    pub(super) rows: Vec<u32>,
    pub(super) busy: Vec<Watts>,
    pub(super) tdp: Vec<Watts>,
    /// Draws and speeds under caps; all other fields are for nodes without one.
    pub(super) caps: Option<Arc<Caps>>,
    /// Busy draw of every node, if it is the same.
    busy_alike: Option<Watts>,
}

impl Draws {
    pub(super) fn new(
        platform: &Platform,
        workload: &Workload,
        table: Option<&VariationTable>,
        unknown: OnUnknownApp,
    ) -> Result<Self> {
        let nodes = platform.nodes().len();
        let busy: Vec<_> = platform.nodes().iter().map(|node| node.busy).collect();
        let busy_alike = alike(&busy);
        let tdp = platform.nodes().iter().map(|node| node.tdp).collect();
        let none = vec![NO_ROW; workload.app_names().len()];
        let Some(table) = table else {
            return Ok(Self {
                kind: TableKind::Watts,
                nodes,
                watts: Vec::new(),
                ratios: Vec::new(),
                time_ratio: Vec::new(),
                rows: none,
                busy,
                tdp,
                caps: None,
                busy_alike,
            });
        };
        let mut faults = Vec::new();
        table.check(nodes, &mut faults);
        let rows = rows_of(table, workload, unknown, &mut faults);
        if !faults.is_empty() {
            return Err(ConfigError { faults }.into());
        }
        let watts = |values: &[f64]| values.iter().map(|&w| Watts::from_watts(w).unwrap_or_default()).collect();
        let (watts, ratios) = match table.kind {
            TableKind::Watts => (watts(&table.power), Vec::new()),
            TableKind::Ratio => (Vec::new(), table.power.clone()),
        };
        let time_ratio = table.time_ratio.clone();
        Ok(Self { kind: table.kind, nodes, watts, ratios, time_ratio, rows, busy, tdp, caps: None, busy_alike })
    }

    /// The same for some of the nodes.
    pub(super) fn part(&self, nodes: &[u32]) -> Self {
        let busy = part_of(&self.busy, self.nodes, nodes);
        Self {
            kind: self.kind,
            nodes: nodes.len(),
            watts: part_of(&self.watts, self.nodes, nodes),
            ratios: part_of(&self.ratios, self.nodes, nodes),
            time_ratio: part_of(&self.time_ratio, self.nodes, nodes),
            rows: self.rows.clone(),
            busy_alike: alike(&busy),
            busy,
            tdp: part_of(&self.tdp, self.nodes, nodes),
            caps: self.caps.as_deref().map(|caps| Arc::new(caps.part(self.nodes, nodes))),
        }
    }

    pub(super) fn row(&self, app: Option<AppId>) -> Option<usize> {
        let row = self.rows[app?.0 as usize];
        (row != NO_ROW).then_some(row as usize)
    }

    /// Draws from the first that has them: the table, the job's own draw, the node's busy draw.
    pub(super) fn of_job(&self, app: Option<AppId>, own: KnownDraw) -> JobDraws<'_> {
        let row = self.row(app).map(|row| row * self.nodes..(row + 1) * self.nodes);
        if let (None, KnownDraw::Unknown, Some(draw)) = (&row, own, self.busy_alike) {
            return JobDraws::Alike(draw);
        }
        let busy = if own == KnownDraw::Tdp { &self.tdp } else { &self.busy };
        let measured = own.stated().map(|watts| Watts::from_watts(watts).unwrap_or_default());
        match (self.kind, row) {
            (TableKind::Watts, Some(row)) => JobDraws::Watts(&self.watts[row]),
            (TableKind::Ratio, Some(row)) => JobDraws::Ratio { measured, busy, ratios: &self.ratios[row] },
            (_, None) => measured.map_or(JobDraws::Watts(busy), JobDraws::Measured),
        }
    }

    pub(super) fn draw(&self, app: Option<AppId>, own: KnownDraw, node: u32) -> Watts {
        self.of_job(app, own).on(node)
    }

    pub(super) fn time_ratio(&self, app: Option<AppId>, node: u32) -> f64 {
        match self.row(app) {
            Some(row) if !self.time_ratio.is_empty() => self.time_ratio[row * self.nodes + node as usize],
            _ => 1.0,
        }
    }

    /// The largest time factor of these nodes, at least one.
    pub(super) fn slowest(&self, app: Option<AppId>, nodes: impl Iterator<Item = u32>) -> f64 {
        if self.time_ratio.is_empty() { 1.0 } else { nodes.map(|node| self.time_ratio(app, node)).fold(0.0, f64::max) }
    }
}

/// The draw of all nodes, if it is the same.
fn alike(draws: &[Watts]) -> Option<Watts> {
    let first = *draws.first()?;
    draws.iter().all(|draw| *draw == first).then_some(first)
}

/// Some columns of a table with rows of `width`.
pub(super) fn part_of<T: Copy>(cells: &[T], width: usize, nodes: &[u32]) -> Vec<T> {
    cells.chunks(width.max(1)).flat_map(|row| nodes.iter().map(move |&node| row[node as usize])).collect()
}

/// Draws of one job on each node.
#[derive(Clone, Copy, Debug)]
pub enum JobDraws<'a> {
    /// Watts by node.
    Watts(&'a [Watts]),
    /// The same measured draw on every node.
    Measured(Watts),
    /// The busy draw of every node, which is the same.
    Alike(Watts),
    /// The job's own draw, or its replacement on each node where it is not known, times a factor by node.
    Ratio {
        /// The job's own, if it is known.
        measured: Option<Watts>,
        /// Busy draw or TDP by node, in place of an unknown own draw.
        busy: &'a [Watts],
        /// Factor by node.
        ratios: &'a [f64],
    },
    /// Draws under a cap, by the cap model.
    Capped(Capped<'a>),
}

impl JobDraws<'_> {
    /// Draw on one node.
    #[inline]
    #[must_use]
    pub fn on(&self, node: u32) -> Watts {
        let node = node as usize;
        match *self {
            Self::Watts(watts) => watts[node],
            Self::Measured(watts) | Self::Alike(watts) => watts,
            Self::Ratio { measured, busy, ratios } => measured.unwrap_or(busy[node]).scaled(ratios[node]),
            Self::Capped(ref capped) => capped.on(node),
        }
    }

    /// Draw of every node, if it does not depend on the node.
    #[inline]
    #[must_use]
    pub fn same(&self) -> Option<Watts> {
        match *self {
            Self::Measured(watts) | Self::Alike(watts) => Some(watts),
            Self::Watts(_) | Self::Ratio { .. } | Self::Capped(_) => None,
        }
    }
}

/// The table's row of each application; applications without one are faults that name a job.
fn rows_of(table: &VariationTable, workload: &Workload, unknown: OnUnknownApp, faults: &mut Vec<Fault>) -> Vec<u32> {
    let mut rows = Vec::with_capacity(workload.app_names().len());
    let known = few(&table.apps);
    let (mut told, mut untold) = (0, 0_usize);
    for (app, name) in (0..).map(AppId).zip(workload.app_names()) {
        let row = table.row_of(name);
        rows.push(row.and_then(|row| u32::try_from(row).ok()).unwrap_or(NO_ROW));
        if row.is_some() || unknown == OnUnknownApp::Nominal {
            continue;
        }
        if told == MOST_FAULTS {
            // With so many faults a user need not see each one, and finding a job for each takes time.
            untold += 1;
        } else if let Some(job) = workload.jobs().find(|&job| workload.app(job) == Some(app)) {
            told += 1;
            faults.push(Fault {
                parameter: format!("{}.apps", table.name),
                value: format!("no row for application `{name}` of job {}", workload.job_id(job)),
                expected: format!("one of {known}, a row `{ANY_APP}`, or on_unknown_app=\"nominal\""),
            });
        }
    }
    if untold > 0 {
        faults.push(Fault {
            parameter: format!("{}.apps", table.name),
            value: format!("no row for {untold} more applications"),
            expected: "a row for each".to_owned(),
        });
    }
    rows
}
