//! The core's errors, as the classes of `hetsched.errors`.

use hetsched_core::error::{ConfigError, Error, SimulationError, TraceError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

static CLASSES: PyOnceLock<[Py<PyType>; 4]> = PyOnceLock::new();

/// `TraceError`, `ConfigError`, `SimulationError`, `LiveError`.
fn classes(py: Python<'_>) -> PyResult<&[Py<PyType>; 4]> {
    CLASSES.get_or_try_init(py, || {
        let module = py.import("hetsched.errors")?;
        let class = |name: &str| Ok::<_, PyErr>(module.getattr(name)?.cast_into::<PyType>()?.unbind());
        Ok([class("TraceError")?, class("ConfigError")?, class("SimulationError")?, class("LiveError")?])
    })
}

/// Turns every error of the core into a Python one; a user's own exception is passed on as it is.
pub(crate) fn to_py(py: Python<'_>, error: Error) -> PyErr {
    let raised = match error {
        Error::Trace(fault) => trace(py, &fault),
        Error::Config(faults) => config(py, &faults),
        Error::Simulation(what) => simulation(py, &what.to_string()),
        Error::Policy(inner) => match inner.0.downcast::<PyErr>() {
            Ok(raised) => Ok(*raised),
            Err(other) => simulation(py, &format!("the policy failed: {other}")),
        },
        Error::Live(what) => live(py, &what),
        Error::Interrupted => Ok(PyKeyboardInterrupt::new_err(())),
    };
    raised.unwrap_or_else(|failure| failure)
}

/// A fault of a trace.
pub(crate) fn trace(py: Python<'_>, fault: &TraceError) -> PyResult<PyErr> {
    let fields = PyDict::new(py);
    fields.set_item("file", &fault.file)?;
    fields.set_item("line", fault.line)?;
    fields.set_item("field", &fault.field)?;
    fields.set_item("found", &fault.found)?;
    fields.set_item("expected", &fault.expected)?;
    Ok(PyErr::from_value(classes(py)?[0].bind(py).call((), Some(&fields))?))
}

fn config(py: Python<'_>, error: &ConfigError) -> PyResult<PyErr> {
    let faults: Vec<_> = error.faults.iter().map(|f| (&f.parameter, &f.value, &f.expected)).collect();
    Ok(PyErr::from_value(classes(py)?[1].bind(py).call1((faults,))?))
}

/// A run that cannot go on.
pub(crate) fn simulation(py: Python<'_>, message: &str) -> PyResult<PyErr> {
    Ok(PyErr::from_value(classes(py)?[2].bind(py).call1((message,))?))
}

/// A live run that cannot go on as it stands.
pub(crate) fn live(py: Python<'_>, message: &str) -> PyResult<PyErr> {
    Ok(PyErr::from_value(classes(py)?[3].bind(py).call1((message,))?))
}

/// Error of a session with which nothing can be done.
pub(crate) fn gone() -> Error {
    Error::Simulation(SimulationError("this session failed or was used up: nothing can be done with it".to_owned()))
}
