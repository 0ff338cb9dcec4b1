//! The extension module `hetsched._core`: the engine with the parts that it has of its own.
//!
//! A crate of its own, because a crate with parts of its own builds the same engine into another module (`hetsched-py`).

use hetsched_py::Rows;
use pyo3::prelude::*;

/// The compiled half of hetsched.
#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    hetsched_py::engine(module, Rows::default())
}
