//! Which nodes a job gets.

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
use crate::error::Result;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::workload::JobId;

/// What a placement has done for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Nothing: it has chosen no nodes, and the job is blocked like any that does not fit.
    Refused,
    /// It has chosen nodes.
    Chosen,
    /// The same, and on no others of the free nodes would the job draw less: if that is too much, it is for all like it.
    FewestWatts,
}

/// What a placement thinks of the free nodes for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The job is in good hands there.
    Suits,
    /// It is better left to wait for others while some other job can use these.
    Spare,
    /// It would not be given any of them.
    Refused,
}

/// What a placement is told as it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A job joined the queue.
    Joined(JobId),
    /// A pass begins.
    Begins,
    /// A pass is over, which may have started nothing, and so many of the machine's units (nodes, or slots where nodes are
    /// shared) are busy from now on.
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

    /// Whether it chooses the same nodes however often it was asked before: then it may be asked more or less often.
    fn is_repeatable(&self) -> bool {
        false
    }

    /// Shows the nodes of `free` in the order in which jobs like this one are given them, until `look` has seen enough.
    /// Returns false, and shows none, where a job's nodes are not simply the first.
    fn show(&mut self, ask: &Ask<'_>, job: JobId, free: &NodeSet, look: &mut dyn FnMut(u32) -> bool) -> bool {
        let _ = (ask, job, free, look);
        false
    }

    /// Its other face, where a job's nodes depend on the others that start with it.
    fn jointly(&mut self) -> Option<&mut dyn Joint> {
        None
    }

    /// What it thinks of the nodes of `free`, which holds enough of them, for the job. It draws no lots over it.
    fn judge(&mut self, ask: &Ask<'_>, job: JobId, free: &NodeSet) -> Verdict {
        let _ = (ask, job, free);
        Verdict::Suits
    }

    /// From now on it goes by the rule of this number, if it has several.
    fn follow(&mut self, rule: usize) {
        let _ = rule;
    }

    /// Takes note of what happens.
    ///
    /// # Errors
    /// If what it has to prepare fails, or if the host interrupts.
    fn notice(&mut self, view: &View<'_>, news: News) -> Result<()> {
        let _ = (view, news);
        Ok(())
    }
}

dyn_clone::clone_trait_object!(Placement);

/// Matches all jobs of a pass to nodes. It refuses none.
pub trait Joint {
    /// Moves nodes of `free` to the end of `nodes`: as many as each of `jobs` asks for, one job's after the other's.
    ///
    /// `free` holds enough nodes for all of them, and only such as can serve each.
    ///
    /// # Errors
    /// If the nodes cannot be found, or if the host interrupts.
    fn match_all(&mut self, ask: &Ask<'_>, jobs: &[JobId], free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<()>;
}
