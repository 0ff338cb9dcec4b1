//! Python sizings: they choose the number of nodes for waiting jobs, and for running malleable ones.

use hetsched_core::cluster::runs::RunId;
use hetsched_core::error::{Error, Result};
use hetsched_core::policy::View;
use hetsched_core::policy::analyzer::Ask;
use hetsched_core::policy::sizing::Sizing;
use hetsched_core::units::Watts;
use hetsched_core::workload::JobId;
use pyo3::prelude::*;

use crate::roles::answers::{self, Wrong};
use crate::roles::{Part, counted, for_jobs, with_waiting};

/// Name of the method that changes sizes of running jobs.
const RESIZES: &str = "resizes";

/// Name of the answers in errors.
const WANTED: &str = "numbers of nodes";

/// An object that chooses sizes.
#[derive(Clone)]
pub(crate) struct OwnSizing {
    part: Part,
    /// True if it has a method that changes those of running jobs.
    resizes: bool,
}

impl OwnSizing {
    /// Wraps an object with a method `sizes`, and perhaps one `resizes`.
    pub(crate) fn new(py: Python<'_>, part: Part) -> PyResult<Self> {
        let resizes = part.object.bind(py).getattr_opt(RESIZES)?.is_some_and(|method| !method.is_none());
        Ok(Self { part, resizes })
    }

    /// Reads one number of nodes for each of some jobs, each within the job's range.
    fn checked(
        &self,
        method: &str,
        view: &View<'_>,
        sizes: Result<Vec<i64>, Wrong>,
        jobs: &[JobId],
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let part = &self.part;
        let wrong = |what: &str| part.wrong_by(method, view, what);
        let sizes = sizes.map_err(|found| part.refused_by(method, view, found, || for_jobs(view, jobs)))?;
        if sizes.len() != jobs.len() {
            let what = format!("gave {} for {}", counted(sizes.len(), "number"), counted(jobs.len(), "job"));
            return Err(wrong(&what));
        }
        for (&job, size) in jobs.iter().zip(sizes) {
            let (low, high) = view.size_range(job);
            let good = u32::try_from(size).ok().filter(|size| (low..=high).contains(size));
            out.push(good.ok_or_else(|| {
                let (id, nodes) = (view.jobs.job_id(job), if size == 1 { "node" } else { "nodes" });
                wrong(&format!("gave {size} {nodes} to job {id}, which runs on {low} to {high},"))
            })?);
        }
        Ok(())
    }
}

impl Sizing for OwnSizing {
    fn sizes(&mut self, ask: &Ask<'_>, room: Option<Watts>, jobs: &[JobId], out: &mut Vec<u32>) -> Result<()> {
        let (part, view) = (&self.part, ask.view);
        let watts = room.map_or(f64::INFINITY, Watts::watts);
        let sizes = Python::attach(|py| {
            part.lender.lend(view, Some(jobs), |lent| {
                let asked = || with_waiting(jobs);
                let answer = part.call(py, view, (part.lender.jobs(jobs.to_vec()), watts, lent), asked)?;
                Ok::<_, Error>(answers::whole(&answer, WANTED))
            })
        })?;
        self.checked("sizes", view, sizes, jobs, out)
    }

    fn resizes_runs(&self) -> bool {
        self.resizes
    }

    fn resizes(
        &mut self,
        ask: &Ask<'_>,
        room: Option<Watts>,
        runs: &[RunId],
        queue: &[JobId],
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let (part, view) = (&self.part, ask.view);
        let watts = room.map_or(f64::INFINITY, Watts::watts);
        let sizes = Python::attach(|py| {
            part.lender.lend(view, Some(queue), |lent| {
                let asked = || format!(", with {} running,", counted(runs.len(), "malleable job"));
                let own = part.lender.running(runs.to_vec());
                let answer = part.call_to(RESIZES, py, view, (own, watts, lent), asked)?;
                Ok::<_, Error>(answers::whole(&answer, WANTED))
            })
        })?;
        let jobs: Vec<_> = runs.iter().filter_map(|&id| view.runs.get(id)).map(|run| run.job).collect();
        self.checked(RESIZES, view, sizes, &jobs, out)
    }
}
