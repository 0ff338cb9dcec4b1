//! Python schedulers: they choose the jobs that start now, and their nodes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use hetsched_core::error::Result;
use hetsched_core::platform::cells::Cells;
use hetsched_core::policy::usage::{Learner, Over};
use hetsched_core::policy::{Decision, Decisions, Jobs, Notice, Policy, Stage, Stages, View};
use hetsched_core::workload::{JobId, Workload};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::roles::answers::{self, Wrong};
use crate::roles::placement::checked;
use crate::roles::{Part, with_waiting};

/// An object that decides everything.
#[derive(Clone)]
pub(crate) struct OwnScheduler {
    name: String,
    part: Part,
    /// Waiting jobs, by submit, then row.
    queue: Vec<JobId>,
    numbers: Arc<Numbers>,
    /// The object, if it learns.
    learners: Vec<Box<dyn Learner>>,
}

/// Jobs by their numbers in the log.
pub(crate) struct Numbers(Vec<(i64, JobId)>);

impl Numbers {
    pub(crate) fn of(jobs: Jobs<'_>) -> Self {
        let mut numbers: Vec<_> = jobs.all().map(|job| (jobs.job_id(job), job)).collect();
        numbers.sort_unstable_by_key(|(number, _)| *number);
        Self(numbers)
    }

    /// Brings it up to date if there are more jobs.
    pub(crate) fn follow(own: &mut Arc<Self>, jobs: Jobs<'_>) {
        if own.0.len() != jobs.all().len() {
            *own = Arc::new(Self::of(jobs));
        }
    }

    /// The job with this number.
    pub(crate) fn job(&self, number: i64) -> Option<JobId> {
        let place = self.0.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(self.0[place].1)
    }
}

impl OwnScheduler {
    pub(crate) fn new(name: String, part: Part, learners: Vec<Box<dyn Learner>>, workload: &Workload) -> Self {
        Self { name, part, queue: Vec::new(), numbers: Arc::new(Numbers::of(Jobs::new(workload))), learners }
    }

    /// Asks the object for starts, in its order: waiting jobs, and nodes as it gave them.
    fn asked(&self, view: &View<'_>) -> Result<Vec<(JobId, Vec<i64>)>> {
        let (part, queue) = (&self.part, self.shown(view));
        Python::attach(|py| {
            part.lender.lend(view, Some(&queue), |lent| {
                let answer = part.call(py, view, (lent,), || with_waiting(&queue))?;
                self.starts(&answer).map_err(|wrong| part.refused(view, wrong, || with_waiting(&queue)))
            })
        })
    }

    /// Waiting jobs, except for those of arrays whose limit is reached.
    fn shown(&self, view: &View<'_>) -> Cow<'_, [JobId]> {
        if !view.jobs.has_arrays() {
            return Cow::Borrowed(&self.queue);
        }
        let mut active: BTreeMap<u32, u32> = BTreeMap::new();
        for (array, _) in view.runs.iter().filter_map(|(_, run)| view.jobs.array(run.job)) {
            *active.entry(array).or_default() += 1;
        }
        let is_full = |job| {
            let array = view.jobs.array(job);
            array.is_some_and(|(array, limit)| active.get(&array).is_some_and(|&active| active >= limit))
        };
        Cow::Owned(self.queue.iter().copied().filter(|&job| !is_full(job)).collect())
    }

    fn starts(&self, answer: &Bound<'_, PyAny>) -> Result<Vec<(JobId, Vec<i64>)>, Wrong> {
        let py = answer.py();
        let no_list = |raised: PyErr| {
            if raised.is_instance_of::<PyTypeError>(py) {
                Wrong::Said(format!("gave {} where a list of (job_id, nodes) was asked for", named(answer)))
            } else {
                Wrong::Raised(raised)
            }
        };
        let mut starts = Vec::new();
        for start in answer.try_iter().map_err(no_list)? {
            let start = start?;
            let pair = start.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>();
            let pair = pair.or_else(|_| start.try_iter().and_then(pair_of));
            let Ok((id, nodes)) = pair else {
                return Err(Wrong::Said(format!("gave {} where (job_id, nodes) was asked for", named(&start))));
            };
            let Ok(number) = id.extract::<i64>() else {
                return Err(Wrong::Said(format!("gave {} where a job_id was asked for", named(&id))));
            };
            let job = self.numbers.job(number).filter(|job| self.queue.contains(job));
            let job = job.ok_or_else(|| Wrong::Said(format!("gave job {number}, which is not in the queue,")))?;
            let nodes = answers::whole(&nodes, "node numbers").map_err(|wrong| match wrong {
                Wrong::Said(what) => Wrong::Said(format!("{what}, to job {number},")),
                raised @ Wrong::Raised(_) => raised,
            })?;
            starts.push((job, nodes));
        }
        Ok(starts)
    }
}

fn pair_of(mut items: Bound<'_, PyIterator>) -> PyResult<(Bound<'_, PyAny>, Bound<'_, PyAny>)> {
    match (items.next(), items.next(), items.next()) {
        (Some(one), Some(other), None) => Ok((one?, other?)),
        _ => Err(PyTypeError::new_err("no pair")),
    }
}

/// A value as a message shows it, abbreviated.
pub(crate) fn named(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map(|text| text.to_string()).unwrap_or_default();
    let class = || value.get_type().qualname().map_or_else(|_| "an object".to_owned(), |name| format!("a {name}"));
    if text.is_empty() || text.len() > 60 || text.contains('\n') { class() } else { format!("`{text}`") }
}

impl Policy for OwnScheduler {
    fn name(&self) -> &str {
        &self.name
    }

    fn notice(&mut self, jobs: Jobs<'_>, notice: Notice) {
        if let Notice::Submitted(job) | Notice::Requeued(job) = notice {
            let key = |job: JobId| (jobs.eligible(job), job.0);
            let place = self.queue.partition_point(|&other| key(other) < key(job));
            self.queue.insert(place, job);
        }
        if let Notice::Withdrawn(job) = notice {
            self.queue.retain(|&other| other != job);
        }
    }

    fn divide(&mut self, _cells: &Arc<Cells>, _exclusive: bool) -> Result<()> {
        Ok(())
    }

    fn stages(&self) -> Stages {
        Stages { learns: !self.learners.is_empty(), ..Stages::default() }
    }

    fn learn(&mut self, view: &View<'_>, over: &[Over]) -> Result<()> {
        self.learners.iter_mut().try_for_each(|learner| learner.learn(view, over))
    }

    fn decide(&mut self, _stage: Stage, view: &View<'_>, out: &mut Decisions) -> Result<()> {
        if self.queue.is_empty() || view.slots.free_units() == 0 {
            return Ok(());
        }
        Numbers::follow(&mut self.numbers, view.jobs);
        let starts = self.asked(view)?;
        if starts.is_empty() {
            return Ok(());
        }
        let mut slots = view.slots.clone();
        for (job, nodes) in &starts {
            let Some(place) = self.queue.iter().position(|waiting| waiting == job) else {
                let id = view.jobs.job_id(*job);
                return Err(self.part.wrong(view, &format!("gave job {id} twice")));
            };
            let need = view.jobs.need(*job, view.platform);
            let serves = |node| view.shares.is_none_or(|shares| shares.cells().may_use(*job, node));
            let nodes =
                checked(view, *job, nodes, view.size_range(*job), |node| slots.free_on(node) >= need && serves(node));
            let nodes = nodes.map_err(|what| self.part.wrong(view, &what))?;
            for &node in &nodes {
                slots.take(node, need);
            }
            self.queue.remove(place);
            let size = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
            if size != view.jobs.node_count(*job) {
                out.push(Decision::Size(*job, size));
            }
            out.start_with(*job, |chosen| chosen.extend(nodes));
        }
        if let Some(&front) = self.queue.first() {
            let key = |job: JobId| (view.jobs.eligible(job), job.0);
            out.revise(|start, _| start.overtakes = key(start.job) > key(front));
        }
        Ok(())
    }
}
