//! Parts that choose by themselves which idle nodes go to sleep, and which are woken before anything planned needs them.
//!
//! Nodes that planned jobs need are woken whatever such a part says (operations page on machines, rules 18 and 20).

use dyn_clone::DynClone;

use crate::cluster::standby::Standby;
use crate::error::Result;
use crate::policy::View;
use crate::policy::sleep::oldest::Oldest;
use crate::policy::sleep::planned::Planned;
use crate::policy::sleep::rules::NodeRule;
use crate::policy::sleep::{Sleep, idle_descending};
use crate::units::SimTime;
use crate::workload::JobId;

/// Chooses nodes that go to sleep, and such as are woken for jobs that are yet to come.
pub trait Rest: DynClone + Send + Sync {
    /// Asked at the end of every pass, once nodes are woken for planned jobs.
    ///
    /// # Errors
    /// If it cannot be told, or the host interrupts.
    fn rest(&mut self, scene: &Scene<'_>, choice: &mut Choice) -> Result<()>;
}

dyn_clone::clone_trait_object!(Rest);

/// An idle node that holds no job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleNode {
    /// Which one.
    pub node: u32,
    /// Since when.
    pub since: SimTime,
    /// When its next planned job starts; never, if there is none. Where nodes are counted: when it would be lacking, if all
    /// idle nodes above it were asleep.
    pub next: SimTime,
    /// Whether the rules let it sleep: long enough idle, not excluded, not too often today.
    pub may_sleep: bool,
}

/// The machine at the end of a pass.
pub struct Scene<'a> {
    /// The machine, and what runs.
    pub view: &'a View<'a>,
    /// How many nodes are on, or on their way there, that nothing planned needs within the time to wake one.
    pub spare: u32,
    /// How many nodes there are, on or not, that neither run a job nor are needed by one that waits for nothing else.
    pub free: u32,
    /// How many jobs wait.
    pub waiting: usize,
    /// The jobs that wait, in policy order, for those who ask.
    pub queue: &'a dyn Fn() -> Vec<JobId>,
    /// The jobs that came since this was last asked.
    pub arrived: &'a [JobId],
    /// What the rules come to on each node.
    pub rules: &'a [NodeRule],
    pub(super) sleep: &'a Sleep,
    pub(super) plan: &'a dyn Planned,
    /// Nodes that are woken in this pass, ascending.
    pub(super) woken: &'a [u32],
}

impl Scene<'_> {
    /// Nodes that idle, ascending.
    #[must_use]
    pub fn idle(&self) -> Vec<IdleNode> {
        let mut all: Vec<_> = self.idle_descending().collect();
        all.reverse();
        all
    }

    /// The same from the highest down, for those who need not look at all.
    pub fn idle_descending(&self) -> impl Iterator<Item = IdleNode> + '_ {
        idle_descending(self.view)
            .enumerate()
            .map(|(above, node)| self.sleep.idle_node(self.view, self.plan, node, above))
    }

    /// The idle nodes together, where neither rules nor plans tell one from another and all may sleep; none elsewhere.
    #[must_use]
    pub fn alike(&self) -> Option<Alike<'_>> {
        let (standby, rule) = (self.view.standby?, self.rules.first()?);
        let oldest = self.sleep.oldest(self.view)?;
        Some(Alike { spared: self.plan.spared(rule)?.min(self.view.slots.holding(1).len()), oldest, standby })
    }

    /// Nodes that are off and were not woken in this pass, ascending.
    pub fn off(&self) -> impl Iterator<Item = u32> + '_ {
        let off = self.view.standby.into_iter().flat_map(|standby| standby.off().iter());
        off.filter(|node| self.woken.binary_search(node).is_err())
    }
}

/// Idle nodes that are all alike: what is asked of each of them in turn elsewhere is answered for many at once.
pub struct Alike<'a> {
    /// Number of nodes, from the highest down, that no plan needs so soon that they could not sleep.
    pub spared: u32,
    oldest: &'a Oldest,
    standby: &'a Standby,
}

impl Alike<'_> {
    /// Writes those of the `count` highest that have idled since `by` to the end of `ripe`, from the highest down; returns
    /// the earliest instant since when one of the others idles.
    pub fn split(&self, count: u32, by: SimTime, ripe: &mut Vec<u32>) -> Option<SimTime> {
        self.oldest.split(count, by, self.standby, ripe)
    }
}

/// What was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Idle nodes that go to sleep, first to last.
    pub sleep: Vec<u32>,
    /// Nodes that are off and are woken.
    pub wake: Vec<u32>,
    /// When to ask again, if nothing happens before.
    pub again: Option<SimTime>,
}
