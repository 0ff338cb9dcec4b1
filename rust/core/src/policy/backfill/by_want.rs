//! Horizon of plans by cell: each job takes the nodes that its want may have.

use crate::algo::fit_list::Waiting;
use crate::algo::floors::Floors;
use crate::algo::horizon::{CellProfile, Wish};
use crate::algo::partial_plan::{Horizon, PlannedStart};
use crate::algo::shelves::Shelves;
use crate::platform::cells::Cells;
use crate::policy::Jobs;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Nodes of each cell and licences that are free over time.
pub(in crate::policy) struct ByWant<'a> {
    pub(in crate::policy) now: SimTime,
    pub(in crate::policy) jobs: Jobs<'a>,
    pub(in crate::policy) cells: &'a Cells,
    pub(in crate::policy) free: &'a mut CellProfile,
    /// Lower bounds on starts, by want.
    pub(in crate::policy) floors: &'a mut [Floors],
    /// Number of nodes that could serve each want now.
    pub(in crate::policy) rooms: &'a [i64],
}

impl ByWant<'_> {
    fn wish(&self, waiting: &Waiting) -> Wish<'_> {
        let job = JobId(waiting.key.row);
        self.cells.wish(job, self.jobs.node_count(job))
    }

    fn number(&self, waiting: &Waiting) -> usize {
        self.cells.number(JobId(waiting.key.row))
    }
}

impl Horizon for ByWant<'_> {
    const IS_ONE: bool = false;

    fn group(&self, waiting: &Waiting) -> usize {
        self.number(waiting)
    }

    fn floor_of(&self, _units: i64, _length: SimDuration) -> SimTime {
        self.now
    }

    fn floor(&self, waiting: &Waiting) -> SimTime {
        let number = self.number(waiting);
        let soonest =
            if waiting.units <= self.rooms[number] { self.now } else { self.now.saturating_add(SimDuration::TICK) };
        self.floors[number].of(waiting.units, waiting.length).max(soonest)
    }

    fn fit_before(&mut self, waiting: &Waiting, from: SimTime, before: SimTime) -> Option<SimTime> {
        let found = self.free.earliest_by(from, before, waiting.length.max(SimDuration::TICK), &self.wish(waiting));
        found.map(|(at, _)| at)
    }

    fn raise(&mut self, waiting: &Waiting, to: SimTime) {
        let number = self.number(waiting);
        self.floors[number].raise(waiting.units, waiting.length.max(SimDuration::TICK), to);
    }

    fn fits_each<'w>(&self, mut jobs: impl Iterator<Item = &'w Waiting>) -> bool {
        let (begins, last): (Vec<_>, Vec<_>) = self.free.last().unzip();
        let mut shelves = Shelves::new(begins.into_iter().max().unwrap_or(self.now));
        // Jobs may want the same cells: each has a shelf of its own.
        let has_room = |waiting: &Waiting| self.wish(waiting).split(&last).is_some();
        jobs.all(|waiting| has_room(waiting) && shelves.latest_start(waiting, waiting.units) < SimTime::NEVER)
    }

    fn hold(&mut self, start: &PlannedStart, _count: usize) {
        let length = start.waiting.length.max(SimDuration::TICK);
        let found = self.free.earliest(start.at, length, &self.wish(&start.waiting));
        if let Some((at, split)) = found {
            debug_assert_eq!(at, start.at, "a job is promised what fits");
            self.free.reserve(at, length, &split);
        }
    }
}
