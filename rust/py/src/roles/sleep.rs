//! Python sleep parts: they choose the idle nodes that go to sleep, and those that are woken before any planned job
//! needs them.

use std::sync::Arc;

use hetsched_core::error::Result;
use hetsched_core::platform::node_state::NodeState;
use hetsched_core::policy::sleep::answers::RestChoice;
use hetsched_core::policy::sleep::node_rule::NodeRule;
use hetsched_core::policy::sleep::rest::{IdleNode, Rest, Scene};
use hetsched_core::units::{SimDuration, SimTime};
use hetsched_core::workload::JobId;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::roles::answers::{self, Wrong};
use crate::roles::arrays::{fixed, seconds};
use crate::roles::jobs::Jobs;
use crate::roles::labels::Labels;
use crate::roles::loan::Loan;
use crate::roles::{Part, counted};

/// An object that lets nodes sleep.
#[derive(Clone)]
pub(crate) struct OwnSleep(pub(crate) Part);

/// Nodes that idle or are switched off, as an object sees them.
#[pyclass(frozen, module = "hetsched.roles")]
pub(crate) struct Standby {
    idle: Vec<IdleNode>,
    break_even_s: Vec<f64>,
    off: Vec<u32>,
    booting: Vec<u32>,
    shutting_down: Vec<u32>,
    arrived: Vec<JobId>,
    loan: Arc<Loan>,
    labels: Labels,
    /// Number of nodes on or booting that no planned job needs within the time to wake one.
    #[pyo3(get)]
    spare: u32,
    /// Number of nodes, on or not, that neither running jobs nor jobs that only wait for boots take.
    #[pyo3(get)]
    free: u32,
}

type Numbers<'py> = Bound<'py, PyArray1<i64>>;
type Floats<'py> = Bound<'py, PyArray1<f64>>;

fn numbers(py: Python<'_>, nodes: impl Iterator<Item = u32>) -> Numbers<'_> {
    fixed(py, &nodes.map(i64::from).collect::<Vec<_>>())
}

fn even_s(rule: &NodeRule) -> f64 {
    rule.far.map_or(f64::INFINITY, SimDuration::seconds)
}

impl Standby {
    fn of(scene: &Scene<'_>, part: &Part) -> Self {
        let asleep = || scene.view.standby.into_iter().flat_map(|standby| standby.asleep().iter());
        let state = |node: u32| scene.view.nodes[node as usize];
        let idle = scene.idle();
        Self {
            break_even_s: idle.iter().map(|one| even_s(&scene.rules[one.node as usize])).collect(),
            idle,
            off: scene.off().collect(),
            booting: asleep().filter(|&node| matches!(state(node), NodeState::Booting { .. })).collect(),
            shutting_down: asleep().filter(|&node| matches!(state(node), NodeState::ShuttingDown { .. })).collect(),
            arrived: scene.arrived.to_vec(),
            loan: Arc::clone(part.lender.loan()),
            labels: part.lender.labels().clone(),
            spare: scene.spare(),
            free: scene.free(),
        }
    }
}

#[pymethods]
impl Standby {
    /// Nodes that are on and hold no job, ascending.
    #[getter]
    fn idle<'py>(&self, py: Python<'py>) -> Numbers<'py> {
        numbers(py, self.idle.iter().map(|one| one.node))
    }

    /// Time since which each of `idle` idles, seconds on the log's clock.
    #[getter]
    fn idle_since_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        fixed(py, &self.idle.iter().map(|one| seconds(one.since)).collect::<Vec<_>>())
    }

    /// Start of the next planned job on each of `idle`; infinite without one.
    #[getter]
    fn next_start_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        fixed(py, &self.idle.iter().map(|one| seconds(one.next)).collect::<Vec<_>>())
    }

    /// Break-even time of each of `idle`: the idle time beyond which sleep saves energy; infinite if it never does.
    #[getter]
    fn break_even_s<'py>(&self, py: Python<'py>) -> Floats<'py> {
        fixed(py, &self.break_even_s)
    }

    /// Nodes that are off and were not woken just now, ascending.
    #[getter]
    fn off<'py>(&self, py: Python<'py>) -> Numbers<'py> {
        numbers(py, self.off.iter().copied())
    }

    /// Nodes that boot, ascending.
    #[getter]
    fn booting<'py>(&self, py: Python<'py>) -> Numbers<'py> {
        numbers(py, self.booting.iter().copied())
    }

    /// Nodes that shut down, ascending.
    #[getter]
    fn shutting_down<'py>(&self, py: Python<'py>) -> Numbers<'py> {
        numbers(py, self.shutting_down.iter().copied())
    }

    /// Jobs that have arrived since the last call.
    #[getter]
    fn arrived(&self) -> Jobs {
        Jobs { rows: self.arrived.clone(), loan: Arc::clone(&self.loan), labels: self.labels.clone(), drew: None }
    }
}

/// Answer of an object.
struct Answer {
    sleep: Vec<i64>,
    wake: Vec<i64>,
    again_s: f64,
}

impl Answer {
    /// Reads a `Rest`, or the nodes to put to sleep.
    fn of(given: &Bound<'_, PyAny>) -> std::result::Result<Self, Wrong> {
        let nodes = |given: &Bound<'_, PyAny>| answers::whole(given, "numbers of nodes");
        let Some(wake) = given.getattr_opt("wake")? else {
            return Ok(Self { sleep: nodes(given)?, wake: Vec::new(), again_s: f64::INFINITY });
        };
        let again_s = given.getattr("again_s")?.extract()?;
        Ok(Self { sleep: nodes(&given.getattr("sleep")?)?, wake: nodes(&wake)?, again_s })
    }

    /// Checks the answer, and writes the choice it makes into `choice`.
    fn choice(self, scene: &Scene<'_>, choice: &mut RestChoice) -> std::result::Result<(), String> {
        let (idle, off): (Vec<_>, Vec<_>) = (scene.idle(), scene.off().collect());
        let is_idle = |node: u32| idle.binary_search_by_key(&node, |one| one.node).is_ok();
        choice.sleep = known(&self.sleep, "to sleep", "idle", is_idle)?;
        choice.wake = known(&self.wake, "to wake", "off", |node| off.binary_search(&node).is_ok())?;
        if self.again_s < f64::INFINITY {
            let now = scene.view.now;
            // A time that is later by less than a microsecond counts as one later: sums of seconds are not exact.
            let again = SimTime::from_seconds(self.again_s).filter(|_| self.again_s > now.seconds());
            let wrong = || format!("gave {} s as `again_s`, which is not after now,", self.again_s);
            choice.again = Some(again.ok_or_else(wrong)?.max(now.saturating_add(SimDuration::from_micros(1))));
        } else if self.again_s.is_nan() {
            return Err("gave NaN as `again_s`".to_owned());
        }
        Ok(())
    }
}

/// Checks that nodes are in the required state, and that each is given once.
fn known(given: &[i64], what: &str, state: &str, is: impl Fn(u32) -> bool) -> std::result::Result<Vec<u32>, String> {
    let mut nodes = Vec::with_capacity(given.len());
    for &number in given {
        let node = u32::try_from(number).ok().filter(|&node| is(node));
        nodes.push(node.ok_or_else(|| format!("gave node {number} {what}, which is not {state},"))?);
    }
    let mut sorted = nodes.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("gave node {} {what} twice", pair[0])),
        None => Ok(nodes),
    }
}

impl Rest for OwnSleep {
    fn rest(&mut self, scene: &Scene<'_>, choice: &mut RestChoice) -> Result<()> {
        let (part, view) = (&self.0, scene.view);
        let queue = (scene.queue)();
        Python::attach(|py| {
            part.lender.lend(view, Some(&queue), |lent| {
                let asked = || format!(", with {} idle,", counted(scene.idle().len(), "node"));
                let answer = part.call(py, view, (Standby::of(scene, part), lent), asked)?;
                let said = Answer::of(&answer).and_then(|answer| answer.choice(scene, choice).map_err(Wrong::Said));
                said.map_err(|wrong| part.refused(view, wrong, asked))
            })
        })
    }
}
