//! Ceiling of the machine's draw, now and as far ahead as is known, and whether it can bind.
//!
//! The policy's own ceiling holds wherever no budget from outside does (operations page, rule 9).
//! While no choice of jobs and nodes can exceed the ceiling, it need not be checked before each start. The draw of
//! running jobs is counted by the host: it stands in [`View::claimed`].

use crate::platform::scope::Scope;
use crate::policy::View;
use crate::policy::budget::outlook::Outlook;
use crate::power::budgets::{Foresight, Stretches};
use crate::units::{SimDuration, SimTime, Watts};
use crate::workload::JobId;

/// A ceiling of the system's predicted draw.
#[derive(Clone, Debug)]
pub struct Ceiling {
    draw: Watts,
    /// Draw of the idle machine.
    idle: Watts,
    foresight: Foresight,
    /// Budgets from outside that are known, as they were last asked for.
    known: Option<Known>,
    /// True if jobs may count with their nodes' TDP.
    counts_tdp: bool,
    /// Highest draw of its own that a queued job was known to have.
    highest_own_w: f64,
    /// Number of budgets from outside, and whether all nodes busy with the hungriest jobs stay under these and the
    /// policy's own.
    never_binds: Option<(usize, bool)>,
    /// Own draw, and the most that any job with no higher one may draw on a node.
    widest: Option<(f64, Watts)>,
    idles_alike: bool,
    /// True if nodes are switched off and on.
    sleeps: bool,
}

/// Budgets from outside that are known at some instant.
#[derive(Clone, Debug)]
struct Known {
    /// Number of rows, and of those known by then; while both are the same, so are the steps.
    rows: (usize, usize),
    steps: Vec<(SimTime, Watts)>,
}

impl Ceiling {
    /// A ceiling of `draw` for the machine, with budgets from outside known as far ahead as the foresight.
    #[must_use]
    pub fn new((draw, foresight): (Watts, Foresight), scope: Scope<'_>, counts_tdp: bool) -> Self {
        Self {
            draw,
            idle: scope.platform().idle(),
            foresight,
            known: None,
            counts_tdp,
            highest_own_w: 0.0,
            never_binds: None,
            widest: None,
            sleeps: false,
            idles_alike: scope.draws().map(|(_, node)| node.idle).is_sorted_by(|one, next| one == next),
        }
    }

    /// Notes that nodes are switched off and on from now on, which may draw more than they do idle.
    pub fn switch_nodes(&mut self) {
        self.sleeps = true;
    }

    /// The ceiling itself.
    #[must_use]
    pub fn draw(&self) -> Watts {
        self.draw
    }

    /// Watts that may be added to running jobs.
    #[must_use]
    pub fn room(&self, view: &View<'_>) -> Watts {
        self.beside(view, view.budgets.in_force(view.now, Some(self.draw)).unwrap_or(self.draw))
    }

    /// Watts that may be added to the idle machine under the highest budget to come, known or not.
    #[must_use]
    pub fn ever(&self, view: &View<'_>) -> Watts {
        view.budgets.highest_from(view.now, self.draw).as_ceiling() - self.idle
    }

    /// Span for which budgets from outside are known ahead.
    #[must_use]
    pub fn foresight(&self) -> SimDuration {
        match self.foresight {
            Foresight::For(span) => span,
            Foresight::All => SimDuration::FOREVER,
        }
    }

    /// Stretches in which watts beyond the idle machine are left: the longest before the last change of the budget, and
    /// the state after it.
    #[must_use]
    pub fn stretches(&self, view: &View<'_>, watts: Watts, enough: SimDuration) -> Stretches {
        let leaves = |budget: Watts| watts <= budget.as_ceiling() - self.idle;
        view.budgets.stretches(view.now, self.draw, enough, leaves)
    }

    /// Outlook of the policy on the watts left by running jobs.
    pub fn outlook(&mut self, view: &View<'_>) -> Outlook {
        let now = self.room(view);
        let until = self.foresight.until(view.now);
        if view.budgets.is_empty() || until == view.now {
            return Outlook::new(now, std::iter::empty());
        }
        let rows = (view.budgets.rows().len(), view.budgets.known_by(view.now));
        if self.known.as_ref().is_none_or(|known| known.rows != rows) {
            self.known = Some(Known { rows, steps: view.budgets.known_steps(view.now, self.draw) });
        }
        let steps = self.known.as_ref().map_or(&[][..], |known| &known.steps);
        let ahead = &steps[steps.partition_point(|step| step.0 <= view.now)..];
        let seen = ahead.iter().take_while(|step| step.0 <= until);
        Outlook::new(now, seen.map(|&(at, budget)| (at, self.beside(view, budget))))
    }

    /// Watts that a budget leaves after running jobs and the draw measured beyond
    /// theirs.
    fn beside(&self, view: &View<'_>, budget: Watts) -> Watts {
        budget.as_ceiling() - self.idle - view.claimed - view.surplus + view.saved
    }

    /// True if nodes idle alike: then the nodes with the fewest watts are those with the fewest beyond idle.
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

    /// True if some choice of queued jobs and nodes could exceed the ceiling.
    pub fn may_bind(&mut self, view: &View<'_>) -> bool {
        view.surplus + view.withheld > Watts::ZERO || view.predicted.has_caps() || !self.never_binds(view)
    }

    /// True if the job would fit if it drew, on each of its nodes, what the hungriest job draws on the hungriest node:
    /// a quick sufficient test.
    pub fn surely_holds(&mut self, view: &View<'_>, job: JobId) -> bool {
        if view.predicted.has_caps() {
            return false;
        }
        let own = view.known_draw(job).watts();
        let most = |node| view.predicted.highest_draw(own.max(self.highest_own_w), node);
        if !self.widest.is_some_and(|(of, _)| of >= own) {
            self.widest = Some((own, view.own_nodes().map(most).max().unwrap_or_default()));
        }
        self.widest.is_some_and(|(_, most)| most.times(view.jobs.node_count(job)) <= self.ever(view))
    }

    /// True if all nodes busy with the hungriest jobs stay under the lowest budget to come.
    fn never_binds(&mut self, view: &View<'_>) -> bool {
        let rows = view.budgets.rows().len();
        if let Some((of, never)) = self.never_binds
            && of == rows
        {
            return never;
        }
        let highest = view.own_nodes().map(|node| {
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
