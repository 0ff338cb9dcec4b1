//! Outages: nodes fail, go into maintenance and come back, and their runs are lost (operations page on machines, rules
//! 29 to 31).

use crate::algo::span::Span;
use crate::control::conductor::Conductor;
use crate::control::live::report::Report;
use crate::error::Result;
use crate::platform::node_state::Class;
use crate::platform::outages::{Maintenance, Outage, Turn};
use crate::sim::Simulation;
use crate::sim::event::Event;
use crate::sim::log::{Entry, EntryKind};
use crate::sim::world::World;
use crate::units::SimTime;

impl Simulation {
    /// Adds windows of maintenance; one that is over already is ignored.
    pub fn add_maintenance(&mut self, windows: Vec<Maintenance>) {
        let now = self.now();
        self.world.history.watch_attempts();
        for window in windows.into_iter().filter(|window| window.until > now) {
            self.world.feeds.announce(window.from, now, Event::MaintenanceBegins(window.node, window.until));
            self.world.feeds.announce(window.until, now, Event::MaintenanceEnds(window.node));
            self.conductor.controller_mut().plan_maintenance(window);
        }
    }

    /// Adds a hold: no pass is made from one instant until another, so that no job starts, while runs go on.
    pub fn add_hold(&mut self, from: SimTime, until: SimTime) {
        self.conductor.hold(from, until);
    }
}

impl World {
    /// Begins an outage of a node; false if that changes nothing.
    pub(super) fn begin_outage(&mut self, conductor: &mut Conductor, node: u32, why: Outage) -> Result<bool> {
        let (now, before) = (conductor.now(), self.plant.draw());
        let turn = conductor.begin_outage(node, why, self)?;
        let requeued = std::mem::take(&mut self.requeued);
        if turn == Turn::Turns {
            self.plant.enter(now, Span::of(node), Class::Down);
        }
        if turn != Turn::None {
            self.chronicle.report(|| Report::NodeDown(node));
            let kind = if why == Outage::Failure { EntryKind::Failed } else { EntryKind::Out };
            let after = self.plant.draw();
            self.history.note(Entry { node: Some(node), before, ..Entry::new(now, kind, after) });
            for job in requeued {
                self.history.note(Entry { job: Some(job), ..Entry::new(now, EntryKind::Requeue, after) });
            }
        }
        Ok(turn != Turn::None)
    }

    /// Ends an outage of a node; false if that changes nothing.
    pub(super) fn end_outage(&mut self, conductor: &mut Conductor, node: u32, is_repair: bool) -> Result<bool> {
        let (now, before) = (conductor.now(), self.plant.draw());
        let turn = conductor.controller_mut().end_outage(node, is_repair)?;
        if turn == Turn::Turns {
            self.chronicle.report(|| Report::NodeUp(node));
            self.plant.enter(now, Span::of(node), Class::Idle);
        }
        if turn != Turn::None {
            let kind = if is_repair { EntryKind::Repaired } else { EntryKind::Back };
            self.history.note(Entry { node: Some(node), before, ..Entry::new(now, kind, self.plant.draw()) });
        }
        Ok(turn != Turn::None)
    }
}
