//! Reports that cannot be true: what is wrong with them.

use crate::cluster::{Cluster, Phase};
use crate::control::live::report::Report;
use crate::control::orders::Which;
use crate::error::{Error, Result};
use crate::workload::JobId;

/// Checks that a job can have started on these nodes, ascending: nothing else runs on them.
///
/// # Errors
/// If something does, they do not serve, or they are not as many as the job asks for.
pub(super) fn check_nodes(cluster: &Cluster, which: Which, nodes: &[u32]) -> Result<()> {
    let job = cluster.workload().job_id(which.job);
    let fails = |what: String| Err(Error::Live(format!("job {job} cannot have started on {what}")));
    let (wanted, count) = (cluster.jobs().node_count(which.job), nodes.len());
    if count != wanted as usize {
        return fails(format!("{count} nodes: it asks for {wanted}"));
    }
    if let Some([twice, ..]) = nodes.windows(2).find(|pair| pair[0] == pair[1]) {
        return fails(format!("node {twice} twice"));
    }
    for &node in nodes {
        if !cluster.may_serve(node) {
            return fails(format!("node {node}: it is in no queue"));
        }
        let state = cluster.node(node);
        let others: Vec<_> = cluster.runs_on(node).into_iter().filter_map(|id| cluster.runs().get(id)).collect();
        let other = others.iter().find(|run| run.job != which.job);
        match other {
            Some(run) if cluster.platform().is_exclusive() => {
                return fails(format!("node {node}: job {} runs there", cluster.workload().job_id(run.job)));
            }
            _ if !state.is_on() => return fails(format!("node {node}: it is {}", state.name())),
            _ => {}
        }
    }
    Ok(())
}

/// Error about a report that cannot be true.
pub(super) fn impossible(cluster: &Cluster, report: &Report) -> Error {
    let id = |job: JobId| cluster.workload().job_id(job);
    let is = |job: JobId| match cluster.phase(job) {
        Phase::Unborn => "has not been submitted",
        Phase::Held => "is not eligible yet",
        Phase::Queued => "waits",
        Phase::Running => "runs",
        Phase::Over => "is over",
    };
    let of_run = |which: &Which, what: &str| {
        let (job, attempt, lost) = (id(which.job), which.attempt, cluster.lost_attempts(which.job));
        let (is, by_now) = (is(which.job), lost + u32::from(cluster.phase(which.job) == Phase::Running));
        format!("attempt {attempt} of job {job} cannot have {what}: the job {is}, after {by_now} starts")
    };
    let of_node = |node: u32, what: &str| format!("node {node} cannot {what}: it is {}", cluster.node(node).name());
    Error::Live(match report {
        Report::Ended(which, _) => of_run(which, "ended"),
        Report::StartFailed(which, _) => of_run(which, "failed to start"),
        Report::Started(which, _) => of_run(which, "started"),
        Report::NodeUp(node) => of_node(*node, "be ready"),
        Report::NodeOff(node) => of_node(*node, "be off"),
        Report::NodeDown(node) => of_node(*node, "be down"),
        Report::Requeued(job) => format!("job {} cannot be queued again: it {}", id(*job), is(*job)),
        Report::Submitted(job) => format!("job {} cannot be submitted: it {}", id(*job), is(*job)),
        Report::Eligible(job) => format!("job {} cannot become eligible: it {}", id(*job), is(*job)),
        Report::Withdrawn(job) => format!("job {} cannot be withdrawn: it {}", id(*job), is(*job)),
        Report::Power(_) | Report::Budget(..) => "a report of power cannot be taken into account".to_owned(),
    })
}
