//! How long a bench may take: a second or two a group.

use std::time::Duration;

use criterion::Criterion;

/// Few samples, no plots: enough to see a change of a tenth.
pub(crate) fn short() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .without_plots()
}
