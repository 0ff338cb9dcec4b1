//! Placements: which nodes a job gets.

pub mod assignment;
pub mod first_runs;
pub mod lowest_id;
pub mod observed;
pub mod opportunity_cost;
pub mod pools;
pub mod random;
pub mod rank_by;
pub mod ranked;
pub mod ranking;
pub mod rules;
pub mod sliding_window;

use dyn_clone::DynClone;

use crate::algo::node_set::NodeSet;
use crate::error::{Result, SimulationError};
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::recollection::Recollection;
use crate::workload::JobId;

/// Result of a placement's choice for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// No nodes: the job is blocked like any that does not fit.
    Refused,
    /// Nodes were chosen.
    Chosen,
    /// Nodes were chosen, and on no other free nodes would the job draw less: if this is too much, it is for all jobs
    /// like it.
    FewestWatts,
}

/// Verdict of a placement on the free nodes for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The nodes suit the job.
    Suits,
    /// The job had better wait for other nodes while some other job can use these.
    Spare,
    /// The job would be given none of them.
    Refused,
}

/// Events that a placement is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A job joined the queue.
    Joined(JobId),
    /// A pass begins.
    Begins,
    /// A pass is over, which may have started nothing, and this many of the machine's units (nodes, or slots where
    /// nodes are shared) are busy from now on.
    Over(i64),
}

/// Chooses nodes.
pub trait Placement: DynClone + Send + Sync {
    /// Moves as many nodes of `free` as the job asks for to the end of `nodes`, or none if it refuses.
    ///
    /// `free` holds enough nodes, and only such as can serve the job.
    ///
    /// # Errors
    /// If the nodes cannot be found, or if the host interrupts.
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice>;

    /// True if it chooses the same nodes however often it was asked before: then it may be asked more or less often.
    fn is_repeatable(&self) -> bool {
        false
    }

    /// True if it gives every job the free nodes with the lowest ids, and refuses none.
    fn takes_lowest(&self) -> bool {
        false
    }

    /// Shows the nodes of `free` in the order in which jobs like this one are given them, until `look` has seen enough.
    /// Returns false, and shows none, where a job's nodes are not simply the first.
    fn show(&mut self, ask: &Ask<'_>, job: JobId, free: &NodeSet, look: &mut dyn FnMut(u32) -> bool) -> bool {
        let _ = (ask, job, free, look);
        false
    }

    /// True if the nodes of a job depend on the other jobs that start with it: then it
    /// [matches](Placement::match_all) all jobs of a pass at its end, and refuses none.
    fn is_joint(&self) -> bool {
        false
    }

    /// Moves nodes of `free` to the end of `nodes`: as many as stand with each of `jobs`, one job's after the other's.
    /// Only a joint placement is asked.
    ///
    /// `free` holds enough nodes for all of them, and only such as can serve each.
    ///
    /// # Errors
    /// If the nodes cannot be found, or if the host interrupts.
    fn match_all(
        &mut self,
        ask: &Ask<'_>,
        jobs: &[(JobId, u32)],
        free: &mut NodeSet,
        nodes: &mut Vec<u32>,
    ) -> Result<()> {
        let _ = (ask, jobs, free, nodes);
        Err(SimulationError("a placement that chooses nodes job by job was asked to match several".to_owned()).into())
    }

    /// Judges the nodes of `free`, which holds enough of them, for the job. Uses no random numbers.
    fn judge(&mut self, ask: &Ask<'_>, job: JobId, free: &NodeSet) -> Verdict {
        let _ = (ask, job, free);
        Verdict::Suits
    }

    /// Makes it follow the rule of this number from now on, if it has several.
    fn follow(&mut self, rule: usize) {
        let _ = rule;
    }

    /// Takes note of an event.
    ///
    /// # Errors
    /// If what it has to prepare fails, or if the host interrupts.
    fn notice(&mut self, view: &View<'_>, news: News) -> Result<()> {
        let _ = (view, news);
        Ok(())
    }

    /// Keeps the part of its knowledge that no state of the machine shows.
    fn remember(&self, kept: &mut Recollection) {
        let _ = kept;
    }

    /// Goes on with what was kept.
    fn recall(&mut self, view: &View<'_>, kept: &Recollection) {
        let _ = (view, kept);
    }
}

dyn_clone::clone_trait_object!(Placement);
