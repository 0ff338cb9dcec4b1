//! Queues of a machine and the queue of each job, from a dictionary of numbers to the core's.

use hetsched_core::platform::queues::{Bar, Queue, QueueColumns, Queues};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::to_py;

/// A queue: nodes, priority, order, limit on running jobs, the same per user, true if the emptiest nodes come first,
/// and the queues that it preempts.
type QueueTuple = (Vec<u32>, i32, Option<String>, Option<u32>, Option<u32>, bool, Vec<u16>);

/// The queues of a machine for its jobs.
pub(crate) fn read(given: &Bound<'_, PyDict>, jobs: usize, nodes: u32) -> PyResult<Queues> {
    let py = given.py();
    let key = |name: &str| given.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("queues lack `{name}`")));
    let codes = |name: &str| -> PyResult<Vec<i64>> {
        Ok(key(name)?.extract::<PyReadonlyArray1<'_, i64>>()?.as_array().to_vec())
    };
    let queues: Vec<QueueTuple> = key("queues")?.extract()?;
    let columns = QueueColumns {
        queues: queues.into_iter().map(queue).collect(),
        of_job: codes("of_job")?.into_iter().map(number).collect::<PyResult<_>>()?,
        users: codes("users")?.into_iter().map(|code| u32::try_from(code).ok()).collect(),
        bars: codes("bars")?.into_iter().map(bar).collect::<PyResult<_>>()?,
    };
    columns.into_queues(jobs, nodes).map_err(|error| to_py(py, error))
}

fn number(code: i64) -> PyResult<u16> {
    u16::try_from(code).map_err(|_| PyValueError::new_err(format!("no number of a queue: {code}")))
}

fn queue((nodes, priority, order, max_running, max_running_per_user, spreads, preempts): QueueTuple) -> Queue {
    Queue { nodes, priority, order, max_running, max_running_per_user, spreads, preempts }
}

fn bar(code: i64) -> PyResult<Option<Bar>> {
    match code {
        0 => Ok(None),
        1 => Ok(Some(Bar::Nodes)),
        2 => Ok(Some(Bar::MaxNodes)),
        3 => Ok(Some(Bar::MaxSlots)),
        4 => Ok(Some(Bar::MaxWalltime)),
        5 => Ok(Some(Bar::Users)),
        other => Err(PyValueError::new_err(format!("no reason of a queue: {other}"))),
    }
}
