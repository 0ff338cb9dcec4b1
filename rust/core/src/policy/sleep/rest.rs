//! Parts that choose which idle nodes go to sleep, and which are woken before anything planned needs them. The rule of
//! `timeout` is one of them.
//!
//! Nodes that planned jobs need are woken regardless of such a part (operations page on machines, rules 18 and 20).

use dyn_clone::DynClone;

use crate::cluster::standby::Standby;
use crate::error::Result;
use crate::policy::View;
use crate::policy::recollection::Recollection;
use crate::policy::sleep::answers::{Leave, RestChoice};
use crate::policy::sleep::node_rule::NodeRule;
use crate::policy::sleep::oldest::Oldest;
use crate::policy::sleep::planned::Planned;
use crate::policy::sleep::{Sleep, idle_descending};
use crate::units::SimTime;
use crate::workload::JobId;

/// Chooses the nodes that go to sleep, and nodes that are woken for jobs yet to come.
pub trait Rest: DynClone + Send + Sync {
    /// Makes the choice at the end of every pass, once nodes are woken for planned jobs.
    ///
    /// # Errors
    /// If it cannot decide, or the host interrupts.
    fn rest(&mut self, scene: &Scene<'_>, choice: &mut RestChoice) -> Result<()>;

    /// True if it provides for jobs to come: it is asked in every pass, and waiting jobs are planned as the backfill
    /// would. Otherwise it only asks which idle nodes plans spare: it is asked where one could go to sleep or be woken,
    /// and plans reach no further than that.
    fn foresees(&self) -> bool {
        true
    }

    /// Keeps the part of its knowledge that no state of the machine shows.
    fn remember(&self, kept: &mut Recollection) {
        let _ = kept;
    }

    /// Goes on with what was kept.
    fn recall(&mut self, kept: &Recollection) {
        let _ = kept;
    }
}

dyn_clone::clone_trait_object!(Rest);

/// An idle node that holds no job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleNode {
    /// Number of the node.
    pub node: u32,
    /// Start of its idle period.
    pub since: SimTime,
    /// Start of its next planned job; never, if there is none. Where nodes are counted: time at which it would be
    /// lacking, if all idle nodes of its cell above it were asleep.
    pub next: SimTime,
    /// True if the rules let it sleep: long enough idle, not excluded, not too often today.
    pub may_sleep: bool,
}

/// The machine at the end of a pass.
pub struct Scene<'a> {
    /// The machine and its running jobs.
    pub view: &'a View<'a>,
    /// Number of waiting jobs.
    pub waiting: usize,
    /// Waiting jobs in policy order, computed on demand.
    pub queue: &'a dyn Fn() -> Vec<JobId>,
    /// Jobs that arrived since the part was last asked.
    pub arrived: &'a [JobId],
    /// Rule of each node.
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

    /// The same from the highest down, lazily.
    pub fn idle_descending(&self) -> impl Iterator<Item = IdleNode> + '_ {
        let mut above = vec![0; self.plan.cells()];
        idle_descending(self.view).map(move |node| {
            let above = &mut above[self.plan.cell(node)];
            *above += 1;
            self.sleep.idle_node(self.view, self.plan, node, *above - 1)
        })
    }

    /// All idle nodes together, if neither rules nor plans distinguish them and all may sleep; none otherwise.
    #[must_use]
    pub fn alike(&self) -> Option<Alike<'_>> {
        let (standby, rule) = (self.view.standby?, self.sleep.first_own()?);
        let oldest = self.sleep.oldest(self.view)?;
        Some(Alike { spared: self.plan.spared(rule)?.min(self.view.slots.holding(1).len()), oldest, standby })
    }

    /// Number of nodes that are on, or on their way there, and that nothing planned needs within the time to wake one.
    #[must_use]
    pub fn spare(&self) -> u32 {
        self.plan.spare(self.sleep, self.view)
    }

    /// Number of nodes, on or not, that neither run a job nor are needed by one that waits only for nodes to boot.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.plan.free(self.view)
    }

    /// True if a node has been idle for long enough to sleep.
    pub(super) fn has_ripe(&self) -> bool {
        self.sleep.has_ripe()
    }

    /// Idle nodes that the rules let sleep and the plans spare, from the highest down, if neither distinguishes nodes.
    pub(super) fn spared_alike(&self) -> Option<impl Iterator<Item = u32> + '_> {
        let (ripe, rule) = self.sleep.alike_ripe()?;
        let most = self.plan.spared(rule)?;
        Some(ripe.descending().take(most as usize))
    }

    /// Idle nodes that the rules let sleep, from the highest down.
    pub(super) fn ready(&self) -> impl Iterator<Item = u32> + '_ {
        self.sleep.ready(self.view)
    }

    /// Number of nodes that may go to sleep such that enough stay on, if the part wakes none.
    pub(super) fn most(&self) -> u32 {
        self.sleep.most_asleep(self.view, self.woken.len())
    }

    /// Number of cells whose nodes the plans count separately.
    pub(super) fn cells(&self) -> usize {
        self.plan.cells()
    }

    /// The cell of a node.
    pub(super) fn cell(&self, node: u32) -> usize {
        self.plan.cell(node)
    }

    /// Answer of the plans to whether a node may go to sleep, if `asleep` others of its cell do; with the answer they
    /// count on it.
    pub(super) fn leave(&self, node: u32, asleep: u32) -> Leave {
        self.plan.leave(self.view, node, &self.rules[node as usize], asleep)
    }

    /// True if all nodes that ever sleep do so by equal rules.
    pub(super) fn has_one_rule(&self) -> bool {
        self.sleep.is_uniform
    }

    /// Nodes that are off and were not woken in this pass, ascending.
    pub fn off(&self) -> impl Iterator<Item = u32> + '_ {
        let off = self.view.standby.into_iter().flat_map(|standby| standby.off().iter());
        let mut woken = self.woken.iter().peekable();
        // Both ascend.
        off.filter(move |node| {
            while woken.next_if(|&other| other < node).is_some() {}
            woken.next_if_eq(&node).is_none()
        })
    }
}

/// Idle nodes that are all alike: questions about each of them in turn are answered for many at once.
pub struct Alike<'a> {
    /// Number of nodes, from the highest down, that no plan needs too soon for them to sleep.
    pub spared: u32,
    oldest: &'a Oldest,
    standby: &'a Standby,
}

impl Alike<'_> {
    /// Splits the `count` highest nodes: appends those that have idled since `by` to `ripe`, from the highest down, and
    /// returns the earliest start of an idle period among the others.
    pub fn split(&self, count: u32, by: SimTime, ripe: &mut Vec<u32>) -> Option<SimTime> {
        self.oldest.split(count, by, self.standby, ripe)
    }
}
