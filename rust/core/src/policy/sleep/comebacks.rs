//! Comebacks: when plans have nodes back that are off, shutting down or booting (operations page on machines, rule 8).

use crate::cluster::standby::{Comeback, Return};
use crate::platform::Platform;
use crate::platform::node_state::NodeState;
use crate::platform::queues::Queues;
use crate::policy::View;
use crate::policy::sleep::Sleep;
use crate::units::{SimDuration, SimTime};

impl Sleep {
    /// Time at which all nodes that are off or shutting down would be back, if woken now; none if there is no such node.
    pub(in crate::policy) fn soon(&self, view: &View<'_>) -> Option<SimTime> {
        self.soon_in(view, |_| true)
    }

    /// The same for the nodes of some classes, each told by one of them.
    pub(super) fn soon_in(&self, view: &View<'_>, counts: impl Fn(u32) -> bool) -> Option<SimTime> {
        let spans = view.standby?.kinds_down().filter(|&like| counts(like)).map(|like| self.rule(like).start);
        spans.max().map(|span| view.now.saturating_add(span))
    }

    /// Span ahead up to which a wake plan is made first: as far as it matters which nodes may sleep, if any may, and
    /// twice as far as nodes take to be back. Usually something happens before more has to be known.
    pub(super) fn span_ahead(&self, view: &View<'_>) -> SimDuration {
        let far = if self.has_ripe() { self.reach.far } else { SimDuration::ZERO };
        self.soon(view).map_or(far, |soon| far.max(soon - view.now).max(soon - view.now + (soon - view.now)))
    }

    /// True if plans have the node now once it is off, as its wake-up takes no time. Not where urgent jobs may come:
    /// making way for them depends on which nodes are on.
    pub(super) fn wakes_at_once(&self, view: &View<'_>, node: u32) -> bool {
        self.rule(node).is_instant && !view.queues.is_some_and(Queues::preempt)
    }

    /// Time at which plans have a node back that cannot serve, but comes back by itself or once it is woken (rule 8).
    fn comeback(&self, now: SimTime, node: u32, state: NodeState, platform: &Platform) -> Option<SimTime> {
        self.comeback_within(self.rule(node).start, now, (node, state), platform)
    }

    /// The same, if starting it takes `start`.
    pub(super) fn comeback_within(
        &self,
        start: SimDuration,
        now: SimTime,
        (node, state): (u32, NodeState),
        platform: &Platform,
    ) -> Option<SimTime> {
        let (stop, draw) = (self.rule(node).stop, platform.node(node));
        let begun = |until: SimTime, took: SimDuration| until.saturating_add(SimDuration::ZERO - took);
        match state {
            NodeState::Off => Some(now.saturating_add(start)),
            NodeState::ShuttingDown { until } => {
                let off = begun(until, draw.shutdown_time).saturating_add(stop);
                Some(off.max(now).saturating_add(start))
            }
            NodeState::Booting { until } => Some(begun(until, draw.boot_time).saturating_add(start)),
            NodeState::Idle | NodeState::Busy { .. } | NodeState::Kept | NodeState::Down => None,
        }
    }

    /// Writes the comebacks of all nodes, by node.
    pub(in crate::policy) fn comebacks(&self, view: &View<'_>, out: &mut Vec<Comeback>) {
        let Some(standby) = view.standby else { return };
        out.extend(standby.asleep().iter().filter_map(|node| {
            let state = view.nodes[node as usize];
            let at = self.comeback(view.now, node, state, view.platform)?;
            Some(Comeback { node, at, at_once: state == NodeState::Off && self.wakes_at_once(view, node) })
        }));
    }

    /// The same by counts: sorted by instant and cell, nodes of one instant and cell together.
    pub(in crate::policy) fn returns(&self, view: &View<'_>, out: &mut Vec<Return>) {
        let Some(standby) = view.standby else { return };
        standby.alike().for_each(|(like, state, nodes)| {
            let Some(at) = self.comeback(view.now, like, state, view.platform) else { return };
            let cell = view.shares.and_then(|shares| shares.cells().cell_of(like)).unwrap_or(0);
            out.push(Return { at, cell, nodes, down: if state.is_on() { 0 } else { nodes } });
        });
        out.sort_unstable_by_key(|back| (back.at, back.cell));
        out.dedup_by(|next, first| {
            let is_alike = (next.at, next.cell) == (first.at, first.cell);
            if is_alike {
                (first.nodes, first.down) = (first.nodes + next.nodes, first.down + next.down);
            }
            is_alike
        });
    }
}
