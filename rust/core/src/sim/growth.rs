//! Jobs that are added to a run under way.

use std::sync::Arc;

use crate::cluster::growth::Growth;
use crate::error::{Result, config};
use crate::power::pvt::Actual;
use crate::sim::Simulation;
use crate::sim::record::JobState;
use crate::sim::waiting::Waiting;
use crate::workload::JobId;

impl Simulation {
    /// Adds jobs, none of which is submitted before now; the workload has the present ones in their old rows.
    ///
    /// # Errors
    /// If the new ones ask for something that the run was not set up for; nothing has changed then.
    pub fn grow(&mut self, growth: Growth, actual: Actual) -> Result<()> {
        let (growth, actual) = match &self.part {
            Some(part) => (part.grown(&growth), part.charged(&actual)),
            None => (growth, actual),
        };
        growth.check_cells(self.controller.cluster().cells())?;
        if growth.workload.has_malleable() && !self.controller.cluster().workload().has_malleable() {
            let expected = "none: no job of the session is, and nothing looks after sizes that change";
            return Err(config("workload.malleable", "a malleable job", expected));
        }
        if growth.workload.has_profiles() {
            self.watch_draws();
        }
        let Self { controller, plant, feeds, history, waiting, totals, .. } = self;
        let (workload, now) = (Arc::clone(&growth.workload), controller.cluster().now());
        let knows_ends = waiting.as_ref().is_some_and(Waiting::knows_ends);
        match waiting {
            Some(waiting) => waiting.grow(&workload),
            None => *waiting = Waiting::new(&workload),
        }
        if let Some(waiting) = waiting.as_mut().filter(|_| !knows_ends) {
            for job in controller.cluster().workload().jobs() {
                if let Some((state, end)) = history.end_of(job) {
                    waiting.remember(job, end.unwrap_or(now), state == JobState::Completed);
                }
            }
        }
        controller.grow(&growth, &|job: JobId| history.has_joined(job));
        plant.grow(Arc::clone(&workload), actual);
        history.grow(workload.len());
        totals.clairvoyant = workload.jobs().filter(|&job| workload.walltime(job).is_none()).count();
        totals.measured = growth.predicted.following(&workload);
        feeds.grow(workload);
        Ok(())
    }

    /// Tracks draws from now on, as those of new jobs may change while they run; so far none has.
    fn watch_draws(&mut self) {
        if !self.plant.watches_lives() {
            let over = self.history.attempts_over(self.controller.cluster());
            self.plant.watch_lives_of(self.controller.cluster(), over);
        }
        self.history.watch_segments();
    }
}
