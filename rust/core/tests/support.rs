//! Small runs for the tests beside this folder.

#![allow(dead_code, reason = "each test file uses its part")]

use std::ops::ControlFlow;

use hetsched_core::error::Result;
use hetsched_core::params::Value;
use hetsched_core::platform::{Platform, PlatformColumns};
use hetsched_core::policy::compose::{Composed, Parts};
use hetsched_core::policy::registry::{PartSpec, PolicySpec, chooses_nodes};
use hetsched_core::policy::{Policy, backfill::Backfill};
use hetsched_core::power::pvt::{OnUnknownApp, VariationTable, tables};
use hetsched_core::sim::record::Records;
use hetsched_core::sim::{Options, Simulation};
use hetsched_core::workload::{JobColumns, ObservedColumns, Workload};

/// A job: submit, runtime, nodes, walltime (0 = none), slots (0 = whole nodes).
pub(crate) type Job = (u8, u8, u8, u8, u8);

pub(crate) fn workload(jobs: &[Job]) -> Workload {
    workload_drawing(jobs, &[])
}

/// The same jobs, each with its own draw in watts a node, if any are given.
fn workload_drawing(jobs: &[Job], power_w: &[f64]) -> Workload {
    let column = |field: fn(&Job) -> u8| jobs.iter().map(|job| f64::from(field(job))).collect::<Vec<_>>();
    let columns = JobColumns {
        job_id: (1..).take(jobs.len()).collect(),
        submit_s: column(|job| job.0),
        runtime_s: column(|job| job.1),
        node_count: jobs.iter().map(|job| i32::from(job.2)).collect(),
        walltime_s: column(|job| job.3),
        slots: jobs.iter().map(|job| i64::from(job.4)).collect(),
        observed: ObservedColumns {
            start_s: (0..).zip(jobs).map(|(row, job)| f64::from(job.0) + f64::from(row % 4)).collect(),
            ..ObservedColumns::default()
        },
        app: (0..).take(jobs.len()).map(|row: i32| row % 3 - 1).collect(),
        app_names: vec!["a".into(), "b".into()],
        power_w: power_w.to_vec(),
        source: "test".into(),
        ..JobColumns::default()
    };
    columns.into_workload().expect("the jobs are in order")
}

/// Nodes that draw 100 W idle, 300 W busy, 10 W off, 150 W in transition and 5 W down; 20 s to boot, 10 s to shut down.
pub(crate) fn platform(nodes: usize, slots: i64, exclusive: bool) -> Platform {
    let columns = PlatformColumns {
        idle_w: (0..nodes).map(|node| 100.0 + 0.1 * node as f64).collect(),
        busy_w: vec![300.0; nodes],
        tdp_w: vec![300.0; nodes],
        off_w: vec![10.0; nodes],
        down_w: vec![5.0; nodes],
        boot_w: vec![150.0; nodes],
        boot_s: vec![20.0; nodes],
        shutdown_w: vec![150.0; nodes],
        shutdown_s: vec![10.0; nodes],
        slots: vec![slots; nodes],
        exclusive,
    };
    columns.into_platform().expect("the platform is in order")
}

/// Nodes that shut down and boot in no time.
pub(crate) fn platform_that_turns_at_once(nodes: usize) -> Platform {
    let columns = PlatformColumns {
        idle_w: vec![100.0; nodes],
        busy_w: vec![300.0; nodes],
        tdp_w: vec![300.0; nodes],
        off_w: vec![10.0; nodes],
        down_w: vec![5.0; nodes],
        boot_w: vec![100.0; nodes],
        boot_s: vec![0.0; nodes],
        shutdown_w: vec![100.0; nodes],
        shutdown_s: vec![0.0; nodes],
        slots: vec![1; nodes],
        exclusive: true,
    };
    columns.into_platform().expect("the platform is in order")
}

/// The same nodes, all alike and for one job each.
pub(crate) fn platform_alike(nodes: usize) -> Platform {
    let columns = PlatformColumns {
        idle_w: vec![100.0; nodes],
        busy_w: vec![300.0; nodes],
        tdp_w: vec![300.0; nodes],
        off_w: vec![10.0; nodes],
        down_w: vec![5.0; nodes],
        boot_w: vec![150.0; nodes],
        boot_s: vec![20.0; nodes],
        shutdown_w: vec![150.0; nodes],
        shutdown_s: vec![10.0; nodes],
        slots: vec![3; nodes],
        exclusive: true,
    };
    columns.into_platform().expect("the platform is in order")
}

/// A table in which both applications vary by node, in watts and in time.
pub(crate) fn table(nodes: usize) -> VariationTable {
    let cells = |scale: f64, base: f64| -> Vec<f64> {
        (0..2 * nodes).map(|cell| base + scale * ((cell * 7919) % 13) as f64).collect()
    };
    VariationTable {
        apps: vec!["a".into(), "b".into()],
        kind: hetsched_core::power::pvt::TableKind::Watts,
        power: cells(3.7, 250.0),
        time_ratio: cells(0.05, 0.9),
        name: "table".into(),
    }
}

pub(crate) fn part(name: &str) -> PartSpec {
    PartSpec { name: name.into(), ..PartSpec::default() }
}

/// The parts with these names; with a backfill that chooses nodes, the default placement.
pub(crate) fn composed(order: &str, backfill: &str, placement: &str, seed: u64) -> Box<dyn Policy> {
    let placement = if chooses_nodes(backfill) { "lowest-id" } else { placement };
    let name = format!("{order}/{backfill}/{placement}");
    let spec = PolicySpec {
        name: name.clone(),
        order: part(order),
        backfill: part(backfill),
        placement: part(placement),
        power: None,
        sleep: None,
    };
    let parts = spec.build(seed).expect("the parts exist").0;
    Box::new(Composed::new(name, parts, &platform(1, 1, true)).expect("no budget, no fault"))
}

/// The parts on this platform, under a budget that is a share of its TDP.
pub(crate) fn under_budget(names: [&str; 3], pcr: f64, seed: u64, platform: &Platform) -> Box<dyn Policy> {
    let parts = parts_under(names, pcr, seed);
    Box::new(Composed::new("under a budget", parts, platform).expect("the idle machine is within the budget"))
}

/// The same with a given backfill.
pub(crate) fn with_backfill_under(
    order: &str,
    backfill: Box<dyn Backfill>,
    placement: &str,
    pcr: f64,
    platform: &Platform,
) -> Box<dyn Policy> {
    let parts = Parts { backfill, ..parts_under([order, "none", placement], pcr, 5) };
    Box::new(Composed::new("test", parts, platform).expect("the idle machine is within the budget"))
}

/// Parts under a budget; a backfill that counts no watts is replaced by one that does, and `plan` has the default placement.
fn parts_under(names: [&str; 3], pcr: f64, seed: u64) -> Parts {
    let [order, backfill, placement] = match names {
        [order, "plan", _] => [order, "plan", "lowest-id"],
        [order, backfill, placement] if chooses_nodes(backfill) => [order, "reservations", placement],
        names => names,
    }
    .map(part);
    let params = [("pcr".to_owned(), Value::Float(pcr))].into();
    let power = Some(PartSpec { name: "system-budget".into(), params });
    let spec = PolicySpec { name: "under a budget".into(), order, backfill, placement, power, sleep: None };
    spec.build(seed).expect("the parts exist").0
}

pub(crate) fn with_backfill(order: &str, backfill: Box<dyn Backfill>) -> Box<dyn Policy> {
    let spec = PolicySpec {
        name: "test".into(),
        order: part(order),
        backfill: part("none"),
        placement: part("lowest-id"),
        power: None,
        sleep: None,
    };
    let mut parts = spec.build(0).expect("the parts exist").0;
    parts.backfill = backfill;
    Box::new(Composed::new("test", parts, &platform(1, 1, true)).expect("no budget, no fault"))
}

pub(crate) fn simulation(jobs: &[Job], platform: Platform, policy: Box<dyn Policy>, options: Options) -> Simulation {
    let workload = workload(jobs);
    let (actual, predicted) =
        tables(&platform, &workload, None, None, OnUnknownApp::Error).expect("no table, no fault");
    Simulation::new(workload, platform, actual, predicted, policy, options)
}

pub(crate) fn run(simulation: Simulation) -> Result<Records> {
    simulation.run(&mut |_| ControlFlow::Continue(()))
}

pub(crate) fn run_with_table(jobs: &[Job], platform: Platform, policy: Box<dyn Policy>, options: Options) -> Records {
    run(simulation_with_table(jobs, platform, policy, options)).expect("the run ends")
}

pub(crate) fn simulation_with_table(
    jobs: &[Job],
    platform: Platform,
    policy: Box<dyn Policy>,
    options: Options,
) -> Simulation {
    let workload = workload(jobs);
    let table = table(platform.nodes().len());
    let (actual, predicted) =
        tables(&platform, &workload, Some(&table), None, OnUnknownApp::Error).expect("the table fits");
    Simulation::new(workload, platform, actual, predicted, policy, options)
}

/// Jobs with their own draws, or those of applications in a table that is predicted and true.
pub(crate) fn simulation_with_watts(
    jobs: &[Job],
    own: Option<&[f64]>,
    platform: Platform,
    policy: Box<dyn Policy>,
    options: Options,
) -> Simulation {
    let workload = workload_drawing(jobs, own.unwrap_or(&[]));
    let table = own.is_none().then(|| table(platform.nodes().len()));
    let (actual, predicted) =
        tables(&platform, &workload, table.as_ref(), None, OnUnknownApp::Error).expect("the table fits");
    Simulation::new(workload, platform, actual, predicted, policy, options)
}
