//! An emergency: the steps in order, within a step the victims in order, one action at a time (operations page, rules 29 to
//! 33).

use crate::cluster::runs::{Run, RunId};
use crate::error::Result;
use crate::policy::emergency::{Emergencies, Rank, Step, victims};
use crate::policy::{Decision, View};

/// Progress of an emergency through its steps and victims.
#[derive(Clone, Debug, Default)]
pub struct Relief {
    step: usize,
    victims: Vec<RunId>,
    next: usize,
}

impl Relief {
    /// Begins an emergency.
    ///
    /// # Errors
    /// If the order fails.
    pub fn begin(&mut self, emergencies: &Emergencies, view: &View<'_>, rank: &mut Rank<'_>) -> Result<()> {
        self.step = 0;
        self.gather(emergencies, view, rank)
    }

    fn gather(&mut self, emergencies: &Emergencies, view: &View<'_>, rank: &mut Rank<'_>) -> Result<()> {
        self.victims = victims(view, emergencies.victims, rank, |run| run.suspension.is_none())?;
        self.next = 0;
        Ok(())
    }

    /// Returns the next action; none if all steps are through. `fits_never` says which jobs fit none of the budgets to
    /// come.
    ///
    /// # Errors
    /// If the order fails.
    pub fn next(
        &mut self,
        emergencies: &Emergencies,
        view: &View<'_>,
        rank: &mut Rank<'_>,
        fits_never: &mut dyn FnMut(&View<'_>, &Run) -> bool,
    ) -> Result<Option<Decision>> {
        while let Some(&step) = emergencies.steps.get(self.step) {
            while let Some(&id) = self.victims.get(self.next) {
                let run = view.runs.get(id);
                let action = run.and_then(|run| match step {
                    Step::LowerCaps => lower(emergencies, view, id, run),
                    Step::Suspend => Some(Decision::Suspend(id)),
                    Step::Requeue if run.attempt > emergencies.max_requeues || fits_never(view, run) => {
                        Some(Decision::Kill(id))
                    }
                    Step::Requeue => Some(Decision::Requeue(id)),
                    Step::Kill => Some(Decision::Kill(id)),
                });
                // A victim's cap is lowered again and again; everything else happens to it once.
                self.next += usize::from(action.is_none() || step != Step::LowerCaps);
                if action.is_some() {
                    return Ok(action);
                }
            }
            self.step += 1;
            self.gather(emergencies, view, rank)?;
        }
        Ok(None)
    }
}

/// The next level below the largest cap in force on a run's nodes, if there is one.
fn lower(emergencies: &Emergencies, view: &View<'_>, id: RunId, run: &Run) -> Option<Decision> {
    let of = view.profile(run.job);
    let on_nodes = || view.runs.nodes(run).iter().map(|&node| run.caps.on(view.predicted, of, node));
    let largest = run.caps.on_all().unwrap_or_else(|| on_nodes().fold(0.0, f64::max));
    let level = emergencies.levels.iter().rev().copied().find(|&level| level < largest)?;
    Some(Decision::Limit(id, level))
}
