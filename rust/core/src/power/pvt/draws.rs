//! Sources of draws and time factors by job and node, and the draws of one job that they give.

use std::sync::Arc;

use crate::error::{ConfigError, Fault, Result};
use crate::platform::Platform;
use crate::power::caps::{CapModel, CapTables, Clock, StaticDraw, Uncapped};
use crate::power::known::{Belief, KnownDraw};
use crate::power::pvt::table::{ANY_APP, MOST_FAULTS, OnUnknownApp, TableKind, VariationTable, few};
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

/// Draws and speeds under caps, in addition to the [`Draws`] without one.
#[derive(Clone, Debug)]
pub(super) enum Caps {
    /// Draws under each finite cap.
    Tables(CapTables<Draws>),
    /// Speeds under every cap.
    Model(Model),
}

/// A cap model with its numbers: watts as the caller gave them, not rounded to picowatts.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) clock: Clock,
    static_draw: StaticDraw,
    /// Bound ratio of each application; the last is that of jobs without one.
    bounds: Vec<f64>,
    busy: Vec<f64>,
    tdp: Vec<f64>,
    /// The table's watts, row after row; empty if it holds factors.
    table: Vec<f64>,
    /// Likeness number of each node: nodes with the same number are alike in all respects.
    alike: Vec<u32>,
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

    /// The same under a cap of `cap_w` W on each node.
    pub(super) fn of_job_under(&self, app: Option<AppId>, own: KnownDraw, cap_w: f64) -> JobDraws<'_> {
        match self.caps.as_deref() {
            Some(Caps::Tables(tables)) => tables.serving(cap_w).unwrap_or(self).of_job(app, own),
            Some(Caps::Model(model)) if cap_w < f64::INFINITY => {
                JobDraws::Capped(Capped { draws: self, model, row: self.row(app), app, own, cap_w })
            }
            _ => self.of_job(app, own),
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

impl Model {
    /// A model for these draws, which were made from `table`.
    pub(super) fn new(model: &CapModel, bounds: Vec<f64>, draws: &Draws, table: Option<&VariationTable>) -> Self {
        let given = |raw: &[f64], watts: &[Watts]| {
            if raw.is_empty() { watts.iter().map(|watts| watts.watts()).collect() } else { raw.to_vec() }
        };
        let mut made = Self {
            clock: Clock::new(model.exponent, model.least_speed_ratio),
            static_draw: model.static_draw.clone(),
            bounds,
            busy: given(&model.busy_w, &draws.busy),
            tdp: given(&model.tdp_w, &draws.tdp),
            table: table
                .filter(|table| table.kind == TableKind::Watts)
                .map_or_else(Vec::new, |table| table.power.clone()),
            alike: Vec::new(),
        };
        made.number_alike(draws);
        made
    }

    /// Numbers the nodes: neighbours that are alike in all that is known of nodes get the same number.
    fn number_alike(&mut self, draws: &Draws) {
        let same = |cells: &[f64], node: usize| {
            cells.chunks(draws.nodes).all(|row| row[node - 1].to_bits() == row[node].to_bits())
        };
        let static_w = if let StaticDraw::Watts(watts) = &self.static_draw { watts.as_slice() } else { &[] };
        let numbers = [&self.busy, &self.tdp, &self.table, static_w, &draws.ratios, &draws.time_ratio];
        let watts = [&draws.busy, &draws.tdp, &draws.watts];
        let is_alike = |node: usize| {
            numbers.into_iter().all(|cells| same(cells, node))
                && watts.into_iter().all(|cells| cells.chunks(draws.nodes).all(|row| row[node - 1] == row[node]))
        };
        let mut number = 0;
        let alike = (0..draws.nodes).map(|node| {
            number += u32::from(node > 0 && !is_alike(node));
            number
        });
        self.alike = alike.collect();
    }

    /// Likeness number of a node: neighbours that share it are alike under every cap.
    pub(super) fn alike(&self, node: u32) -> Option<u32> {
        self.alike.get(node as usize).copied()
    }

    /// Bound ratio of an application, or the job's own.
    pub(super) fn bound(&self, app: Option<AppId>, own: KnownDraw) -> f64 {
        let of_app = || self.bounds[app.map_or(self.bounds.len() - 1, |app| app.0 as usize)];
        own.bound_ratio().unwrap_or_else(of_app)
    }

    /// P and S, from the first that has it: the table, the job's own draw, the node's busy draw.
    pub(super) fn uncapped(&self, draws: &Draws, row: Option<usize>, own: KnownDraw, node: usize) -> Uncapped {
        let nominal = || match own {
            KnownDraw::Unknown => self.busy[node],
            KnownDraw::Watts(watts) | KnownDraw::Believed(Belief { watts, .. }) => watts,
            KnownDraw::Tdp => self.tdp[node],
        };
        let draw_w = match (draws.kind, row) {
            (TableKind::Watts, Some(row)) => self.table[row * draws.nodes + node],
            (TableKind::Ratio, Some(row)) => nominal() * draws.ratios[row * draws.nodes + node],
            (_, None) => nominal(),
        };
        Uncapped { draw_w, static_w: self.static_draw.on(node, draw_w) }
    }
}

/// The draw of all nodes, if it is the same.
fn alike(draws: &[Watts]) -> Option<Watts> {
    let first = *draws.first()?;
    draws.iter().all(|draw| *draw == first).then_some(first)
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

/// Draws of one job on each node under a cap, by the cap model (rule 3).
#[derive(Clone, Copy, Debug)]
pub struct Capped<'a> {
    draws: &'a Draws,
    model: &'a Model,
    row: Option<usize>,
    app: Option<AppId>,
    own: KnownDraw,
    cap_w: f64,
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

impl Capped<'_> {
    /// Out of line, so that loops over nodes without a cap stay small.
    #[inline(never)]
    fn on(&self, node: usize) -> Watts {
        let uncapped = self.model.uncapped(self.draws, self.row, self.own, node);
        if self.cap_w >= uncapped.draw_w {
            #[expect(clippy::cast_possible_truncation, reason = "numbers of nodes are 32 bits wide")]
            return self.draws.draw(self.app, self.own, node as u32);
        }
        Watts::of_system(self.model.clock.draw(uncapped, self.cap_w))
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
