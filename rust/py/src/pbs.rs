//! Accounting logs of PBS: read from a Python object, handed over column by column.

use hetsched_core::trace::pbs::{
    Done, PbsCountColumn, PbsNumberColumn, PbsOptions, PbsTextColumn, PbsWholeColumn, read_pbs as read,
};
use hetsched_core::trace::sacct::Zone;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dumps::{self, Jobs};
use crate::frame::{self, Column, Frame};

/// The jobs of a log.
#[pyclass(module = "hetsched._core")]
pub(crate) struct PbsLog(Done);

/// Reads a log of PBS; `read_block` returns up to so many bytes, and none at the end. `zone` holds the instants from
/// which another offset is valid, and the offsets, one more than instants.
#[pyfunction]
#[pyo3(signature = (read_block, *, file, zone, drop_never_ran, skip_bad_lines))]
pub(crate) fn read_pbs(
    py: Python<'_>,
    read_block: Py<PyAny>,
    file: &str,
    zone: Option<(Vec<i64>, Vec<i64>)>,
    drop_never_ran: bool,
    skip_bad_lines: bool,
) -> PyResult<PbsLog> {
    let done = dumps::read_blocks(py, read_block, |source, watch| {
        let zone = zone.map(|(since, offset)| Zone::new(since, offset));
        read(source, &PbsOptions { file, zone, drop_never_ran, skip_bad_lines }, watch)
    });
    done.map(PbsLog)
}

#[pymethods]
impl PbsLog {
    /// Names of nodes, the first being none, and the line that each is first seen in.
    fn take_node_names(&mut self) -> (Vec<String>, Vec<u64>) {
        self.0.take_node_names()
    }

    /// All texts by number, the first being none.
    fn take_texts(&mut self) -> Vec<String> {
        self.0.take_texts()
    }

    /// The counts, and errors of the first bad lines.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dumps::report(py, self.0.report.counts(), &self.0.report.first_bad_lines)
    }

    /// A column of the jobs, None if no job has it; texts come by number, and `rank` numbers the nodes' names.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
    fn take_column(&mut self, name: &str, rank: PyReadonlyArray1<'_, u32>) -> PyResult<Option<Frame>> {
        dumps::taken(&mut self.0, name, &rank)
    }
}

impl Jobs for Done {
    type Number = PbsNumberColumn;
    type Whole = PbsWholeColumn;
    type Count = PbsCountColumn;
    type Text = PbsTextColumn;

    const NUMBERS: &'static [(&'static str, PbsNumberColumn)] = &[
        ("walltime_s", PbsNumberColumn::Walltime),
        ("memory_gb", PbsNumberColumn::Memory),
        ("power_w", PbsNumberColumn::Power),
        ("observed_energy_j", PbsNumberColumn::Energy),
        ("start_at_s", PbsNumberColumn::StartAt),
        ("cancel_s", PbsNumberColumn::Cancel),
        ("runtime_s", PbsNumberColumn::Runtime),
        ("observed_end_s", PbsNumberColumn::End),
        ("observed_start_s", PbsNumberColumn::Start),
        ("submit_s", PbsNumberColumn::Submit),
    ];
    const WHOLES: &'static [(&'static str, PbsWholeColumn)] = &[
        ("job_id", PbsWholeColumn::JobId),
        ("array_id", PbsWholeColumn::Array),
        ("depends_on", PbsWholeColumn::DependsOn),
    ];
    const COUNTS: &'static [(&'static str, PbsCountColumn)] = &[
        ("node_count", PbsCountColumn::Nodes),
        ("cpus", PbsCountColumn::Cpus),
        ("gpus", PbsCountColumn::Gpus),
        ("trace_status", PbsCountColumn::Status),
        ("restarts", PbsCountColumn::Restarts),
    ];
    const TEXTS: &'static [(&'static str, PbsTextColumn)] = &[
        ("user", PbsTextColumn::User),
        ("queue", PbsTextColumn::Queue),
        ("app", PbsTextColumn::App),
        ("account", PbsTextColumn::Account),
        ("constraint", PbsTextColumn::Constraint),
    ];

    fn numbers(&mut self, column: PbsNumberColumn) -> Vec<f64> {
        self.take_numbers(column)
    }

    fn wholes(&mut self, column: PbsWholeColumn) -> Vec<i64> {
        self.take_wholes(column)
    }

    fn counts(&mut self, column: PbsCountColumn) -> Vec<i32> {
        self.take_counts(column)
    }

    fn texts(&mut self, column: PbsTextColumn) -> Vec<u32> {
        self.take_texts_of(column)
    }

    fn nodes(&mut self, rank: &[u32]) -> (Vec<i64>, Vec<u32>, Vec<bool>) {
        self.take_nodes(rank)
    }

    fn segments(&mut self) -> Option<(Vec<i64>, Vec<f64>, Vec<bool>)> {
        Self::segments(self)
    }

    fn other(&mut self, name: &str) -> PyResult<Option<Column>> {
        Ok(match name {
            "log_id" => Some(("log_id", frame::texts((0..self.len()).map(|row| Some(self.log_id(row)))))),
            "trace_state" => words("trace_state", &self.states())?,
            "depends_how" => words("depends_how", &self.depends_how())?,
            _ => None,
        })
    }
}

/// Short words, null where empty.
fn words(name: &'static str, own: &[&'static str]) -> PyResult<Option<Column>> {
    if own.iter().all(|word| word.is_empty()) {
        return Ok(None);
    }
    let known = own.iter().map(|word| !word.is_empty()).collect();
    Ok(Some((name, frame::words(own, Some(known), |word| word)?)))
}
