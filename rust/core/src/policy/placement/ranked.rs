//! The best free nodes of a ranking: for the job's own application, or for all applications alike.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::placement::random::{DRAWN, Lots};
use crate::policy::placement::rank_by::{ByApplication, RankBy};
use crate::policy::placement::ranking::Ranking;
use crate::policy::placement::{Choice, Placement};
use crate::policy::recollection::Recollection;
use crate::workload::JobId;

/// The free nodes with the lowest predicted watts for this job's application; time factors do not count.
#[derive(Clone, Debug)]
pub struct LowestPower(ByApplication);

/// The same for jobs that compute on CPUs; any free nodes for all others: CVA of the VAHRM paper (section V-C).
#[derive(Clone, Debug)]
pub struct LowestPowerCpu {
    own: LowestPower,
    others: Lots,
}

/// The free nodes of the best application-unaware rank: PAA of the COA paper.
#[derive(Clone, Debug)]
pub struct BestRank {
    by: RankBy,
    ranking: Option<Ranking>,
}

impl Default for LowestPower {
    fn default() -> Self {
        Self(ByApplication::new(RankBy::Power))
    }
}

impl LowestPowerCpu {
    /// Draws the nodes of jobs on other devices with the run's seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { own: LowestPower::default(), others: Lots::new(seed) }
    }
}

impl BestRank {
    /// A ranking by `by`.
    #[must_use]
    pub fn new(by: RankBy) -> Self {
        Self { by, ranking: None }
    }
}

impl Placement for LowestPower {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        let count = ask.view.jobs.node_count(job);
        self.0.of(ask.view, job).take_best(ask.view.slots, free, count, nodes);
        Ok(Choice::FewestWatts)
    }
}

impl Placement for LowestPowerCpu {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        if !ask.view.jobs.on_gpu(job) {
            self.own.choose(ask, job, free, nodes)?;
            return Ok(Choice::Chosen);
        }
        self.others.take(ask.view.jobs.node_count(job), free, nodes);
        Ok(Choice::Chosen)
    }

    fn remember(&self, kept: &mut Recollection) {
        self.others.remember(DRAWN, kept);
    }

    fn recall(&mut self, _view: &View<'_>, kept: &Recollection) {
        self.others.recall(DRAWN, kept);
    }
}

impl Placement for BestRank {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        let ranking = self.ranking.get_or_insert_with(|| self.by.for_all(ask.view));
        ranking.take_best(ask.view.slots, free, ask.view.jobs.node_count(job), nodes);
        Ok(Choice::Chosen)
    }

    fn show(&mut self, ask: &Ask<'_>, _: JobId, free: &NodeSet, look: &mut dyn FnMut(u32) -> bool) -> bool {
        let ranking = self.ranking.get_or_insert_with(|| self.by.for_all(ask.view));
        ranking.free_nodes(ask.view.slots, free).all(look);
        true
    }
}
