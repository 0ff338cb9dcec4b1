//! View of a cluster: the data that a policy may read when it decides.

use crate::algo::releases::Releases;
use crate::cluster::Cluster;
use crate::cluster::capacity::{Capacities, Lane};
use crate::cluster::jobs::Jobs;
use crate::cluster::nodes::NodeStates;
use crate::cluster::runs::{Run, Runs};
use crate::cluster::shares::Shares;
use crate::cluster::standby::{Comeback, Return, Standby};
use crate::platform::Platform;
use crate::platform::node_state::NodeState;
use crate::platform::outages::Outages;
use crate::platform::queues::Queues;
use crate::platform::slots::Slots;
use crate::power::budgets::Budgets;
use crate::power::in_force::DrawProfile;
use crate::power::known::KnownDraw;
use crate::power::pvt::Predicted;
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

/// The data that a policy may read when it decides.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The instant of the decision.
    pub now: SimTime,
    /// The jobs.
    pub jobs: Jobs<'a>,
    /// The machine.
    pub platform: &'a Platform,
    /// Capacity of the machine and of its lanes.
    pub capacity: &'a Capacities,
    /// Lane that the view is about, which a policy schedules as if it were the machine; none: the machine.
    pub only: Option<usize>,
    /// Free slots of each node.
    pub slots: &'a Slots,
    /// State of each node.
    pub nodes: NodeStates<'a>,
    /// Nodes on standby, if the policy switches nodes off.
    pub standby: Option<&'a Standby>,
    /// Runs, including suspended ones.
    pub runs: &'a Runs,
    /// Releases: planned ends of running jobs and their claims, in the worst case that the policy may cause short of an
    /// emergency.
    pub releases: &'a Releases,
    /// Predicted draws and speeds.
    pub predicted: &'a Predicted,
    /// Watts that all running jobs claim beyond the idle machine: the sum of their least watts.
    pub claimed: Watts,
    /// Watts by which nodes that are off or in transition hold less than idle ones.
    pub saved: Watts,
    /// True while recovery from an emergency is incomplete, so that nothing may start.
    pub is_held: bool,
    /// Budgets from outside, present and to come, which replace the policy's own while they hold.
    pub budgets: &'a Budgets,
    /// Nodes that are out of service, and known outages to come.
    pub outages: &'a Outages,
    /// Measured draw of the machine above the predicted one; 0 if nothing is measured.
    pub surplus: Watts,
    /// Watts above their least that runs resumed in this pass asked for: withheld from starts of the pass.
    pub withheld: Watts,
    /// Parts of each cell and licence that running jobs hold, if nodes differ in what jobs ask for.
    pub shares: Option<&'a Shares>,
    /// The queues, if there are any.
    pub queues: Option<&'a Queues>,
    /// Returns true if the host wants to stop. Passes that take long call it now and then.
    pub interrupted: &'a dyn Fn() -> bool,
}

impl<'a> View<'a> {
    /// Nodes that plans have back, by number, where plans name nodes.
    #[must_use]
    pub fn comebacks(&self) -> &'a [Comeback] {
        self.standby.map_or(&[], Standby::comebacks)
    }

    /// Counts of nodes that plans have back, by instant and cell, where plans count nodes.
    #[must_use]
    pub fn returns(&self) -> &'a [Return] {
        self.standby.map_or(&[], Standby::returns)
    }
}

impl<'a> View<'a> {
    /// View of one of the lanes.
    #[must_use]
    pub fn within(self, lane: usize) -> Self {
        let seen = self.capacity.lanes()[lane].capacity();
        Self { only: Some(lane), slots: seen.slots(), standby: seen.standby(), releases: seen.releases(), ..self }
    }

    /// The nodes that the view is about, ascending.
    pub fn own_nodes(&self) -> impl Iterator<Item = u32> + Clone + use<'a> {
        let own = self.own_lane().map(Lane::nodes);
        (0..self.platform.len()).filter(move |&node| own.is_none_or(|own| own.contains(node)))
    }

    /// Number of nodes that the view is about.
    #[must_use]
    pub fn node_count(&self) -> u32 {
        self.own_lane().map_or(self.platform.len(), |lane| lane.nodes().len())
    }

    /// Number of units that the view is about: nodes, or slots where nodes are shared.
    #[must_use]
    pub fn units(&self) -> i64 {
        i64::from(self.node_count()) * i64::from(self.platform.shared_slots())
    }

    fn own_lane(&self) -> Option<&'a Lane> {
        self.only.map(|lane| &self.capacity.lanes()[lane])
    }
}

impl View<'_> {
    /// Tier of the job's queue: jobs of lower tiers come before all others.
    #[must_use]
    pub fn tier(&self, job: JobId) -> i32 {
        self.queues.map_or(0, |queues| queues.tier(job))
    }

    /// Number of lanes: sets of nodes whose jobs have heads and reservations of their own.
    #[must_use]
    pub fn lanes(&self) -> usize {
        if self.only.is_some() { 1 } else { self.queues.map_or(1, Queues::lanes) }
    }

    /// The lane of the job.
    #[must_use]
    pub fn lane(&self, job: JobId) -> usize {
        if self.only.is_some() { 0 } else { self.queues.map_or(0, |queues| queues.lane(job)) }
    }

    /// Fewest and most nodes the job can run on here.
    #[must_use]
    pub fn size_range(&self, job: JobId) -> (u32, u32) {
        let (low, high) = self.jobs.size_range(job);
        (low, if low < high { high.min(self.node_count()).max(low) } else { high })
    }

    /// Instant at which a node that boots or shuts down has done so, and the watts that it holds less from then on.
    #[must_use]
    pub fn settles(&self, node: u32) -> Option<(SimTime, Watts)> {
        let (state, draw) = (self.nodes[node as usize], self.platform.node(node));
        let (until, then) = match state {
            NodeState::Booting { until } => (until, NodeState::Idle),
            NodeState::ShuttingDown { until } => (until, NodeState::Off),
            _ => return None,
        };
        Some((until, draw.held(state) - draw.held(then)))
    }

    /// Planned length of a whole run, by what is believed of it.
    #[must_use]
    pub fn planned_length(&self, run: &Run) -> SimDuration {
        self.jobs.planned_among(run.job, self.predicted, self.runs.nodes(run))
    }

    /// Known draw of the job before it runs; its real draw is hidden from policies.
    #[must_use]
    pub fn known_draw(&self, job: JobId) -> KnownDraw {
        self.jobs.known_draw(self.predicted, job)
    }

    /// Profile of the job from which its caps are made.
    #[must_use]
    pub fn profile(&self, job: JobId) -> DrawProfile {
        self.jobs.profile(self.predicted, job)
    }

    /// Share of the watts of whole nodes for the slots that a job holds of each.
    #[must_use]
    pub fn held(&self, job: JobId, whole: Watts) -> Watts {
        self.jobs.held(job, self.platform, whole)
    }
}

impl Cluster {
    /// View of the cluster for a policy; `surplus` is the measured draw above the predicted one.
    #[must_use]
    pub fn view<'a>(&'a self, surplus: Watts, interrupted: &'a dyn Fn() -> bool) -> View<'a> {
        let seen = self.capacity.seen();
        View {
            capacity: &self.capacity,
            only: self.capacity.shown(),
            now: self.now,
            jobs: self.jobs(),
            platform: &self.platform,
            slots: seen.slots(),
            nodes: self.states(),
            standby: seen.standby(),
            runs: &self.runs,
            releases: self.foreseen.as_ref().unwrap_or(seen.releases()),
            predicted: &self.predicted,
            claimed: self.claimed,
            saved: self.saved,
            is_held: false,
            budgets: &self.budgets,
            outages: &self.outages,
            surplus,
            withheld: Watts::ZERO,
            shares: self.shares.as_ref(),
            queues: self.queues.as_deref(),
            interrupted,
        }
    }
}
