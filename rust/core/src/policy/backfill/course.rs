//! Progress of a pass that plans jobs in policy order and starts those that fit alongside.

use crate::algo::fit_list::Place;
use crate::policy::desk::Offer;
use crate::units::SimTime;

/// Progress of a pass.
pub(super) struct Course {
    /// First job that is not planned yet.
    pub(super) place: Place,
    /// First job that may still fit now.
    pub(super) candidate: Place,
    /// Offer to start the candidate, if it fits.
    pub(super) offer: Option<Offer>,
    /// Number of jobs that hold a reservation.
    pub(super) held: usize,
    /// Unplanned jobs before this place ...
    pub(super) clear: Place,
    /// ... fit no earlier than this.
    pub(super) until: SimTime,
}

impl Course {
    pub(super) fn new(from: Place) -> Self {
        Self { place: from, candidate: from, offer: None, held: 0, clear: from, until: SimTime::NEVER }
    }
}
