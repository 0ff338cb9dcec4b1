//! Queues: named sets of nodes with limits, and the queue of each job (operations page on machines, rules 1 to 7).
//!
//! The meaning of names is settled before: here are only numbers.

use std::sync::Arc;

use crate::algo::node_set::NodeSet;
use crate::error::{Result, config};
use crate::workload::JobId;

/// Reason why a queue never takes a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bar {
    /// It asks for more nodes than the queue has.
    Nodes,
    /// It asks for more nodes than the queue allows.
    MaxNodes,
    /// It asks for more slots in all than the queue allows.
    MaxSlots,
    /// It asks for a longer walltime than the queue allows.
    MaxWalltime,
    /// The queue does not take jobs of its user.
    Users,
}

/// A queue.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// Its nodes, ascending.
    pub nodes: Vec<u32>,
    /// Priority: queues with a higher one go first.
    pub priority: i32,
    /// Name of a separate order of the queue, if it has one.
    pub order: Option<String>,
    /// Maximum number of its jobs that run at once.
    pub max_running: Option<u32>,
    /// Maximum number of its jobs of one user that run at once.
    pub max_running_per_user: Option<u32>,
    /// True if a plan takes the emptiest nodes first, not the fullest.
    pub spreads: bool,
    /// The queues, by number, whose running jobs are preempted by jobs of this one.
    pub preempts: Vec<u16>,
}

/// Queues and jobs as a caller has them.
#[derive(Clone, Debug, Default)]
pub struct QueueColumns {
    /// The queues.
    pub queues: Vec<Queue>,
    /// The queue of each job.
    pub of_job: Vec<u16>,
    /// The number of each job's user; none where it is not known.
    pub users: Vec<Option<u32>>,
    /// For each job, the reason why its queue never takes it, if it does not.
    pub bars: Vec<Option<Bar>>,
}

/// Queues of a machine, and the queue of each job.
#[derive(Clone, Debug)]
pub struct Queues {
    columns: Arc<QueueColumns>,
    sets: Vec<NodeSet>,
    nodes: u32,
    /// The lane of each queue; empty where all jobs are in one.
    lanes: Vec<u16>,
}

/// Group of jobs with a limit on how many may run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Jobs of an array.
    Array(u32),
    /// Jobs of a queue.
    Queue(u16),
    /// Jobs of a user in a queue.
    User(u16, u32),
}

impl QueueColumns {
    /// Checks that all numbers are valid references.
    ///
    /// # Errors
    /// If one is not.
    pub fn into_queues(self, jobs: usize, nodes: u32) -> Result<Queues> {
        let count = self.queues.len();
        let holds = |queue: &Queue| {
            let ascend = queue.nodes.windows(2).all(|pair| pair[0] < pair[1]);
            let has_queues = queue.preempts.iter().all(|&other| usize::from(other) < count);
            ascend && has_queues && queue.nodes.last().is_some_and(|&last| last < nodes)
        };
        let fits = [self.of_job.len(), self.users.len(), self.bars.len()].iter().all(|&len| len == jobs)
            && self.of_job.iter().all(|&queue| usize::from(queue) < count)
            && self.queues.iter().all(holds);
        if !fits {
            return Err(config("queues", "numbers out of range", "nodes of the platform, and a queue for each job"));
        }
        let set = |queue: &Queue| {
            let mut set = NodeSet::empty(nodes);
            set.insert_all(&queue.nodes);
            set
        };
        Ok(Queues { sets: self.queues.iter().map(set).collect(), columns: Arc::new(self), nodes, lanes: Vec::new() })
    }
}

impl Queues {
    /// Number of the job's queue.
    #[must_use]
    pub fn number(&self, job: JobId) -> u16 {
        self.columns.of_job[job.0 as usize]
    }

    fn queue(&self, job: JobId) -> &Queue {
        &self.columns.queues[usize::from(self.number(job))]
    }

    /// All queues.
    #[must_use]
    pub fn all(&self) -> &[Queue] {
        &self.columns.queues
    }

    /// The nodes of the job's queue.
    #[must_use]
    pub fn nodes(&self, job: JobId) -> &NodeSet {
        &self.sets[usize::from(self.number(job))]
    }

    /// The nodes of each queue.
    #[must_use]
    pub fn sets(&self) -> &[NodeSet] {
        &self.sets
    }

    /// Rank of the job's queue among queues: jobs of a lower tier come before all others.
    #[must_use]
    pub fn tier(&self, job: JobId) -> i32 {
        -self.queue(job).priority
    }

    /// True if a plan gives the job the emptiest nodes, not the fullest.
    #[must_use]
    pub fn spreads(&self, job: JobId) -> bool {
        self.queue(job).spreads
    }

    /// True if jobs of some queue are preempted by those of another.
    #[must_use]
    pub fn preempt(&self) -> bool {
        self.all().iter().any(|queue| !queue.preempts.is_empty())
    }

    /// The queues, by number, whose running jobs are preempted by the job.
    #[must_use]
    pub fn preempted_by(&self, job: JobId) -> &[u16] {
        &self.queue(job).preempts
    }

    /// Reason why its queue never takes the job, if it does not.
    #[must_use]
    pub fn bar(&self, job: JobId) -> Option<Bar> {
        self.columns.bars[job.0 as usize]
    }

    /// Groups of the job within its queue, each with the number of its jobs that may run at once.
    #[must_use]
    pub fn limits(&self, job: JobId) -> [Option<(Group, u32)>; 2] {
        let (number, queue) = (self.number(job), self.queue(job));
        let user = self.columns.users[job.0 as usize];
        let per_user = user.zip(queue.max_running_per_user);
        [
            queue.max_running.map(|limit| (Group::Queue(number), limit)),
            per_user.map(|(user, limit)| (Group::User(number, user), limit)),
        ]
    }

    /// Distinct sets of nodes, by lowest node; and for each queue, the index of its set.
    #[must_use]
    pub fn pools(&self) -> (Vec<&[u32]>, Vec<usize>) {
        let mut sets: Vec<_> = self.all().iter().map(|queue| queue.nodes.as_slice()).collect();
        sets.sort_unstable();
        sets.dedup();
        let place = |queue: &Queue| sets.iter().position(|nodes| **nodes == queue.nodes[..]).unwrap_or_default();
        let places = self.all().iter().map(place).collect();
        (sets, places)
    }

    /// Nodes of all queues, if all have the same.
    #[must_use]
    pub fn only_pool(&self) -> Option<&[u32]> {
        match self.pools().0[..] {
            [nodes] => Some(nodes),
            _ => None,
        }
    }

    /// True if no node is in two sets that differ.
    #[must_use]
    pub fn are_disjoint(&self) -> bool {
        let mut taken = NodeSet::empty(self.nodes);
        self.pools().0.into_iter().flatten().all(|&node| taken.insert(node))
    }

    /// The same queues with a lane for each distinct set of nodes: its jobs have a head and reservations of their own.
    #[must_use]
    pub fn in_lanes(&self) -> Self {
        let of_queue = self.pools().1.into_iter();
        Self { lanes: of_queue.map(|lane| u16::try_from(lane).unwrap_or(u16::MAX)).collect(), ..self.clone() }
    }

    /// Number of lanes.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes.iter().max().map_or(1, |&last| usize::from(last) + 1)
    }

    /// The lane of a job.
    #[must_use]
    pub fn lane(&self, job: JobId) -> usize {
        self.lanes.get(usize::from(self.number(job))).map_or(0, |&lane| usize::from(lane))
    }

    /// The nodes of each lane; empty where all jobs are in one.
    #[must_use]
    pub fn lane_sets(&self) -> Vec<&[u32]> {
        if self.lanes.is_empty() { Vec::new() } else { self.pools().0 }
    }

    /// The same queues, whose jobs are all in one lane.
    #[must_use]
    pub fn in_one_lane(&self) -> Self {
        Self { lanes: Vec::new(), ..self.clone() }
    }

    /// True if all queues have all nodes: then counts of nodes suffice.
    #[must_use]
    pub fn are_whole(&self) -> bool {
        self.all().iter().all(|queue| queue.nodes.len() == self.nodes as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(nodes: &[u32]) -> Queue {
        Queue { nodes: nodes.to_vec(), ..Queue::default() }
    }

    fn columns() -> QueueColumns {
        let limited = Queue { max_running: Some(3), max_running_per_user: Some(1), priority: 7, ..queue(&[2, 3]) };
        QueueColumns {
            queues: vec![limited, queue(&[0, 1]), queue(&[2, 3])],
            of_job: vec![0, 0, 1],
            users: vec![Some(4), None, Some(4)],
            bars: vec![None, Some(Bar::Users), None],
        }
    }

    #[test]
    fn pools_are_the_distinct_sets_by_lowest_node() {
        let queues = columns().into_queues(3, 5).unwrap();
        assert_eq!(queues.pools(), (vec![&[0, 1][..], &[2, 3]], vec![1, 0, 1]));
        assert!(!queues.are_whole());
        assert_eq!(queues.only_pool(), None);
        assert_eq!((queues.lanes(), queues.lane(JobId(2)), queues.lane_sets()), (1, 0, vec![]));
        assert!(queues.are_disjoint());
        let queues = queues.in_lanes();
        assert_eq!((queues.lanes(), queues.lane_sets()), (2, vec![&[0, 1][..], &[2, 3]]));
        assert_eq!([0, 2].map(|row| queues.lane(JobId(row))), [1, 0]);
        let overlapping = QueueColumns { queues: vec![queue(&[0, 1]), queue(&[1, 2]), queue(&[4])], ..columns() };
        assert!(!overlapping.into_queues(3, 5).unwrap().are_disjoint());
    }

    #[test]
    fn the_only_pool_has_the_nodes_of_every_queue() {
        let queues = QueueColumns { queues: vec![queue(&[2, 3]); 3], ..columns() }.into_queues(3, 5).unwrap();
        assert_eq!(queues.only_pool(), Some(&[2, 3][..]));
    }

    #[test]
    fn a_job_is_held_to_the_limits_of_its_queue() {
        let queues = columns().into_queues(3, 5).unwrap();
        assert_eq!(queues.limits(JobId(0)), [Some((Group::Queue(0), 3)), Some((Group::User(0, 4), 1))]);
        assert_eq!(queues.limits(JobId(1)), [Some((Group::Queue(0), 3)), None], "of an unknown user");
        assert_eq!(queues.limits(JobId(2)), [None, None]);
        assert_eq!([0, 2].map(|row| queues.tier(JobId(row))), [-7, 0]);
        assert_eq!(queues.bar(JobId(1)), Some(Bar::Users));
        assert!(!queues.preempt());
    }

    #[test]
    fn numbers_that_name_nothing_are_refused() {
        for wrong in [
            QueueColumns { of_job: vec![0, 0, 3], ..columns() },
            QueueColumns { users: vec![], ..columns() },
            QueueColumns { queues: vec![queue(&[0, 5]); 3], ..columns() },
            QueueColumns { queues: vec![queue(&[]); 3], ..columns() },
            QueueColumns { queues: vec![Queue { preempts: vec![3], ..queue(&[0]) }; 3], ..columns() },
        ] {
            assert!(wrong.into_queues(3, 5).is_err());
        }
    }
}
