//! View of a cluster: what a policy may read when it decides.

use crate::algo::releases::Releases;
use crate::cluster::Cluster;
use crate::cluster::jobs::Jobs;
use crate::cluster::runs::Runs;
use crate::cluster::shares::Shares;
use crate::cluster::standby::Standby;
use crate::platform::Platform;
use crate::platform::node_state::NodeState;
use crate::platform::outages::Outages;
use crate::platform::queues::Queues;
use crate::platform::slots::Slots;
use crate::power::budgets::Budgets;
use crate::power::in_force::Profile;
use crate::power::known::KnownDraw;
use crate::power::pvt::Predicted;
use crate::units::{SimTime, Watts};
use crate::workload::JobId;

/// All that a policy reads when it decides.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The instant of the decision.
    pub now: SimTime,
    /// The jobs.
    pub jobs: Jobs<'a>,
    /// The machine.
    pub platform: &'a Platform,
    /// Which slots of which nodes are free.
    pub slots: &'a Slots,
    /// What each node is doing.
    pub nodes: &'a [NodeState],
    /// Which of them cannot serve for being switched off, where the policy does that.
    pub standby: Option<&'a Standby>,
    /// What runs, and what is suspended.
    pub runs: &'a Runs,
    /// When running jobs are planned to end, with the worst that the policy may do to them short of an emergency.
    pub releases: &'a Releases,
    /// Predicted draws and speeds.
    pub predicted: &'a Predicted,
    /// What all running jobs claim beyond the idle machine: the sum of their least watts.
    pub claimed: Watts,
    /// Watts by which nodes that are off or in transition hold less than idle ones.
    pub saved: Watts,
    /// Whether what an emergency took is not given back yet, so that nothing may start.
    pub is_held: bool,
    /// The budgets from outside that there are and will be, in place of the policy's own while they hold.
    pub budgets: &'a Budgets,
    /// Which nodes are out of service, and which will be as far as that is known.
    pub outages: &'a Outages,
    /// What the machine was measured to draw beyond what is predicted; 0 where nothing is measured.
    pub surplus: Watts,
    /// Watts that runs resumed in this pass asked for beyond their least: starts of the pass do not get them.
    pub withheld: Watts,
    /// What running jobs hold of each cell and licence, where nodes differ in what jobs ask for.
    pub shares: Option<&'a Shares>,
    /// The queues, where there are any.
    pub queues: Option<&'a Queues>,
    /// Says whether the host wants to stop; to be asked now and then by a pass that takes long.
    pub interrupted: &'a dyn Fn() -> bool,
}

impl View<'_> {
    /// Where the job stands among queues: those with lower numbers come before all others.
    #[must_use]
    pub fn tier(&self, job: JobId) -> i32 {
        self.queues.map_or(0, |queues| queues.tier(job))
    }

    /// Fewest and most nodes the job can run on here.
    #[must_use]
    pub fn size_range(&self, job: JobId) -> (u32, u32) {
        let (low, high) = self.jobs.size_range(job);
        (low, if low < high { high.min(self.platform.len()).max(low) } else { high })
    }

    /// What is known of the job's own draw before it runs; what it really draws is not for a policy to know.
    #[must_use]
    pub fn known_draw(&self, job: JobId) -> KnownDraw {
        self.jobs.known_draw(self.predicted, job)
    }

    /// What caps that are made for the job go by.
    #[must_use]
    pub fn profile(&self, job: JobId) -> Profile {
        self.jobs.profile(self.predicted, job)
    }

    /// Watts of whole nodes that fall to the slots a job holds of each.
    #[must_use]
    pub fn held(&self, job: JobId, whole: Watts) -> Watts {
        self.jobs.held(job, self.platform, whole)
    }
}

impl Cluster {
    /// What a policy may see of it, when the machine was measured to draw so much more than is predicted.
    #[must_use]
    pub fn view<'a>(&'a self, surplus: Watts, interrupted: &'a dyn Fn() -> bool) -> View<'a> {
        View {
            now: self.now,
            jobs: self.jobs(),
            platform: &self.platform,
            slots: &self.slots,
            nodes: &self.nodes,
            standby: self.standby.as_ref(),
            runs: &self.runs,
            releases: self.foreseen.as_ref().unwrap_or(&self.releases),
            predicted: &self.predicted,
            claimed: self.claimed,
            saved: self.saved,
            is_held: false,
            budgets: &self.budgets,
            outages: &self.outages,
            surplus,
            withheld: Watts::ZERO,
            shares: self.shares.as_ref(),
            queues: self.queues.as_deref(),
            interrupted,
        }
    }
}
