//! Slurm's own scheduler: a main loop and a backfill loop, each with beats of its own, over named nodes.
//!
//! The rules are those of `docs/background/slurm.md`, cited by number. All decisions use whole seconds of absolute
//! time ([`clock`]). The *main loop* ([`main_run`]) walks the pending jobs from the front and starts what fits until a
//! job of a partition fails. The *backfill loop* ([`cycle`]) plans each job by a will-run test ([`running`]) beside the
//! reservations of a table ([`table`]), and starts those that are planned for now. Both run at beats ([`loops`]); a beat
//! whose outcome is known, as nothing has changed since the last one and no comparison with the present turns out
//! otherwise, is passed over ([`quiet`]).

mod ahead;
mod beats;
mod choose;
mod clock;
mod cycle;
mod events;
mod loops;
mod main_run;
mod nodes;
mod pending;
mod quiet;
mod running;
mod saving;
pub mod settings;
mod state;
mod table;

use std::sync::Arc;

use crate::algo::fit_list::{FitList, Waiting};
use crate::error::{Result, config};
use crate::platform::Platform;
use crate::policy::backfill::Backfill;
use crate::policy::backfill::slurm::settings::Settings;
use crate::policy::backfill::slurm::state::{Manner, State};
use crate::policy::desk::Desk;
use crate::policy::registry::refused::{Feature, refusal};
use crate::units::SimDuration;
use crate::workload::JobId;

/// Slurm's main loop and backfill loop.
#[derive(Clone, Debug)]
pub struct Slurm {
    settings: Arc<Settings>,
    /// True if the policy's placement chooses the nodes.
    lets_place: bool,
    /// Time after its limit at which a run is ended; none: never.
    grace: Option<SimDuration>,
    /// True if beats that change nothing are passed over.
    skips: bool,
    /// Wait after which jobs go first.
    first_after: Option<SimDuration>,
    /// Everything that changes; none before the first pass.
    state: Option<Box<State>>,
    /// Jobs that have joined the queue since the last pass.
    joined: Vec<Waiting>,
    /// Rows of jobs that have left the queue other than by a start.
    left: Vec<u32>,
    /// True if the policy's order has ranked the queue again.
    is_resorted: bool,
}

impl Slurm {
    /// A scheduler with these settings.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            lets_place: false,
            grace: None,
            skips: true,
            first_after: None,
            state: None,
            joined: Vec::new(),
            left: Vec::new(),
            is_resorted: false,
        }
    }

    /// Makes it look at every beat, whether anything has changed or not. The schedule is the same; for tests.
    #[must_use]
    pub fn looking_at_every_beat(self) -> Self {
        Self { skips: false, ..self }
    }
}

impl Backfill for Slurm {
    fn select(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<()> {
        let state = self.state.get_or_insert_with(|| {
            Box::new(State::new(
                &self.settings,
                desk.view,
                Manner {
                    lets_place: self.lets_place,
                    grace: self.grace,
                    first_after: self.first_after,
                    skips: self.skips,
                },
            ))
        });
        state.pass_beats(desk.view.now);
        state.follow(desk.view);
        if std::mem::take(&mut self.is_resorted) {
            state.take_keys(queue);
        }
        state.leave(&std::mem::take(&mut self.left), desk.view.now);
        for waiting in self.joined.drain(..) {
            state.join(desk.view, waiting);
        }
        state.work(desk, queue)?;
        state.set_timer(desk);
        Ok(())
    }

    fn check(&self, platform: &Platform) -> Result<()> {
        if !platform.is_exclusive() {
            return Err(refusal(Feature::SlurmLoops, Feature::SharedNodes, ""));
        }
        let lines: u64 = self.settings.lines.iter().map(|line| u64::from(line.count)).sum();
        if !self.settings.lines.is_empty() && lines != u64::from(platform.len()) {
            let expected = format!("lines of all {} nodes of the platform", platform.len());
            return Err(config("policy.backfill.node_lines", format!("lines of {lines} nodes"), expected));
        }
        Ok(())
    }

    fn note_queued(&mut self, waiting: &Waiting) {
        self.joined.push(*waiting);
    }

    fn note_left(&mut self, job: JobId) {
        self.left.push(job.0);
    }

    fn note_sorted(&mut self, _queue: &FitList) {
        self.is_resorted = true;
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn enforce_limits(&mut self, grace: SimDuration) -> bool {
        self.grace = Some(grace);
        true
    }

    fn let_place(&mut self) {
        self.lets_place = true;
    }

    fn serve_first(&mut self, after: SimDuration) -> bool {
        self.first_after = Some(after);
        true
    }

    fn by_cell(&self) -> Option<Box<dyn Backfill>> {
        Some(Box::new(self.clone()))
    }

    fn names_nodes(&self) -> bool {
        true
    }
}
