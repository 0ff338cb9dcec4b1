//! What the machine may draw, now and as far ahead as is known, and whether that can be less than what it would.
//!
//! The policy's own ceiling holds wherever no budget from outside does (operations page, rule 9).
//! While no choice of jobs and nodes can pass the ceiling it need not be asked before each start. What runs is counted
//! by the host: it stands in [`View::claimed`].

use crate::platform::Platform;
use crate::policy::View;
use crate::policy::budget::outlook::Outlook;
use crate::power::budgets::{Foresight, Steps, Stretches};
use crate::units::{SimDuration, Watts};
use crate::workload::JobId;

/// A ceiling of the system's predicted draw.
#[derive(Clone, Debug)]
pub struct Ceiling {
    draw: Watts,
    /// What the idle machine draws.
    idle: Watts,
    foresight: Foresight,
    /// The rows of budgets that are known, by how many there are and how many of these are, and what they say.
    known: Option<(usize, usize, Steps)>,
    /// Whether jobs may count with their nodes' TDP.
    counts_tdp: bool,
    /// The highest draw of its own that a queued job was known to have, and whether all nodes busy with the hungriest jobs
    /// stay under all of so many budgets from outside and the own one.
    highest_own_w: f64,
    never_binds: Option<(usize, bool)>,
    /// The most that any job with an own draw up to the first number may draw on a node.
    widest: Option<(f64, Watts)>,
    idles_alike: bool,
    /// True if nodes are switched off and on.
    sleeps: bool,
}

impl Ceiling {
    /// The machine is to draw no more than `draw`, and budgets from outside are known so far ahead; all of it draws `idle`
    /// while it idles.
    #[must_use]
    pub fn new((draw, foresight): (Watts, Foresight), idle: Watts, platform: &Platform, counts_tdp: bool) -> Self {
        Self {
            draw,
            idle,
            foresight,
            known: None,
            counts_tdp,
            highest_own_w: 0.0,
            never_binds: None,
            widest: None,
            sleeps: false,
            idles_alike: platform.nodes().iter().all(|node| node.idle == platform.node(0).idle),
        }
    }

    /// From now on nodes are switched off and on, which may draw more than they do idle.
    pub fn switch_nodes(&mut self) {
        self.sleeps = true;
    }

    /// The ceiling itself.
    #[must_use]
    pub fn draw(&self) -> Watts {
        self.draw
    }

    /// Watts that may be added to what runs.
    #[must_use]
    pub fn room(&self, view: &View<'_>) -> Watts {
        self.beside(view, view.budgets.at(view.now))
    }

    /// Watts that may be added to the idle machine at the best of all times to come, known or not.
    #[must_use]
    pub fn ever(&self, view: &View<'_>) -> Watts {
        view.budgets.highest_from(view.now, self.draw).as_ceiling() - self.idle
    }

    /// Time for which budgets from outside are known ahead.
    #[must_use]
    pub fn foresight(&self) -> SimDuration {
        match self.foresight {
            Foresight::For(span) => span,
            Foresight::All => SimDuration::FOREVER,
        }
    }

    /// For how long watts beyond the idle machine are left, before the budget changes for the last time and after.
    #[must_use]
    pub fn stretches(&self, view: &View<'_>, watts: Watts, enough: SimDuration) -> Stretches {
        let leaves = |budget: Watts| watts <= budget.as_ceiling() - self.idle;
        view.budgets.stretches(view.now, self.draw, enough, leaves)
    }

    /// What the policy believes of the watts beside what runs.
    pub fn outlook(&mut self, view: &View<'_>) -> Outlook {
        let now = self.room(view);
        let until = self.foresight.until(view.now);
        if view.budgets.is_empty() || until == view.now {
            return Outlook::new(now, std::iter::empty());
        }
        let known = (view.budgets.rows().len(), view.budgets.known_by(view.now));
        if self.known.as_ref().is_none_or(|(rows, by, _)| (*rows, *by) != known) {
            self.known = Some((known.0, known.1, view.budgets.steps_known_by(view.now)));
        }
        let steps = self.known.as_ref().map_or(&[][..], |known| &known.2);
        let ahead = &steps[steps.partition_point(|step| step.0 <= view.now)..];
        let seen = ahead.iter().take_while(|step| step.0 <= until);
        Outlook::new(now, seen.map(|&(at, budget)| (at, self.beside(view, budget))))
    }

    /// What a budget from outside, or the policy's own, leaves beside what runs and what was measured beyond it.
    fn beside(&self, view: &View<'_>, budget: Option<Watts>) -> Watts {
        budget.unwrap_or(self.draw).as_ceiling() - self.idle - view.claimed - view.surplus + view.saved
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
        view.surplus + view.withheld > Watts::ZERO || view.predicted.has_caps() || !self.never_binds(view)
    }

    /// Whether the job would fit if it drew on each of its nodes what the hungriest job draws on the hungriest node: then
    /// it need not be looked at closely.
    pub fn surely_holds(&mut self, view: &View<'_>, job: JobId) -> bool {
        if view.predicted.has_caps() {
            return false;
        }
        let own = view.known_draw(job).watts();
        let most = |node| view.predicted.highest_draw(own.max(self.highest_own_w), node);
        if !self.widest.is_some_and(|(of, _)| of >= own) {
            self.widest = Some((own, (0..view.platform.len()).map(most).max().unwrap_or_default()));
        }
        self.widest.is_some_and(|(_, most)| most.times(view.jobs.node_count(job)) <= self.ever(view))
    }

    /// Whether all nodes busy with the hungriest jobs stay under the lowest budget there will be.
    fn never_binds(&mut self, view: &View<'_>) -> bool {
        let rows = view.budgets.rows().len();
        if let Some((of, never)) = self.never_binds
            && of == rows
        {
            return never;
        }
        let highest = (0..view.platform.len()).map(|node| {
            let tdp = if self.counts_tdp { view.platform.node(node).tdp } else { Watts::ZERO };
            let own = view.platform.node(node);
            let draw = view.predicted.highest_draw(self.highest_own_w, node).max(tdp);
            let beyond = |draw: Watts| draw.max(own.idle) - own.idle;
            let switched = if self.sleeps { [own.boot, own.shutdown, own.off].map(beyond) } else { [Watts::ZERO; 3] };
            beyond(draw) + switched.into_iter().sum()
        });
        let never = highest.sum::<Watts>() <= view.budgets.lowest(self.draw).as_ceiling() - self.idle;
        self.never_binds = Some((rows, never));
        never
    }
}
