//! Where a backfill asks whether a job can start now, and has it started.
//!
//! Backfill only counts; which nodes a job gets is the placement's choice. A job that is placed by itself gets its nodes
//! with the offer, so that what it draws there is known; those of a placement that matches jobs jointly get theirs at the
//! end of the pass, and under a budget that may bind the list is judged as a whole (`together`).

use std::collections::BTreeMap;

use crate::algo::fit_list::{Room, Waiting};
use crate::algo::releases::{Claim, Release};
use crate::error::{Error, Result, SimulationError};
use crate::policy::analyzer::{Ask, Estimate};
use crate::policy::budget::Power;
use crate::policy::budget::draw::{beyond_idle, take_cheapest};
use crate::policy::budget::prices::Price;
use crate::policy::class::JobClass;
use crate::policy::draft::{self, Draft, Mark};
use crate::policy::placement::{Choice, Placement, Verdict};
use crate::policy::together::{Host, Joining, Together};
use crate::policy::turns::Turns;
use crate::policy::{Decisions, View};
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// Memory that a policy keeps from pass to pass, so that a pass allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    draft: draft::Memory,
    together: Together,
    turns: Turns,
    /// Fewest nodes at which jobs of a class, an estimate and a need of slots were refused for their watts, where fewer
    /// watts cannot be had.
    refused: BTreeMap<(JobClass, Estimate, u32), u32>,
    /// Whether the placement has ever refused a job.
    is_choosy: bool,
}

/// How many jobs a pass looks at between two looks for an interrupt.
const LOOK_EVERY: u32 = 1024;

/// What it takes to start a job now: made by [`Desk::offer`], then accepted or declined.
#[must_use = "an offer is accepted or declined"]
#[derive(Debug)]
pub struct Offer {
    waiting: Waiting,
    /// Which of all offers of the pass.
    number: u32,
    /// The draft without it.
    mark: Mark,
    terms: Terms,
}

#[derive(Debug)]
enum Terms {
    /// It is placed; its watts beyond idle there.
    Placed(Watts),
    /// It would join the list that is placed at the end.
    Joining(Joining),
}

/// How a job's nodes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// By the placement.
    WhereItGoes,
    /// Where it adds the fewest watts.
    WhereItAddsLeast,
}

/// A pass under way, as a backfill sees it.
pub struct Desk<'a> {
    /// What the policy may know.
    pub view: &'a View<'a>,
    ask: Ask<'a>,
    draft: Draft<'a>,
    placement: &'a mut dyn Placement,
    power: Option<&'a mut Power>,
    /// Watts that may be added in this pass, if the budget may bind in it.
    room: Option<Watts>,
    together: &'a mut Together,
    turns: &'a mut Turns,
    refused: &'a mut BTreeMap<(JobClass, Estimate, u32), u32>,
    is_choosy: &'a mut bool,
    /// Whether jobs are placed together at the end.
    is_joint: bool,
    offers: u32,
    examined: u32,
}

impl<'a> Desk<'a> {
    /// Begins a pass.
    pub fn new(
        ask: Ask<'a>,
        placement: &'a mut dyn Placement,
        mut power: Option<&'a mut Power>,
        memory: &'a mut Memory,
        out: &'a mut Decisions,
    ) -> Self {
        let view = ask.view;
        let Memory { draft, together, turns, refused, is_choosy } = memory;
        together.clear();
        turns.clear();
        refused.clear();
        let ceiling = power.as_mut().map(|power| &mut power.ceiling);
        Self {
            view,
            ask,
            draft: Draft::new(view, draft, out),
            room: ceiling.and_then(|ceiling| ceiling.may_bind(view).then(|| ceiling.room(view))),
            is_joint: view.platform.is_exclusive() && placement.jointly().is_some(),
            placement,
            power,
            together,
            turns,
            refused,
            is_choosy,
            offers: 0,
            examined: 0,
        }
    }

    /// What it takes to start a waiting job now, beside those of this pass; none if it does not fit. An offer must be
    /// answered before the next is asked for.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    pub fn offer(&mut self, waiting: &Waiting) -> Result<Option<Offer>> {
        let job = JobId(waiting.key.row);
        if waiting.units > self.draft.free_units() {
            return Ok(None);
        }
        let mark = self.draft.mark();
        let terms = if self.is_joint {
            self.terms_together(waiting)?
        } else if self.draft.serving(job).len() < self.view.jobs.node_count(job) {
            None
        } else {
            self.terms_alone(waiting)?
        };
        self.offers += 1;
        Ok(terms.map(|terms| Offer { waiting: *waiting, number: self.offers, mark, terms }))
    }

    /// Starts the job in its turn of the policy's order. It is the caller's to take it out of the queue.
    ///
    /// # Errors
    /// If another offer was made since.
    pub fn accept(&mut self, offer: Offer) -> Result<()> {
        self.turns.start(offer.waiting.key);
        self.carry_out(offer)
    }

    /// Starts the job before all others: only those for which the pass was blocked go ahead of it.
    ///
    /// # Errors
    /// If another offer was made since.
    pub fn accept_first(&mut self, offer: Offer) -> Result<()> {
        self.turns.start_first(offer.waiting.key);
        self.carry_out(offer)
    }

    /// Leaves the job where it is.
    #[expect(clippy::needless_pass_by_value, reason = "an offer is answered once")]
    pub fn decline(&mut self, offer: Offer) {
        self.draft.rollback(offer.mark);
    }

    /// Notes that a job that goes before all others stays queued: every job that starts after this overtakes it.
    pub fn block(&mut self) {
        self.turns.block();
    }

    /// Whether the free nodes suit a waiting job that fits on them. Those that it is offered count as free.
    pub fn suits(&mut self, waiting: &Waiting, offer: Option<&Offer>) -> bool {
        let (ask, job) = (self.ask, JobId(waiting.key.row));
        let mark = offer.map_or_else(|| self.draft.mark(), |offer| offer.mark);
        let placement = &mut *self.placement;
        self.draft.look_back(mark, job, |free| placement.judge(&ask, job, free) == Verdict::Suits)
    }

    /// Asks for a pass at `at`, which is after now.
    pub fn timer(&mut self, at: SimTime) {
        self.draft.timer(at);
    }

    /// Counts a job that was looked at, so that a long pass can be interrupted.
    ///
    /// # Errors
    /// If the host wants to stop.
    pub fn examine(&mut self) -> Result<()> {
        self.examined += 1;
        if self.examined.is_multiple_of(LOOK_EVERY) && (self.view.interrupted)() {
            return Err(Error::Interrupted);
        }
        Ok(())
    }

    /// Ends the pass: places the starts that are not placed yet, and notes which of all overtake `front`, the first that
    /// stays queued. Returns the units that no running job and no start has taken.
    ///
    /// # Errors
    /// If the placement fails or the host interrupts.
    pub fn finish(mut self, front: Option<&Waiting>) -> Result<i64> {
        let (ask, jobs, counts) = (self.ask, &self.together.jobs, self.power.is_some());
        if let Some(joint) = self.placement.jointly().filter(|_| !jobs.is_empty()) {
            let watts = |job, nodes: &[u32]| {
                if counts { beyond_idle(ask.view, job, ask.estimate(job), nodes) } else { Watts::ZERO }
            };
            self.draft.place(jobs, |free, nodes| joint.match_all(&ask, jobs, free, nodes), watts)?;
        }
        if self.turns.finish(front) {
            self.draft.note_overtaking(|job| self.turns.overtakes(job));
        }
        Ok(self.draft.free_units())
    }
}

/// What a plan asks.
impl Desk<'_> {
    /// Free units that no start of this pass has taken.
    #[must_use]
    pub fn free_units(&self) -> i64 {
        self.draft.free_units()
    }

    /// Room for any job that fits now: free units, and watts where the budget may bind.
    #[must_use]
    pub fn whole_room(&self) -> Room {
        Room::of(self.free_units()).within(self.left().map(|room| self.together.left(room)))
    }

    /// When the jobs started in this pass are planned to end, sorted.
    #[must_use]
    pub fn added(&self) -> &[Release] {
        self.draft.ends()
    }

    /// Whether the budget may bind.
    #[must_use]
    pub fn counts_watts(&self) -> bool {
        self.room.is_some()
    }

    /// Whether there is no more to know of a job than how many units it takes for how long.
    #[must_use]
    pub fn only_counts(&self) -> bool {
        self.view.platform.is_exclusive() && self.room.is_none() && !*self.is_choosy && !self.ask.analyzer.learns()
    }

    /// What is free now: units, and microwatts where the budget may bind. From then on [`Desk::added`] says what the starts
    /// so far give back.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    pub fn free(&mut self) -> Result<Claim> {
        let Some(room) = self.left() else { return Ok(Claim { units: self.free_units(), microwatts: 0 }) };
        let list = match self.host() {
            Some((together, mut host)) => together.matched(&mut host)?,
            None => Vec::new(),
        };
        for (job, watts) in &list {
            self.draft.note(*job, watts.microwatts_down());
        }
        let taken: Watts = list.iter().map(|(_, watts)| *watts).sum();
        Ok(Claim { units: self.free_units(), microwatts: (room - taken).microwatts_down() })
    }

    /// What a waiting job takes at least.
    #[must_use]
    pub fn least(&self, waiting: &Waiting) -> Claim {
        Claim { units: waiting.units, microwatts: if self.counts_watts() { waiting.watts } else { 0 } }
    }

    /// What a reservation holds for a waiting job: its units and, of the budget, what it takes on average, rounded up.
    ///
    /// Some nodes are good enough for a job that was not rejected: it never needs more than there is.
    pub fn mean(&mut self, waiting: &Waiting) -> Claim {
        let job = JobId(waiting.key.row);
        let estimate = self.ask.estimate(job);
        let microwatts = match &mut self.power {
            Some(power) if self.room.is_some() => {
                let mean = power.prices.of(self.view, job, estimate).mean.microwatts_up();
                mean.min(power.ceiling.beyond_idle().microwatts_down())
            }
            _ => 0,
        };
        Claim { units: waiting.units, microwatts }
    }

    /// What the job takes if the offer is accepted; microwatts rounded up.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    pub fn claim(&mut self, offer: &mut Offer) -> Result<Claim> {
        let watts = match &mut offer.terms {
            _ if self.room.is_none() => Watts::ZERO,
            Terms::Placed(watts) => *watts,
            Terms::Joining(joining) => match self.host() {
                Some((together, mut host)) => together.added(joining, &mut host)?,
                None => Watts::ZERO,
            },
        };
        Ok(Claim { units: offer.waiting.units, microwatts: watts.microwatts_up() })
    }
}

/// How offers are made.
impl Desk<'_> {
    /// What is left of the room beside the jobs that are placed.
    fn left(&self) -> Option<Watts> {
        self.room.map(|room| room - self.draft.granted())
    }

    /// The list of jobs to be placed together, and whom it asks.
    fn host(&mut self) -> Option<(&mut Together, Host<'_>)> {
        let joint = self.placement.jointly().filter(|_| self.is_joint)?;
        Some((self.together, Host { ask: self.ask, joint, free: self.draft.free() }))
    }

    /// Whether the job starts on an idle machine: nothing will end for which it could wait.
    fn nothing_runs(&self) -> bool {
        self.view.releases.is_empty() && self.added().is_empty()
    }

    /// Whether the list that is placed at the end stays within the room with one more job.
    fn terms_together(&mut self, waiting: &Waiting) -> Result<Option<Terms>> {
        let job = JobId(waiting.key.row);
        let estimate = self.ask.estimate(job);
        let (Some(room), Some(power)) = (self.left(), &mut self.power) else {
            return Ok(Some(Terms::Joining(Joining::new(job, Price::default()))));
        };
        let price = power.prices.of(self.view, job, estimate);
        let mut joining = Joining::new(job, price);
        if let Some((together, mut host)) = self.host()
            && together.fits(&mut joining, room, &mut host)?
        {
            return Ok(Some(Terms::Joining(joining)));
        }
        if !self.nothing_runs() || price.least > room {
            return Ok(None);
        }
        Ok(self.place(waiting, How::WhereItAddsLeast)?.0.map(Terms::Placed))
    }

    /// Places a job; where watts are counted, only if they are within the room.
    fn terms_alone(&mut self, waiting: &Waiting) -> Result<Option<Terms>> {
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
            self.refuse(job);
        }
        Ok(None)
    }

    /// Places a job, and takes that back if it takes more watts there than are left; with what the placement said.
    fn place(&mut self, waiting: &Waiting, how: How) -> Result<(Option<Watts>, Choice)> {
        let job = JobId(waiting.key.row);
        let (ask, left, mark) = (self.ask, self.left(), self.draft.mark());
        let (placement, counts) = (&mut *self.placement, self.power.is_some());
        let mut choice = Choice::Chosen;
        let placed = self.draft.put(waiting, |free, nodes| {
            let first = nodes.len();
            match how {
                How::WhereItGoes => choice = placement.choose(&ask, job, free, nodes)?,
                How::WhereItAddsLeast => take_cheapest(ask.view, job, ask.estimate(job), free, nodes),
            }
            let watts = |nodes| if counts { beyond_idle(ask.view, job, ask.estimate(job), nodes) } else { Watts::ZERO };
            Ok((choice != Choice::Refused).then(|| watts(&nodes[first..])))
        })?;
        *self.is_choosy |= choice == Choice::Refused;
        let within = placed.filter(|watts| left.is_none_or(|left| *watts <= left));
        if within.is_none() {
            self.draft.rollback(mark);
        }
        Ok((within, choice))
    }

    fn least_watts(&mut self, job: JobId) -> Watts {
        let estimate = self.ask.estimate(job);
        self.power.as_mut().map_or(Watts::ZERO, |power| power.prices.of(self.view, job, estimate).least)
    }

    /// Whether a smaller job alike was refused for its watts in this pass.
    fn is_refused(&self, job: JobId) -> bool {
        let count = self.view.jobs.node_count(job);
        !self.refused.is_empty() && self.refused.get(&self.likeness(job)).is_some_and(|&refused| count >= refused)
    }

    /// Notes a job that was refused although it was given the fewest watts there are. Only where these are the fewest beyond
    /// idle, too, does that speak for larger jobs, and for later ones.
    fn refuse(&mut self, job: JobId) {
        let idles_alike = self.power.as_ref().is_some_and(|power| power.ceiling.idles_alike());
        let key = self.likeness(job);
        if idles_alike && key.1 == Estimate::Predicted && !key.0.follows_own() {
            self.refused.insert(key, self.view.jobs.node_count(job));
        }
    }

    fn likeness(&self, job: JobId) -> (JobClass, Estimate, u32) {
        let need = self.view.jobs.need(job, self.view.platform);
        (JobClass::of(self.view, job), self.ask.estimate(job), need)
    }

    fn carry_out(&mut self, offer: Offer) -> Result<()> {
        let Offer { waiting, number, terms, .. } = offer;
        if number != self.offers {
            let what = format!("row {}: its offer was accepted after another one was made", waiting.key.row);
            return Err(SimulationError(what).into());
        }
        if let Terms::Joining(joining) = terms {
            self.draft.count(&waiting);
            self.together.push(joining);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::fit_list::QueueKey;
    use crate::policy::analyzer::tables::Tables;
    use crate::policy::budget::system_budget::SystemBudget;
    use crate::policy::placement::lowest_id::LowestId;
    use crate::policy::testing::World;
    use crate::units::SimDuration;

    fn waiting(row: u32) -> Waiting {
        let key = QueueKey { rank: 0, submit: SimTime::default(), row };
        Waiting { key, units: i64::from(1 + row % 3), length: SimDuration::from_micros(5), watts: 0 }
    }

    /// Four nodes under a budget that lets three of them work.
    fn with_desk(act: impl FnOnce(&mut Desk<'_>)) -> Vec<JobId> {
        let world = World::new(9, 4, 1, true);
        let (view, mut placement) = (world.view(), LowestId);
        let mut power = Power::new(&SystemBudget::Watts(1000.0), world.platform(), false).unwrap();
        let (mut memory, mut out) = (Memory::default(), Decisions::default());
        let ask = Ask { view: &view, analyzer: &Tables };
        let mut desk = Desk::new(ask, &mut placement, Some(&mut power), &mut memory, &mut out);
        act(&mut desk);
        desk.finish(None).unwrap();
        out.starts().map(|start| start.job).collect()
    }

    #[test]
    fn an_accepted_offer_starts_a_job_and_a_declined_one_leaves_everything_as_it_was() {
        let started = with_desk(|desk| {
            let offer = desk.offer(&waiting(1)).unwrap().expect("two nodes and 400 W");
            desk.decline(offer);
            assert_eq!((desk.free_units(), desk.added().len()), (4, 0));
            let mut offer = desk.offer(&waiting(4)).unwrap().expect("as much is left as before");
            assert_eq!(desk.claim(&mut offer).unwrap(), Claim { units: 2, microwatts: 400_000_000 });
            desk.accept(offer).unwrap();
            assert_eq!((desk.free_units(), desk.added().len()), (2, 1));
        });
        assert_eq!(started, [JobId(4)]);
    }

    #[test]
    fn what_does_not_fit_the_nodes_or_the_watts_gets_no_offer() {
        let started = with_desk(|desk| {
            let offer = desk.offer(&waiting(2)).unwrap().expect("three nodes and 600 W");
            desk.accept(offer).unwrap();
            assert!(desk.offer(&waiting(3)).unwrap().is_none(), "a node is free, but no watts are left");
            assert!(desk.offer(&waiting(1)).unwrap().is_none(), "two nodes are not free");
        });
        assert_eq!(started, [JobId(2)]);
    }

    #[test]
    fn only_the_last_offer_can_be_accepted() {
        with_desk(|desk| {
            let first = desk.offer(&waiting(0)).unwrap().expect("it fits");
            let second = desk.offer(&waiting(3)).unwrap().expect("it fits, too");
            assert!(desk.accept(first).is_err());
            desk.accept(second).unwrap();
        });
    }
}
