//! The set of free nodes, half of them taken: a job's nodes leave it and come back.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hetsched_benches::short;
use hetsched_core::algo::node_set::NodeSet;
use hetsched_core::random::Stream;

const MACHINES: [u32; 2] = [540, 10_000];

/// About the mean size of a job.
const WANTED: u32 = 12;

/// Each node is free with a chance of one half.
fn half_full(nodes: u32) -> NodeSet {
    let mut chance = Stream::new(1, "free nodes");
    let mut free = NodeSet::empty(nodes);
    (0..nodes).filter(|_| chance.below(2) == 0).for_each(|node| {
        free.insert(node);
    });
    free
}

fn put_back(free: &mut NodeSet, taken: &mut Vec<u32>) {
    for node in taken.drain(..) {
        free.insert(node);
    }
}

fn take_lowest(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("node_set/take_lowest_12_and_put_back");
    for nodes in MACHINES {
        let (mut free, mut taken) = (half_full(nodes), Vec::new());
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            bencher.iter(|| {
                free.take_lowest(WANTED, &mut taken);
                put_back(&mut free, &mut taken);
                free.len()
            });
        });
    }
    group.finish();
}

fn take_ranks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("node_set/take_ranks_12_and_put_back");
    for nodes in MACHINES {
        let (mut free, mut taken) = (half_full(nodes), Vec::new());
        let step = free.len() / WANTED;
        let ranks: Vec<u32> = (0..WANTED).map(|place| place * step).collect();
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            bencher.iter(|| {
                free.take_ranks(&ranks, &mut taken);
                put_back(&mut free, &mut taken);
                free.len()
            });
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = short(); targets = take_lowest, take_ranks }
criterion_main!(benches);
