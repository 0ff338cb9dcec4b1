//! Predicted slowdowns on the worst of all nodes: of an application against nominal, and of a job by its own cap.

use std::collections::BTreeMap;

use crate::algo::node_set::NodeSet;
use crate::power::known::KnownDraw;
use crate::power::pvt::Predicted;
use crate::workload::{AppId, JobId, Workload};

/// The largest predicted time factor over some nodes, by application.
#[derive(Clone, Debug)]
pub struct Slowest(Vec<f64>);

impl Slowest {
    /// Finds the factors, with one look at each row of the table, however many applications it serves.
    #[must_use]
    pub fn new(predicted: &Predicted, nodes: &NodeSet, apps: usize) -> Self {
        let mut rows = BTreeMap::new();
        let mut of = |app| {
            let slowest = || predicted.slowest(Some(app), nodes.iter());
            *rows.entry(predicted.row(Some(app))).or_insert_with(slowest)
        };
        Self((0..).map(AppId).take(apps).map(&mut of).collect())
    }

    /// Factor of a job of this application; 1 if it has none.
    #[must_use]
    pub fn of(&self, app: Option<AppId>) -> f64 {
        app.map_or(1.0, |app| self.0[app.0 as usize])
    }
}

/// Slowdown of each job by its own cap: σ of power rule 6, which stretches the planned length of a job without
/// walltime.
#[derive(Clone, Debug, Default)]
pub struct OwnSlowdowns(Vec<f64>);

impl OwnSlowdowns {
    /// Finds the slowdowns on the worst of a job's nodes, which are one of `sets`, by number. There is one look at all
    /// jobs of one set, application, known draw and cap.
    #[must_use]
    pub fn new(predicted: &Predicted, workload: &Workload, sets: &[NodeSet], set_of: impl Fn(JobId) -> usize) -> Self {
        if !predicted.has_caps() || workload.jobs().all(|job| workload.cap_w(job) == f64::INFINITY) {
            return Self::default();
        }
        let mut alike = BTreeMap::new();
        let mut of = |job| {
            let (app, own, cap_w) = (workload.app(job), predicted.known_draw(workload, job), workload.cap_w(job));
            let own = if predicted.follows_own(app) { own } else { KnownDraw::Unknown };
            let known = own.stated().map(f64::to_bits);
            let set = set_of(job);
            let key = (set, app, own == KnownDraw::Tdp, known, cap_w.to_bits());
            *alike.entry(key).or_insert_with(|| predicted.own_slowdown(sets[set].iter(), (app, own), cap_w))
        };
        Self(workload.jobs().map(&mut of).collect())
    }

    /// Slowdown of a job; 1 if it has no cap.
    #[must_use]
    pub fn of(&self, job: JobId) -> f64 {
        self.0.get(job.0 as usize).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::platform::PlatformColumns;
    use crate::power::pvt::{OnUnknownApp, TableKind, VariationTable, tables};
    use crate::workload::JobColumns;

    use super::*;

    #[test]
    fn is_the_largest_factor_of_the_row_that_serves_an_application() {
        let zeros = || vec![0.0; 2];
        let platform = PlatformColumns {
            idle_w: zeros(),
            busy_w: zeros(),
            tdp_w: zeros(),
            off_w: zeros(),
            down_w: zeros(),
            boot_w: zeros(),
            boot_s: zeros(),
            shutdown_w: zeros(),
            shutdown_s: zeros(),
            slots: vec![1; 2],
            exclusive: true,
        };
        let platform = platform.into_platform().unwrap();
        let app_names = ["fft", "unknown", "other"].map(String::from).to_vec();
        let workload = JobColumns { app_names, ..JobColumns::default() }.into_workload().unwrap();
        let table = VariationTable {
            apps: vec!["fft".into(), "other".into()],
            kind: TableKind::Ratio,
            power: vec![1.0; 4],
            time_ratio: vec![0.5, 0.75, 1.5, 1.25],
            name: "table".into(),
        };
        let (_, predicted) = tables(&platform, &workload, Some(&table), None, OnUnknownApp::Nominal).unwrap();
        let slowest = Slowest::new(&predicted, &NodeSet::full(2), 3);
        let of = |app| slowest.of(app);
        assert_eq!([of(Some(AppId(0))), of(Some(AppId(1))), of(Some(AppId(2))), of(None)], [0.75, 1.0, 1.5, 1.0]);
    }
}
