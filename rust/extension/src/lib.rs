//! The extension module `hetsched._core`: the engine with its built-in parts.
//!
//! This is a separate crate, as a crate with further parts builds the same engine (`hetsched-py`) into another module.

use hetsched_py::Rows;
use pyo3::prelude::*;

/// The compiled half of hetsched.
#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    hetsched_py::engine(module, Rows::default())
}
