//! Dumps of sacct: read from a Python object, handed over column by column.

use hetsched_core::trace::sacct::{
    Dump, SacctCountColumn, SacctNumberColumn, SacctOptions, SacctTextColumn, SacctWholeColumn, Zone,
    read_sacct as read,
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::dumps::{self, Jobs};
use crate::frame::{self, Column, Frame};

/// The jobs of a dump.
#[pyclass(module = "hetsched._core")]
pub(crate) struct SacctDump(Dump);

/// Reads a dump of sacct; `read` returns up to so many bytes, and none at the end.
#[pyfunction]
#[pyo3(signature = (read_block, *, file, zone_since, zone_offset, columns, delimiter, app, drop_never_ran, skip_bad_lines))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
pub(crate) fn read_sacct(
    py: Python<'_>,
    read_block: Py<PyAny>,
    file: &str,
    zone_since: Vec<i64>,
    zone_offset: Vec<i64>,
    columns: Option<Vec<String>>,
    delimiter: Option<String>,
    app: Option<String>,
    drop_never_ran: bool,
    skip_bad_lines: bool,
) -> PyResult<SacctDump> {
    let dump = dumps::read_blocks(py, read_block, |source, watch| {
        let options = SacctOptions {
            file,
            zone: Zone::new(zone_since, zone_offset),
            columns,
            delimiter: delimiter.as_deref().map(str::as_bytes),
            app: app.as_deref(),
            drop_never_ran,
            skip_bad_lines,
        };
        read(source, &options, watch)
    });
    dump.map(SacctDump)
}

#[pymethods]
impl SacctDump {
    /// Names of nodes, the first being none, and the line that each is first seen in.
    fn node_names(&self) -> (Vec<String>, Vec<u64>) {
        self.0.node_names()
    }

    /// True if it is JSON.
    #[getter]
    fn is_json(&self) -> bool {
        self.0.is_json
    }

    /// All texts by number, the first being none.
    fn take_texts(&mut self) -> Vec<String> {
        std::mem::take(&mut self.0.texts)
    }

    /// The counts, and errors of the first bad lines.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        dumps::report(py, self.0.report.counts(), &self.0.report.first_bad_lines)
    }

    /// Names of the columns in its header lines, or those given; none for JSON.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.columns.clone()
    }

    /// A column of the jobs, None if no job has it; texts come by number, and `rank` numbers the nodes' names.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
    fn take_column(&mut self, name: &str, rank: PyReadonlyArray1<'_, u32>) -> PyResult<Option<Frame>> {
        dumps::taken(&mut self.0, name, &rank)
    }
}

impl Jobs for Dump {
    type Number = SacctNumberColumn;
    type Whole = SacctWholeColumn;
    type Count = SacctCountColumn;
    type Text = SacctTextColumn;

    const NUMBERS: &'static [(&'static str, SacctNumberColumn)] = &[
        ("submit_s", SacctNumberColumn::Submit),
        ("runtime_s", SacctNumberColumn::Runtime),
        ("walltime_s", SacctNumberColumn::Walltime),
        ("start_at_s", SacctNumberColumn::StartAt),
        ("cancel_s", SacctNumberColumn::Cancel),
        ("observed_end_s", SacctNumberColumn::End),
        ("observed_start_s", SacctNumberColumn::Start),
        ("suspended_s", SacctNumberColumn::Suspended),
        ("memory_gb", SacctNumberColumn::Memory),
        ("power_w", SacctNumberColumn::Power),
        ("observed_energy_j", SacctNumberColumn::Energy),
    ];

    const WHOLES: &'static [(&'static str, SacctWholeColumn)] = &[
        ("job_id", SacctWholeColumn::JobId),
        ("cpus", SacctWholeColumn::Cpus),
        ("priority", SacctWholeColumn::Priority),
        ("array_id", SacctWholeColumn::Array),
        ("het_id", SacctWholeColumn::Het),
    ];

    const COUNTS: &'static [(&'static str, SacctCountColumn)] = &[
        ("node_count", SacctCountColumn::Nodes),
        ("slots", SacctCountColumn::Slots),
        ("gpus", SacctCountColumn::Gpus),
        ("array_limit", SacctCountColumn::ArrayLimit),
        ("trace_status", SacctCountColumn::Status),
        ("restarts", SacctCountColumn::Restarts),
    ];

    const TEXTS: &'static [(&'static str, SacctTextColumn)] = &[
        ("constraint", SacctTextColumn::Constraint),
        ("licences", SacctTextColumn::Licences),
        ("user", SacctTextColumn::User),
        ("account", SacctTextColumn::Account),
        ("queue", SacctTextColumn::Queue),
        ("qos", SacctTextColumn::Qos),
        ("reservation", SacctTextColumn::Reservation),
        ("app", SacctTextColumn::App),
        ("trace_state", SacctTextColumn::State),
    ];

    fn numbers(&mut self, column: SacctNumberColumn) -> Vec<f64> {
        self.take_numbers(column)
    }

    fn wholes(&mut self, column: SacctWholeColumn) -> Vec<i64> {
        self.take_wholes(column)
    }

    fn counts(&mut self, column: SacctCountColumn) -> Vec<i32> {
        self.take_counts(column)
    }

    fn texts(&mut self, column: SacctTextColumn) -> Vec<u32> {
        self.take_texts(column)
    }

    fn nodes(&mut self, rank: &[u32]) -> (Vec<i64>, Vec<u32>, Vec<bool>) {
        Self::nodes(self, rank)
    }

    fn segments(&mut self) -> Option<(Vec<i64>, Vec<f64>, Vec<bool>)> {
        self.take_segments()
    }

    fn other(&mut self, name: &str) -> PyResult<Option<Column>> {
        let log_ids = || frame::texts((0..self.len()).map(|row| Some(self.log_id(row))));
        Ok((name == "log_id").then(|| ("log_id", log_ids())))
    }
}
