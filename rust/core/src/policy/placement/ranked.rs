//! The best free nodes of a ranking: for the job's own application, or for all applications alike.

use std::collections::BTreeMap;

use crate::algo::node_set::NodeSet;
use crate::policy::placement::ranking::Ranking;
use crate::policy::placement::{Placement, Starting};
use crate::policy::{Decisions, View};
use crate::workload::JobId;

/// The free nodes with the lowest predicted watts for this job's application; time factors do not count.
#[derive(Clone, Debug, Default)]
pub struct LowestPower {
    /// One ranking for each table row, with and without a measured draw of the job's own; sorted when first asked for.
    rankings: BTreeMap<(Option<usize>, bool), Ranking>,
}

/// What the application-unaware rank goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankBy {
    /// Mean predicted watts over the table's applications.
    Power,
    /// Mean predicted time factor over the table's applications, then mean predicted watts.
    Time,
}

/// The free nodes of the best application-unaware rank: PAA of the COA paper.
#[derive(Clone, Debug)]
pub struct BestRank {
    by: RankBy,
    ranking: Option<Ranking>,
}

impl LowestPower {
    fn ranking(&mut self, view: &View<'_>, job: JobId) -> &mut Ranking {
        let (app, measured_w) = (view.jobs.app(job), view.jobs.power_w(job));
        // All measured draws rank the nodes alike: a ratio row scales them all, and without a row nodes do not differ.
        let key = (view.predicted.row(app), measured_w > 0.0);
        self.rankings.entry(key).or_insert_with(|| {
            let reference_w = if measured_w > 0.0 { REFERENCE_W } else { 0.0 };
            let draws: Vec<_> =
                (0..view.platform.len()).map(|node| view.predicted.draw(app, reference_w, node)).collect();
            Ranking::sorted(view.platform.len(), |a, b| draws[a as usize].cmp(&draws[b as usize]))
        })
    }
}

/// Large enough that no two factors that differ rank alike, whatever the job's own draw.
const REFERENCE_W: f64 = 1e6;

impl BestRank {
    /// A ranking by `by`.
    #[must_use]
    pub fn new(by: RankBy) -> Self {
        Self { by, ranking: None }
    }

    fn sorted(by: RankBy, view: &View<'_>) -> Ranking {
        let nodes = 0..view.platform.len();
        let keys: Vec<_> = nodes
            .map(|node| {
                let time = if by == RankBy::Time { view.predicted.mean_time_ratio(node) } else { 0.0 };
                (time, view.predicted.mean_draw(node))
            })
            .collect();
        Ranking::sorted(view.platform.len(), |a, b| {
            let (a, b) = (keys[a as usize], keys[b as usize]);
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    }
}

impl Placement for LowestPower {
    fn place(&mut self, view: &View<'_>, starts: &[Starting], free: &mut NodeSet, out: &mut Decisions) {
        for start in starts {
            let count = view.jobs.node_count(start.job);
            let ranking = self.ranking(view, start.job);
            out.start_with(start.job, start.overtakes, |nodes| ranking.take_best(view.slots, free, count, nodes));
        }
    }
}

impl Placement for BestRank {
    fn place(&mut self, view: &View<'_>, starts: &[Starting], free: &mut NodeSet, out: &mut Decisions) {
        let ranking = self.ranking.get_or_insert_with(|| Self::sorted(self.by, view));
        for start in starts {
            let count = view.jobs.node_count(start.job);
            out.start_with(start.job, start.overtakes, |nodes| ranking.take_best(view.slots, free, count, nodes));
        }
    }
}
