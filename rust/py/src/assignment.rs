//! Assignment solvers: costs in, columns and duals out.

use hetsched_core::algo::assignment::{Costs, Interrupted, assign_types_unless, assign_unless};
use hetsched_core::error::Result;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::run::run_detached;

type Columns<'py> = Bound<'py, PyArray1<isize>>;
type Duals<'py> = Bound<'py, PyArray1<f64>>;

/// Columns, cost, row duals and column duals of the cheapest matching.
#[pyfunction]
#[pyo3(signature = (cost, /))]
pub(crate) fn assign<'py>(
    py: Python<'py>,
    cost: &Bound<'py, PyArray2<f64>>,
) -> PyResult<(Columns<'py>, f64, Duals<'py>, Duals<'py>)> {
    let found = solved(py, cost, |costs, interrupted| assign_unless(costs, interrupted))?;
    let [row_duals, column_duals] = [found.row_duals, found.column_duals].map(|duals| PyArray1::from_vec(py, duals));
    Ok((columns(py, &found.columns), found.cost, row_duals, column_duals))
}

/// Columns of each type, cost, row duals and column duals of the cheapest way to place the types.
#[pyfunction]
#[pyo3(signature = (cost, counts, /))]
pub(crate) fn assign_types<'py>(
    py: Python<'py>,
    cost: &Bound<'py, PyArray2<f64>>,
    counts: &Bound<'py, PyArray1<u32>>,
) -> PyResult<(Vec<Columns<'py>>, f64, Duals<'py>, Duals<'py>)> {
    let counts = counts.to_vec()?;
    let found = solved(py, cost, |costs, interrupted| assign_types_unless(costs, &counts, interrupted))?;
    let lists = found.columns.iter().map(|list| columns(py, list)).collect();
    let [row_duals, column_duals] = [found.row_duals, found.column_duals].map(|duals| PyArray1::from_vec(py, duals));
    Ok((lists, found.cost, row_duals, column_duals))
}

fn solved<T: Send>(
    py: Python<'_>,
    cost: &Bound<'_, PyArray2<f64>>,
    solve: impl FnOnce(&Costs<'_>, Interrupted<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let cost = cost.readonly();
    let (rows, width) = cost.as_array().dim();
    let values = cost.as_slice()?;
    let silent = |_: Python<'_>, _: &Py<PyAny>, _: &[f64]| Ok(());
    run_detached(py, false, None, silent, |look| solve(&Costs::new(rows, width, values)?, &mut || look(&[]).is_break()))
}

fn columns<'py>(py: Python<'py>, columns: &[u32]) -> Columns<'py> {
    PyArray1::from_iter(py, columns.iter().map(|&column| isize::try_from(column).unwrap_or(isize::MAX)))
}
