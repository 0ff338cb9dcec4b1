//! Succession of another policy. It knows about the machine what a policy would that has just been started on it: its
//! nodes, the runs on them, and the waiting jobs.

use std::sync::Arc;

use crate::cluster::capacity::Sight;
use crate::cluster::runs::RunId;
use crate::control::{Controller, Refusal};
use crate::error::{Result, SimulationError, config};
use crate::platform::cells::Cells;
use crate::platform::queues::Queues;
use crate::policy::Policy;
use crate::power::pvt::Predicted;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// Divisions of a machine by which a policy counts nodes.
#[derive(Clone, Debug, Default)]
pub struct Divisions {
    /// Cells, if nodes differ in what jobs ask for or in the queues that have them.
    pub cells: Option<Arc<Cells>>,
    /// The queues, if there are any.
    pub queues: Option<Arc<Queues>>,
    /// Part of the machine that the policy decides about at a time.
    pub sight: Sight,
}

impl Controller {
    /// Lifts the caps that the policy has set; returns the runs that had any.
    ///
    /// # Errors
    /// None are expected: running jobs can be capped.
    pub fn lift_caps(&mut self) -> Result<Vec<RunId>, SimulationError> {
        if self.stages.governs() { self.cluster.lift_caps() } else { Ok(Vec::new()) }
    }

    /// Puts the cluster under another policy with the predicted table `predicted` and other divisions of the machine. If idle nodes were not tracked so
    /// far, `idle_since` gives the instant since which a node idles. Returns the queued jobs that the new policy turns
    /// away too.
    ///
    /// # Errors
    /// If the policy cannot go on from here.
    pub fn succeeded_by(
        self,
        policy: Box<dyn Policy>,
        predicted: Arc<Predicted>,
        divisions: Divisions,
        idle_since: impl Fn(u32) -> SimTime,
    ) -> Result<(Self, Vec<(JobId, Refusal)>)> {
        let Self { mut cluster, .. } = self;
        let runs = cluster.runs().iter().map(|(id, run)| (id, run.job, cluster.planned_length(run)));
        let runs: Vec<_> = runs.collect();
        let standby = cluster.hand_over(predicted);
        divisions.queues.iter().for_each(|queues| cluster.split(queues, divisions.sight));
        let mut next = Self::new(cluster, policy);
        next.check_succession()?;
        match divisions.cells {
            Some(cells) => next.divide(cells)?,
            None => next.cluster.undivide(),
        }
        if let Some(queues) = divisions.queues {
            next.policy.line_up(&queues)?;
            next.cluster.regroup(queues);
        }
        next.cluster.stand_by(standby, idle_since);
        next.nodes_found();
        let refused = next.take_queue();
        if next.foretells {
            next.foretold.joined.splice(0..0, runs.iter().map(|&(_, job, _)| job));
            next.foretell(&|| false)?;
        }
        for (id, job, before) in runs {
            let nodes = next.cluster.runs().get(id).map_or(Vec::new(), |run| next.cluster.runs().nodes(run).to_vec());
            let view = next.cluster.view(Watts::ZERO, &|| false);
            let counted = next.policy.appraise(&view, job, &nodes);
            next.cluster.inherit(id, counted, before);
            next.policy.take_over(&next.cluster.view(Watts::ZERO, &|| false), id)?;
        }
        Ok((next, refused))
    }

    /// Gives the policy all waiting jobs, except for those that it turns away.
    fn take_queue(&mut self) -> Vec<(JobId, Refusal)> {
        let mut refused = Vec::new();
        for job in self.cluster.in_queue() {
            match self.refuses(job) {
                Some(refusal) => {
                    self.cluster.withdraw(job);
                    refused.push((job, refusal));
                }
                None => self.tell_of(job),
            }
        }
        refused
    }

    /// Checks that the policy can resume suspended jobs, and wake nodes that are off.
    fn check_succession(&self) -> Result<()> {
        let (suspended, asleep) = (self.cluster.suspended(), self.cluster.asleep());
        let preempts = self.cluster.view(Watts::ZERO, &|| false).queues.is_some_and(Queues::preempt);
        let resumes = preempts || self.stages.monitor.is_some();
        if suspended > 0 && !resumes {
            let (found, expected) = (
                format!("a policy without steps in `on_excess` while {} stand still", counted(suspended, "job")),
                "one that has them, as nothing else resumes these jobs; or an instant at which all run",
            );
            return Err(config("policy.power", found, expected));
        }
        if asleep > 0 && !self.sleeps {
            let (found, expected) = (
                format!("no part while {} off or shutting down", are(asleep)),
                "one that wakes them for jobs, such as timeout, whose `min_idle_s` may be long; or an instant at which all are on",
            );
            return Err(config("policy.sleep", found, expected));
        }
        Ok(())
    }
}

fn counted(count: i32, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

fn are(nodes: usize) -> String {
    if nodes == 1 { "1 node is".to_owned() } else { format!("{nodes} nodes are") }
}
