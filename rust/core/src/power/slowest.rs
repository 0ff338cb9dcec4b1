//! How much longer than nominal a job may take on the worst of all nodes, as predicted.

use std::collections::BTreeMap;

use crate::power::pvt::Predicted;
use crate::workload::AppId;

/// The largest predicted time factor over all nodes, by application.
#[derive(Clone, Debug)]
pub struct Slowest(Vec<f64>);

impl Slowest {
    /// Looks at each row of the table once, however many applications it serves.
    #[must_use]
    pub fn new(predicted: &Predicted, nodes: u32, apps: usize) -> Self {
        let mut rows = BTreeMap::new();
        let mut of = |app| {
            let slowest = || predicted.slowest(Some(app), 0..nodes);
            *rows.entry(predicted.row(Some(app))).or_insert_with(slowest)
        };
        Self((0..).map(AppId).take(apps).map(&mut of).collect())
    }

    /// Of a job of this application; 1 if it has none.
    #[must_use]
    pub fn of(&self, app: Option<AppId>) -> f64 {
        app.map_or(1.0, |app| self.0[app.0 as usize])
    }
}

#[cfg(test)]
mod tests {
    use crate::platform::PlatformColumns;
    use crate::power::pvt::{Kind, OnUnknownApp, VariationTable, tables};
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
            kind: Kind::Ratio,
            power: vec![1.0; 4],
            time_ratio: vec![0.5, 0.75, 1.5, 1.25],
            name: "table".into(),
        };
        let (_, predicted) = tables(&platform, &workload, Some(&table), None, OnUnknownApp::Nominal).unwrap();
        let slowest = Slowest::new(&predicted, 2, 3);
        let of = |app| slowest.of(app);
        assert_eq!([of(Some(AppId(0))), of(Some(AppId(1))), of(Some(AppId(2))), of(None)], [0.75, 1.0, 1.5, 1.0]);
    }
}
