//! Outages: nodes fail, go into maintenance and come back, and their runs are lost (operations page on machines, rules
//! 29 to 31).

use crate::algo::span::Span;
use crate::cluster::runs::RunId;
use crate::error::{Result, config};
use crate::platform::node_state::Class;
use crate::platform::outages::{Maintenance, Outage, Turn};
use crate::sim::Simulation;
use crate::sim::event::Event;
use crate::sim::log::{Entry, Kind};
use crate::sim::record::JobState;
use crate::units::SimTime;
use crate::workload::JobId;

/// Treatment of jobs whose nodes go down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// They end.
    #[default]
    Fail,
    /// They are requeued, with all their work to do.
    Requeue,
}

impl OnFailure {
    /// Parses the name of the option.
    ///
    /// # Errors
    /// If it is unknown.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "fail" => Ok(Self::Fail),
            "requeue" => Ok(Self::Requeue),
            other => Err(config("on_failure", format!("`{other}`"), "one of fail, requeue")),
        }
    }
}

impl Simulation {
    /// Adds windows of maintenance; one that is over already is ignored.
    pub fn add_maintenance(&mut self, windows: Vec<Maintenance>) {
        let now = self.now();
        self.history.watch_attempts();
        for window in windows.into_iter().filter(|window| window.until > now) {
            self.feeds.announce(window.from, now, Event::MaintenanceBegins(window.node, window.until));
            self.feeds.announce(window.until, now, Event::MaintenanceEnds(window.node));
            self.controller.plan_maintenance(window);
        }
    }

    /// Adds a hold: no pass is made from one instant until another, so that no job starts, while runs go on.
    pub fn add_hold(&mut self, from: SimTime, until: SimTime) {
        self.passes.hold(from, until);
    }

    /// Begins an outage of a node; false if that changes nothing.
    pub(super) fn begin_outage(&mut self, node: u32, why: Outage) -> Result<bool> {
        let (now, before) = (self.now(), self.plant.draw());
        let turn = self.controller.begin_outage(node, why);
        let mut requeued = Vec::new();
        if turn == Turn::Turns {
            for id in self.controller.cluster().runs_on(node) {
                requeued.extend(self.lose(id, why)?);
            }
            self.controller.node_down(node);
            self.plant.enter(now, Span::of(node), Class::Down);
        }
        if turn != Turn::None {
            let kind = if why == Outage::Failure { Kind::Failed } else { Kind::Out };
            let after = self.plant.draw();
            self.history.note(Entry { node: Some(node), before, ..Entry::new(now, kind, after) });
            for job in requeued {
                self.history.note(Entry { job: Some(job), ..Entry::new(now, Kind::Requeue, after) });
            }
        }
        Ok(turn != Turn::None)
    }

    /// Ends an outage of a node; false if that changes nothing.
    pub(super) fn end_outage(&mut self, node: u32, is_repair: bool) -> Result<bool> {
        let (now, before) = (self.now(), self.plant.draw());
        let turn = self.controller.end_outage(node, is_repair)?;
        if turn == Turn::Turns {
            self.plant.enter(now, Span::of(node), Class::Idle);
        }
        if turn != Turn::None {
            let kind = if is_repair { Kind::Repaired } else { Kind::Back };
            self.history.note(Entry { node: Some(node), before, ..Entry::new(now, kind, self.plant.draw()) });
        }
        Ok(turn != Turn::None)
    }

    /// Ends a run that loses a node. Its job ends, or is requeued; a requeued one is returned.
    fn lose(&mut self, id: RunId, why: Outage) -> Result<Option<JobId>> {
        if self.options.on_failure == OnFailure::Fail {
            let how = if why == Outage::Failure { JobState::Failed } else { JobState::Evicted };
            self.end(id, Some(how))?;
            return Ok(None);
        }
        let Some(run) = self.controller.end(id)? else { return Ok(None) };
        let outcome = self.plant.end(self.controller.cluster(), id, &run);
        self.history.requeue(self.controller.cluster(), &run, &outcome);
        self.controller.requeue(&run);
        if let Some(tally) = &mut self.tally {
            tally.join(self.controller.cluster().workload(), run.job);
        }
        Ok(Some(run.job))
    }
}
