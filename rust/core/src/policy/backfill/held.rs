//! Numbers of jobs that hold a reservation, where the jobs of each lane hold as many as those of a queue by itself.

use crate::policy::desk::Desk;

/// Number of jobs of each lane that hold a reservation, up to the same depth.
#[derive(Clone, Debug)]
pub(super) struct Held {
    depth: usize,
    by_lane: Vec<usize>,
}

impl Held {
    /// None yet; in lanes that are closed there may be none.
    pub(super) fn of(desk: &Desk<'_>, depth: usize) -> Self {
        let held = |lane| if desk.closed().contains(&lane) { depth } else { 0 };
        Self { depth, by_lane: (0..desk.view.lanes()).map(held).collect() }
    }

    /// True if no more jobs of the lane may hold one.
    pub(super) fn is_full(&self, lane: usize) -> bool {
        self.by_lane[lane] >= self.depth
    }

    /// True if no more jobs may hold one.
    pub(super) fn are_all_full(&self) -> bool {
        (0..self.by_lane.len()).all(|lane| self.is_full(lane))
    }

    /// Notes a reservation.
    pub(super) fn add(&mut self, lane: usize) {
        self.by_lane[lane] += 1;
    }
}
