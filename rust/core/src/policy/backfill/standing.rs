//! A partial plan that the next pass goes on with, for as long as nothing has come free in between.
//!
//! If since the last pass only its own starts were made, no run has ended or is overdue, and jobs have only joined the
//! queue behind all others, then what is free over time is what it was. If no step of it lies between the two passes
//! either, no start that a whole plan would promise does, and a job that could not start then cannot start now: a plan has
//! it start at a step. So only the jobs that have joined are left to be asked, next to the promises made so far.

use crate::algo::fit_list::{FitList, Place, QueueKey};
use crate::algo::releases::{Change, ReleasedBy};
use crate::algo::sorted_blocks::Keyed;
use crate::policy::desk::Desk;
use crate::units::{SimTime, Watts};

/// State of the last pass, for as long as its partial plan stands.
#[derive(Clone, Debug, Default)]
pub(super) struct StandingPlan {
    /// Last job that was waiting; none if the plan does not stand.
    last: Option<QueueKey>,
    /// Number of changes of the releases before its starts.
    seen: u64,
    /// Planned ends and rows of its starts, sorted.
    started: Vec<(SimTime, ReleasedBy)>,
    /// Number of changes of the free nodes before these, and the watts that were left behind them.
    nodes: u64,
    watts: Option<Watts>,
}

impl StandingPlan {
    /// Notes that the plan does not stand.
    pub(super) fn end(&mut self) {
        self.last = None;
    }

    /// Notes that a job has joined the queue.
    pub(super) fn join(&mut self, key: QueueKey) {
        self.last = self.last.filter(|&last| last < key);
    }

    /// Ends a pass whose plan stands, as far as is known.
    pub(super) fn leave(&mut self, desk: &Desk<'_>, queue: &FitList) {
        self.seen = desk.view.releases.changes(u64::MAX).1;
        self.started.clear();
        self.started.extend(desk.added().iter().map(Keyed::key));
        (self.nodes, self.watts) = (desk.view.slots.changes(u64::MAX).1, desk.left());
        self.last = queue.last().map(|waiting| waiting.key);
    }

    /// First place behind all jobs that had their turn, if the plan stands in this pass; `changes_at` is its first step to
    /// come.
    pub(super) fn goes_on_from(&self, desk: &Desk<'_>, queue: &FitList, changes_at: Option<SimTime>) -> Option<Place> {
        let last = self.last?;
        let is_later = |at: SimTime| at > desk.view.now;
        let stands = desk.may_keep_plans()
            && desk.added().is_empty()
            && changes_at.is_none_or(is_later)
            && desk.view.releases.iter().next().is_none_or(|first| is_later(first.at))
            && self.made_all_changes(desk);
        stands.then(|| queue.place_after(last))
    }

    /// The same where each pass plans again: if the last one has started nothing, and nothing has happened since but that
    /// jobs have joined, those that could not start then next to one reservation cannot start now, which is later.
    pub(super) fn stays_from(&self, desk: &Desk<'_>, queue: &FitList) -> Option<Place> {
        let is_same = self.last.is_some()
            && self.started.is_empty()
            && self.nodes == desk.view.slots.changes(u64::MAX).1
            && self.watts == desk.left();
        if is_same { self.goes_on_from(desk, queue, None) } else { None }
    }

    /// True if the starts of the last pass are all that has happened.
    fn made_all_changes(&self, desk: &Desk<'_>) -> bool {
        let Some(news) = desk.view.releases.changes(self.seen).0 else { return false };
        let is_own = |change: &Change| match change {
            Change::Came(release) => self.started.binary_search(&release.key()).is_ok(),
            Change::Went(_) => false,
        };
        news.len() == self.started.len() && news.iter().all(is_own)
    }
}
