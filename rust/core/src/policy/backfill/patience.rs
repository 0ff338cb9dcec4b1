//! Whoever fits starts, the ones that suit the free nodes first; who has waited long enough holds a reservation.
//!
//! Greedy first fit keeps the machine busy and lets large jobs wait for ever. Here the jobs that have waited longer than a
//! patience go first, the longest wait first; those of them that do not fit are planned at their earliest time, and
//! no job that starts now may delay them.

use std::collections::BTreeSet;

use crate::algo::fit_list::QueueKey;
use crate::algo::sorted_blocks::Place;
use crate::error::Result;
use crate::policy::backfill::Backfill;
use crate::policy::backfill::plan::Plan;
use crate::policy::backfill::profile::Profile;
use crate::policy::pass::Pass;
use crate::units::{SimDuration, SimTime};

/// First fit with an end to waiting.
#[derive(Clone, Debug)]
pub struct Patience {
    limit: SimDuration,
    depth: usize,
    suited_first: bool,
    plan: Plan,
    /// Which jobs hold a reservation.
    reserved: BTreeSet<QueueKey>,
}

impl Patience {
    /// The `depth` longest waits beyond `patience` hold reservations.
    #[must_use]
    pub fn new(patience: SimDuration, depth: usize, suited_first: bool) -> Self {
        Self {
            limit: patience,
            depth,
            suited_first,
            plan: Plan::Profile(Profile::default()),
            reserved: BTreeSet::new(),
        }
    }

    /// Starts or plans the jobs that have waited long enough.
    fn serve_patient(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        let mut patient = Patient::new(pass, self.limit, self.depth);
        let mut candidate = Place::FRONT;
        while self.reserved.len() < self.depth {
            let Some(key) = patient.next(pass) else { break };
            pass.examine()?;
            let Some(place) = pass.queue.place_of(key) else { break };
            let Some(waiting) = pass.queue.get(place).copied() else { break };
            if self.reserved.is_empty() {
                if pass.fits(&waiting)? {
                    pass.start_first(place)?;
                    continue;
                }
                self.plan.reset(pass)?;
            } else if self.plan.fits_now(pass, &waiting)? && pass.fits(&waiting)? {
                self.plan.start(pass, &waiting)?;
                pass.start_first(place)?;
                candidate = Place::FRONT;
                continue;
            }
            pass.block();
            self.plan.reserve(pass, &waiting, 1);
            self.reserved.insert(key);
            // Where nothing fits beside the promises made so far, nothing will beside more of them.
            let Some(next) = self.plan.next_that_may(pass, candidate)? else { break };
            candidate = next;
        }
        Ok(())
    }

    /// Starts the jobs that fit, in policy order; only those that the free nodes suit, if `suited`.
    fn sweep(&mut self, pass: &mut Pass<'_>, suited: bool) -> Result<()> {
        let mut place = Place::FRONT;
        while let Some(found) = self.next(pass, place) {
            pass.examine()?;
            let Some(waiting) = pass.queue.get(found).copied() else { break };
            let held = self.reserved.contains(&waiting.key);
            let planned = self.reserved.is_empty() || (!held && self.plan.fits_now(pass, &waiting)?);
            if planned && (!suited || pass.suits(&waiting)) && pass.fits(&waiting)? {
                if !self.reserved.is_empty() {
                    self.plan.start(pass, &waiting)?;
                }
                place = pass.start(found)?;
            } else {
                place = pass.queue.after(found);
            }
        }
        Ok(())
    }

    /// The first job at or after `from` that may fit.
    fn next(&self, pass: &Pass<'_>, from: Place) -> Option<Place> {
        if self.reserved.is_empty() {
            pass.queue.first_fit(from, pass.whole_room())
        } else {
            self.plan.next(pass, from)
        }
    }
}

/// The jobs that have waited longer than a limit, the longest wait first.
enum Patient {
    /// Looked for one by one: for a few reservations.
    Sought(SimDuration, (SimTime, u32)),
    /// All of them, the longest wait last.
    Sorted(Vec<QueueKey>),
}

/// For more reservations than this all long waits are gathered at once.
const FEW: usize = 4;

impl Patient {
    fn new(pass: &Pass<'_>, limit: SimDuration, depth: usize) -> Self {
        if depth <= FEW {
            return Self::Sought(limit, (SimTime::from_micros(i64::MIN), 0));
        }
        let now = pass.view.now;
        let waits = pass.queue.iter().map(|waiting| waiting.key).filter(|key| now - key.submit > limit);
        let mut keys: Vec<_> = waits.collect();
        keys.sort_unstable_by_key(|key| std::cmp::Reverse((key.submit, key.row)));
        Self::Sorted(keys)
    }

    fn next(&mut self, pass: &Pass<'_>) -> Option<QueueKey> {
        match self {
            Self::Sought(limit, last) => {
                let key = pass.queue.oldest_after(*last).filter(|key| pass.view.now - key.submit > *limit)?;
                *last = (key.submit, key.row);
                Some(key)
            }
            Self::Sorted(keys) => keys.pop(),
        }
    }
}

impl Backfill for Patience {
    fn select(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        self.reserved.clear();
        self.serve_patient(pass)?;
        if self.suited_first {
            self.sweep(pass, true)?;
        }
        self.sweep(pass, false)
    }
}
