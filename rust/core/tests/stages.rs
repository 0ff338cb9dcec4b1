//! Stages of a pass: a policy is asked for those that it names, in their order.

use std::sync::{Arc, Mutex, PoisonError};

use hetsched_core::error::Result;
use hetsched_core::policy::{Decisions, Jobs, Notice, Policy, Stage, Stages, View};
use hetsched_core::sim::Options;
use hetsched_core::units::SimDuration;
use hetsched_core::workload::JobId;

use crate::support::{platform, run, simulation};

/// A policy that writes down what it is asked, and starts its job once nothing is held.
#[derive(Clone)]
struct Asked {
    stages: Stages,
    /// Stages that it was asked for, each with what the view says of the starts.
    log: Arc<Mutex<Vec<(Stage, bool)>>>,
    waiting: Option<JobId>,
    /// Number of passes whose starts it holds.
    holds: u32,
}

impl Policy for Asked {
    fn name(&self) -> &'static str {
        "asked"
    }

    fn notice(&mut self, _jobs: Jobs<'_>, notice: Notice) {
        if let Notice::Submitted(job) = notice {
            self.waiting = Some(job);
        }
    }

    fn stages(&self) -> Stages {
        self.stages
    }

    fn decide(&mut self, stage: Stage, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push((stage, view.is_held));
        if stage == Stage::Recover && self.holds > 0 {
            self.holds -= 1;
            out.hold();
        }
        if stage == Stage::Start
            && !view.is_held
            && let Some(job) = self.waiting.take()
        {
            out.start_with(job, |nodes| nodes.push(0));
        }
        Ok(())
    }
}

/// Calls of a policy with these stages while a job of 10 s is submitted at 0 s, starts and ends.
fn asked(stages: Stages, holds: u32) -> Vec<(Stage, bool)> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let policy = Asked { stages, log: Arc::clone(&log), waiting: None, holds };
    let simulation = simulation(&[(0, 10, 1, 0, 0)], platform(2, 1, true), Box::new(policy), Options::default());
    run(simulation).expect("the run ends");
    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    log.clone()
}

fn free(stages: &[Stage]) -> Vec<(Stage, bool)> {
    stages.iter().map(|&stage| (stage, false)).collect()
}

#[test]
fn a_policy_without_further_stages_is_asked_for_starts() {
    assert_eq!(asked(Stages::default(), 0), free(&[Stage::Start; 2]));
}

#[test]
fn the_stages_of_a_pass_are_asked_in_their_order() {
    let all = Stages {
        monitor: Some(SimDuration::ZERO),
        allot: Some(SimDuration::ZERO),
        // No job can change its size, so that this stage is left out.
        resizes: true,
        rests: true,
        ..Stages::default()
    };
    let pass = [Stage::Recover, Stage::Start, Stage::Rest, Stage::Allot];
    assert_eq!(asked(all, 0), free(&[pass, pass].concat()));
}

#[test]
fn an_allocator_with_an_interval_is_asked_at_its_multiples() {
    let stages = Stages { allot: Some(SimDuration::from_micros(4_000_000)), ..Stages::default() };
    // The job starts at 0 s, which is a multiple; then come 4 s and 8 s, and the end, which is none.
    let both = [Stage::Start, Stage::Allot];
    assert_eq!(asked(stages, 0), free(&[&both[..], &both, &both, &[Stage::Start]].concat()));
}

#[test]
fn a_recovery_that_is_not_complete_holds_the_starts_of_its_pass() {
    let stages = Stages {
        monitor: Some(SimDuration::ZERO),
        allot: Some(SimDuration::from_micros(5_000_000)),
        ..Stages::default()
    };
    let log = asked(stages, 1);
    assert_eq!(log[..3], [(Stage::Recover, false), (Stage::Start, true), (Stage::Allot, false)]);
    assert!(log[3..].iter().all(|&(_, is_held)| !is_held));
}
