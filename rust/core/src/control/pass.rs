//! Pass: the policy's decisions at an instant, carried out one after the other.

use std::ops::Range;

use crate::algo::span::Span;
use crate::cluster::{Cluster, Effect, Headroom};
use crate::control::account::Account;
use crate::control::{Controller, Course, Host};
use crate::error::Result;
use crate::policy::agent::{Agent, Told};
use crate::policy::sleep::Alarm;
use crate::policy::{Decision, Decisions, Notice, Policy, Stage};
use crate::units::{SimDuration, Watts};

impl Controller {
    /// Makes a pass: the policy decides, the decisions are carried out one after the other, and `host` follows each.
    /// The machine draws `draw`; `beat` is true at an instant at which an allocator with an interval looks. Returns
    /// true if the policy's agent is asked: the pass then goes on with its [answer](Controller::answer).
    ///
    /// # Errors
    /// If the policy fails, the host interrupts, or a decision cannot be carried out.
    pub fn decide(
        &mut self,
        draw: Watts,
        beat: bool,
        interrupted: &dyn Fn() -> bool,
        host: &mut Host<'_>,
    ) -> Result<bool> {
        self.pass = Course::default();
        self.account.tell_use(&mut *self.policy);
        self.account.teach(&mut *self.policy, &self.cluster, Watts::ZERO, interrupted)?;
        if self.has_no_jobs() {
            return Ok(false);
        }
        if self.stages.governs() {
            self.pass.surplus = self.surplus(draw)?;
            self.pass.is_allot_due = beat;
        }
        self.run(self.in_pass.before_starts(), interrupted, host)?;
        if self.stages.governs() {
            self.cluster.foresee();
        }
        self.expect();
        if self.asks
            && let Some(agent) = self.policy.agent()
        {
            agent.begin();
        }
        self.run(self.in_pass.from_starts(), interrupted, host)
    }

    /// True if no job waits for a pass, which would change nothing else.
    fn has_no_jobs(&self) -> bool {
        let Self { cluster, policy, in_pass, sleeps, asks, .. } = self;
        let is_empty = cluster.queued() == 0 && cluster.suspended() == 0;
        is_empty && in_pass.are_starts_only() && !sleeps && !asks && policy.idles_without_jobs()
    }

    /// Makes the stages of these numbers, one after the other; true if the policy's agent is asked in one, which the pass
    /// then goes on with.
    fn run(&mut self, numbers: Range<usize>, interrupted: &dyn Fn() -> bool, host: &mut Host<'_>) -> Result<bool> {
        for number in numbers {
            let Some(stage) = self.in_pass.get(number) else { break };
            match stage {
                Stage::Recover => self.recover(interrupted, host)?,
                Stage::Resize => self.resize(interrupted, host)?,
                Stage::Start => {
                    self.pass.is_allot_due |= self.start_jobs(interrupted, host)?;
                    if self.asks && self.policy.agent().is_some_and(|agent| agent.is_asked()) {
                        return Ok(true);
                    }
                }
                Stage::Allot if !self.is_allot_due() => {}
                Stage::Rest | Stage::Allot | Stage::Alert | Stage::Relieve => {
                    self.make(stage, self.pass.surplus, interrupted, host)?;
                }
            }
        }
        Ok(false)
    }

    /// Asks the policy for the decisions of a stage, and carries them out; true if there are any.
    fn make(
        &mut self,
        stage: Stage,
        surplus: Watts,
        interrupted: &dyn Fn() -> bool,
        host: &mut Host<'_>,
    ) -> Result<bool> {
        self.decisions.clear();
        self.policy.decide(stage, &self.cluster.view(surplus, interrupted), &mut self.decisions)?;
        self.carry_out(host)?;
        Ok(!self.decisions.is_empty())
    }

    /// True if the allocator looks at the end of this pass: it has no interval, or a multiple of it has come.
    fn is_allot_due(&self) -> bool {
        self.pass.is_allot_due || self.stages.allot == Some(SimDuration::ZERO)
    }

    /// Goes on with a pass in which the agent was asked; true if it is asked again.
    ///
    /// # Errors
    /// Same as for [`Controller::decide`].
    pub fn answer(&mut self, told: Told, interrupted: &dyn Fn() -> bool, host: &mut Host<'_>) -> Result<bool> {
        match (told, self.policy.agent()) {
            (Told::Start { row, rule }, Some(agent)) => {
                agent.start(row, rule);
                return self.run(self.in_pass.from_starts(), interrupted, host);
            }
            (Told::Cap(level), Some(agent)) => {
                agent.note_level(level);
                let is_asked = agent.is_asked();
                self.tell(Notice::Steered(level));
                self.pass.is_allot_due = true;
                if is_asked {
                    return Ok(true);
                }
            }
            _ => {}
        }
        self.run(self.in_pass.after_starts(), interrupted, host)
    }

    /// The policy's agent, if its decisions come from outside.
    pub fn agent(&mut self) -> Option<&mut Agent> {
        self.policy.agent()
    }

    /// Lets the policy decide until it is done; true if a job starts.
    fn start_jobs(&mut self, interrupted: &dyn Fn() -> bool, host: &mut Host<'_>) -> Result<bool> {
        if self.foretells {
            self.foretell(interrupted)?;
        }
        loop {
            self.decisions.clear();
            let Course { is_held, withheld, surplus, .. } = self.pass;
            let mut view = self.cluster.view(surplus, interrupted);
            (view.is_held, view.withheld) = (is_held, withheld);
            self.policy.decide(Stage::Start, &view, &mut self.decisions)?;
            if self.decisions.is_empty() {
                return Ok(false);
            }
            let starts = self.decisions.starts().next().is_some();
            // The policy decides about starts once the sizes are set.
            let sizes = self.decisions.list().iter().any(|decision| matches!(decision, Decision::Size(..)));
            self.carry_out(host)?;
            if starts || !sizes {
                return Ok(starts);
            }
        }
    }

    /// Asks the forecast for lengths and draws of the jobs that have joined the queue.
    pub(super) fn foretell(&mut self, interrupted: &dyn Fn() -> bool) -> Result<()> {
        if self.foretold.joined.is_empty() {
            return Ok(());
        }
        let Self { cluster, policy, foretold, pass, .. } = self;
        let Some(forecast) = policy.forecast() else { return Ok(()) };
        let (mut lengths, mut draws) = (Vec::with_capacity(foretold.joined.len()), Vec::new());
        let view = cluster.view(pass.surplus, interrupted);
        forecast.lengths(&view, &foretold.joined, &mut lengths)?;
        if forecast.tells_draws() {
            forecast.draws(&view, &foretold.joined, &mut draws)?;
        }
        for (&job, length) in foretold.joined.iter().zip(lengths) {
            cluster.believe(job, length);
        }
        for (job, belief) in foretold.joined.drain(..).zip(draws) {
            if let Some(belief) = belief {
                cluster.believe_draw(job, belief);
            }
        }
        Ok(())
    }

    /// Surplus: measured draw of the machine above the predicted one under the caps in force (operations page, rule
    /// 28).
    fn surplus(&mut self, draw: Watts) -> Result<Watts> {
        if self.stages.monitor.is_none() {
            return Ok(Watts::ZERO);
        }
        Ok((self.measured(draw)? - self.cluster.predicted_draw()).max(Watts::ZERO))
    }

    /// Measured draw when the machine draws `draw`.
    ///
    /// # Errors
    /// If the policy fails.
    pub fn measured(&mut self, draw: Watts) -> Result<Watts> {
        self.policy.read(&self.cluster.view(Watts::ZERO, &|| false), draw)
    }

    /// Gives back what an emergency took. Resumed runs get watts above their least only at the end of the pass.
    fn recover(&mut self, interrupted: &dyn Fn() -> bool, host: &mut Host<'_>) -> Result<()> {
        self.decisions.clear();
        let view = self.cluster.view(self.pass.surplus, interrupted);
        self.policy.decide(Stage::Recover, &view, &mut self.decisions)?;
        self.pass.is_held = self.decisions.holds();
        self.pass.withheld = self.asked_beyond_least();
        self.pass.is_allot_due |= self.decisions.list().iter().any(|decision| matches!(decision, Decision::Resume(_)));
        self.carry_out(host)
    }

    /// Watts above their least that runs resumed by the decisions asked for (operations page, rule 20).
    fn asked_beyond_least(&self) -> Watts {
        let beyond = |decision: &Decision| match *decision {
            Decision::Resume(id) => {
                let run = self.cluster.runs().get(id)?;
                Some((run.suspension?.asks - run.watts).max(Watts::ZERO))
            }
            _ => None,
        };
        self.decisions.list().iter().filter_map(beyond).sum()
    }

    /// Changes sizes of running jobs: first of all that give nodes up, then, one after the other, of those that get
    /// some. No size changes while recovery from an emergency is incomplete.
    fn resize(&mut self, interrupted: &dyn Fn() -> bool, host: &mut Host<'_>) -> Result<()> {
        while !self.pass.is_held && self.make(Stage::Resize, self.pass.surplus, interrupted, host)? {
            self.pass.is_allot_due = true;
        }
        Ok(())
    }

    /// Sets the nodes on standby that plans expect back, at the start of a pass; not where no job waits that could be
    /// planned, if only plans of the queue ask for them.
    fn expect(&mut self) {
        if !self.sleeps || self.cluster.queued() == 0 && !self.policy.expects_without_queue() {
            return;
        }
        for lane in self.cluster.scheduled() {
            let mut expected = self.cluster.begin_expecting(lane);
            let view = self.cluster.view(Watts::ZERO, &|| false);
            let view = lane.map_or(view, |lane| view.within(lane));
            let counts = self.policy.expect(&view, &mut expected);
            self.cluster.expect(lane, expected, counts);
        }
    }

    /// Instant of the next pass that is needed even if nothing happens until then. With `further`, one that is not sure
    /// is refined; nothing has been decided since the last pass.
    pub fn alarm(&mut self, further: bool) -> Option<Alarm> {
        if self.stages.rests { self.policy.alarm(further) } else { None }
    }

    /// Begins an emergency, as the machine draws more than the budget.
    ///
    /// # Errors
    /// If the policy fails.
    pub fn alert(&mut self) -> Result<()> {
        self.account.tell_use(&mut *self.policy);
        self.decisions.clear();
        self.policy.decide(Stage::Alert, &self.cluster.view(Watts::ZERO, &|| false), &mut self.decisions)
    }

    /// Takes the next step of an emergency; false if none is left.
    ///
    /// # Errors
    /// If the policy fails, or the step cannot be carried out.
    pub fn relieve(&mut self, host: &mut Host<'_>) -> Result<bool> {
        self.account.tell_use(&mut *self.policy);
        self.make(Stage::Relieve, Watts::ZERO, &|| false, host)
    }

    pub(super) fn carry_out(&mut self, host: &mut Host<'_>) -> Result<()> {
        if self.decisions.is_empty() {
            return Ok(());
        }
        self.carry_out_counting(self.counts_watts, host)
    }

    /// Carries out the decisions. `counts`: watts are granted to them.
    pub(super) fn carry_out_counting(&mut self, counts: bool, host: &mut Host<'_>) -> Result<()> {
        let ceiling = self.ceiling();
        let Self { cluster, policy, decisions, account, .. } = self;
        let headroom = cluster.headroom(ceiling, counts);
        let mut hand = Hand { cluster, policy: &mut **policy, decisions, account, headroom, host };
        for decision in decisions.list() {
            match *decision {
                Decision::Wake(nodes) => hand.switch(nodes, Decision::Wake)?,
                Decision::Sleep(nodes) => hand.switch(nodes, Decision::Sleep)?,
                _ => hand.carry_out(decision)?,
            }
        }
        Ok(())
    }
}

/// Carries out the decisions of a pass.
struct Hand<'a, 'h> {
    cluster: &'a mut Cluster,
    policy: &'a mut dyn Policy,
    decisions: &'a Decisions,
    account: &'a mut Account,
    headroom: Headroom,
    host: &'a mut Host<'h>,
}

impl Hand<'_, '_> {
    fn carry_out(&mut self, decision: &Decision) -> Result<()> {
        let Self { cluster, policy, decisions, account, headroom, host } = self;
        let done = cluster.carry_out(decision, decisions, headroom).and_then(|effect| {
            account.note(cluster, decision, &effect);
            if let Effect::Ended(_, run) = &effect {
                policy.notice(cluster.jobs(), Notice::Ended(run.job));
                if let Decision::Requeue(_) = decision {
                    policy.notice(cluster.jobs(), Notice::Requeued(run.job));
                }
            }
            host(cluster, decision, effect)
        });
        Ok(done.map_err(|what| self.cluster.refusal(self.policy.name(), decision, &what))?)
    }

    /// Switches nodes on or off, those that are alike together.
    fn switch(&mut self, nodes: Span, how: impl Fn(Span) -> Decision) -> Result<()> {
        let mut rest = Some(nodes);
        while let Some(nodes) = rest {
            let (alike, others) = self.cluster.alike(nodes);
            self.carry_out(&how(alike))?;
            rest = others;
        }
        Ok(())
    }
}
