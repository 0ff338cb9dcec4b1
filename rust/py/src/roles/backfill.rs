//! Python backfills: they choose the waiting jobs that are tried now, and their order.

use std::collections::BTreeMap;
use std::sync::Arc;

use hetsched_core::algo::fit_list::{FitList, QueueKey};
use hetsched_core::error::Result;
use hetsched_core::policy::View;
use hetsched_core::policy::backfill::Backfill;
use hetsched_core::policy::backfill::ahead::Ahead;
use hetsched_core::policy::desk::Desk;
use hetsched_core::workload::JobId;
use pyo3::prelude::*;

use crate::roles::answers;
use crate::roles::scheduler::Numbers;
use crate::roles::{Part, with_waiting};

/// An object that chooses the jobs to try.
#[derive(Clone)]
pub(crate) struct OwnBackfill {
    pub(crate) part: Part,
    pub(crate) numbers: Arc<Numbers>,
}

impl OwnBackfill {
    /// Asks for the jobs to try, as numbers in the log.
    fn asked(&self, view: &View<'_>, queue: &[JobId], ahead: Option<&Ahead>) -> Result<Vec<i64>> {
        let part = &self.part;
        Python::attach(|py| {
            part.lender.lend_ahead(view, Some(queue), ahead, |lent| {
                let asked = || with_waiting(queue);
                let answer = part.call(py, view, (part.lender.jobs(queue.to_vec()), lent), asked)?;
                answers::whole(&answer, "job numbers").map_err(|wrong| part.refused(view, wrong, asked))
            })
        })
    }
}

impl Backfill for OwnBackfill {
    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(Self { part: self.part.again(), numbers: Arc::clone(&self.numbers) }))
    }

    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        // `None`: the job has been chosen.
        let mut keys: BTreeMap<JobId, Option<QueueKey>> = BTreeMap::new();
        Numbers::follow(&mut self.numbers, desk.view.jobs);
        let waiting: Vec<_> = queue.iter().map(|waiting| JobId(waiting.key.row)).collect();
        let ahead = if desk.counts_watts() { Some(Ahead::of_pass(desk)?) } else { None };
        let chosen = self.asked(desk.view, &waiting, ahead.as_ref())?;
        if !chosen.is_empty() {
            keys.extend(queue.iter().map(|waiting| (JobId(waiting.key.row), Some(waiting.key))));
        }
        for number in chosen {
            desk.examine()?;
            let wrong = |what: &str| self.part.wrong(desk.view, &format!("gave job {number}{what}"));
            let key = self.numbers.job(number).and_then(|job| keys.get_mut(&job));
            let key = key.ok_or_else(|| wrong(", which is not in the queue,"))?;
            let key = key.take().ok_or_else(|| wrong(" twice"))?;
            let Some(place) = queue.place_of(key) else { continue };
            let Some(offer) = queue.get(place).map(|waiting| desk.offer(waiting)).transpose()?.flatten() else {
                continue;
            };
            queue.remove_at(place);
            desk.accept(offer)?;
            desk.hold_back(queue, key, true);
        }
        Ok(())
    }
}
