//! Logs read from a Python object block by block, and handed over column by column.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use arrow_array::ArrayRef;
use hetsched_core::error::{Result, TraceError};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors;
use crate::frame::{self, Column, Frame};
use crate::run::run_detached;

/// Number of bytes that are asked for at once.
const BLOCK: usize = 1 << 20;

/// Reader of bytes from a Python function, block by block.
struct Source {
    read: Py<PyAny>,
    raised: Arc<Mutex<Option<PyErr>>>,
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

/// Callback that checks for Ctrl-C, given the bytes read and all bytes.
pub(crate) type Watch<'a> = dyn FnMut(usize, usize) -> ControlFlow<()> + 'a;

/// Reads a log without the interpreter's lock; `read_block` returns up to so many bytes, and none at the end.
pub(crate) fn read_blocks<T: Send>(
    py: Python<'_>,
    read_block: Py<PyAny>,
    read: impl FnOnce(Box<dyn BufRead>, &mut Watch<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let raised = Arc::new(Mutex::new(None));
    let source = Source { read: read_block, raised: Arc::clone(&raised) };
    let outcome = run_detached(
        py,
        false,
        None,
        |_, _, _| Ok(()),
        |look| {
            let source = Box::new(BufReader::with_capacity(BLOCK, source));
            read(source, &mut |done, all| look(&[done as f64, all as f64]))
        },
    );
    let own = raised.lock().expect("one thread").take();
    own.map_or(outcome, Err)
}

/// The counts of a report, and errors of the first bad lines.
pub(crate) fn report<'py>(
    py: Python<'py>,
    counts: Vec<(&'static str, u64)>,
    first_bad_lines: &[TraceError],
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, count) in counts {
        dict.set_item(name, count)?;
    }
    let told = first_bad_lines.iter().map(|fault| errors::trace(py, fault));
    dict.set_item("first_bad_lines", told.collect::<PyResult<Vec<_>>>()?)?;
    Ok(dict)
}

/// Columns of jobs by name, of each kind; lists of nodes come with offsets, and a mask of the rows that are known.
pub(crate) trait Jobs {
    type Number: Copy + 'static;
    type Whole: Copy + 'static;
    type Count: Copy + 'static;
    type Text: Copy + 'static;

    const NUMBERS: &'static [(&'static str, Self::Number)];
    const WHOLES: &'static [(&'static str, Self::Whole)];
    const COUNTS: &'static [(&'static str, Self::Count)];
    const TEXTS: &'static [(&'static str, Self::Text)];

    /// Numbers; NaN if unknown.
    fn numbers(&mut self, column: Self::Number) -> Vec<f64>;
    /// Whole numbers; -1 if unknown.
    fn wholes(&mut self, column: Self::Whole) -> Vec<i64>;
    /// Whole numbers; -1 if unknown.
    fn counts(&mut self, column: Self::Count) -> Vec<i32>;
    /// Texts by number; 0 if unknown.
    fn texts(&mut self, column: Self::Text) -> Vec<u32>;
    fn nodes(&mut self, rank: &[u32]) -> (Vec<i64>, Vec<u32>, Vec<bool>);
    fn segments(&mut self) -> Option<(Vec<i64>, Vec<f64>, Vec<bool>)>;
    /// A column of another kind.
    fn other(&mut self, name: &str) -> PyResult<Option<Column>>;
}

/// Takes a column as a separate frame, whose memory is freed when it is not used any more; `None` if no job has it. Its
/// source is empty afterwards.
pub(crate) fn taken<J: Jobs>(jobs: &mut J, name: &str, rank: &PyReadonlyArray1<'_, u32>) -> PyResult<Option<Frame>> {
    let column = if let Some((name, column)) = named(J::NUMBERS, name) {
        let values = jobs.numbers(column);
        column_of(name, values, |value| !value.is_nan(), frame::nullable)
    } else if let Some((name, column)) = named(J::WHOLES, name) {
        column_of(name, jobs.wholes(column), |value| *value != -1, frame::longs_or_null)
    } else if let Some((name, column)) = named(J::COUNTS, name) {
        column_of(name, jobs.counts(column), |value| *value != -1, frame::ints_or_null)
    } else if let Some((name, column)) = named(J::TEXTS, name) {
        column_of(name, jobs.texts(column), |value| *value != 0, frame::codes)
    } else {
        match name {
            "observed_nodes" => {
                let (offsets, nodes, known) = jobs.nodes(rank.as_slice()?);
                let is_empty = nodes.is_empty();
                let lists = || Ok::<_, PyErr>(("observed_nodes", frame::node_lists(offsets, nodes, known)?));
                if is_empty { None } else { Some(lists()?) }
            }
            "observed_segments" => match jobs.segments() {
                Some((offsets, ends, known)) => Some(("observed_segments", frame::number_lists(offsets, ends, known)?)),
                None => None,
            },
            _ => jobs.other(name)?,
        }
    };
    column.map(|column| Frame::new(vec![column])).transpose()
}

fn named<C: Copy>(columns: &[(&'static str, C)], name: &str) -> Option<(&'static str, C)> {
    columns.iter().find(|(own, _)| *own == name).copied()
}

fn column_of<T>(
    name: &'static str,
    values: Vec<T>,
    is_known: impl Fn(&T) -> bool,
    make: impl Fn(Vec<T>) -> ArrayRef,
) -> Option<Column> {
    values.iter().any(is_known).then(|| (name, make(values)))
}
