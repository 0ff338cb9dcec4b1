//! The event heap in the steady state of a run: each event that leaves schedules a later one.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hetsched_benches::short;
use hetsched_core::algo::event_heap::EventHeap;
use hetsched_core::random::Stream;
use hetsched_core::units::{SimDuration, SimTime};

/// Delays of up to a day, drawn before the measurement.
fn delays() -> Vec<SimDuration> {
    let mut chance = Stream::new(1, "delays");
    (0..4096).map(|_| SimDuration::from_micros(i64::from(chance.below(86_400)) * 1_000_000)).collect()
}

fn pop_and_push(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event_heap/pop_and_push");
    let delays = delays();
    for pending in [100, 10_000, 1_000_000] {
        let mut heap = EventHeap::default();
        let mut next = delays.iter().cycle().copied();
        for event in 0..pending {
            heap.push(SimTime::from_micros(0) + next.next().unwrap_or_default(), 0, event);
        }
        group.bench_function(BenchmarkId::from_parameter(pending), |bencher| {
            bencher.iter(|| {
                let now = heap.next_time()?;
                let event = heap.pop_at(now)?;
                heap.push(now + next.next()?, 0, event);
                Some(event)
            });
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = short(); targets = pop_and_push }
criterion_main!(benches);
