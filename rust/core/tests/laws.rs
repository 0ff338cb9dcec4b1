//! Laws of every schedule, on small and nasty random traces.

use std::ops::ControlFlow;

use proptest::prelude::*;

use hetsched_core::policy::backfill::named::NamedPlan;
use hetsched_core::policy::backfill::reservations::Reservations;
use hetsched_core::policy::registry::{BACKFILLS, ORDERS, PLACEMENTS, chooses_nodes};
use hetsched_core::sim::event::Event;
use hetsched_core::sim::job_state::{JobState, StartedBy};
use hetsched_core::sim::options::Walltimes;
use hetsched_core::sim::record::Records;
use hetsched_core::sim::{Options, Progress};
use hetsched_core::units::{SimDuration, SimTime};
use hetsched_core::workload::JobId;

use crate::support::{
    Job, composed, platform, platform_alike, run, run_with_table, simulation, simulation_with_table,
    simulation_with_watts, under_budget, with_backfill, with_backfill_under,
};

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let walltime = prop_oneof![Just(0), 1..40_u8];
    let runtime = prop_oneof![Just(0), Just(10), 0..40_u8];
    prop::collection::vec((0..60_u8, runtime, 1..8_u8, walltime, 0..4_u8), 0..25)
}

/// Many jobs of any lengths, without walltimes, so that all end as planned; most come at once.
fn jobs_that_end_as_planned() -> impl Strategy<Value = Vec<Job>> {
    let submit = prop_oneof![3 => Just(0), 1 => 0..60_u8];
    prop::collection::vec((submit, 0..40_u8, 1..6_u8, Just(0), 0..4_u8), 0..160)
}

/// Many jobs that come at once, most with walltimes that they do not need, so that a plan seldom holds.
fn jobs_that_end_early() -> impl Strategy<Value = Vec<Job>> {
    let walltime = prop_oneof![1 => Just(0), 4 => 1..60_u8];
    prop::collection::vec((0..20_u8, 0..30_u8, 1..6_u8, walltime, 0..4_u8), 0..160)
}

/// Jobs that run for long and come one by one while others wait, with walltimes that they hardly need.
fn jobs_that_come_one_by_one() -> impl Strategy<Value = Vec<Job>> {
    prop::collection::vec((0..250_u8, 20..120_u8, 1..6_u8, 30..250_u8, 0..4_u8), 0..120)
}

fn policy_names() -> impl Strategy<Value = (usize, usize, usize)> {
    (0..ORDERS.len(), 0..BACKFILLS.len(), 0..PLACEMENTS.len())
}

/// One job's row of a schedule: start, end, state.
type Row = (Option<SimTime>, Option<SimTime>, JobState);

fn schedule(records: &Records) -> Vec<Row> {
    (0..records.workload.len())
        .map(|row| (records.jobs.start(row), records.end(row), records.jobs.state(row)))
        .collect()
}

/// Slots held on a node by the jobs that run at `now` (starts count, ends do not).
fn held(records: &Records, node: u32, now: SimTime, need: impl Fn(usize) -> u32) -> u32 {
    (0..records.workload.len())
        .filter(|&row| records.nodes_of(row).is_some_and(|nodes| nodes.contains(&node)))
        .filter(|&row| records.jobs.start(row) <= Some(now) && records.end(row) > Some(now))
        .map(need)
        .sum()
}

/// Number of cases: `unasked`, or that in `PROPTEST_CASES`.
fn cases(unasked: u32) -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        None => ProptestConfig::with_cases(unasked),
        Some(_) => ProptestConfig::default(),
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn no_slot_serves_two_jobs_and_nobody_starts_early(
        jobs in jobs(),
        (order, backfill, placement) in policy_names(),
        exclusive in any::<bool>(),
        kill_at_walltime in any::<bool>(),
    ) {
        let policy = composed(ORDERS[order].name, BACKFILLS[backfill].name, PLACEMENTS[placement].name, 7);
        let options = Options { kill_at_walltime, ..Options::default() };
        let records = run_with_table(&jobs, platform(5, 3, exclusive), policy, options);
        let need = |row: usize| match records.workload.slots(JobId(u32::try_from(row).unwrap())) {
            _ if exclusive => 3,
            0 => 3,
            slots => slots,
        };
        for job in records.workload.jobs() {
            let row = job.0 as usize;
            let Some(start) = records.jobs.start(row) else {
                prop_assert!(matches!(records.jobs.state(row), JobState::RejectedNodes | JobState::RejectedSlots));
                continue;
            };
            prop_assert!(start >= records.workload.submit(job));
            let nodes = records.nodes_of(row).unwrap();
            prop_assert_eq!(nodes.len(), records.workload.node_count(job) as usize);
            prop_assert!(nodes.windows(2).all(|pair| pair[0] < pair[1]));
            for &node in nodes {
                prop_assert!(held(&records, node, start, need) <= 3, "node {} at {:?}", node, start);
            }
        }
    }

    #[test]
    fn energy_balances_exactly(
        jobs in jobs(),
        (order, backfill, placement) in policy_names(),
        exclusive in any::<bool>(),
        until in prop_oneof![Just(SimTime::NEVER), (0..90_i64).prop_map(|s| SimTime::from_micros(s * 1_000_000))],
    ) {
        let policy = composed(ORDERS[order].name, BACKFILLS[backfill].name, PLACEMENTS[placement].name, 7);
        let options = Options { until, ..Options::default() };
        let records = run_with_table(&jobs, platform(5, 3, exclusive), policy, options);
        prop_assert_eq!(records.totals.energy, records.totals.integral);
        let nodes = (0..5).map(|node| records.nodes.node_energy(node)).sum();
        prop_assert_eq!(records.totals.energy, nodes);
        let of_jobs: f64 = (0..records.workload.len()).filter_map(|row| records.jobs.energy_j(row)).sum();
        let of_busy_nodes = records.totals.job_energy.joules();
        prop_assert!((of_jobs - of_busy_nodes).abs() <= 1e-12 * of_busy_nodes.max(1.0), "{} {}", of_jobs, of_busy_nodes);
    }

    /// Nodes idle at 100 W and are built for 300: a budget of `pcr` leaves (3 pcr - 1) × 100 W a node for work.
    #[test]
    fn a_budget_is_kept_at_every_instant_and_leaves_no_job_waiting(
        jobs in jobs(),
        (order, backfill, placement) in policy_names(),
        exclusive in any::<bool>(),
        pcr in prop_oneof![Just(0.5), Just(0.7), Just(0.9)],
    ) {
        let machine = platform(5, 3, exclusive);
        let names = [ORDERS[order].name, BACKFILLS[backfill].name, PLACEMENTS[placement].name];
        let policy = under_budget(names, pcr, 7, &machine);
        let ceiling = machine.tdp().watts() * pcr;
        let records = run_with_table(&jobs, machine, policy, Options::default());
        prop_assert!(records.timeline.power_w.iter().all(|&watts| watts <= ceiling * (1.0 + 2e-9)));
        prop_assert!((0..jobs.len()).all(|row| !matches!(records.jobs.state(row), JobState::Pending | JobState::Stranded)));
        prop_assert_eq!(records.totals.energy, records.totals.integral);
    }

    /// All nodes together draw no more than 2,000 W under any load: under a budget above that no job waits longer.
    #[test]
    fn a_budget_that_cannot_bind_changes_nothing(
        jobs in jobs(),
        (order, backfill, placement) in policy_names().prop_filter("counts watts", |names| BACKFILLS[names.1].plans_watts || !chooses_nodes(BACKFILLS[names.1].name)),
    ) {
        let names = [ORDERS[order].name, BACKFILLS[backfill].name, PLACEMENTS[placement].name];
        let budget = under_budget(names, 2.0, 7, &platform(5, 3, true));
        let go = |policy| schedule(&run_with_table(&jobs, platform(5, 3, true), policy, Options::default()));
        prop_assert_eq!(go(budget), go(composed(names[0], names[1], names[2], 7)));
    }

    /// One reservation of nodes and watts, found by two sums, equals one in a profile of the future.
    #[test]
    fn easy_under_a_budget_is_one_reservation(
        jobs in jobs(),
        order in 0..ORDERS.len(),
        placement in 0..PLACEMENTS.len(),
        kill_at_walltime in any::<bool>(),
        pcr in prop_oneof![Just(0.5), Just(0.6), Just(0.8)],
    ) {
        let go = |backfill: Reservations| {
            let machine = platform(5, 3, true);
            let policy = with_backfill_under(ORDERS[order].name, Box::new(backfill), PLACEMENTS[placement].name, pcr, &machine);
            let options = Options { kill_at_walltime, ..Options::default() };
            schedule(&run_with_table(&jobs, machine, policy, options))
        };
        prop_assert_eq!(go(Reservations::new(1)), go(Reservations::by_profile(1)));
    }

    #[test]
    fn nothing_is_lost_where_nobody_is_killed_and_only_what_a_kill_leaves_undone(
        jobs in jobs(),
        (order, backfill, placement) in policy_names(),
        exclusive in any::<bool>(),
        kill_at_walltime in any::<bool>(),
        stretch in any::<bool>(),
        grace in 0..20_i64,
    ) {
        // Slurm's scheduler knows whole nodes, and ends runs by limits of whole minutes.
        let is_slurm = BACKFILLS[backfill].name == "slurm";
        let policy = composed(ORDERS[order].name, BACKFILLS[backfill].name, PLACEMENTS[placement].name, 7);
        let options = Options {
            kill_at_walltime,
            kill_grace: SimDuration::from_micros(grace * 1_000_000),
            walltimes: if stretch { Walltimes::Stretch } else { Walltimes::Fixed },
            ..Options::default()
        };
        let records = run_with_table(&jobs, platform(5, 3, exclusive || is_slurm), policy, options);
        let work = records.totals.work;
        let nominal = |row: usize| f64::from(jobs[row].1) * f64::from(jobs[row].2);
        let rows = || (0..jobs.len()).filter(|&row| records.end(row).is_some());
        prop_assert_eq!(work.started_node_s(), rows().map(nominal).sum::<f64>());
        let mut cut = rows().filter(|&row| records.jobs.state(row) == JobState::Timeout);
        prop_assert_eq!(cut.clone().any(|row| nominal(row) > 0.0), work.lost_node_s() > 0.0);
        // With walltimes for nominal speed only jobs that ask for less than their nominal runtime are killed.
        let is_due = cut.all(|row| kill_at_walltime && (!stretch || jobs[row].1 > jobs[row].3));
        prop_assert!(is_due);
        let killed_ran_over = rows().any(|row| {
            stretch && kill_at_walltime && grace == 0 && jobs[row].3 > 0 && jobs[row].1 > jobs[row].3
                && records.jobs.state(row) != JobState::Timeout
        });
        prop_assert!(is_slurm || !killed_ran_over);
    }

    #[test]
    fn a_policy_twice_is_the_same_schedule_twice(jobs in jobs(), (order, backfill, placement) in policy_names()) {
        let once = || {
            let policy = composed(ORDERS[order].name, BACKFILLS[backfill].name, PLACEMENTS[placement].name, 7);
            run_with_table(&jobs, platform(5, 3, true), policy, Options::default())
        };
        let (first, second) = (once(), once());
        prop_assert_eq!(schedule(&first), schedule(&second));
        prop_assert!((0..jobs.len()).all(|row| first.nodes_of(row) == second.nodes_of(row)));
        prop_assert_eq!(first.totals.energy, second.totals.energy);
    }

    #[test]
    fn fcfs_never_overtakes(jobs in jobs()) {
        let records =
            run(simulation(&jobs, platform(5, 3, true), composed("fcfs", "none", "random", 3), Options::default())).unwrap();
        let order = records.workload.submit_order();
        let starts: Vec<_> = order.iter().filter_map(|job| records.jobs.start(job.0 as usize)).collect();
        prop_assert!(starts.windows(2).all(|pair| pair[0] <= pair[1]));
        prop_assert!((0..jobs.len()).all(|row| records.jobs.started_by(row) != Some(StartedBy::Backfill)));
    }

    /// The textbook's shadow time and extra nodes equal one reservation in a plan of the future.
    #[test]
    fn easy_is_one_reservation(
        jobs in jobs(),
        exclusive in any::<bool>(),
        kill_at_walltime in any::<bool>(),
        order in 0..ORDERS.len(),
    ) {
        let go = |backfill: Reservations| {
            let policy = with_backfill(ORDERS[order].name, Box::new(backfill));
            let options = Options { kill_at_walltime, ..Options::default() };
            schedule(&run(simulation(&jobs, platform(5, 3, exclusive), policy, options)).unwrap())
        };
        prop_assert_eq!(go(Reservations::new(1)), go(Reservations::by_profile(1)));
    }

    /// A plan that is kept, and only extended as needed, equals one that is recomputed for all jobs.
    #[test]
    fn a_plan_that_is_kept_is_the_one_made_anew(
        jobs in prop_oneof![jobs(), jobs_that_end_as_planned(), jobs_that_end_early(), jobs_that_come_one_by_one()],
        depth in prop_oneof![2 => Just(usize::MAX), 1 => 2..40_usize],
        kill_at_walltime in any::<bool>(),
        order in 0..ORDERS.len(),
        outages in prop::collection::vec((0..5_u32, 60..260_i64, 1..50_i64), 0..3),
    ) {
        let go = |backfill: Reservations| {
            let policy = with_backfill(ORDERS[order].name, Box::new(backfill));
            let options = Options { kill_at_walltime, ..Options::default() };
            let mut simulation = simulation(&jobs, platform(5, 3, true), policy, options);
            for &(node, from, length) in &outages {
                let at = |seconds: i64| SimTime::from_micros(seconds * 1_000_000);
                simulation.schedule(at(from), Event::NodeFailed(node));
                simulation.schedule(at(from + length), Event::NodeRepaired(node));
            }
            schedule(&run(simulation).unwrap())
        };
        prop_assert_eq!(go(Reservations::new(depth)), go(Reservations::planning_anew(depth)));
    }

    /// A plan of named nodes that goes on with the one of the pass before, on windows that follow the runs, equals one
    /// made from nothing, node by node, with a budget and without.
    #[test]
    fn a_plan_of_nodes_that_is_kept_is_the_one_made_anew(
        jobs in prop_oneof![jobs(), jobs_that_end_as_planned(), jobs_that_end_early(), jobs_that_come_one_by_one()],
        depth in prop_oneof![2 => Just(usize::MAX), 1 => 0..40_usize],
        horizon_s in prop_oneof![2 => Just(None), 1 => (0..60_i64).prop_map(Some)],
        (kill_at_walltime, exclusive) in (any::<bool>(), prop::bool::weighted(0.7)),
        order in 0..ORDERS.len(),
        outages in prop::collection::vec((0..5_u32, 60..260_i64, 1..50_i64), 0..3),
        pcr in prop_oneof![2 => Just(None), 1 => Just(Some(0.5)), 1 => Just(Some(0.7))],
    ) {
        let go = |make: fn(usize, SimDuration) -> NamedPlan| {
            let machine = platform(5, 3, exclusive);
            let horizon = horizon_s.map_or(SimDuration::FOREVER, |seconds| SimDuration::from_micros(seconds * 1_000_000));
            let (order, backfill) = (ORDERS[order].name, Box::new(make(depth, horizon)));
            let policy = match pcr {
                Some(pcr) => with_backfill_under(order, backfill, "lowest-id", pcr, &machine),
                None => with_backfill(order, backfill),
            };
            let options = Options { kill_at_walltime, ..Options::default() };
            let mut simulation = simulation_with_table(&jobs, machine, policy, options);
            for &(node, from, length) in &outages {
                let at = |seconds: i64| SimTime::from_micros(seconds * 1_000_000);
                simulation.schedule(at(from), Event::NodeFailed(node));
                simulation.schedule(at(from + length), Event::NodeRepaired(node));
            }
            let records = run(simulation).unwrap();
            let nodes: Vec<_> = (0..jobs.len()).map(|row| records.nodes_of(row).map(<[u32]>::to_vec)).collect();
            (schedule(&records), nodes)
        };
        prop_assert_eq!(go(NamedPlan::new), go(NamedPlan::planning_anew));
    }

    /// The same under a budget, whose watts a plan rounds in many places, with arbitrary draws.
    #[test]
    fn a_plan_of_watts_that_is_kept_is_the_one_made_anew(
        jobs in prop_oneof![jobs_that_end_as_planned(), jobs_that_end_early()],
        (first_uw, step_uw) in (110_000_000..200_000_000_u32, 0..9_000_000_u32),
        share in prop::option::of(2..30_u32),
        kinds in 1..12_u32,
        pcr in prop_oneof![Just(0.5), Just(0.6), Just(0.65)],
        has_table in any::<bool>(),
        kill_at_walltime in any::<bool>(),
        order in 0..ORDERS.len(),
        outages in prop::collection::vec((0..12_u32, 60..260_i64, 1..50_i64), 0..3),
    ) {
        // Some draws share out the 600 W that half the TDP leaves: then plans are full to the last microwatt.
        let power_w: Vec<_> = (0..).take(jobs.len()).map(|row: u32| match share {
            Some(share) => 100.0 + 600.0 / f64::from(share + row % kinds.min(4)),
            None => f64::from(first_uw + row % kinds * step_uw) * 1.000_37e-6,
        }).collect();
        let go = |backfill: Reservations| {
            let machine = platform_alike(12);
            let policy = with_backfill_under(ORDERS[order].name, Box::new(backfill), "lowest-id", pcr, &machine);
            let options = Options { kill_at_walltime, ..Options::default() };
            let own = (!has_table).then_some(&power_w[..]);
            let mut simulation = simulation_with_watts(&jobs, own, machine, policy, options);
            for &(node, from, length) in &outages {
                let at = |seconds: i64| SimTime::from_micros(seconds * 1_000_000);
                simulation.schedule(at(from), Event::NodeFailed(node));
                simulation.schedule(at(from + length), Event::NodeRepaired(node));
            }
            schedule(&run(simulation).unwrap())
        };
        prop_assert_eq!(go(Reservations::new(usize::MAX)), go(Reservations::planning_anew(usize::MAX)));
    }

    /// Any steps give the same run, a fork and its parent end alike, and a run that is stopped equals one that was to
    /// stop there.
    #[test]
    fn steps_and_forks_are_one_run(
        jobs in jobs(),
        (order, backfill, placement) in policy_names(),
        exclusive in any::<bool>(),
        mut steps in prop::collection::vec(0..200_i64, 0..6),
        outages in prop::collection::vec((0..5_u32, 0..200_i64, 1..50_i64), 0..3),
        pcr in prop_oneof![Just(None), Just(Some(0.6))],
    ) {
        let at = |seconds: i64| SimTime::from_micros(seconds * 1_000_000);
        let begun = |options: Options| {
            let machine = platform(5, 3, exclusive);
            let names = [ORDERS[order].name, BACKFILLS[backfill].name, PLACEMENTS[placement].name];
            let policy = match pcr {
                Some(pcr) => under_budget(names, pcr, 7, &machine),
                None => composed(names[0], names[1], names[2], 7),
            };
            let mut simulation = simulation_with_table(&jobs, machine, policy, options);
            for &(node, from, length) in &outages {
                simulation.schedule(at(from), Event::NodeFailed(node));
                simulation.schedule(at(from + length), Event::NodeRepaired(node));
            }
            simulation
        };
        let all = |records: Records| {
            let nodes: Vec<_> = (0..jobs.len()).map(|row| records.nodes_of(row).map(<[u32]>::to_vec)).collect();
            let totals = &records.totals;
            let energy = (totals.energy, totals.integral, totals.peak, totals.window);
            let timeline = (records.timeline.time_s.clone(), records.timeline.power_w.clone());
            (schedule(&records), nodes, energy, timeline, (totals.events, totals.passes))
        };
        let watch = &mut |_: Progress| ControlFlow::Continue(());
        let whole = all(run(begun(Options::default())).unwrap());
        steps.sort_unstable();
        let mut stepped = begun(Options::default());
        for &step in &steps {
            stepped.step_until(at(step), watch).unwrap();
            let stopped = run(begun(Options { until: at(step), ..Options::default() })).unwrap();
            prop_assert_eq!(all(stepped.clone().finish(at(step)).unwrap()), all(stopped));
            let fork = stepped.clone();
            prop_assert_eq!(&all(run(fork).unwrap()), &whole);
        }
        prop_assert_eq!(all(run(stepped).unwrap()), whole);
    }

    /// Placement chooses nodes; where nodes are alike it never changes a start.
    #[test]
    fn placement_does_not_move_starts_on_equal_nodes(jobs in jobs(), backfill in 0..BACKFILLS.len()) {
        let go = |placement: &str| {
            let policy = composed("fcfs", BACKFILLS[backfill].name, placement, 11);
            schedule(&run(simulation(&jobs, platform(5, 3, true), policy, Options::default())).unwrap())
        };
        let first = go("lowest-id");
        for placement in PLACEMENTS {
            prop_assert_eq!(&first, &go(placement.name), "{}", placement.name);
        }
    }

    /// The future has no influence: a run stopped early is the beginning of the whole run.
    #[test]
    fn a_run_stopped_early_is_the_beginning_of_the_whole(
        jobs in jobs(),
        (order, backfill, placement) in policy_names(),
        stop in 0..90_i64,
    ) {
        let until = SimTime::from_micros(stop * 1_000_000);
        let go = |until: SimTime| {
            let policy = composed(ORDERS[order].name, BACKFILLS[backfill].name, PLACEMENTS[placement].name, 7);
            run_with_table(&jobs, platform(5, 3, true), policy, Options { until, ..Options::default() })
        };
        let (part, whole) = (go(until), go(SimTime::NEVER));
        for row in 0..jobs.len() {
            let started = whole.jobs.start(row).filter(|&start| start <= until);
            prop_assert_eq!(part.jobs.start(row), started);
            prop_assert_eq!(part.end(row), whole.end(row).filter(|&end| end <= until));
        }
    }
}
