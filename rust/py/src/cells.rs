//! Cells: offers of nodes and requests of jobs, from a dictionary of numbers to the core's type.

use hetsched_core::platform::cells::{CellColumns, Cells, Lack, Want};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::to_py;

/// Request of jobs: cells in the order in which nodes are taken, licences by kind, GPUs and memory per node, and the
/// thing that is lacking, if any.
type WantTuple = (Vec<u16>, Vec<(u16, i64)>, i64, i64, Option<String>);

/// The cells of a machine for its jobs.
pub(crate) fn read(given: &Bound<'_, PyDict>, jobs: usize, nodes: u32) -> PyResult<Cells> {
    let py = given.py();
    let key = |name: &str| given.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("cells lack `{name}`")));
    let codes = |name: &str| -> PyResult<Vec<i64>> {
        Ok(key(name)?.extract::<PyReadonlyArray1<'_, i64>>()?.as_array().to_vec())
    };
    let wants: Vec<WantTuple> = key("wants")?.extract()?;
    let (gpus, memory) = (codes("gpus")?, codes("memory")?);
    let columns = CellColumns {
        of_node: numbers(&codes("of_node")?)?,
        wants: wants.into_iter().map(want).collect::<PyResult<_>>()?,
        of_job: numbers(&codes("of_job")?)?,
        licences: key("licences")?.extract()?,
        stock: gpus.into_iter().zip(memory).collect(),
    };
    columns.into_cells(jobs, nodes).map_err(|error| to_py(py, error))
}

fn numbers<T: TryFrom<i64>>(codes: &[i64]) -> PyResult<Vec<T>> {
    let number = |&code| T::try_from(code).map_err(|_| PyValueError::new_err(format!("no number of a cell: {code}")));
    codes.iter().map(number).collect()
}

fn want((cells, licences, gpus, memory, lack): WantTuple) -> PyResult<Want> {
    let lack = match lack.as_deref() {
        None => None,
        Some("constraint") => Some(Lack::Constraint),
        Some("gpus") => Some(Lack::Gpus),
        Some("memory") => Some(Lack::Memory),
        Some("licences") => Some(Lack::Licences),
        Some(other) => return Err(PyValueError::new_err(format!("no lack: {other}"))),
    };
    Ok(Want { cells, licences, gpus, memory, lack })
}
