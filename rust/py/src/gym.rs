//! Runs whose decisions come from Python, many at a time: their observations are written into arrays that Python owns.

use hetsched_core::error::{Result, config};
use hetsched_core::policy::agent::{HORIZONS_S, MACHINE, ROW};
use hetsched_core::sim::{Progress, Simulation};
use hetsched_core::units::{SimTime, Watts};
use numpy::ndarray::Axis;
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{gone, to_py};
use crate::roles::labels::Labels;
use crate::run::run_detached;
use crate::session::Session;

/// Number of sums from which rewards are computed: waits, slowdowns, energy.
const SUMS: usize = 3;

/// Runs side by side, each asked for one decision at a time.
#[pyclass(module = "hetsched._core")]
pub(crate) struct Agents {
    /// Runs by row; `None` if no run was put there or its result was taken.
    runs: Vec<Option<Simulation>>,
    queue: Py<PyArray3<f32>>,
    machine: Py<PyArray2<f32>>,
    mask: Py<PyArray2<i8>>,
    sums: Py<PyArray2<f64>>,
    now_s: Py<PyArray1<f64>>,
    is_over: Py<PyArray1<bool>>,
}

#[pymethods]
impl Agents {
    /// Runs that are shown in these arrays, with one row per run.
    #[new]
    #[pyo3(signature = (*, queue, machine, mask, sums, now_s, is_over))]
    fn new(
        py: Python<'_>,
        queue: Bound<'_, PyArray3<f32>>,
        machine: Bound<'_, PyArray2<f32>>,
        mask: Bound<'_, PyArray2<i8>>,
        sums: Bound<'_, PyArray2<f64>>,
        now_s: Bound<'_, PyArray1<f64>>,
        is_over: Bound<'_, PyArray1<bool>>,
    ) -> PyResult<Self> {
        let runs = is_over.readonly().as_array().len();
        let (of_queue, of_mask) = (queue.readonly().as_array().dim(), mask.readonly().as_array().dim());
        let others = [machine.readonly().as_array().dim(), sums.readonly().as_array().dim()];
        let fits = of_queue.0 == runs && of_queue.2 == ROW && of_mask.0 == runs;
        if !fits || others != [(runs, MACHINE), (runs, SUMS)] || now_s.readonly().as_array().len() != runs {
            return Err(to_py(py, config("arrays", "shapes that do not match", "a row a run in each")));
        }
        Ok(Self {
            runs: vec![None; runs],
            queue: queue.unbind(),
            machine: machine.unbind(),
            mask: mask.unbind(),
            sums: sums.unbind(),
            now_s: now_s.unbind(),
            is_over: is_over.unbind(),
        })
    }

    /// Numbers of features of a job and of the machine, and the horizons of the latter's releases, s.
    #[staticmethod]
    fn features() -> (usize, usize, Vec<i64>) {
        (ROW, MACHINE, HORIZONS_S.to_vec())
    }

    /// Moves a run into a row, and advances it to its first decision. The session is used up.
    fn put(&mut self, py: Python<'_>, row: usize, session: &mut Session) -> PyResult<()> {
        let mut simulation = session.simulation.take().ok_or_else(|| to_py(py, gone()))?;
        run_detached(py, false, None, |_, _, _| Ok(()), |look| go_on(&mut simulation, look))?;
        self.check_shape(py, &mut simulation)?;
        *self.runs.get_mut(row).ok_or_else(|| to_py(py, gone()))? = Some(simulation);
        self.show(py, row)
    }

    /// Carries out an action in each of these rows, and advances each run to its next decision or to its end.
    ///
    /// An illegal action is an error, and then nothing has happened.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python come by value")]
    fn step(
        &mut self,
        py: Python<'_>,
        rows: PyReadonlyArray1<'_, i64>,
        actions: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<()> {
        let asked: Vec<(usize, usize)> = rows
            .as_array()
            .iter()
            .zip(actions.as_array())
            .map(|(&row, &action)| {
                (usize::try_from(row).unwrap_or(usize::MAX), usize::try_from(action).unwrap_or(usize::MAX))
            })
            .collect();
        for &(row, action) in &asked {
            let run = self.runs.get_mut(row).and_then(Option::as_mut).ok_or_else(|| to_py(py, gone()))?;
            if !run.allows(action) {
                let expected = "an action whose entry in the action mask is 1";
                return Err(to_py(py, config(format!("actions[{row}]"), action.to_string(), expected)));
            }
        }
        let runs = &mut self.runs;
        run_detached(
            py,
            false,
            None,
            |_, _, _| Ok(()),
            |look| {
                for &(row, action) in &asked {
                    if let Some(run) = &mut runs[row] {
                        run.answer(action, &mut |progress| look(&told(progress)))?;
                        go_on(run, look)?;
                    }
                }
                Ok(())
            },
        )?;
        asked.iter().try_for_each(|&(row, _)| self.show(py, row))
    }

    /// Summary of the run in a row as it is now.
    fn glance<'py>(&mut self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyDict>> {
        let run = self.runs.get_mut(row).and_then(Option::as_mut).ok_or_else(|| to_py(py, gone()))?;
        let (seen, now) = (run.glance(), run.now());
        let told = PyDict::new(py);
        told.set_item("now_s", now.seconds())?;
        told.set_item("nodes", PyArray1::from_iter(py, seen.nodes.iter().map(|&class| class as u8)))?;
        told.set_item("free", seen.free)?;
        for (name, count) in ["running", "queued", "over"].into_iter().zip(seen.jobs) {
            told.set_item(name, count)?;
        }
        told.set_item("power_w", seen.power.0.watts())?;
        told.set_item("budget_w", seen.power.1.map(Watts::watts))?;
        let head = seen.head.map(|(job, since)| {
            let jobs = run.workload();
            (jobs.job_id(job), jobs.node_count(job), (now - since).seconds())
        });
        told.set_item("head", head)?;
        Ok(told)
    }

    /// Takes the run out of a row; a pass under way ends without further choices.
    fn take(&mut self, py: Python<'_>, row: usize) -> PyResult<Session> {
        let mut simulation = self.runs.get_mut(row).and_then(Option::take).ok_or_else(|| to_py(py, gone()))?;
        run_detached(
            py,
            false,
            None,
            |_, _, _| Ok(()),
            |look| simulation.decline(&mut |progress| look(&told(progress))),
        )?;
        Ok(Session { reached: simulation.now(), simulation: Some(simulation), holds: false, labels: Labels::default() })
    }
}

impl Agents {
    fn check_shape(&self, py: Python<'_>, simulation: &mut Simulation) -> PyResult<()> {
        let Some((_, shape)) = simulation.seen() else {
            return Err(to_py(py, config("session", "a run without an agent", "one with an agent")));
        };
        let arrays =
            (self.queue.bind(py).readonly().as_array().dim().1, self.mask.bind(py).readonly().as_array().dim().1);
        if arrays == (shape.rows, shape.actions()) {
            return Ok(());
        }
        let expected = format!("{} rows of the queue and {} actions", arrays.0, arrays.1);
        Err(to_py(py, config("session", format!("{} and {}", shape.rows, shape.actions()), expected)))
    }

    /// Writes a run's observation into the arrays; zeros if it is not asked.
    fn show(&mut self, py: Python<'_>, row: usize) -> PyResult<()> {
        let Some(run) = &mut self.runs[row] else { return Ok(()) };
        let (asked, tally, now) = (run.is_asked(), run.tally().unwrap_or_default(), run.now());
        let (mut queue, mut machine) = (self.queue.bind(py).try_readwrite()?, self.machine.bind(py).try_readwrite()?);
        let (mut mask, mut sums) = (self.mask.bind(py).try_readwrite()?, self.sums.bind(py).try_readwrite()?);
        let (mut queue, mut machine, mut mask) = (queue.as_array_mut(), machine.as_array_mut(), mask.as_array_mut());
        let mut sums = sums.as_array_mut();
        if let Some((seen, shape)) = run.seen().filter(|_| asked) {
            queue.index_axis_mut(Axis(0), row).iter_mut().zip(&seen.queue).for_each(|(to, &from)| *to = from);
            machine.row_mut(row).iter_mut().zip(&seen.machine).for_each(|(to, &from)| *to = from);
            mask.row_mut(row).iter_mut().zip(&seen.mask).for_each(|(to, &from)| *to = i8::from(from == 1));
            debug_assert_eq!(seen.mask.len(), shape.actions());
        } else {
            queue.index_axis_mut(Axis(0), row).fill(0.0);
            machine.row_mut(row).fill(0.0);
            let mut mask = mask.row_mut(row);
            mask.fill(0);
            // Doing nothing is the only action then.
            mask.iter_mut().last().into_iter().for_each(|last| *last = 1);
        }
        for (to, from) in sums.row_mut(row).iter_mut().zip([tally.waited_s, tally.slowed, tally.energy_j]) {
            *to = from;
        }
        self.now_s.bind(py).try_readwrite()?.as_array_mut()[row] = now.seconds();
        self.is_over.bind(py).try_readwrite()?.as_array_mut()[row] = !asked;
        Ok(())
    }
}

fn told(progress: Progress) -> [f64; 3] {
    [progress.done as f64, progress.jobs as f64, progress.now.seconds()]
}

/// Advances a run to its next decision or to its end.
fn go_on(run: &mut Simulation, look: &mut dyn FnMut(&[f64]) -> std::ops::ControlFlow<()>) -> Result<()> {
    run.step_until(SimTime::NEVER, &mut |progress| look(&told(progress))).map(drop)
}
