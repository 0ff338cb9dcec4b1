//! The best free nodes of a ranking: for the job's own application, or for all applications alike.

use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::placement::Placement;
use crate::policy::placement::random::Lots;
use crate::policy::placement::rank_by::{ByApplication, RankBy};
use crate::policy::placement::ranking::Ranking;
use crate::policy::{Decisions, View};
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
    /// With lots of the run with this seed.
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
    fn place(&mut self, view: &View<'_>, starts: &[JobId], free: &mut NodeSet, out: &mut Decisions) -> Result<()> {
        for &job in starts {
            let count = view.jobs.node_count(job);
            let ranking = self.0.of(view, job);
            out.start_with(job, |nodes| ranking.take_best(view.slots, free, count, nodes));
        }
        Ok(())
    }

    fn finds_fewest_watts(&self) -> bool {
        true
    }
}

impl Placement for LowestPowerCpu {
    fn place(&mut self, view: &View<'_>, starts: &[JobId], free: &mut NodeSet, out: &mut Decisions) -> Result<()> {
        for &job in starts {
            if view.jobs.on_gpu(job) {
                let count = view.jobs.node_count(job);
                out.start_with(job, |nodes| self.others.take(count, free, nodes));
            } else {
                self.own.place(view, &[job], free, out)?;
            }
        }
        Ok(())
    }
}

impl Placement for BestRank {
    fn place(&mut self, view: &View<'_>, starts: &[JobId], free: &mut NodeSet, out: &mut Decisions) -> Result<()> {
        let ranking = self.ranking.get_or_insert_with(|| self.by.for_all(view));
        for &job in starts {
            let count = view.jobs.node_count(job);
            out.start_with(job, |nodes| ranking.take_best(view.slots, free, count, nodes));
        }
        Ok(())
    }
}
