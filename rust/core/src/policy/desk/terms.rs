//! How an offer is made: where the job would go, and whether the watts it takes there are left.

use crate::algo::fit_list::{Kind, Waiting};
use crate::error::Result;
use crate::policy::analyzer::Estimate;
use crate::policy::budget::draw::take_cheapest;
use crate::policy::budget::prices::Price;
use crate::policy::class::JobClass;
use crate::policy::desk::{Desk, Terms};
use crate::policy::placement::Choice;
use crate::policy::together::{Host, Joining, Together};
use crate::units::Watts;
use crate::workload::JobId;

/// How a job's nodes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// By the placement.
    WhereItGoes,
    /// Where it adds the fewest watts.
    WhereItAddsLeast,
}

impl Desk<'_> {
    /// What is left of the room beside the jobs that are placed.
    pub(super) fn left(&self) -> Option<Watts> {
        self.room.map(|room| room - self.draft.granted())
    }

    /// The list of jobs to be placed together, and whom it asks.
    pub(super) fn host(&mut self) -> Option<(&mut Together, Host<'_>)> {
        let joint = self.placement.jointly().filter(|_| self.is_joint)?;
        Some((self.together, Host { ask: self.ask, joint, free: self.draft.free() }))
    }

    /// Whether the job starts on an idle machine: nothing will end for which it could wait.
    fn nothing_runs(&self) -> bool {
        self.view.releases.is_empty() && self.added().is_empty()
    }

    /// Whether the list that is placed at the end stays within the room with one more job.
    pub(super) fn terms_together(&mut self, waiting: &Waiting) -> Result<Option<Terms>> {
        let job = JobId(waiting.key.row);
        let (Some(room), Some(power)) = (self.left(), &mut self.power) else {
            return Ok(Some(Terms::Joining(Box::new(Joining::new(job, Price::default())))));
        };
        let price = power.prices.of(&self.ask, job);
        let mut joining = Joining::new(job, price);
        if let Some((together, mut host)) = self.host()
            && together.fits(&mut joining, room, &mut host)?
        {
            return Ok(Some(Terms::Joining(Box::new(joining))));
        }
        if !self.nothing_runs() || price.least > room {
            return Ok(None);
        }
        Ok(self.place(waiting, How::WhereItAddsLeast)?.0.map(Terms::Placed))
    }

    /// Places a job; where watts are counted, only if they are within the room.
    pub(super) fn terms_alone(&mut self, waiting: &Waiting) -> Result<Option<Terms>> {
        let job = JobId(waiting.key.row);
        let Some(room) = self.left() else {
            return Ok(self.place(waiting, How::WhereItGoes)?.0.map(Terms::Placed));
        };
        if self.is_refused(job) || self.least_watts(job) > room {
            return Ok(None);
        }
        let alone = self.nothing_runs();
        let (placed, choice) = self.place(waiting, How::WhereItGoes)?;
        if let Some(watts) = placed {
            return Ok(Some(Terms::Placed(watts)));
        }
        // Where nothing runs nothing will end: a job that fits somewhere must not wait for it.
        if alone
            && choice != Choice::Refused
            && let Some(watts) = self.place(waiting, How::WhereItAddsLeast)?.0
        {
            return Ok(Some(Terms::Placed(watts)));
        }
        if choice == Choice::FewestWatts {
            self.refuse(waiting);
        }
        Ok(None)
    }

    /// Places a job, unless it takes more watts there than are left; with what the placement said.
    fn place(&mut self, waiting: &Waiting, how: How) -> Result<(Option<Watts>, Choice)> {
        let job = JobId(waiting.key.row);
        let (ask, left) = (self.ask, self.left());
        let (placement, power) = (&mut *self.placement, &mut self.power);
        let mut choice = Choice::Chosen;
        let placed = self.draft.put(waiting, |free, nodes| {
            let first = nodes.len();
            match how {
                How::WhereItGoes => choice = placement.choose(&ask, job, free, nodes)?,
                How::WhereItAddsLeast => take_cheapest(&ask, job, free, nodes),
            }
            let own = &nodes[first..];
            let watts = power.as_mut().map_or(Watts::ZERO, |power| power.prices.on(&ask, job, own));
            if choice != Choice::Refused && left.is_none_or(|left| watts <= left) {
                return Ok(Some(watts));
            }
            free.insert_all(own);
            nodes.truncate(first);
            Ok(None)
        })?;
        *self.is_choosy |= choice == Choice::Refused;
        Ok((placed, choice))
    }

    fn least_watts(&mut self, job: JobId) -> Watts {
        let ask = self.ask;
        self.power.as_mut().map_or(Watts::ZERO, |power| power.prices.of(&ask, job).least)
    }

    /// Whether a smaller job alike was refused for its watts in this pass.
    fn is_refused(&self, job: JobId) -> bool {
        let count = self.view.jobs.node_count(job);
        !self.refused.is_empty() && self.refused.get(&self.likeness(job)).is_some_and(|&refused| count >= refused)
    }

    /// Notes a job that was refused although it was given the fewest watts there are. Only where these are the fewest beyond
    /// idle, too, does that speak for larger jobs, and for later ones.
    fn refuse(&mut self, waiting: &Waiting) {
        let idles_alike = self.power.as_ref().is_some_and(|power| power.ceiling.idles_alike());
        let job = JobId(waiting.key.row);
        let key = self.likeness(job);
        if idles_alike && key.1 == Estimate::Predicted && !key.0.follows_own() && !self.view.predicted.has_caps() {
            self.refused.insert(key, self.view.jobs.node_count(job));
            if waiting.kind != Kind::OTHER {
                self.refused_units.lower(waiting.kind, waiting.units);
            }
        }
    }

    fn likeness(&self, job: JobId) -> (JobClass, Estimate, u32) {
        let need = self.view.jobs.need(job, self.view.platform);
        (JobClass::of(self.view, job), self.ask.estimate(job), need)
    }
}
