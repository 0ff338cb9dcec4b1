//! Live: a conductor whose plant knows only what its host reports.

mod impossible;
pub mod report;
pub mod snapshot;
pub mod standing;

use std::collections::{BTreeSet, VecDeque};

use crate::algo::span::Span;
use crate::cluster::growth::Growth;
use crate::cluster::runs::RunId;
use crate::cluster::{Cluster, Phase};
use crate::control::conductor::{Conductor, Fact, Plant, Progress, Why};
use crate::control::live::impossible::{check_nodes, impossible};
use crate::control::live::report::Report;
use crate::control::orders::{HostOrder, Which};
use crate::control::{Controller, Effect};
use crate::error::{Result, SimulationError};
use crate::platform::node_state::NodeState;
use crate::platform::outages::{Outage, Turn};
use crate::policy::Decision;
use crate::power::budgets::BudgetRow;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// A policy at work on a machine that its host watches and steers.
#[derive(Clone)]
pub struct Live {
    conductor: Conductor,
    ledger: Ledger,
}

/// Reports to be taken into account, and orders to be carried out.
#[derive(Clone, Default)]
struct Ledger {
    /// Reports of the instant, in order, that have not been taken into account.
    reports: Vec<Report>,
    orders: Vec<HostOrder>,
    /// Readings of the machine's draw in this instant that nothing has looked at.
    readings: VecDeque<Watts>,
    /// Last reading, and the draw that was predicted then.
    reading: Option<(Watts, Watts)>,
    /// Predicted draw of the machine by now.
    predicted: Watts,
    /// Ends of budgets to come.
    ends: BTreeSet<SimTime>,
    /// Jobs that have completed.
    completed: BTreeSet<JobId>,
    /// Number of reports about earlier attempts, or of what was known already.
    late: u64,
}

/// Outcome of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// It has changed something.
    Changes,
    /// It confirms what has been decided.
    Confirms,
    /// It comes too late to change anything.
    Late,
    /// It cannot be true yet; what is decided in this instant may make it so.
    NotYet,
}

impl Live {
    /// A controller to which nothing has happened, in the hands of a host. `governs`: the speed of runs may change,
    /// whatever the policy does.
    #[must_use]
    pub fn new(controller: Controller, governs: bool) -> Self {
        Self { conductor: Conductor::new(controller, governs), ledger: Ledger::default() }
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        self.conductor.cluster()
    }

    /// The controller, before anything has happened.
    pub fn controller_mut(&mut self) -> &mut Controller {
        self.conductor.controller_mut()
    }

    /// Number of nodes of the machine.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.cluster().platform().len()
    }

    /// Number of reports that came too late to change anything.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.ledger.late
    }

    /// The next instant at which a step is wanted even if nothing is reported.
    pub fn next_time(&mut self) -> Option<SimTime> {
        let next = self.ledger.ends.first().copied();
        self.conductor.next_time(next)
    }

    /// True if a job that is over has completed.
    fn has_completed(&self, job: JobId) -> bool {
        self.ledger.completed.contains(&job)
    }

    /// Adds jobs; the workload has the present ones in their old rows.
    ///
    /// # Errors
    /// If the new ones ask for something that the controller was not set up for; nothing has changed then.
    pub fn grow(&mut self, growth: &Growth) -> Result<()> {
        let cluster = self.cluster();
        growth.check(cluster)?;
        let joined: Vec<_> = cluster.workload().jobs().map(|job| cluster.phase(job) != Phase::Unborn).collect();
        self.conductor.grow(growth, &|job| joined[job.0 as usize], &|_| None);
        Ok(())
    }

    /// Takes the reports of one instant into account, in the order of their places, and decides. If it fails, the
    /// instant is left half done: the host goes back to a copy that it has made before.
    ///
    /// # Errors
    /// If a report cannot be true, the policy fails, or what it decides cannot be carried out.
    pub fn step(
        &mut self,
        now: SimTime,
        mut reports: Vec<Report>,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<HostOrder>> {
        let Self { conductor, ledger } = self;
        reports.sort_by_key(Report::place);
        ledger.reports = reports;
        // The first step makes a pass: idle nodes may be none of the policy's liking.
        let is_first = conductor.counts() == (0, 0);
        conductor.step(now, is_first, ledger, &|_: Progress| interrupted())?;
        if let Some(last) = ledger.readings.drain(..).next_back() {
            ledger.reading = Some((last, ledger.predicted));
        }
        for report in std::mem::take(&mut ledger.reports) {
            if !knows(conductor.cluster(), &report) {
                return Err(impossible(conductor.cluster(), &report));
            }
            ledger.late += 1;
        }
        Ok(std::mem::take(&mut ledger.orders))
    }
}

impl Ledger {
    /// Takes the reports of the machine, or those of jobs, into account; returns the number of changes.
    fn take(&mut self, conductor: &mut Conductor, of_machine: bool) -> Result<u64> {
        let mut changes = 0;
        for report in std::mem::take(&mut self.reports) {
            if report.is_of_machine() != of_machine {
                self.reports.push(report);
                continue;
            }
            match self.take_one(conductor, &report)? {
                Taken::Changes => changes += 1,
                Taken::Confirms => {}
                Taken::Late => self.late += 1,
                Taken::NotYet => self.reports.push(report),
            }
        }
        self.predicted = conductor.cluster().predicted_draw();
        Ok(changes)
    }

    fn take_one(&mut self, conductor: &mut Conductor, report: &Report) -> Result<Taken> {
        match *report {
            Report::Ended(which, ok) => self.end(conductor, which, ok),
            Report::StartFailed(which, ref bad) => self.fail_start(conductor, which, bad),
            Report::NodeUp(node) => up(conductor, node),
            Report::NodeOff(node) => off(conductor, node),
            Report::NodeDown(node) => self.down(conductor, node),
            Report::Requeued(job) => Ok(self.requeue(conductor, job)),
            Report::Power(watts) => {
                self.readings.push_back(watts);
                Ok(Taken::Confirms)
            }
            Report::Budget(watts, from, until) => {
                let announced = conductor.now();
                let from = from.unwrap_or(announced);
                Ok(self.budget(conductor, BudgetRow { from, until, announced: announced.min(from), watts }))
            }
            Report::Submitted(job) => Ok(self.submit(conductor, job)),
            Report::Eligible(job) => Ok(self.admit(conductor, job)),
            Report::Withdrawn(job) => Ok(self.withdraw(conductor, job)),
            Report::Started(which, ref nodes) => self.start(conductor, which, nodes),
        }
    }

    fn end(&mut self, conductor: &mut Conductor, which: Which, ok: bool) -> Result<Taken> {
        let Some(id) = run_of(conductor.cluster(), which.job) else { return Ok(absent(conductor.cluster(), which)) };
        match is_present(conductor.cluster(), id, which) {
            Taken::Changes => {}
            other => return Ok(other),
        }
        conductor.end(id)?;
        if ok {
            self.completed.insert(which.job);
        }
        conductor.note_end(which.job, ok);
        Ok(Taken::Changes)
    }

    /// Ends a run that has never begun; its job gets its old place in the queue again. Bad nodes go out of service.
    fn fail_start(&mut self, conductor: &mut Conductor, which: Which, bad: &[u32]) -> Result<Taken> {
        let Some(id) = run_of(conductor.cluster(), which.job) else { return Ok(absent(conductor.cluster(), which)) };
        match is_present(conductor.cluster(), id, which) {
            Taken::Changes => {}
            other => return Ok(other),
        }
        if let Some(run) = conductor.end(id)? {
            conductor.controller_mut().requeue(&run);
        }
        for &node in bad {
            self.down(conductor, node)?;
        }
        Ok(Taken::Changes)
    }

    /// Adds a budget; it is a change if it begins or ends now.
    fn budget(&mut self, conductor: &mut Conductor, row: BudgetRow) -> Taken {
        let (now, ends) = (conductor.now(), [row.from, row.until]);
        conductor.controller_mut().add_budgets(vec![row]);
        self.ends.extend(ends.into_iter().filter(|&end| now < end && end < SimTime::NEVER));
        if !ends.contains(&now) {
            return Taken::Confirms;
        }
        conductor.budget_changed();
        Taken::Changes
    }

    fn down(&mut self, conductor: &mut Conductor, node: u32) -> Result<Taken> {
        let turn = conductor.begin_outage(node, Outage::Failure, self)?;
        Ok(if turn == Turn::None { Taken::Late } else { Taken::Changes })
    }

    fn requeue(&mut self, conductor: &mut Conductor, job: JobId) -> Taken {
        match conductor.cluster().phase(job) {
            Phase::Over => {}
            Phase::Queued => return Taken::Late,
            Phase::Unborn | Phase::Held | Phase::Running => return Taken::NotYet,
        }
        conductor.requeue_over(job);
        self.completed.remove(&job);
        Taken::Changes
    }

    fn submit(&mut self, conductor: &mut Conductor, job: JobId) -> Taken {
        if conductor.cluster().phase(job) != Phase::Unborn {
            return Taken::Late;
        }
        conductor.submit(job, self);
        Taken::Changes
    }

    /// Admits a job that waits for the host's word, or that the host speaks of for the first time.
    fn admit(&mut self, conductor: &mut Conductor, job: JobId) -> Taken {
        if conductor.cluster().phase(job) == Phase::Unborn
            && let Some(refusal) = conductor.controller_mut().hold(job)
        {
            conductor.turn_away(job, refusal, self);
            return Taken::Changes;
        }
        if conductor.cluster().phase(job) != Phase::Held {
            return Taken::Late;
        }
        conductor.admit(job, self);
        Taken::Changes
    }

    fn withdraw(&mut self, conductor: &mut Conductor, job: JobId) -> Taken {
        match conductor.cluster().phase(job) {
            Phase::Over => return Taken::Late,
            Phase::Unborn | Phase::Running => return Taken::NotYet,
            Phase::Held | Phase::Queued => {}
        }
        conductor.withdraw(job, Why::Asked, self);
        Taken::Changes
    }

    /// Confirms a start, moves a run to the nodes on which it has really begun, or takes up one that was not decided.
    fn start(&mut self, conductor: &mut Conductor, which: Which, nodes: &[u32]) -> Result<Taken> {
        let cluster = conductor.cluster();
        let Some(id) = run_of(cluster, which.job) else {
            return match absent(cluster, which) {
                Taken::NotYet if cluster.phase(which.job) != Phase::Unborn => {
                    check_nodes(cluster, which, nodes)?;
                    // Attempts before it that nobody told of are over.
                    conductor.controller_mut().count_attempts(which.job, which.attempt.saturating_sub(1));
                    // The host knows: nothing is ordered.
                    let orders = self.orders.len();
                    conductor.take_up_on(which.job, nodes, conductor.now(), self)?;
                    self.orders.truncate(orders);
                    Ok(Taken::Changes)
                }
                other => Ok(other),
            };
        };
        match is_present(cluster, id, which) {
            Taken::Changes => {}
            other => return Ok(other),
        }
        let known = cluster.runs().get(id).is_some_and(|run| cluster.runs().nodes(run) == nodes);
        if known {
            return Ok(Taken::Confirms);
        }
        check_nodes(cluster, which, nodes)?;
        conductor.controller_mut().adopt(id, nodes)?;
        Ok(Taken::Changes)
    }
}

impl Plant for Ledger {
    /// The next reading, or the last one with what has been decided since as it is predicted. Without any there is no
    /// surplus.
    fn draw(&mut self) -> Watts {
        let next = self.readings.pop_front().map(|draw| (draw, self.predicted));
        self.reading = next.or(self.reading);
        self.reading.map_or(Watts::ZERO, |(draw, predicted)| draw + self.predicted - predicted)
    }

    fn bring_machine(&mut self, conductor: &mut Conductor) -> Result<u64> {
        let mut changes = self.take(conductor, true)?;
        while self.ends.first().is_some_and(|&end| end <= conductor.now()) {
            self.ends.pop_first();
            conductor.budget_changed();
            changes += 1;
        }
        Ok(changes)
    }

    fn bring_jobs(&mut self, conductor: &mut Conductor) -> Result<u64> {
        self.take(conductor, false)
    }

    fn lose(&mut self, conductor: &mut Conductor, id: RunId, _why: Outage) -> Result<()> {
        // If the host queues its job again, it says so in a report of its own.
        if let Some(run) = conductor.end(id)? {
            conductor.note_end(run.job, false);
        }
        Ok(())
    }

    fn act(
        &mut self,
        cluster: &Cluster,
        decision: &Decision,
        effect: Effect,
        _in_emergency: bool,
    ) -> Result<(), SimulationError> {
        self.predicted = cluster.predicted_draw();
        self.orders.extend(HostOrder::of(cluster, decision, &effect));
        Ok(())
    }

    fn note(&mut self, _cluster: &Cluster, fact: Fact) {
        self.orders.extend(HostOrder::of_fact(&fact));
    }

    fn take_asked(&mut self) -> Vec<(RunId, Watts)> {
        Vec::new()
    }

    fn is_still(&self) -> bool {
        false
    }

    /// Nobody is shown the progress of a live run: its host counts for itself.
    fn done(&self) -> usize {
        0
    }
}

fn run_of(cluster: &Cluster, job: JobId) -> Option<RunId> {
    cluster.runs().iter().find(|(_, run)| run.job == job).map(|(id, _)| id)
}

/// Outcome of a report about a run of a job that does not run.
fn absent(cluster: &Cluster, which: Which) -> Taken {
    let is_over = cluster.phase(which.job) == Phase::Over;
    if is_over || which.attempt <= cluster.lost_attempts(which.job) { Taken::Late } else { Taken::NotYet }
}

/// Outcome of a report about a job's run under way: a change if it is about this attempt.
fn is_present(cluster: &Cluster, id: RunId, which: Which) -> Taken {
    match cluster.runs().get(id).map(|run| run.attempt) {
        Some(attempt) if attempt == which.attempt => Taken::Changes,
        Some(attempt) if which.attempt < attempt => Taken::Late,
        _ => Taken::NotYet,
    }
}

/// True if a report that has changed nothing says what is known already.
fn knows(cluster: &Cluster, report: &Report) -> bool {
    match *report {
        Report::NodeUp(node) => cluster.node(node).is_on(),
        Report::NodeOff(node) => !cluster.node(node).is_on(),
        _ => false,
    }
}

fn up(conductor: &mut Conductor, node: u32) -> Result<Taken> {
    match conductor.cluster().node(node) {
        NodeState::Down => {
            let turn = conductor.controller_mut().end_outage(node, true)?;
            Ok(if turn == Turn::None { Taken::NotYet } else { Taken::Changes })
        }
        NodeState::Booting { .. } => {
            conductor.controller_mut().nodes_turn_now(node);
            conductor.controller_mut().nodes_ready(Span::of(node))?;
            Ok(Taken::Changes)
        }
        NodeState::Off
        | NodeState::ShuttingDown { .. }
        | NodeState::Idle
        | NodeState::Busy { .. }
        | NodeState::Kept => Ok(Taken::NotYet),
    }
}

fn off(conductor: &mut Conductor, node: u32) -> Result<Taken> {
    match conductor.cluster().node(node) {
        NodeState::ShuttingDown { .. } => {
            conductor.controller_mut().nodes_turn_now(node);
            conductor.controller_mut().nodes_off(Span::of(node))?;
            Ok(Taken::Changes)
        }
        NodeState::Off
        | NodeState::Booting { .. }
        | NodeState::Down
        | NodeState::Idle
        | NodeState::Busy { .. }
        | NodeState::Kept => Ok(Taken::NotYet),
    }
}
