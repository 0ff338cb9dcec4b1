//! Intervals on nodes: costs and a placement in, a cheaper one out.

use hetsched_core::algo::exchange::{Closed, Effort, Interval, IntervalNode, PlacedIntervals, cheaper_unless};
use hetsched_core::algo::transport::NodeCosts;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::run::run_detached;

/// Row, factor, first instant and instant after the last, a row each.
type Intervals<'py> =
    (PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>);

/// Intervals and their nodes.
type Places<'py> = (PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, u32>);

/// Nodes, first instants and instants after the last.
type Spans<'py> = (PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>);

type Nodes<'py> = Bound<'py, PyArray1<u32>>;

/// A placement that costs no more, and in which no two nodes can exchange anything for less.
///
/// Gives intervals and their nodes, the cost of the exchanges up to the first such placement, that of all, and the
/// number of pairs that were looked at.
#[pyfunction]
#[pyo3(signature = (cost, intervals, places, closed, *, rounds, seed))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
pub(crate) fn cheaper_placement<'py>(
    py: Python<'py>,
    cost: &Bound<'py, PyArray2<f64>>,
    intervals: Intervals<'py>,
    places: Places<'py>,
    closed: Spans<'py>,
    rounds: u64,
    seed: u64,
) -> PyResult<(Nodes<'py>, Nodes<'py>, f64, f64, u64)> {
    let cost = cost.readonly();
    let (rows, nodes) = cost.as_array().dim();
    let values = cost.as_slice()?;
    let (row, scale, from, until) = intervals;
    let columns = (row.as_array(), scale.as_array(), from.as_array(), until.as_array());
    let spans = columns.0.iter().zip(columns.1.iter()).zip(columns.2.iter().zip(columns.3.iter()));
    let intervals: Vec<_> =
        spans.map(|((&row, &scale), (&from, &until))| Interval { row, scale, from, until }).collect();
    let places = places.0.as_array().into_iter().zip(places.1.as_array());
    let places: Vec<_> = places.map(|(&interval, &node)| IntervalNode { interval, node }).collect();
    let spans = closed.0.as_array().into_iter().zip(closed.1.as_array().into_iter().zip(closed.2.as_array()));
    let closed: Vec<_> = spans.map(|(&node, (&from, &until))| Closed { node, from, until }).collect();
    let silent = |_: Python<'_>, _: &Py<PyAny>, _: &[f64]| Ok(());
    let found = run_detached(py, false, None, silent, |look| {
        let costs = NodeCosts::new(rows, nodes, values)?;
        let problem = PlacedIntervals { costs, intervals: &intervals, places: &places, closed: &closed };
        cheaper_unless(&problem, Effort { rounds, seed }, &mut || look(&[]).is_break())
    })?;
    let (own, on) = found.places.iter().map(|place| (place.interval, place.node)).unzip();
    Ok((PyArray1::from_vec(py, own), PyArray1::from_vec(py, on), found.of_pairs, found.change, found.looks))
}
