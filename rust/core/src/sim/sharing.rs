//! Nodes that several jobs share, slot by slot: who is on them, and who pays for what.
//!
//! A job's share of a node's draw is its slots' part of what the job would draw there alone, and of the idle draw of the
//! free slots its part by slots. Shares are whole picowatts and the node draws their sum, so the books balance.

use crate::cluster::runs::RunId;
use crate::platform::Platform;
use crate::power::meter::Meter;
use crate::units::{Joules, SimTime, Watts};

#[derive(Clone, Copy, Debug)]
struct Resident {
    run: RunId,
    slots: u32,
    /// What the whole node would draw with this job on all its slots.
    whole: Watts,
    /// What the job is charged for now.
    share: Watts,
}

/// Who is on each node, and what each run has drawn so far.
#[derive(Clone, Debug)]
pub(super) struct Sharing {
    residents: Vec<Vec<Resident>>,
    /// By the run's slot.
    energy: Vec<Joules>,
}

impl Sharing {
    pub(super) fn new(nodes: u32) -> Self {
        Self { residents: vec![Vec::new(); nodes as usize], energy: Vec::new() }
    }

    /// A run begins: it has drawn nothing yet.
    pub(super) fn begin(&mut self, run: RunId) {
        let slot = run.slot() as usize;
        if self.energy.len() <= slot {
            self.energy.resize(slot + 1, Joules::ZERO);
        }
        self.energy[slot] = Joules::ZERO;
    }

    /// Charges everyone on a node up to now, before anything changes there.
    pub(super) fn settle(&mut self, meter: &Meter, node: u32, now: SimTime) {
        let span = now - meter.node_since(node);
        for resident in &self.residents[node as usize] {
            self.energy[resident.run.slot() as usize] += resident.share * span;
        }
    }

    /// Charges one run on a node up to now; nothing may be settled on that node for it again.
    pub(super) fn settle_run(&mut self, meter: &Meter, node: u32, run: RunId, now: SimTime) {
        let span = now - meter.node_since(node);
        for resident in self.residents[node as usize].iter().filter(|resident| resident.run == run) {
            self.energy[run.slot() as usize] += resident.share * span;
        }
    }

    /// A run comes to a node; returns what the node draws then.
    pub(super) fn join(&mut self, platform: &Platform, node: u32, run: RunId, slots: u32, whole: Watts) -> Watts {
        self.residents[node as usize].push(Resident { run, slots, whole, share: Watts::ZERO });
        self.share_out(platform, node)
    }

    /// A run has its nodes draw something else: the whole node would draw this with it alone; returns what it draws then.
    pub(super) fn redraw(&mut self, platform: &Platform, node: u32, run: RunId, whole: Watts) -> Watts {
        for resident in self.residents[node as usize].iter_mut().filter(|resident| resident.run == run) {
            resident.whole = whole;
        }
        self.share_out(platform, node)
    }

    /// A run leaves a node; returns what the node draws then, if anyone is left.
    pub(super) fn leave(&mut self, platform: &Platform, node: u32, run: RunId) -> Option<Watts> {
        self.residents[node as usize].retain(|resident| resident.run != run);
        (!self.residents[node as usize].is_empty()).then(|| self.share_out(platform, node))
    }

    fn share_out(&mut self, platform: &Platform, node: u32) -> Watts {
        let (all, idle) = (platform.slots(), platform.node(node).idle);
        let residents = &mut self.residents[node as usize];
        let used: u32 = residents.iter().map(|resident| resident.slots).sum();
        let unused = idle.share(all - used, all);
        for resident in residents.iter_mut() {
            resident.share = resident.whole.share(resident.slots, all) + unused.share(resident.slots, used);
        }
        residents.iter().map(|resident| resident.share).sum()
    }

    /// What a run has drawn so far, as far as it was charged.
    pub(super) fn energy(&self, run: RunId) -> Joules {
        self.energy[run.slot() as usize]
    }
}
