//! Emergencies, in which the machine draws more than its budget: the steps against it, and their reversal (operations
//! page, rules 20 to 22 and 27 to 34).

pub mod monitor;
pub mod recovery;
pub mod relief;

use crate::cluster::runs::{Run, RunId};
use crate::error::Result;
use crate::policy::View;
use crate::units::SimDuration;
use crate::workload::JobId;

/// A step of an emergency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Caps are lowered level by level.
    LowerCaps,
    /// Runs are suspended.
    Suspend,
    /// Runs are ended, and their jobs queued again.
    Requeue,
    /// Runs are ended.
    Kill,
}

/// Runs that are the first to suffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Victims {
    /// Those that started last.
    #[default]
    Newest,
    /// Those that come last in policy order.
    LowestPriority,
}

/// Rules of emergencies.
#[derive(Clone, Debug, Default)]
pub struct Emergencies {
    /// Steps that are taken, in this order; empty: nothing is done, and nothing is measured.
    pub steps: Vec<Step>,
    /// Runs that they are taken against first.
    pub victims: Victims,
    /// Interval between measurements of the draw; zero: after every instant.
    pub monitor_interval: SimDuration,
    /// Number of times a job is queued again before it is killed instead.
    pub max_requeues: u32,
    /// Caps that may be set, W a node, ascending.
    pub levels: Vec<f64>,
}

impl Step {
    /// The steps by their names, in the order in which they may be taken.
    pub const NAMES: [(&'static str, Self); 4] =
        [("lower-caps", Self::LowerCaps), ("suspend", Self::Suspend), ("requeue", Self::Requeue), ("kill", Self::Kill)];
}

/// Ranks jobs as the queue would.
pub type Rank<'a> = dyn FnMut(&View<'_>, &[JobId], &mut Vec<i64>) -> Result<()> + 'a;

/// The runs that match, the first victim first.
fn victims(
    view: &View<'_>,
    order: Victims,
    rank: &mut Rank<'_>,
    is_victim: impl Fn(&Run) -> bool,
) -> Result<Vec<RunId>> {
    let runs: Vec<_> = view.runs.iter().filter(|(_, run)| is_victim(run)).collect();
    let mut firsts = Vec::with_capacity(runs.len());
    match order {
        Victims::Newest => firsts.extend(runs.iter().map(|(_, run)| run.started.micros())),
        Victims::LowestPriority if runs.is_empty() => {}
        Victims::LowestPriority => {
            rank(view, &runs.iter().map(|(_, run)| run.job).collect::<Vec<_>>(), &mut firsts)?;
        }
    }
    let tier = |run: &Run| if order == Victims::LowestPriority { view.tier(run.job) } else { 0 };
    let keys = runs.iter().zip(firsts);
    let keys = keys.map(|((id, run), first)| (tier(run), first, view.jobs.eligible(run.job), run.job.0, *id));
    let mut keys: Vec<_> = keys.collect();
    keys.sort_unstable_by(|a, b| b.cmp(a));
    Ok(keys.into_iter().map(|key| key.4).collect())
}
