//! Nodes that several jobs share, slot by slot: who is on them, and who pays for what.
//!
//! A job's share of a node's draw is its slots' part of what the job would draw there alone, and of the idle draw of the
//! free slots its part by slots. Shares are whole picowatts and the node draws their sum, so the books balance.

use crate::platform::Platform;
use crate::power::meter::Meter;
use crate::units::{Joules, SimTime, Watts};
use crate::workload::JobId;

#[derive(Clone, Copy, Debug)]
struct Resident {
    job: JobId,
    slots: u32,
    /// What the whole node would draw with this job on all its slots.
    whole: Watts,
    /// What the job is charged for now.
    share: Watts,
}

/// Who is on each node, and what each job has drawn so far.
#[derive(Clone, Debug)]
pub(super) struct Sharing {
    residents: Vec<Vec<Resident>>,
    energy: Vec<Joules>,
}

impl Sharing {
    pub(super) fn new(nodes: u32, jobs: usize) -> Self {
        Self { residents: vec![Vec::new(); nodes as usize], energy: vec![Joules::ZERO; jobs] }
    }

    /// Charges everyone on a node up to now, before anything changes there.
    pub(super) fn settle(&mut self, meter: &Meter, node: u32, now: SimTime) {
        let span = now - meter.node_since(node);
        for resident in &self.residents[node as usize] {
            self.energy[resident.job.0 as usize] += resident.share * span;
        }
    }

    /// Charges one job on a node up to now; nothing may be settled on that node for it again.
    pub(super) fn settle_job(&mut self, meter: &Meter, node: u32, job: JobId, now: SimTime) {
        let span = now - meter.node_since(node);
        for resident in self.residents[node as usize].iter().filter(|resident| resident.job == job) {
            self.energy[job.0 as usize] += resident.share * span;
        }
    }

    /// A job comes to a node; returns what the node draws then.
    pub(super) fn join(&mut self, platform: &Platform, node: u32, job: JobId, slots: u32, whole: Watts) -> Watts {
        self.residents[node as usize].push(Resident { job, slots, whole, share: Watts::ZERO });
        self.share_out(platform, node)
    }

    /// A job leaves a node; returns what the node draws then, if anyone is left.
    pub(super) fn leave(&mut self, platform: &Platform, node: u32, job: JobId) -> Option<Watts> {
        self.residents[node as usize].retain(|resident| resident.job != job);
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

    /// What a job has drawn so far, as far as it was charged.
    pub(super) fn energy(&self, job: JobId) -> Joules {
        self.energy[job.0 as usize]
    }

    /// The jobs on a node.
    pub(super) fn jobs_on(&self, node: u32) -> Vec<JobId> {
        self.residents[node as usize].iter().map(|resident| resident.job).collect()
    }
}
