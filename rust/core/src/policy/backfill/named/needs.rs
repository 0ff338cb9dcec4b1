//! Needs of jobs and free capacity of nodes, read from the view.

use crate::algo::fit_list::Waiting;
use crate::algo::horizon::{Groups, NodeNeed, Planes};
use crate::cluster::shares::Shares;
use crate::platform::queues::Queues;
use crate::policy::View;
use crate::units::{SimDuration, Watts};
use crate::workload::JobId;

/// Sets of nodes to which needs refer.
pub(super) fn groups<'a>(view: &View<'a>) -> Groups<'a> {
    Groups {
        queues: view.queues.map_or(&[], Queues::sets),
        cells: view.shares.map_or(&[], |shares| shares.cells().sets()),
    }
}

/// Need of a job on so many nodes for so long.
pub(super) fn need_of<'a>(view: &View<'a>, job: JobId, nodes: usize, length: SimDuration) -> NodeNeed<'a> {
    let want = view.shares.map(|shares| shares.cells().want(job));
    let (gpus, memory) = want.map_or((0, 0), |want| (want.gpus, want.memory / memory_unit(view)));
    NodeNeed {
        groups: groups(view),
        nodes: u32::try_from(nodes).unwrap_or(u32::MAX),
        amounts: [i64::from(view.jobs.need(job, view.platform)), gpus, memory],
        queue: view.queues.map(|queues| usize::from(queues.number(job))),
        cells: want.map(|want| &want.cells[..]),
        licences: want.map_or(&[], |want| &want.licences),
        watts: None,
        length,
    }
}

/// Need of a waiting job.
pub(super) fn need<'a>(view: &View<'a>, waiting: &Waiting) -> NodeNeed<'a> {
    let job = JobId(waiting.key.row);
    need_of(view, job, view.jobs.node_count(job) as usize, waiting.length.max(SimDuration::TICK))
}

/// Key of jobs alike: they take the same amount of the same nodes.
pub(super) fn likeness(view: &View<'_>, job: JobId) -> (usize, u32) {
    let queue = view.queues.map_or(0, |queues| usize::from(queues.number(job)));
    let want = view.shares.map_or(0, |shares| shares.cells().number(job));
    (want << u16::BITS | queue, view.jobs.need(job, view.platform))
}

/// True if a node is all that a job takes of it, and any node will do: jobs then take the lowest nodes that are free.
pub(super) fn are_alike(view: &View<'_>) -> bool {
    view.platform.is_exclusive() && view.shares.is_none()
}

/// Makes `planes` the capacity that is free now. Of watts it has what runs take, below zero: what a budget leaves is added
/// where it counts.
pub(super) fn fill_now(view: &View<'_>, planes: &mut Planes) {
    fill_free(view, planes);
    planes.add_watts(Watts::ZERO - view.claimed);
}

fn fill_free(view: &View<'_>, planes: &mut Planes) {
    if view.platform.is_exclusive() {
        return planes.fill_whole(groups(view), view.slots.holding(1), licences(view));
    }
    let slots = (0..view.platform.len()).map(|node| i64::from(view.slots.free_on(node))).collect();
    fill_shared(view, planes, slots);
}

/// Makes `planes` that of shared nodes, with so many free slots on each, and GPUs and memory that no run holds.
pub(super) fn fill_shared(view: &View<'_>, planes: &mut Planes, slots: Vec<i64>) {
    let whole = i64::from(view.platform.shared_slots());
    let stock = view.shares.map_or(&[][..], |shares| shares.cells().stock());
    let unit = memory_unit(view);
    let (mut gpus, mut memory): (Vec<_>, Vec<_>) = stock.iter().map(|&(gpus, memory)| (gpus, memory / unit)).unzip();
    let most = |amounts: &[i64]| amounts.iter().copied().max().unwrap_or(0);
    let (most_gpus, most_memory) = (most(&gpus), most(&memory));
    if let Some(shares) = view.shares.filter(|_| !stock.is_empty()) {
        for (_, run) in view.runs.iter() {
            let want = shares.cells().want(run.job);
            for &node in view.runs.nodes(run) {
                gpus[node as usize] -= want.gpus;
                memory[node as usize] -= want.memory / unit;
            }
        }
    }
    let others = [(most_gpus, gpus), (most_memory, memory)].into_iter().filter(|(_, free)| !free.is_empty());
    let tables = std::iter::once((whole, slots)).chain(others);
    planes.fill_shared(view.platform.len(), tables, licences(view));
}

/// Memory is counted in this: the fewer bits its amounts have, the sooner they are compared. It stays the same in a run,
/// as jobs that come on the way ask for what some job asked for before.
fn memory_unit(view: &View<'_>) -> i64 {
    view.shares.map_or(1, |shares| shares.cells().memory_unit())
}

fn licences<'a>(view: &View<'a>) -> &'a [i64] {
    view.shares.map_or(&[], Shares::licences)
}
