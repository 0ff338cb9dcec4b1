//! The assignment solvers on typical inputs: distinct rows, few types, jobs of few applications.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hetsched_benches::short;
use hetsched_core::algo::assignment::{Costs, assign, assign_types};
use hetsched_core::random::Stream;

const SIZES: [(usize, usize); 3] = [(200, 200), (200, 1_000), (1_000, 1_000)];

const APPS: usize = 6;

fn uniform(chance: &mut Stream) -> f64 {
    f64::from(chance.below(1 << 30)) / f64::from(1 << 30)
}

/// Watts of each application on each node: nodes differ by a tenth or so, applications on a node by less.
fn watts(chance: &mut Stream, nodes: usize) -> Vec<f64> {
    let of_node: Vec<f64> = (0..nodes).map(|_| 280.0 + 40.0 * uniform(chance)).collect();
    (0..APPS).flat_map(|_| of_node.iter()).map(|watt| watt * (0.97 + 0.06 * uniform(chance))).collect()
}

/// Costs: each job's watts times its length.
fn jobs(watts: &[f64], nodes: usize, lengths: impl Iterator<Item = f64>) -> Vec<f64> {
    let row = |(job, length): (usize, f64)| watts[job % APPS * nodes..][..nodes].iter().map(move |watt| watt * length);
    lengths.enumerate().flat_map(row).collect()
}

fn matrices(criterion: &mut Criterion) {
    for kind in ["unlike", "types", "lengths"] {
        let mut group = criterion.benchmark_group(format!("assign/{kind}"));
        for (rows, nodes) in SIZES {
            let mut chance = Stream::new(1, kind);
            let values = match kind {
                "unlike" => (0..rows * nodes).map(|_| uniform(&mut chance)).collect(),
                "types" => jobs(&watts(&mut chance, nodes), nodes, (0..rows).map(|_| 1.0)),
                _ => {
                    let watts = watts(&mut chance, nodes);
                    jobs(&watts, nodes, (0..rows).map(|_| 1.0 / (0.001 + uniform(&mut chance))))
                }
            };
            group.bench_function(BenchmarkId::from_parameter(format!("{rows}x{nodes}")), |bencher| {
                bencher.iter(|| assign(&Costs::new(rows, nodes, &values)?));
            });
        }
        group.finish();
    }
}

fn types(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("assign_types");
    for (rows, nodes) in SIZES {
        let values = watts(&mut Stream::new(1, "types"), nodes);
        let counts = vec![u32::try_from(rows / APPS).unwrap_or(0); APPS];
        group.bench_function(BenchmarkId::from_parameter(format!("{rows} in {nodes}")), |bencher| {
            bencher.iter(|| assign_types(&Costs::new(APPS, nodes, &values)?, &counts));
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = short(); targets = matrices, types }
criterion_main!(benches);
