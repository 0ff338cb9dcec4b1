//! The profile of the future in conservative backfilling: built from scratch, then each waiting job is planned into it.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hetsched_benches::short;
use hetsched_core::algo::horizon::Profile;
use hetsched_core::random::Stream;
use hetsched_core::units::{SimDuration, SimTime};

const NODES: u32 = 540;
const RUNNING: u32 = 50;

fn seconds(seconds: u32) -> SimDuration {
    SimDuration::from_micros(i64::from(seconds) * 1_000_000)
}

/// Releases of the running jobs, which hold all nodes but the few that are free.
fn releases(chance: &mut Stream) -> Vec<(SimTime, i64)> {
    let at = |chance: &mut Stream| SimTime::from_micros(0) + seconds(1 + chance.below(86_400));
    let mut releases: Vec<_> = (0..RUNNING).map(|_| (at(chance), i64::from(NODES / RUNNING))).collect();
    releases.sort_unstable();
    releases
}

/// Needs of the waiting jobs, with their lengths.
fn wishes(chance: &mut Stream, count: usize) -> Vec<(i64, SimDuration)> {
    (0..count).map(|_| (1 << chance.below(8), seconds(60 + chance.below(86_400)))).collect()
}

fn plan_a_queue(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("profile/plan_a_queue");
    let mut chance = Stream::new(1, "plan");
    let releases = releases(&mut chance);
    let free = i64::from(NODES - RUNNING * (NODES / RUNNING));
    for waiting in [1, 30, 300] {
        let wishes = wishes(&mut chance, waiting);
        let mut plan = Profile::default();
        group.bench_function(BenchmarkId::from_parameter(waiting), |bencher| {
            bencher.iter(|| {
                plan.reset(SimTime::from_micros(0), free, releases.iter().copied());
                for &(units, length) in &wishes {
                    let start = plan.earliest_fit(units, length);
                    plan.reserve(start, length, units);
                }
                plan.fits_now(1, seconds(60))
            });
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = short(); targets = plan_a_queue }
criterion_main!(benches);
