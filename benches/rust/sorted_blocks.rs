//! The two sorted lists of a pass: waiting jobs in policy order, and running ones by planned end.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hetsched_benches::short;
use hetsched_core::algo::fit_list::{ClassId, FitList, Place, QueueKey, Room, Waiting};
use hetsched_core::algo::releases::{Claim, Release, ReleasedBy, Releases};
use hetsched_core::random::Stream;
use hetsched_core::units::{SimDuration, SimTime};

const QUEUES: [u32; 3] = [30, 1_000, 30_000];

fn seconds(seconds: u32) -> SimDuration {
    SimDuration::from_micros(i64::from(seconds) * 1_000_000)
}

fn units(units: u32) -> Claim {
    Claim { units: units.into(), microwatts: 0 }
}

/// A job of 2 nodes or more that came as the `row`-th.
fn waiting(chance: &mut Stream, row: u32) -> Waiting {
    let key = QueueKey { tier: 0, rank: 0, submit: SimTime::from_micros(i64::from(row)), row };
    Waiting {
        key,
        units: 2_i64 << chance.below(7),
        length: seconds(60 + chance.below(86_400)),
        watts: 0,
        class: ClassId::OTHER,
    }
}

fn queue(count: u32) -> FitList {
    let mut chance = Stream::new(1, "queue");
    let mut queue = FitList::default();
    (0..count).for_each(|row| queue.insert(waiting(&mut chance, row)));
    queue
}

fn submit_and_start(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queue/submit_last_and_start_any");
    for count in QUEUES {
        let (mut list, mut row, mut chance) = (queue(count), count, Stream::new(1, "starts"));
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| {
                list.insert(waiting(&mut chance, row));
                row += 1;
                let units = 2_i64 << chance.below(7);
                // If no job fits the first is removed, so that the queue keeps its length.
                let place = list.first_fit(Place::FRONT, Room::of(units)).unwrap_or(Place::FRONT);
                list.remove_at(place)
            });
        });
    }
    group.finish();
}

fn nobody_fits(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("queue/first_fit_when_nobody_fits");
    for count in QUEUES {
        let list = queue(count);
        let room = Room { slack: seconds(59), extra: 1, ..Room::of(64) };
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| list.first_fit(black_box(Place::FRONT), black_box(room)));
        });
    }
    group.finish();
}

fn shadow(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("releases/shadow_of_half_the_machine");
    for running in [50, 1_000] {
        let mut chance = Stream::new(1, "releases");
        let mut releases = Releases::default();
        for row in 0..running {
            let at = SimTime::from_micros(0) + seconds(1 + chance.below(86_400));
            releases.insert(Release { at, by: ReleasedBy::Job(row), claim: units(1 + chance.below(20)) });
        }
        group.bench_function(BenchmarkId::from_parameter(running), |bencher| {
            bencher.iter(|| releases.shadow(black_box(SimTime::from_micros(0)), units(0), units(5 * running), &[]));
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = short(); targets = submit_and_start, nobody_fits, shadow }
criterion_main!(benches);
