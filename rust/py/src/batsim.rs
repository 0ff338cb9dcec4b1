//! Workloads of Batsim: read from a Python object, handed over as a frame.

use hetsched_core::trace::batsim::{BatsimOptions, read_batsim as read};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dumps;
use crate::frame::{self, Frame};

/// Reads a workload of Batsim: its jobs in the order of the file, and the counts; `read_block` returns up to so many
/// bytes, and none at the end.
#[pyfunction]
#[pyo3(signature = (read_block, *, file, flops_per_s, skip_bad_lines))]
pub(crate) fn read_batsim<'py>(
    py: Python<'py>,
    read_block: Py<PyAny>,
    file: &str,
    flops_per_s: Option<f64>,
    skip_bad_lines: bool,
) -> PyResult<(Frame, Bound<'py, PyDict>)> {
    let loaded = dumps::read_blocks(py, read_block, |source, watch| {
        read(source, &BatsimOptions { file, flops_per_s, skip_bad_lines }, watch)
    })?;
    let counts = vec![("comm_ignored", loaded.comm_ignored), ("bad_lines", loaded.bad_lines)];
    let report = dumps::report(py, counts, &loaded.first_bad_lines)?;
    report.set_item("nodes", loaded.nodes)?;
    let columns = vec![
        ("log_id", frame::named(&loaded.log_id, |code| loaded.id(code))),
        ("profile", frame::named(&loaded.profile, |code| loaded.name(code))),
        ("user", frame::named(&loaded.user, |code| loaded.person(code))),
        ("queue", frame::named(&loaded.queue, |code| loaded.person(code))),
        ("submit_s", frame::floats(loaded.submit_s)),
        ("runtime_s", frame::floats(loaded.runtime_s)),
        ("node_count", frame::ints(loaded.node_count)),
        ("walltime_s", frame::nullable(loaded.walltime_s)),
    ];
    Ok((Frame::new(columns)?, report))
}
