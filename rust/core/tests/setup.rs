//! Runs set up from plain values: the nodes that decisions are about, depending on the queues and on the kind of
//! decision maker.

use std::sync::Arc;

use hetsched_core::error::Result;
use hetsched_core::params::Value;
use hetsched_core::platform::Platform;
use hetsched_core::platform::queues::{Queue, QueueColumns, Queues};
use hetsched_core::policy::agent::choices::Choices;
use hetsched_core::policy::registry::{PartSpec, PolicySpec};
use hetsched_core::power::caps::CapsSpec;
use hetsched_core::power::known::Rule;
use hetsched_core::power::pvt::OnUnknownApp;
use hetsched_core::sim::own_parts::OwnParts;
use hetsched_core::sim::record::Records;
use hetsched_core::sim::setup::{Setup, Tables};
use hetsched_core::sim::{Options, Simulation};
use hetsched_core::units::SimTime;
use hetsched_core::workload::{JobColumns, ObservedColumns, Workload};

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
    set_up_from(&Arc::new(workload(&JOBS)), queues, budget_w, agent, None)
}

fn set_up_from(
    workload: &Arc<Workload>,
    queues: Option<Queues>,
    budget_w: Option<f64>,
    agent: Option<Choices>,
    from: Option<SimTime>,
) -> Result<Simulation> {
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
    let (platform, options) = (&platform, Options::default());
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
        from,
        own: OwnParts::default(),
    }
    .simulation()
}

/// Start of each job, in seconds, and its nodes.
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
fn a_budget_of_several_pools_is_one_and_their_nodes_are_not() {
    // Two nodes draw 400 W beyond the idle machine of 600 W.
    let queues = |sets: &[&[u32]]| Some(queues(sets, [0, 0, 1]));
    let apart: [&[u32]; 2] = [&[4, 5], &[0, 1]];
    let at_once = [(0.0, vec![4, 5]), (10.0, vec![4, 5]), (0.0, vec![0, 1])];
    assert_eq!(done(set_up(queues(&apart), Some(1400.0), None)), at_once);
    let in_turn = [(0.0, vec![4, 5]), (10.0, vec![4, 5]), (20.0, vec![0, 1])];
    assert_eq!(done(set_up(queues(&apart), Some(1399.0), None)), in_turn);
}

#[test]
fn queues_that_share_nodes_are_counted_by_cell() {
    // Node 1 is in both: the first queue leaves it to the second.
    let shared = |of_job| Some(queues(&[&[1, 2, 3], &[0, 1]], of_job));
    let both = [(0.0, vec![2, 3]), (0.0, vec![0, 1]), (10.0, vec![2, 3])];
    assert_eq!(done(set_up(shared([0, 1, 0]), None, None)), both);
    assert_eq!(done(set_up(shared([0, 1, 0]), Some(1400.0), None)), both);
    let in_turn = [(0.0, vec![2, 3]), (10.0, vec![0, 1]), (20.0, vec![2, 3])];
    assert_eq!(done(set_up(shared([0, 1, 0]), Some(1399.0), None)), in_turn);
}

#[test]
fn an_agent_is_asked_where_there_is_one() {
    let choices = Choices { rows: 3, placements: vec![part("lowest-id")], sets_caps: false };
    let mut simulation = set_up(None, None, Some(choices)).expect("nothing is wrong");
    simulation.step_until(SimTime::NEVER, &mut |_| std::ops::ControlFlow::Continue(())).expect("the run goes on");
    assert!(simulation.is_asked());
    assert_eq!(simulation.seen().map(|(_, shape)| shape.actions()), Some(4));
}

/// The jobs, all submitted at once, with these observed starts, ends and nodes.
fn observed(start_s: [f64; 3], end_s: [f64; 3], nodes: &[i64]) -> Arc<Workload> {
    let count = i64::try_from(nodes.len()).unwrap_or_default();
    let columns = JobColumns {
        job_id: vec![1, 2, 3],
        submit_s: vec![0.0; 3],
        runtime_s: vec![10.0; 3],
        node_count: vec![2; 3],
        walltime_s: vec![20.0; 3],
        observed: ObservedColumns {
            start_s: start_s.to_vec(),
            end_s: end_s.to_vec(),
            node_offsets: vec![0, count, count, count],
            nodes: nodes.to_vec(),
        },
        source: "log".into(),
        ..JobColumns::default()
    };
    Arc::new(columns.into_workload().expect("the jobs are in order"))
}

#[test]
fn jobs_under_way_run_where_and_as_long_as_they_did() {
    let jobs = observed([2.0, 3.0, f64::NAN], [40.0, 50.0, f64::NAN], &[3, 5]);
    let begun = set_up_from(&jobs, None, None, None, Some(SimTime::from_micros(4_000_000)));
    let records = run(begun.expect("nothing is wrong")).expect("the run ends");
    assert_eq!(starts(&records), [(2.0, vec![3, 5]), (3.0, vec![0, 1]), (4.0, vec![2, 4])]);
    let ends: Vec<_> = (0..3).filter_map(|row| records.jobs.end(row).map(SimTime::seconds)).collect();
    assert_eq!(ends, [40.0, 50.0, 14.0]);
}

#[test]
fn one_whose_nodes_are_not_there_gets_the_lowest_free_ones() {
    let jobs = observed([0.0, 0.0, 0.0], [40.0; 3], &[3, 9]);
    let begun = set_up_from(&jobs, None, None, None, Some(SimTime::from_micros(0)));
    assert_eq!(done(begun), [(0.0, vec![0, 1]), (0.0, vec![2, 3]), (0.0, vec![4, 5])]);
}

#[test]
fn jobs_under_way_keep_others_off_the_nodes_of_their_queue() {
    let (jobs, from) = (observed([2.0, f64::NAN, f64::NAN], [40.0; 3], &[3, 5]), Some(SimTime::from_micros(4_000_000)));
    let apart = || Some(queues(&[&[3, 5], &[0, 1]], [0, 0, 1]));
    let in_turn = [(2.0, vec![3, 5]), (40.0, vec![3, 5]), (4.0, vec![0, 1])];
    // Set by set, and, under a budget, by cell.
    assert_eq!(done(set_up_from(&jobs, apart(), None, None, from)), in_turn);
    assert_eq!(done(set_up_from(&jobs, apart(), Some(2000.0), None, from)), in_turn);
    let only = Some(queues(&[&[3, 5]], [0; 3]));
    let one_by_one = [(2.0, vec![3, 5]), (40.0, vec![3, 5]), (50.0, vec![3, 5])];
    assert_eq!(done(set_up_from(&jobs, only, Some(2000.0), None, from)), one_by_one);
}

#[test]
fn agents_do_not_begin_with_jobs_under_way() {
    let (jobs, from) = (observed([f64::NAN; 3], [f64::NAN; 3], &[]), Some(SimTime::from_micros(0)));
    let choices = Choices { rows: 3, placements: vec![part("lowest-id")], sets_caps: false };
    let Err(error) = set_up_from(&jobs, None, None, Some(choices), from) else { panic!("it is set up") };
    assert!(error.to_string().starts_with("policy: found an agent, expected"), "{error}");
}
