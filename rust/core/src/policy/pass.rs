//! One scheduling pass of a composed policy: backfill says who starts, placement says where.
//!
//! Where jobs get whole nodes, backfill only counts, and placement gets the whole list of starts at the end, so that it
//! may match them jointly; under a budget that may bind the list is judged as a whole (`joint`). Where whether a job fits
//! depends on where the ones before it went, each is placed as it is started: where nodes are shared, where the placement
//! may refuse a job, where first runs go to random nodes, and under such a budget where the placement looks at one job at
//! a time.

use std::collections::BTreeMap;

use crate::algo::fit_list::{FitList, QueueKey, Room, Waiting};
use crate::algo::node_set::NodeSet;
use crate::algo::releases::{Claim, Release};
use crate::algo::sorted_blocks::Place;
use crate::error::{Error, Result};
use crate::platform::slots::Slots;
use crate::policy::budget::ledger::Ledger;
use crate::policy::first_runs::{Estimate, FirstRuns};
use crate::policy::joint::{Host, Joining, Joint};
use crate::policy::placement::Placement;
use crate::policy::profile::{Profile, profile};
use crate::policy::{Decisions, View};
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// Memory that a policy keeps from pass to pass, so that a pass allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Started, not placed yet.
    starting: Vec<JobId>,
    joint: Joint,
    added: Vec<Release>,
    /// Jobs started in policy order, by their places in it.
    in_order: Vec<QueueKey>,
    /// Rows of jobs of which it is known that they overtake one that stays queued.
    overtaking: Vec<u32>,
    /// Fewest nodes at which jobs of a profile, an estimate and a need of slots were refused for their watts, where fewer
    /// watts cannot be had.
    refused: BTreeMap<(Profile, Estimate, u32), u32>,
    /// Nodes that a placement may take from.
    free: NodeSet,
    /// Where nodes are shared: what the starts of this pass have left of them.
    shared: Option<Slots>,
}

/// How many jobs a pass looks at between two looks for an interrupt.
const LOOK_EVERY: u32 = 1024;

/// The parts of a policy that a pass asks.
pub struct Desk<'a> {
    /// Where jobs go.
    pub placement: &'a mut dyn Placement,
    /// What may be drawn, if there is a budget.
    pub ledger: Option<&'a mut Ledger>,
    /// Which applications have a profile, if that matters.
    pub first_runs: Option<&'a mut FirstRuns>,
}

/// When the jobs of a pass are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placing {
    /// All at the end: that they are enough nodes is all there is to know before.
    Together,
    /// All at the end, and what they draw together is within the room.
    Jointly,
    /// Each as it is started.
    OneByOne,
}

/// How a job's nodes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// By the placement, or at random for a first run.
    WhereItGoes,
    /// Where it adds the fewest watts.
    WhereItAddsLeast,
}

/// A job that was found to fit and is not started yet.
#[derive(Clone, Copy, Debug)]
enum Tried {
    /// It is placed; its watts beyond idle there.
    Placed(JobId, Watts),
    /// It would join the list that is placed at the end.
    Joining(Joining),
}

/// A pass under way.
pub struct Pass<'a> {
    /// What the policy may know.
    pub view: &'a View<'a>,
    /// Who waits, in policy order.
    pub queue: &'a mut FitList,
    desk: Desk<'a>,
    scratch: &'a mut Scratch,
    out: &'a mut Decisions,
    free_units: i64,
    placing: Placing,
    /// Watts that may still be added, but for what the joint list draws, where the budget may bind in this pass.
    room: Option<Watts>,
    tried: Option<Tried>,
    /// Whether a job that goes before all others stays queued.
    blocked: bool,
    examined: u32,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Units that no running job and no start has taken.
    pub free_units: i64,
    /// Whether the budget might have bound.
    pub binds: bool,
}

impl Tried {
    fn job(&self) -> JobId {
        match self {
            Self::Placed(job, _) => *job,
            Self::Joining(joining) => joining.job,
        }
    }
}

impl<'a> Pass<'a> {
    /// Begins a pass.
    pub fn new(
        view: &'a View<'a>,
        queue: &'a mut FitList,
        mut desk: Desk<'a>,
        scratch: &'a mut Scratch,
        out: &'a mut Decisions,
    ) -> Self {
        scratch.starting.clear();
        scratch.joint.clear();
        scratch.added.clear();
        scratch.in_order.clear();
        scratch.overtaking.clear();
        scratch.refused.clear();
        scratch.shared = (!view.platform.is_exclusive()).then(|| view.slots.clone());
        let room = desk.ledger.as_mut().and_then(|ledger| ledger.may_bind(view).then(|| ledger.room(view)));
        let refuses = desk.placement.may_refuse() || desk.placement.judges();
        let placing = if scratch.shared.is_some() || refuses || desk.first_runs.is_some() {
            Placing::OneByOne
        } else if room.is_none() {
            Placing::Together
        } else if desk.placement.is_joint() {
            Placing::Jointly
        } else {
            Placing::OneByOne
        };
        if placing != Placing::Together {
            scratch.free.copy_from(view.slots.holding(1));
        }
        let free_units = view.slots.free_units();
        Self { view, queue, desk, scratch, out, free_units, placing, room, tried: None, blocked: false, examined: 0 }
    }

    /// Free units that no start of this pass has taken.
    #[must_use]
    pub fn free_units(&self) -> i64 {
        self.free_units
    }

    /// Room for any job that fits now: free units, and watts where the budget may bind.
    #[must_use]
    pub fn whole_room(&self) -> Room {
        Room::of(self.free_units).within(self.room.map(|room| self.scratch.joint.left(room)))
    }

    /// When the jobs started in this pass are planned to end, sorted.
    #[must_use]
    pub fn added(&self) -> &[Release] {
        &self.scratch.added
    }

    /// Whether the budget may bind.
    #[must_use]
    pub fn counts_watts(&self) -> bool {
        self.room.is_some()
    }

    /// Whether there is no more to know of a job than how many units it takes for how long.
    #[must_use]
    pub fn only_counts(&self) -> bool {
        self.placing == Placing::Together
    }

    /// What is free now: units, and microwatts where the budget may bind. From then on [`Pass::added`] says what the starts
    /// so far give back.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    pub fn free(&mut self) -> Result<Claim> {
        let Some(room) = self.room else { return Ok(Claim { units: self.free_units, microwatts: 0 }) };
        let mut host = Host { view: self.view, placement: &mut *self.desk.placement, free: &self.scratch.free };
        let list = self.scratch.joint.matched(&mut host)?;
        for release in &mut self.scratch.added {
            if let Some((_, watts)) = list.iter().find(|(job, _)| job.0 == release.row) {
                release.claim.microwatts = watts.microwatts_down();
            }
        }
        let taken: Watts = list.iter().map(|(_, watts)| *watts).sum();
        Ok(Claim { units: self.free_units, microwatts: (room - taken).microwatts_down() })
    }

    /// Whether the releases of all running jobs say what they give back.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        self.desk.ledger.as_ref().is_none_or(|ledger| ledger.is_claimed())
    }

    /// What a running job gives back when it ends.
    #[must_use]
    pub fn given_back(&self, release: &Release) -> Claim {
        let own = |ledger: &&mut Ledger| ledger.given_back(release);
        let microwatts = self.desk.ledger.as_ref().map_or(0, own);
        Claim { microwatts, ..release.claim }
    }

    /// What a reservation holds for a waiting job: its units and, of the budget, what it takes on average, rounded up.
    ///
    /// Some nodes are good enough for a job that was not rejected: it never needs more than there is.
    pub fn mean_need(&mut self, waiting: &Waiting) -> Claim {
        let job = JobId(waiting.key.row);
        let (view, estimate) = (self.view, self.estimate(job));
        let microwatts = match &mut self.desk.ledger {
            Some(ledger) if self.room.is_some() => {
                let mean = ledger.price(view, job, estimate).mean.microwatts_up();
                mean.min(ledger.all().microwatts_down())
            }
            _ => 0,
        };
        Claim { units: waiting.units, microwatts }
    }

    /// What the job takes that [`Pass::fits`] has just accepted, on the nodes it would take; microwatts rounded up.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    pub fn tried_claim(&mut self, waiting: &Waiting) -> Result<Claim> {
        Ok(Claim { units: waiting.units, microwatts: self.tried_watts()?.microwatts_up() })
    }

    fn tried_watts(&mut self) -> Result<Watts> {
        match &mut self.tried {
            None => Ok(Watts::ZERO),
            Some(Tried::Placed(_, watts)) => Ok(*watts),
            Some(Tried::Joining(joining)) => {
                let placement = &mut *self.desk.placement;
                let mut host = Host { view: self.view, placement, free: &self.scratch.free };
                self.scratch.joint.added(joining, &mut host)
            }
        }
    }

    /// Whether a waiting job can start now, beside those of this pass.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    pub fn fits(&mut self, waiting: &Waiting) -> Result<bool> {
        if self.tried.is_some_and(|tried| tried.job().0 == waiting.key.row) {
            return Ok(true);
        }
        self.take_back();
        if waiting.units > self.free_units {
            return Ok(false);
        }
        if self.placing == Placing::Together {
            return Ok(true);
        }
        let job = JobId(waiting.key.row);
        let free = match &self.scratch.shared {
            Some(shared) => shared.holding(self.view.jobs.need(job, self.view.platform)),
            None => &self.scratch.free,
        };
        let enough = free.len() >= self.view.jobs.node_count(job);
        if !enough || (self.desk.placement.may_refuse() && !self.desk.placement.accepts(self.view, job, free)) {
            return Ok(false);
        }
        match (self.room, self.placing) {
            (None, _) => Ok(true),
            (Some(room), Placing::Jointly) => self.fits_jointly(job, room),
            (Some(room), Placing::OneByOne | Placing::Together) => self.fits_watts(job, room),
        }
    }

    /// Whether the free nodes suit a waiting job that fits on them.
    #[must_use]
    pub fn suits(&mut self, waiting: &Waiting) -> bool {
        if !self.desk.placement.judges() {
            return true;
        }
        self.take_back();
        let job = JobId(waiting.key.row);
        let free = match &self.scratch.shared {
            Some(shared) => shared.holding(self.view.jobs.need(job, self.view.platform)),
            None => &self.scratch.free,
        };
        self.desk.placement.suits(self.view, job, free)
    }

    /// Whether the list that is placed at the end stays within the room with one more job.
    fn fits_jointly(&mut self, job: JobId, room: Watts) -> Result<bool> {
        let Some(ledger) = &mut self.desk.ledger else { return Ok(true) };
        let price = ledger.price(self.view, job, Estimate::Predicted);
        let alone = ledger.is_idle() && self.scratch.added.is_empty();
        let mut host = Host { view: self.view, placement: &mut *self.desk.placement, free: &self.scratch.free };
        if let Some(joining) = self.scratch.joint.fits(job, price, room, &mut host)? {
            self.tried = Some(Tried::Joining(joining));
            return Ok(true);
        }
        Ok(alone && price.least <= room && self.try_out(job, Estimate::Predicted, Choice::WhereItAddsLeast, room)?)
    }

    /// Places a job to see what it would draw; leaves it placed if that is within the room.
    fn fits_watts(&mut self, job: JobId, room: Watts) -> Result<bool> {
        let (view, estimate) = (self.view, self.estimate(job));
        let (count, of) = (view.jobs.node_count(job), profile(view, job));
        let Some(ledger) = &mut self.desk.ledger else { return Ok(true) };
        // Only where a placement finds the fewest watts there are does a refusal speak for larger jobs, and for later ones.
        let finds_least = ledger.idles_alike() && self.desk.placement.finds_fewest_watts();
        let decisive = finds_least && estimate == Estimate::Predicted && !of.1;
        let key = (of, estimate, view.jobs.need(job, view.platform));
        if decisive && self.scratch.refused.get(&key).is_some_and(|&refused| count >= refused) {
            return Ok(false);
        }
        if ledger.price(view, job, estimate).least <= room {
            let nothing_runs = ledger.is_idle() && self.scratch.added.is_empty();
            if self.try_out(job, estimate, Choice::WhereItGoes, room)? {
                return Ok(true);
            }
            // Where nothing runs nothing will end: a job that fits somewhere must not wait for it.
            if nothing_runs && self.try_out(job, estimate, Choice::WhereItAddsLeast, room)? {
                return Ok(true);
            }
        }
        if decisive {
            self.scratch.refused.insert(key, count);
        }
        Ok(false)
    }

    /// Places a job without starting it; it stays placed if its watts beyond idle there are within the room.
    fn try_out(&mut self, job: JobId, estimate: Estimate, choice: Choice, room: Watts) -> Result<bool> {
        self.place_alone(job, choice)?;
        let watts = match self.out.last_start() {
            Some((_, nodes)) => Ledger::beyond_idle(self.view, job, estimate, nodes),
            None => Watts::ZERO,
        };
        self.tried = Some(Tried::Placed(job, watts));
        if watts > room {
            self.take_back();
        }
        Ok(watts <= room)
    }

    /// Forgets the job that was tried, and where it was placed.
    fn take_back(&mut self) {
        let Some(Tried::Placed(tried, _)) = self.tried.take() else { return };
        if let (Some(shared), Some((job, nodes))) = (&mut self.scratch.shared, self.out.last_start()) {
            debug_assert_eq!(job, tried);
            let need = self.view.jobs.need(job, self.view.platform);
            for &node in nodes {
                shared.give(node, need);
            }
        }
        self.out.take_back(&mut self.scratch.free);
    }

    /// What the job's draw is taken for.
    #[must_use]
    pub fn estimate(&self, job: JobId) -> Estimate {
        let of = |first_runs: &&mut FirstRuns| first_runs.estimate(self.view.jobs, job);
        self.desk.first_runs.as_ref().map_or(Estimate::Predicted, of)
    }

    /// Notes that a job that goes before all others stays queued: every job that starts after this overtakes it.
    pub fn block(&mut self) {
        self.blocked = true;
    }

    /// Starts the job at `place`, which must fit, in its turn of the policy's order; returns the next job's place.
    ///
    /// # Errors
    /// If the placement fails or the host interrupts.
    pub fn start(&mut self, place: Place) -> Result<Place> {
        let (waiting, next) = self.queue.remove_at(place);
        if self.blocked {
            self.scratch.overtaking.push(waiting.key.row);
        } else {
            self.scratch.in_order.push(waiting.key);
        }
        self.carry_out(&waiting)?;
        Ok(next)
    }

    /// Starts the job at `place`, which must fit, before all others: only those for which the pass was blocked go ahead of
    /// it.
    ///
    /// # Errors
    /// If the placement fails or the host interrupts.
    pub fn start_first(&mut self, place: Place) -> Result<()> {
        let (waiting, _) = self.queue.remove_at(place);
        if self.blocked {
            self.scratch.overtaking.push(waiting.key.row);
        }
        self.carry_out(&waiting)
    }

    fn carry_out(&mut self, waiting: &Waiting) -> Result<()> {
        let job = JobId(waiting.key.row);
        let tried = self.tried.filter(|tried| tried.job() == job);
        let microwatts = match tried {
            Some(Tried::Placed(_, watts)) => watts.microwatts_down(),
            // Known once the list is matched: `free` looks.
            Some(Tried::Joining(_)) | None => 0,
        };
        self.free_units -= waiting.units;
        let at = self.view.now.saturating_add(waiting.length);
        let release = Release { at, row: job.0, claim: Claim { units: waiting.units, microwatts } };
        let index = self.scratch.added.partition_point(|other| *other < release);
        self.scratch.added.insert(index, release);
        match tried {
            Some(Tried::Placed(_, watts)) => {
                self.tried = None;
                self.room = self.room.map(|room| room - watts);
                Ok(())
            }
            Some(Tried::Joining(joining)) => {
                self.tried = None;
                self.scratch.joint.push(joining);
                Ok(())
            }
            None if self.placing == Placing::OneByOne => self.place_alone(job, Choice::WhereItGoes),
            None => {
                self.scratch.starting.push(job);
                Ok(())
            }
        }
    }

    /// Asks for a pass at `at`, which is after now.
    pub fn timer(&mut self, at: SimTime) {
        self.out.timer(at);
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

    fn place_alone(&mut self, job: JobId, choice: Choice) -> Result<()> {
        let Some(shared) = &self.scratch.shared else {
            return self.choose_nodes(job, choice);
        };
        let need = self.view.jobs.need(job, self.view.platform);
        self.scratch.free.copy_from(shared.holding(need));
        self.choose_nodes(job, choice)?;
        if let (Some(shared), Some((_, nodes))) = (&mut self.scratch.shared, self.out.last_start()) {
            for &node in nodes {
                shared.take(node, need);
            }
        }
        Ok(())
    }

    fn choose_nodes(&mut self, job: JobId, choice: Choice) -> Result<()> {
        let estimate = self.estimate(job);
        if choice == Choice::WhereItAddsLeast {
            let (view, free) = (self.view, &mut self.scratch.free);
            self.out.start_with(job, |nodes| Ledger::take_cheapest(view, job, estimate, free, nodes));
            if let (Some(first_runs), Estimate::Tdp) = (&self.desk.first_runs, estimate) {
                self.out.profile_last(first_runs.profiling_ratio());
            }
            return Ok(());
        }
        match &mut self.desk.first_runs {
            Some(first_runs) if estimate == Estimate::Tdp => {
                first_runs.start(self.view.jobs, job, &mut self.scratch.free, self.out);
                Ok(())
            }
            _ => self.desk.placement.place(self.view, &[job], &mut self.scratch.free, self.out),
        }
    }

    /// Ends the pass: places the starts that are not placed yet, and notes which of all overtake a job that stays queued.
    ///
    /// # Errors
    /// If the placement fails or the host interrupts.
    pub fn finish(mut self) -> Result<Outcome> {
        self.take_back();
        let Scratch { starting, joint, free, .. } = &mut *self.scratch;
        if !starting.is_empty() {
            free.copy_from(self.view.slots.holding(1));
            self.desk.placement.place(self.view, starting, free, self.out)?;
        }
        if !joint.jobs.is_empty() {
            self.desk.placement.place(self.view, &joint.jobs, free, self.out)?;
        }
        self.note_overtaking();
        Ok(Outcome { free_units: self.free_units, binds: self.room.is_some() })
    }

    /// A job overtakes if one stays queued that comes before it in policy order.
    fn note_overtaking(&mut self) {
        let Scratch { in_order, overtaking, .. } = &mut *self.scratch;
        if let Some(front) = self.queue.get(Place::FRONT) {
            overtaking.extend(in_order.iter().filter(|&&key| key > front.key).map(|key| key.row));
        }
        if !overtaking.is_empty() {
            overtaking.sort_unstable();
            for start in self.out.starts_mut() {
                start.overtakes = overtaking.binary_search(&start.job.0).is_ok();
            }
        }
    }
}
