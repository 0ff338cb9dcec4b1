//! Free capacity of each node where nodes differ: slots, GPUs and memory. Licences belong to no node.

use crate::algo::horizon::{Freedom, Need};
use crate::algo::node_set::NodeSet;
use crate::platform::cells::{Cells, Want};
use crate::policy::View;
use crate::policy::backfill::named::chosen::{Chosen, Own};
use crate::workload::JobId;

/// Free slots, GPUs and memory of each node, and free licences. A job's row stands for its slots.
#[derive(Clone)]
pub(super) struct Supply<'a> {
    view: &'a View<'a>,
    cells: &'a Cells,
    slots: Vec<i64>,
    /// Empty where jobs get whole nodes: the stock of a node then only decides which jobs it can serve.
    gpus: Vec<i64>,
    memory: Vec<i64>,
    licences: Vec<i64>,
}

impl PartialEq for Supply<'_> {
    fn eq(&self, other: &Self) -> bool {
        (&self.slots, &self.gpus, &self.memory, &self.licences)
            == (&other.slots, &other.gpus, &other.memory, &other.licences)
    }
}

impl Supply<'_> {
    fn want(&self, job: JobId) -> &Want {
        self.cells.want(job)
    }

    fn slots_of(&self, job: JobId) -> i64 {
        i64::from(self.view.jobs.need(job, self.view.platform))
    }

    /// True if a node, of a cell that can serve the job, has enough left.
    fn has(&self, node: u32, slots: i64, want: &Want) -> bool {
        let node = node as usize;
        self.slots[node] >= slots
            && (self.gpus.is_empty() || self.gpus[node] >= want.gpus && self.memory[node] >= want.memory)
    }

    fn has_licences(&self, want: &Want) -> bool {
        let first = self.cells.sets().len();
        want.licences.iter().all(|&(thing, need)| self.licences[usize::from(thing) - first] >= need)
    }

    /// Nodes that have enough for a job, the plainest cell first.
    fn members(&self, job: JobId) -> impl Iterator<Item = (usize, u32)> + '_ {
        let (want, slots) = (self.want(job), self.slots_of(job));
        let cells = want.cells.iter().enumerate();
        let nodes = cells.filter_map(|(place, &cell)| Some((place, self.cells.nodes(cell)?)));
        let each = nodes.flat_map(|(place, set)| set.iter().map(move |node| (place, node)));
        let own = self.view.queues.map(|queues| queues.nodes(job));
        each.filter(move |&(_, node)| own.is_none_or(|own| own.contains(node)) && self.has(node, slots, want))
    }

    fn change(&mut self, job: JobId, nodes: &[u32], sign: i64) {
        let (slots, cells) = (sign * self.slots_of(job), self.cells);
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

impl Freedom for Supply<'_> {
    type Ask = Need;

    type Lot<'n> = (&'n [u32], i32);

    fn ask(&self, need: &Need) -> Need {
        *need
    }

    fn lot<'n>(&self, nodes: &'n [u32], told: i32) -> (&'n [u32], i32) {
        (nodes, told)
    }

    fn fitting(&self, ask: &Need, nodes: &mut NodeSet) -> bool {
        let job = job_of(ask.slots);
        nodes.clear(self.view.platform.len());
        self.members(job).for_each(|(_, node)| _ = nodes.insert(node));
        nodes.len() >= ask.nodes && self.has_licences(self.want(job))
    }

    fn keep_fitting(&self, ask: &Need, nodes: &mut NodeSet) -> bool {
        let job = job_of(ask.slots);
        let (want, slots) = (self.want(job), self.slots_of(job));
        nodes.retain(|node| self.has(node, slots, want));
        nodes.len() >= ask.nodes && self.has_licences(want)
    }

    fn copy_from(&mut self, other: &Self) {
        self.slots.clone_from(&other.slots);
        self.gpus.clone_from(&other.gpus);
        self.memory.clone_from(&other.memory);
        self.licences.clone_from(&other.licences);
    }

    fn suffices(&self, need: &Need) -> bool {
        let job = job_of(need.slots);
        let wanted = need.nodes as usize;
        self.has_licences(self.want(job)) && self.members(job).take(wanted).count() == wanted
    }

    fn take(&mut self, &(nodes, told): &(&[u32], i32)) -> bool {
        self.change(job_of(told), nodes, -1);
        true
    }

    fn give(&mut self, &(nodes, told): &(&[u32], i32)) -> bool {
        self.change(job_of(told), nodes, 1);
        true
    }

    fn open(&mut self, node: u32, slots: i32) -> bool {
        self.slots[node as usize] += i64::from(slots);
        true
    }

    fn close(&mut self, node: u32) -> bool {
        self.slots[node as usize] = i64::MIN / 2;
        true
    }
}

impl<'a> Chosen<'a> for Supply<'a> {
    fn now(view: &'a View<'a>, _spare: Option<Self>) -> Self {
        // A supply is used only where there are shares.
        let shares = view.shares.expect("nodes differ");
        let cells = shares.cells();
        let slots = (0..view.platform.len()).map(|node| i64::from(view.slots.free_on(node))).collect();
        let (gpus, memory) = cells.stock().iter().copied().unzip();
        let mut supply = Self { view, cells, slots, gpus, memory, licences: shares.licences().to_vec() };
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

    fn choose(&self, own: Own<'_>, need: &Need, nodes: &mut Vec<u32>) {
        let spreads = self.view.queues.is_some_and(|queues| queues.spreads(job_of(need.slots)));
        let fullness = |node: u32| if spreads { -self.slots[node as usize] } else { self.slots[node as usize] };
        let mut members: Vec<_> = self
            .members(job_of(need.slots))
            .filter(|&(_, node)| own.nodes.contains(node))
            .map(|(place, node)| (own.claim(node), place, fullness(node), node))
            .collect();
        members.sort_unstable();
        nodes.extend(members.iter().take(need.nodes as usize).map(|&(.., node)| node));
    }
}
