//! Answers of objects, read as numbers, or the error in them, in words that follow the name of the method, as in
//! "`rank`".

use numpy::{PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyboardInterrupt, PySystemExit};
use pyo3::prelude::*;

use crate::roles::counted;

/// Error in an answer.
pub(crate) enum Wrong {
    /// It is invalid, as this text says.
    Said(String),
    /// Reading it raised this exception.
    Raised(PyErr),
}

impl From<PyErr> for Wrong {
    fn from(raised: PyErr) -> Self {
        Self::Raised(raised)
    }
}

impl Wrong {
    fn said(what: impl Into<String>) -> Self {
        Self::Said(what.into())
    }
}

/// Reads `count` numbers, none of them NaN; `whose` names the thing that the number at a place is for.
pub(crate) fn numbers(
    answer: &Bound<'_, PyAny>,
    count: usize,
    things: &str,
    whose: impl Fn(usize) -> String,
) -> Result<Vec<f64>, Wrong> {
    numbers_for(answer, (count, things), (count, things), |_, place| whose(place))
}

/// Reads as many numbers as there are things, or parts of things, none of them NaN; `whose` names the one that a number
/// is for, given its place and their count.
pub(crate) fn numbers_for(
    answer: &Bound<'_, PyAny>,
    (count, things): (usize, &str),
    (parts, kind): (usize, &str),
    whose: impl Fn(usize, usize) -> String,
) -> Result<Vec<f64>, Wrong> {
    let values = reals(answer, (count, things), (parts, kind))?;
    match values.iter().position(|value| value.is_nan()) {
        Some(place) => Err(Wrong::said(format!("gave NaN for {}", whose(values.len(), place)))),
        None => Ok(values),
    }
}

/// Reads as many numbers, which may be NaN.
pub(crate) fn reals(
    answer: &Bound<'_, PyAny>,
    (count, things): (usize, &str),
    (parts, kind): (usize, &str),
) -> Result<Vec<f64>, Wrong> {
    let values = match answer.cast::<PyArray1<f64>>() {
        // SAFETY: the interpreter is held, and nothing of Python's runs while the numbers are copied.
        Ok(array) => unsafe { array.as_array() }.to_vec(),
        Err(_) => converted::<f64>(answer, "fiu", "float64", "numbers")?,
    };
    if ![count, parts].contains(&values.len()) {
        let on = if parts == count { String::new() } else { format!(" on {parts} {kind}") };
        return Err(Wrong::said(format!("gave {} for {count} {things}{on}", counted(values.len(), "number"))));
    }
    Ok(values)
}

/// Reads whole numbers.
pub(crate) fn whole(answer: &Bound<'_, PyAny>, what: &str) -> Result<Vec<i64>, Wrong> {
    match answer.cast::<PyArray1<i64>>() {
        // SAFETY: as above.
        Ok(array) => Ok(unsafe { array.as_array() }.to_vec()),
        Err(_) => converted::<i64>(answer, "iu", "int64", what),
    }
}

fn converted<T: numpy::Element + Clone>(
    answer: &Bound<'_, PyAny>,
    kinds: &str,
    dtype: &str,
    what: &str,
) -> Result<Vec<T>, Wrong> {
    let py = answer.py();
    let class = || answer.get_type().qualname().map_or_else(|_| "an object".to_owned(), |name| format!("a {name}"));
    let array = match py.import("numpy")?.call_method1("asarray", (answer,)) {
        Ok(array) => array,
        Err(raised)
            if raised.is_instance_of::<PyKeyboardInterrupt>(py) || raised.is_instance_of::<PySystemExit>(py) =>
        {
            return Err(raised.into());
        }
        Err(_) => return Err(Wrong::said(format!("gave {} where {what} were asked for", class()))),
    };
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let dimensions: usize = array.getattr("ndim")?.extract()?;
    let is_empty = array.getattr("size")?.extract::<usize>()? == 0;
    if dimensions != 1 {
        let found = if dimensions == 0 { class() } else { format!("an array of {dimensions} dimensions") };
        return Err(Wrong::said(format!("gave {found} where {what} in one dimension were asked for")));
    }
    if is_empty {
        return Ok(Vec::new());
    }
    if !kinds.contains(&kind) {
        let found = array.getattr("dtype")?.str()?;
        return Err(Wrong::said(format!("gave values of type {found} where {what} were asked for")));
    }
    let array = array.call_method1("astype", (dtype,))?;
    let array = array.cast::<PyArrayDyn<T>>().map_err(PyErr::from)?;
    debug_assert_eq!(array.ndim(), 1);
    // SAFETY: as above.
    Ok(unsafe { array.as_array() }.iter().cloned().collect())
}
