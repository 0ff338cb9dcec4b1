//! Plans as a [`Rest`](crate::policy::sleep::rest::Rest) part sees them: of named nodes, or of counts.

use crate::cluster::standby::Standby;
use crate::platform::node_state::NodeState;
use crate::policy::View;
use crate::policy::sleep::answers::{Leave, RestChoice, Wakes};
use crate::policy::sleep::counted::Outlook;
use crate::policy::sleep::named::{self, FirstJobs};
use crate::policy::sleep::node_rule::NodeRule;
use crate::policy::sleep::{Sleep, idle, idle_up_to};
use crate::units::{SimDuration, SimTime};

/// Plan for later.
pub(super) trait Planned {
    /// Nodes that are woken for it.
    fn wakes(&self, sleep: &Sleep, view: &View<'_>) -> Wakes;

    /// Number of cells whose nodes are counted separately.
    fn cells(&self) -> usize {
        1
    }

    /// The cell of a node.
    fn cell(&self, node: u32) -> usize {
        let _ = node;
        0
    }

    /// Start of a node's next planned job or, with counts, the time at which it would be lacking if `above` idle nodes
    /// of its cell above it slept.
    fn next(&self, node: u32, above: usize) -> SimTime;

    /// Number of nodes that it does not need too soon for them to sleep by these rules, where it does not distinguish
    /// nodes.
    fn spared(&self, rule: &NodeRule) -> Option<u32> {
        let _ = rule;
        None
    }

    /// Number of nodes that are on, or will be, and that nothing planned needs within the time to wake one.
    fn spare(&self, sleep: &Sleep, view: &View<'_>) -> u32;

    /// Number of nodes that neither run a job nor are needed by one that waits only for nodes to boot.
    fn free(&self, view: &View<'_>) -> u32;

    /// Answer to whether a node may go to sleep by these rules, if `asleep` others of its cell did before it.
    fn leave(&self, view: &View<'_>, node: u32, rule: &NodeRule, asleep: u32) -> Leave;

    /// Removes from a choice what there is no room for.
    fn limit(&self, view: &View<'_>, choice: &mut RestChoice) {
        let _ = (view, choice);
    }
}

impl Planned for FirstJobs {
    fn wakes(&self, sleep: &Sleep, view: &View<'_>) -> Wakes {
        named::wakes(sleep, view, self)
    }

    fn next(&self, node: u32, _above: usize) -> SimTime {
        self.get(&node).map_or(SimTime::NEVER, |&(start, _)| start)
    }

    fn spared(&self, rule: &NodeRule) -> Option<u32> {
        (self.is_empty() && rule.far.is_some()).then_some(u32::MAX)
    }

    fn leave(&self, view: &View<'_>, node: u32, rule: &NodeRule, _asleep: u32) -> Leave {
        Leave::given_if(named::is_far(view, self, node, rule))
    }

    fn spare(&self, sleep: &Sleep, view: &View<'_>) -> u32 {
        let booting =
            comebacks(view).filter(|&(node, _)| matches!(view.nodes[node as usize], NodeState::Booting { .. }));
        let is_free = |node: u32| self.next(node, 0) > view.now.saturating_add(sleep.rule(node).start);
        let count = idle(view).chain(booting.map(|(node, _)| node)).filter(|&node| is_free(node));
        u32::try_from(count.count()).unwrap_or(u32::MAX)
    }

    fn free(&self, view: &View<'_>) -> u32 {
        let idle = idle(view).map(|node| (node, view.now));
        let is_free = |&(node, at): &(u32, SimTime)| self.next(node, 0) > at;
        u32::try_from(idle.chain(comebacks(view)).filter(is_free).count()).unwrap_or(u32::MAX)
    }
}

impl Planned for Outlook {
    fn wakes(&self, sleep: &Sleep, view: &View<'_>) -> Wakes {
        self.wakes_of(sleep, view)
    }

    fn next(&self, _node: u32, above: usize) -> SimTime {
        self.lacking(above)
    }

    fn spared(&self, rule: &NodeRule) -> Option<u32> {
        Some(self.spared(rule))
    }

    fn leave(&self, _view: &View<'_>, _node: u32, rule: &NodeRule, asleep: u32) -> Leave {
        self.leave(rule, asleep)
    }

    fn spare(&self, sleep: &Sleep, view: &View<'_>) -> u32 {
        let asleep = view.standby.into_iter().flat_map(Standby::kinds_asleep);
        let span = view.own_nodes().take(1).chain(asleep).map(|node| sleep.rule(node).start).max();
        let least = self.least_until(view.now.saturating_add(span.unwrap_or(SimDuration::ZERO)), view.now);
        let least = u32::try_from(least.max(0)).unwrap_or(u32::MAX);
        let asleep = view.standby.map_or(0, |standby| standby.asleep().len());
        least.min(asleep.saturating_add(idle_up_to(view, least)))
    }

    fn free(&self, _view: &View<'_>) -> u32 {
        u32::try_from(self.left()).unwrap_or(0)
    }
}

fn comebacks<'a>(view: &View<'a>) -> impl Iterator<Item = (u32, SimTime)> + 'a {
    view.comebacks().iter().map(|back| (back.node, back.at))
}
