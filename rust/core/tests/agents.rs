//! A run whose decisions come from outside equals the run of a policy that decides alike, and can be forked while it
//! asks.

use std::ops::ControlFlow;

use proptest::prelude::*;

use hetsched_core::policy::agent::{Agent, Shape};
use hetsched_core::policy::backfill::Backfill;
use hetsched_core::policy::backfill::first_fit::FirstFit;
use hetsched_core::sim::event::Event;
use hetsched_core::sim::job_state::{JobState, StartedBy};
use hetsched_core::sim::record::Records;
use hetsched_core::sim::{Options, Simulation};
use hetsched_core::units::SimTime;

use crate::support::{Job, platform, run, simulation_with_table, with_backfill_under};

const SHAPE: Shape = Shape { rows: 32, rules: 1, levels: 0 };

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let runtime = prop_oneof![Just(0), Just(10), 0..40_u8];
    prop::collection::vec((0..60_u8, runtime, 1..8_u8, 0..40_u8, 0..4_u8), 0..25)
}

/// One job's row of a schedule.
type Row = (Option<SimTime>, Option<SimTime>, JobState, Option<StartedBy>, Option<Vec<u32>>);

fn schedule(records: &Records) -> Vec<Row> {
    let row = |row| {
        let (start, nodes) = (records.jobs.start(row), records.nodes_of(row).map(<[u32]>::to_vec));
        (start, records.end(row), records.jobs.state(row), records.jobs.started_by(row), nodes)
    };
    (0..records.workload.len()).map(row).collect()
}

/// Lets an agent answer until no event is left.
fn play(mut simulation: Simulation, mut choose: impl FnMut(&[u8]) -> usize) -> Records {
    let watch = &mut |_| ControlFlow::Continue(());
    loop {
        simulation.step_until(SimTime::NEVER, watch).expect("the run goes on");
        if !simulation.is_asked() {
            break;
        }
        let action = simulation.seen().map(|(seen, _)| choose(&seen.mask)).unwrap_or_default();
        simulation.answer(action, watch).expect("the action is legal");
    }
    run(simulation).expect("the run ends")
}

fn first(mask: &[u8]) -> usize {
    mask.iter().position(|&legal| legal == 1).unwrap_or_default()
}

proptest! {
    #[test]
    fn the_first_that_fits_is_first_fit(
        jobs in jobs(),
        exclusive in any::<bool>(),
        pcr in prop_oneof![Just(1.0), 0.4..1.0],
        outages in prop::collection::vec((0..5_u32, 0..60_i64, 1..40_i64), 0..4),
    ) {
        let made = |backfill: Box<dyn Backfill>| {
            let machine = platform(5, 3, exclusive);
            let policy = with_backfill_under("fcfs", backfill, "lowest-id", pcr, &machine);
            let mut simulation = simulation_with_table(&jobs, machine, policy, Options::default());
            for &(node, from, length) in &outages {
                let at = |seconds: i64| SimTime::from_micros(seconds * 1_000_000);
                simulation.schedule(at(from), Event::NodeFailed(node));
                simulation.schedule(at(from + length), Event::NodeRepaired(node));
            }
            simulation
        };
        let asked = play(made(Box::new(Agent::new(SHAPE))), first);
        let whole = run(made(Box::new(FirstFit))).unwrap();
        prop_assert_eq!(schedule(&asked), schedule(&whole));
        prop_assert_eq!(asked.totals.passes, whole.totals.passes);
        prop_assert_eq!(asked.totals.energy, whole.totals.energy);
    }

    #[test]
    fn a_fork_that_was_made_while_an_agent_was_asked_goes_its_own_way(jobs in jobs(), answers in 0..20_usize) {
        let machine = platform(5, 3, true);
        let policy = with_backfill_under("fcfs", Box::new(Agent::new(SHAPE)), "lowest-id", 1.0, &machine);
        let mut simulation = simulation_with_table(&jobs, machine, policy, Options::default());
        let watch = &mut |_| ControlFlow::Continue(());
        for _ in 0..answers {
            simulation.step_until(SimTime::NEVER, watch).unwrap();
            let mask = simulation.seen().map(|(seen, _)| seen.mask.clone()).unwrap_or_default();
            prop_assert!(!simulation.allows(mask.len()));
            if simulation.is_asked() {
                // An illegal choice is an error that changes nothing.
                let illegal = mask.iter().position(|&legal| legal == 0).unwrap_or(mask.len());
                prop_assert!(simulation.answer(illegal, watch).is_err() && !simulation.is_broken());
                simulation.answer(first(&mask), watch).unwrap();
            }
        }
        let fork = simulation.clone();
        let last = |mask: &[u8]| mask.iter().rposition(|&legal| legal == 1).unwrap_or_default();
        let other = play(fork.clone(), last);
        prop_assert_eq!(schedule(&play(simulation, first)), schedule(&play(fork, first)));
        let waits = |state| matches!(state, JobState::Pending | JobState::Stranded | JobState::Running);
        prop_assert!(!schedule(&other).iter().any(|row| waits(row.2)));
    }
}
