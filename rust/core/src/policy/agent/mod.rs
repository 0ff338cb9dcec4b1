//! Decisions from outside: the choices that there are in a pass, and the job that was chosen.
//!
//! An agent takes the place of a backfill. A pass shows it the first jobs of the queue, each with what it takes to
//! start it, and is over once nothing can be chosen or nothing more is wanted.

pub mod choices;
mod pass;
mod seen;

use std::ops::Range;

use crate::algo::fit_list::{FitList, QueueKey, Waiting};
use crate::error::{Error, Result, SimulationError};
use crate::platform::scope::Scope;
use crate::policy::budget::prices::Prices;
use crate::policy::desk::Desk;
use crate::units::Watts;
use crate::workload::JobId;

pub use seen::{HORIZONS_S, MACHINE, ROW, Seen};

/// Decision made outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Start the job in this row of the queue, on nodes by this rule.
    Start {
        /// Row of the queue, from 0.
        row: usize,
        /// Rule of placement, from 0.
        rule: usize,
    },
    /// Highest cap of any run from the end of this pass on, as a level: 0 is no cap, then the caps from the highest.
    Cap(usize),
    /// Nothing more in this pass.
    Nothing,
}

/// Dimensions of the action space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Jobs at the front of the queue that can be chosen.
    pub rows: usize,
    /// Rules by which nodes are chosen.
    pub rules: usize,
    /// Levels of the cap, including no cap; 0: the agent does not set caps.
    pub levels: usize,
}

/// A backfill that starts the jobs chosen from outside.
#[derive(Clone)]
pub struct Agent {
    shape: Shape,
    /// Row and rule of the start to make when jobs are selected next.
    told: Option<(usize, usize)>,
    /// Jobs that were shown.
    shown: Vec<Waiting>,
    seen: Seen,
    prices: Option<Prices>,
    /// True if anything can be chosen.
    is_asked: bool,
    /// Level of the cap.
    level: usize,
    has_set_level: bool,
    /// True if choosing nothing would mean waiting for ever.
    must_act: bool,
    /// Jobs started in the pass under way.
    started: Vec<QueueKey>,
    /// First job that stays queued.
    front: Option<QueueKey>,
}

impl Shape {
    /// Number of actions: one for each job and rule, then one for each level of the cap, then nothing.
    #[must_use]
    pub fn actions(self) -> usize {
        self.rows * self.rules + self.levels + 1
    }

    /// Decodes the action of this number.
    #[must_use]
    pub fn told(self, action: usize) -> Told {
        let starts = self.rows * self.rules;
        if action < starts {
            Told::Start { row: action / self.rules, rule: action % self.rules }
        } else if action < starts + self.levels {
            Told::Cap(action - starts)
        } else {
            Told::Nothing
        }
    }

    fn starts_of(self, row: usize) -> Range<usize> {
        row * self.rules..(row + 1) * self.rules
    }
}

impl Agent {
    /// An agent with an action space of this shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            told: None,
            shown: Vec::with_capacity(shape.rows),
            seen: Seen::new(shape),
            prices: None,
            is_asked: false,
            level: 0,
            has_set_level: false,
            must_act: false,
            started: Vec::new(),
            front: None,
        }
    }

    /// Dimensions of its action space.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Latest observation.
    #[must_use]
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// True if anything can be chosen now.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// True if the action of this number can be chosen now.
    #[must_use]
    pub fn allows(&self, action: usize) -> bool {
        self.is_asked && self.seen.mask.get(action) == Some(&1)
    }

    /// Continues the pass with this start.
    pub fn start(&mut self, row: usize, rule: usize) {
        self.told = Some((row, rule));
        self.is_asked = false;
    }

    /// Notes that the level of the cap was set, which is done at most once a pass.
    pub fn note_level(&mut self, level: usize) {
        (self.level, self.has_set_level) = (level, true);
        self.show_choice();
    }

    /// Takes the measured draw and the ceiling, to be shown as shares of `full`, the highest draw of the machine.
    /// `must_act`: choosing nothing would mean waiting for ever.
    pub fn note_outside(&mut self, draw: Watts, ceiling: Option<Watts>, full: Watts, must_act: bool) {
        self.seen.show_power(draw, ceiling, full);
        self.must_act = must_act;
        self.show_choice();
    }

    /// The first job of the queue, if any waits.
    #[must_use]
    pub fn front(&self) -> Option<JobId> {
        self.front.map(|key| JobId(key.row))
    }

    /// Sets the first job of the queue.
    pub(super) fn behind(&mut self, front: Option<QueueKey>) -> &mut Self {
        self.front = front;
        self
    }

    /// Ends the pass: returns each job that was started in it, and whether it overtook one that stays queued.
    pub fn end_pass(&mut self) -> impl Iterator<Item = (JobId, bool)> + '_ {
        (self.is_asked, self.has_set_level) = (false, false);
        let front = self.front;
        self.started.drain(..).map(move |key| (JobId(key.row), front.is_some_and(|front| key > front)))
    }

    /// Begins a pass: nothing can be chosen until it has shown the queue.
    pub fn begin(&mut self) {
        self.is_asked = false;
    }

    /// Starts the chosen job.
    fn carry_out(&mut self, desk: &mut Desk<'_>, queue: &mut FitList, row: usize, rule: usize) -> Result<()> {
        let Some(waiting) = self.shown.get(row).copied() else { return Err(gone(row)) };
        desk.follow(rule);
        let offer = desk.offer(&waiting)?.ok_or_else(|| gone(row))?;
        queue.remove(waiting.key);
        self.started.push(waiting.key);
        desk.accept(offer)?;
        desk.hold_back(queue, waiting.key, true);
        Ok(())
    }

    /// Observes the queue, the starts that are possible, and the machine.
    fn look(&mut self, desk: &mut Desk<'_>, queue: &FitList) -> Result<()> {
        self.seen.clear();
        self.shown.clear();
        self.shown.extend(queue.iter().take(self.shape.rows));
        for row in 0..self.shown.len() {
            desk.examine()?;
            self.try_out(desk, row)?;
        }
        let prices = self.prices.get_or_insert_with(|| Prices::new(Scope::all(desk.view.platform)));
        self.seen.show_jobs(desk, prices, &self.shown, self.shape);
        self.seen.show_machine(desk, queue.len());
        Ok(())
    }

    /// Tries out by which rules a job can start now, and notes these in the mask.
    fn try_out(&mut self, desk: &mut Desk<'_>, row: usize) -> Result<()> {
        if self.shown[row].units > desk.free_units() {
            return Ok(());
        }
        for (rule, action) in self.shape.starts_of(row).enumerate() {
            desk.follow(rule);
            if let Some(offer) = desk.offer(&self.shown[row])? {
                desk.decline(offer);
                self.seen.mask[action] = 1;
            }
        }
        Ok(())
    }

    /// Notes in the mask which levels of the cap can be chosen, and whether nothing can.
    fn show_choice(&mut self) {
        let Shape { rows, rules, levels } = self.shape;
        let (starts, rest) = self.seen.mask.split_at_mut(rows * rules);
        let can_start = starts.contains(&1);
        let can_set = levels > 0 && !self.has_set_level;
        for (level, allowed) in rest[..levels].iter_mut().enumerate() {
            *allowed = u8::from(can_set && level != self.level);
        }
        rest[levels] = u8::from(!(self.must_act && can_start));
        self.is_asked = can_start || can_set;
        self.seen.show_level(self.level, levels);
    }
}

fn gone(row: usize) -> Error {
    SimulationError(format!("row {row} of the queue does not fit any more")).into()
}
