//! Decisions of a pass.

use std::ops::Range;

use crate::algo::span::Span;
use crate::cluster::counted::Basis;
use crate::cluster::runs::RunId;
use crate::power::in_force::Allotted;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// One decision.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Start a job.
    Start(Start),
    /// Switch nodes on.
    Wake(Span),
    /// Switch nodes off.
    Sleep(Span),
    /// Make a pass at that instant.
    Timer(SimTime),
    /// Never start a job of the queue.
    Reject(JobId, Rejection),
    /// Set the size of a waiting job, in nodes.
    Size(JobId, u32),
    /// Set the allocator's caps on a run, with its predicted draw beyond idle under them.
    Allot(RunId, Allotted, Watts),
    /// Set the emergency's cap on a run, W per node; infinity: none.
    Limit(RunId, f64),
    /// Suspend a run on its nodes.
    Suspend(RunId),
    /// Resume a suspended run.
    Resume(RunId),
    /// End a run, losing its work, and requeue its job.
    Requeue(RunId),
    /// End a run for good.
    Kill(RunId),
    /// End a run for good, as it has passed its limit.
    TimeOut(RunId),
    /// Continue a run on more or fewer nodes.
    Resize(Resize),
}

/// A run that is to continue on so many nodes; the added ones are in [`Decisions::added_by`].
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    /// The run.
    pub id: RunId,
    /// Its new number of nodes; a run that shrinks keeps those with the lowest numbers.
    pub nodes: u32,
    first_node: usize,
    node_count: usize,
}

/// Reason for which a policy never starts a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It fits the budget only once its application has a profile, and no queued job can give it one.
    NoProfile,
    /// It fits no budget to come on any nodes.
    Power,
}

/// A job to start, with its nodes in [`Decisions::nodes_of`].
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// The job.
    pub job: JobId,
    /// True if an earlier job in policy order stays in the queue.
    pub overtakes: bool,
    /// Factor by which profiling lengthens the run, if it is profiled.
    pub profiling_ratio: Option<f64>,
    /// Watts beyond idle that the start was granted; 0 if the policy counts none.
    pub granted: Watts,
    /// Watts that the run claims. They differ from those granted if the start itself has given the policy new
    /// knowledge.
    pub claim: Watts,
    /// Basis on which the run's watts are counted from now on.
    pub basis: Basis,
    first_node: usize,
    node_count: usize,
}

/// The decisions of one pass, in the order in which they are to be carried out.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    list: Vec<Decision>,
    holds: bool,
    pub(crate) nodes: Vec<u32>,
}

impl Decisions {
    /// Forgets all decisions, keeping the memory.
    pub fn clear(&mut self) {
        self.list.clear();
        self.nodes.clear();
        self.holds = false;
    }

    /// Holds the starts and resizes of this pass.
    pub fn hold(&mut self) {
        self.holds = true;
    }

    /// True if the starts and resizes of this pass are held.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// True if there are no decisions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The decisions so far.
    #[must_use]
    pub fn list(&self) -> &[Decision] {
        &self.list
    }

    /// The nodes of a start.
    #[must_use]
    pub fn nodes_of(&self, start: &Start) -> &[u32] {
        &self.nodes[start.first_node..start.first_node + start.node_count]
    }

    /// Starts `job` on the nodes that `choose` appends.
    pub fn start_with(&mut self, job: JobId, choose: impl FnOnce(&mut Vec<u32>)) {
        let first_node = self.nodes.len();
        choose(&mut self.nodes);
        self.start_on(job, first_node..self.nodes.len(), Watts::ZERO);
    }

    /// Starts `job` on nodes that were appended, which take `watts` beyond idle.
    pub(crate) fn start_on(&mut self, job: JobId, nodes: Range<usize>, watts: Watts) {
        self.list.push(Decision::Start(Start {
            job,
            overtakes: false,
            profiling_ratio: None,
            granted: watts,
            claim: watts,
            basis: Basis::default(),
            first_node: nodes.start,
            node_count: nodes.len(),
        }));
    }

    /// Adds the decisions of another list, in their order.
    pub fn append(&mut self, other: &Self) {
        let before = self.nodes.len();
        self.nodes.extend(&other.nodes);
        self.holds |= other.holds;
        self.list.extend(other.list.iter().cloned().map(|decision| match decision {
            Decision::Start(start) => Decision::Start(Start { first_node: before + start.first_node, ..start }),
            Decision::Resize(resize) => Decision::Resize(Resize { first_node: before + resize.first_node, ..resize }),
            decision => decision,
        }));
    }

    /// Resizes a run to so many nodes, with those in `added` if it grows.
    pub fn resize(&mut self, id: RunId, nodes: u32, added: impl Iterator<Item = u32>) {
        let first_node = self.nodes.len();
        self.nodes.extend(added);
        self.list.push(Decision::Resize(Resize { id, nodes, first_node, node_count: self.nodes.len() - first_node }));
    }

    /// The nodes that are added to a run.
    #[must_use]
    pub fn added_by(&self, resize: &Resize) -> &[u32] {
        &self.nodes[resize.first_node..resize.first_node + resize.node_count]
    }

    /// Passes each start with its nodes to `revise`, which sets what is only known at the end of a pass.
    pub fn revise(&mut self, mut revise: impl FnMut(&mut Start, &[u32])) {
        let Self { list, nodes, .. } = self;
        for decision in list {
            if let Decision::Start(start) = decision {
                let own = start.first_node..start.first_node + start.node_count;
                revise(start, &nodes[own]);
            }
        }
    }

    /// The starts so far.
    #[must_use]
    pub fn starts(&self) -> impl DoubleEndedIterator<Item = &Start> {
        self.list.iter().filter_map(|decision| match decision {
            Decision::Start(start) => Some(start),
            _ => None,
        })
    }

    /// The nodes of all starts after the first `len` decisions.
    pub(crate) fn nodes_since(&self, len: usize) -> &[u32] {
        let first = self.list[len..].iter().find_map(|decision| match decision {
            Decision::Start(start) => Some(start.first_node),
            _ => None,
        });
        &self.nodes[first.unwrap_or(self.nodes.len())..]
    }

    /// Takes back all but the first `len` decisions; `give_back` gets the nodes of starts.
    pub(crate) fn truncate(&mut self, len: usize, mut give_back: impl FnMut(JobId, u32)) {
        for decision in self.list.drain(len..) {
            if let Decision::Start(start) = decision {
                let own = start.first_node..start.first_node + start.node_count;
                self.nodes[own].iter().for_each(|&node| give_back(start.job, node));
            }
        }
        let end = |start: &Start| start.first_node + start.node_count;
        let left = self.starts().next_back().map_or(0, end);
        self.nodes.truncate(left);
    }

    /// Switches a node on.
    pub fn wake(&mut self, node: u32) {
        if let Some(Decision::Wake(nodes)) = self.list.last_mut()
            && nodes.extend(node)
        {
            return;
        }
        self.list.push(Decision::Wake(Span::of(node)));
    }

    /// Switches a node off.
    pub fn sleep(&mut self, node: u32) {
        if let Some(Decision::Sleep(nodes)) = self.list.last_mut()
            && nodes.extend(node)
        {
            return;
        }
        self.list.push(Decision::Sleep(Span::of(node)));
    }

    /// Rejects a queued job for good.
    pub fn reject(&mut self, job: JobId, why: Rejection) {
        self.list.push(Decision::Reject(job, why));
    }

    /// Asks for a pass at `at`.
    pub fn timer(&mut self, at: SimTime) {
        self.list.push(Decision::Timer(at));
    }

    /// Adds a decision about a run.
    pub fn push(&mut self, decision: Decision) {
        self.list.push(decision);
    }
}
