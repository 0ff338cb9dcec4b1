//! Python placements: they choose the nodes of one job among those that are free and can serve it.

use std::sync::Arc;

use hetsched_core::algo::node_set::NodeSet;
use hetsched_core::error::Result;
use hetsched_core::policy::View;
use hetsched_core::policy::analyzer::Ask;
use hetsched_core::policy::placement::{Choice, Placement};
use hetsched_core::workload::JobId;
use pyo3::prelude::*;

use crate::roles::answers::{self, Wrong};
use crate::roles::arrays::node_numbers;
use crate::roles::jobs::Job;
use crate::roles::{Part, for_jobs};

/// An object that chooses nodes.
#[derive(Clone)]
pub(crate) struct OwnPlacement(pub(crate) Part);

impl OwnPlacement {
    fn asked(&self, view: &View<'_>, job: JobId, free: &NodeSet) -> Result<Option<Vec<u32>>> {
        let part = &self.0;
        Python::attach(|py| {
            part.lender.lend(view, None, |lent| {
                let nodes = node_numbers(py, free);
                let own = Job { row: job, loan: Arc::clone(part.lender.loan()), labels: part.lender.labels().clone() };
                let answer = part.call(py, view, (own, nodes, lent), || for_jobs(view, &[job]))?;
                if answer.is_none() {
                    return Ok(None);
                }
                let chosen = match answers::whole(&answer, "node numbers") {
                    Ok(chosen) => chosen,
                    Err(Wrong::Said(what)) => {
                        return Err(part.wrong(view, &format!("{what}, to job {},", view.jobs.job_id(job))));
                    }
                    Err(raised) => return Err(part.refused(view, raised, || for_jobs(view, &[job]))),
                };
                let is_free = |node| free.contains(node);
                let asked = view.jobs.node_count(job);
                checked(view, job, &chosen, (asked, asked), is_free).map(Some).map_err(|what| part.wrong(view, &what))
            })
        })
    }
}

/// Checks the nodes chosen for a job.
pub(crate) fn checked(
    view: &View<'_>,
    job: JobId,
    chosen: &[i64],
    (low, high): (u32, u32),
    is_free: impl Fn(u32) -> bool,
) -> Result<Vec<u32>, String> {
    let id = view.jobs.job_id(job);
    if !(low as usize..=high as usize).contains(&chosen.len()) {
        let nodes = if chosen.len() == 1 { "node" } else { "nodes" };
        let wanted = if low == high { format!("asks for {low}") } else { format!("runs on {low} to {high}") };
        return Err(format!("gave {} {nodes} to job {id}, which {wanted},", chosen.len()));
    }
    let there = view.platform.len();
    let number = |&node: &i64| u32::try_from(node).ok().filter(|&node| node < there).ok_or(node);
    let nodes = chosen.iter().map(number).collect::<Result<Vec<_>, _>>();
    let nodes = nodes.map_err(|node| format!("gave node {node} to job {id} on a machine of {there} nodes"))?;
    if let Some(busy) = nodes.iter().find(|&&node| !is_free(node)) {
        return Err(format!("gave node {busy} to job {id}, which is not free for it,"));
    }
    let mut sorted = nodes.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => Err(format!("gave node {} twice to job {id}", twice[0])),
        None => Ok(nodes),
    }
}

impl Placement for OwnPlacement {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        let Some(chosen) = self.asked(ask.view, job, free)? else { return Ok(Choice::Refused) };
        for &node in &chosen {
            free.remove(node);
        }
        nodes.extend(chosen);
        Ok(Choice::Chosen)
    }
}
