//! Succession: a run that goes on under another policy from an instant on.
//!
//! Running jobs keep their nodes and their times, waiting jobs form the new policy's queue, and events from outside
//! stay to come.

use std::sync::Arc;

use crate::error::Result;
use crate::policy::Policy;
use crate::power::pvt::Predicted;
use crate::sim::Simulation;
use crate::sim::beats::Beats;
use crate::sim::event::Event;
use crate::sim::log::{Entry, Kind};
use crate::units::{SimTime, Watts};

impl Simulation {
    /// True if anything has happened in the run.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.totals.events > 0 || self.totals.passes > 0
    }

    /// True if exactly these nodes serve; with `None`, if all nodes do.
    #[must_use]
    pub fn is_of_part(&self, nodes: Option<&[u32]>) -> bool {
        match (&self.part, nodes) {
            (Some(part), Some(nodes)) => part.is_of(nodes),
            (part, nodes) => part.is_none() && nodes.is_none(),
        }
    }

    /// Continues the run from `at` on, up to which everything has happened, under another policy with the predicted
    /// table `predicted`. It makes a pass at that instant.
    ///
    /// # Errors
    /// If the policy cannot go on from here.
    pub fn succeed(mut self, policy: Box<dyn Policy>, predicted: Predicted, at: SimTime) -> Result<Self> {
        let now = self.now();
        // In a run that has come to its end, another policy goes on from the last event.
        let at = if at >= SimTime::LATEST { now } else { at.min(self.options.until).max(now) };
        self.plant.advance(at)?;
        self.controller.advance(at);
        self.lift_caps()?;
        let predicted = match &self.part {
            Some(part) => part.believed(&predicted),
            None => predicted,
        };
        self.totals.measured = predicted.following(self.controller.cluster().workload());
        let former = self.controller.budget();
        let Self { controller, plant, .. } = self;
        let (controller, refused) =
            controller.succeeded_by(policy, Arc::new(predicted), |node| plant.unchanged_since(node))?;
        let mut next = Self { controller, plant, ..self };
        for (job, refusal) in refused {
            next.history.turn_away(job, refusal);
            next.note_refused(job);
        }
        next.watch_succession(former);
        next.coming.keep(|event| !matches!(event, Event::Timer | Event::PassDue));
        next.passes = std::mem::take(&mut next.passes).owing(at);
        next.schedule(at, Event::PassDue);
        Ok(next)
    }

    /// Lifts the caps that the policy has set; ends follow at once.
    fn lift_caps(&mut self) -> Result<()> {
        let lifted = self.controller.lift_caps()?;
        for &id in &lifted {
            let before = self.plant.draw();
            self.plant.recap(self.controller.cluster(), id);
            let job = self.controller.cluster().runs().get(id).map(|run| run.job);
            let (at, after) = (self.now(), self.plant.draw());
            self.history.note(Entry { job, before, ..Entry::new(at, Kind::RaiseCap, after) });
        }
        if !lifted.is_empty() {
            self.settle();
        }
        Ok(())
    }

    /// Records what the policy may do from now on; before, the budget was `former`.
    fn watch_succession(&mut self, former: Option<Watts>) {
        let beats = self.controller.governor().map(|governor| Beats::of(governor));
        if !self.governs && (beats.is_some() || self.controller.resizes()) {
            if !self.plant.watches_lives() {
                let over = self.history.attempts_over(self.controller.cluster());
                self.plant.watch_lives_of(self.controller.cluster(), over);
            }
            self.governs = true;
        }
        if self.governs {
            self.history.watch_power(beats.is_some_and(Beats::monitors));
        }
        self.beats = beats.unwrap_or_default();
        if former != self.controller.budget() {
            self.history.tell_budget(former);
        }
        self.former_budget = former.or(self.former_budget);
    }
}
