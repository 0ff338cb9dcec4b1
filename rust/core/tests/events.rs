//! Events that no policy of the registry causes yet: nodes that sleep, wake, fail and come back, budgets, timers,
//! intervals. The policies here are scripts.

use std::ops::ControlFlow;

use hetsched_core::error::{Error, Result};
use hetsched_core::platform::node_state::{Class, NodeState};
use hetsched_core::policy::timing::Timing;
use hetsched_core::policy::{Decisions, Jobs, Notice, Policy, Rejection, Stage, View};
use hetsched_core::power::budgets::BudgetRow;
use hetsched_core::sim::event::Event;
use hetsched_core::sim::job_state::JobState;
use hetsched_core::sim::record::Records;
use hetsched_core::sim::work::Cause;
use hetsched_core::sim::{Options, Simulation};
use hetsched_core::units::{SimDuration, SimTime, Watts};
use hetsched_core::workload::JobId;

use crate::support::{Job, composed, platform, platform_that_turns_at_once, run, simulation};

fn at(seconds: i64) -> SimTime {
    SimTime::from_micros(seconds * 1_000_000)
}

type Act = fn(&View<'_>, &[Notice], &mut Decisions);

/// A policy that calls a function, with all notices since the last pass.
#[derive(Clone)]
struct Script {
    act: Act,
    told: Vec<Notice>,
    interval: SimDuration,
    budget_w: f64,
}

impl Policy for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn notice(&mut self, _jobs: Jobs<'_>, notice: Notice) {
        self.told.push(notice);
    }

    fn decide(&mut self, _stage: Stage, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        (self.act)(view, &self.told, out);
        self.told.clear();
        // Each node of the platform draws 300 W when it serves a job.
        let beyond_idle = |&node: &u32| Watts::of_system(300.0) - view.platform.node(node).idle;
        out.revise(|start, nodes| {
            if start.granted == Watts::ZERO {
                start.granted = nodes.iter().filter(|&&node| node < view.platform.len()).map(beyond_idle).sum();
                start.claim = start.granted;
            }
        });
        Ok(())
    }

    fn timing(&self) -> Timing {
        Timing::every(self.interval)
    }

    fn budget(&self) -> Option<Watts> {
        Some(Watts::of_system(self.budget_w))
    }
}

fn scripted(jobs: &[Job], act: Act, interval: i64) -> Simulation {
    scripted_within(5000.0, jobs, act, interval)
}

fn scripted_within(budget_w: f64, jobs: &[Job], act: Act, interval: i64) -> Simulation {
    let interval = SimDuration::from_micros(interval * 1_000_000);
    let script = Box::new(Script { act, told: Vec::new(), interval, budget_w });
    simulation(jobs, platform(2, 1, true), script, Options::default())
}

fn start_all(view: &View<'_>, told: &[Notice], out: &mut Decisions) {
    for (node, notice) in (0..).zip(told.iter().filter(|told| matches!(told, Notice::Submitted(_)))) {
        if let Notice::Submitted(job) = notice {
            assert!(view.slots.free_on(node) > 0);
            out.start_with(*job, |nodes| nodes.push(node));
        }
    }
}

fn seconds_in(records: &Records, node: u32, class: Class) -> f64 {
    records.nodes.node_time(node, class).seconds()
}

#[test]
fn a_node_sleeps_wakes_and_is_metered_in_every_state() {
    // Node 1 is sent to sleep at 0 (10 s), is off from 10, is woken by the timer at 50 (20 s) and ready at 70; job 2,
    // submitted at 30, starts there then and runs 30 s. Job 1 keeps node 0 busy from 0 to 100.
    fn act(view: &View<'_>, told: &[Notice], out: &mut Decisions) {
        for notice in told {
            match notice {
                Notice::Submitted(JobId(0)) => {
                    out.start_with(JobId(0), |nodes| nodes.push(0));
                    out.sleep(1);
                    out.timer(at(50));
                }
                Notice::Timer => {
                    assert_eq!(view.slots.free_units(), 0);
                    out.wake(1);
                }
                Notice::NodeReady(nodes) if nodes.first() == 1 => out.start_with(JobId(1), |nodes| nodes.push(1)),
                _ => {}
            }
        }
    }
    let records = run(scripted(&[(0, 100, 1, 0, 0), (30, 30, 1, 0, 0)], act, 0)).unwrap();
    assert_eq!(records.jobs.start(1), Some(at(70)));
    assert_eq!(seconds_in(&records, 1, Class::Transition), 10.0 + 20.0);
    assert_eq!(seconds_in(&records, 1, Class::Off), 40.0);
    assert_eq!(seconds_in(&records, 1, Class::Busy), 30.0);
    assert_eq!((records.boots[1], records.shutdowns[1]), (1, 1));
    assert_eq!(records.totals.transition_energy.joules(), 30.0 * 150.0);
    assert_eq!(records.totals.off_energy.joules(), 40.0 * 10.0);
    assert_eq!(records.totals.energy, records.totals.integral);
}

#[test]
fn the_watch_is_asked_in_an_instant_that_goes_on_and_on() {
    // Nodes that stop and start at once, and a policy that has node 1 do so in every round.
    let act: Act = |view, _, out| {
        if view.nodes[1] == NodeState::Off { out.wake(1) } else { out.sleep(1) }
    };
    let script = Box::new(Script { act, told: Vec::new(), interval: SimDuration::ZERO, budget_w: 5000.0 });
    let endless = simulation(&[(3, 10, 1, 0, 0)], platform_that_turns_at_once(2), script, Options::default());
    let mut looks = 0;
    let stopped = endless.run(&mut |progress| {
        assert_eq!(progress.now, at(3));
        looks += 1;
        if looks < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn a_failing_node_kills_its_job_and_comes_back() {
    let jobs = [(0, 100, 2, 0, 0), (5, 10, 2, 0, 0)];
    let mut simulation =
        simulation(&jobs, platform(2, 1, true), composed("fcfs", "none", "lowest-id", 0), Options::default());
    simulation.schedule(at(40), Event::NodeFailed(1));
    simulation.schedule(at(60), Event::NodeRepaired(1));
    let records = run(simulation).unwrap();
    assert_eq!((records.jobs.state(0), records.end(0)), (JobState::Failed, Some(at(40))));
    assert_eq!((records.jobs.state(1), records.jobs.start(1)), (JobState::Completed, Some(at(60))));
    assert_eq!(seconds_in(&records, 1, Class::Down), 20.0);
    assert_eq!(seconds_in(&records, 0, Class::Idle), 20.0);
    assert_eq!(records.totals.down_energy.joules(), 20.0 * 5.0);
    assert_eq!(records.totals.energy, records.totals.integral);
    // The first had done 40 of 100 s on two nodes; the second did all of its 10 s on two.
    let work = records.totals.work;
    assert_eq!([work.started_node_s(), work.completed_node_s(), work.lost_node_s()], [220.0, 100.0, 120.0]);
    let cut = |cause| (work.cut_jobs(cause), work.cut_node_s(cause));
    assert_eq!([cut(Cause::Walltime), cut(Cause::Failure)], [(0, 0.0), (1, 120.0)]);
}

#[test]
fn a_node_that_fails_twice_has_failed_and_its_repair_is_one() {
    let policy = composed("fcfs", "none", "lowest-id", 0);
    let mut simulation = simulation(&[(15, 10, 2, 0, 0)], platform(2, 1, true), policy, Options::default());
    let events = [
        (5, Event::NodeRepaired(1)),
        (10, Event::NodeFailed(1)),
        (20, Event::NodeFailed(1)),
        (30, Event::NodeRepaired(1)),
        (35, Event::NodeRepaired(1)),
    ];
    for (second, event) in events {
        simulation.schedule(at(second), event);
    }
    let records = run(simulation).unwrap();
    assert_eq!(records.jobs.start(0), Some(at(30)));
    assert_eq!(seconds_in(&records, 1, Class::Down), 15.0, "from the first submit on");
    // The job's submit and end, a failure and a repair: an event that changes nothing is not counted, and makes no
    // pass.
    assert_eq!((records.totals.events, records.totals.passes), (4, 3));
    assert_eq!(records.totals.energy, records.totals.integral);
}

#[test]
fn a_job_on_shared_nodes_gets_no_node_twice() {
    let act: Act = |_, told, out| {
        if told.contains(&Notice::Submitted(JobId(0))) {
            out.start_with(JobId(0), |nodes| nodes.extend([1, 1]));
        }
    };
    let script = Box::new(Script { act, told: Vec::new(), interval: SimDuration::ZERO, budget_w: 5000.0 });
    let shared = simulation(&[(3, 10, 2, 0, 1)], platform(3, 4, false), script, Options::default());
    let message = run(shared).unwrap_err().to_string();
    assert_eq!(message, "policy script, at 3 s: cannot start job 1: node 1 was given twice");
}

#[test]
fn a_policy_may_reject_a_queued_job_and_only_such_a_one() {
    let act: Act = |_, told, out| {
        for notice in told {
            match notice {
                Notice::Submitted(job @ JobId(0)) => out.reject(*job, Rejection::NoProfile),
                Notice::Submitted(job) => out.start_with(*job, |nodes| nodes.push(0)),
                _ => out.reject(JobId(1), Rejection::NoProfile),
            }
        }
    };
    let twice = run(scripted(&[(3, 10, 1, 0, 0), (4, 10, 1, 0, 0)], act, 0)).unwrap_err().to_string();
    assert_eq!(twice, "policy script, at 14 s: cannot reject job 2: the job is not in the queue");
    let records = run(scripted(&[(3, 10, 1, 0, 0)], act, 0)).unwrap();
    assert_eq!(records.jobs.state(0), JobState::RejectedProfile);
    assert_eq!(records.totals.window, Some((at(3), at(3))));
}

#[test]
fn a_failure_at_the_instant_of_an_end_comes_after_it() {
    let policy = composed("fcfs", "none", "lowest-id", 0);
    let mut simulation = simulation(&[(0, 40, 1, 0, 0)], platform(2, 1, true), policy, Options::default());
    simulation.schedule(at(40), Event::NodeFailed(0));
    assert_eq!(run(simulation).unwrap().jobs.state(0), JobState::Completed);
}

#[test]
fn a_job_that_waits_for_a_node_that_never_returns_stays_pending() {
    let policy = composed("fcfs", "none", "lowest-id", 0);
    let mut simulation =
        simulation(&[(0, 10, 1, 0, 0), (1, 10, 2, 0, 0)], platform(2, 1, true), policy, Options::default());
    simulation.schedule(at(5), Event::NodeFailed(1));
    let records = run(simulation).unwrap();
    assert_eq!(records.jobs.state(1), JobState::Stranded);
    assert_eq!(records.totals.energy, records.totals.integral);
}

#[test]
fn a_budget_change_is_told_and_shown() {
    fn act(view: &View<'_>, told: &[Notice], out: &mut Decisions) {
        if told.contains(&Notice::BudgetChanged) {
            assert_eq!(view.budgets.in_force(view.now, None), Watts::from_watts(500.0));
            out.start_with(JobId(0), |nodes| nodes.push(0));
        }
    }
    let mut simulation = scripted(&[(0, 10, 1, 0, 0)], act, 0);
    let watts = Watts::of_system(500.0);
    simulation.add_budgets(vec![BudgetRow { from: at(25), until: SimTime::NEVER, announced: at(0), watts }]);
    assert_eq!(run(simulation).unwrap().jobs.start(0), Some(at(25)));
}

#[test]
fn an_interval_delays_passes_to_its_multiples() {
    let records = run(scripted(&[(5, 100, 1, 0, 0), (31, 10, 1, 0, 0)], start_later, 30)).unwrap();
    assert_eq!(records.jobs.start(0), Some(at(30)));
    assert_eq!(records.jobs.start(1), Some(at(60)));
}

fn start_later(view: &View<'_>, told: &[Notice], out: &mut Decisions) {
    for notice in told {
        if let Notice::Submitted(JobId(job)) = *notice {
            assert!(view.slots.free_on(job) > 0);
            out.start_with(JobId(job), |nodes| nodes.push(job));
        }
    }
}

#[test]
fn what_cannot_be_done_is_refused_with_policy_job_and_instant() {
    let refusals: [(Act, &str); 7] = [
        (|_, _, out| out.timer(SimTime::NEVER), "it is later than 1000000000000 s"),
        (|_, _, out| out.start_with(JobId(0), |_| {}), "start job 1: it asks for 1 nodes and was given 0"),
        (|_, _, out| out.start_with(JobId(0), |nodes| nodes.push(9)), "start job 1: there is no node 9 of 2"),
        (|_, _, out| out.start_with(JobId(7), |nodes| nodes.push(0)), "start the job in row 7: the job is not in"),
        (|_, _, out| out.wake(0), "wake node 0: a node that is idle cannot wake"),
        (|_, _, out| out.timer(at(0)), "set a timer for 0 s: 0 s is not after now"),
        (
            |_, _, out| {
                out.start_with(JobId(0), |nodes| nodes.push(0));
                out.sleep(0);
            },
            "let node 0 sleep: a node that is busy cannot sleep",
        ),
    ];
    for (act, expected) in refusals {
        let message = run(scripted(&[(3, 10, 1, 0, 0)], act, 0)).unwrap_err().to_string();
        assert!(message.starts_with("policy script, at 3 s: cannot "), "{message}");
        assert!(message.contains(expected), "{message} / {expected}");
    }
}

#[test]
fn a_busy_node_takes_no_second_job() {
    let act: Act = |_, told, out| {
        if let [Notice::Submitted(job)] = told {
            out.start_with(*job, |nodes| nodes.push(0));
        }
    };
    let message = run(scripted(&[(3, 10, 1, 0, 0), (4, 10, 1, 0, 0)], act, 0)).unwrap_err().to_string();
    assert_eq!(message, "policy script, at 4 s: cannot start job 2: node 0 is busy, with 0 free slots of 1 needed");
}

#[test]
fn a_job_of_length_zero_makes_another_round() {
    // Job 1 takes both nodes for no time at all; job 2, of the same instant, follows in the second round.
    let policy = composed("fcfs", "none", "lowest-id", 0);
    let jobs = [(7, 0, 2, 0, 0), (7, 10, 2, 0, 0)];
    let records = run(simulation(&jobs, platform(2, 1, true), policy, Options::default())).unwrap();
    assert_eq!((records.jobs.start(0), records.end(0)), (Some(at(7)), Some(at(7))));
    assert_eq!(records.jobs.start(1), Some(at(7)));
    assert_eq!(records.timeline.time_s, [7.0, 17.0]);
}

#[test]
fn a_run_in_which_nothing_starts_has_an_empty_window() {
    let policy = composed("fcfs", "none", "lowest-id", 0);
    let records = run(simulation(&[(7, 5, 9, 0, 0)], platform(2, 1, true), policy, Options::default())).unwrap();
    assert_eq!(records.jobs.state(0), JobState::RejectedNodes);
    assert_eq!(records.totals.window, Some((at(7), at(7))));
    assert_eq!(records.totals.energy.joules(), 0.0);
    assert_eq!(records.timeline.time_s, [7.0]);
}

#[test]
fn a_watch_that_breaks_stops_the_run() {
    use std::ops::ControlFlow;
    let jobs: Vec<Job> = (0..1000_u16).map(|n| (u8::try_from(n % 250).unwrap(), 1, 1, 0, 0)).collect();
    let policy = composed("fcfs", "none", "lowest-id", 0);
    let simulation = simulation(&jobs, platform(1, 1, true), policy, Options::default());
    assert_eq!(simulation.run(&mut |_| ControlFlow::Break(())).unwrap_err().to_string(), "interrupted");
}

#[test]
fn scripts_can_start_jobs_together() {
    let records = run(scripted(&[(5, 10, 1, 0, 0), (5, 20, 1, 0, 0)], start_all, 0)).unwrap();
    assert_eq!(records.timeline.counts[0].clone().into_vec(), [2, 1, 0]);
}

#[test]
fn what_outgrows_the_books_is_an_error_and_never_a_wrong_number() {
    use hetsched_core::platform::PlatformColumns;
    use hetsched_core::power::pvt::{OnUnknownApp, tables};
    use hetsched_core::workload::JobColumns;
    let go = |runtime_s: f64, jobs: usize| {
        let columns = JobColumns {
            job_id: (0..).take(jobs).collect(),
            submit_s: vec![0.0; jobs],
            runtime_s: vec![runtime_s; jobs],
            node_count: vec![200; jobs],
            ..JobColumns::default()
        };
        let most = vec![1e6; 200];
        let machine = PlatformColumns {
            idle_w: most.clone(),
            busy_w: most.clone(),
            tdp_w: most.clone(),
            off_w: most.clone(),
            down_w: most.clone(),
            boot_w: most.clone(),
            boot_s: vec![0.0; 200],
            shutdown_w: most,
            shutdown_s: vec![0.0; 200],
            slots: vec![1; 200],
            exclusive: true,
        };
        let (workload, machine) = (columns.into_workload().unwrap(), machine.into_platform().unwrap());
        let (actual, predicted) = tables(&machine, &workload, None, None, OnUnknownApp::Error).unwrap();
        let policy = composed("fcfs", "none", "lowest-id", 0);
        run(Simulation::new(workload, machine, actual, predicted, policy, Options::default()))
    };
    assert_eq!(go(1e9, 1).unwrap().totals.energy.joules(), 200.0 * 1e6 * 1e9);
    assert_eq!(go(1e12, 1).unwrap_err().to_string(), "the energy of this run is beyond 1.7e20 J");
    let message = go(6e11, 2).unwrap_err().to_string();
    assert!(message.ends_with("cannot start job 1: it would end later than 1000000000000 s"), "{message}");
}

#[test]
fn a_start_that_passes_the_ceiling_is_refused() {
    // The two nodes idle at 200.1 W together, and the script's budget is 500 W.
    let act: Act = start_all;
    let jobs: [Job; 2] = [(0, 10, 1, 0, 0), (0, 10, 1, 0, 0)];
    let error = run(scripted_within(500.0, &jobs, act, 0)).unwrap_err().to_string();
    let expected =
        "policy script, at 0 s: cannot start job 2: the system would draw 600 W, more than the budget of 500 W";
    assert_eq!(error, expected);
    assert!(run(scripted_within(500.0, &jobs[..1], act, 0)).is_ok());
    assert!(
        run(scripted_within(500.0, &[(0, 10, 1, 0, 0), (20, 10, 1, 0, 0)], act, 0)).is_ok(),
        "what has ended claims nothing"
    );
}

#[test]
fn a_policy_that_counts_other_watts_than_a_job_draws_is_refused() {
    fn counting(granted: f64, claim: f64, out: &mut Decisions) {
        let [granted, claim] = [granted, claim].map(Watts::of_system);
        out.revise(|start, _| (start.granted, start.claim) = (granted, claim));
    }
    let less: Act = |view, told, out| {
        start_all(view, told, out);
        counting(199.0, 199.0, out);
    };
    let claims_less: Act = |view, told, out| {
        start_all(view, told, out);
        counting(200.0, 150.0, out);
    };
    for (act, watts) in [(less, 199), (claims_less, 150)] {
        let error = run(scripted(&[(0, 10, 1, 0, 0)], act, 0)).unwrap_err().to_string();
        let expected = format!(
            "policy script, at 0 s: cannot start job 1: the policy counts {watts} W for it, and it is predicted to draw \
             200 W beyond idle"
        );
        assert_eq!(error, expected);
    }
}
