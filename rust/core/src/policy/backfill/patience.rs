//! Whoever fits starts, the ones that suit the free nodes first; who has waited long enough holds a reservation.
//!
//! Greedy first fit keeps the machine busy and lets large jobs wait for ever. Here the jobs that have waited longer than a
//! patience go first, the longest wait first; those of them that do not fit are planned at their earliest time, and
//! nobody who starts now may delay them.

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

    /// Starts or plans those who have waited long enough.
    fn serve_patient(&mut self, pass: &mut Pass<'_>) -> Result<()> {
        let (now, mut last) = (pass.view.now, (SimTime::from_micros(i64::MIN), 0));
        while self.reserved.len() < self.depth {
            let Some(key) = pass.queue.oldest_after(last).filter(|key| now - key.submit > self.limit) else { break };
            last = (key.submit, key.row);
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
                continue;
            }
            pass.block();
            self.plan.reserve(pass, &waiting);
            self.reserved.insert(key);
        }
        Ok(())
    }

    /// Starts whoever fits, in policy order; only those whom the free nodes suit, if `suited`.
    fn sweep(&mut self, pass: &mut Pass<'_>, suited: bool) -> Result<()> {
        let mut place = Place::FRONT;
        while let Some(found) = pass.queue.first_fit(place, pass.whole_room()) {
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
