//! A machine of equal nodes, and chance between 0 and 1, for benches of policies.

use hetsched_core::platform::{Platform, PlatformColumns};
use hetsched_core::random::Stream;

/// A number from 0 to 1.
pub(crate) fn share(chance: &mut Stream) -> f64 {
    f64::from(chance.below(1_000_000)) / 1e6
}

/// Nodes that draw `idle_w` when idle and are built for `tdp_w`.
pub(crate) fn machine(nodes: u32, idle_w: f64, tdp_w: f64) -> Platform {
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
