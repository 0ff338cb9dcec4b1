//! Runs with an agent: they stop within an instant, at a pass in which the agent is asked, and go on with its answer.

use std::cell::RefCell;

use crate::control::conductor::Conductor;
use crate::error::{Result, SimulationError};
use crate::platform::node_state::Class;
use crate::policy::agent::{Seen, Shape, Told};
use crate::sim::tally::Tally;
use crate::sim::world::World;
use crate::sim::{Simulation, Watch, look};
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// Summary of a run for people.
#[derive(Clone, Debug)]
pub struct Glance {
    /// State of each node.
    pub nodes: Vec<Class>,
    /// Number of free nodes, or of free slots if nodes are shared.
    pub free: i64,
    /// Numbers of jobs that run, that wait, and that are over.
    pub jobs: [usize; 3],
    /// Draw of the machine, and the budget in force.
    pub power: (Watts, Option<Watts>),
    /// Head of an agent's queue, and the instant at which it became eligible.
    pub head: Option<(JobId, SimTime)>,
}

impl Simulation {
    /// Summary of the run as it is now.
    #[must_use]
    pub fn glance(&mut self) -> Glance {
        let front = self.conductor.controller_mut().agent().and_then(|agent| agent.front());
        let cluster = self.conductor.cluster();
        let view = cluster.view(Watts::ZERO, &|| false);
        let count = |number: i32| usize::try_from(number).unwrap_or(0);
        Glance {
            nodes: view.nodes.iter().map(|state| state.class()).collect(),
            free: view.slots.free_units(),
            jobs: [count(cluster.running()), count(cluster.queued()), self.world.history.done()],
            power: (self.world.plant.draw(), self.conductor.controller().ceiling()),
            head: front.map(|job| (job, view.jobs.eligible(job))),
        }
    }

    /// True if an agent is asked: nothing happens until it has answered.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.conductor.is_asked()
    }

    /// The agent's observation, and the shape of its choices; `None` if there is no agent.
    pub fn seen(&mut self) -> Option<(&Seen, Shape)> {
        self.conductor.controller_mut().agent().map(|agent| (agent.seen(), agent.shape()))
    }

    /// Running sums for rewards so far; `None` if there is no agent.
    #[must_use]
    pub fn tally(&self) -> Option<Tally> {
        self.world.tally
    }

    /// True if the action with this number can be chosen now.
    pub fn allows(&mut self, action: usize) -> bool {
        self.is_asked() && self.conductor.controller_mut().agent().is_some_and(|agent| agent.allows(action))
    }

    /// Carries out the action with this number and, if the pass is over then, the rest of the instant.
    ///
    /// # Errors
    /// If it cannot be chosen, in which case nothing has happened; otherwise the same as for [`Simulation::run`].
    pub fn answer(&mut self, action: usize, watch: &mut Watch<'_>) -> Result<()> {
        if !self.allows(action) {
            return Err(SimulationError(format!("action {action} cannot be chosen now")).into());
        }
        let shape = self.conductor.controller_mut().agent().map(|agent| agent.shape());
        let told = shape.map_or(Told::Nothing, |shape| shape.told(action));
        self.go_on(told, watch)
    }

    /// Ends a pass in which an agent is asked, as if it chose nothing; nothing happens if none is.
    ///
    /// # Errors
    /// Same as for [`Simulation::run`].
    pub fn decline(&mut self, watch: &mut Watch<'_>) -> Result<()> {
        while self.is_asked() {
            self.go_on(Told::Nothing, watch)?;
        }
        Ok(())
    }

    fn go_on(&mut self, told: Told, watch: &mut Watch<'_>) -> Result<()> {
        let watch = RefCell::new(watch);
        self.is_broken = true;
        if !self.conductor.answer(told, &mut self.world, &|progress| look(&watch, progress))? {
            self.world.record(self.conductor.controller());
        }
        self.is_broken = false;
        Ok(())
    }
}

impl World {
    /// Notes for an agent that a pass is over, or that it is asked in it.
    pub(super) fn note_pass(&mut self, conductor: &mut Conductor, asks: bool) {
        let (draw, ceiling) = (self.plant.draw(), conductor.controller().ceiling());
        let must_act = asks && conductor.is_stuck(self);
        let full = conductor.cluster().platform().tdp();
        let Self { history, feeds, .. } = self;
        let Some(agent) = conductor.controller_mut().agent() else { return };
        if asks {
            agent.note_outside(draw, ceiling, full, must_act);
        } else {
            for (job, overtakes) in agent.end_pass() {
                history.note_overtaking(job, overtakes, feeds.joined_now(job));
            }
        }
    }
}
