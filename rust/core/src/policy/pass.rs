//! One scheduling pass of a composed policy: backfill says who starts, placement says where.
//!
//! Where jobs get whole nodes, backfill only counts, and placement gets the whole list of starts at the end, so that it
//! may match them jointly. Where nodes are shared, or where the placement may refuse a job, whether a job fits depends on
//! where the ones before it went, so each is placed as it is started.

use crate::algo::fit_list::{FitList, Waiting};
use crate::algo::node_set::NodeSet;
use crate::algo::releases::Release;
use crate::algo::sorted_blocks::Place;
use crate::error::{Error, Result};
use crate::platform::slots::Slots;
use crate::policy::placement::{Placement, Starting};
use crate::policy::{Decision, Decisions, View};
use crate::workload::JobId;

/// Memory that a policy keeps from pass to pass, so that a pass allocates nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    starting: Vec<Starting>,
    added: Vec<Release>,
    /// Nodes that a placement may take from.
    free: NodeSet,
    /// Where nodes are shared: what the starts of this pass have left of them.
    shared: Option<Slots>,
}

/// How many jobs a pass looks at between two looks for an interrupt.
const LOOK_EVERY: u32 = 1024;

/// A pass under way.
pub struct Pass<'a> {
    /// What the policy may know.
    pub view: &'a View<'a>,
    /// Who waits, in policy order.
    pub queue: &'a mut FitList,
    placement: &'a mut dyn Placement,
    scratch: &'a mut Scratch,
    out: &'a mut Decisions,
    free_units: u32,
    /// Whether each job is placed as it is started.
    one_by_one: bool,
    blocked: bool,
    examined: u32,
}

impl<'a> Pass<'a> {
    /// Begins a pass.
    pub fn new(
        view: &'a View<'a>,
        queue: &'a mut FitList,
        placement: &'a mut dyn Placement,
        scratch: &'a mut Scratch,
        out: &'a mut Decisions,
    ) -> Self {
        scratch.starting.clear();
        scratch.added.clear();
        scratch.shared = (!view.platform.is_exclusive()).then(|| view.slots.clone());
        let one_by_one = scratch.shared.is_some() || placement.may_refuse();
        if one_by_one {
            scratch.free.copy_from(view.slots.holding(1));
        }
        let free_units = view.slots.free_units();
        Self { view, queue, placement, scratch, out, free_units, one_by_one, blocked: false, examined: 0 }
    }

    /// Free units that no start of this pass has taken.
    #[must_use]
    pub fn free_units(&self) -> u32 {
        self.free_units
    }

    /// When the jobs started in this pass are planned to end, sorted.
    #[must_use]
    pub fn added(&self) -> &[Release] {
        &self.scratch.added
    }

    /// Whether a waiting job can start now, beside those of this pass.
    #[must_use]
    pub fn fits(&mut self, waiting: &Waiting) -> bool {
        if waiting.units > self.free_units {
            return false;
        }
        if !self.one_by_one {
            return true;
        }
        let job = JobId(waiting.key.row);
        let free = match &self.scratch.shared {
            Some(shared) => shared.holding(self.view.jobs.need(job, self.view.platform)),
            None => &self.scratch.free,
        };
        let enough = free.len() >= self.view.jobs.node_count(job);
        enough && (!self.placement.may_refuse() || self.placement.accepts(self.view, job, free))
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
        let starting = Starting { job: JobId(waiting.key.row), overtakes: self.blocked };
        self.free_units -= waiting.units;
        let at = self.view.now.saturating_add(waiting.length);
        let release = Release { at, row: waiting.key.row, units: waiting.units };
        let index = self.scratch.added.partition_point(|other| *other < release);
        self.scratch.added.insert(index, release);
        if self.one_by_one {
            return self.place_alone(starting);
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

    fn place_alone(&mut self, starting: Starting) -> Result<()> {
        let Some(shared) = &mut self.scratch.shared else {
            return self.placement.place(self.view, &[starting], &mut self.scratch.free, self.out);
        };
        let need = self.view.jobs.need(starting.job, self.view.platform);
        self.scratch.free.copy_from(shared.holding(need));
        let before = self.out.list().len();
        self.placement.place(self.view, &[starting], &mut self.scratch.free, self.out)?;
        for decision in &self.out.list()[before..] {
            if let Decision::Start(start) = decision {
                for &node in self.out.nodes_of(*start) {
                    shared.take(node, need);
                }
            }
        }
        Ok(())
    }

    /// Ends the pass: places whoever starts and is not placed yet.
    ///
    /// # Errors
    /// If the placement fails or the host interrupts.
    pub fn finish(self) -> Result<()> {
        if self.scratch.starting.is_empty() {
            return Ok(());
        }
        self.scratch.free.copy_from(self.view.slots.holding(1));
        self.placement.place(self.view, &self.scratch.starting, &mut self.scratch.free, self.out)
    }
}
