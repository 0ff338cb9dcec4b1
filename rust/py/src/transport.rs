//! Transportation over time: costs, supplies and outages in, the least cost and what certifies it out.

use hetsched_core::algo::transport::{
    FlowStretch, Kind, NodeCosts, NodeOutage, Problem, Supply, SupplyWorth, least_cost_unless,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::run::run_detached;

type Whole<'py> = Bound<'py, PyArray1<i64>>;
type Floats<'py> = Bound<'py, PyArray1<f64>>;

/// Kind or node, units, first instant and instant after the last, a row each.
type Spans<'py> =
    (PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>);

/// Stretches: first instants, ends and least costs; where the rows of each begin; kinds, their units and labels.
type Certificate<'py> = (Whole<'py>, Whole<'py>, Floats<'py>, Whole<'py>, Whole<'py>, Whole<'py>, Floats<'py>);

#[derive(Default)]
struct Seen {
    from: Vec<i64>,
    until: Vec<i64>,
    least: Vec<f64>,
    offsets: Vec<i64>,
    kinds: Vec<i64>,
    units: Vec<i64>,
    labels: Vec<f64>,
}

impl Seen {
    fn note(&mut self, stretch: &FlowStretch<'_, '_>) {
        self.from.push(stretch.from);
        self.until.push(stretch.until);
        self.least.push(stretch.least);
        self.offsets.push(whole(self.kinds.len()));
        for (kind, units, label) in stretch.flow.kinds() {
            self.kinds.push(whole(kind));
            self.units.push(i64::try_from(units).unwrap_or(i64::MAX));
            self.labels.push(label);
        }
    }

    fn arrays(self, py: Python<'_>) -> Certificate<'_> {
        let whole = |values| PyArray1::from_vec(py, values);
        (
            whole(self.from),
            whole(self.until),
            PyArray1::from_vec(py, self.least),
            whole(self.offsets),
            whole(self.kinds),
            whole(self.units),
            PyArray1::from_vec(py, self.labels),
        )
    }
}

/// Cost, sum of its terms, changes, units without room, searches, the proof and the worth of supplies.
type LeastCost<'py> = (f64, f64, usize, u64, u64, Option<Certificate<'py>>, Option<Floats<'py>>);

/// Least cost over time of kinds, each a row of costs times a factor.
///
/// Gives the cost, the sum of its terms, numbers of changes, of units without room and of searches; if `certified`, what
/// proves it; and if `priced`, the worth of a unit of each supply.
#[pyfunction]
#[pyo3(signature = (cost, kinds, capacity, supplies, outages, *, certified = false, priced = false))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
#[expect(clippy::too_many_arguments, reason = "columns of one problem")]
pub(crate) fn least_cost_over_time<'py>(
    py: Python<'py>,
    cost: &Bound<'py, PyArray2<f64>>,
    kinds: (PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, f64>),
    capacity: PyReadonlyArray1<'py, u64>,
    supplies: Spans<'py>,
    outages: Spans<'py>,
    certified: bool,
    priced: bool,
) -> PyResult<LeastCost<'py>> {
    let cost = cost.readonly();
    let (rows, nodes) = cost.as_array().dim();
    let kinds = kinds.0.as_array().into_iter().zip(kinds.1.as_array()).map(|(&row, &scale)| Kind { row, scale });
    let kinds: Vec<Kind> = kinds.collect();
    let (values, capacity) = (cost.as_slice()?, capacity.as_slice()?);
    let supplies = spans(&supplies, |kind, amount, from, until| Supply { kind, amount, from, until });
    let outages = spans(&outages, |node, amount, from, until| NodeOutage { node, amount, from, until });
    let silent = |_: Python<'_>, _: &Py<PyAny>, _: &[f64]| Ok(());
    let (least, seen, worth) = run_detached(py, false, None, silent, |look| {
        let costs = NodeCosts::new(rows, nodes, values)?;
        let problem = Problem { costs, kinds: &kinds, capacity, supplies: &supplies, outages: &outages };
        let (mut seen, mut worth) = (Seen::default(), priced.then(|| SupplyWorth::new(&supplies, kinds.len())));
        let note = &mut |stretch: &FlowStretch<'_, '_>| {
            if certified {
                seen.note(stretch);
            }
            if let Some(worth) = &mut worth {
                worth.note(stretch);
            }
        };
        let least = least_cost_unless(&problem, note, &mut || look(&[]).is_break())?;
        Ok((least, seen, worth.map(SupplyWorth::finish)))
    })?;
    let proof = certified.then(|| seen.arrays(py));
    let worth = worth.map(|worth| PyArray1::from_vec(py, worth));
    Ok((least.total, least.terms, least.changes, least.unplaced, least.searches, proof, worth))
}

fn spans<T>(columns: &Spans<'_>, made: impl Fn(u32, u64, i64, i64) -> T) -> Vec<T> {
    let (which, amount, from, until) = columns;
    let (which, amount) = (which.as_array(), amount.as_array());
    let (from, until) = (from.as_array(), until.as_array());
    let spans = which.iter().zip(amount.iter()).zip(from.iter().zip(until.iter()));
    spans.map(|((&which, &amount), (&from, &until))| made(which, amount, from, until)).collect()
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
