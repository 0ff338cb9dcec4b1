//! Levels of caps, and the slowdown of jobs at each, where tables give it (operations page, rule 14).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::policy::View;
use crate::power::in_force::Allotted;
use crate::power::known::KnownDraw;
use crate::workload::{AppId, JobId};

/// Caps that may be set, W a node, ascending.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    watts: Vec<f64>,
    /// Slowdown at each level, by row of the tables, for each cap of the tables that may serve a job's own cap.
    slowdowns: OnceLock<BTreeMap<Option<usize>, Vec<f64>>>,
}

impl Levels {
    /// These caps, W a node, ascending.
    #[must_use]
    pub fn new(watts: Vec<f64>) -> Self {
        Self { watts, slowdowns: OnceLock::new() }
    }

    /// The caps, W, ascending.
    #[must_use]
    pub fn watts(&self) -> &[f64] {
        &self.watts
    }

    /// Lowest cap below the job's own that slows it by at most `slowdown`, by tables by cap; none if there is no such
    /// cap.
    #[must_use]
    pub fn lowest_within(&self, view: &View<'_>, job: JobId, slowdown: f64) -> Allotted {
        let own_w = view.jobs.cap_w(job);
        let slowdowns = self.of(view, job);
        let mut below = self.watts.iter().zip(slowdowns).filter(|(level, _)| **level < own_w);
        below.find(|(_, by)| **by <= slowdown).map_or(Allotted::None, |(level, _)| Allotted::Watts(*level))
    }

    /// Slowdown of a job at each level, by tables by cap.
    #[must_use]
    pub fn of(&self, view: &View<'_>, job: JobId) -> &[f64] {
        let (app, own_w) = (view.jobs.app(job), view.jobs.cap_w(job));
        let levels = view.predicted.levels();
        let served_by =
            if own_w == f64::INFINITY { levels.len() } else { levels.partition_point(|&level| level <= own_w) - 1 };
        let rows = self.slowdowns.get_or_init(|| self.by_row(view));
        let row = rows.get(&view.predicted.row(app)).map_or(&[][..], Vec::as_slice);
        let first = served_by * self.watts.len();
        row.get(first..first + self.watts.len()).unwrap_or_default()
    }

    fn by_row(&self, view: &View<'_>) -> BTreeMap<Option<usize>, Vec<f64>> {
        let mut rows = BTreeMap::new();
        let apps = (0..).map(AppId).take(view.jobs.app_count()).map(Some).chain([None]);
        for app in apps {
            rows.entry(view.predicted.row(app)).or_insert_with(|| self.row(view, app));
        }
        rows
    }

    /// Slowdowns of an application at each level: for jobs whose own cap is served by each finite cap of the tables,
    /// then for those without one.
    fn row(&self, view: &View<'_>, app: Option<AppId>) -> Vec<f64> {
        let of = (app, KnownDraw::Unknown);
        let by = |own_w, level| view.predicted.slowdown(view.own_nodes(), of, own_w, |_| level);
        let owns = view.predicted.levels().iter().copied().chain([f64::INFINITY]);
        owns.flat_map(|own_w| self.watts.iter().map(move |&level| by(own_w, level))).collect()
    }
}
