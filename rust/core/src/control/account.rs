//! Use of the machine by jobs, for parts of a policy that follow it: recorded as it happens, passed on when a pass
//! begins.

use std::collections::BTreeMap;

use crate::cluster::runs::Run;
use crate::cluster::{Cluster, Effect};
use crate::error::Result;
use crate::policy::usage::{Over, Use};
use crate::policy::{Decision, Policy, Stages};
use crate::power::known::KnownDraw;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// Record of use and of ended runs to be passed on.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// True if a part follows what is used.
    follows: bool,
    /// True if a part learns from runs that are over.
    learns: bool,
    /// Runs under way, by row.
    running: BTreeMap<u32, Tally>,
    uses: Vec<Use>,
    over: Vec<Over>,
}

/// Units that a run uses, the instant since which it does, and its use before: units × microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    units: i64,
    since: SimTime,
    used: f64,
}

impl Account {
    /// Account for the parts of a policy. Runs under way count as on the same nodes since their start.
    pub(super) fn of(Stages { follows, learns, .. }: Stages, cluster: &Cluster) -> Self {
        let mut account = Self { follows, learns, ..Self::default() };
        if account.is_kept() {
            let mut runs: Vec<_> = cluster.runs().iter().map(|(_, run)| run).collect();
            runs.sort_unstable_by_key(|run| (run.started, run.job));
            for run in runs {
                account.change(run.started, run.job, cluster.jobs().units(run.job, cluster.platform()));
            }
        }
        account
    }

    fn is_kept(&self) -> bool {
        self.follows || self.learns
    }

    /// Records a decision that was carried out.
    pub(super) fn note(&mut self, cluster: &Cluster, decision: &Decision, effect: &Effect) {
        if !self.is_kept() {
            return;
        }
        match effect {
            Effect::Started(id) | Effect::Resumed(id) | Effect::Resized(id, _) => {
                if let Some(run) = cluster.runs().get(*id) {
                    let units = cluster.jobs().units(run.job, cluster.platform());
                    self.change(cluster.now(), run.job, units);
                }
            }
            Effect::Suspended(id) => {
                if let Some(run) = cluster.runs().get(*id) {
                    self.change(cluster.now(), run.job, 0);
                }
            }
            Effect::Ended(_, run) => {
                self.end(cluster, run);
                if let Decision::Requeue(_) = decision {
                    self.requeue(run.job);
                }
            }
            Effect::Waking(..)
            | Effect::Sleeping(..)
            | Effect::Timer(_)
            | Effect::Rejected(..)
            | Effect::Sized(_)
            | Effect::Capped(_) => {}
        }
    }

    /// Sets the number of units that a job uses from now on.
    fn change(&mut self, now: SimTime, job: JobId, units: i64) {
        let tally = self.running.entry(job.0).or_default();
        if self.follows && units != tally.units {
            self.uses.push(Use { at: now, job, units: units - tally.units });
        }
        let before = if tally.units == 0 { 0 } else { (now - tally.since).micros() };
        tally.used += tally.units as f64 * before as f64;
        (tally.units, tally.since) = (units, now);
    }

    /// Records the end of a run.
    pub(super) fn end(&mut self, cluster: &Cluster, run: &Run) {
        if !self.is_kept() {
            return;
        }
        let (now, job) = (cluster.now(), run.job);
        self.change(now, job, 0);
        let used = self.running.remove(&job.0).map_or(0.0, |tally| tally.used);
        if self.learns {
            let (started, ran) = (run.started, run.ran(now));
            let drew = KnownDraw::measured(cluster.workload().power_w(job));
            self.over.push(Over { job, started, ended: now, ran, used, drew, requeued: false });
        }
    }

    /// Records that the job of a run that is over is requeued.
    pub(super) fn requeue(&mut self, job: JobId) {
        if let Some(over) = self.over.iter_mut().rfind(|over| over.job == job) {
            over.requeued = true;
        }
    }

    /// Passes the use on to the part that follows it.
    pub(super) fn tell_use(&mut self, policy: &mut dyn Policy) {
        if self.uses.is_empty() {
            return;
        }
        policy.follow(&self.uses);
        self.uses.clear();
    }

    /// Passes the ended runs on to the parts that learn from them.
    pub(super) fn teach(
        &mut self,
        policy: &mut dyn Policy,
        cluster: &Cluster,
        surplus: Watts,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<()> {
        if self.over.is_empty() {
            return Ok(());
        }
        let over = std::mem::take(&mut self.over);
        policy.learn(&cluster.view(surplus, interrupted), &over)
    }
}
