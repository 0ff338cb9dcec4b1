//! A plan of named nodes that the next pass goes on with, for as long as a new one would be the same.
//!
//! If jobs have only joined the queue behind the planned ones, and no run has ended since, a new plan makes the same
//! promises again. No window of the plan has begun in between, so each job finds the same nodes at the same instants, and
//! one that could not start then cannot start now: it would run through the same windows and later ones. Jobs that the
//! last pass has started hold what the plan has them hold. A new plan has them take it before the jobs ahead of them
//! choose, but these would not have chosen it, as they did not: of fewer nodes, with the same lowest ones among them, they
//! choose the same.
//!
//! Under a budget the same holds as long as as many watts are left in all: a plan counts them exactly, so those of a start
//! are those of its run. A job that was not given the first nodes, as these took too much, may be given others by a new
//! plan: then nothing lasts.
//!
//! A plan without watts is mostly made in part (`in_part`), and goes on by rules of its own.
//!
//! This holds where a job's nodes are the lowest of those that are free throughout. On shared nodes a start changes which
//! node is fullest, and with it the choice of the jobs ahead of it.

use crate::algo::fit_list::{FitList, Place, Waiting};
use crate::units::Watts;

/// Jobs that had their turn in a plan, for as long as a new one would be the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Lasting {
    is_whole: bool,
    /// Watts that the budget leaves beyond the idle machine, where they count.
    level: Option<Watts>,
    /// Number of jobs that are planned for later.
    planned: usize,
    /// Jobs that had their turn and still wait, in the queue's order.
    passed: Vec<Waiting>,
}

impl Lasting {
    /// Begins a new plan, which may last or not, with so many watts in all.
    pub(super) fn begin(&mut self, may_last: bool, level: Option<Watts>) {
        (self.is_whole, self.level) = (may_last, level);
        self.planned = 0;
        self.passed.clear();
    }

    /// Notes that nothing of the plan is left.
    pub(super) fn end(&mut self) {
        self.is_whole = false;
    }

    /// True if the next pass may go on with the plan.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Notes that a job had its turn and waits on, with a promise if one was found.
    pub(super) fn pass(&mut self, waiting: &Waiting, found: bool) {
        self.passed.push(*waiting);
        self.planned += usize::from(found);
    }

    /// First place behind all jobs that had their turn, and the number of those that are planned for later; none if they
    /// do not stand at the front of the queue, each as it was, or if there are other watts.
    pub(super) fn goes_on_from(&self, queue: &FitList, level: Option<Watts>) -> Option<(Place, usize)> {
        if !self.is_whole || self.level != level {
            return None;
        }
        let mut place = queue.settled(Place::FRONT);
        for waiting in &self.passed {
            if queue.get(place) != Some(waiting) {
                return None;
            }
            place = queue.after(place);
        }
        Some((place, self.planned))
    }
}
