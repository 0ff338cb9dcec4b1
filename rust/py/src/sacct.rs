//! Dumps of sacct: read from a Python object, handed over column by column.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use hetsched_core::trace::sacct::{
    CountColumn, Dump, NumberColumn, Options, TextColumn, WholeColumn, Zone, read_sacct as read,
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors;
use crate::frame::{self, Column, Frame};
use crate::run::run_detached;

/// Bytes that are asked for at once.
pub(crate) const BLOCK: usize = 1 << 20;

/// What a Python function gives, block by block.
pub(crate) struct Source {
    pub(crate) read: Py<PyAny>,
    pub(crate) raised: Arc<std::sync::Mutex<Option<PyErr>>>,
}

impl Read for Source {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let given = self.read.call1(py, (target.len(),)).and_then(|block| {
                let bytes = block.cast_bound::<PyBytes>(py)?.as_bytes();
                target[..bytes.len()].copy_from_slice(bytes);
                Ok(bytes.len())
            });
            given.map_err(|error| {
                *self.raised.lock().expect("one thread") = Some(error);
                io::Error::other("the source failed")
            })
        })
    }
}

/// The jobs of a dump.
#[pyclass(module = "hetsched._core")]
pub(crate) struct SacctDump(Dump);

/// Reads a dump of sacct; `read` gives up to so many bytes, and none at the end.
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
    let raised = Arc::new(std::sync::Mutex::new(None));
    let source = Source { read: read_block, raised: Arc::clone(&raised) };
    let outcome = run_detached(
        py,
        false,
        None,
        |_, _, _| Ok(()),
        |look| {
            let options = Options {
                file,
                zone: Zone::new(zone_since, zone_offset),
                columns,
                delimiter: delimiter.as_deref().map(str::as_bytes),
                app: app.as_deref(),
                drop_never_ran,
                skip_bad_lines,
            };
            let source = Box::new(BufReader::with_capacity(BLOCK, source));
            read(source, &options, &mut |done, all| look(&[done as f64, all as f64]))
        },
    );
    let own = raised.lock().expect("one thread").take();
    match own {
        Some(error) => Err(error),
        None => outcome.map(SacctDump),
    }
}

#[pymethods]
impl SacctDump {
    /// Names of nodes, the first being none, and the line that each is first seen in.
    fn node_names(&self) -> (Vec<String>, Vec<u64>) {
        self.0.node_names()
    }

    /// Whether it is JSON.
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
        let dict = PyDict::new(py);
        for (name, count) in self.0.report.counts() {
            dict.set_item(name, count)?;
        }
        let told = self.0.report.first_bad_lines.iter().map(|fault| errors::trace(py, fault));
        dict.set_item("first_bad_lines", told.collect::<PyResult<Vec<_>>>()?)?;
        Ok(dict)
    }

    /// A column of the jobs by itself, so that it goes when it is not used; None where no job has it. Texts come by
    /// number; `rank` numbers the nodes' names. Its source is empty afterwards.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
    fn take_column(&mut self, name: &str, rank: PyReadonlyArray1<'_, u32>) -> PyResult<Option<Frame>> {
        let dump = &mut self.0;
        let column: Option<Column> = if let Some((name, column)) = NUMBERS.iter().find(|column| column.0 == name) {
            let values = dump.take_numbers(*column);
            values.iter().any(|value| !value.is_nan()).then(|| (*name, frame::nullable(values)))
        } else if let Some((name, column)) = WHOLES.iter().find(|column| column.0 == name) {
            let values = dump.take_wholes(*column);
            values.iter().any(|value| *value != -1).then(|| (*name, frame::longs_or_null(values)))
        } else if let Some((name, column)) = COUNTS.iter().find(|column| column.0 == name) {
            let values = dump.take_counts(*column);
            values.iter().any(|value| *value != -1).then(|| (*name, frame::ints_or_null(values)))
        } else if let Some((name, column)) = TEXTS.iter().find(|column| column.0 == name) {
            let values = dump.take_texts(*column);
            values.iter().any(|value| *value != 0).then(|| (*name, frame::codes(values)))
        } else if name == "log_id" {
            Some(("log_id", frame::texts((0..dump.len()).map(|row| Some(dump.log_id(row))))))
        } else if name == "observed_nodes" {
            let (offsets, nodes, known) = dump.nodes(rank.as_slice()?);
            if nodes.is_empty() { None } else { Some(("observed_nodes", frame::node_lists(offsets, nodes, known)?)) }
        } else if name == "observed_segments"
            && let Some((offsets, ends, known)) = dump.take_segments()
        {
            Some(("observed_segments", frame::number_lists(offsets, ends, known)?))
        } else {
            None
        };
        column.map(|column| Frame::new(vec![column])).transpose()
    }
}

const NUMBERS: [(&str, NumberColumn); 11] = [
    ("submit_s", NumberColumn::Submit),
    ("runtime_s", NumberColumn::Runtime),
    ("walltime_s", NumberColumn::Walltime),
    ("start_at_s", NumberColumn::StartAt),
    ("cancel_s", NumberColumn::Cancel),
    ("observed_end_s", NumberColumn::End),
    ("observed_start_s", NumberColumn::Start),
    ("suspended_s", NumberColumn::Suspended),
    ("memory_gb", NumberColumn::Memory),
    ("power_w", NumberColumn::Power),
    ("observed_energy_j", NumberColumn::Energy),
];

const WHOLES: [(&str, WholeColumn); 5] = [
    ("job_id", WholeColumn::JobId),
    ("cpus", WholeColumn::Cpus),
    ("priority", WholeColumn::Priority),
    ("array_id", WholeColumn::Array),
    ("het_id", WholeColumn::Het),
];

const COUNTS: [(&str, CountColumn); 6] = [
    ("node_count", CountColumn::Nodes),
    ("slots", CountColumn::Slots),
    ("gpus", CountColumn::Gpus),
    ("array_limit", CountColumn::ArrayLimit),
    ("trace_status", CountColumn::Status),
    ("restarts", CountColumn::Restarts),
];

const TEXTS: [(&str, TextColumn); 9] = [
    ("constraint", TextColumn::Constraint),
    ("licences", TextColumn::Licences),
    ("user", TextColumn::User),
    ("account", TextColumn::Account),
    ("queue", TextColumn::Queue),
    ("qos", TextColumn::Qos),
    ("reservation", TextColumn::Reservation),
    ("app", TextColumn::App),
    ("trace_state", TextColumn::State),
];
