//! The loop: empty the instant, decide once, carry it out.
//!
//! `docs/background/rules.md` states the rules of a run; the order of events within an instant stands in [`event`].

mod apply;
mod claims;
pub mod columns;
pub mod event;
pub mod limits;
pub mod record;
mod sharing;
pub mod state;
pub mod work;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::algo::event_heap::EventHeap;
use crate::error::{Error, Result};
use crate::platform::Platform;
use crate::policy::{Decisions, Notice, Policy};
use crate::power::pvt::{Actual, Predicted};
use crate::sim::event::Event;
use crate::sim::limits::Walltimes;
use crate::sim::record::{JobState, Records, Totals};
use crate::sim::state::State;
use crate::units::{SimDuration, SimTime};
use crate::workload::{JobId, Workload};

/// How a run goes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether a job that brings a walltime is killed at it.
    pub kill_at_walltime: bool,
    /// How long after its walltime.
    pub kill_grace: SimDuration,
    /// What walltimes were meant for.
    pub walltimes: Walltimes,
    /// The run stops after this instant; jobs that still run or wait stay as they are.
    pub until: SimTime,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Jobs that will change no more.
    pub done: usize,
    /// Jobs in all.
    pub jobs: usize,
    /// The virtual clock.
    pub now: SimTime,
}

/// Told now and then how far the run is; a break stops it.
pub type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// Instants between two looks of the watch.
const LOOK_EVERY: u64 = 512;

/// A run that can be made.
pub struct Simulation {
    state: State,
    events: EventHeap<Event>,
    /// All jobs by submission; a cursor, not a heap.
    submits: Vec<JobId>,
    next_submit: usize,
    /// Jobs to be submitted that the machine can run.
    expected: usize,
    /// The first submission that belongs to the round under way.
    round: usize,
    policy: Box<dyn Policy>,
    decisions: Decisions,
    options: Options,
    pass_due: Option<SimTime>,
    totals: Totals,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kill_at_walltime: true,
            kill_grace: SimDuration::ZERO,
            walltimes: Walltimes::Fixed,
            until: SimTime::NEVER,
        }
    }
}

impl Simulation {
    /// Sets a run up. Jobs that can never run are rejected here; their submits are events all the same.
    #[must_use]
    pub fn new(
        workload: impl Into<Arc<Workload>>,
        platform: Platform,
        actual: Actual,
        predicted: Predicted,
        mut policy: Box<dyn Policy>,
        options: Options,
    ) -> Self {
        let workload = workload.into();
        let order = workload.submit_order();
        let start = order.first().map(|&job| workload.submit(job));
        let totals = Totals {
            window: start.map(|start| (start, start)),
            below_idle: actual.below_idle(&platform),
            clairvoyant: order.iter().filter(|&&job| workload.walltime(job).is_none()).count(),
            measured: predicted.following(&workload),
            ..Totals::default()
        };
        let mut state = State::new(start.unwrap_or_default(), workload, platform, actual, predicted, &options);
        let expected = order.iter().filter(|&&job| !settle(&mut state, policy.as_mut(), job)).count();
        Self {
            state,
            events: EventHeap::default(),
            submits: order,
            next_submit: 0,
            expected,
            round: 0,
            policy,
            decisions: Decisions::default(),
            options,
            pass_due: None,
            totals,
        }
    }

    /// Has something happen from outside: a node fails or comes back, the budget changes, a timer runs out. What is
    /// scheduled before the first submit happens at it.
    pub fn schedule(&mut self, at: SimTime, event: Event) {
        self.events.push(at.max(self.state.now), event.rank(), event);
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If the policy fails or decides what cannot be carried out, or if `watch` breaks.
    pub fn run(mut self, watch: &mut Watch<'_>) -> Result<Records> {
        let watch = RefCell::new(watch);
        let mut instants = 0_u64;
        while let Some(now) = self.next_time() {
            if now > self.options.until || self.is_over() {
                break;
            }
            self.state.advance(now)?;
            while self.absorb(now)? {
                self.decide(now, &watch)?;
            }
            self.state.record();
            instants += 1;
            if instants.is_multiple_of(LOOK_EVERY) && look(&watch, self.progress()) {
                return Err(Error::Interrupted);
            }
        }
        self.finish()
    }

    fn next_time(&self) -> Option<SimTime> {
        let submit = self.submits.get(self.next_submit).map(|&job| self.state.workload.submit(job));
        match (submit, self.events.next_time()) {
            (Some(submit), Some(event)) => Some(submit.min(event)),
            (submit, event) => submit.or(event),
        }
    }

    /// Whether nothing can happen to a job any more.
    fn is_over(&self) -> bool {
        self.expected == 0 && self.state.queued == 0 && self.state.running == 0
    }

    /// Empties the instant; false if there was nothing.
    fn absorb(&mut self, now: SimTime) -> Result<bool> {
        let before = self.totals.events;
        self.round = self.next_submit;
        while self.events.next_rank_at(now).is_some_and(|rank| rank < Event::SUBMIT_RANK) {
            self.absorb_next(now)?;
        }
        while let Some(&job) = self.submits.get(self.next_submit).filter(|&&job| self.state.workload.submit(job) == now)
        {
            self.next_submit += 1;
            self.absorb_one(Event::Submit(job))?;
        }
        while self.events.next_rank_at(now).is_some() {
            self.absorb_next(now)?;
        }
        Ok(self.totals.events > before)
    }

    fn absorb_next(&mut self, now: SimTime) -> Result<()> {
        match self.events.pop_at(now) {
            Some(event) => self.absorb_one(event),
            None => Ok(()),
        }
    }

    fn absorb_one(&mut self, event: Event) -> Result<()> {
        self.totals.events += 1;
        match event {
            Event::End(job) => self.end(job)?,
            Event::NodeReady(node) => {
                if self.state.node_ready(node)? {
                    self.tell(Notice::NodeReady(node));
                }
            }
            Event::NodeOff(node) => {
                if self.state.node_off(node)? {
                    self.tell(Notice::NodeOff(node));
                }
            }
            Event::NodeRepaired(node) => {
                if self.state.node_repaired(node)? {
                    self.tell(Notice::NodeReady(node));
                }
            }
            Event::NodeFailed(node) => self.fail(node)?,
            Event::BudgetChanged(budget) => {
                self.state.budget = budget;
                self.tell(Notice::BudgetChanged);
            }
            Event::Submit(job) => self.submit(job),
            Event::Timer => self.tell(Notice::Timer),
            Event::PassDue => {}
        }
        Ok(())
    }

    fn tell(&mut self, notice: Notice) {
        self.policy.notice(self.state.known_jobs(), notice);
    }

    /// A job joins the queue, unless it was rejected or left out.
    fn submit(&mut self, job: JobId) {
        if self.state.jobs.state[job.0 as usize] != JobState::Pending {
            return;
        }
        self.expected -= 1;
        self.state.queued += 1;
        self.tell(Notice::Submitted(job));
    }

    /// A job ends, unless a node's failure was quicker.
    fn end(&mut self, job: JobId) -> Result<()> {
        let row = job.0 as usize;
        if self.state.jobs.state[row] != JobState::Running {
            return Ok(());
        }
        let ran = self.state.now - self.state.jobs.start[row];
        let how = if self.state.is_cut(job, ran) { JobState::Timeout } else { JobState::Completed };
        self.state.end_job(job, how)?;
        self.tell(Notice::Ended(job));
        Ok(())
    }

    fn fail(&mut self, node: u32) -> Result<()> {
        for job in self.state.node_failed(node)? {
            self.tell(Notice::Ended(job));
        }
        self.tell(Notice::NodeFailed(node));
        Ok(())
    }

    /// One scheduling pass, unless the policy's interval delays it.
    fn decide(&mut self, now: SimTime, watch: &RefCell<&mut Watch<'_>>) -> Result<()> {
        if !self.pass_is_due(now) {
            return Ok(());
        }
        self.totals.passes += 1;
        self.decisions.clear();
        let progress = self.progress();
        let interrupted = || look(watch, progress);
        self.policy.decide(&self.state.view(&interrupted), &mut self.decisions)?;
        if self.decisions.is_empty() {
            return Ok(());
        }
        let joined_now = &self.submits[self.round..self.next_submit];
        let joined = |job: JobId| joined_now.binary_search(&job).is_ok();
        let mut context = apply::Context {
            policy: self.policy.name(),
            ceiling: self.policy.budget().into_iter().chain(self.state.budget).min(),
            draw: self.state.claims.draw(),
            joined: &joined,
            events: &mut self.events,
        };
        apply::apply(&mut self.state, &self.decisions, &mut context)
    }

    fn pass_is_due(&mut self, now: SimTime) -> bool {
        let interval = self.policy.interval();
        if interval <= SimDuration::ZERO {
            return true;
        }
        let late = now.micros().rem_euclid(interval.micros());
        if late == 0 {
            return true;
        }
        let due = SimTime::from_micros(now.micros() - late).saturating_add(interval);
        if self.pass_due != Some(due) {
            self.pass_due = Some(due);
            self.schedule(due, Event::PassDue);
        }
        false
    }

    fn progress(&self) -> Progress {
        Progress { done: self.state.done, jobs: self.state.workload.len(), now: self.state.now }
    }

    /// Closes the books at the end of the window: the last end, or where the run was stopped.
    fn finish(mut self) -> Result<Records> {
        let state = &mut self.state;
        if let Some(window) = &mut self.totals.window {
            if state.jobs.nodes.is_empty() {
                state.forget();
            } else {
                let more = state.running > 0 || state.queued > 0 || self.expected > 0;
                let cut = more && self.options.until != SimTime::NEVER && self.options.until > state.now;
                window.1 = if cut { self.options.until } else { state.now };
                state.close(window.1)?;
            }
        }
        self.totals.read(&state.meter, state.timeline.peak());
        self.totals.profiled = state.jobs.profiled.len();
        self.totals.left_out = state.jobs.state.iter().filter(|&&job| job == JobState::LeftOut).count();
        self.totals.late = state.workload.jobs().filter(|&job| state.is_late(job)).count();
        self.totals.work = state.work;
        self.totals.budget = self.policy.budget().map(|budget| (budget, state.timeline.beyond(budget)));
        let State { workload, jobs, timeline, meter, boots, shutdowns, .. } = self.state;
        Ok(Records { workload, jobs, timeline, nodes: meter, boots, shutdowns, totals: self.totals })
    }
}

/// Shows the watch how far the run is; true if it wants to stop.
fn look(watch: &RefCell<&mut Watch<'_>>, progress: Progress) -> bool {
    (watch.borrow_mut())(progress).is_break()
}

/// Settles a job that will never start: rejects what the machine can never run; false if it may start.
fn settle(state: &mut State, policy: &mut dyn Policy, job: JobId) -> bool {
    let why = if state.workload.node_count(job) > state.platform.len() {
        JobState::RejectedNodes
    } else if state.workload.slots(job) > state.platform.slots() {
        JobState::RejectedSlots
    } else if policy.leaves_out(state.known_jobs(), job) {
        JobState::LeftOut
    } else if policy.exceeds_budget(&state.view(&|| false), job) {
        JobState::RejectedPower
    } else {
        return false;
    };
    state.jobs.state[job.0 as usize] = why;
    state.done += 1;
    true
}
