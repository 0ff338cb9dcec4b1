//! Snapshots: the state of a machine and its jobs, from which a controller can begin again.

use crate::cluster::{Cluster, Phase};
use crate::control::live::Live;
use crate::control::live::impossible::check_nodes;
use crate::control::live::standing::Standing;
use crate::control::memory::turn_of;
use crate::control::orders::{HostOrder, Which};
use crate::error::Result;
use crate::platform::node_state::NodeState;
use crate::platform::outages::Outage;
use crate::policy::recollection::Recollection;
use crate::power::budgets::BudgetRow;
use crate::units::SimTime;
use crate::workload::JobId;

/// State of a machine and its jobs; jobs that are in none of the lists have not been submitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Jobs in the queue, each with the number of its attempts so far, and the instants since which they are eligible.
    pub waiting: Vec<(Which, SimTime)>,
    /// Runs under way, with their nodes and begins.
    pub running: Vec<(Which, Vec<u32>, SimTime)>,
    /// Jobs that are over, each with the number of attempts before its last, true if it has completed, and the instant
    /// of its end if others may wait for that.
    pub over: Vec<(Which, bool, Option<SimTime>)>,
    /// Jobs that were submitted and wait for others or for an instant.
    pub held: Vec<JobId>,
    /// Nodes that are not in service, and their states.
    pub nodes: Vec<(u32, Standing)>,
    /// Budgets, those to come included.
    pub budgets: Vec<BudgetRow>,
}

impl Live {
    /// State of the machine and its jobs by now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let cluster = self.cluster();
        let now = cluster.now();
        let mut running: Vec<_> = cluster.runs().iter().map(|(_, run)| run).collect();
        running.sort_unstable_by_key(|run| (run.started, run.job));
        let lasts = |row: &&BudgetRow| row.until > now;
        Snapshot {
            waiting: cluster
                .in_queue()
                .into_iter()
                .map(|job| (last(cluster, job), cluster.jobs().eligible(job)))
                .collect(),
            running: (running.into_iter())
                .map(|run| {
                    let which = Which { job: run.job, attempt: run.attempt };
                    (which, cluster.runs().nodes(run).to_vec(), run.started)
                })
                .collect(),
            over: (cluster.workload().jobs())
                .filter(|&job| cluster.phase(job) == Phase::Over)
                .map(|job| (last(cluster, job), self.has_completed(job), self.conductor.end_of(job)))
                .collect(),
            held: cluster.workload().jobs().filter(|&job| cluster.is_held(job)).collect(),
            nodes: self.standing(),
            budgets: cluster.budgets().rows().iter().filter(lasts).copied().collect(),
        }
    }

    /// Nodes that are not in service, ascending.
    fn standing(&self) -> Vec<(u32, Standing)> {
        let cluster = self.cluster();
        (0..cluster.platform().len()).filter_map(|node| Some((node, Standing::of(cluster.node(node))?))).collect()
    }

    /// True if a controller that is rebuilt from its snapshot and its recollection lacks nothing: no caps, and no runs
    /// that stand still.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        !self.conductor.governs() && self.cluster().suspended() == 0
    }

    /// The part of its policy's knowledge that no snapshot shows.
    pub fn remember(&mut self) -> Recollection {
        self.conductor.controller_mut().remember()
    }

    /// Lets its policy go on with what was kept about applications and groups that it has just heard of.
    pub fn recall(&mut self, kept: &Recollection) {
        self.conductor.controller_mut().recall(kept);
    }

    /// Begins with a machine in this state, at `now`, before anything has happened, and with what a policy has kept.
    /// Nothing is decided; the next step gives the jobs of the queue that are turned away.
    ///
    /// # Errors
    /// If it cannot be in this state.
    pub fn rebuild(&mut self, now: SimTime, snapshot: &Snapshot, kept: &Recollection) -> Result<()> {
        let Self { conductor, ledger } = self;
        conductor.controller_mut().advance(now);
        conductor.controller_mut().recall(kept);
        for row in &snapshot.budgets {
            ledger.budget(conductor, *row);
        }
        for &(node, standing) in &snapshot.nodes {
            let draw = conductor.cluster().platform().node(node);
            let until = turn_of(kept, node);
            let boots = until.unwrap_or_else(|| now.saturating_add(draw.boot_time));
            let stops = until.unwrap_or_else(|| now.saturating_add(draw.shutdown_time));
            let state = match standing {
                Standing::Off => NodeState::Off,
                Standing::Booting => NodeState::Booting { until: boots },
                Standing::Stopping => NodeState::ShuttingDown { until: stops },
                Standing::Down => {
                    conductor.begin_outage(node, Outage::Failure, ledger)?;
                    continue;
                }
            };
            conductor.controller_mut().set_node(node, state);
        }
        for &(which, ok, end) in &snapshot.over {
            conductor.controller_mut().let_be_over(which.job, which.attempt);
            conductor.note_past_end(which.job, end.unwrap_or(now), ok);
            if ok {
                ledger.completed.insert(which.job);
            }
        }
        for (which, nodes, since) in &snapshot.running {
            conductor.controller_mut().count_attempts(which.job, which.attempt.saturating_sub(1));
            check_nodes(conductor.cluster(), *which, nodes)?;
            conductor.take_up_on(which.job, nodes, *since, ledger)?;
        }
        for &(which, since) in &snapshot.waiting {
            conductor.controller_mut().count_attempts(which.job, which.attempt);
            if let Some(refusal) = conductor.controller_mut().join_since(which.job, since) {
                conductor.turn_away(which.job, refusal, ledger);
            }
        }
        for &job in &snapshot.held {
            conductor.submit(job, ledger);
        }
        conductor.controller_mut().recall_idle(kept);
        conductor.controller_mut().nodes_found();
        ledger.orders.retain(|order| matches!(order, HostOrder::Reject(..)));
        Ok(())
    }
}

/// A job and the number of its attempts that are over.
fn last(cluster: &Cluster, job: JobId) -> Which {
    Which { job, attempt: cluster.lost_attempts(job) }
}
