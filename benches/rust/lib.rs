//! Common parts of the engine's benches: their durations, and a machine of equal nodes.

use std::time::Duration;

use criterion::Criterion;
use hetsched_core::platform::{Platform, PlatformColumns};
use hetsched_core::random::Stream;

/// A second or two per group, no plots: enough to see a change by a tenth.
#[must_use]
pub fn short() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .without_plots()
}

/// A number from 0 to 1.
pub fn share(chance: &mut Stream) -> f64 {
    f64::from(chance.below(1_000_000)) / 1e6
}

/// Nodes that draw `idle_w` when idle and are built for `tdp_w`.
///
/// # Panics
/// If a draw is not in order.
#[must_use]
pub fn machine(nodes: u32, idle_w: f64, tdp_w: f64) -> Platform {
    let nodes = nodes as usize;
    let columns = PlatformColumns {
        idle_w: vec![idle_w; nodes],
        busy_w: vec![tdp_w; nodes],
        tdp_w: vec![tdp_w; nodes],
        off_w: vec![0.0; nodes],
        down_w: vec![0.0; nodes],
        boot_w: vec![0.0; nodes],
        boot_s: vec![0.0; nodes],
        shutdown_w: vec![0.0; nodes],
        shutdown_s: vec![0.0; nodes],
        slots: vec![1; nodes],
        exclusive: true,
    };
    columns.into_platform().expect("the platform is in order")
}
