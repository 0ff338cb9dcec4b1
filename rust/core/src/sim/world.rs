//! World of a simulation: the plant that knows the truth, what comes from outside, and the records of both.

use crate::algo::event_heap::EventHeap;
use crate::algo::span::Span;
use crate::cluster::runs::RunId;
use crate::cluster::{Cluster, Retimed};
use crate::control::conductor::{Conductor, Fact, Plant as Machine, Why, Withdrawal};
use crate::control::live::report::Report;
use crate::control::orders::HostOrder;
use crate::control::{Controller, Effect};
use crate::error::{Result, SimulationError};
use crate::platform::node_state::Class;
use crate::platform::outages::Outage;
use crate::policy::Decision;
use crate::sim::chronicle::Chronicle;
use crate::sim::event::Event;
use crate::sim::feeds::Feeds;
use crate::sim::job_state::JobState;
use crate::sim::log::{Entry, EntryKind};
use crate::sim::options::{OnFailure, Options};
use crate::sim::plant::Plant;
use crate::sim::record::{History, Totals};
use crate::sim::tally::Tally;
use crate::sim::under_way::UnderWay;
use crate::units::{SimTime, Watts, soonest};
use crate::workload::JobId;

/// Everything in a simulation but its conductor.
#[derive(Clone)]
pub(super) struct World {
    pub(super) plant: Plant,
    pub(super) feeds: Feeds,
    pub(super) history: History,
    /// Node transitions to come.
    pub(super) coming: EventHeap<Event>,
    pub(super) options: Options,
    pub(super) totals: Totals,
    /// Running sums for an agent's rewards, if there is one.
    pub(super) tally: Option<Tally>,
    /// Budget of the last policy before this one that had any.
    pub(super) former_budget: Option<Watts>,
    /// Jobs under way when the run begins, if there are any.
    pub(super) under_way: Option<UnderWay>,
    /// Runs that were suspended in an emergency, and their measured draws above idle before.
    pub(super) asked: Vec<(RunId, Watts)>,
    /// Jobs that were requeued as a node of theirs has gone down in this instant.
    pub(super) requeued: Vec<JobId>,
    pub(super) chronicle: Chronicle,
}

impl World {
    /// The next instant at which anything happens by itself.
    pub(super) fn next_time(&self) -> Option<SimTime> {
        let log = self.under_way.as_ref().and_then(UnderWay::next_time);
        let [end, turn] = [self.plant.next_end(), self.plant.next_turn()];
        soonest([self.feeds.next_time(), end, turn, self.coming.next_time(), log])
    }

    /// Moves the clock.
    pub(super) fn advance(&mut self, now: SimTime, before: SimTime) -> Result<()> {
        if let Some(tally) = &mut self.tally {
            tally.advance(now - before, self.plant.draw());
        }
        Ok(self.plant.advance(now)?)
    }

    /// Records the instant, once nothing more happens at it.
    pub(super) fn record(&mut self, controller: &Controller) {
        self.history.record(controller.cluster(), self.plant.draw(), || controller.ceiling());
        self.chronicle.close(controller.cluster().now());
    }

    fn bring_outside(&mut self, conductor: &mut Conductor, rank: u8) -> Result<u64> {
        let mut events = 0;
        while let Some(event) = self.feeds.pop_outside(conductor.now(), rank) {
            events += self.bring(conductor, event)?;
        }
        Ok(events)
    }

    /// Brings one event; returns the number of changes. One that changes nothing is not counted: a failed node fails
    /// again, or one that has not failed is repaired.
    fn bring(&mut self, conductor: &mut Conductor, event: Event) -> Result<u64> {
        let happened = match event {
            Event::NodeReady(nodes) => {
                return self.enter(conductor, nodes, (Class::Idle, EntryKind::Ready), Controller::nodes_ready);
            }
            Event::NodeOff(nodes) => {
                return self.enter(conductor, nodes, (Class::Off, EntryKind::Off), Controller::nodes_off);
            }
            Event::NodeRepaired(node) => self.end_outage(conductor, node, true)?,
            Event::MaintenanceEnds(node) => self.end_outage(conductor, node, false)?,
            Event::NodeFailed(node) => self.begin_outage(conductor, node, Outage::Failure)?,
            Event::MaintenanceBegins(node, until) => self.begin_outage(conductor, node, Outage::Maintenance(until))?,
            // Withdrawals are handled with the submissions.
            Event::Cancel(_) => false,
            Event::Budget => {
                conductor.budget_changed();
                let (draw, ceiling) = (self.plant.draw(), conductor.controller().ceiling());
                let value_w = ceiling.map_or(f64::NAN, Watts::watts);
                self.history.note(Entry { value_w, ..Entry::new(conductor.now(), EntryKind::Budget, draw) });
                true
            }
        };
        Ok(u64::from(happened))
    }

    /// Moves nodes into another state, equal ones together, and their meters with them, unless `turn` returns false:
    /// they have gone into yet another state since.
    fn enter(
        &mut self,
        conductor: &mut Conductor,
        nodes: Span,
        (class, kind): (Class, EntryKind),
        turn: impl Fn(&mut Controller, Span) -> Result<bool, SimulationError>,
    ) -> Result<u64> {
        let (mut rest, mut events, now) = (Some(nodes), 0, conductor.now());
        while let Some(nodes) = rest {
            let (alike, others) = conductor.cluster().alike(nodes);
            if turn(conductor.controller_mut(), alike)? {
                let before = self.plant.draw();
                let step = self.plant.enter(now, alike, class);
                self.history.note_nodes(now, kind, alike, (before, step));
                self.chronicle.nodes(alike, class);
                events += u64::from(alike.len());
            }
            rest = others;
        }
        Ok(events)
    }

    /// Ends a run: with the state that the plant gives, unless `how` says that something else ended it.
    fn end(&mut self, conductor: &mut Conductor, id: RunId, how: Option<JobState>) -> Result<()> {
        if let Some(run) = conductor.end(id)? {
            let outcome = self.plant.end(conductor.cluster(), id, &run);
            let how = self.history.end(conductor.cluster(), &run, &outcome, how);
            self.chronicle.end(&run, how);
            conductor.note_end(run.job, how == JobState::Completed);
            conductor.controller_mut().reuse(run);
        }
        Ok(())
    }

    /// Submits a job, unless the log decides its start.
    fn submit(&mut self, conductor: &mut Conductor, job: JobId) {
        let start = conductor.cluster().workload().observed_start(job);
        if !self.under_way.as_ref().is_some_and(|log| log.starts(start)) {
            self.chronicle.report(|| Report::Submitted(job));
            conductor.submit(job, self);
        }
    }

    /// True if the log, and not yet the policy, decides what starts.
    pub(super) fn follows_log(&self) -> bool {
        self.under_way.as_ref().is_some_and(|log| !log.is_over())
    }

    /// True if a job of the log starts now, or the policy's first pass is now.
    pub(super) fn has_start_due(&self, now: SimTime) -> bool {
        self.under_way.as_ref().and_then(UnderWay::next_time).is_some_and(|next| next <= now)
    }

    /// Starts the jobs that start now according to the log; true if the policy does not decide yet.
    fn follow_log(&mut self, conductor: &mut Conductor) -> Result<bool> {
        let now = conductor.now();
        while let Some(job) = self.under_way.as_mut().and_then(|log| log.pop(now)) {
            self.take_up(conductor, job)?;
        }
        Ok(self.under_way.as_mut().is_some_and(|log| !log.hand_over(now)))
    }

    fn take_up(&mut self, conductor: &mut Conductor, job: JobId) -> Result<()> {
        if let Some(refusal) = conductor.controller_mut().hold(job) {
            conductor.turn_away(job, refusal, self);
        } else if !conductor.take_up(job, self)? {
            conductor.withdraw(job, Why::Asked, self);
        }
        Ok(())
    }

    fn withdraw(&mut self, cluster: &Cluster, what: Withdrawal) {
        let Withdrawal { job, was_queued, why } = what;
        if let Some(tally) = self.tally.as_mut().filter(|_| was_queued) {
            tally.leave(cluster.workload(), job);
        }
        self.history.cancel(job, if why == Why::Hopeless { JobState::Hopeless } else { JobState::Cancelled });
        self.history.note(Entry { job: Some(job), ..Entry::new(cluster.now(), EntryKind::Cancel, self.plant.draw()) });
    }
}

impl Machine for World {
    fn draw(&mut self) -> Watts {
        let draw = self.plant.draw();
        self.chronicle.reading(draw);
        draw
    }

    fn bring_machine(&mut self, conductor: &mut Conductor) -> Result<u64> {
        let (now, mut events) = (conductor.now(), 0);
        self.plant.turn(conductor.cluster());
        self.feeds.begin_round();
        while let Some(slot) = self.plant.pop_end(now) {
            events += 1;
            if let Some(id) = conductor.cluster().runs().in_slot(slot) {
                self.end(conductor, id, None)?;
            }
        }
        events += self.bring_outside(conductor, Event::NODES)?;
        while let Some(event) = self.coming.pop_at(now) {
            events += self.bring(conductor, event)?;
        }
        Ok(events + self.bring_outside(conductor, Event::SUBMIT)?)
    }

    fn bring_jobs(&mut self, conductor: &mut Conductor) -> Result<u64> {
        let (now, mut events) = (conductor.now(), 0);
        while let Some(job) = self.feeds.pop_submit(now) {
            events += 1;
            self.submit(conductor, job);
        }
        while let Some(event) = self.feeds.pop_outside(now, Event::CANCEL) {
            if let Event::Cancel(job) = event {
                let is_withdrawn = conductor.withdraw(job, Why::Asked, self);
                if is_withdrawn {
                    self.chronicle.report(|| Report::Withdrawn(job));
                }
                events += u64::from(is_withdrawn);
            }
        }
        Ok(events)
    }

    /// Ends a run that loses a node. Its job ends, or is requeued.
    fn lose(&mut self, conductor: &mut Conductor, id: RunId, why: Outage) -> Result<()> {
        if self.options.on_failure == OnFailure::Fail {
            let how = if why == Outage::Failure { JobState::Failed } else { JobState::Evicted };
            return self.end(conductor, id, Some(how));
        }
        let Some(run) = conductor.end(id)? else { return Ok(()) };
        let outcome = self.plant.end(conductor.cluster(), id, &run);
        self.history.requeue(conductor.cluster(), &run, &outcome);
        self.chronicle.end(&run, JobState::Failed);
        self.chronicle.report(|| Report::Requeued(run.job));
        conductor.controller_mut().requeue(&run);
        if let Some(tally) = &mut self.tally {
            tally.join(conductor.cluster().workload(), run.job);
        }
        self.requeued.push(run.job);
        Ok(())
    }

    fn act(
        &mut self,
        cluster: &Cluster,
        decision: &Decision,
        effect: Effect,
        in_emergency: bool,
    ) -> Result<(), SimulationError> {
        self.chronicle.order(|| HostOrder::of(cluster, decision, &effect));
        self.carry_out(cluster, decision, effect, in_emergency)
    }

    fn note(&mut self, cluster: &Cluster, fact: Fact) {
        self.chronicle.order(|| HostOrder::of_fact(&fact));
        match fact {
            Fact::TurnedAway(job, refusal) => self.history.turn_away(job, refusal),
            Fact::Between(job, need) => self.history.note_between(job, need),
            Fact::Joined(job) => {
                self.feeds.note_joined(job);
                if let Some(tally) = &mut self.tally {
                    tally.join(cluster.workload(), job);
                }
            }
            Fact::Withdrawn(what) => self.withdraw(cluster, what),
            Fact::Alert(ceiling) => {
                let value_w = ceiling.watts();
                self.history.note(Entry { value_w, ..Entry::new(cluster.now(), EntryKind::Alert, self.plant.draw()) });
            }
        }
    }

    fn take_asked(&mut self) -> Vec<(RunId, Watts)> {
        std::mem::take(&mut self.asked)
    }

    fn is_still(&self) -> bool {
        self.feeds.next_time().is_none() && self.plant.next_end().is_none() && self.coming.next_time().is_none()
    }

    fn may_go_on(&self, now: SimTime) -> bool {
        self.next_time().is_some_and(|next| next <= now)
    }

    fn done(&self) -> usize {
        self.history.done()
    }

    fn leads(&mut self, conductor: &mut Conductor) -> Result<bool> {
        self.follow_log(conductor)
    }

    fn end_pass(&mut self, conductor: &mut Conductor, asks: bool) {
        self.asked.clear();
        if self.tally.is_some() {
            self.note_pass(conductor, asks);
        }
    }

    fn settle(&mut self, cluster: &Cluster, replanned: &[Retimed]) {
        self.plant.settle(cluster, replanned);
    }
}
