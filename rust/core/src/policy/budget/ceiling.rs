//! What the machine may draw, and whether that can be less than what it would.
//!
//! While no choice of jobs and nodes can pass the ceiling it need not be asked before each start. What runs is counted
//! by the host: it stands in [`View::claimed`].

use crate::platform::Platform;
use crate::policy::View;
use crate::units::Watts;
use crate::workload::JobId;

/// A ceiling of the system's predicted draw.
#[derive(Clone, Debug)]
pub struct Ceiling {
    draw: Watts,
    /// What may be added to the idle machine, slack included.
    beyond_idle: Watts,
    /// Whether jobs may count with their nodes' TDP.
    counts_tdp: bool,
    /// The highest draw of its own that a queued job was known to have, and whether all nodes busy with the hungriest jobs
    /// stay under the ceiling.
    highest_own_w: f64,
    never_binds: Option<bool>,
    /// The most that any job with an own draw up to the first number may draw on a node.
    widest: Option<(f64, Watts)>,
    idles_alike: bool,
}

impl Ceiling {
    /// The machine is to draw no more than `draw`.
    #[must_use]
    pub fn new(draw: Watts, platform: &Platform, counts_tdp: bool) -> Self {
        Self {
            draw,
            beyond_idle: draw.as_ceiling() - platform.idle(),
            counts_tdp,
            highest_own_w: 0.0,
            never_binds: None,
            widest: None,
            idles_alike: platform.nodes().iter().all(|node| node.idle == platform.node(0).idle),
        }
    }

    /// The ceiling itself.
    #[must_use]
    pub fn draw(&self) -> Watts {
        self.draw
    }

    /// Watts that may be added to the idle machine.
    #[must_use]
    pub fn beyond_idle(&self) -> Watts {
        self.beyond_idle
    }

    /// Watts that may be added to what runs, the host's own budget respected.
    #[must_use]
    pub fn room(&self, view: &View<'_>) -> Watts {
        let host = view.budget.map(|budget| budget.as_ceiling() - view.platform.idle());
        host.map_or(self.beyond_idle, |host| host.min(self.beyond_idle)) - view.claimed
    }

    /// Whether the fewest watts are the fewest beyond idle: where nodes idle alike.
    #[must_use]
    pub fn idles_alike(&self) -> bool {
        self.idles_alike
    }

    /// Notes a job that joins the queue.
    pub fn joined(&mut self, view: &View<'_>, job: JobId) {
        let own = view.known_draw(job).watts();
        if own > self.highest_own_w {
            self.highest_own_w = own;
            self.never_binds = None;
        }
    }

    /// Whether some choice of queued jobs and nodes could pass the ceiling.
    pub fn may_bind(&mut self, view: &View<'_>) -> bool {
        view.budget.is_some() || !self.never_binds(view)
    }

    /// Whether the job would fit if it drew on each of its nodes what the hungriest job draws on the hungriest node: then
    /// it need not be looked at closely.
    pub fn surely_holds(&mut self, view: &View<'_>, job: JobId) -> bool {
        let own = view.known_draw(job).watts();
        let most = |node| view.predicted.highest_draw(own.max(self.highest_own_w), node);
        if !self.widest.is_some_and(|(of, _)| of >= own) {
            self.widest = Some((own, (0..view.platform.len()).map(most).max().unwrap_or_default()));
        }
        self.widest.is_some_and(|(_, most)| most.times(view.jobs.node_count(job)) <= self.beyond_idle)
    }

    fn never_binds(&mut self, view: &View<'_>) -> bool {
        let never = self.never_binds.unwrap_or_else(|| {
            let highest = (0..view.platform.len()).map(|node| {
                let tdp = if self.counts_tdp { view.platform.node(node).tdp } else { Watts::ZERO };
                let draw = view.predicted.highest_draw(self.highest_own_w, node).max(tdp);
                draw.max(view.platform.node(node).idle) - view.platform.node(node).idle
            });
            highest.sum::<Watts>() <= self.beyond_idle
        });
        self.never_binds = Some(never);
        never
    }
}
