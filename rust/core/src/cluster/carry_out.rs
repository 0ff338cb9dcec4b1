//! Decisions are checked, then carried out. An invalid one is refused with an error that names the policy, the job and
//! the instant.

use std::ops::Range;
use std::sync::Arc;

use crate::algo::span::Span;
use crate::cluster::decisions::{Decision, Decisions, Rejection, Start};
use crate::cluster::runs::{Run, RunId};
use crate::cluster::{Cluster, Phase};
use crate::error::SimulationError;
use crate::platform::node_state::NodeState;
use crate::platform::queues::{Group, Queues};
use crate::power::in_force::CapsInForce;
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

/// Effect of a decision that was carried out, for the host to apply.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A run has begun.
    Started(RunId),
    /// Nodes that are alike boot until that instant.
    Waking(Span, SimTime),
    /// Nodes that are alike shut down until that instant.
    Sleeping(Span, SimTime),
    /// A pass is wanted at that instant.
    Timer(SimTime),
    /// A job of the queue will never start.
    Rejected(JobId, Rejection),
    /// The size of a waiting job has changed.
    Sized(JobId),
    /// The caps of a run have changed.
    Capped(RunId),
    /// A run is suspended.
    Suspended(RunId),
    /// A run is resumed.
    Resumed(RunId),
    /// A run was ended; its job is requeued, or not.
    Ended(RunId, Box<Run>),
    /// A run continues on other nodes.
    Resized(RunId, Moved),
}

/// Change of the nodes of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moved {
    /// Nodes that it has given up.
    pub left: Vec<u32>,
    /// Nodes that it has gained.
    pub added: Vec<u32>,
}

/// Headroom of a pass: the draw of the system as granted so far, and the most that it may draw.
#[derive(Clone, Copy, Debug)]
pub struct Headroom {
    pub(super) ceiling: Option<Watts>,
    pub(super) draw: Watts,
    /// True if the policy counts watts.
    pub(super) counts: bool,
}

impl Headroom {
    /// Takes the watts that a start was granted; refuses one that exceeds the ceiling.
    fn take(&mut self, granted: Watts) -> Result<(), SimulationError> {
        self.exchange(Watts::ZERO, granted)
    }

    /// Exchanges the watts counted for a run; refused if they increase and exceed the ceiling.
    pub(super) fn exchange(&mut self, old: Watts, new: Watts) -> Result<(), SimulationError> {
        self.draw += new;
        self.draw -= old;
        match self.ceiling.filter(|ceiling| new > old && self.draw > ceiling.as_ceiling()) {
            Some(ceiling) => Err(SimulationError(format!(
                "the system would draw {} W, more than the budget of {} W",
                self.draw.watts(),
                ceiling.watts()
            ))),
            None => Ok(()),
        }
    }
}

impl Cluster {
    /// Carries out one decision of a pass with this headroom; nodes in it are [alike](Cluster::alike).
    ///
    /// # Errors
    /// The reason why it is invalid; [`Cluster::refusal`] makes a sentence of it.
    pub fn carry_out(
        &mut self,
        decision: &Decision,
        of: &Decisions,
        headroom: &mut Headroom,
    ) -> Result<Effect, SimulationError> {
        match *decision {
            Decision::Start(ref start) => {
                headroom.take(start.granted)?;
                self.start(start, of.nodes_of(start), headroom.counts).map(Effect::Started)
            }
            Decision::Wake(nodes) => {
                self.check_node(nodes.first())?;
                let until = self.now + self.platform.node(nodes.first()).boot_time;
                let state = self.node(nodes.first()).wake(until)?;
                self.hold_watts(nodes, state, headroom)?;
                self.enter_all(nodes, state);
                Ok(Effect::Waking(nodes, until))
            }
            Decision::Sleep(nodes) => {
                self.check_node(nodes.first())?;
                let until = self.now + self.platform.node(nodes.first()).shutdown_time;
                let state = self.node(nodes.first()).sleep(until)?;
                self.hold_watts(nodes, state, headroom)?;
                self.capacity.close(nodes);
                self.enter_all(nodes, state);
                Ok(Effect::Sleeping(nodes, until))
            }
            Decision::Timer(at) if at > SimTime::LATEST => {
                Err(SimulationError(format!("it is later than {} s", SimTime::LATEST.seconds())))
            }
            Decision::Timer(at) if at > self.now => Ok(Effect::Timer(at)),
            Decision::Timer(at) => Err(SimulationError(format!("{} s is not after now", at.seconds()))),
            Decision::Reject(job, why) => {
                self.check_queued(job)?;
                self.phases[job.0 as usize] = Phase::Over;
                self.queued -= 1;
                Ok(Effect::Rejected(job, why))
            }
            Decision::Size(job, nodes) => self.size(job, nodes).map(|()| Effect::Sized(job)),
            Decision::Allot(id, ref allotted, watts) => {
                self.allot(id, allotted.clone(), watts).map(|()| Effect::Capped(id))
            }
            Decision::Limit(id, watts) => self.limit(id, watts).map(|()| Effect::Capped(id)),
            Decision::Suspend(id) => self.suspend(id).map(|()| Effect::Suspended(id)),
            Decision::Resume(id) => self.resume(id).map(|()| Effect::Resumed(id)),
            Decision::Kill(id) | Decision::TimeOut(id) => self.stop(id).map(|run| Effect::Ended(id, run)),
            Decision::Requeue(id) => {
                let run = self.stop(id)?;
                self.requeue(run.job, run.attempt);
                Ok(Effect::Ended(id, run))
            }
            Decision::Resize(ref resize) => {
                self.resize(resize, of.added_by(resize), headroom).map(|moved| Effect::Resized(resize.id, moved))
            }
        }
    }

    /// Counts the watts of nodes that are alike and change their state; refused if these increase and exceed the
    /// ceiling.
    fn hold_watts(&self, nodes: Span, state: NodeState, headroom: &mut Headroom) -> Result<(), SimulationError> {
        if !headroom.counts {
            return Ok(());
        }
        let draw = self.platform.node(nodes.first());
        let held = |state| draw.held(state).times(nodes.len());
        headroom.exchange(held(self.node(nodes.first())), held(state))
    }

    fn stop(&mut self, id: RunId) -> Result<Box<Run>, SimulationError> {
        self.end(id)?.ok_or_else(|| SimulationError("it does not run".to_owned()))
    }

    /// Error that says in a sentence why a decision of `policy` cannot be carried out.
    #[must_use]
    pub fn refusal(&self, policy: &str, decision: &Decision, what: &SimulationError) -> SimulationError {
        let known = |job: JobId| (job.0 as usize) < self.workload.len();
        let wish = match *decision {
            Decision::Start(ref start) if known(start.job) => format!("start job {}", self.workload.job_id(start.job)),
            Decision::Start(ref start) => format!("start the job in row {}", start.job.0),
            Decision::Reject(job, _) if known(job) => format!("reject job {}", self.workload.job_id(job)),
            Decision::Reject(job, _) => format!("reject the job in row {}", job.0),
            Decision::Size(job, nodes) if known(job) => {
                format!("let job {} run on {nodes} nodes", self.workload.job_id(job))
            }
            Decision::Size(job, _) => format!("size the job in row {}", job.0),
            Decision::Wake(nodes) => format!("wake node {}", nodes.first()),
            Decision::Sleep(nodes) => format!("let node {} sleep", nodes.first()),
            Decision::Timer(at) => format!("set a timer for {} s", at.seconds()),
            Decision::Allot(id, ..) | Decision::Limit(id, _) => format!("cap {}", self.name_of(id)),
            Decision::Suspend(id) => format!("suspend {}", self.name_of(id)),
            Decision::Resume(id) => format!("resume {}", self.name_of(id)),
            Decision::Kill(id) | Decision::TimeOut(id) => format!("kill {}", self.name_of(id)),
            Decision::Requeue(id) => format!("requeue {}", self.name_of(id)),
            Decision::Resize(ref resize) => {
                format!("let {} go on on {} nodes", self.name_of(resize.id), resize.nodes)
            }
        };
        SimulationError(format!("policy {policy}, at {} s: cannot {wish}: {what}", self.now.seconds()))
    }

    fn name_of(&self, id: RunId) -> String {
        let job = self.runs.get(id).map(|run| self.workload.job_id(run.job));
        job.map_or_else(|| format!("the run in slot {}", id.slot()), |job| format!("job {job}"))
    }

    /// Starts a job; `counts`: watts are counted, and must be what the cluster counts.
    fn start(&mut self, start: &Start, nodes: &[u32], counts: bool) -> Result<RunId, SimulationError> {
        self.check_queued(start.job)?;
        self.check_groups(start.job)?;
        let places = self.take_nodes(start.job, nodes)?;
        let planned_end = self.planned_end(start.job, self.runs.written(places.clone()));
        let run = Run {
            job: start.job,
            started: self.now,
            attempt: self.lost_attempts(start.job) + 1,
            planned_end,
            claim: self.claim(start.job, start.claim),
            watts: start.claim,
            basis: start.basis.clone(),
            caps: CapsInForce::own(self.workload.cap_w(start.job)),
            predicted: Watts::ZERO,
            stood: SimDuration::ZERO,
            pace: 1.0,
            least_pace: 1.0,
            size_time: self.workload.time_at(start.job, self.jobs().node_count(start.job)),
            suspension: None,
            profiling_ratio: start.profiling_ratio,
            places,
            resize: None,
        };
        if counts {
            self.check_watts(start, &run)?;
        }
        self.begin(run)
    }

    /// A run claims the watts that it draws at least. A first run may have been granted others: its start teaches how much
    /// its application draws.
    fn check_watts(&self, start: &Start, run: &Run) -> Result<(), SimulationError> {
        let own = self.watts_under(run, &run.caps.allotting(run.basis.least.clone()));
        let counted = if start.profiling_ratio.is_some() { start.claim } else { start.granted };
        if start.claim == own && counted == own {
            return Ok(());
        }
        let wrong = if start.claim == own { counted } else { start.claim };
        Err(miscounted(wrong, own))
    }

    /// Sets the size of a waiting job, in nodes.
    fn size(&mut self, job: JobId, nodes: u32) -> Result<(), SimulationError> {
        self.check_queued(job)?;
        let (low, high) = self.workload.size_range(job);
        if !(low..=high).contains(&nodes) {
            return Err(SimulationError(format!("it runs on {low} to {high} nodes")));
        }
        if let Some(sizes) = &mut self.beliefs.sizes {
            sizes[job.0 as usize] = nodes;
        }
        Ok(())
    }

    /// Takes the slots of a start and stores its nodes, ascending; returns their range.
    pub(super) fn take_nodes(&mut self, job: JobId, nodes: &[u32]) -> Result<Range<usize>, SimulationError> {
        let wanted = self.jobs().node_count(job);
        if nodes.len() != wanted as usize {
            return Err(SimulationError(format!("it asks for {wanted} nodes and was given {}", nodes.len())));
        }
        self.check_queue(job, nodes)?;
        self.check_cells(job, nodes)?;
        let need = self.jobs().need(job, &self.platform);
        let is_first = self.lost_attempts(job) == 0 && !self.workload.is_moldable(job);
        let places = self.runs.write(job, is_first, nodes).map_err(given_twice)?;
        let taken = self.runs.written(places.clone());
        if let Some(&last) = taken.last() {
            self.check_node(last)?;
        }
        let refused = if self.slots().lends() {
            let own = taken.to_vec();
            self.take_slots(job, &own, need)
        } else if self.platform.is_exclusive() {
            self.capacity.take_whole(taken)
        } else {
            taken.iter().copied().find(|&node| !self.capacity.take(node, need))
        };
        match refused {
            None => Ok(places),
            Some(node) => {
                let (free, what) = (self.slots().free_on(node), self.node(node).name());
                Err(SimulationError(format!("node {node} is {what}, with {free} free slots of {need} needed")))
            }
        }
    }

    /// Takes slots of nodes, one after the other, on a machine on which urgent jobs may use those that suspended runs
    /// hold. Returns the first node whose slots the job may not have.
    fn take_slots(&mut self, job: JobId, nodes: &[u32], need: u32) -> Option<u32> {
        let is_urgent = self.queues.as_ref().is_some_and(|queues| !queues.preempted_by(job).is_empty());
        nodes.iter().copied().find(|&node| {
            if self.capacity.take(node, need) {
                return false;
            }
            let may = is_urgent && self.slots().is_open(node) && self.clear_of_running(node) >= need;
            if may {
                self.capacity.take_lent(node, need);
            }
            !may
        })
    }

    fn check_queued(&self, job: JobId) -> Result<(), SimulationError> {
        match self.phases.get(job.0 as usize) {
            Some(Phase::Queued) => Ok(()),
            Some(Phase::Unborn | Phase::Held | Phase::Running | Phase::Over) | None => {
                Err(SimulationError("the job is not in the queue".into()))
            }
        }
    }

    /// Checks that the limits on jobs of an array, a queue, or a user in a queue that run at once are not reached.
    pub(super) fn check_groups(&self, job: JobId) -> Result<(), SimulationError> {
        if !self.has_groups() {
            return Ok(());
        }
        let full = self.groups_of(job).find_map(|(group, limit)| {
            let active = self.in_groups.get(&group).copied().unwrap_or(0);
            (active >= limit).then_some((group, active, limit))
        });
        let Some((group, active, limit)) = full else { return Ok(()) };
        let whose = match group {
            Group::Array(_) => "its array",
            Group::Queue(_) => "its queue",
            Group::User(..) => "its user and queue",
        };
        Err(SimulationError(format!("{active} jobs of {whose} run, and no more than {limit} may")))
    }

    /// Checks that the nodes belong to the job's queue.
    pub(super) fn check_queue(&self, job: JobId, nodes: &[u32]) -> Result<(), SimulationError> {
        let Some(queues) = &self.queues else { return Ok(()) };
        let own = queues.nodes(job);
        match nodes.iter().find(|&&node| node < self.platform.len() && !own.contains(node)) {
            Some(&node) => Err(SimulationError(format!("node {node} is not one of its queue"))),
            None => Ok(()),
        }
    }

    /// True if there is such a node, and it is in a queue or there are none.
    #[must_use]
    pub fn may_serve(&self, node: u32) -> bool {
        let is_in_any = |queues: &Arc<Queues>| queues.sets().iter().any(|set| set.contains(node));
        node < self.platform.len() && self.queues.as_ref().is_none_or(is_in_any)
    }

    pub(super) fn check_node(&self, node: u32) -> Result<(), SimulationError> {
        let nodes = self.platform.len();
        if node < nodes { Ok(()) } else { Err(SimulationError(format!("there is no node {node} of {nodes}"))) }
    }
}

/// Error of a decision that gives a node twice.
pub(super) fn given_twice(node: u32) -> SimulationError {
    SimulationError(format!("node {node} was given twice"))
}

/// The policy counts with watts that a run does not draw.
pub(super) fn miscounted(counted: Watts, own: Watts) -> SimulationError {
    let (counted, own) = (counted.watts(), own.watts());
    SimulationError(format!("the policy counts {counted} W for it, and it is predicted to draw {own} W beyond idle"))
}
