//! One scheduling pass of a composed policy: backfill says who starts, placement says where.
//!
//! Where jobs get whole nodes, backfill only counts, and placement gets the whole list of starts at the end, so that it
//! may match them jointly. Where whether a job fits depends on where the ones before it went, each is placed as it is
//! started: where nodes are shared, where the placement may refuse a job, where first runs go to random nodes, and where a
//! budget may bind, which is judged on the nodes a job would take.

use std::collections::BTreeMap;

use crate::algo::fit_list::{FitList, Room, Waiting};
use crate::algo::node_set::NodeSet;
use crate::algo::releases::Release;
use crate::algo::sorted_blocks::Place;
use crate::error::{Error, Result};
use crate::platform::slots::Slots;
use crate::policy::budget::ledger::Ledger;
use crate::policy::first_runs::{Estimate, FirstRuns};
use crate::policy::placement::{Placement, Starting};
use crate::policy::profile::{Profile, profile};
use crate::policy::{Decision, Decisions, View};
use crate::units::Watts;
use crate::workload::JobId;

/// Memory that a policy keeps from pass to pass, so that a pass allocates nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    starting: Vec<Starting>,
    added: Vec<Release>,
    /// Watts beyond idle of the jobs started in this pass, by row.
    added_watts: BTreeMap<u32, Watts>,
    /// Fewest nodes at which a profile was refused for its watts, where fewer watts cannot be had.
    refused: BTreeMap<(Profile, Estimate), u32>,
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

/// How a job's nodes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// By the placement, or by lot for a first run.
    WhereItGoes,
    /// Where it adds the fewest watts.
    WhereItAddsLeast,
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
    free_units: u32,
    /// Whether each job is placed as it is started.
    one_by_one: bool,
    /// Watts that may still be added, where the budget may bind in this pass.
    room: Option<Watts>,
    /// The job that was placed to see whether it fits, and its watts beyond idle; not started yet.
    tried: Option<(u32, Watts)>,
    blocked: bool,
    examined: u32,
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
        scratch.added.clear();
        scratch.added_watts.clear();
        scratch.refused.clear();
        scratch.shared = (!view.platform.is_exclusive()).then(|| view.slots.clone());
        let room = desk.ledger.as_mut().and_then(|ledger| ledger.may_bind(view).then(|| ledger.room(view)));
        let refuses = desk.placement.may_refuse() || desk.placement.judges();
        let one_by_one = scratch.shared.is_some() || refuses || desk.first_runs.is_some() || room.is_some();
        if one_by_one {
            scratch.free.copy_from(view.slots.holding(1));
        }
        let free_units = view.slots.free_units();
        Self { view, queue, desk, scratch, out, free_units, one_by_one, room, tried: None, blocked: false, examined: 0 }
    }

    /// Free units that no start of this pass has taken.
    #[must_use]
    pub fn free_units(&self) -> u32 {
        self.free_units
    }

    /// Room for whoever fits now: free units, and watts where the budget may bind.
    #[must_use]
    pub fn whole_room(&self) -> Room {
        Room::of(self.free_units).within(self.room)
    }

    /// When the jobs started in this pass are planned to end, sorted.
    #[must_use]
    pub fn added(&self) -> &[Release] {
        &self.scratch.added
    }

    /// Watts that no running job and no start of this pass has taken; none if the budget cannot bind.
    #[must_use]
    pub fn room(&self) -> Option<Watts> {
        self.room
    }

    /// Watts beyond idle that a job started in this pass, or running, gives back when it ends.
    #[must_use]
    pub fn watts_of(&self, row: u32) -> Watts {
        let running = || self.desk.ledger.as_ref().map_or(Watts::ZERO, |ledger| ledger.of(row));
        self.scratch.added_watts.get(&row).copied().unwrap_or_else(running)
    }

    /// Microwatts beyond idle that a reservation holds of the budget for a waiting job: what it takes on average, rounded up.
    ///
    /// Some nodes are good enough for a job that was not rejected: it never needs more than there is.
    pub fn mean_microwatts(&mut self, waiting: &Waiting) -> i64 {
        let job = JobId(waiting.key.row);
        let estimate = self.estimate(job);
        let view = self.view;
        self.desk.ledger.as_mut().map_or(0, |ledger| {
            let mean = ledger.mean_beyond_idle(view, job, estimate).microwatts_up();
            mean.min(ledger.all().microwatts_down())
        })
    }

    /// Watts beyond idle of the job that [`Pass::fits`] has just accepted, on the nodes it would take.
    #[must_use]
    pub fn tried_watts(&self) -> Watts {
        self.tried.map_or(Watts::ZERO, |(_, watts)| watts)
    }

    /// Whether a waiting job can start now, beside those of this pass.
    ///
    /// # Errors
    /// If a placement fails or the host interrupts.
    pub fn fits(&mut self, waiting: &Waiting) -> Result<bool> {
        if self.tried.is_some_and(|(row, _)| row == waiting.key.row) {
            return Ok(true);
        }
        self.take_back();
        if waiting.units > self.free_units {
            return Ok(false);
        }
        if !self.one_by_one {
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
        match self.room {
            Some(room) => self.fits_watts(job, room),
            None => Ok(true),
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

    /// Places a job to see what it would draw; leaves it placed if that is within the room.
    fn fits_watts(&mut self, job: JobId, room: Watts) -> Result<bool> {
        let (view, estimate) = (self.view, self.estimate(job));
        let (count, of) = (view.jobs.node_count(job), profile(view, job));
        // Only where a placement finds the fewest watts there are does a refusal speak for larger jobs, and for later ones.
        let alike = self.desk.ledger.as_ref().is_some_and(|ledger| ledger.idles_alike());
        let decisive = alike && self.desk.placement.finds_fewest_watts() && estimate == Estimate::Predicted && !of.1;
        if decisive && self.scratch.refused.get(&(of, estimate)).is_some_and(|&refused| count >= refused) {
            return Ok(false);
        }
        let Some(ledger) = &mut self.desk.ledger else { return Ok(true) };
        if of.1 || ledger.least_beyond_idle(view, job, estimate) <= room {
            let nothing_runs = ledger.is_idle() && self.scratch.added.is_empty();
            if self.try_out(job, estimate, Choice::WhereItGoes)? <= room {
                return Ok(true);
            }
            self.take_back();
            // Where nothing runs nothing will end: a job that fits somewhere must not wait for it.
            if nothing_runs && self.try_out(job, estimate, Choice::WhereItAddsLeast)? <= room {
                return Ok(true);
            }
            self.take_back();
        }
        if decisive {
            self.scratch.refused.insert((of, estimate), count);
        }
        Ok(false)
    }

    /// Places a job without starting it; returns its watts beyond idle there.
    fn try_out(&mut self, job: JobId, estimate: Estimate, choice: Choice) -> Result<Watts> {
        self.place_alone(Starting { job, overtakes: self.blocked }, choice)?;
        let watts = match self.out.last_start() {
            Some((_, nodes)) => Ledger::beyond_idle(self.view, job, estimate, nodes),
            None => Watts::ZERO,
        };
        self.tried = Some((job.0, watts));
        Ok(watts)
    }

    fn take_back(&mut self) {
        let Some((row, _)) = self.tried.take() else { return };
        if let (Some(shared), Some((job, nodes))) = (&mut self.scratch.shared, self.out.last_start()) {
            debug_assert_eq!(job.0, row);
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

    /// Notes that a job stays in the queue: whoever starts after this overtakes it.
    pub fn block(&mut self) {
        self.blocked = true;
    }

    /// Starts the job at `place`, which must fit; `place` is the next job's then.
    ///
    /// # Errors
    /// If the placement fails or the host interrupts.
    pub fn start(&mut self, place: Place) -> Result<()> {
        let waiting = self.queue.remove_at(place);
        let row = waiting.key.row;
        let starting = Starting { job: JobId(row), overtakes: self.blocked };
        self.free_units -= waiting.units;
        let at = self.view.now.saturating_add(waiting.length);
        let release = Release { at, row, units: waiting.units };
        let index = self.scratch.added.partition_point(|other| *other < release);
        self.scratch.added.insert(index, release);
        if let Some((tried, watts)) = self.tried
            && tried == row
        {
            self.tried = None;
            if self.blocked {
                self.out.overtake_last();
            }
            self.room = self.room.map(|room| room - watts);
            self.scratch.added_watts.insert(row, watts);
            return Ok(());
        }
        if self.one_by_one {
            return self.place_alone(starting, Choice::WhereItGoes);
        }
        self.scratch.starting.push(starting);
        Ok(())
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

    fn place_alone(&mut self, starting: Starting, choice: Choice) -> Result<()> {
        let Some(shared) = &self.scratch.shared else {
            return self.choose_nodes(starting, choice);
        };
        let need = self.view.jobs.need(starting.job, self.view.platform);
        self.scratch.free.copy_from(shared.holding(need));
        let before = self.out.list().len();
        self.choose_nodes(starting, choice)?;
        let Some(shared) = &mut self.scratch.shared else { return Ok(()) };
        for decision in &self.out.list()[before..] {
            if let Decision::Start(start) = decision {
                for &node in self.out.nodes_of(*start) {
                    shared.take(node, need);
                }
            }
        }
        Ok(())
    }

    fn choose_nodes(&mut self, starting: Starting, choice: Choice) -> Result<()> {
        let Starting { job, overtakes } = starting;
        let estimate = self.estimate(job);
        if choice == Choice::WhereItAddsLeast {
            let (view, free) = (self.view, &mut self.scratch.free);
            self.out.start_with(job, overtakes, |nodes| Ledger::take_cheapest(view, job, estimate, free, nodes));
            if let (Some(first_runs), Estimate::Tdp) = (&self.desk.first_runs, estimate) {
                self.out.profile_last(first_runs.profiling_ratio());
            }
            return Ok(());
        }
        match &mut self.desk.first_runs {
            Some(first_runs) if estimate == Estimate::Tdp => {
                first_runs.start(self.view.jobs, job, overtakes, &mut self.scratch.free, self.out);
                Ok(())
            }
            _ => self.desk.placement.place(self.view, &[starting], &mut self.scratch.free, self.out),
        }
    }

    /// Ends the pass: places whoever starts and is not placed yet.
    ///
    /// # Errors
    /// If the placement fails or the host interrupts.
    pub fn finish(mut self) -> Result<()> {
        self.take_back();
        if self.scratch.starting.is_empty() {
            return Ok(());
        }
        self.scratch.free.copy_from(self.view.slots.holding(1));
        self.desk.placement.place(self.view, &self.scratch.starting, &mut self.scratch.free, self.out)
    }
}
