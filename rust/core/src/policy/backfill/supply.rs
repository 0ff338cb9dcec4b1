//! Free capacity of each node where nodes differ: slots, GPUs and memory. Licences belong to no node.

use crate::algo::horizon::{Freedom, NodeNeed};
use crate::algo::node_set::NodeSet;
use crate::platform::cells::{Cells, Want};
use crate::policy::View;
use crate::policy::backfill::named::chosen::{Chosen, Kept, Memory, Own};
use crate::workload::JobId;

/// Free slots, GPUs and memory of each node, and free licences. A job's row stands for its slots.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Supply {
    slots: Vec<i64>,
    /// Empty where jobs get whole nodes: the stock of a node then only decides which jobs it can serve.
    gpus: Vec<i64>,
    memory: Vec<i64>,
    licences: Vec<i64>,
}

/// Request of a job.
pub(super) struct Asked<'c> {
    view: &'c View<'c>,
    job: JobId,
    want: &'c Want,
    slots: i64,
    nodes: u32,
}

/// Cells of a machine whose nodes differ: a supply is used only where there are shares.
fn cells<'c>(view: &View<'c>) -> &'c Cells {
    view.shares.expect("nodes differ").cells()
}

impl Supply {
    /// True if a node, of a cell that can serve the job, has enough left.
    fn has(&self, node: u32, asked: &Asked<'_>) -> bool {
        let (node, want) = (node as usize, asked.want);
        self.slots[node] >= asked.slots
            && (self.gpus.is_empty() || self.gpus[node] >= want.gpus && self.memory[node] >= want.memory)
    }

    fn has_licences(&self, asked: &Asked<'_>) -> bool {
        let first = cells(asked.view).sets().len();
        asked.want.licences.iter().all(|&(thing, need)| self.licences[usize::from(thing) - first] >= need)
    }

    /// Nodes that have enough for a job, the plainest cell first.
    fn members<'s>(&'s self, asked: &'s Asked<'_>) -> impl Iterator<Item = (usize, u32)> + 's {
        let cells = cells(asked.view);
        let nodes = asked.want.cells.iter().enumerate().filter_map(|(place, &cell)| Some((place, cells.nodes(cell)?)));
        let each = nodes.flat_map(|(place, set)| set.iter().map(move |node| (place, node)));
        let own = asked.view.queues.map(|queues| queues.nodes(asked.job));
        each.filter(move |&(_, node)| own.is_none_or(|own| own.contains(node)) && self.has(node, asked))
    }

    fn change(&mut self, &(view, job, nodes): &(&View<'_>, JobId, &[u32]), sign: i64) {
        let (slots, cells) = (sign * i64::from(view.jobs.need(job, view.platform)), cells(view));
        let want = cells.want(job);
        for &node in nodes {
            self.slots[node as usize] += slots;
            if !self.gpus.is_empty() {
                self.gpus[node as usize] += sign * want.gpus;
                self.memory[node as usize] += sign * want.memory;
            }
        }
        let first = cells.sets().len();
        for &(thing, need) in &want.licences {
            self.licences[usize::from(thing) - first] += sign * need;
        }
    }
}

/// The job whose row stands in place of slots.
fn job_of(told: i32) -> JobId {
    JobId(told.cast_unsigned())
}

impl Freedom for Supply {
    type Facts<'c> = View<'c>;

    type Ask<'c> = Asked<'c>;

    type Lot<'c, 'n> = (&'c View<'c>, JobId, &'n [u32]);

    fn ask<'c>(view: &'c View<'c>, need: &NodeNeed) -> Asked<'c> {
        let job = job_of(need.slots);
        let slots = i64::from(view.jobs.need(job, view.platform));
        Asked { view, job, want: cells(view).want(job), slots, nodes: need.nodes }
    }

    fn lot<'c, 'n>(
        &self,
        view: &'c View<'c>,
        (nodes, told): (&'n [u32], i32),
        _set: &'n mut NodeSet,
    ) -> (&'c View<'c>, JobId, &'n [u32]) {
        (view, job_of(told), nodes)
    }

    fn fitting(&self, ask: &Asked<'_>, nodes: &mut NodeSet) -> bool {
        nodes.clear(ask.view.platform.len());
        self.members(ask).for_each(|(_, node)| _ = nodes.insert(node));
        nodes.len() >= ask.nodes && self.has_licences(ask)
    }

    fn keep_fitting(&self, ask: &Asked<'_>, nodes: &mut NodeSet) -> bool {
        nodes.retain(|node| self.has(node, ask));
        nodes.len() >= ask.nodes && self.has_licences(ask)
    }

    fn copy_from(&mut self, other: &Self) {
        self.slots.clone_from(&other.slots);
        self.gpus.clone_from(&other.gpus);
        self.memory.clone_from(&other.memory);
        self.licences.clone_from(&other.licences);
    }

    fn suffices(&self, ask: &Asked<'_>) -> bool {
        let wanted = ask.nodes as usize;
        self.has_licences(ask) && self.members(ask).take(wanted).count() == wanted
    }

    fn take(&mut self, lot: &(&View<'_>, JobId, &[u32])) -> bool {
        self.change(lot, -1);
        true
    }

    fn give(&mut self, lot: &(&View<'_>, JobId, &[u32])) -> bool {
        self.change(lot, 1);
        true
    }

    fn open(&mut self, _view: &View<'_>, node: u32, slots: i32) -> bool {
        self.slots[node as usize] += i64::from(slots);
        true
    }

    fn close(&mut self, _view: &View<'_>, node: u32) -> bool {
        self.slots[node as usize] = i64::MIN / 2;
        true
    }
}

impl Chosen for Supply {
    fn facts<'c>(view: &'c View<'c>) -> &'c View<'c> {
        view
    }

    fn now(view: &View<'_>, _spare: Option<Self>) -> Self {
        let cells = cells(view);
        let slots = (0..view.platform.len()).map(|node| i64::from(view.slots.free_on(node))).collect();
        let (gpus, memory) = cells.stock().iter().copied().unzip();
        let licences = view.shares.map_or(&[][..], |shares| shares.licences()).to_vec();
        let mut supply = Self { slots, gpus, memory, licences };
        if !supply.gpus.is_empty() {
            for (_, run) in view.runs.iter() {
                let want = cells.want(run.job);
                for &node in view.runs.nodes(run) {
                    supply.gpus[node as usize] -= want.gpus;
                    supply.memory[node as usize] -= want.memory;
                }
            }
        }
        supply
    }

    fn likeness(view: &View<'_>, job: JobId) -> (usize, u32) {
        let queue = view.queues.map_or(0, |queues| usize::from(queues.number(job)));
        let want = view.shares.map_or(0, |shares| shares.cells().number(job));
        (want << u16::BITS | queue, view.jobs.need(job, view.platform))
    }

    fn told(_view: &View<'_>, job: JobId) -> i32 {
        job.0.cast_signed()
    }

    fn choose(&self, view: &View<'_>, own: Own<'_>, need: &NodeNeed, nodes: &mut Vec<u32>) {
        let asked = Self::ask(view, need);
        let spreads = view.queues.is_some_and(|queues| queues.spreads(asked.job));
        let fullness = |node: u32| if spreads { -self.slots[node as usize] } else { self.slots[node as usize] };
        let mut members: Vec<_> = self
            .members(&asked)
            .filter(|&(_, node)| own.nodes.contains(node))
            .map(|(place, node)| (own.claim(node), place, fullness(node), node))
            .collect();
        members.sort_unstable();
        nodes.extend(members.iter().take(need.nodes as usize).map(|&(.., node)| node));
    }

    fn kept(memory: &mut Memory) -> &mut Kept<Self> {
        &mut memory.supply
    }
}
