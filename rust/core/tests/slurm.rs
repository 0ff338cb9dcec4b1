//! Slurm's scheduler: beats that are passed over change nothing.

use hetsched_core::policy::backfill::slurm::Slurm;
use hetsched_core::policy::backfill::slurm::settings::{
    BackfillRules, BeatLists, LoopTiming, Main, Multifactor, Saving, Settings, SlurmRelease,
};
use hetsched_core::sim::Options;
use hetsched_core::units::{SimDuration, SimTime};
use proptest::prelude::*;

use crate::support::{Job, platform, run, simulation, with_backfill};

fn settings(ages: bool, sleeps: bool) -> Settings {
    let age = Multifactor { age: 1000.0, size: 500.0, max_age: 60, period: 20, favor_small: false };
    let saving = Saving {
        idle: 15,
        suspend_timeout: 12,
        resume_timeout: 60,
        suspend_rate: 20,
        resume_rate: 30,
        interval: 10,
        min_interval: 0,
        exclude: vec![(0, 0)],
    };
    Settings {
        release: SlurmRelease::R2205,
        timing: LoopTiming {
            epoch: 1_800_000_017_250_000,
            started: Some(SimTime::from_micros(-70_300_000)),
            main_period: None,
            main_phase: None,
            backfill_phase: None,
            scan_phase: None,
            cycle: None,
            clean_up: SimDuration::from_micros(12_000),
            start: SimDuration::ZERO,
        },
        beats: BeatLists::default(),
        main: Main {
            delay: 3,
            interval: Some(7),
            depth: 4,
            partition_depth: 0,
            max_start: 0,
            epilog: false,
            defer: false,
        },
        backfill: BackfillRules {
            interval: Some(2),
            window: 240,
            resolution: 15,
            window_linear: 0,
            max_test: 6,
            max_start: 0,
            max_part: 0,
            max_user: 0,
            records: 500,
            min_priority: 0,
            min_age: 9,
            part_plans: 4,
            licences: false,
            reserve_running: false,
        },
        kill_wait: 2,
        prolog: false,
        priority: ages.then_some(age),
        saving: sleeps.then_some(saving),
        // One for each node, as all of them differ.
        lines: Vec::new(),
    }
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    prop::collection::vec((any::<u8>(), 0..90_u8, 1..7_u8, 1..250_u8), 1..40).prop_map(|mut jobs| {
        jobs.sort_unstable();
        jobs.into_iter().map(|(submit, runtime, nodes, walltime)| (submit, runtime, nodes, walltime, 0)).collect()
    })
}

type Run = (Option<SimTime>, Option<SimTime>, Option<Vec<u32>>);

/// Start, end and nodes of each job.
fn schedule(jobs: &[Job], scheduler: Slurm) -> Vec<Run> {
    let policy = with_backfill("fcfs", Box::new(scheduler));
    let records = run(simulation(jobs, platform(6, 1, true), policy, Options::default())).expect("the run ends");
    let row = |job| (records.jobs.start(job), records.end(job), records.nodes_of(job).map(<[u32]>::to_vec));
    (0..jobs.len()).map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn beats_that_are_passed_over_change_nothing(jobs in jobs(), ages in any::<bool>(), sleeps in any::<bool>()) {
        let settings = settings(ages, sleeps);
        let twin = schedule(&jobs, Slurm::new(settings.clone()).looking_at_every_beat());
        prop_assert_eq!(schedule(&jobs, Slurm::new(settings)), twin);
    }
}
