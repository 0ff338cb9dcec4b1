//! Simulation loop: empty the instant, decide once, carry the decisions out.
//!
//! A simulation hosts a controller: its plant is the truth, its feeds bring what comes from outside, and its records
//! are the history. `docs/background/rules.md` states the rules of a run; the order of events within an instant is in
//! [`event`].

pub mod asked;
pub mod attempts;
pub mod chronicle;
pub mod columns;
pub mod event;
mod feeds;
mod growth;
mod hands;
pub mod job_state;
mod limits;
mod lives;
pub mod log;
pub mod options;
mod outage;
pub mod own_parts;
mod plant;
pub mod record;
pub mod segments;
pub mod setup;
mod sharing;
mod succession;
pub mod tally;
pub mod timeline;
mod under_way;
pub mod work;
mod world;

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::algo::event_heap::EventHeap;
use crate::cluster::Cluster;
use crate::cluster::capacity::Sight;
use crate::control::Controller;
use crate::control::conductor::Conductor;
use crate::error::{Error, Result};
use crate::platform::Platform;
use crate::platform::cells::Cells;
use crate::platform::queues::Queues;
use crate::policy::Policy;
use crate::power::budgets::BudgetRow;
use crate::power::pvt::{Actual, Predicted};
use crate::sim::chronicle::{Chronicle, Page};
use crate::sim::event::Event;
use crate::sim::feeds::Feeds;
use crate::sim::limits::Limits;
use crate::sim::options::Walltimes;
use crate::sim::plant::Plant;
use crate::sim::record::{History, Records, Totals};
use crate::sim::tally::Tally;
use crate::sim::world::World;
use crate::units::SimTime;
use crate::workload::Workload;

pub use crate::control::conductor::Progress;
pub use crate::sim::options::Options;

/// Callback that is shown the progress of the run now and then; a break stops the run.
pub type Watch<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// Number of instants between two calls of the watch.
const LOOK_EVERY: u64 = 512;

/// A run: it can be stepped, forked and finished at any instant.
#[derive(Clone)]
pub struct Simulation {
    conductor: Conductor,
    world: World,
    /// True if an instant was begun and not ended, as something failed in it.
    is_broken: bool,
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
        Self::set_up(workload.into(), platform.into(), (actual, predicted), policy, options)
    }

    fn set_up(
        workload: Arc<Workload>,
        platform: Arc<Platform>,
        (actual, predicted): (Actual, Predicted),
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
        let start = first.unwrap_or_default();
        let stretch = options.walltimes == Walltimes::Stretch;
        let (machine, predicted) = (Arc::clone(&platform), Arc::new(predicted));
        let cluster = Cluster::new(start, Arc::clone(&workload), machine, predicted, stretch);
        let (mut history, has_caps) = (History::new(&workload, platform.len()), actual.has_caps());
        let has_profiles = workload.has_profiles();
        let mut plant = Plant::new(start, workload, platform, actual, limits);
        let mut controller = Controller::new(cluster, policy);
        let tally = controller.agent().map(|_| Tally::default());
        let conductor = Conductor::new(controller, has_caps);
        if conductor.governs() {
            plant.watch_lives();
            history.watch_power(conductor.monitors());
        }
        if has_profiles {
            plant.watch_lives();
            history.watch_segments();
        }
        let world = World {
            history,
            plant,
            tally,
            feeds,
            coming: EventHeap::default(),
            options,
            totals,
            former_budget: None,
            under_way: None,
            asked: Vec::new(),
            requeued: Vec::new(),
            chronicle: Chronicle::default(),
        };
        Self { conductor, world, is_broken: false }
    }

    /// Declares, before anything has happened, that the policy sees lanes of these queues, one of them in place of the
    /// machine or each.
    pub fn split(&mut self, queues: &Arc<Queues>, sight: Sight) {
        self.conductor.controller_mut().split(queues, sight);
    }

    /// Declares, before anything has happened, that nodes differ in what jobs ask for.
    ///
    /// # Errors
    /// If that matters and the policy cannot take it into account.
    pub fn divide(&mut self, cells: Arc<Cells>) -> Result<()> {
        self.conductor.controller_mut().divide(cells)
    }

    /// Declares, before anything has happened, that jobs are in queues.
    ///
    /// # Errors
    /// If the policy cannot take queues into account.
    pub fn line_up(&mut self, queues: Arc<Queues>) -> Result<()> {
        if queues.preempt() {
            self.world.plant.watch_lives();
            self.world.history.watch_suspensions();
        }
        self.conductor.controller_mut().line_up(queues)
    }

    /// Schedules an event: a node fails or is repaired, a job is withdrawn, a timer expires.
    ///
    /// An event in the past happens at the present instant, which is the first submission before the run begins. A job
    /// is withdrawn at its submission at the earliest. Of several failures and repairs of one node in the past, the
    /// last to be scheduled counts.
    pub fn schedule(&mut self, at: SimTime, event: Event) {
        let now = self.now();
        let at = match event {
            Event::Cancel(job) => at.max(self.conductor.cluster().workload().submit(job)).max(now),
            _ => at,
        };
        if matches!(event, Event::NodeFailed(_)) {
            self.world.history.watch_attempts();
        }
        if event.is_from_outside() {
            self.world.feeds.announce(at, now, event);
        } else {
            self.world.coming.push(at.max(now), event.rank(), event);
        }
    }

    /// Adds budgets that hold in place of the policy's own, each from its begin to its end; neither may be past.
    ///
    /// Before the run begins they may be past: only the part within the run counts then.
    pub fn add_budgets(&mut self, rows: Vec<BudgetRow>) {
        let now = self.now();
        let ends = rows.iter().flat_map(|row| [row.from, row.until]).filter(|&end| end >= now && end < SimTime::NEVER);
        ends.for_each(|end| self.world.feeds.announce(end, now, Event::Budget));
        self.world.history.show_budget();
        self.world.chronicle.expect_budgets(&rows);
        self.conductor.controller_mut().add_budgets(rows);
    }

    /// Keeps from now on what a live machine would report, and what it would be ordered.
    pub fn chronicle(&mut self) {
        self.world.chronicle = Chronicle::kept(self.conductor.monitors());
        let rows = self.conductor.cluster().budgets().rows().to_vec();
        self.world.chronicle.expect_budgets(&rows);
    }

    /// Takes the pages of the chronicle so far, one an instant.
    pub fn take_pages(&mut self) -> Vec<Page> {
        self.world.chronicle.take()
    }

    /// The last instant at which anything happened.
    #[must_use]
    pub fn now(&self) -> SimTime {
        self.conductor.cluster().now()
    }

    /// The jobs.
    #[must_use]
    pub fn workload(&self) -> &Arc<Workload> {
        self.conductor.cluster().workload()
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
        let (watch, until) = (RefCell::new(watch), until.min(self.world.options.until));
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
            if instants.is_multiple_of(LOOK_EVERY) && look(&watch, self.conductor.progress(&self.world)) {
                return Err(Error::Interrupted);
            }
        }
        Ok(self.has_ended())
    }

    /// True if no event is left within the run, unless further ones are scheduled from outside.
    #[must_use]
    pub fn has_ended(&mut self) -> bool {
        self.is_over() || self.next_time().is_none_or(|next| next > self.world.options.until)
    }

    /// True if something failed within an instant, which leaves the run in an inconsistent state.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Processes one instant; true if an agent is asked in it, whose answers then continue the instant.
    fn step(&mut self, now: SimTime, watch: &RefCell<&mut Watch<'_>>) -> Result<bool> {
        let Self { conductor, world, is_broken } = self;
        *is_broken = true;
        world.advance(now, conductor.now())?;
        let starts = world.has_start_due(now);
        let is_asked = conductor.step(now, starts, world, &|progress| look(watch, progress))?;
        if !is_asked {
            world.record(conductor.controller());
        }
        *is_broken = false;
        Ok(is_asked)
    }

    /// The next instant at which anything happens.
    fn next_time(&mut self) -> Option<SimTime> {
        let next = self.world.next_time();
        self.conductor.next_time(next)
    }

    /// True if nothing can happen to any job any more.
    fn is_over(&mut self) -> bool {
        let Self { conductor, world, .. } = self;
        let cluster = conductor.cluster();
        if world.follows_log() || cluster.queued() > 0 || cluster.running() > 0 {
            return false;
        }
        let jobs = Arc::clone(cluster.workload());
        // Other jobs may depend on one that is turned away.
        let is_nothing = |job| conductor.controller_mut().refuses(job).is_some() && jobs.dependents(job).is_empty();
        !world.feeds.may_start_one(is_nothing) && !conductor.may_still_join()
    }

    /// Assumes from now on that more budgets like these follow after the last, so that a job waits if it fits one of
    /// them. `rejects_between`: jobs that fit between no two of them are turned away.
    pub fn budgets_go_on(&mut self, rejects_between: bool) {
        self.conductor.controller_mut().budgets_go_on(rejects_between);
    }

    /// Number of jobs in a final state.
    #[must_use]
    pub fn done(&self) -> usize {
        self.world.history.done()
    }

    /// True if nothing runs and no job is to be submitted.
    #[must_use]
    pub fn only_waits(&self) -> bool {
        self.conductor.cluster().running() == 0 && self.world.feeds.to_come().is_empty()
    }

    /// Closes the books at the end of the window: the last end, or `until` if there is more to come.
    ///
    /// # Errors
    /// If the energy outgrows its book.
    pub fn finish(mut self, until: SimTime) -> Result<Records> {
        let until = until.min(self.world.options.until);
        let is_over = self.is_over();
        let is_done = is_over || self.next_time().is_none();
        if is_done {
            let Self { conductor, world, .. } = &mut self;
            world.history.strand(|job| conductor.cluster().is_held(job));
        }
        let World { mut plant, feeds, mut history, mut totals, former_budget, .. } = self.world;
        (totals.events, totals.passes) = self.conductor.counts();
        let mut controller = self.conductor.into_controller();
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
                plant.book_by_node(controller.cluster());
                for (id, run) in controller.cluster().runs().iter() {
                    let (stood, lowest_cap_w) = plant.stood_and_lowest_cap(id, run, window.1);
                    history.leave_off(run, plant.drawn_so_far(controller.cluster(), id, run), stood, lowest_cap_w);
                }
                plant.close(window.1)?;
                history.close(window.1);
            }
        }
        let budget = controller.budget().or(former_budget);
        totals.budget = budget.map(|budget| (budget, history.beyond(budget)));
        let truth = (plant.take_segments(), plant.actual());
        Ok(history.into_records(controller.into_cluster(), plant.into_meter(), truth, totals))
    }
}

/// Shows the watch how far the run is; true if it wants to stop.
fn look(watch: &RefCell<&mut Watch<'_>>, progress: Progress) -> bool {
    (watch.borrow_mut())(progress).is_break()
}
