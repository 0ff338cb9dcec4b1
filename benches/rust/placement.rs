//! One pass on an empty machine: 2,000 single-node jobs start together on 2,000 nodes.

use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hetsched_benches::{machine, share, short};
use hetsched_core::cluster::Cluster;
use hetsched_core::platform::Platform;
use hetsched_core::policy::compose::Composed;
use hetsched_core::policy::registry::{PartSpec, PolicySpec};
use hetsched_core::policy::{Decisions, Notice, Policy, Stage};
use hetsched_core::power::pvt::{OnUnknownApp, Predicted, TableKind, VariationTable, tables};
use hetsched_core::random::Stream;
use hetsched_core::units::{SimTime, Watts};
use hetsched_core::workload::{JobColumns, JobId, Workload};

const NODES: u32 = 2_000;
const JOBS: u32 = 2_000;

/// Jobs in a queue: each of one of `apps` applications, with equal or different lengths.
fn queue(apps: u32, equal: bool) -> Workload {
    let mut chance = Stream::new(1, "queue");
    let jobs = JOBS as usize;
    let columns = JobColumns {
        job_id: (0..i64::from(JOBS)).collect(),
        submit_s: vec![0.0; jobs],
        runtime_s: (0..jobs).map(|_| if equal { 3_600.0 } else { 60.0 * (10.0 * share(&mut chance)).exp() }).collect(),
        node_count: vec![1; jobs],
        app: (0..jobs).map(|_| i32::try_from(chance.below(apps)).expect("few applications")).collect(),
        app_names: (0..apps).map(|app| format!("app {app}")).collect(),
        ..JobColumns::default()
    };
    columns.into_workload().expect("the jobs are in order")
}

/// Watts that differ by node and by application, about equally.
fn predicted(platform: &Platform, jobs: &Workload) -> Predicted {
    let mut chance = Stream::new(2, "table");
    let own: Vec<f64> = (0..NODES).map(|_| 30.0 * share(&mut chance)).collect();
    let apps = jobs.app_names().to_vec();
    let power =
        apps.iter().flat_map(|_| own.iter().map(|own| own + 200.0 + 30.0 * share(&mut chance)).collect::<Vec<_>>());
    let table = VariationTable {
        power: power.collect(),
        apps: apps.clone(),
        kind: TableKind::Watts,
        time_ratio: Vec::new(),
        name: "table".into(),
    };
    tables(platform, jobs, Some(&table), None, OnUnknownApp::Error).expect("the table fits").1
}

fn policy(placement: &str) -> Composed {
    let part = |name: &str| PartSpec { name: name.into(), ..PartSpec::default() };
    let spec = PolicySpec {
        name: placement.into(),
        order: part("fcfs"),
        backfill: part("none"),
        placement: part(placement),
        power: None,
        sleep: None,
    };
    let parts = spec.build(0).expect("the parts exist").0;
    Composed::new(placement, parts, &machine(NODES, 100.0, 300.0)).expect("no budget, no fault")
}

fn one_pass(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("placement/pass_2000_jobs_2000_nodes");
    group.sample_size(10);
    let platform = Arc::new(machine(NODES, 100.0, 300.0));
    for (case, apps, equal) in [
        ("6 types", 6, true),
        ("1 app, own lengths", 1, false),
        ("2 apps, own lengths", 2, false),
        ("6 apps, own lengths", 6, false),
    ] {
        let jobs = queue(apps, equal);
        let predicted = Arc::new(predicted(&platform, &jobs));
        let cluster = Cluster::new(SimTime::default(), Arc::new(jobs), Arc::clone(&platform), predicted, false);
        for placement in ["lowest-id", "lowest-power", "sliding-window", "pools", "assignment"] {
            group.bench_function(BenchmarkId::new(placement, case), |bencher| {
                let view = cluster.view(Watts::ZERO, &|| false);
                let mut policy = policy(placement);
                let mut out = Decisions::default();
                bencher.iter(|| {
                    out.clear();
                    (0..JOBS).for_each(|job| policy.notice(view.jobs, Notice::Submitted(JobId(job))));
                    policy.decide(Stage::Start, &view, &mut out).expect("everyone fits");
                    out.list().len()
                });
            });
        }
    }
    group.finish();
}

criterion_group! { name = benches; config = short(); targets = one_pass }
criterion_main!(benches);
