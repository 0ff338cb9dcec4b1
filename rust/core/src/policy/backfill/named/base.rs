//! Free nodes over time before any promise: the claims of running jobs, and their ends.
//!
//! It is kept from pass to pass: a pass compares the runs with those that it knows and changes the windows of those
//! that came, went or are to end at another instant. Nodes that sleep or are out of service return by rules of their own:
//! while there are any, the windows are made again in every pass.

use crate::algo::fit_list::Waiting;
use crate::algo::horizon::windows::{NodeReturn, What};
use crate::algo::horizon::{NodeNeed, Planes, Windows};
use crate::cluster::runs::{Run, RunId};
use crate::policy::View;
use crate::policy::backfill::named::future::in_service;
use crate::policy::backfill::named::needs::{fill_now, need_of};
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

/// Free nodes over time if all running jobs end as planned; those that should have ended by now end a tick later. A
/// node in maintenance is free once that is over, a failed node never.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    windows: Option<Windows>,
    /// Claims of the runs in the windows, by the runs' slots; of no use unless they are followed.
    held: Vec<Held>,
    state: State,
    /// Claims of the jobs that the last pass has started.
    started: Vec<Held>,
    /// True if nothing but these starts has happened since.
    is_as_planned: bool,
}

/// Extent to which the windows are right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// All, for this pass only.
    Made,
    /// All, and they can follow the runs.
    Followed,
    /// The first, which is all there is.
    #[default]
    Begun,
}

/// Claim of a run in the windows.
#[derive(Clone, Debug)]
struct Held {
    /// The run; none: nothing is held.
    run: Option<RunId>,
    job: JobId,
    until: SimTime,
    watts: Watts,
    nodes: Vec<u32>,
}

impl Held {
    const NOTHING: Self =
        Self { run: None, job: JobId(0), until: SimTime::NEVER, watts: Watts::ZERO, nodes: Vec::new() };

    /// Its need for the rest of its time.
    fn need<'a>(&self, view: &View<'a>) -> NodeNeed<'a> {
        NodeNeed { watts: Some(self.watts), ..need_of(view, self.job, self.nodes.len(), self.until - view.now) }
    }

    /// True if it is the claim of this run.
    fn is_of(&self, view: &View<'_>, run: &Run) -> bool {
        until(view, run) == self.until && watts(run) == self.watts && view.runs.nodes(run) == self.nodes
    }
}

/// True if only runs hold nodes.
fn can_follow(view: &View<'_>) -> bool {
    view.standby.is_none() && view.outages.are_none()
}

/// Instant at which a run gives its nodes back, in the worst case that the policy may cause: never for one that is
/// suspended.
fn until(view: &View<'_>, run: &Run) -> SimTime {
    if run.suspension.is_some() {
        return SimTime::NEVER;
    }
    run.latest_end(view.now).max(view.now.saturating_add(SimDuration::TICK))
}

/// Watts that a run holds: none while it is suspended.
fn watts(run: &Run) -> Watts {
    if run.suspension.is_some() { Watts::ZERO } else { run.watts }
}

impl Base {
    /// True if since the last pass nothing has happened but the starts that it made.
    pub(super) fn is_as_planned(&self) -> bool {
        self.is_as_planned
    }

    /// True if the windows follow the runs.
    pub(super) fn is_followed(&self) -> bool {
        self.state == State::Followed
    }

    /// Notes that a job starts in this pass and takes these nodes for its length.
    pub(super) fn start(&mut self, view: &View<'_>, waiting: &Waiting, nodes: &[u32]) {
        let (job, until) = (JobId(waiting.key.row), view.now.saturating_add(waiting.length));
        let mut nodes = nodes.to_vec();
        nodes.sort_unstable();
        self.started.push(Held { job, until, nodes, ..Held::NOTHING });
    }

    /// Begins a pass: brings the windows up to now, or makes the first of them.
    pub(super) fn begin(&mut self, view: &View<'_>) {
        self.is_as_planned = false;
        let windows = match self.windows.take() {
            Some(windows) if self.state == State::Followed && can_follow(view) => self.follow(windows, view),
            windows => {
                let mut windows = windows.unwrap_or_else(|| Windows::new(view.now, Planes::default()));
                windows.reset(view.now, |free| fill_now(view, free));
                self.state = State::Begun;
                self.started.clear();
                windows
            }
        };
        self.windows = Some(windows);
    }

    /// Capacity free now, in a pass that has begun.
    pub(super) fn first(&self) -> Option<&Planes> {
        self.windows.as_ref().map(Windows::first)
    }

    /// Capacity free from now on, in a pass that has begun.
    pub(super) fn windows(&mut self, view: &View<'_>) -> Option<&Windows> {
        let windows = self.windows.as_mut()?;
        if self.state == State::Begun {
            let ends = view.runs.iter().filter(|(_, run)| run.suspension.is_none()).map(|(_, run)| {
                let nodes = view.runs.nodes(run);
                let need =
                    NodeNeed { watts: Some(run.watts), ..need_of(view, run.job, nodes.len(), SimDuration::ZERO) };
                NodeReturn { at: until(view, run), nodes, what: What::Held(need) }
            });
            in_service(windows, view, ends.collect());
            self.state = if can_follow(view) { State::Followed } else { State::Made };
            self.held.iter_mut().for_each(|held| held.run = None);
            if self.state == State::Followed {
                view.runs.iter().for_each(|(id, run)| self.note(view, id, run));
            }
        }
        self.windows.as_ref()
    }

    /// Brings the windows up to now: first all that went gives its nodes back, then all that came takes its own.
    fn follow(&mut self, mut windows: Windows, view: &View<'_>) -> Windows {
        let now = view.now;
        windows.advance(now);
        let mut started = std::mem::take(&mut self.started);
        self.is_as_planned = true;
        for (slot, held) in (0..).zip(&mut self.held) {
            let Some(id) = held.run else { continue };
            let run = view.runs.get(id);
            if run.is_none_or(|run| !held.is_of(view, run)) {
                debug_assert_eq!(id.slot(), slot, "claims stand in the slots of their runs");
                windows.drop(now, &held.need(view), &held.nodes);
                held.run = None;
                self.is_as_planned = false;
            }
        }
        for (id, run) in view.runs.iter() {
            if self.held.get(id.slot() as usize).is_none_or(|held| held.run != Some(id)) {
                self.note(view, id, run);
                let held = &self.held[id.slot() as usize];
                windows.hold(now, &held.need(view), &held.nodes);
                let is_same =
                    |start: &Held| (start.job, start.until, &start.nodes) == (held.job, held.until, &held.nodes);
                let found = started.iter().position(is_same);
                self.is_as_planned &= found.is_some_and(|place| started.swap_remove(place).run.is_none());
            }
        }
        self.is_as_planned &= started.is_empty();
        started.clear();
        self.started = started;
        #[cfg(debug_assertions)]
        {
            let mut now = Planes::default();
            fill_now(view, &mut now);
            debug_assert!(*windows.first() == now, "what is free now is what no run holds");
        }
        windows
    }

    /// Notes the claim of a run.
    fn note(&mut self, view: &View<'_>, id: RunId, run: &Run) {
        let (slot, nodes) = (id.slot() as usize, view.runs.nodes(run));
        if slot >= self.held.len() {
            self.held.resize(slot + 1, Held::NOTHING);
        }
        let held = &mut self.held[slot];
        (held.run, held.job, held.until, held.watts) = (Some(id), run.job, until(view, run), watts(run));
        held.nodes.clear();
        held.nodes.extend_from_slice(nodes);
    }
}
