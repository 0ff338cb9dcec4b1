//! Sizes of running jobs: the sizing chooses them, and the placement chooses the nodes of those that grow.

use std::collections::VecDeque;

use crate::cluster::runs::RunId;
use crate::error::Result;
use crate::policy::analyzer::Ask;
use crate::policy::placement::{Choice, News, Placement};
use crate::policy::sizing::Sizing;
use crate::policy::{Decisions, View};
use crate::units::Watts;
use crate::workload::JobId;

/// Runs that are still to grow in this pass, each with its new number of nodes; none: the sizing is still to be asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Growing(Option<VecDeque<(RunId, u32)>>);

impl Growing {
    /// Makes the next decisions about sizes of running jobs. The first call of a pass shrinks all jobs that give nodes
    /// up; then one job after the other grows, so that the placement sees the nodes that are free by then.
    pub(super) fn decide(
        &mut self,
        ask: &Ask<'_>,
        sizing: &mut dyn Sizing,
        placement: &mut dyn Placement,
        (room, queue): (Option<Watts>, impl FnOnce() -> Vec<JobId>),
        out: &mut Decisions,
    ) -> Result<()> {
        let mut rest = match self.0.take() {
            Some(rest) => rest,
            None => answered(ask, sizing, room, queue, out)?,
        };
        while out.is_empty()
            && let Some((id, size)) = rest.pop_front()
        {
            grow(ask, placement, (id, size), out)?;
        }
        self.0 = (!out.is_empty()).then_some(rest);
        Ok(())
    }
}

/// Asks the sizing for sizes of running malleable jobs. Decides those that shrink and returns those that grow.
fn answered(
    ask: &Ask<'_>,
    sizing: &mut dyn Sizing,
    room: Option<Watts>,
    queue: impl FnOnce() -> Vec<JobId>,
    out: &mut Decisions,
) -> Result<VecDeque<(RunId, u32)>> {
    let view = ask.view;
    let may_change = view.runs.iter().filter(|(_, run)| run.suspension.is_none() && view.jobs.is_malleable(run.job));
    let mut runs: Vec<_> = may_change.map(|(id, run)| (run.started, run.job, id, run.places.len())).collect();
    if runs.is_empty() {
        return Ok(VecDeque::new());
    }
    runs.sort_unstable();
    let (ids, mut sizes): (Vec<_>, _) = (runs.iter().map(|run| run.2).collect(), Vec::with_capacity(runs.len()));
    sizing.resizes(ask, room, &ids, &queue(), &mut sizes)?;
    let mut growing = VecDeque::new();
    for (&(.., id, size), wanted) in runs.iter().zip(sizes) {
        match (wanted as usize).cmp(&size) {
            std::cmp::Ordering::Less => out.resize(id, wanted, std::iter::empty()),
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => growing.push_back((id, wanted)),
        }
    }
    Ok(growing)
}

/// Grows a run by nodes that the placement chooses among the free ones; if it refuses, the run goes on as it is.
fn grow(ask: &Ask<'_>, placement: &mut dyn Placement, (id, size): (RunId, u32), out: &mut Decisions) -> Result<()> {
    let view = ask.view;
    let Some(run) = view.runs.get(id) else { return Ok(()) };
    let missing = size - u32::try_from(run.places.len()).unwrap_or(size);
    let mut free = view.slots.holding(1).clone();
    let mut nodes = Vec::new();
    // If too few nodes are free, the decision is refused when it is carried out.
    if free.len() >= missing {
        placement.notice(view, News::Begins)?;
        let part = View { jobs: view.jobs.in_part(run.job, missing), ..*view };
        if placement.choose(&Ask { view: &part, ..*ask }, run.job, &mut free, &mut nodes)? == Choice::Refused {
            return Ok(());
        }
    }
    out.resize(id, size, nodes.into_iter());
    Ok(())
}
