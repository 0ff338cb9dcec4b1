//! Recovery from an emergency, as far as there is room: suspended runs are resumed first, then caps are raised
//! (operations page, rules 20 to 22).

use crate::cluster::counted::Counted;
use crate::cluster::runs::{Run, RunId};
use crate::error::Result;
use crate::policy::emergency::{Emergencies, Rank, victims};
use crate::policy::{Decision, Decisions, View};
use crate::power::in_force::CapsInForce;
use crate::units::Watts;

/// A recovery under way.
pub struct Recovery<'a> {
    /// Rules of emergencies.
    pub emergencies: &'a Emergencies,
    /// Watts that may still be added.
    pub room: Watts,
    /// Watts that are left beyond the idle machine at the best of all times to come.
    pub ever: Watts,
}

impl Recovery<'_> {
    /// Gives back what there is room for; true if something is left that has to wait.
    ///
    /// # Errors
    /// If the order fails.
    pub fn run(mut self, view: &View<'_>, rank: &mut Rank<'_>, out: &mut Decisions) -> Result<bool> {
        let suspended = victims(view, self.emergencies.victims, rank, |run| run.suspension.is_some())?;
        let mut resumed = Vec::new();
        let waits = !suspended.is_empty() && !self.resume(view, suspended, &mut resumed, out);
        let is_low = |run: &Run| run.caps.emergency_w < f64::INFINITY && run.suspension.is_none();
        let any_is_low = view.runs.iter().any(|(id, run)| is_low(run) || resumed.contains(&id));
        if waits || !any_is_low {
            return Ok(waits);
        }
        let lowered = |run: &Run| run.caps.emergency_w < f64::INFINITY;
        let mut low = victims(view, self.emergencies.victims, rank, lowered)?;
        low.retain(|id| view.runs.get(*id).is_some_and(is_low) || resumed.contains(id));
        Ok(!low.into_iter().rev().all(|id| self.raise(view, id, out)))
    }

    /// Resumes runs, the oldest suspension first, of one instant the last victim first; false if one has to wait. Kills
    /// runs that no budget to come has room for.
    fn resume(
        &mut self,
        view: &View<'_>,
        suspended: Vec<RunId>,
        resumed: &mut Vec<RunId>,
        out: &mut Decisions,
    ) -> bool {
        let suspensions = suspended.into_iter().rev();
        let mut all: Vec<_> = suspensions.filter_map(|id| Some((id, view.runs.get(id)?.suspension?))).collect();
        all.sort_by_key(|(_, suspension)| suspension.since);
        all.retain(|&(id, suspension)| {
            let is_hopeless = suspension.asks > self.ever;
            if is_hopeless {
                out.push(Decision::Kill(id));
            }
            !is_hopeless
        });
        for (id, suspension) in all {
            if suspension.asks > self.room {
                return false;
            }
            self.room -= suspension.asks;
            out.push(Decision::Resume(id));
            resumed.push(id);
        }
        true
    }

    /// Raises a run's cap level by level; false if not all of it could be given back.
    fn raise(&mut self, view: &View<'_>, id: RunId, out: &mut Decisions) -> bool {
        let Some(run) = view.runs.get(id) else { return true };
        let (mut caps, mut watts) = (run.caps.clone(), run.watts);
        while caps.emergency_w < f64::INFINITY {
            caps.emergency_w = self.next_above(&caps);
            let more = least_watts(view, run, &caps);
            if more - watts > self.room {
                return false;
            }
            self.room -= more - watts;
            watts = more;
            out.push(Decision::Limit(id, caps.emergency_w));
        }
        true
    }

    /// Next level up, or none (infinite) once that is not below the job's own cap.
    fn next_above(&self, caps: &CapsInForce) -> f64 {
        let next = self.emergencies.levels.iter().copied().find(|&level| level > caps.emergency_w);
        next.filter(|&level| level < caps.own_w).unwrap_or(f64::INFINITY)
    }
}

fn least_watts(view: &View<'_>, run: &Run, caps: &CapsInForce) -> Watts {
    let counted = Counted::new(
        view.platform,
        view.predicted,
        view.profile(run.job),
        caps.allotting(run.basis.least.clone()),
        run.basis.estimate,
    );
    view.held(run.job, view.runs.nodes(run).iter().map(|&node| counted.on(node)).sum())
}
