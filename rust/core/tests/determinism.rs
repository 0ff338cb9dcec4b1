//! Same inputs and seed, same run: alone, repeated, and in parallel with three others.

use std::thread;

use hetsched_core::policy::registry::{BACKFILLS, PLACEMENTS};
use hetsched_core::sim::Options;

use crate::support::{Job, composed, platform, run_with_table};

fn jobs() -> Vec<Job> {
    let number = |step: usize, factor: usize, most: usize| u8::try_from(step * factor % most).unwrap();
    (0..250).map(|n| (number(n, 3, 251), number(n, 17, 61), 1 + number(n, 7, 9), number(n, 29, 83), 0)).collect()
}

/// All records of a run as text; floats are printed so that they read back to the same bits.
fn transcript(backfill: &str, placement: &str) -> String {
    let policy = composed("wfp3", backfill, placement, 42);
    let mut records = run_with_table(&jobs(), platform(12, 1, true), policy, Options::default());
    let totals = format!("{:?}", records.totals);
    let timeline = format!("{:?}", records.timeline);
    format!("{totals} {timeline} {:?} {:?}", records.node_frame(), records.take_jobs())
}

#[test]
fn four_threads_write_what_one_writes() {
    for backfill in BACKFILLS {
        for placement in PLACEMENTS {
            let alone = transcript(backfill.name, placement.name);
            let beside: Vec<_> = (0..4)
                .map(|_| {
                    let (backfill, placement) = (backfill.name, placement.name);
                    thread::spawn(move || transcript(backfill, placement))
                })
                .collect();
            for other in beside {
                assert!(other.join().unwrap() == alone, "{}/{}", backfill.name, placement.name);
            }
        }
    }
}
