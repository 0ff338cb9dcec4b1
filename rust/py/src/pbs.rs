//! Accounting logs of PBS: read from a Python object, handed over column by column.

use std::io::BufReader;
use std::sync::Arc;

use hetsched_core::trace::pbs::{CountColumn, Done, NumberColumn, Options, TextColumn, WholeColumn, read_pbs as read};
use hetsched_core::trace::sacct::Zone;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::frame::{self, Column, Frame};
use crate::run::run_detached;
use crate::sacct::{BLOCK, Source};

/// The jobs of a log.
#[pyclass(module = "hetsched._core")]
pub(crate) struct PbsLog(Done);

/// Reads a log of PBS; `read_block` gives up to so many bytes, and none at the end. `zone` are the instants from which
/// on another offset holds, and one offset more.
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
    let raised = Arc::new(std::sync::Mutex::new(None));
    let source = Source { read: read_block, raised: Arc::clone(&raised) };
    let outcome = run_detached(
        py,
        false,
        None,
        |_, _, _| Ok(()),
        |look| {
            let zone = zone.map(|(since, offset)| Zone::new(since, offset));
            let options = Options { file, zone, drop_never_ran, skip_bad_lines };
            let source = Box::new(BufReader::with_capacity(BLOCK, source));
            read(source, &options, &mut |done, all| look(&[done as f64, all as f64]))
        },
    );
    let own = raised.lock().expect("one thread").take();
    match own {
        Some(error) => Err(error),
        None => outcome.map(PbsLog),
    }
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
        let dict = PyDict::new(py);
        for (name, count) in self.0.report.counts() {
            dict.set_item(name, count)?;
        }
        let told = self.0.report.first_bad_lines.iter().map(|fault| errors::trace(py, fault));
        dict.set_item("first_bad_lines", told.collect::<PyResult<Vec<_>>>()?)?;
        Ok(dict)
    }

    /// The jobs, texts by number; `rank` numbers the nodes' names.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
    fn take_jobs(&mut self, rank: PyReadonlyArray1<'_, u32>) -> PyResult<Frame> {
        let done = &mut self.0;
        let (offsets, nodes, known) = done.take_nodes(rank.as_slice()?);
        let mut columns: Vec<Column> = vec![
            ("observed_nodes", frame::node_lists(offsets, nodes, known)?),
            ("job_id", frame::longs(done.take_wholes(WholeColumn::JobId))),
            ("node_count", frame::ints(done.take_counts(CountColumn::Nodes))),
            ("log_id", frame::texts((0..done.len()).map(|row| Some(done.log_id(row))))),
            ("trace_state", words(&done.states())?),
            ("depends_how", words(&done.depends_how())?),
        ];
        if let Some((offsets, ends, known)) = done.segments() {
            columns.push(("observed_segments", frame::number_lists(offsets, ends, known)?));
        }
        for (name, column) in NUMBERS {
            columns.push((name, frame::nullable(done.take_numbers(column))));
        }
        for (name, column) in WHOLES {
            columns.push((name, frame::longs_or_null(done.take_wholes(column))));
        }
        for (name, column) in COUNTS {
            columns.push((name, frame::ints_or_null(done.take_counts(column))));
        }
        for (name, column) in TEXTS {
            columns.push((name, frame::codes(done.take_texts_of(column))));
        }
        Frame::new(columns)
    }
}

/// Short words, none where empty.
fn words(own: &[&'static str]) -> PyResult<arrow_array::ArrayRef> {
    frame::words(own, Some(own.iter().map(|word| !word.is_empty()).collect()), |word| word)
}

/// In the order in which they are taken: what others are made of comes last.
const NUMBERS: [(&str, NumberColumn); 10] = [
    ("walltime_s", NumberColumn::Walltime),
    ("memory_gb", NumberColumn::Memory),
    ("power_w", NumberColumn::Power),
    ("observed_energy_j", NumberColumn::Energy),
    ("start_at_s", NumberColumn::StartAt),
    ("cancel_s", NumberColumn::Cancel),
    ("runtime_s", NumberColumn::Runtime),
    ("observed_end_s", NumberColumn::End),
    ("observed_start_s", NumberColumn::Start),
    ("submit_s", NumberColumn::Submit),
];

const WHOLES: [(&str, WholeColumn); 2] = [("array_id", WholeColumn::Array), ("depends_on", WholeColumn::DependsOn)];

const COUNTS: [(&str, CountColumn); 4] = [
    ("cpus", CountColumn::Cpus),
    ("gpus", CountColumn::Gpus),
    ("trace_status", CountColumn::Status),
    ("restarts", CountColumn::Restarts),
];

const TEXTS: [(&str, TextColumn); 5] = [
    ("user", TextColumn::User),
    ("queue", TextColumn::Queue),
    ("app", TextColumn::App),
    ("account", TextColumn::Account),
    ("constraint", TextColumn::Constraint),
];
