//! Jobs that are added to a run under way.

use std::sync::Arc;

use crate::cluster::growth::Growth;
use crate::error::Result;
use crate::power::pvt::Actual;
use crate::sim::Simulation;
use crate::sim::job_state::JobState;
use crate::sim::world::World;

impl Simulation {
    /// Adds jobs, none of which is submitted before now; the workload has the present ones in their old rows.
    ///
    /// # Errors
    /// If the new ones ask for something that the run was not set up for; nothing has changed then.
    pub fn grow(&mut self, growth: &Growth, actual: Actual) -> Result<()> {
        growth.check(self.conductor.cluster())?;
        if growth.workload.has_profiles() {
            self.watch_draws();
        }
        let Self { conductor, world, .. } = self;
        let World { plant, feeds, history, totals, .. } = world;
        let (workload, now) = (Arc::clone(&growth.workload), conductor.now());
        conductor.grow(growth, &|job| history.has_joined(job), &|job| {
            let (state, end) = history.end_of(job)?;
            Some((end.unwrap_or(now), state == JobState::Completed))
        });
        plant.grow(Arc::clone(&workload), actual);
        history.grow(workload.len());
        totals.clairvoyant = workload.jobs().filter(|&job| workload.walltime(job).is_none()).count();
        totals.measured = growth.predicted.following(&workload);
        feeds.grow(workload);
        Ok(())
    }

    /// Tracks draws from now on, as those of new jobs may change while they run; so far none has.
    fn watch_draws(&mut self) {
        if !self.world.plant.watches_lives() {
            let over = self.world.history.attempts_over(self.conductor.cluster());
            self.world.plant.watch_lives_of(self.conductor.cluster(), over);
        }
        self.world.history.watch_segments();
    }
}
