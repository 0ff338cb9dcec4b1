//! Draws and time factors under caps (power rules 1 to 4, 14 and 26). A cap of infinity is none.

use std::sync::Arc;

use crate::error::{ConfigError, Error, Result, config};
use crate::platform::Platform;
use crate::power::caps::{CapModel, CapTable, CapTables, CapsKind, Uncapped, factor_at};
use crate::power::known::KnownDraw;
use crate::power::pvt::check::bounds_of;
use crate::power::pvt::draws::{Caps, Draws, JobDraws, Model};
use crate::power::pvt::table::{OnUnknownApp, VariationTable, few};
use crate::power::pvt::{Actual, Predicted, uncapped};
use crate::units::Watts;
use crate::workload::{AppId, JobId, Workload};

/// Key of a node under a cap model: nodes with the same one have the same draw and speed under every cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeLikeness {
    /// Draw without a cap and its static part, as bits.
    uncapped: [u64; 2],
    time_ratio: u64,
    draw: Watts,
}

/// Memo over consecutive nodes: a value found once for neighbours that are alike.
#[derive(Clone, Copy, Debug)]
pub struct ForAlike<K, T>(Option<(K, T)>);

impl<K, T> Default for ForAlike<K, T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K: PartialEq, T: Copy> ForAlike<K, T> {
    /// Value for the next node: calls `find`, unless the node before was alike; without a likeness, always.
    pub fn of(&mut self, like: Option<K>, find: impl FnOnce() -> T) -> T {
        let Some(like) = like else { return find() };
        if let Some((_, known)) = self.0.as_ref().filter(|(before, _)| *before == like) {
            return *known;
        }
        let found = find();
        self.0 = Some((like, found));
        found
    }
}

impl Draws {
    fn draw_under(&self, app: Option<AppId>, own: KnownDraw, node: u32, cap_w: f64) -> Watts {
        self.of_job_under(app, own, cap_w).on(node)
    }

    fn factor_under(&self, app: Option<AppId>, own: KnownDraw, node: u32, cap_w: f64) -> f64 {
        match self.caps.as_deref() {
            Some(Caps::Tables(tables)) => tables.serving(cap_w).unwrap_or(self).time_ratio(app, node),
            Some(Caps::Model(model)) if cap_w < f64::INFINITY => {
                let uncapped = model.uncapped(self, self.row(app), own, node as usize);
                let time_ratio = self.time_ratio(app, node);
                if cap_w >= uncapped.draw_w {
                    return time_ratio;
                }
                factor_at(model.clock.speed(uncapped, cap_w), time_ratio, model.bound(app, own))
            }
            _ => self.time_ratio(app, node),
        }
    }

    fn slowest_under(&self, app: Option<AppId>, own: KnownDraw, caps: impl Iterator<Item = (u32, f64)>) -> f64 {
        let mut alike = ForAlike::default();
        let on = |(node, cap_w): (u32, f64)| {
            let like = self.alike(node).map(|like| (like, cap_w.to_bits()));
            alike.of(like, || self.factor_under(app, own, node, cap_w))
        };
        caps.map(on).fold(0.0, f64::max)
    }

    /// Key of a node's draw and speed under a cap model.
    fn likeness(&self, app: Option<AppId>, own: KnownDraw, node: u32) -> Option<NodeLikeness> {
        let Some(Caps::Model(model)) = self.caps.as_deref() else { return None };
        let Uncapped { draw_w, static_w } = model.uncapped(self, self.row(app), own, node as usize);
        let time_ratio = self.time_ratio(app, node).to_bits();
        let uncapped = [draw_w.to_bits(), static_w.to_bits()];
        Some(NodeLikeness { uncapped, time_ratio, draw: self.draw(app, own, node) })
    }

    /// Likeness number of a node: neighbours that share it are alike under every cap, by a cap model.
    fn alike(&self, node: u32) -> Option<u32> {
        let Some(Caps::Model(model)) = self.caps.as_deref() else { return None };
        model.alike(node)
    }

    fn kind_of_caps(&self) -> Option<CapsKind> {
        self.caps.as_deref().map(|caps| match caps {
            Caps::Tables(_) => CapsKind::Tables,
            Caps::Model(_) => CapsKind::Model,
        })
    }

    /// The node's time factor under some cap divided by that under another.
    fn ratio_under(&self, app: Option<AppId>, own: KnownDraw, node: u32, cap_w: f64, other_w: f64) -> f64 {
        if cap_w == other_w {
            return 1.0;
        }
        self.factor_under(app, own, node, cap_w) / self.factor_under(app, own, node, other_w)
    }
}

impl Actual {
    /// Draw of `node`, and slowdown of a job there against nominal, under a cap of `cap_w` W (rules 2 and 3).
    #[must_use]
    pub fn under(&self, app: Option<AppId>, own: KnownDraw, node: u32, cap_w: f64) -> (Watts, f64) {
        (self.0.draw_under(app, own, node, cap_w), self.0.factor_under(app, own, node, cap_w))
    }

    /// The same for `job` alone on the node.
    #[must_use]
    pub fn job_under(&self, workload: &Workload, job: JobId, node: u32, cap_w: f64) -> (Watts, f64) {
        self.under(workload.app(job), KnownDraw::measured(workload.power_w(job)), node, cap_w)
    }

    /// Draws of nodes while they serve a job of this application and own draw alone under a cap of `cap_w` W on each.
    #[must_use]
    pub fn of_job_under(&self, app: Option<AppId>, own: KnownDraw, cap_w: f64) -> JobDraws<'_> {
        self.0.of_job_under(app, own, cap_w)
    }

    /// F of rule 4: slowdown of such a job on these nodes against nominal, each under its cap in W.
    #[must_use]
    pub fn slowest_under(&self, app: Option<AppId>, own: KnownDraw, caps: impl Iterator<Item = (u32, f64)>) -> f64 {
        self.0.slowest_under(app, own, caps)
    }

    /// Likeness number of a node: neighbours that share it are alike under every cap, by a cap model.
    #[must_use]
    pub fn alike(&self, node: u32) -> Option<u32> {
        self.0.alike(node)
    }

    /// True if there is a source of draws and speeds under caps.
    #[must_use]
    pub fn has_caps(&self) -> bool {
        self.0.caps.is_some()
    }
}

impl Predicted {
    /// Likeness number of a node: neighbours that share it are predicted to be alike under every cap, by a cap model.
    #[must_use]
    pub fn alike(&self, node: u32) -> Option<u32> {
        self.0.alike(node)
    }

    /// Key of a node's predicted draw and speed with a job of this application and own draw, under a cap model.
    #[must_use]
    pub fn likeness(&self, app: Option<AppId>, own: KnownDraw, node: u32) -> Option<NodeLikeness> {
        self.0.likeness(app, own, node)
    }

    /// Predicted draw of `node`, and predicted slowdown there of a job of this application and own draw against
    /// nominal, under a cap of `cap_w` W (rules 2 and 3).
    #[must_use]
    pub fn under(&self, app: Option<AppId>, own: KnownDraw, node: u32, cap_w: f64) -> (Watts, f64) {
        (self.draw_under(app, own, node, cap_w), self.factor_under(app, own, node, cap_w))
    }

    /// The draw of [`Predicted::under`].
    #[must_use]
    pub fn draw_under(&self, app: Option<AppId>, own: KnownDraw, node: u32, cap_w: f64) -> Watts {
        self.0.draw_under(app, own, node, cap_w)
    }

    /// The slowdown of [`Predicted::under`].
    #[must_use]
    pub fn factor_under(&self, app: Option<AppId>, own: KnownDraw, node: u32, cap_w: f64) -> f64 {
        self.0.factor_under(app, own, node, cap_w)
    }

    /// Predicted draws of nodes while they serve a job of this application and own draw alone, under a cap of `cap_w` W
    /// on each.
    #[must_use]
    pub fn of_job_under(&self, app: Option<AppId>, own: KnownDraw, cap_w: f64) -> JobDraws<'_> {
        self.0.of_job_under(app, own, cap_w)
    }

    /// Fp of rule 4: the largest predicted factor of these nodes, each under its cap in W.
    #[must_use]
    pub fn slowest_under(&self, app: Option<AppId>, own: KnownDraw, caps: impl Iterator<Item = (u32, f64)>) -> f64 {
        self.0.slowest_under(app, own, caps)
    }

    /// The cap, W, that slows a job on `node` by exactly `slowdown` (from 1) against its speed under its own cap of
    /// `own_cap_w` W, by the cap model (rule 26). Infinity at 1, and wherever there is no model.
    #[must_use]
    pub fn slowdown_cap(&self, app: Option<AppId>, own: KnownDraw, own_cap_w: f64, slowdown: f64, node: u32) -> f64 {
        let Some(Caps::Model(model)) = self.0.caps.as_deref() else { return f64::INFINITY };
        let by_own = self.0.ratio_under(app, own, node, own_cap_w, f64::INFINITY);
        let uncapped = model.uncapped(&self.0, self.0.row(app), own, node as usize);
        model.clock.cap_for(uncapped, model.bound(app, own), slowdown, by_own)
    }

    /// Slowdown by system caps of a job with this application and own draw against its own cap of `own_cap_w` W (rule
    /// 14): the largest, over these nodes, of the node's predicted factor under the smaller of the own cap and
    /// `cap_on(node)`, W, divided by that under the own cap alone. `cap_on` must be the same for nodes that are alike.
    #[must_use]
    pub fn slowdown(
        &self,
        nodes: impl Iterator<Item = u32>,
        (app, own): (Option<AppId>, KnownDraw),
        own_cap_w: f64,
        cap_on: impl Fn(u32) -> f64,
    ) -> f64 {
        self.largest(nodes, |node| self.0.ratio_under(app, own, node, own_cap_w.min(cap_on(node)), own_cap_w))
    }

    /// Slowdown of a job by its own cap of `own_cap_w` W against none: σ of rule 6, by rule 14.
    #[must_use]
    pub fn own_slowdown(
        &self,
        nodes: impl Iterator<Item = u32>,
        (app, own): (Option<AppId>, KnownDraw),
        own_cap_w: f64,
    ) -> f64 {
        self.largest(nodes, |node| self.0.ratio_under(app, own, node, own_cap_w, f64::INFINITY))
    }

    fn largest(&self, nodes: impl Iterator<Item = u32>, ratio_on: impl Fn(u32) -> f64) -> f64 {
        if !self.has_caps() {
            return 1.0;
        }
        let mut alike = ForAlike::default();
        let ratios = nodes.map(|node| alike.of(self.alike(node), || ratio_on(node)));
        ratios.fold(0.0, f64::max)
    }

    /// b of rule 3: share of the run time of a job of this application and own draw that stretches with the clock, by
    /// the cap model; none without one.
    #[must_use]
    pub fn bound_ratio(&self, app: Option<AppId>, own: KnownDraw) -> Option<f64> {
        let Some(Caps::Model(model)) = self.0.caps.as_deref() else { return None };
        Some(model.bound(app, own))
    }

    /// True if there is a source of draws and speeds under caps.
    #[must_use]
    pub fn has_caps(&self) -> bool {
        self.0.caps.is_some()
    }

    /// The finite caps of the tables by cap, W, ascending; empty for a model.
    #[must_use]
    pub fn levels(&self) -> &[f64] {
        match self.0.caps.as_deref() {
            Some(Caps::Tables(tables)) => tables.levels(),
            _ => &[],
        }
    }

    /// Kind of the source of draws and speeds under caps, if there is one.
    #[must_use]
    pub fn caps_kind(&self) -> Option<CapsKind> {
        self.0.kind_of_caps()
    }
}

/// Actual and predicted draws from tables by cap, ascending, of which the last is without a cap.
pub(super) fn by_tables(
    platform: &Platform,
    workload: &Workload,
    tables: &[CapTable],
    unknown: OnUnknownApp,
) -> Result<(Draws, Draws)> {
    let Some((last, finite)) = tables.split_last() else {
        unreachable!("`CapsSpec::check` asks for one without a cap")
    };
    let built = |table: &CapTable| {
        let draws = uncapped(platform, workload, Some(&table.actual), table.predicted.as_ref(), unknown);
        draws.map_err(|error| at_cap(table.cap_w, error))
    };
    let (mut charged, mut believed) = built(last)?;
    let (mut under, mut believed_under) = (Vec::new(), Vec::new());
    for table in finite {
        check_same_rows(last, table)?;
        let (charged, believed) = built(table)?;
        under.push((table.cap_w, charged));
        believed_under.extend(table.predicted.is_some().then_some((table.cap_w, believed)));
    }
    charged.caps = Some(Arc::new(Caps::Tables(CapTables::new(under))));
    believed.caps = if last.predicted.is_none() {
        charged.caps.clone()
    } else {
        Some(Arc::new(Caps::Tables(CapTables::new(believed_under))))
    };
    Ok((charged, believed))
}

fn check_same_rows(uncapped: &CapTable, table: &CapTable) -> Result<()> {
    let sorted = |table: &CapTable| {
        let mut apps = table.actual.apps.clone();
        apps.sort();
        apps
    };
    if sorted(uncapped) == sorted(table) {
        return Ok(());
    }
    let expected = format!("the applications of the table without a cap: {}", few(&uncapped.actual.apps));
    let place = format!("{}.apps", table.actual.name);
    Err(at_cap(table.cap_w, config(place, few(&table.actual.apps), expected)))
}

/// The error of a table, with its cap named.
fn at_cap(cap_w: f64, error: Error) -> Error {
    let Error::Config(ConfigError { mut faults }) = error else { return error };
    for fault in &mut faults {
        fault.parameter = format!("cap_tables[{cap_w}], {}", fault.parameter);
    }
    ConfigError { faults }.into()
}

/// The draws without a cap, with the model added; `tables` are those they were made from.
pub(super) fn by_model(
    workload: &Workload,
    (mut charged, mut believed): (Draws, Draws),
    [actual, predicted]: [Option<&VariationTable>; 2],
    model: &CapModel,
    unknown: OnUnknownApp,
) -> Result<(Draws, Draws)> {
    let bounds = bounds_of(model, workload, unknown)?;
    let made = |draws: &Draws, table: Option<&VariationTable>| {
        Some(Arc::new(Caps::Model(Model::new(model, bounds.clone(), draws, table))))
    };
    charged.caps = made(&charged, actual);
    believed.caps = match (actual, predicted) {
        (Some(actual), Some(predicted)) if !std::ptr::eq(actual, predicted) => made(&believed, Some(predicted)),
        _ => charged.caps.clone(),
    };
    Ok((charged, believed))
}
