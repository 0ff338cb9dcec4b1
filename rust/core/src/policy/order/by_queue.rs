//! Order by queue: that of the job's queue if it has one, else that of the policy (operations page on machines, rule
//! 4).

use std::sync::Arc;

use crate::error::Result;
use crate::platform::queues::Queues;
use crate::policy::analyzer::Ask;
use crate::policy::order::{Changes, Order};
use crate::policy::recollection::Recollection;
use crate::policy::usage::Use;
use crate::units::SimTime;
use crate::workload::JobId;

/// An order per queue. Queues of one priority have one order, so that no two ranks of different orders are ever
/// compared.
#[derive(Clone)]
pub struct ByQueue {
    policy: Box<dyn Order>,
    own: Vec<Option<Box<dyn Order>>>,
    queues: Arc<Queues>,
    /// Ranks by one of the orders. Kept to reuse the allocation.
    ranks: Vec<i64>,
}

impl ByQueue {
    /// Combines the policy's order with those of queues that have an order, by number.
    #[must_use]
    pub fn new(policy: Box<dyn Order>, own: Vec<Option<Box<dyn Order>>>, queues: Arc<Queues>) -> Self {
        Self { policy, own, queues, ranks: Vec::new() }
    }
}

/// Method of an order that ranks some jobs.
type Rank = fn(&mut dyn Order, &Ask<'_>, &[JobId], &mut Vec<i64>) -> Result<()>;

impl ByQueue {
    /// Ranks each job by the order of its queue.
    fn rank_each(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>, rank: Rank) -> Result<()> {
        let Self { policy, own, queues, ranks: some } = self;
        let first = ranks.len();
        ranks.resize(first + jobs.len(), 0);
        let is_of = |order: Option<usize>, job: JobId| {
            let number = usize::from(queues.number(job));
            order.map_or(own[number].is_none(), |order| number == order)
        };
        let orders = std::iter::once(None).chain((0..own.len()).filter(|&number| own[number].is_some()).map(Some));
        let parts: Vec<(Option<usize>, Vec<usize>)> =
            orders.map(|order| (order, (0..jobs.len()).filter(|&place| is_of(order, jobs[place])).collect())).collect();
        for (order, places) in parts.into_iter().filter(|(_, places)| !places.is_empty()) {
            let order = order.and_then(|number| own[number].as_mut()).unwrap_or(policy);
            let theirs: Vec<_> = places.iter().map(|&place| jobs[place]).collect();
            some.clear();
            rank(order.as_mut(), ask, &theirs, some)?;
            for (place, rank) in places.into_iter().zip(&*some) {
                ranks[first + place] = *rank;
            }
        }
        Ok(())
    }
}

impl Order for ByQueue {
    fn rank(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        self.rank_each(ask, jobs, ranks, |order, ask, jobs, ranks| order.rank(ask, jobs, ranks))
    }

    fn rank_queued(&mut self, ask: &Ask<'_>, jobs: &[JobId], ranks: &mut Vec<i64>) -> Result<()> {
        self.rank_each(ask, jobs, ranks, |order, ask, jobs, ranks| order.rank_queued(ask, jobs, ranks))
    }

    fn holds(&mut self, ask: &Ask<'_>, joining: &[JobId]) -> bool {
        let Self { policy, own, queues, .. } = self;
        let joining: Vec<_> =
            joining.iter().copied().filter(|&job| own[usize::from(queues.number(job))].is_none()).collect();
        policy.holds(ask, &joining)
    }

    fn grow(&mut self, queues: &Arc<Queues>) {
        self.queues = Arc::clone(queues);
    }

    fn changes(&self) -> Changes {
        self.policy.changes()
    }

    fn is_as_observed(&self) -> bool {
        self.policy.is_as_observed()
    }

    fn follows(&self) -> bool {
        self.policy.follows()
    }

    fn group(&mut self, groups: &Arc<[u32]>) {
        self.policy.group(groups);
    }

    fn follow(&mut self, uses: &[Use]) {
        self.policy.follow(uses);
    }

    fn remember(&self, kept: &mut Recollection) {
        self.policy.remember(kept);
    }

    fn recall(&mut self, now: SimTime, kept: &Recollection) {
        self.policy.recall(now, kept);
    }
}
