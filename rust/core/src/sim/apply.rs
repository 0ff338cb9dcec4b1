//! Decisions are checked, then carried out; what cannot be is refused with the policy, the job and the instant.

use crate::algo::event_heap::EventHeap;
use crate::error::{Result, SimulationError};
use crate::policy::{Decision, Decisions, Jobs, Start};
use crate::sim::event::Event;
use crate::sim::record::{JobState, StartedBy};
use crate::sim::state::State;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// What carrying out needs beside the state.
pub(super) struct Context<'a> {
    pub(super) policy: &'a str,
    /// The ceiling that the policy keeps, or the budget that was set from outside if that is lower.
    pub(super) ceiling: Option<Watts>,
    /// What the system draws by what running jobs claim, and what the starts of this pass so far were granted.
    pub(super) draw: Watts,
    /// Whether the job joined the queue in this round.
    pub(super) joined: &'a dyn Fn(JobId) -> bool,
    pub(super) events: &'a mut EventHeap<Event>,
}

/// Carries out one pass.
///
/// # Errors
/// A [`SimulationError`] for the first decision that cannot be carried out.
pub(super) fn apply(state: &mut State, decisions: &Decisions, context: &mut Context<'_>) -> Result<()> {
    for decision in decisions.list() {
        carry_out(state, decisions, decision, context)
            .map_err(|what| refusal(state, context.policy, decision, &what))?;
    }
    Ok(())
}

fn carry_out(
    state: &mut State,
    decisions: &Decisions,
    decision: &Decision,
    context: &mut Context<'_>,
) -> Result<(), SimulationError> {
    match *decision {
        Decision::Start(start) => start_job(state, decisions, start, context),
        Decision::Wake(node) => {
            check_node(state, node)?;
            let until = state.now + state.platform.node(node).boot_time;
            state.wake(node, until)?;
            push(context.events, until, Event::NodeReady(node));
            Ok(())
        }
        Decision::Sleep(node) => {
            check_node(state, node)?;
            let until = state.now + state.platform.node(node).shutdown_time;
            state.sleep(node, until)?;
            push(context.events, until, Event::NodeOff(node));
            Ok(())
        }
        Decision::Timer(at) if at > SimTime::LATEST => {
            Err(SimulationError(format!("it is later than {} s", SimTime::LATEST.seconds())))
        }
        Decision::Timer(at) if at > state.now => {
            push(context.events, at, Event::Timer);
            Ok(())
        }
        Decision::Timer(at) => Err(SimulationError(format!("{} s is not after now", at.seconds()))),
        Decision::Reject(job, why) => state.reject(job, why),
    }
}

fn start_job(
    state: &mut State,
    decisions: &Decisions,
    start: Start,
    context: &mut Context<'_>,
) -> Result<(), SimulationError> {
    check_ceiling(start, context)?;
    let first = take_nodes(state, decisions, start)?;
    let (job, row) = (start.job, start.job.0 as usize);
    if let Some(ratio) = start.profiling_ratio {
        state.jobs.profiled.insert(job.0, ratio);
    }
    let whole = state.runtime(job, first);
    let modelled = state.limit(job, first).map_or(whole, |limit| limit.min(whole));
    let end = state.now.saturating_add(state.workload.observed_length(job).unwrap_or(modelled));
    if end > SimTime::LATEST {
        return Err(SimulationError(format!("it would end later than {} s", SimTime::LATEST.seconds())));
    }
    state.jobs.start[row] = state.now;
    // Until it ends, a running job's end is the instant of its end event.
    state.jobs.end[row] = end;
    state.jobs.state[row] = JobState::Running;
    state.jobs.first_node[row] = first as u64;
    state.jobs.started_by[row] = match start.overtakes {
        true => StartedBy::Backfill,
        false if (context.joined)(job) => StartedBy::Immediate,
        false => StartedBy::Reservation,
    };
    state.queued -= 1;
    state.running += 1;
    state.occupy(job, first)?;
    state.plan_release(job, start.claim);
    context.draw += start.granted;
    push(context.events, state.jobs.end[row], Event::End(job));
    Ok(())
}

/// Refuses a start that passes the ceiling.
fn check_ceiling(start: Start, context: &Context<'_>) -> Result<(), SimulationError> {
    let draw = context.draw + start.granted;
    match context.ceiling.filter(|ceiling| start.granted > Watts::ZERO && draw > ceiling.as_ceiling()) {
        Some(ceiling) => Err(SimulationError(format!(
            "the system would draw {} W, more than the budget of {} W",
            draw.watts(),
            ceiling.watts()
        ))),
        None => Ok(()),
    }
}

/// Takes the slots of a start and writes its nodes down, ascending; returns where.
fn take_nodes(state: &mut State, decisions: &Decisions, start: Start) -> Result<usize, SimulationError> {
    let nodes = decisions.nodes_of(start);
    if start.job.0 as usize >= state.workload.len() || !state.is_queued(start.job) {
        return Err(SimulationError("the job is not in the queue".into()));
    }
    let wanted = state.workload.node_count(start.job);
    if nodes.len() != wanted as usize {
        return Err(SimulationError(format!("it asks for {wanted} nodes and was given {}", nodes.len())));
    }
    let need = Jobs::new(&state.workload).need(start.job, &state.platform);
    let first = state.jobs.nodes.len();
    state.jobs.nodes.extend_from_slice(nodes);
    state.jobs.nodes[first..].sort_unstable();
    let taken = &state.jobs.nodes[first..];
    if let Some((twice, _)) = taken.iter().zip(&taken[1..]).find(|(one, next)| one == next) {
        return Err(SimulationError(format!("node {twice} was given twice")));
    }
    for &node in nodes {
        check_node(state, node)?;
        if !state.slots.take(node, need) {
            let (free, what) = (state.slots.free_on(node), state.node(node).name());
            return Err(SimulationError(format!("node {node} is {what}, with {free} free slots of {need} needed")));
        }
    }
    Ok(first)
}

fn check_node(state: &State, node: u32) -> Result<(), SimulationError> {
    let nodes = state.platform.len();
    if node < nodes { Ok(()) } else { Err(SimulationError(format!("there is no node {node} of {nodes}"))) }
}

fn push(events: &mut EventHeap<Event>, at: SimTime, event: Event) {
    events.push(at, event.rank(), event);
}

fn refusal(state: &State, policy: &str, decision: &Decision, what: &SimulationError) -> SimulationError {
    let wish = match *decision {
        Decision::Start(start) if (start.job.0 as usize) < state.workload.len() => {
            format!("start job {}", state.workload.job_id(start.job))
        }
        Decision::Start(start) => format!("start the job in row {}", start.job.0),
        Decision::Reject(job, _) if (job.0 as usize) < state.workload.len() => {
            format!("reject job {}", state.workload.job_id(job))
        }
        Decision::Reject(job, _) => format!("reject the job in row {}", job.0),
        Decision::Wake(node) => format!("wake node {node}"),
        Decision::Sleep(node) => format!("let node {node} sleep"),
        Decision::Timer(at) => format!("set a timer for {} s", at.seconds()),
    };
    SimulationError(format!("policy {policy}, at {} s: cannot {wish}: {what}", state.now.seconds()))
}
