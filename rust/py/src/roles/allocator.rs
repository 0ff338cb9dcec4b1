//! Python allocators: they set the caps of all runs within the available watts (operations page, rules 13 and 24).

use hetsched_core::cluster::runs::{Run, RunId};
use hetsched_core::error::{Result, config};
use hetsched_core::policy::View;
use hetsched_core::policy::allocator::{Allocator, draw_of, running};
use hetsched_core::policy::budget::least::LeastCaps;
use hetsched_core::power::in_force::Allotted;
use hetsched_core::units::Watts;
use pyo3::prelude::*;

use crate::errors::to_py;
use crate::roles::answers;
use crate::roles::running::{each_allotted, node_total};
use crate::roles::{Part, counted};

/// An object that sets caps.
#[derive(Clone)]
pub(crate) struct OwnAllocator {
    part: Part,
    /// Lowest cap that it may set, W per node, with which starts are counted; `None`: they are counted without caps.
    least_w: Option<f64>,
}

impl OwnAllocator {
    /// Wraps an object with a method `allot`; its `least_cap_w` is read once.
    pub(crate) fn new(py: Python<'_>, part: Part) -> PyResult<Self> {
        let object = part.object.bind(py);
        let least_w = match object.getattr_opt("least_cap_w")?.filter(|value| !value.is_none()) {
            Some(value) => Some(
                value.extract::<f64>().ok().filter(|watts| *watts > 0.0 && watts.is_finite()).ok_or_else(|| {
                    let found = value.repr().map_or_else(|_| "an object".to_owned(), |text| format!("`{text}`"));
                    to_py(py, config("policy.power.allocator.least_cap_w", found, "watts a node above 0, or None"))
                })?,
            ),
            None => None,
        };
        Ok(Self { part, least_w })
    }

    /// Lowest caps, under which a run draws least.
    fn least_of(&self) -> Allotted {
        self.least_w.map_or(Allotted::None, Allotted::Watts)
    }

    /// Error text about the caps of some runs, if there is anything wrong with them.
    fn fault(&self, view: &View<'_>, runs: &[&Run], caps_w: &[f64], caps: &[Allotted], room: Watts) -> Option<String> {
        let lowest_w = self.least_w.or(view.predicted.levels().first().copied()).unwrap_or(f64::INFINITY);
        if let Some((place, cap_w)) = caps_w.iter().enumerate().find(|(_, cap_w)| **cap_w < lowest_w) {
            let job = view.jobs.job_id(runs[place_of(view, runs, caps_w.len(), place)].job);
            return Some(format!("gave {cap_w} W a node for job {job}, below the least cap of {lowest_w} W,"));
        }
        let drawn: Watts = runs.iter().zip(caps).map(|(run, cap)| draw_of(view, run, cap)).sum();
        let least = self.least_of();
        if drawn <= room || runs.iter().map(|run| draw_of(view, run, &least)).sum::<Watts>() > room {
            return None;
        }
        // Rounded to milliwatts: a budget is kept to one part in 10⁹.
        let [drawn, room] = [drawn, room].map(|watts| (watts.watts() * 1e3).round() / 1e3);
        Some(format!(
            "gave caps under which what runs is predicted to draw {drawn} W beyond the idle machine, more than the {room} W \
             there are, which the least caps would keep,"
        ))
    }
}

/// Index of the run to which a cap belongs; there is one cap per run, or one per node of all runs.
fn place_of(view: &View<'_>, runs: &[&Run], count: usize, place: usize) -> usize {
    if count == runs.len() {
        return place;
    }
    let mut ends = runs.iter().scan(0, |end, run| {
        *end += view.runs.nodes(run).len();
        Some(*end)
    });
    ends.position(|end| place < end).unwrap_or_default()
}

impl Allocator for OwnAllocator {
    fn least(&self) -> LeastCaps {
        self.least_w.map_or(LeastCaps::None, LeastCaps::Watts)
    }

    fn allot(&mut self, view: &View<'_>, room: Watts, out: &mut Vec<(RunId, Allotted, Watts)>) -> Result<()> {
        let mut all: Vec<_> = running(view).collect();
        all.sort_unstable_by_key(|(_, run)| (run.started, run.job.0));
        if all.is_empty() {
            return Ok(());
        }
        let (ids, runs): (Vec<RunId>, Vec<&Run>) = all.into_iter().unzip();
        let nodes = node_total(view, &runs);
        let part = &self.part;
        let caps_w = Python::attach(|py| {
            part.lender.lend(view, None, |lent| {
                let own = part.lender.running(ids.clone());
                let asked = || format!(", with {} running,", counted(runs.len(), "job"));
                let answer = part.call(py, view, (own, room.watts(), lent), asked)?;
                let whose =
                    |count, place| format!("job {}", view.jobs.job_id(runs[place_of(view, &runs, count, place)].job));
                let things = if runs.len() == 1 { "running job" } else { "running jobs" };
                answers::numbers_for(&answer, (runs.len(), things), (nodes, "nodes"), whose)
                    .map_err(|wrong| part.refused(view, wrong, asked))
            })
        })?;
        let caps = each_allotted(view, &runs, &caps_w);
        if let Some(what) = self.fault(view, &runs, &caps_w, &caps, room) {
            return Err(part.wrong(view, &what));
        }
        for ((id, run), allotted) in ids.into_iter().zip(runs).zip(caps) {
            let watts = draw_of(view, run, &allotted);
            out.push((id, allotted, watts));
        }
        Ok(())
    }
}
