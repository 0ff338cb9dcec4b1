//! Power caps: draw and speed of a node under a cap, by tables or by a model (power rules 2, 3 and 26).
//!
//! Watts are a node's, as the caller gave them: in `f64`, not rounded to picowatts. A cap of infinity is no cap.

use crate::error::{ConfigError, Fault, Result};
use crate::power::pvt::table::VariationTable;
use crate::units::MAX_NODE_WATTS;

/// Source of draws and speeds under caps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapsKind {
    /// Tables for some caps (rule 2).
    Tables,
    /// A formula for every cap (rule 3).
    Model,
}

/// The same source as a caller has it.
#[derive(Clone, Debug, Default)]
pub enum CapsSpec {
    /// No source: no job is capped.
    #[default]
    None,
    /// Tables in ascending order of their caps; the last is the one without a cap, infinity.
    Tables(Vec<CapTable>),
    /// Parameters of the model.
    Model(CapModel),
}

/// Draws and speeds of nodes under one cap.
#[derive(Clone, Debug)]
pub struct CapTable {
    /// The cap, W per node.
    pub cap_w: f64,
    /// Table that runs are charged by.
    pub actual: VariationTable,
    /// Table that policies decide by; none = the same.
    pub predicted: Option<VariationTable>,
}

/// Watts that do not fall with the speed.
#[derive(Clone, Debug)]
pub enum StaticDraw {
    /// W, one number per node.
    Watts(Vec<f64>),
    /// Share of the node's draw without a cap, from 0 to 1.
    Ratio(f64),
}

/// Share of a job's runtime that stretches with the clock, from 0 to 1.
#[derive(Clone, Debug)]
pub struct BoundRatio {
    /// Share of jobs without an application, and of applications that are not named; none = such applications are a
    /// fault, and jobs without an application count as 1.
    pub default: Option<f64>,
    /// Share of each named application.
    pub by_app: Vec<(String, f64)>,
}

/// Cap model: at the speed f, 1 = nominal, a node that draws P without a cap draws S + (P - S) × f^a, and a job on it
/// takes 1 + b × (1/f - 1) times as long (rule 3).
#[derive(Clone, Debug)]
pub struct CapModel {
    /// S, limited to P.
    pub static_draw: StaticDraw,
    /// a, from 1 to 10.
    pub exponent: f64,
    /// b.
    pub bound_ratio: BoundRatio,
    /// The lowest f, from 0.001 to 1.
    pub least_speed_ratio: f64,
    /// Busy draws of the nodes as the caller gave them, W; empty = those of the platform, which are whole picowatts.
    pub busy_w: Vec<f64>,
    /// TDP of the nodes, likewise.
    pub tdp_w: Vec<f64>,
}

/// A node that serves a job, without a cap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Uncapped {
    /// P, W.
    pub(super) draw_w: f64,
    /// S, W: at most P.
    pub(super) static_w: f64,
}

/// Speeds by the cap model, common to all nodes and applications.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    exponent: f64,
    least: f64,
    /// `least` to the power of `exponent`.
    least_power: f64,
}

/// Tables by cap: a finite cap is served by the table of the largest level that is not above it (rule 2).
#[derive(Clone, Debug)]
pub struct CapTables<T> {
    /// W, ascending.
    levels: Vec<f64>,
    tables: Vec<T>,
}

impl StaticDraw {
    /// S of a node that draws `draw_w` without a cap, W.
    pub(super) fn on(&self, node: usize, draw_w: f64) -> f64 {
        match self {
            Self::Watts(watts) => watts[node].min(draw_w),
            Self::Ratio(ratio) => (draw_w * ratio).min(draw_w),
        }
    }
}

impl BoundRatio {
    /// Share of a named application, or the default, if there is one.
    #[must_use]
    pub fn of(&self, app: &str) -> Option<f64> {
        self.by_app.iter().find(|(name, _)| name == app).map(|(_, share)| *share).or(self.default)
    }
}

/// `base` to a power; exact for the exponent 1, on every machine.
fn power(base: f64, exponent: f64) -> f64 {
    if exponent == 1.0 { base } else { base.powf(exponent) }
}

impl Clock {
    pub(super) fn new(exponent: f64, least: f64) -> Self {
        Self { exponent, least, least_power: power(least, exponent) }
    }

    /// The lowest speed, a share of the nominal one.
    pub(super) fn least(&self) -> f64 {
        self.least
    }

    /// Draw of the node at the lowest speed, W.
    pub(super) fn least_draw(&self, node: Uncapped) -> f64 {
        node.static_w + (node.draw_w - node.static_w) * self.least_power
    }

    /// Draw of the node under a cap below its uncapped draw, W (rule 3).
    pub(super) fn draw(&self, node: Uncapped, cap_w: f64) -> f64 {
        cap_w.max(self.least_draw(node))
    }

    /// Speed of the node under a cap below its uncapped draw: f of rule 3.
    pub(super) fn speed(&self, node: Uncapped, cap_w: f64) -> f64 {
        // A cap below the static watts leaves no power for the clock.
        let left = ((cap_w - node.static_w) / (node.draw_w - node.static_w)).max(0.0);
        power(left, 1.0 / self.exponent).max(self.least)
    }

    /// The cap, W, that slows a node by exactly `slowdown` against its speed under the job's own cap, which slows it by
    /// `own` (rule 26); infinity where it is not slowed at all.
    pub(super) fn cap_for(&self, node: Uncapped, bound: f64, slowdown: f64, own: f64) -> f64 {
        if slowdown == 1.0 && bound > 0.0 {
            return f64::INFINITY;
        }
        let speed = if bound == 0.0 { self.least } else { (bound / (slowdown * own - 1.0 + bound)).max(self.least) };
        node.static_w + (node.draw_w - node.static_w) * power(speed, self.exponent)
    }
}

/// Time factor of a job at a speed, given that it is `time_ratio` at the nominal speed (rule 3).
pub(super) fn factor_at(speed: f64, time_ratio: f64, bound: f64) -> f64 {
    time_ratio * (1.0 + bound * (1.0 / speed - 1.0))
}

impl<T> CapTables<T> {
    /// Tables with their caps, in ascending order.
    pub(super) fn new(tables: impl IntoIterator<Item = (f64, T)>) -> Self {
        let (levels, tables) = tables.into_iter().unzip();
        Self { levels, tables }
    }

    /// The caps, W, ascending.
    #[must_use]
    pub fn levels(&self) -> &[f64] {
        &self.levels
    }

    /// Table that serves a cap; none for no cap, or if there are no tables. A cap below all levels is served by the
    /// lowest.
    #[must_use]
    pub fn serving(&self, cap_w: f64) -> Option<&T> {
        if cap_w == f64::INFINITY {
            return None;
        }
        let not_above = self.levels.partition_point(|&level| level <= cap_w);
        self.tables.get(not_above.saturating_sub(1))
    }
}

impl CapsSpec {
    /// Checks what can be checked without jobs.
    ///
    /// # Errors
    /// A [`ConfigError`] for tables whose caps are invalid, not ascending or without infinity, and for parameters of a
    /// model that are invalid or do not have one value for each of `nodes` nodes.
    pub fn check(&self, nodes: usize) -> Result<()> {
        let mut faults = Vec::new();
        match self {
            Self::None => {}
            Self::Tables(tables) => check_keys(tables, &mut faults),
            Self::Model(model) => model.check(nodes, &mut faults),
        }
        if faults.is_empty() { Ok(()) } else { Err(ConfigError { faults }.into()) }
    }
}

fn check_keys(tables: &[CapTable], faults: &mut Vec<Fault>) {
    for CapTable { cap_w, .. } in tables {
        if !(*cap_w > 0.0 && (*cap_w <= MAX_NODE_WATTS || cap_w.is_infinite())) {
            faults.push(fault("cap_tables", cap_w, "watts above 0, up to 1e6, or infinite: without a cap"));
        }
    }
    if let Some(pair) = tables.windows(2).find(|pair| pair[0].cap_w >= pair[1].cap_w) {
        faults.push(fault("cap_tables", format!("{} before {}", pair[0].cap_w, pair[1].cap_w), "ascending caps"));
    }
    if tables.last().is_none_or(|table| table.cap_w != f64::INFINITY) {
        let caps: Vec<_> = tables.iter().map(|table| table.cap_w.to_string()).collect();
        let found = if caps.is_empty() { "no table".to_owned() } else { format!("tables for {}", caps.join(", ")) };
        faults.push(fault("cap_tables", found, "a table for `inf` among them, without a cap"));
    }
    let believed = tables.iter().filter(|table| table.predicted.is_some()).count();
    if believed != 0 && believed != tables.len() {
        let found = format!("predicted tables for {believed} of {} caps", tables.len());
        faults.push(fault("cap_tables", found, "one for each cap, or none"));
    }
}

impl CapModel {
    fn check(&self, nodes: usize, faults: &mut Vec<Fault>) {
        let mut number = |name: &str, value: f64, low: f64, high: f64| {
            if !(low..=high).contains(&value) {
                let expected = format!("a number from {low} to {high}");
                faults.push(fault(&format!("cap_model.{name}"), value, &expected));
            }
        };
        number("exponent", self.exponent, 1.0, 10.0);
        number("least_speed_ratio", self.least_speed_ratio, 1e-3, 1.0);
        if let StaticDraw::Ratio(ratio) = self.static_draw {
            number("static_ratio", ratio, 0.0, 1.0);
        }
        if let Some(share) = self.bound_ratio.default {
            number("bound_ratio", share, 0.0, 1.0);
        }
        for (app, share) in &self.bound_ratio.by_app {
            number(&format!("bound_ratio[{app}]"), *share, 0.0, 1.0);
        }
        if let StaticDraw::Watts(watts) = &self.static_draw {
            check_static(watts, nodes, faults);
        }
        for (name, watts) in [("busy_w", &self.busy_w), ("tdp_w", &self.tdp_w)] {
            if !watts.is_empty() && watts.len() != nodes {
                let expected = format!("one number for each of {nodes} nodes, or none");
                faults.push(fault(&format!("cap_model.{name}"), format!("{} numbers", watts.len()), &expected));
            }
        }
    }
}

fn check_static(watts: &[f64], nodes: usize, faults: &mut Vec<Fault>) {
    if watts.len() != nodes {
        let expected = format!("one number for each of {nodes} nodes");
        faults.push(fault("cap_model.static_w", format!("{} numbers", watts.len()), &expected));
    }
    if let Some(node) = watts.iter().position(|value| !(0.0..=MAX_NODE_WATTS).contains(value)) {
        faults.push(fault(&format!("cap_model.static_w[node {node}]"), watts[node], "watts from 0 to 1e6"));
    }
}

#[expect(clippy::needless_pass_by_value, reason = "numbers and words alike")]
fn fault(parameter: &str, value: impl ToString, expected: &str) -> Fault {
    Fault { parameter: parameter.to_owned(), value: value.to_string(), expected: expected.to_owned() }
}
