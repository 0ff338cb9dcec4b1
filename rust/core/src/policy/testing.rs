//! A small machine at an instant, for the unit tests of this folder.

use crate::cluster::capacity::Capacities;
use crate::cluster::nodes::{NodeStates, Nodes};
use crate::cluster::runs::Runs;
use crate::platform::outages::Outages;
use crate::platform::{Platform, PlatformColumns};
use crate::policy::{Jobs, View};
use crate::power::budgets::Budgets;
use crate::power::pvt::{OnUnknownApp, Predicted, tables};
use crate::units::{SimTime, Watts};
use crate::workload::{JobColumns, Workload};

/// Owner of everything that a view borrows.
pub(super) struct World {
    workload: Workload,
    platform: Platform,
    capacity: Capacities,
    nodes: Nodes,
    predicted: Predicted,
    budgets: Budgets,
    outages: Outages,
    runs: Runs,
}

impl World {
    /// Jobs of 1, 2, 3, 1, 2, 3 … nodes, and of as many slots where nodes are shared, on idle nodes of 100 W idle and 300 W
    /// busy.
    pub(super) fn new(jobs: i64, nodes: usize, slots: i64, exclusive: bool) -> Self {
        let platform = PlatformColumns {
            idle_w: vec![100.0; nodes],
            busy_w: vec![300.0; nodes],
            tdp_w: vec![300.0; nodes],
            off_w: vec![0.0; nodes],
            down_w: vec![0.0; nodes],
            boot_w: vec![0.0; nodes],
            boot_s: vec![0.0; nodes],
            shutdown_w: vec![0.0; nodes],
            shutdown_s: vec![0.0; nodes],
            slots: vec![slots; nodes],
            exclusive,
        };
        let columns = JobColumns {
            job_id: (1..=jobs).collect(),
            submit_s: vec![0.0; usize::try_from(jobs).unwrap()],
            runtime_s: vec![10.0; usize::try_from(jobs).unwrap()],
            node_count: [1, 2, 3].into_iter().cycle().take(usize::try_from(jobs).unwrap()).collect(),
            slots: (0..jobs).map(|job| 1 + job % slots).collect(),
            source: "test".into(),
            ..JobColumns::default()
        };
        let (platform, workload) = (platform.into_platform().unwrap(), columns.into_workload().unwrap());
        let (_, predicted) = tables(&platform, &workload, None, None, OnUnknownApp::Error).unwrap();
        Self {
            workload,
            nodes: Nodes::idle(platform.len() as usize, !exclusive),
            capacity: Capacities::whole(platform.len(), platform.shared_slots()),
            predicted,
            platform,
            budgets: Budgets::default(),
            outages: Outages::default(),
            runs: Runs::default(),
        }
    }

    pub(super) fn platform(&self) -> &Platform {
        &self.platform
    }

    pub(super) fn view(&self) -> View<'_> {
        View {
            now: SimTime::default(),
            jobs: Jobs::new(&self.workload),
            platform: &self.platform,
            capacity: &self.capacity,
            only: None,
            slots: self.capacity.machine().slots(),
            nodes: NodeStates::new(&self.nodes, self.capacity.machine().slots(), &self.runs),
            standby: None,
            runs: &self.runs,
            releases: self.capacity.machine().releases(),
            predicted: &self.predicted,
            claimed: Watts::ZERO,
            saved: Watts::ZERO,
            is_held: false,
            budgets: &self.budgets,
            outages: &self.outages,
            surplus: Watts::ZERO,
            withheld: Watts::ZERO,
            shares: None,
            queues: None,
            interrupted: &|| false,
        }
    }
}
