//! Lanes of a cluster: policies see the machine, its only lane, or each of its lanes.

use std::sync::Arc;

use crate::algo::node_set::NodeSet;
use crate::cluster::Cluster;
use crate::cluster::beliefs::SlowestOfLane;
use crate::cluster::capacity::Sight;
use crate::cluster::standby::Expected;
use crate::platform::queues::Queues;
use crate::power::slowest::{OwnSlowdowns, Slowest};

impl Cluster {
    /// Keeps a capacity for each lane of these queues from now on, if policies see lanes.
    pub fn split(&mut self, queues: &Arc<Queues>, sight: Sight) {
        if sight != Sight::Whole {
            self.capacity.split(queues, sight, self.now, &self.platform);
            self.find_slowdowns();
        }
    }

    /// Finds the slowdowns on the slowest nodes: those by jobs' own caps and, if walltimes are meant for nominal speed,
    /// those by applications.
    pub(super) fn find_slowdowns(&mut self) {
        let lanes: Vec<_> = self.capacity.lanes().iter().map(|lane| lane.nodes().clone()).collect();
        let sets = if lanes.is_empty() { vec![NodeSet::full(self.platform.len())] } else { lanes };
        let Self { capacity, predicted, workload, .. } = self;
        let queues = capacity.queues().cloned();
        let set_of = |job| queues.as_ref().map_or(0, |queues| queues.lane(job));
        self.beliefs.own_caps = Some(Arc::new(OwnSlowdowns::new(predicted, workload, &sets, set_of)));
        if self.beliefs.slowest.is_some() {
            let of_set = |set: &NodeSet| Slowest::new(predicted, set, workload.app_names().len());
            self.beliefs.slowest = Some(Arc::new(SlowestOfLane::new(sets.iter().map(of_set).collect(), queues)));
        }
    }

    /// Lanes that are scheduled one by one, by number; one `None` if the machine, or the lane shown, is.
    pub fn scheduled(&self) -> impl Iterator<Item = Option<usize>> + use<> {
        let is_each = self.capacity.sight() == Sight::EachLane;
        let lanes = if is_each { self.capacity.lanes().len() } else { 0 };
        (!is_each).then_some(None).into_iter().chain((0..lanes).map(Some))
    }

    /// Returns an empty [`Expected`] for a lane, which reuses the memory of the last one.
    pub fn begin_expecting(&mut self, lane: Option<usize>) -> Expected {
        self.capacity.begin_expecting(lane.or(self.capacity.shown()))
    }

    /// Sets the nodes of a lane that plans expect back from standby; with `counts` also the releases for plans that count
    /// nodes.
    pub fn expect(&mut self, lane: Option<usize>, expected: Expected, counts: bool) {
        self.capacity.expect(lane.or(self.capacity.shown()), expected, counts);
    }
}
