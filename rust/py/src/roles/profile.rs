//! Profile of free nodes and watts from now on, with which an object may plan: a copy of the engine's own.

use hetsched_core::algo::releases::Claim;
use hetsched_core::policy::backfill::ahead::Ahead;
use hetsched_core::units::{SimDuration, SimTime, Watts};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::roles::arrays::{fixed, seconds};

/// Nodes, or slots if nodes are shared, that are free from now on by the planned ends of runs.
#[pyclass(module = "hetsched.roles")]
pub(crate) struct Profile(pub(crate) Ahead);

type Floats<'py> = Bound<'py, PyArray1<f64>>;

/// Claim for which a profile is asked.
fn need(nodes: i64, watts: f64) -> PyResult<Claim> {
    let draw = Watts::from_watts(watts).filter(|_| watts >= 0.0);
    match draw {
        Some(draw) if nodes >= 0 => Ok(Claim { units: nodes, microwatts: draw.microwatts_up() }),
        Some(_) => Err(PyValueError::new_err(format!("nodes: found {nodes}, expected a whole number from 0"))),
        None => Err(PyValueError::new_err(format!("watts: found {watts}, expected watts from 0"))),
    }
}

fn span(length_s: f64) -> PyResult<SimDuration> {
    SimDuration::from_seconds(length_s)
        .filter(|_| length_s >= 0.0)
        .ok_or_else(|| PyValueError::new_err(format!("length_s: found {length_s}, expected seconds from 0 to 1e12")))
}

pub(crate) fn instant(name: &str, at_s: f64) -> PyResult<SimTime> {
    SimTime::from_seconds(at_s)
        .ok_or_else(|| PyValueError::new_err(format!("{name}: found {at_s}, expected seconds on the log's clock")))
}

#[pymethods]
impl Profile {
    fn __repr__(&self) -> String {
        let (steps, from_s) = (self.0.steps().len(), self.0.now().seconds());
        format!("<Profile: {steps} {} from {from_s} s on>", if steps == 1 { "step" } else { "steps" })
    }

    /// Times at which the free amounts change, seconds on the log's clock, ascending; the first is now.
    #[getter]
    fn time_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        fixed(py, &self.0.steps().into_iter().map(|(at, _)| seconds(at)).collect::<Vec<_>>())
    }

    /// Number of nodes that are free from each of these times on; slots if nodes are shared.
    #[getter]
    fn free_nodes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        fixed(py, &self.0.steps().into_iter().map(|(_, claim)| claim.units).collect::<Vec<_>>())
    }

    /// Watts that are free beyond the idle machine; None if no budget may bind.
    #[getter]
    fn free_w<'py>(&self, py: Python<'py>) -> Option<Floats<'py>> {
        let watts = |(_, claim): (SimTime, Claim)| Watts::of_microwatts(claim.microwatts).watts();
        self.0.counts_watts().then(|| fixed(py, &self.0.steps().into_iter().map(watts).collect::<Vec<_>>()))
    }

    /// True if so many are free from now on for so long.
    #[pyo3(signature = (nodes, length_s, *, watts = 0.0))]
    fn fits(&self, nodes: i64, length_s: f64, watts: f64) -> PyResult<bool> {
        Ok(self.0.fits_now(need(nodes, watts)?, span(length_s)?))
    }

    /// The earliest time from which so many are free for so long, seconds on the log's clock, no earlier than `after_s`;
    /// infinite if there is none.
    #[pyo3(signature = (nodes, length_s, *, watts = 0.0, after_s = None))]
    fn earliest(&self, nodes: i64, length_s: f64, watts: f64, after_s: Option<f64>) -> PyResult<f64> {
        let from = after_s.map_or(Ok(self.0.now()), |after_s| instant("after_s", after_s))?;
        Ok(seconds(self.0.earliest(from, need(nodes, watts)?, span(length_s)?)))
    }

    /// Reserves so many from a time on, for so long: they are not free any more.
    #[pyo3(signature = (start_s, nodes, length_s, *, watts = 0.0))]
    fn reserve(&mut self, start_s: f64, nodes: i64, length_s: f64, watts: f64) -> PyResult<()> {
        let start = instant("start_s", start_s)?;
        if start < self.0.now() {
            let now_s = self.0.now().seconds();
            return Err(PyValueError::new_err(format!(
                "start_s: found {start_s}, expected no time before now, {now_s}"
            )));
        }
        self.0.reserve(start, need(nodes, watts)?, span(length_s)?);
        Ok(())
    }
}
