//! Succession: a run that goes on under another policy from an instant on.
//!
//! Running jobs keep their nodes and their times, waiting jobs form the new policy's queue, and events from outside
//! stay to come.

use std::sync::Arc;

use crate::control::succession::Divisions;
use crate::error::Result;
use crate::policy::Policy;
use crate::power::pvt::Predicted;
use crate::sim::Simulation;
use crate::sim::log::{Entry, EntryKind};
use crate::units::{SimTime, Watts};

impl Simulation {
    /// True if anything has happened in the run.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.conductor.counts() != (0, 0)
    }

    /// Continues the run from `at` on, up to which everything has happened, under another policy with the predicted
    /// table `predicted` and the machine's divisions that it counts by. It makes a pass at that instant.
    ///
    /// # Errors
    /// If the policy cannot go on from here.
    pub fn succeed(
        mut self,
        policy: Box<dyn Policy>,
        predicted: Predicted,
        divisions: Divisions,
        at: SimTime,
    ) -> Result<Self> {
        let now = self.now();
        // In a run that has come to its end, another policy goes on from the last event.
        let at = if at >= SimTime::LATEST { now } else { at.min(self.world.options.until).max(now) };
        self.world.plant.advance(at)?;
        self.conductor.controller_mut().advance(at);
        self.lift_caps()?;
        self.world.totals.measured = predicted.following(self.conductor.cluster().workload());
        let former = self.conductor.controller().budget();
        let Self { conductor, mut world, is_broken } = self;
        let (mut conductor, refused) = conductor.succeed(at, |controller| {
            controller.succeeded_by(policy, Arc::new(predicted), divisions, |node| world.plant.unchanged_since(node))
        })?;
        for (job, refusal) in refused {
            conductor.turn_away(job, refusal, &mut world);
        }
        let mut next = Self { conductor, world, is_broken };
        next.watch_succession(former);
        Ok(next)
    }

    /// Lifts the caps that the policy has set; ends follow at once.
    fn lift_caps(&mut self) -> Result<()> {
        let lifted = self.conductor.controller_mut().lift_caps()?;
        for &id in &lifted {
            let before = self.world.plant.draw();
            self.world.plant.recap(self.conductor.cluster(), id);
            let job = self.conductor.cluster().runs().get(id).map(|run| run.job);
            let (at, after) = (self.now(), self.world.plant.draw());
            self.world.history.note(Entry { job, before, ..Entry::new(at, EntryKind::RaiseCap, after) });
        }
        if !lifted.is_empty() {
            self.conductor.settle(&mut self.world);
        }
        Ok(())
    }

    /// Records what the policy may do from now on; before, the budget was `former`.
    fn watch_succession(&mut self, former: Option<Watts>) {
        let Self { conductor, world, .. } = self;
        if conductor.governs() {
            if !world.plant.watches_lives() {
                let over = world.history.attempts_over(conductor.cluster());
                world.plant.watch_lives_of(conductor.cluster(), over);
            }
            world.history.watch_power(conductor.monitors());
        }
        if former != conductor.controller().budget() {
            world.history.tell_budget(former);
        }
        world.former_budget = former.or(world.former_budget);
    }
}
