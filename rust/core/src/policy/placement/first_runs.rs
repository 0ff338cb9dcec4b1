//! Any free nodes for jobs whose draw is not known yet (VAHRM, section VI-C-6).

use crate::algo::node_set::NodeSet;
use crate::cluster::counted::Estimate;
use crate::error::Result;
use crate::policy::View;
use crate::policy::analyzer::Ask;
use crate::policy::placement::random::Lots;
use crate::policy::placement::{Choice, News, Placement, Verdict};
use crate::policy::recollection::Recollection;
use crate::workload::JobId;

/// Another placement, but for first runs, which go to random nodes. Jobs are placed one by one.
#[derive(Clone)]
pub struct FirstRunsByLot {
    others: Box<dyn Placement>,
    lots: Lots,
}

impl FirstRunsByLot {
    /// Draws the nodes of first runs with the run's seed.
    #[must_use]
    pub fn new(others: Box<dyn Placement>, seed: u64) -> Self {
        Self { others, lots: Lots::of_stream(seed, "first runs") }
    }
}

impl Placement for FirstRunsByLot {
    fn choose(&mut self, ask: &Ask<'_>, job: JobId, free: &mut NodeSet, nodes: &mut Vec<u32>) -> Result<Choice> {
        if ask.estimate(job) == Estimate::Predicted {
            return self.others.choose(ask, job, free, nodes);
        }
        // A job that would be refused nodes does not get random ones either.
        if self.others.judge(ask, job, free) == Verdict::Refused {
            return Ok(Choice::Refused);
        }
        self.lots.take(ask.view.jobs.node_count(job), free, nodes);
        Ok(Choice::Chosen)
    }

    fn judge(&mut self, ask: &Ask<'_>, job: JobId, free: &NodeSet) -> Verdict {
        self.others.judge(ask, job, free)
    }

    fn notice(&mut self, view: &View<'_>, news: News) -> Result<()> {
        self.others.notice(view, news)
    }

    fn remember(&self, kept: &mut Recollection) {
        self.others.remember(kept);
        self.lots.remember("drawn for first runs", kept);
    }

    fn recall(&mut self, view: &View<'_>, kept: &Recollection) {
        self.others.recall(view, kept);
        self.lots.recall("drawn for first runs", kept);
    }
}
