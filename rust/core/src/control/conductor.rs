//! Conductor: the course of an instant under a controller, whatever machine it is.
//!
//! An instant is emptied, then a pass is made; what the pass causes at the same instant makes another round, until
//! nothing is left (engine rule 2). Whether the machine is simulated or real, it is a [`Plant`]: it brings what happens,
//! and follows what is decided.

mod arrivals;
mod beats;
mod calls;
mod passes;
mod plant;
mod waiting;

use crate::algo::event_heap::EventHeap;
use crate::cluster::Cluster;
use crate::cluster::growth::Growth;
use crate::cluster::runs::{Run, RunId};
use crate::control::Controller;
use crate::control::conductor::beats::Beats;
use crate::control::conductor::calls::{Call, follow};
use crate::control::conductor::passes::{Due, Passes};
use crate::control::conductor::waiting::Waiting;
use crate::error::{Error, Result};
use crate::platform::outages::{Outage, Turn};
use crate::policy::agent::Told;
use crate::units::{SimTime, soonest};
use crate::workload::JobId;

pub use plant::{Fact, Plant, Why, Withdrawal};

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Number of jobs in a final state.
    pub done: usize,
    /// Number of all jobs.
    pub jobs: usize,
    /// The clock.
    pub now: SimTime,
}

/// Callback that is shown the progress now and then; true if it wants to stop.
pub type Look<'a> = dyn Fn(Progress) -> bool + 'a;

/// Number of rounds within one instant between two looks.
const LOOK_EVERY: u64 = 512;

/// State of an instant.
#[derive(Clone, Copy, Debug, Default)]
struct Instant {
    /// True if the monitor has looked in it.
    has_looked: bool,
    /// True if it has a pass even if nothing happens.
    beat: bool,
    /// True if an agent is asked in it.
    is_asked: bool,
}

/// A controller in time: it makes passes when they are due.
#[derive(Clone)]
pub struct Conductor {
    controller: Controller,
    /// Timers, and passes that were put off.
    calls: EventHeap<Call>,
    passes: Passes,
    beats: Beats,
    /// True if speeds may change while jobs run: the policy governs power or changes sizes, or there are caps.
    governs: bool,
    instant: Instant,
    /// True if a budget has begun or ended in this instant.
    has_budget_end: bool,
    /// Jobs that wait outside the queue, if any may.
    waiting: Option<Waiting>,
    /// Number of events so far that changed anything.
    events: u64,
    /// Number of passes so far.
    made: u64,
}

impl Conductor {
    /// Conducts a controller to which nothing has happened. `governs`: speeds may change, whatever the policy does.
    #[must_use]
    pub fn new(controller: Controller, governs: bool) -> Self {
        let stages = controller.stages();
        let waiting = Waiting::new(controller.cluster().workload());
        Self {
            governs: governs || stages.governs() || stages.resizes,
            beats: Beats::of(stages),
            controller,
            calls: EventHeap::default(),
            passes: Passes::default(),
            instant: Instant::default(),
            has_budget_end: false,
            waiting,
            events: 0,
            made: 0,
        }
    }

    /// The controller.
    #[must_use]
    #[inline]
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// The controller, for what its host informs it of.
    #[inline]
    pub fn controller_mut(&mut self) -> &mut Controller {
        &mut self.controller
    }

    /// The cluster.
    #[must_use]
    #[inline]
    pub fn cluster(&self) -> &Cluster {
        self.controller.cluster()
    }

    /// The last instant.
    #[must_use]
    #[inline]
    pub fn now(&self) -> SimTime {
        self.cluster().now()
    }

    /// True if speeds may change while jobs run.
    #[must_use]
    #[inline]
    pub fn governs(&self) -> bool {
        self.governs
    }

    /// True if the draw is monitored.
    #[must_use]
    pub fn monitors(&self) -> bool {
        self.beats.monitors()
    }

    /// Numbers of events that changed anything, and of passes.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (self.events, self.made)
    }

    /// True if an agent is asked: nothing happens until it has answered.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.instant.is_asked
    }

    /// Adds a hold: no pass is made from one instant until another, so that no job starts, while runs go on.
    pub fn hold(&mut self, from: SimTime, until: SimTime) {
        self.passes.hold(from, until);
    }

    /// Informs the policy that a budget from outside begins to hold, or ends.
    pub fn budget_changed(&mut self) {
        self.controller.budget_changed();
        self.has_budget_end = true;
    }

    /// Ends a run; `None` if it was over already. Jobs that wait for its job are looked at once
    /// [the state is known](Conductor::note_end).
    ///
    /// # Errors
    /// If its nodes do not serve it.
    #[inline]
    pub fn end(&mut self, id: RunId) -> Result<Option<Box<Run>>> {
        Ok(self.controller.end(id)?)
    }

    /// Begins an outage of a node, which loses the runs on it.
    ///
    /// # Errors
    /// If a run cannot end.
    pub fn begin_outage(&mut self, node: u32, why: Outage, plant: &mut impl Plant) -> Result<Turn> {
        let turn = self.controller.begin_outage(node, why);
        if turn == Turn::Turns {
            for id in self.cluster().runs_on(node) {
                plant.lose(self, id, why)?;
            }
            self.controller.node_down(node);
        }
        Ok(turn)
    }

    /// Adds jobs, the earlier ones in their old rows. `has_joined` is true for the earlier ones that have joined the
    /// queue; `end_of` gives the ends of those that are over, and true for those that completed.
    pub fn grow(
        &mut self,
        growth: &Growth,
        has_joined: &dyn Fn(JobId) -> bool,
        end_of: &dyn Fn(JobId) -> Option<(SimTime, bool)>,
    ) {
        let knows_ends = self.waiting.as_ref().is_some_and(Waiting::knows_ends);
        match &mut self.waiting {
            Some(waiting) => waiting.grow(&growth.workload),
            None => self.waiting = Waiting::new(&growth.workload),
        }
        if let Some(waiting) = self.waiting.as_mut().filter(|_| !knows_ends) {
            for job in self.controller.cluster().workload().jobs() {
                if let Some((end, ok)) = end_of(job) {
                    waiting.remember(job, end, ok);
                }
            }
        }
        self.controller.grow(growth, has_joined);
    }

    /// Goes on under the controller that `next` makes of the present one. It makes a pass at `at`.
    ///
    /// # Errors
    /// If `next` fails.
    pub fn succeed<T>(
        mut self,
        at: SimTime,
        next: impl FnOnce(Controller) -> Result<(Controller, T)>,
    ) -> Result<(Self, T)> {
        let (controller, more) = next(self.controller)?;
        let stages = controller.stages();
        let governs = self.governs || stages.governs() || stages.resizes;
        let mut calls = EventHeap::default();
        calls.push(at, 0, Call::PassDue);
        let passes = std::mem::take(&mut self.passes).owing(at);
        Ok((Self { controller, governs, beats: Beats::of(stages), calls, passes, ..self }, more))
    }

    /// Processes one instant; true if an agent is asked in it, whose [answers](Conductor::answer) then continue the
    /// instant. With `pass`, a pass is made even if nothing happens.
    ///
    /// # Errors
    /// If the policy fails, decides what cannot be carried out, or `look` wants to stop.
    pub fn step(&mut self, now: SimTime, pass: bool, plant: &mut impl Plant, look: &Look<'_>) -> Result<bool> {
        self.controller.advance(now);
        let beat = self.governs && self.runs_something() && self.beats.allots_at(now);
        self.instant = Instant { beat: beat || pass, ..Instant::default() };
        self.has_budget_end = false;
        self.carry_on(now, plant, look)
    }

    /// Goes on with an instant in which an agent was asked; true if it is asked again.
    ///
    /// # Errors
    /// Same as for [`Conductor::step`].
    pub fn answer(&mut self, told: Told, plant: &mut impl Plant, look: &Look<'_>) -> Result<bool> {
        let now = self.now();
        let progress = self.progress(plant);
        let Self { controller, calls, waiting, .. } = self;
        let asks = controller.answer(told, &|| look(progress), &mut |cluster, decision, effect| {
            follow(cluster, &effect, decision, calls, waiting.as_mut());
            plant.act(cluster, decision, effect, false)
        })?;
        self.note_pass(asks, plant);
        if asks { Ok(true) } else { self.carry_on(now, plant, look) }
    }

    /// Processes the rest of an instant after its last pass so far; true if an agent is asked.
    fn carry_on(&mut self, now: SimTime, plant: &mut impl Plant, look: &Look<'_>) -> Result<bool> {
        let mut rounds = 0_u64;
        loop {
            while self.absorb(now, plant)? || self.instant.beat {
                rounds += 1;
                if rounds.is_multiple_of(LOOK_EVERY) && look(self.progress(plant)) {
                    return Err(Error::Interrupted);
                }
                if std::mem::take(&mut self.instant.beat) && self.governs {
                    // It is due for another reason than submissions, which an interval may gather.
                    self.passes.note_round(false);
                }
                if self.decide(now, plant, look)? {
                    return Ok(true);
                }
                if self.is_empty(now, plant) {
                    break;
                }
            }
            // Jobs that would wait for ever get one more pass, and one after each emergency (operations page, rule 34).
            if !self.governs {
                break;
            }
            let acted = self.watch_draw(now, plant)?;
            let again = acted || !self.instant.has_looked;
            self.instant.beat = self.beats.monitors() && again && self.is_stuck(plant);
            self.instant.has_looked = true;
            if !self.instant.beat && !self.has_news() {
                break;
            }
        }
        self.settle(plant);
        Ok(false)
    }

    /// True if it is certain that nothing is left in the instant.
    fn is_empty(&self, now: SimTime, plant: &impl Plant) -> bool {
        let is_called = self.calls.next_time().is_some_and(|next| next <= now) || self.passes.alarm().is_some();
        self.waiting.is_none() && !is_called && !plant.may_go_on(now)
    }

    /// Settles the instant at its end: ends and plans follow the caps in force.
    pub fn settle(&mut self, plant: &mut impl Plant) {
        let replanned = if self.governs { self.controller.settle() } else { Vec::new() };
        plant.settle(self.controller.cluster(), &replanned);
    }

    fn runs_something(&self) -> bool {
        self.cluster().running() > self.cluster().suspended()
    }

    /// The next instant at which anything happens, if the plant's next one is `plant`.
    #[inline]
    pub fn next_time(&mut self, plant: Option<SimTime>) -> Option<SimTime> {
        let next = soonest([self.next_known(), plant]);
        if self.may_ring_later(next) { self.next_sure(plant) } else { next }
    }

    /// True if the alarm is the next, and may ring later than it says.
    fn may_ring_later(&self, next: Option<SimTime>) -> bool {
        self.passes.alarm().is_some_and(|alarm| !alarm.is_sure && Some(alarm.at) == next)
    }

    /// The next instant, with a closer look at the alarm.
    #[cold]
    fn next_sure(&mut self, plant: Option<SimTime>) -> Option<SimTime> {
        let mut next = soonest([self.next_known(), plant]);
        while self.may_ring_later(next) {
            let alarm = self.controller.alarm(true);
            self.passes.set_alarm(alarm);
            next = soonest([self.next_known(), plant]);
        }
        next
    }

    /// The next instant at which a pass may be due, if the alarm is taken at its earliest possible time.
    fn next_known(&self) -> Option<SimTime> {
        let beat =
            if self.governs { self.beats.next_after(self.now()).filter(|_| self.runs_something()) } else { None };
        let waiting = self.waiting.as_ref().and_then(Waiting::next_time);
        let alarm = self.passes.alarm().map(|alarm| alarm.at);
        soonest([self.calls.next_time(), alarm, beat, waiting])
    }

    /// Empties the instant, in the order of engine rule 2; false if there was nothing.
    fn absorb(&mut self, now: SimTime, plant: &mut impl Plant) -> Result<bool> {
        let mut others = plant.bring_machine(self)?;
        let arrived = self.arrive(now, plant)?;
        while let Some(call) = self.calls.pop_at(now) {
            others += u64::from(self.hear(call, now));
        }
        others += u64::from(self.passes.ring(now));
        self.passes.note_round(others == 0);
        self.events += others + arrived;
        Ok(others + arrived > 0)
    }

    /// Hears a call; false if it is no longer of interest.
    fn hear(&mut self, call: Call, now: SimTime) -> bool {
        match call {
            Call::Timer => {
                self.controller.timer();
                true
            }
            Call::PassDue => self.passes.is_owed(now),
        }
    }

    /// Makes a scheduling pass, unless the policy's interval delays it; true if an agent is asked in it.
    fn decide(&mut self, now: SimTime, plant: &mut impl Plant, look: &Look<'_>) -> Result<bool> {
        if plant.leads(self)? || !self.pass_is_due(now) {
            return Ok(false);
        }
        self.made += 1;
        let progress = self.progress(plant);
        let beat = self.beats.allots_at(now) || self.has_budget_end;
        let draw = plant.draw();
        let Self { controller, calls, waiting, .. } = self;
        let asks = controller.decide(draw, beat, &|| look(progress), &mut |cluster, decision, effect| {
            follow(cluster, &effect, decision, calls, waiting.as_mut());
            plant.act(cluster, decision, effect, false)
        })?;
        self.note_pass(asks, plant);
        Ok(asks)
    }

    /// Notes that a pass is over (its next alarm), or that an agent is asked in it.
    fn note_pass(&mut self, asks: bool, plant: &mut impl Plant) {
        if !asks {
            let alarm = self.controller.alarm(false);
            self.passes.set_alarm(alarm);
        }
        self.instant.is_asked = asks;
        plant.end_pass(self, asks);
    }

    /// Starts a held job now, whatever the policy; false, and nothing has changed, if it does not fit.
    ///
    /// # Errors
    /// If the policy fails, or the plant cannot follow.
    pub fn take_up(&mut self, job: JobId, plant: &mut impl Plant) -> Result<bool> {
        let Some(nodes) = self.cluster().nodes_under_way(job) else { return Ok(false) };
        self.take_up_on(job, &nodes, self.now(), plant)?;
        Ok(true)
    }

    /// Takes into account that a job that does not run has been started on these nodes at `since`, whatever the policy.
    ///
    /// # Errors
    /// If they cannot serve it, the policy fails, or the plant cannot follow.
    pub fn take_up_on(&mut self, job: JobId, nodes: &[u32], since: SimTime, plant: &mut impl Plant) -> Result<()> {
        let Self { controller, calls, waiting, .. } = self;
        controller.take_up(job, nodes, since, &mut |cluster, decision, effect| {
            follow(cluster, &effect, decision, calls, waiting.as_mut());
            plant.act(cluster, decision, effect, false)
        })
    }

    /// Brings the machine's draw down to the budget, if it is monitored now (operations page, rules 27 to 33); true if
    /// anything was done.
    fn watch_draw(&mut self, now: SimTime, plant: &mut impl Plant) -> Result<bool> {
        let Some(ceiling) = self.controller.ceiling().filter(|_| self.beats.looks_at(now)) else { return Ok(false) };
        if self.controller.measured(plant.draw())? <= ceiling.as_ceiling() {
            return Ok(false);
        }
        plant.note(self.controller.cluster(), Fact::Alert(ceiling));
        self.controller.alert()?;
        let mut acted = false;
        while self.relieve(plant)? {
            acted = true;
            if self.controller.measured(plant.draw())? <= ceiling.as_ceiling() {
                break;
            }
        }
        Ok(acted)
    }

    /// Takes the next step of an emergency; false if there is none.
    fn relieve(&mut self, plant: &mut impl Plant) -> Result<bool> {
        let Self { controller, calls, waiting, .. } = self;
        let acted = controller.relieve(&mut |cluster, decision, effect| {
            follow(cluster, &effect, decision, calls, waiting.as_mut());
            plant.act(cluster, decision, effect, true)
        })?;
        for (id, asks) in plant.take_asked() {
            self.controller.note_asked(id, asks);
        }
        Ok(acted)
    }

    /// True if jobs wait or are suspended and no event is left that could change that.
    pub fn is_stuck(&self, plant: &impl Plant) -> bool {
        let waits = self.cluster().queued() > 0 || self.cluster().suspended() > 0;
        let none_waits = self.waiting.as_ref().is_none_or(|waiting| waiting.next_time().is_none());
        waits && plant.is_still() && none_waits && !self.calls.iter().any(|(at, &call)| self.matters(at, call))
    }

    /// True if a call will make a pass: one that was put off may have been made by now.
    fn matters(&self, at: SimTime, call: Call) -> bool {
        match call {
            Call::Timer => true,
            Call::PassDue => self.passes.is_owed(at),
        }
    }

    fn pass_is_due(&mut self, now: SimTime) -> bool {
        let due = self.passes.due(now, self.controller.timing());
        if let Due::At(at) = due {
            self.calls.push(at, 0, Call::PassDue);
        }
        due == Due::Now
    }

    /// Progress of the run.
    #[must_use]
    pub fn progress(&self, plant: &impl Plant) -> Progress {
        let cluster = self.cluster();
        Progress { done: plant.done(), jobs: cluster.workload().len(), now: cluster.now() }
    }

    /// Returns the controller.
    #[must_use]
    pub fn into_controller(self) -> Controller {
        self.controller
    }
}
