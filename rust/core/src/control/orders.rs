//! Orders: decisions as a host carries them out, in terms of jobs and attempts.

use crate::algo::span::Span;
use crate::cluster::runs::{Run, RunId};
use crate::cluster::{Cluster, Effect};
use crate::control::Refusal;
use crate::control::conductor::{Fact, Why};
use crate::platform::cells::Lack;
use crate::platform::queues::Bar;
use crate::policy::{Decision, Rejection};
use crate::units::Watts;
use crate::workload::JobId;

/// An order to the host.
#[derive(Clone, Debug, PartialEq)]
pub enum HostOrder {
    /// Start a job on these nodes, ascending, each with this cap, if it has one; it is granted so many watts.
    Start {
        /// The run.
        run: Which,
        /// Its nodes.
        nodes: Vec<u32>,
        /// Cap on each of its nodes, W.
        cap_w: Option<f64>,
        /// Watts beyond idle that are counted for it, if any are.
        granted_w: Option<f64>,
    },
    /// Turn a job away.
    Reject(JobId, &'static str),
    /// Cap each node of a run, W; `None` lifts the cap.
    Cap(Which, Option<f64>),
    /// Suspend a run.
    Suspend(Which),
    /// Resume a run.
    Resume(Which),
    /// End a run, and queue its job again.
    Requeue(Which),
    /// End a run for good.
    Kill(Which, &'static str),
    /// Continue a run on these nodes.
    Resize(Which, Vec<u32>),
    /// Switch nodes on.
    Wake(Vec<u32>),
    /// Switch nodes off.
    Sleep(Vec<u32>),
}

/// A run: a job and the number of its attempt, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Which {
    /// The job.
    pub job: JobId,
    /// Number of the attempt.
    pub attempt: u32,
}

impl Which {
    fn of(run: &Run) -> Self {
        Self { job: run.job, attempt: run.attempt }
    }
}

impl HostOrder {
    /// The order that a decision is, once the cluster has carried it out; `None` if the host has nothing to do.
    #[must_use]
    pub fn of(cluster: &Cluster, decision: &Decision, effect: &Effect) -> Option<Self> {
        let which = |id: RunId| cluster.runs().get(id).map(Which::of);
        let switched = |nodes: Span| nodes.nodes().collect();
        Some(match effect {
            Effect::Started(id) => {
                let run = cluster.runs().get(*id)?;
                let (nodes, cap_w) = (cluster.runs().nodes(run).to_vec(), lowest_cap(cluster, run));
                let granted = if let Decision::Start(start) = decision { start.granted } else { Watts::ZERO };
                let granted_w = Some(granted.watts()).filter(|&watts| watts > 0.0);
                Self::Start { run: Which::of(run), nodes, cap_w, granted_w }
            }
            Effect::Waking(nodes, _) => Self::Wake(switched(*nodes)),
            Effect::Sleeping(nodes, _) => Self::Sleep(switched(*nodes)),
            Effect::Timer(_) | Effect::Sized(_) => return None,
            Effect::Rejected(job, Rejection::NoProfile) => Self::Reject(*job, "no profile"),
            Effect::Rejected(job, Rejection::Power) => Self::Reject(*job, "power"),
            Effect::Capped(id) => {
                let run = cluster.runs().get(*id)?;
                Self::Cap(Which::of(run), lowest_cap(cluster, run))
            }
            Effect::Suspended(id) => Self::Suspend(which(*id)?),
            Effect::Resumed(id) => Self::Resume(which(*id)?),
            Effect::Ended(_, run) => match decision {
                Decision::Requeue(_) => Self::Requeue(Which::of(run)),
                Decision::TimeOut(_) => Self::Kill(Which::of(run), "walltime"),
                _ => Self::Kill(Which::of(run), "power"),
            },
            Effect::Resized(id, _) => {
                let run = cluster.runs().get(*id)?;
                Self::Resize(Which::of(run), cluster.runs().nodes(run).to_vec())
            }
        })
    }
}

impl HostOrder {
    /// The order that follows from something that has become of a job without a decision of the policy.
    #[must_use]
    pub fn of_fact(fact: &Fact) -> Option<Self> {
        match *fact {
            Fact::TurnedAway(job, refusal) => Some(Self::Reject(job, word(refusal))),
            Fact::Withdrawn(what) => match what.why {
                Why::Asked => None,
                Why::Foreseen => Some(Self::Reject(what.job, "withdrawn")),
                Why::Hopeless => Some(Self::Reject(what.job, "dependency")),
            },
            Fact::Between(..) | Fact::Joined(_) | Fact::Alert(_) => None,
        }
    }
}

/// The lowest cap in force on a run's nodes, W; `None` if there is none.
fn lowest_cap(cluster: &Cluster, run: &Run) -> Option<f64> {
    let caps = cluster.runs().nodes(run).iter().map(|&node| cluster.cap_on(run, node));
    Some(caps.fold(f64::INFINITY, f64::min)).filter(|cap_w| cap_w.is_finite())
}

/// Word for the reason why a job is turned away at its submission.
fn word(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Bar(Bar::Nodes) => "nodes of its queue",
        Refusal::Bar(Bar::MaxNodes) => "nodes beyond its queue's limit",
        Refusal::Bar(Bar::MaxSlots) => "slots beyond its queue's limit",
        Refusal::Bar(Bar::MaxWalltime) => "walltime beyond its queue's limit",
        Refusal::Bar(Bar::Users) => "user",
        Refusal::Nodes => "nodes",
        Refusal::Slots => "slots",
        Refusal::Lack(Lack::Constraint) => "constraint",
        Refusal::Lack(Lack::Gpus) => "gpus",
        Refusal::Lack(Lack::Memory) => "memory",
        Refusal::Lack(Lack::Nodes) => "nodes that satisfy it",
        Refusal::Lack(Lack::Licences) => "licences",
        Refusal::LeftOut => "no observed start",
        Refusal::Power => "power",
        Refusal::Between => "power between budgets",
    }
}
