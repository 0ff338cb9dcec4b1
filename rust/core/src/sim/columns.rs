//! Records as columns that a frame can take over: seconds, watts, words.

use crate::platform::node_state::Class;
use crate::sim::record::{JobRecords, JobState, Records, StartedBy};
use crate::units::SimTime;
use crate::workload::JobId;

/// One column a field, one row a job, in the workload's order. `started` and `ended` say which rows hold a value.
#[derive(Debug, Default)]
pub struct JobFrame {
    /// Whether the job started.
    pub started: Vec<bool>,
    /// Whether the job ended.
    pub ended: Vec<bool>,
    /// Start, s; 0 where the job never started.
    pub start_s: Vec<f64>,
    /// End, s; 0 where the job did not end.
    pub end_s: Vec<f64>,
    /// Energy, J; 0 where the job never started.
    pub energy_j: Vec<f64>,
    /// What became of the job.
    pub state: Vec<JobState>,
    /// How it came to start; anything where it never did.
    pub started_by: Vec<StartedBy>,
    /// Whether the run was profiled.
    pub profiled: Vec<bool>,
    /// Where each job's nodes begin in `nodes`, and one more.
    pub node_offsets: Vec<i64>,
    /// Nodes of all jobs, row after row, ascending in each.
    pub nodes: Vec<u32>,
}

/// One column a field, one row a node.
#[derive(Debug, Default)]
pub struct NodeFrame {
    /// Time in each class, s.
    pub time_s: [Vec<f64>; Class::COUNT],
    /// Energy, J.
    pub energy_j: Vec<f64>,
}

impl Records {
    /// Takes the jobs' columns; what is left of them is empty.
    #[must_use]
    pub fn take_jobs(&mut self) -> JobFrame {
        let (node_offsets, nodes) = self.node_lists();
        let jobs = std::mem::take(&mut self.jobs);
        let started: Vec<_> = jobs.start.iter().map(|&start| start != SimTime::NEVER).collect();
        let ended: Vec<_> = (0..started.len()).map(|row| jobs.end(row).is_some()).collect();
        let mut profiled = vec![false; started.len()];
        jobs.profiled.keys().for_each(|&row| profiled[row as usize] = true);
        JobFrame {
            profiled,
            start_s: seconds(&jobs.start, &started),
            end_s: seconds(&jobs.end, &ended),
            energy_j: jobs.energy_j,
            state: jobs.state,
            started_by: jobs.started_by,
            started,
            ended,
            node_offsets,
            nodes,
        }
    }

    /// The jobs' nodes in the workload's order: where each list begins, and all lists.
    fn node_lists(&self) -> (Vec<i64>, Vec<u32>) {
        let JobRecords { start, nodes, .. } = &self.jobs;
        let mut offsets = Vec::with_capacity(start.len() + 1);
        let mut all = Vec::with_capacity(nodes.len());
        offsets.push(0);
        for row in (0..).map(JobId).take(start.len()) {
            all.extend_from_slice(self.nodes_of(row.0 as usize).unwrap_or_default());
            offsets.push(i64::try_from(all.len()).unwrap_or(i64::MAX));
        }
        (offsets, all)
    }

    /// The nodes' columns.
    #[must_use]
    pub fn node_frame(&self) -> NodeFrame {
        let nodes = 0..u32::try_from(self.boots.len()).unwrap_or(u32::MAX);
        let time = |class| nodes.clone().map(|node| self.nodes.node_time(node, class).seconds()).collect();
        NodeFrame {
            time_s: [Class::Busy, Class::Idle, Class::Off, Class::Transition, Class::Down].map(time),
            energy_j: nodes.clone().map(|node| self.nodes.node_energy(node).joules()).collect(),
        }
    }
}

fn seconds(instants: &[SimTime], valid: &[bool]) -> Vec<f64> {
    instants.iter().zip(valid).map(|(instant, &valid)| if valid { instant.seconds() } else { 0.0 }).collect()
}

impl JobState {
    /// The state's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending | Self::LeftOut | Self::Stranded => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Timeout => "timeout",
            Self::Failed | Self::Overdrawn | Self::Unpowered => "failed",
            Self::RejectedNodes | Self::RejectedSlots | Self::RejectedPower | Self::RejectedProfile => "rejected",
        }
    }

    /// Why, where that needs a word.
    #[must_use]
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Self::LeftOut => Some("no start is known for it"),
            Self::Stranded => Some("could not start, and nothing was to come that would have let it"),
            Self::RejectedNodes => Some("asks for more nodes than the platform has"),
            Self::RejectedSlots => Some("asks for more slots a node than the platform's nodes have"),
            Self::RejectedPower => Some("would exceed the power budget on any nodes"),
            Self::Overdrawn => Some("was killed: the machine drew more than its power budget"),
            Self::Unpowered => Some("was queued again in an emergency, and exceeds every power budget to come"),
            Self::RejectedProfile => {
                Some("fits the power budget only once its application has a profile, and no queued job can give it one")
            }
            Self::Failed => Some("a node failed"),
            Self::Timeout => Some("killed at its walltime"),
            Self::Pending | Self::Running | Self::Completed => None,
        }
    }
}

impl StartedBy {
    /// The way's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Backfill => "backfill",
            Self::Reservation => "reservation",
        }
    }
}
