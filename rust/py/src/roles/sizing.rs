//! A sizing: on how many nodes the jobs that wait would run.

use hetsched_core::error::Result;
use hetsched_core::policy::analyzer::Ask;
use hetsched_core::policy::sizing::Sizing;
use hetsched_core::units::Watts;
use hetsched_core::workload::JobId;
use pyo3::prelude::*;

use crate::roles::answers::{self, Wrong};
use crate::roles::{Part, counted, failed, with_waiting};

/// An object that chooses sizes.
#[derive(Clone)]
pub(crate) struct OwnSizing(pub(crate) Part);

impl Sizing for OwnSizing {
    fn sizes(&mut self, ask: &Ask<'_>, room: Option<Watts>, jobs: &[JobId], out: &mut Vec<u32>) -> Result<()> {
        let (part, view) = (&self.0, ask.view);
        let watts = room.map_or(f64::INFINITY, Watts::watts);
        let sizes = Python::attach(|py| {
            part.lender.lend(view, Some(jobs), |lent| {
                let asked = || with_waiting(jobs);
                let answer = part.call(py, view, (part.lender.jobs(jobs.to_vec()), watts, lent), asked)?;
                answers::whole(&answer, "numbers of nodes").map_err(|wrong| match wrong {
                    Wrong::Said(what) => part.wrong(view, &what),
                    Wrong::Raised(raised) => failed(raised),
                })
            })
        })?;
        if sizes.len() != jobs.len() {
            let what = format!("gave {} for {}", counted(sizes.len(), "number"), counted(jobs.len(), "job"));
            return Err(part.wrong(view, &what));
        }
        for (&job, size) in jobs.iter().zip(sizes) {
            let (low, high) = view.size_range(job);
            let good = u32::try_from(size).ok().filter(|size| (low..=high).contains(size));
            out.push(good.ok_or_else(|| {
                let (id, nodes) = (view.jobs.job_id(job), if size == 1 { "node" } else { "nodes" });
                part.wrong(view, &format!("gave {size} {nodes} to job {id}, which runs on {low} to {high},"))
            })?);
        }
        Ok(())
    }
}
