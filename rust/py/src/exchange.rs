//! Intervals on nodes: costs and a placement in, a cheaper one out; or prices in, higher ones and their bound out.

use hetsched_core::algo::exchange::{
    Closed, Effort, Interval, IntervalNode, LengthRule, PacedInterval, PacedIntervals, PlacedIntervals,
    cheaper_paced_unless, cheaper_unless,
};
use hetsched_core::algo::interval_prices::{Climb, SizedIntervals, placed_unless, raise_unless};
use hetsched_core::algo::transport::NodeCosts;
use hetsched_core::error::Result;
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

/// Costs by row and node.
type Costs<'py> = Bound<'py, PyArray2<f64>>;

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
    cost: &Costs<'py>,
    intervals: Intervals<'py>,
    places: Places<'py>,
    closed: Spans<'py>,
    rounds: u64,
    seed: u64,
) -> PyResult<(Nodes<'py>, Nodes<'py>, f64, f64, u64)> {
    let cost = cost.readonly();
    let (rows, nodes) = cost.as_array().dim();
    let values = cost.as_slice()?;
    let (intervals, closed) = (made(&intervals), spans(&closed));
    let places = on(&places);
    let silent = |_: Python<'_>, _: &Py<PyAny>, _: &[f64]| Ok(());
    let found = run_detached(py, false, None, silent, |look| {
        let costs = NodeCosts::new(rows, nodes, values)?;
        let problem = PlacedIntervals { costs, intervals: &intervals, places: &places, closed: &closed };
        cheaper_unless(&problem, Effort { rounds, seed }, &mut || look(&[]).is_break())
    })?;
    let (own, on) = found.places.iter().map(|place| (place.interval, place.node)).unzip();
    Ok((PyArray1::from_vec(py, own), PyArray1::from_vec(py, on), found.of_pairs, found.change, found.looks))
}

/// Prices, the bound that they prove, that of the first prices, the sum of the terms, and the number of passes.
type RaisedPrices<'py> = (Bound<'py, PyArray1<f64>>, f64, f64, f64, u64);

/// Prices a unit of each interval, raised in so many steps.
///
/// Gives the prices, the bound that they prove, that of the prices to begin with, the sum of the terms for an allowance,
/// and the number of passes over all nodes.
#[pyfunction]
#[pyo3(signature = (cost, intervals, sizes, closed, prices, *, steps, target))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
#[expect(clippy::too_many_arguments, reason = "columns of one problem")]
pub(crate) fn raised_prices<'py>(
    py: Python<'py>,
    cost: &Costs<'py>,
    intervals: Intervals<'py>,
    sizes: PyReadonlyArray1<'py, u32>,
    closed: Spans<'py>,
    prices: PyReadonlyArray1<'py, f64>,
    steps: u64,
    target: f64,
) -> PyResult<RaisedPrices<'py>> {
    let (sizes, prices) = (sizes.as_slice()?, prices.as_slice()?);
    let found = on_sized(py, cost, &intervals, sizes, &closed, |problem, interrupted| {
        raise_unless(problem, prices, Climb { steps, target }, interrupted)
    })?;
    Ok((PyArray1::from_vec(py, found.prices), found.least, found.at_first, found.terms, found.passes))
}

/// Intervals placed by their prices one after another; none if one finds too few nodes.
///
/// Gives intervals and their nodes.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
pub(crate) fn placed_by_prices<'py>(
    py: Python<'py>,
    cost: &Costs<'py>,
    intervals: Intervals<'py>,
    sizes: PyReadonlyArray1<'py, u32>,
    closed: Spans<'py>,
    prices: PyReadonlyArray1<'py, f64>,
) -> PyResult<Option<(Nodes<'py>, Nodes<'py>)>> {
    let (sizes, prices) = (sizes.as_slice()?, prices.as_slice()?);
    let found = on_sized(py, cost, &intervals, sizes, &closed, |problem, interrupted| {
        placed_unless(problem, prices, interrupted)
    })?;
    let Some(places) = found else { return Ok(None) };
    let (own, on) = places.iter().map(|place| (place.interval, place.node)).unzip();
    Ok(Some((PyArray1::from_vec(py, own), PyArray1::from_vec(py, on))))
}

/// Solves the problem that these columns are, without the interpreter.
fn on_sized<T: Send>(
    py: Python<'_>,
    cost: &Costs<'_>,
    intervals: &Intervals<'_>,
    sizes: &[u32],
    closed: &Spans<'_>,
    solve: impl FnOnce(&SizedIntervals<'_>, &mut dyn FnMut() -> bool) -> Result<T> + Send,
) -> PyResult<T> {
    let cost = cost.readonly();
    let (rows, nodes) = cost.as_array().dim();
    let values = cost.as_slice()?;
    let (intervals, closed) = (made(intervals), spans(closed));
    let silent = |_: Python<'_>, _: &Py<PyAny>, _: &[f64]| Ok(());
    run_detached(py, false, None, silent, |look| {
        let costs = NodeCosts::new(rows, nodes, values)?;
        let problem = SizedIntervals { costs, intervals: &intervals, sizes, closed: &closed };
        solve(&problem, &mut || look(&[]).is_break())
    })
}

/// Nominal length, factor, communication, walltime, factor on it, and time left, a row each.
type Lengths<'py> = (
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, i64>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, i64>,
);

/// Row, factor and first instant, a row each.
type Starts<'py> = (PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, i64>);

/// A placement that costs no more on nodes that differ in speed, and in which no two can exchange a part for less.
///
/// Gives intervals and their nodes, the cost of the exchanges, and their number.
#[pyfunction]
#[pyo3(signature = (cost, factor, intervals, lengths, places, closed, *, grace, stretches))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
#[expect(clippy::too_many_arguments, reason = "columns of one problem")]
pub(crate) fn cheaper_paced_placement<'py>(
    py: Python<'py>,
    cost: &Costs<'py>,
    factor: &Costs<'py>,
    intervals: Starts<'py>,
    lengths: Lengths<'py>,
    places: Places<'py>,
    closed: Spans<'py>,
    grace: i64,
    stretches: bool,
) -> PyResult<(Nodes<'py>, Nodes<'py>, f64, u64)> {
    let (cost, factor) = (cost.readonly(), factor.readonly());
    let (rows, nodes) = cost.as_array().dim();
    let (values, factors) = (cost.as_slice()?, factor.as_slice()?);
    let rules = rules(&lengths, grace, stretches);
    let (row, scale, from) = (intervals.0.as_array(), intervals.1.as_array(), intervals.2.as_array());
    let columns = row.iter().zip(scale.iter()).zip(from.iter().zip(rules));
    let paced = |((&row, &scale), (&from, length))| PacedInterval { row, scale, from, length };
    let intervals: Vec<_> = columns.map(paced).collect();
    let (places, closed) = (on(&places), spans(&closed));
    let silent = |_: Python<'_>, _: &Py<PyAny>, _: &[f64]| Ok(());
    let found = run_detached(py, false, None, silent, |look| {
        let costs = NodeCosts::new(rows, nodes, values)?;
        let problem = PacedIntervals { costs, factors, intervals: &intervals, places: &places, closed: &closed };
        cheaper_paced_unless(&problem, &mut || look(&[]).is_break())
    })?;
    let (own, on) = found.places.iter().map(|place| (place.interval, place.node)).unzip();
    Ok((PyArray1::from_vec(py, own), PyArray1::from_vec(py, on), found.change, found.exchanges))
}

fn rules(columns: &Lengths<'_>, grace: i64, stretches: bool) -> Vec<LengthRule> {
    let (runtime, pace, comm, walltime, walltime_pace, left) = columns;
    let (runtime, pace, comm) = (runtime.as_array(), pace.as_array(), comm.as_array());
    let (walltime, walltime_pace, left) = (walltime.as_array(), walltime_pace.as_array(), left.as_array());
    let runs = runtime.iter().zip(pace.iter()).zip(comm.iter());
    let cuts = walltime.iter().zip(walltime_pace.iter()).zip(left.iter());
    let rule = |(((&runtime, &pace), &comm), ((&walltime, &walltime_pace), &left))| LengthRule {
        runtime,
        pace,
        comm,
        walltime,
        walltime_pace,
        grace,
        stretches,
        left,
    };
    runs.zip(cuts).map(rule).collect()
}

fn on(columns: &Places<'_>) -> Vec<IntervalNode> {
    let columns = columns.0.as_array().into_iter().zip(columns.1.as_array());
    columns.map(|(&interval, &node)| IntervalNode { interval, node }).collect()
}

fn made(columns: &Intervals<'_>) -> Vec<Interval> {
    let (row, scale, from, until) = columns;
    let (row, scale) = (row.as_array(), scale.as_array());
    let (from, until) = (from.as_array(), until.as_array());
    let columns = row.iter().zip(scale.iter()).zip(from.iter().zip(until.iter()));
    columns.map(|((&row, &scale), (&from, &until))| Interval { row, scale, from, until }).collect()
}

fn spans(columns: &Spans<'_>) -> Vec<Closed> {
    let (node, from, until) = columns;
    let (node, from, until) = (node.as_array(), from.as_array(), until.as_array());
    let columns = node.iter().zip(from.iter().zip(until.iter()));
    columns.map(|(&node, (&from, &until))| Closed { node, from, until }).collect()
}
