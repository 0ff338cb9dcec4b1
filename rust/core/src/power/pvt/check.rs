//! Checks of caps: a cap may be set if something serves it, on every node, for the jobs it is meant for.

use std::collections::BTreeMap;

use crate::error::{ConfigError, Fault, Result, config};
use crate::power::caps::CapModel;
use crate::power::known::KnownDraw;
use crate::power::pvt::Actual;
use crate::power::pvt::draws::{Caps, Draws, Model};
use crate::power::pvt::table::{MOST_FAULTS, OnUnknownApp, VariationTable};
use crate::units::MAX_NODE_WATTS;
use crate::workload::{AppId, JobId, Workload};

/// Checks that tables by cap are not combined with another table.
pub(super) fn check_alone(other: Option<&VariationTable>) -> Result<()> {
    let Some(table) = other else { return Ok(()) };
    Err(config(&table.name, "a table with tables by cap", "tables by cap alone: the one for `inf` stands for no cap"))
}

/// Key of jobs for which the same caps are valid, up to the watts that they bring: application, kind of own draw, cap.
type Alike = (Option<AppId>, bool, u64);

/// For each group of alike jobs with a cap, the one that brings the most watts: a cap that suits it suits them all.
fn hungriest(workload: &Workload, cap_of: impl Fn(JobId) -> f64) -> Vec<(JobId, f64)> {
    let mut groups = BTreeMap::<Alike, JobId>::new();
    for job in workload.jobs().filter(|&job| cap_of(job) < f64::INFINITY) {
        let key = (workload.app(job), workload.power_w(job) > 0.0, cap_of(job).to_bits());
        let most = groups.entry(key).or_insert(job);
        if workload.power_w(job) > workload.power_w(*most) {
            *most = job;
        }
    }
    let mut jobs: Vec<_> = groups.into_values().map(|job| (job, cap_of(job))).collect();
    jobs.sort_by_key(|(job, _)| *job);
    jobs
}

impl Actual {
    /// Fault of a cap of `cap_w` W for `job` on any node of the machine, if there is one; `parameter` is what the fault
    /// names.
    #[must_use]
    pub fn check_cap(&self, workload: &Workload, job: JobId, parameter: &str, cap_w: f64) -> Option<Fault> {
        self.0.wrong_with(workload, job, cap_w).map(|wrong| wrong.into_fault(parameter, cap_w))
    }

    /// Faults of caps of these watts for any job, such as the levels of an allocator: at most one per cap, stating
    /// watts that would do for all jobs.
    #[must_use]
    pub fn check_levels(&self, workload: &Workload, parameter: &str, levels: &[f64]) -> Vec<Fault> {
        let of_level = |&level: &f64| {
            let wrong = hungriest(workload, |_| level)
                .into_iter()
                .filter_map(|(job, _)| self.0.wrong_with(workload, job, level));
            // The first of equal ones.
            let worst = wrong.reduce(|worst, next| if next.enough_w > worst.enough_w { next } else { worst });
            worst.map(|wrong| wrong.into_fault(parameter, level))
        };
        levels.iter().filter_map(of_level).collect()
    }

    /// Checks the caps that jobs ask for.
    pub(super) fn check_own_caps(&self, workload: &Workload) -> Result<()> {
        let capped = hungriest(workload, |job| workload.cap_w(job));
        let of_job = |job| format!("cap_w of job {}", workload.job_id(job));
        let checked = capped.iter().filter_map(|&(job, cap_w)| self.check_cap(workload, job, &of_job(job), cap_w));
        let faults: Vec<_> = checked.take(MOST_FAULTS).collect();
        if faults.is_empty() { Ok(()) } else { Err(ConfigError { faults }.into()) }
    }
}

/// Reason why a job cannot have a cap.
struct Wrong {
    /// The lowest cap that it can have, W; infinite if it can have none.
    enough_w: f64,
    /// Description of a valid cap.
    expected: String,
}

impl Wrong {
    fn new(enough_w: f64, expected: impl Into<String>) -> Self {
        Self { enough_w, expected: expected.into() }
    }

    fn into_fault(self, parameter: &str, cap_w: f64) -> Fault {
        Fault { parameter: parameter.to_owned(), value: cap_w.to_string(), expected: self.expected }
    }
}

impl Draws {
    fn wrong_with(&self, workload: &Workload, job: JobId, cap_w: f64) -> Option<Wrong> {
        if cap_w == f64::INFINITY {
            return None;
        }
        if !(cap_w > 0.0 && cap_w <= MAX_NODE_WATTS) {
            return Some(Wrong::new(f64::INFINITY, "watts above 0, up to 1e6"));
        }
        match self.caps.as_deref() {
            None => Some(Wrong::new(f64::INFINITY, "no cap: the platform has neither tables by cap nor a cap model")),
            Some(Caps::Tables(tables)) => self.unserved(tables.levels().first(), workload, job, cap_w),
            Some(Caps::Model(model)) => self.too_low(model, workload, job, cap_w),
        }
    }

    fn unserved(&self, lowest: Option<&f64>, workload: &Workload, job: JobId, cap_w: f64) -> Option<Wrong> {
        let Some(&lowest) = lowest else {
            return Some(Wrong::new(f64::INFINITY, "no cap: the only table is that without one"));
        };
        if self.row(workload.app(job)).is_none() {
            let expected = format!("no cap, or a row for {} in the tables by cap", named(workload, job));
            return Some(Wrong::new(f64::INFINITY, expected));
        }
        let expected = || format!("at least {lowest} W, the lowest cap of the tables");
        (cap_w < lowest).then(|| Wrong::new(lowest, expected()))
    }

    /// Fault if the model cannot keep a job within a cap on some node.
    fn too_low(&self, model: &Model, workload: &Workload, job: JobId, cap_w: f64) -> Option<Wrong> {
        let (row, own) = (self.row(workload.app(job)), KnownDraw::measured(workload.power_w(job)));
        let on = |node| (model.uncapped(self, row, own, node), node);
        let binding = (0..self.nodes).map(on).filter(|(uncapped, _)| uncapped.draw_w > cap_w);
        let least = |node| model.clock.least_draw(node);
        // The first of equal ones.
        let (worst, node) = binding.max_by(|a, b| least(a.0).total_cmp(&least(b.0)).then(b.1.cmp(&a.1)))?;
        if least(worst) <= cap_w {
            return None;
        }
        // Rounded up: the number in the message works.
        let enough_w = (least(worst) * 1000.0).ceil() / 1000.0;
        let expected = format!(
            "at least {enough_w} W: {} draws that on node {node} at the lowest speed, {} of nominal ({} W at nominal speed, \
             {} W of it static)",
            named(workload, job),
            model.clock.least(),
            worst.draw_w,
            worst.static_w
        );
        Some(Wrong::new(enough_w, expected))
    }
}

fn named(workload: &Workload, job: JobId) -> String {
    let job_id = workload.job_id(job);
    match workload.app(job) {
        Some(app) => format!("job {job_id} (application `{}`)", workload.app_names()[app.0 as usize]),
        None => format!("job {job_id} (no application)"),
    }
}

/// Bound ratio of each application by a cap model, and last that of jobs without an application; an application without
/// one is a fault that names a job.
pub(super) fn bounds_of(model: &CapModel, workload: &Workload, unknown: OnUnknownApp) -> Result<Vec<f64>> {
    let (mut bounds, mut faults) = (Vec::with_capacity(workload.app_names().len() + 1), Vec::new());
    for (app, name) in (0..).map(AppId).zip(workload.app_names()) {
        let bound = model.bound_ratio.of(name);
        bounds.push(bound.unwrap_or(1.0));
        if bound.is_some() || unknown == OnUnknownApp::Nominal || faults.len() == MOST_FAULTS {
            continue;
        }
        faults.extend(workload.jobs().find(|&job| workload.app(job) == Some(app)).map(|job| Fault {
            parameter: "cap_model.bound_ratio".to_owned(),
            value: format!("nothing for application `{name}` of job {}", workload.job_id(job)),
            expected: "a share for each application, one for `*`, or on_unknown_app=\"nominal\"".to_owned(),
        }));
    }
    bounds.push(model.bound_ratio.default.unwrap_or(1.0));
    if faults.is_empty() { Ok(bounds) } else { Err(ConfigError { faults }.into()) }
}
