//! What a pass decides.

use std::ops::Range;

use crate::algo::span::Span;
use crate::cluster::counted::Estimate;
use crate::cluster::runs::RunId;
use crate::power::in_force::Allotted;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Start a job.
    Start(Start),
    /// Switch nodes on.
    Wake(Span),
    /// Switch nodes off.
    Sleep(Span),
    /// Tell me when it is this late: makes a pass at that instant.
    Timer(SimTime),
    /// Never start a job of the queue.
    Reject(JobId, Rejection),
    /// Let a job that waits run on so many nodes.
    Size(JobId, u32),
    /// Set the allocator's caps on a run, which is predicted to draw so much beyond idle under them.
    Allot(RunId, Allotted, Watts),
    /// Set the emergency's cap on a run, W a node; infinity: none.
    Limit(RunId, f64),
    /// Have a run stand still on its nodes.
    Suspend(RunId),
    /// Have it go on.
    Resume(RunId),
    /// End a run whose work is lost; its job is queued again.
    Requeue(RunId),
    /// End a run for good.
    Kill(RunId),
    /// Have a run go on on more or fewer nodes.
    Resize(Resize),
}

/// A run that is to go on on so many nodes; those that it gets beside its own are in [`Decisions::added_by`].
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    /// Which run.
    pub id: RunId,
    /// On how many nodes; of fewer than it has it keeps those with the lowest numbers.
    pub nodes: u32,
    first_node: usize,
    node_count: usize,
}

/// Why a policy never starts a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It fits the budget only once its application has a profile, and no queued job can give it one.
    NoProfile,
    /// It fits no budget that is to come, on whatever nodes.
    Power,
}

/// A job to start, with its nodes in [`Decisions::nodes_of`].
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Which job.
    pub job: JobId,
    /// Whether an earlier job in policy order stays in the queue.
    pub overtakes: bool,
    /// How many times longer the run takes because it is profiled, if it is.
    pub profiling_ratio: Option<f64>,
    /// Watts beyond idle that the start was granted; 0 where the policy counts none.
    pub granted: Watts,
    /// What the run claims of the watts: something else than it was granted where its start has taught something.
    pub claim: Watts,
    /// What the run counts with from now on.
    pub basis: Basis,
    first_node: usize,
    node_count: usize,
}

/// What a running job counts with where power is counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Basis {
    /// The lowest that the allocator may set.
    pub least: Allotted,
    /// What its draw is taken for.
    pub estimate: Estimate,
}

/// The decisions of one pass, in the order in which they are to be carried out.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    list: Vec<Decision>,
    pub(crate) nodes: Vec<u32>,
}

impl Decisions {
    /// Forgets all decisions, keeping the memory.
    pub fn clear(&mut self) {
        self.list.clear();
        self.nodes.clear();
    }

    /// Whether nothing is to be done.
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

    /// Starts a job as another list of decisions does, on nodes that are counted otherwise here.
    pub fn start_as(&mut self, start: Start, nodes: impl Iterator<Item = u32>) {
        let first_node = self.nodes.len();
        self.nodes.extend(nodes);
        self.list.push(Decision::Start(Start { first_node, node_count: self.nodes.len() - first_node, ..start }));
    }

    /// Has a run go on on so many nodes, with those beside its own that are told.
    pub fn resize(&mut self, id: RunId, nodes: u32, added: impl Iterator<Item = u32>) {
        let first_node = self.nodes.len();
        self.nodes.extend(added);
        self.list.push(Decision::Resize(Resize { id, nodes, first_node, node_count: self.nodes.len() - first_node }));
    }

    /// The nodes that a run gets beside its own.
    #[must_use]
    pub fn added_by(&self, resize: &Resize) -> &[u32] {
        &self.nodes[resize.first_node..resize.first_node + resize.node_count]
    }

    /// Hands each start with its nodes to `revise`, to note in it what only the end of a pass can tell.
    pub fn revise(&mut self, mut revise: impl FnMut(&mut Start, &[u32])) {
        let Self { list, nodes } = self;
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

    /// The nodes of all starts but those among the first `len` decisions.
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

    /// Has a job of the queue never start.
    pub fn reject(&mut self, job: JobId, why: Rejection) {
        self.list.push(Decision::Reject(job, why));
    }

    /// Asks for a pass at `at`.
    pub fn timer(&mut self, at: SimTime) {
        self.list.push(Decision::Timer(at));
    }

    /// Has something done with a run.
    pub fn push(&mut self, decision: Decision) {
        self.list.push(decision);
    }
}
