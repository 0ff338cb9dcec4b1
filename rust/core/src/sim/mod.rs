//! Simulation loop: empty the instant, decide once, carry the decisions out.
//!
//! A simulation hosts a controller: its plant is the truth, its feeds bring what comes from outside, and its records
//! are the history. `docs/background/rules.md` states the rules of a run; the order of events within an instant is in
//! [`event`].

mod arrivals;
pub mod asked;
mod beats;
pub mod columns;
pub mod event;
mod feeds;
mod growth;
mod hands;
pub mod limits;
mod lives;
pub mod log;
pub mod outage;
mod part;
mod passes;
mod plant;
pub mod record;
pub mod segments;
pub mod setup;
mod sharing;
mod succession;
pub mod tally;
pub mod timeline;
mod under_way;
mod waiting;
pub mod work;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::algo::event_heap::EventHeap;
use crate::algo::span::Span;
use crate::cluster::Cluster;
use crate::cluster::runs::RunId;
use crate::control::Controller;
use crate::error::{Error, Result, SimulationError};
use crate::platform::Platform;
use crate::platform::cells::Cells;
use crate::platform::node_state::Class;
use crate::platform::outages::Outage;
use crate::platform::queues::Queues;
use crate::policy::Policy;
use crate::power::budgets::BudgetRow;
use crate::power::pvt::{Actual, Predicted};
use crate::power::slowest::Slowest;
use crate::sim::asked::Instant;
use crate::sim::beats::Beats;
use crate::sim::event::Event;
use crate::sim::feeds::Feeds;
use crate::sim::hands::Hands;
use crate::sim::limits::{Limits, Walltimes};
use crate::sim::log::{Entry, Kind};
use crate::sim::outage::OnFailure;
use crate::sim::part::Part;
use crate::sim::passes::{Due, Passes};
use crate::sim::plant::Plant;
use crate::sim::record::{History, JobState, Records, Totals};
use crate::sim::tally::Tally;
use crate::sim::under_way::UnderWay;
use crate::sim::waiting::Waiting;
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::Workload;

/// Options of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// True if a job with a walltime is killed at it.
    pub kill_at_walltime: bool,
    /// Grace: time after its walltime at which a job is killed.
    pub kill_grace: SimDuration,
    /// Speed for which walltimes were meant.
    pub walltimes: Walltimes,
    /// Treatment of jobs whose nodes go down.
    pub on_failure: OnFailure,
    /// The run stops after this instant; jobs that still run or wait stay as they are.
    pub until: SimTime,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Number of jobs in a final state.
    pub done: usize,
    /// Number of all jobs.
    pub jobs: usize,
    /// The virtual clock.
    pub now: SimTime,
}

/// Callback that is shown the progress of the run now and then; a break stops the run.
pub type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// Number of instants, or of rounds within one instant, between two calls of the watch.
const LOOK_EVERY: u64 = 512;

/// A run: it can be stepped, forked and finished at any instant.
#[derive(Clone)]
pub struct Simulation {
    controller: Controller,
    plant: Plant,
    feeds: Feeds,
    history: History,
    /// Events to come that the run itself has caused, other than ends: node transitions and timers.
    coming: EventHeap<Event>,
    options: Options,
    passes: Passes,
    totals: Totals,
    /// True if an instant was begun and not ended, as something failed in it.
    is_broken: bool,
    beats: Beats,
    /// True if speeds may change while jobs run: the policy governs power or changes sizes, or there are caps.
    governs: bool,
    /// True if a budget has begun or ended in this instant.
    has_budget_end: bool,
    /// State of the instant.
    instant: Instant,
    /// Running sums for an agent's rewards, if there is one.
    tally: Option<Tally>,
    /// Jobs that wait outside the queue, if any may.
    waiting: Option<Waiting>,
    /// The nodes that serve jobs, if others never do.
    part: Option<Arc<Part>>,
    /// Budget of the last policy before this one that had any.
    former_budget: Option<Watts>,
    /// Jobs under way when the run begins, if there are any.
    under_way: Option<UnderWay>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kill_at_walltime: true,
            kill_grace: SimDuration::ZERO,
            walltimes: Walltimes::Fixed,
            on_failure: OnFailure::Fail,
            until: SimTime::NEVER,
        }
    }
}

impl Simulation {
    /// Sets a run up.
    #[must_use]
    pub fn new(
        workload: impl Into<Arc<Workload>>,
        platform: impl Into<Arc<Platform>>,
        actual: Actual,
        predicted: Predicted,
        policy: Box<dyn Policy>,
        options: Options,
    ) -> Self {
        Self::set_up(workload.into(), platform.into(), (actual, predicted), None, policy, options)
    }

    fn set_up(
        workload: Arc<Workload>,
        platform: Arc<Platform>,
        (actual, predicted): (Actual, Predicted),
        part: Option<Part>,
        mut policy: Box<dyn Policy>,
        options: Options,
    ) -> Self {
        let ends_runs = options.kill_at_walltime && policy.enforce_limits(options.kill_grace);
        let limits = Limits::new(&Options { kill_at_walltime: options.kill_at_walltime && !ends_runs, ..options });
        let feeds = Feeds::new(Arc::clone(&workload));
        let first = feeds.submits().first().map(|&job| workload.submit(job));
        let totals = Totals {
            window: first.map(|first| (first, first)),
            below_idle: actual.below_idle(&platform),
            clairvoyant: workload.jobs().filter(|&job| workload.walltime(job).is_none()).count(),
            measured: predicted.following(&workload),
            ..Totals::default()
        };
        let (start, waiting) = (first.unwrap_or_default(), Waiting::new(&workload));
        let stretch = options.walltimes == Walltimes::Stretch;
        let (machine, predicted) = match &part {
            Some(part) => part.machine(&platform, &predicted),
            None => (Arc::clone(&platform), predicted),
        };
        let slowest = stretch.then(|| Slowest::new(&predicted, machine.len(), workload.app_names().len()));
        let mut cluster = Cluster::new(start, Arc::clone(&workload), machine, Arc::new(predicted), slowest);
        if let Some(part) = &part {
            part.stand_beside(&mut cluster);
        }
        let (platform, actual) = match &part {
            Some(part) => part.plant(&platform, &actual),
            None => (platform, actual),
        };
        let (mut history, has_caps) = (History::new(&workload, platform.len()), actual.has_caps());
        let has_profiles = workload.has_profiles();
        let mut plant = Plant::new(start, workload, platform, actual, limits);
        let mut controller = Controller::new(cluster, policy);
        let beats = controller.governor().map(|governor| Beats::of(governor));
        let tally = controller.agent().map(|_| Tally::default());
        let governs = beats.is_some() || has_caps || controller.resizes();
        if governs {
            plant.watch_lives();
            history.watch_power(beats.is_some_and(Beats::monitors));
        }
        if has_profiles {
            plant.watch_lives();
            history.watch_segments();
        }
        Self {
            history,
            plant,
            controller,
            beats: beats.unwrap_or_default(),
            governs,
            has_budget_end: false,
            instant: Instant::default(),
            tally,
            waiting,
            feeds,
            coming: EventHeap::default(),
            options,
            passes: Passes::default(),
            totals,
            is_broken: false,
            part: part.map(Arc::new),
            former_budget: None,
            under_way: None,
        }
    }

    /// Declares, before anything has happened, that nodes differ in what jobs ask for.
    ///
    /// # Errors
    /// If that matters and the policy cannot take it into account.
    pub fn divide(&mut self, cells: Arc<Cells>) -> Result<()> {
        self.controller.divide(match &self.part {
            Some(part) => part.cells(&cells),
            None => cells,
        })
    }

    /// Declares, before anything has happened, that jobs are in queues.
    ///
    /// # Errors
    /// If the policy cannot take queues into account.
    pub fn line_up(&mut self, queues: Arc<Queues>) -> Result<()> {
        if queues.preempt() {
            self.plant.watch_lives();
            self.history.watch_suspensions();
        }
        self.controller.line_up(match &self.part {
            Some(part) => part.queues(&queues),
            None => queues,
        })
    }

    /// Schedules an event: a node fails or is repaired, a job is withdrawn, a timer expires.
    ///
    /// An event in the past happens at the present instant, which is the first submission before the run begins. A job
    /// is withdrawn at its submission at the earliest. Of several failures and repairs of one node in the past, the
    /// last to be scheduled counts.
    pub fn schedule(&mut self, at: SimTime, event: Event) {
        let now = self.now();
        let at = match event {
            Event::Cancel(job) => at.max(self.controller.cluster().workload().submit(job)).max(now),
            _ => at,
        };
        if matches!(event, Event::NodeFailed(_)) {
            self.history.watch_attempts();
        }
        if event.is_from_outside() {
            self.feeds.announce(at, now, event);
        } else {
            self.coming.push(at.max(now), event.rank(), event);
        }
    }

    /// Adds budgets that hold in place of the policy's own, each from its begin to its end; neither may be past.
    ///
    /// Before the run begins they may be past: only the part within the run counts then.
    pub fn add_budgets(&mut self, rows: Vec<BudgetRow>) {
        let now = self.now();
        let ends = rows.iter().flat_map(|row| [row.from, row.until]).filter(|&end| end >= now && end < SimTime::NEVER);
        ends.for_each(|end| self.feeds.announce(end, now, Event::Budget));
        self.history.show_budget();
        self.controller.add_budgets(rows);
    }

    /// The last instant at which anything happened.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.controller.cluster().now()
    }

    /// The jobs.
    #[must_use]
    pub fn workload(&self) -> &Arc<Workload> {
        self.controller.cluster().workload()
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If the policy fails or decides what cannot be carried out, or if `watch` breaks.
    pub fn run(mut self, watch: &mut Watch<'_>) -> Result<Records> {
        self.step_until(SimTime::NEVER, watch)?;
        self.finish(SimTime::NEVER)
    }

    /// Runs up to and including `until` (within the run), or until an agent [is asked](Simulation::is_asked); true if
    /// no event is left.
    ///
    /// # Errors
    /// Same as for [`Simulation::run`]; the run cannot be used any more then if it [is broken](Simulation::is_broken).
    pub fn step_until(&mut self, until: SimTime, watch: &mut Watch<'_>) -> Result<bool> {
        let (watch, until) = (RefCell::new(watch), until.min(self.options.until));
        let mut instants = 0_u64;
        if self.is_asked() {
            return Ok(false);
        }
        while let Some(now) = self.next_time().filter(|&now| now <= until) {
            if self.is_over() {
                break;
            }
            if self.step(now, &watch)? {
                return Ok(false);
            }
            instants += 1;
            if instants.is_multiple_of(LOOK_EVERY) && look(&watch, self.progress()) {
                return Err(Error::Interrupted);
            }
        }
        Ok(self.has_ended())
    }

    /// True if no event is left within the run, unless further ones are scheduled from outside.
    #[must_use]
    pub fn has_ended(&mut self) -> bool {
        self.is_over() || self.next_time().is_none_or(|next| next > self.options.until)
    }

    /// True if something failed within an instant, which leaves the run in an inconsistent state.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Processes one instant; true if an agent is asked in it, whose answers then continue the instant.
    fn step(&mut self, now: SimTime, watch: &RefCell<&mut Watch<'_>>) -> Result<bool> {
        self.is_broken = true;
        if let Some(tally) = &mut self.tally {
            tally.advance(now - self.controller.cluster().now(), self.plant.draw());
        }
        self.plant.advance(now)?;
        self.controller.advance(now);
        self.plant.turn(self.controller.cluster());
        self.has_budget_end = false;
        let beat = self.governs && self.runs_something() && self.beats.allots_at(now);
        self.instant = Instant { has_looked: false, beat: beat || self.has_start_due(now), is_asked: false };
        self.carry_on(now, watch)
    }

    /// Processes the rest of an instant after its last pass so far; true if an agent is asked.
    fn carry_on(&mut self, now: SimTime, watch: &RefCell<&mut Watch<'_>>) -> Result<bool> {
        let mut rounds = 0_u64;
        loop {
            while self.absorb(now)? || self.instant.beat {
                rounds += 1;
                if rounds.is_multiple_of(LOOK_EVERY) && look(watch, self.progress()) {
                    return Err(Error::Interrupted);
                }
                self.instant.beat = false;
                if self.decide(now, watch)? {
                    self.is_broken = false;
                    return Ok(true);
                }
            }
            // Jobs that would wait for ever get one more pass, and one after each emergency (operations page, rule 34).
            if !self.governs {
                break;
            }
            let acted = self.watch_draw(now)?;
            let again = acted || !self.instant.has_looked;
            self.instant.beat = self.beats.monitors() && again && self.is_stuck();
            self.instant.has_looked = true;
            if !self.instant.beat && !self.has_news() {
                break;
            }
        }
        self.settle();
        let Self { controller, plant, history, .. } = self;
        history.record(controller.cluster(), plant.draw(), || controller.ceiling());
        self.is_broken = false;
        Ok(false)
    }

    /// Settles the instant at its end: ends and plans follow the caps in force.
    fn settle(&mut self) {
        if self.governs {
            let replanned = self.controller.settle();
            self.plant.settle(self.controller.cluster(), &replanned);
        } else {
            self.plant.settle(self.controller.cluster(), &[]);
        }
    }

    fn runs_something(&self) -> bool {
        let cluster = self.controller.cluster();
        cluster.running() > cluster.suspended()
    }

    /// The next instant at which anything happens.
    fn next_time(&mut self) -> Option<SimTime> {
        loop {
            let next = self.next_known();
            let Some(_) = self.passes.alarm().filter(|alarm| !alarm.is_sure && Some(alarm.at) == next) else {
                return next;
            };
            let alarm = self.controller.look_further();
            self.passes.set_alarm(alarm);
        }
    }

    /// The next instant at which anything may happen, if the alarm is taken at its earliest possible time.
    fn next_known(&self) -> Option<SimTime> {
        let beat =
            if self.governs { self.beats.next_after(self.now()).filter(|_| self.runs_something()) } else { None };
        let waiting = self.waiting.as_ref().and_then(Waiting::next_time);
        let log = self.under_way.as_ref().and_then(UnderWay::next_time);
        let coming = [self.coming.next_time(), self.passes.alarm().map(|alarm| alarm.at)].into_iter();
        let plant = [self.plant.next_end(), self.plant.next_turn()];
        coming.chain(plant).chain([self.feeds.next_time(), beat, waiting, log]).flatten().min()
    }

    /// True if nothing can happen to any job any more.
    fn is_over(&mut self) -> bool {
        if self.follows_log() {
            return false;
        }
        let Self { controller, feeds, .. } = self;
        let cluster = controller.cluster();
        if cluster.queued() > 0 || cluster.running() > 0 {
            return false;
        }
        let jobs = Arc::clone(cluster.workload());
        // Other jobs may depend on one that is turned away.
        let is_nothing = |job| controller.refuses(job).is_some() && jobs.dependents(job).is_empty();
        !feeds.may_start_one(is_nothing) && !self.may_still_join()
    }

    /// Empties the instant, in the order of engine rule 2; false if there was nothing.
    fn absorb(&mut self, now: SimTime) -> Result<bool> {
        let before = self.totals.events;
        self.feeds.begin_round();
        while let Some(slot) = self.plant.pop_end(now) {
            self.totals.events += 1;
            if let Some(id) = self.controller.cluster().runs().in_slot(slot) {
                self.end(id, None)?;
            }
        }
        self.absorb_outside(now, Event::NODES)?;
        while self.coming.next_rank_at(now).is_some_and(|rank| rank < Event::SUBMIT) {
            self.absorb_coming(now)?;
        }
        self.absorb_outside(now, Event::SUBMIT)?;
        let others = self.totals.events - before;
        let arrived = self.arrive(now);
        let before_last = self.totals.events;
        while self.coming.next_rank_at(now).is_some() {
            self.absorb_coming(now)?;
        }
        self.totals.events += u64::from(self.passes.ring(now));
        self.passes.note_round(others + (self.totals.events - before_last) == 0);
        self.totals.events += arrived;
        Ok(self.totals.events > before)
    }

    fn absorb_outside(&mut self, now: SimTime, rank: u8) -> Result<()> {
        while let Some(event) = self.feeds.pop_outside(now, rank) {
            self.absorb_one(event)?;
        }
        Ok(())
    }

    fn absorb_coming(&mut self, now: SimTime) -> Result<()> {
        match self.coming.pop_at(now) {
            Some(event) => self.absorb_one(event),
            None => Ok(()),
        }
    }

    /// Processes one event. One that changes nothing is not counted: a failed node fails again, or one that has not
    /// failed is repaired.
    fn absorb_one(&mut self, event: Event) -> Result<()> {
        let happened = match event {
            Event::NodeReady(nodes) => {
                return self.enter(nodes, (Class::Idle, Kind::Ready), Controller::nodes_ready);
            }
            Event::NodeOff(nodes) => {
                return self.enter(nodes, (Class::Off, Kind::Off), Controller::nodes_off);
            }
            Event::NodeRepaired(node) => self.end_outage(node, true)?,
            Event::MaintenanceEnds(node) => self.end_outage(node, false)?,
            Event::NodeFailed(node) => self.begin_outage(node, Outage::Failure)?,
            Event::MaintenanceBegins(node, until) => self.begin_outage(node, Outage::Maintenance(until))?,
            // Withdrawals are handled with the submissions (see `arrivals`).
            Event::Cancel(_) => false,
            Event::Budget => {
                self.controller.budget_changed();
                self.has_budget_end = true;
                let (draw, ceiling) = (self.plant.draw(), self.controller.ceiling());
                let value_w = ceiling.map_or(f64::NAN, Watts::watts);
                let at = self.now();
                self.history.note(Entry { value_w, ..Entry::new(at, Kind::Budget, draw) });
                true
            }
            Event::Timer => {
                self.controller.timer();
                true
            }
            Event::PassDue => self.passes.is_owed(self.now()),
        };
        self.totals.events += u64::from(happened);
        Ok(())
    }

    /// Moves nodes into another state, equal ones together, and their meters with them, unless `turn` returns false:
    /// they have gone into yet another state since.
    fn enter(
        &mut self,
        nodes: Span,
        (class, kind): (Class, Kind),
        turn: impl Fn(&mut Controller, Span) -> Result<bool, SimulationError>,
    ) -> Result<()> {
        let mut rest = Some(nodes);
        while let Some(nodes) = rest {
            let (alike, others) = self.controller.cluster().alike(nodes);
            if turn(&mut self.controller, alike)? {
                let (now, before) = (self.now(), self.plant.draw());
                let step = self.plant.enter(now, alike, class);
                self.history.note_nodes(now, kind, alike, (before, step));
                self.totals.events += u64::from(alike.len());
            }
            rest = others;
        }
        Ok(())
    }

    /// Ends a run: with the state that the plant gives, unless `how` says that something else ended it.
    fn end(&mut self, id: RunId, how: Option<JobState>) -> Result<()> {
        if let Some(run) = self.controller.end(id)? {
            let outcome = self.plant.end(self.controller.cluster(), id, &run);
            let how = self.history.end(self.controller.cluster(), &run, &outcome, how);
            self.note_end(run.job, how == JobState::Completed);
        }
        Ok(())
    }

    /// Makes a scheduling pass, unless the policy's interval delays it; true if an agent is asked in it.
    fn decide(&mut self, now: SimTime, watch: &RefCell<&mut Watch<'_>>) -> Result<bool> {
        if self.follow_log(now)? || !self.pass_is_due(now) {
            return Ok(false);
        }
        self.totals.passes += 1;
        let progress = self.progress();
        let beat = self.beats.allots_at(now) || self.has_budget_end;
        let draw = self.plant.draw();
        let Self { controller, plant, feeds, history, coming, tally, waiting, .. } = self;
        let mut hands =
            Hands { now, plant, feeds, history, coming, tally, waiting, in_emergency: false, asked: Vec::new() };
        let asks = controller.decide(draw, beat, &|| look(watch, progress), &mut |cluster, decision, effect| {
            hands.act(cluster, decision, effect)
        })?;
        self.note_pass(asks);
        Ok(asks)
    }

    /// Brings the machine's draw down to the budget, if it is monitored now (operations page, rules 27 to 33); true if
    /// anything was done.
    fn watch_draw(&mut self, now: SimTime) -> Result<bool> {
        let Some(ceiling) = self.controller.ceiling().filter(|_| self.beats.looks_at(now)) else { return Ok(false) };
        let draw = self.plant.draw();
        if self.controller.measured(draw)? <= ceiling.as_ceiling() {
            return Ok(false);
        }
        let value_w = ceiling.watts();
        self.history.note(Entry { value_w, ..Entry::new(now, Kind::Alert, draw) });
        self.controller.alert()?;
        let mut acted = false;
        while self.relieve(now)? {
            acted = true;
            if self.controller.measured(self.plant.draw())? <= ceiling.as_ceiling() {
                break;
            }
        }
        Ok(acted)
    }

    /// Takes the next step of an emergency; false if there is none.
    fn relieve(&mut self, now: SimTime) -> Result<bool> {
        let Self { controller, plant, feeds, history, coming, tally, waiting, .. } = self;
        let mut hands =
            Hands { now, plant, feeds, history, coming, tally, waiting, in_emergency: true, asked: Vec::new() };
        let acted = controller.relieve(&mut |cluster, decision, effect| hands.act(cluster, decision, effect))?;
        for (id, asks) in hands.asked {
            controller.note_asked(id, asks);
        }
        Ok(acted)
    }

    /// True if jobs wait or are suspended and no event is left that could change that.
    fn is_stuck(&self) -> bool {
        let cluster = self.controller.cluster();
        let waits = cluster.queued() > 0 || cluster.suspended() > 0;
        waits
            && self.feeds.next_time().is_none()
            && self.plant.next_end().is_none()
            && self.coming.next_time().is_none()
            && self.waiting.as_ref().is_none_or(|waiting| waiting.next_time().is_none())
    }

    fn pass_is_due(&mut self, now: SimTime) -> bool {
        let due = self.passes.due(now, self.controller.timing());
        if let Due::At(at) = due {
            self.schedule(at, Event::PassDue);
        }
        due == Due::Now
    }

    /// Assumes from now on that more budgets like these follow after the last, so that a job waits if it fits one of
    /// them. `rejects_between`: jobs that fit between no two of them are turned away.
    pub fn budgets_go_on(&mut self, rejects_between: bool) {
        self.controller.budgets_go_on(rejects_between);
    }

    /// Number of jobs in a final state.
    #[must_use]
    pub fn done(&self) -> usize {
        self.history.done()
    }

    /// True if nothing runs and no job is to be submitted.
    #[must_use]
    pub fn only_waits(&self) -> bool {
        self.controller.cluster().running() == 0 && self.feeds.to_come().is_empty()
    }

    fn progress(&self) -> Progress {
        let cluster = self.controller.cluster();
        Progress { done: self.history.done(), jobs: cluster.workload().len(), now: cluster.now() }
    }

    /// Closes the books at the end of the window: the last end, or `until` if there is more to come.
    ///
    /// # Errors
    /// If the energy outgrows its book.
    pub fn finish(mut self, until: SimTime) -> Result<Records> {
        let until = until.min(self.options.until);
        let is_over = self.is_over();
        let is_done = is_over || self.next_time().is_none();
        if is_done {
            let cluster = self.controller.cluster();
            self.history.strand(|job| cluster.is_held(job));
        }
        let Self { mut controller, mut plant, feeds, mut history, mut totals, part, former_budget, .. } = self;
        if is_over {
            feeds.to_come().iter().for_each(|&job| {
                controller.refuses(job).into_iter().for_each(|refusal| history.turn_away(job, refusal));
            });
        }
        if let Some(window) = &mut totals.window {
            let cluster = controller.cluster();
            if cluster.runs().is_unused() {
                history.tell_only(window.0, feeds.ends_of_budgets(window.0), plant.draw(), controller.ceiling());
                plant.forget(window.0);
                history.forget(window.0, cluster, plant.draw(), controller.ceiling());
            } else {
                let cut = !is_done && until != SimTime::NEVER && until > cluster.now();
                window.1 = if cut { until } else { cluster.now() };
                // Events after the last end do not belong to the run.
                if is_done && history.last_end() < window.1 && plant.go_back(history.last_end()) {
                    window.1 = history.last_end();
                    history.go_back(window.1);
                }
                controller.advance(window.1);
                plant.advance(window.1)?;
                for (id, run) in controller.cluster().runs().iter() {
                    let (stood, lowest_cap_w) = plant.ordeal(id, run, window.1);
                    history.leave_off(run, plant.drawn_so_far(controller.cluster(), id, run), stood, lowest_cap_w);
                }
                plant.close(window.1)?;
                history.close(window.1);
            }
        }
        let budget = controller.budget().or(former_budget);
        totals.budget = budget.map(|budget| (budget, history.beyond(budget)));
        let truth = (plant.take_segments(), plant.actual());
        let mut records = history.into_records(controller.into_cluster(), plant.into_meter(), truth, totals);
        if let Some(part) = &part {
            part.renumber(&mut records);
        }
        Ok(records)
    }
}

/// Shows the watch how far the run is; true if it wants to stop.
fn look(watch: &RefCell<&mut Watch<'_>>, progress: Progress) -> bool {
    (watch.borrow_mut())(progress).is_break()
}
