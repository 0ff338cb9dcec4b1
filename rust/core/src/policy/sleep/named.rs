//! Waking where a plan names the nodes (operations page on machines, rule 18).

use std::collections::BTreeMap;

use crate::platform::node_state::NodeState;
use crate::policy::View;
use crate::policy::sleep::Sleep;
use crate::policy::sleep::answers::Wakes;
use crate::policy::sleep::node_rule::NodeRule;
use crate::units::{SimDuration, SimTime};
use crate::workload::JobId;

/// Start of each node's first planned job.
pub(in crate::policy) type FirstStarts = BTreeMap<u32, SimTime>;

/// First job that is planned on each node, and its start.
pub(in crate::policy) type FirstJobs = BTreeMap<u32, (SimTime, JobId)>;

/// Wakes off nodes such that they are on when their first planned job starts, by the boot times that plans assume.
pub(super) fn wakes(sleep: &Sleep, view: &View<'_>, first: &FirstJobs) -> Wakes {
    let mut wakes = Wakes::default();
    for (&node, &(start, _)) in first {
        if view.nodes[node as usize] != NodeState::Off || is_out_by(view, node, start) {
            continue;
        }
        let span = sleep.rule(node).start;
        // Every plan puts what should be over by now off by a tick: a wake-up that is due by then would be put off for
        // ever.
        if start <= view.now.saturating_add(span).saturating_add(SimDuration::TICK) {
            wakes.now.push(node);
        } else {
            let due = view.now.saturating_add((start - view.now) - span);
            wakes.due = Some(wakes.due.map_or(due, |next| next.min(due)));
        }
    }
    wakes
}

/// True if a known maintenance of the node begins by `start`: it comes back from that by itself.
fn is_out_by(view: &View<'_>, node: u32, start: SimTime) -> bool {
    let by_then = view.outages.known(view.now).take_while(|window| window.from <= start);
    by_then.map(|window| window.node).any(|other| other == node)
}

/// True if a node's next planned job is far enough away (rule 16).
pub(super) fn is_far(view: &View<'_>, first: &FirstJobs, node: u32, rule: &NodeRule) -> bool {
    let Some(&(start, _)) = first.get(&node) else { return true };
    let away = start - view.now;
    rule.far.is_some_and(|far| away >= far) && away > rule.stop.saturating_add(rule.start)
}
