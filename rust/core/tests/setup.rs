//! A run set up from plain values: which nodes decisions are about, by the queues and by what decides.

use std::sync::Arc;

use hetsched_core::error::Result;
use hetsched_core::params::Value;
use hetsched_core::platform::Platform;
use hetsched_core::policy::agent::choices::Choices;
use hetsched_core::policy::queues::{Queue, QueueColumns, Queues};
use hetsched_core::policy::registry::{PartSpec, PolicySpec};
use hetsched_core::power::caps::CapsSpec;
use hetsched_core::power::known::Rule;
use hetsched_core::power::pvt::OnUnknownApp;
use hetsched_core::sim::record::Records;
use hetsched_core::sim::setup::{Setup, Tables};
use hetsched_core::sim::{Options, Simulation};
use hetsched_core::units::SimTime;

use crate::support::{Job, composed, part, platform_alike, run, simulation, workload};

/// Three jobs of two nodes each, all submitted at once.
const JOBS: [Job; 3] = [(0, 10, 2, 20, 0); 3];
const NODES: u32 = 6;

fn queues(sets: &[&[u32]], of_job: [u16; 3]) -> Queues {
    let queue = |nodes: &&[u32]| Queue { nodes: nodes.to_vec(), ..Queue::default() };
    let columns = QueueColumns {
        queues: sets.iter().map(queue).collect(),
        of_job: of_job.to_vec(),
        users: vec![None; 3],
        bars: vec![None; 3],
    };
    columns.into_queues(3, NODES).expect("the queues are in order")
}

fn set_up(queues: Option<Queues>, budget_w: Option<f64>, agent: Option<Choices>) -> Result<Simulation> {
    let platform: Platform = platform_alike(NODES as usize);
    let params = budget_w.map(|watts| [("budget_w".to_owned(), Value::Float(watts))].into());
    let spec = PolicySpec {
        name: "test".into(),
        order: part("fcfs"),
        backfill: part("reservations"),
        placement: part("lowest-id"),
        power: params.map(|params| PartSpec { name: "system-budget".into(), params }),
        sleep: None,
    };
    let tables = Tables {
        actual: None,
        predicted: None,
        caps: &CapsSpec::None,
        unknown: OnUnknownApp::Error,
        known: Rule::default(),
        forecast_w: None,
    };
    let (workload, options) = (&Arc::new(workload(&JOBS)), Options::default());
    let platform = &platform;
    Setup {
        workload,
        platform,
        tables,
        spec,
        seed: 0,
        options,
        agent,
        cells: None,
        queues,
        budgets: None,
        groups: None,
    }
    .simulation(&())
}

/// When each job starts, in seconds, and where.
fn starts(records: &Records) -> Vec<(f64, Vec<u32>)> {
    let start = |row| records.jobs.start(row).map(SimTime::seconds).expect("all start");
    (0..3).map(|row| (start(row), records.nodes_of(row).expect("all start").to_vec())).collect()
}

fn done(simulation: Result<Simulation>) -> Vec<(f64, Vec<u32>)> {
    starts(&run(simulation.expect("nothing is wrong")).expect("the run ends"))
}

#[test]
fn without_queues_it_is_the_run_of_the_parts() {
    let policy = composed("fcfs", "reservations", "lowest-id", 0);
    let parts = simulation(&JOBS, platform_alike(NODES as usize), policy, Options::default());
    assert_eq!(done(set_up(None, None, None)), starts(&run(parts).expect("the run ends")));
}

#[test]
fn each_pool_is_a_machine_of_its_own() {
    let queues = queues(&[&[4, 5], &[0, 1]], [0, 0, 1]);
    assert_eq!(done(set_up(Some(queues), None, None)), [(0.0, vec![4, 5]), (10.0, vec![4, 5]), (0.0, vec![0, 1])]);
}

#[test]
fn a_budget_beside_one_pool_is_that_of_all_nodes() {
    // Two nodes draw 400 W beyond the idle machine of 600 W.
    let queues = || Some(queues(&[&[1, 2, 4, 5]], [0; 3]));
    let at_once = [(0.0, vec![1, 2]), (0.0, vec![4, 5]), (10.0, vec![1, 2])];
    assert_eq!(done(set_up(queues(), Some(1400.0), None)), at_once);
    let in_turn = [(0.0, vec![1, 2]), (10.0, vec![1, 2]), (20.0, vec![1, 2])];
    assert_eq!(done(set_up(queues(), Some(1399.0), None)), in_turn);
}

#[test]
fn a_budget_of_several_pools_is_refused() {
    let queues = queues(&[&[4, 5], &[0, 1]], [0, 0, 1]);
    let Err(error) = set_up(Some(queues), Some(1400.0), None) else { panic!("it is set up") };
    let told =
        "policy.power: found queues of 2 sets of nodes, expected queues of one set: a budget is that of one pool";
    assert_eq!(error.to_string(), told);
}

#[test]
fn an_agent_is_asked_where_there_is_one() {
    let choices = Choices { rows: 3, placements: vec![part("lowest-id")], sets_caps: false };
    let mut simulation = set_up(None, None, Some(choices)).expect("nothing is wrong");
    simulation.step_until(SimTime::NEVER, &mut |_| std::ops::ControlFlow::Continue(())).expect("the run goes on");
    assert!(simulation.is_asked());
    assert_eq!(simulation.seen().map(|(_, shape)| shape.actions()), Some(4));
}
