//! Extent of a plan: how far it has to go in a pass.
//!
//! A plan lives no longer than its pass. It matters only as long as some job may start now, or a planned job is awaited
//! for a node that sleeps or may go to sleep. Queues without common nodes are planned independently, and one may be
//! done before the other.

use crate::algo::fit_list::{FitList, Place, QueueKey, Room, Waiting};
use crate::algo::node_set::NodeSet;
use crate::policy::View;
use crate::policy::sleep::named::FirstStarts;
use crate::units::SimDuration;
use crate::units::SimTime;
use crate::workload::JobId;

/// Parts of a plan that still matter.
pub(super) struct Reach {
    parts: Vec<Part>,
    /// Part of each queue; empty if there is only one part.
    of_queue: Vec<usize>,
}

/// Set of nodes that no job or queue shares with nodes outside it.
struct Part {
    nodes: NodeSet,
    /// Nodes of the part whose planned jobs are awaited.
    awaited: NodeSet,
    next: Next,
}

/// Next job that may start now alongside running and planned ones. As more is planned, fewer jobs may.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// No job up to and including this one, if given, may start.
    After(Option<QueueKey>),
    /// This job could start before more was planned.
    Could(QueueKey),
    /// This job may start, and would end at this instant.
    Is(QueueKey, SimTime),
    None,
}

impl Reach {
    /// Reach of a new plan. Queues are kept apart only if no limit on the number of planned jobs couples them.
    pub(super) fn new(view: &View<'_>, tells_queues_apart: bool, awaited: &FirstStarts) -> Self {
        let mut reach = Self { parts: Vec::new(), of_queue: Vec::new() };
        let Some(queues) = view.queues else {
            reach.parts.push(Part::new(NodeSet::full(view.platform.len())));
            reach.awaits(awaited);
            return reach;
        };
        for own in queues.sets() {
            reach.join(own, tells_queues_apart);
        }
        if reach.parts.len() > 1 {
            let part_of = |own: &NodeSet| reach.parts.iter().position(|part| part.nodes.common(own) > 0);
            reach.of_queue = queues.sets().iter().map(|own| part_of(own).unwrap_or(0)).collect();
        }
        reach.awaits(awaited);
        reach
    }

    /// Merges the nodes of a queue with the parts that they overlap.
    fn join(&mut self, own: &NodeSet, is_apart: bool) {
        let mut all = Part::new(own.clone());
        self.parts.retain(|part| {
            let stays = is_apart && part.nodes.common(own) == 0;
            if !stays {
                all.nodes.insert_set(&part.nodes);
            }
            stays
        });
        self.parts.push(all);
    }

    fn awaits(&mut self, awaited: &FirstStarts) {
        for part in &mut self.parts {
            awaited.keys().filter(|&&node| part.nodes.contains(node)).for_each(|&node| _ = part.awaited.insert(node));
        }
    }

    /// True if anything from a place on still matters: which jobs start now, or what is planned for awaited nodes.
    /// Otherwise the plan is complete.
    pub(super) fn goes_on(
        &mut self,
        view: &View<'_>,
        (queue, place, room): (&FitList, Place, Room),
        plans: bool,
        mut may_start: impl FnMut(&Waiting) -> bool,
    ) -> bool {
        for index in 0..self.parts.len() {
            let is_next = |waiting: &Waiting| self.part_of(view, waiting) == index && may_start(waiting);
            self.parts[index].next = self.parts[index].next.after(queue, (place, room), view.now, is_next);
        }
        self.parts.iter().any(|part| part.matters(plans))
    }

    /// True if it matters what is planned for a job that is next in turn.
    pub(super) fn needs(&self, view: &View<'_>, waiting: &Waiting, plans: bool) -> bool {
        let part = &self.parts[self.part_of(view, waiting)];
        part.matters(plans) && (plans || part.next.is(waiting.key))
    }

    /// True if all queues are planned together.
    pub(super) fn is_one(&self) -> bool {
        self.parts.len() == 1
    }

    /// Notes that a job had its turn and may have been planned for an instant. If it started, others may be held back.
    /// A job that may start now still may if it ends before the planned one starts.
    pub(super) fn pass(&mut self, waiting: &Waiting, found: Option<SimTime>) {
        for part in &mut self.parts {
            part.next = match part.next {
                Next::Is(key, _) if key == waiting.key => Next::After(Some(key)),
                Next::Is(key, end) if found.is_some_and(|at| at < end) => Next::Could(key),
                next => next,
            };
        }
    }

    /// Notes that the planned job of a node is no longer awaited.
    pub(super) fn settle(&mut self, node: u32) {
        self.parts.iter_mut().for_each(|part| _ = part.awaited.remove(node));
    }

    fn part_of(&self, view: &View<'_>, waiting: &Waiting) -> usize {
        let queues = view.queues.filter(|_| !self.of_queue.is_empty());
        queues.map_or(0, |queues| self.of_queue[usize::from(queues.number(JobId(waiting.key.row)))])
    }
}

impl Part {
    fn new(nodes: NodeSet) -> Self {
        Self { awaited: NodeSet::empty(nodes.capacity()), nodes, next: Next::After(None) }
    }

    fn matters(&self, plans: bool) -> bool {
        plans && !self.awaited.is_empty() || self.next != Next::None
    }
}

impl Next {
    /// True if a job is the next that may start.
    fn is(self, job: QueueKey) -> bool {
        matches!(self, Self::Is(key, _) if key == job)
    }

    /// Next job that may start now, among those from a place on.
    fn after(
        self,
        queue: &FitList,
        (place, room): (Place, Room),
        now: SimTime,
        mut is_next: impl FnMut(&Waiting) -> bool,
    ) -> Self {
        let mut place = match self {
            Self::Is(..) | Self::None => return self,
            Self::Could(key) => queue.place_of(key).unwrap_or_else(|| queue.place_after(key)),
            Self::After(key) => key.map_or(place, |key| queue.place_after(key)),
        };
        while let Some(found) = queue.first_fit(place, room)
            && let Some(waiting) = queue.get(found)
        {
            if is_next(waiting) {
                return Self::Is(waiting.key, now.saturating_add(waiting.length.max(SimDuration::TICK)));
            }
            place = queue.after(found);
        }
        Self::None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::algo::horizon::windows::{NodeReturn, What};
    use crate::algo::horizon::{Planes, Windows};
    use crate::platform::queues::{Queue, QueueColumns, Queues};
    use crate::policy::backfill::named::Memory;
    use crate::policy::backfill::named::future::Future;
    use crate::policy::backfill::named::needs::{fill_shared, groups};
    use crate::policy::backfill::named::promises::Promises;
    use crate::policy::testing::World;
    use crate::units::SimDuration;

    const NODES: u32 = 8;
    const JOBS: i64 = 24;

    /// Rows of the jobs that start now, and the first planned start on each awaited node.
    type Outcome = (Vec<u32>, BTreeMap<u32, SimTime>);

    struct Case {
        queue: FitList,
        returns: Vec<(SimTime, u32)>,
        awaited: FirstStarts,
        depth: usize,
    }

    /// Makes the plan of a pass, job by job: for all jobs, or only for those that matter.
    fn plan(view: &View<'_>, case: &Case, only_what_matters: bool) -> Outcome {
        let nodes: Vec<_> = case.returns.iter().map(|&(at, node)| (at, [node])).collect();
        let returns = nodes.iter().map(|(at, node)| NodeReturn { at: *at, nodes: node, what: What::Node(2) });
        let lent = |node| nodes.iter().any(|(_, lent)| lent[0] == node);
        let mut free = Planes::default();
        fill_shared(view, &mut free, (0..NODES).map(|node| if lent(node) { 0 } else { 2 }).collect());
        let mut windows = Windows::new(view.now, free);
        windows.give_back(groups(view), returns);
        let future = Future::whole(view, windows);
        let mut promises = Promises::new(view, future, &mut Memory::default());
        let (mut awaited, mut first) = (case.awaited.clone(), BTreeMap::<u32, SimTime>::new());
        let mut reach = Reach::new(view, case.depth > case.queue.len(), &awaited);
        let (mut place, mut planned, mut started) = (Place::FRONT, 0, Vec::new());
        while let Some(waiting) = case.queue.get(place) {
            let plans = planned < case.depth;
            if only_what_matters {
                let rest = (&case.queue, place, Room::of(i64::MAX));
                if !reach.goes_on(view, rest, plans, |waiting| promises.may_start(waiting, None)) {
                    break;
                }
            }
            place = case.queue.after(place);
            if only_what_matters && !reach.needs(view, waiting, plans) {
                continue;
            }
            let found = promises.add(waiting, if plans { SimTime::NEVER } else { view.now }, None);
            reach.pass(waiting, found);
            let Some(at) = found else { continue };
            for &node in promises.nodes() {
                let Some(&by) = awaited.get(&node) else { continue };
                let known = first.entry(node).or_insert(at);
                *known = at.min(*known);
                if at <= by {
                    awaited.remove(&node);
                    reach.settle(node);
                }
            }
            if at == view.now {
                started.push(waiting.key.row);
            } else {
                planned += 1;
            }
        }
        (started, first)
    }

    fn queues(sets: &[BTreeSet<u32>]) -> Queues {
        let queue = |nodes: &BTreeSet<u32>| Queue { nodes: nodes.iter().copied().collect(), ..Queue::default() };
        let jobs = usize::try_from(JOBS).unwrap();
        let columns = QueueColumns {
            queues: sets.iter().map(queue).collect(),
            of_job: (0..jobs).map(|job| u16::try_from(job * 7 / 3 % sets.len()).unwrap()).collect(),
            users: vec![None; jobs],
            bars: vec![None; jobs],
        };
        columns.into_queues(jobs, NODES).unwrap()
    }

    fn at(micros: i64) -> SimTime {
        SimTime::from_micros(micros)
    }

    proptest! {
        /// Twin: a plan of all jobs.
        #[test]
        fn what_does_not_matter_changes_nothing(
            sets in prop::collection::vec(prop::collection::btree_set(0..NODES, 1..4), 1..5),
            lengths in prop::collection::vec(1..30_i64, 0..24),
            returns in prop::collection::btree_map(0..NODES, 1..40_i64, 0..8),
            awaited in prop::collection::btree_map(0..NODES, 0..50_i64, 0..4),
            depth in prop_oneof![Just(usize::MAX), 0..6_usize],
        ) {
            let (world, queues) = (World::new(JOBS, NODES as usize, 2, false), queues(&sets));
            let view = View { queues: Some(&queues), ..world.view() };
            let mut queue = FitList::default();
            for (row, length) in (0..).zip(lengths) {
                let key = QueueKey { tier: 0, rank: 0, submit: at(0), row };
                let units = i64::from(view.jobs.node_count(JobId(row)) * view.jobs.need(JobId(row), view.platform));
                let length = SimDuration::from_micros(length);
                queue.insert(Waiting { key, units, length, watts: 0, class: crate::algo::fit_list::ClassId::default() });
            }
            let mut returns: Vec<_> = returns.into_iter().map(|(node, end)| (at(end), node)).collect();
            returns.sort_unstable();
            let awaited = awaited.into_iter().map(|(node, by)| (node, at(by))).collect();
            let case = Case { queue, returns, awaited, depth };
            let (all, some) = (plan(&view, &case, false), plan(&view, &case, true));
            prop_assert_eq!(&all.0, &some.0);
            // A node that is no longer awaited is not planned any further: its first start has settled the question.
            prop_assert_eq!(all.1, some.1);
        }
    }
}
