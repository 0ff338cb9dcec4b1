//! What is free of nodes from now on, before anything is promised: what runs ends, and nodes come and go.

use crate::algo::fit_list::Waiting;
use crate::algo::horizon::windows::{Return, What};
use crate::algo::horizon::{Need, Windows};
use crate::algo::node_set::NodeSet;
use crate::policy::View;
use crate::policy::backfill::named::chosen::Chosen;
use crate::policy::backfill::plan::TICK;
use crate::workload::JobId;

/// The nodes that are off or shutting down, if any is.
pub(super) fn asleep(view: &View<'_>) -> Option<NodeSet> {
    let mut asleep = view.standby?.asleep().clone();
    for back in view.standby?.comebacks() {
        if view.nodes[back.node as usize].is_on() {
            asleep.remove(back.node);
        }
    }
    (!asleep.is_empty()).then_some(asleep)
}

/// What is free when, if all that runs ends as planned; what should have ended by now ends a tick later. A node in
/// maintenance is free once that is over, one that has failed never, and none is in a window that is known by now.
pub(super) fn windows<'a, F: Chosen<'a>>(view: &'a View<'a>, now: F, spares: Vec<F>) -> Windows<F> {
    let soonest = view.now.saturating_add(TICK);
    let runs = view.runs.iter().map(|(_, run)| Return {
        at: run.planned_end.max(soonest),
        nodes: view.runs.nodes(run),
        what: What::Slots(F::told(view, run.job)),
        microwatts: 0,
    });
    known_by_now(spares, now, view, runs.collect())
}

/// What is free when, if so much is now and that comes back; and nodes that cannot serve now, while those that will not
/// are taken out.
pub(super) fn known_by_now<'a, F: Chosen<'a>>(
    spares: Vec<F>,
    now: F,
    view: &'a View<'a>,
    mut returns: Vec<Return<'a>>,
) -> Windows<F> {
    let soonest = view.now.saturating_add(TICK);
    let whole = if view.platform.is_exclusive() { 1 } else { i32::try_from(view.platform.slots()).unwrap_or(i32::MAX) };
    let comebacks = view.standby.map_or(&[][..], |standby| standby.comebacks());
    returns.extend(comebacks.iter().map(|back| Return {
        at: back.at.max(soonest),
        nodes: std::slice::from_ref(&back.node),
        what: What::Node(whole),
        microwatts: 0,
    }));
    let mut order: Vec<_> = (0..).zip(&returns).map(|(place, back): (u32, _)| (back.at, place)).collect();
    order.sort_unstable();
    let ascending = order.iter().map(|&(_, place)| returns[place as usize]);
    let mut windows = Windows::reusing(spares, view.now, (now, 0), ascending);
    for (node, until) in view.outages.coming_back() {
        windows.open(until, node, whole);
    }
    for window in view.outages.known(view.now) {
        windows.close(window.from, window.until - window.from, window.node);
    }
    windows
}

/// What a waiting job needs.
pub(super) fn need<'a, F: Chosen<'a>>(view: &View<'_>, waiting: &Waiting) -> Need {
    let job = JobId(waiting.key.row);
    let length = waiting.length.max(TICK);
    Need { nodes: view.jobs.node_count(job), slots: F::told(view, job), microwatts: 0, length }
}
