//! Nodes that several jobs share, slot by slot: the runs on each, and the energy that each is charged.
//!
//! A job's share of a node's draw is its slots' part of what the whole node would draw with it on all slots, plus a
//! part, by slots, of the idle draw of the free slots. Shares are whole picowatts and the node draws their sum, so the
//! books balance.

use crate::cluster::runs::RunId;
use crate::platform::Platform;
use crate::power::meter::Meter;
use crate::units::{Joules, SimTime, Watts};

#[derive(Clone, Copy, Debug)]
struct Resident {
    run: RunId,
    slots: u32,
    /// Draw of the whole node with this job on all its slots.
    whole: Watts,
    /// Draw that the job is charged for now.
    share: Watts,
}

/// Runs on each node, and the energy of each run so far.
#[derive(Clone, Debug)]
pub(super) struct Sharing {
    residents: Vec<Vec<Resident>>,
    /// Energy so far, by the run's slot.
    energy: Vec<Joules>,
}

impl Sharing {
    pub(super) fn new(nodes: u32) -> Self {
        Self { residents: vec![Vec::new(); nodes as usize], energy: Vec::new() }
    }

    /// Begins a run, which has drawn nothing yet.
    pub(super) fn begin(&mut self, run: RunId) {
        let slot = run.slot() as usize;
        if self.energy.len() <= slot {
            self.energy.resize(slot + 1, Joules::ZERO);
        }
        self.energy[slot] = Joules::ZERO;
    }

    /// Charges all runs on a node up to now, before anything changes there.
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

    /// Puts a run on a node; returns the node's draw then.
    pub(super) fn join(&mut self, platform: &Platform, node: u32, run: RunId, slots: u32, whole: Watts) -> Watts {
        self.residents[node as usize].push(Resident { run, slots, whole, share: Watts::ZERO });
        self.share_out(platform, node)
    }

    /// Sets a run's draw on a node, as that of the whole node with it on all slots; returns the node's draw then.
    pub(super) fn redraw(&mut self, platform: &Platform, node: u32, run: RunId, whole: Watts) -> Watts {
        for resident in self.residents[node as usize].iter_mut().filter(|resident| resident.run == run) {
            resident.whole = whole;
        }
        self.share_out(platform, node)
    }

    /// Draw of a node with a run on all its slots, as it was set last; zero if the run is not there.
    pub(super) fn whole(&self, node: u32, run: RunId) -> Watts {
        let own = self.residents[node as usize].iter().find(|resident| resident.run == run);
        own.map_or(Watts::ZERO, |resident| resident.whole)
    }

    /// Takes a run off a node; returns the node's draw then, if any run is left.
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

    /// Energy that a run has been charged so far.
    pub(super) fn energy(&self, run: RunId) -> Joules {
        self.energy[run.slot() as usize]
    }
}
