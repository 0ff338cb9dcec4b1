//! Starvation: jobs that have waited too long are served before all others, the longest wait first (VAHRM, section
//! III-B). Where queues have several sets of nodes, one that does not fit keeps only those of its own set waiting.

use crate::algo::fit_list::{FitList, QueueKey, Waiting};
use crate::error::Result;
use crate::policy::Jobs;
use crate::policy::backfill::Backfill;
use crate::policy::desk::Desk;
use crate::policy::order::Order;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Serves starving jobs, then leaves the rest to another backfill.
#[derive(Clone)]
pub struct Starving {
    limit: SimDuration,
    others: Box<dyn Backfill>,
    /// Job with the longest wait, known for as long as it is queued and only jobs join that were submitted later.
    oldest: Option<QueueKey>,
}

impl Starving {
    /// Jobs that have waited longer than `limit` starve. While one of them does not fit, nothing else starts.
    #[must_use]
    pub fn new(limit: SimDuration, others: Box<dyn Backfill>) -> Self {
        Self { limit, others, oldest: None }
    }

    /// Job with the longest wait.
    fn oldest(&mut self, desk: &Desk<'_>, queue: &FitList) -> Option<QueueKey> {
        let known = self.oldest.filter(|&key| desk.only_later_jobs_join() && queue.place_of(key).is_some());
        self.oldest = known.or_else(|| queue.oldest_after((SimTime::from_micros(i64::MIN), 0)));
        self.oldest
    }

    /// Starts the starving jobs; false if one of them does not fit.
    fn serve(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<bool> {
        while let Some(key) = self.oldest(desk, queue).filter(|key| desk.view.now - key.submit > self.limit) {
            desk.examine()?;
            let Some((place, waiting)) = queue.place_of(key).and_then(|place| Some((place, *queue.get(place)?))) else {
                break;
            };
            let Some(offer) = self.others.offer_first(desk, &waiting)? else { return Ok(false) };
            queue.remove_at(place);
            desk.accept_first(offer)?;
            desk.hold_back(queue, key, true);
        }
        Ok(true)
    }

    /// The same in lanes: one that does not fit closes its lane. False if all are closed.
    fn serve_lanes(&self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<bool> {
        let mut last = (SimTime::from_micros(i64::MIN), 0);
        while desk.closed().len() < desk.view.lanes()
            && let Some(key) = queue.oldest_after(last).filter(|key| desk.view.now - key.submit > self.limit)
        {
            desk.examine()?;
            last = (key.submit, key.row);
            let Some((place, waiting)) = queue.place_of(key).and_then(|place| Some((place, *queue.get(place)?))) else {
                break;
            };
            match desk.offer(&waiting)? {
                Some(offer) => {
                    queue.remove_at(place);
                    desk.accept_first(offer)?;
                    desk.hold_back(queue, key, true);
                }
                None => desk.close_lane(&waiting),
            }
        }
        Ok(desk.closed().len() < desk.view.lanes())
    }
}

impl Backfill for Starving {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let goes_on = if desk.view.lanes() > 1 { self.serve_lanes(desk, queue)? } else { self.serve(desk, queue)? };
        if goes_on { self.others.select(desk, queue) } else { Ok(()) }
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(Self::new(self.limit, self.others.by_cell()?)))
    }

    fn beside_sleep(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(Self::new(self.limit, self.others.beside_sleep()?)))
    }

    fn reserves(&self) -> usize {
        self.others.reserves()
    }

    fn names_nodes(&self) -> bool {
        self.others.names_nodes()
    }

    fn is_strict(&self) -> bool {
        self.others.is_strict()
    }

    fn first_after(&self) -> Option<SimDuration> {
        Some(self.limit)
    }

    fn queue_in(&mut self, order: &dyn Order) {
        self.others.queue_in(order);
    }

    fn note_queued(&mut self, waiting: &Waiting) {
        self.others.note_queued(waiting);
    }

    fn note_sorted(&mut self, queue: &FitList) {
        self.others.note_sorted(queue);
    }

    fn note_left(&mut self, job: JobId) {
        self.others.note_left(job);
    }

    fn has_own_order(&self) -> bool {
        self.others.has_own_order()
    }

    fn leaves_out(&self, jobs: Jobs<'_>, job: JobId) -> bool {
        self.others.leaves_out(jobs, job)
    }
}
