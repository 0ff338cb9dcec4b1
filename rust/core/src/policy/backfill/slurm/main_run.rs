//! A run of the main loop (rules 15 to 19).

use crate::algo::fit_list::FitList;
use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::backfill::slurm::state::State;
use crate::policy::desk::Desk;

/// Progress of a run of the main loop.
struct Run {
    /// Available nodes that no failed partition has.
    open: NodeSet,
    /// True for each partition that has failed.
    failed: Vec<bool>,
    /// Jobs of each partition looked at.
    looked_at: Vec<u32>,
    depth: u32,
    starts: u32,
}

impl Run {
    /// Fails a partition: nothing more starts in it, or on its nodes.
    fn fail(&mut self, partition: usize, nodes: &NodeSet) {
        if !std::mem::replace(&mut self.failed[partition], true) {
            self.open.remove_set(nodes);
        }
    }
}

impl State {
    /// Walks the pending jobs and starts those that fit, until their partitions fail. A run that is not full looks at
    /// the first `default_queue_depth` + 1 jobs.
    pub(super) fn main_run(&mut self, desk: &mut Desk<'_>, queue: &mut FitList, is_full: bool) -> Result<()> {
        let parts = self.partitions.len();
        let mut run = Run {
            open: self.nodes.available.clone(),
            failed: vec![false; parts],
            looked_at: vec![0; parts],
            depth: 0,
            starts: 0,
        };
        self.sort_starving(desk.view.now);
        let rules = self.settings.main.clone();
        let mut place = 0;
        while place < self.pending.list().len() && run.failed.contains(&false) {
            desk.examine()?;
            if self.is_held(desk, place) {
                place += 1;
                continue;
            }
            if rules.max_start > 0 && run.starts >= rules.max_start {
                break;
            }
            let part = usize::from(self.pending.list()[place].partition);
            if rules.partition_depth > 0 {
                run.looked_at[part] += 1;
                if run.looked_at[part] > rules.partition_depth {
                    place += 1;
                    continue;
                }
            }
            if !is_full && run.depth > rules.depth {
                break;
            }
            run.depth += 1;
            if run.failed[part] {
                place += 1;
                continue;
            }
            match self.try_first(desk, queue, place, &mut run)? {
                Next::Started => run.starts += 1,
                Next::Job => place += 1,
                Next::End => break,
            }
        }
        if run.starts > 0 {
            self.stir(desk.view.now);
        } else if !self.pending.is_empty() {
            // A job that could not start counts as a change to backfill (rule 10).
            self.note_change(desk.view.now);
            self.quiet.main |= is_full;
        }
        Ok(())
    }

    /// Tries to start the job in a place, whose partition has not failed.
    fn try_first(&mut self, desk: &mut Desk<'_>, queue: &mut FitList, place: usize, run: &mut Run) -> Result<Next> {
        let now = self.clock.second(desk.view.now);
        let job = self.pending.list()[place].clone();
        let part = usize::from(job.partition);
        if run.open.common(&self.partitions[part]) < job.need {
            run.fail(part, &self.partitions[part]);
            return Ok(Next::Job);
        }
        if self.lacks_licences(&job) {
            return Ok(if self.settings.backfill.licences { Next::End } else { Next::Job });
        }
        self.weigh(part);
        let mut usable = self.usable[job.usable].clone();
        usable.keep_common(&run.open);
        if self.start(desk, queue, place, &usable)? {
            return Ok(Next::Started);
        }
        let backfill = &self.settings.backfill;
        if job.priority >= backfill.min_priority && job.age(now) >= backfill.min_age {
            run.fail(part, &self.partitions[part]);
        }
        Ok(Next::Job)
    }
}

/// Way on after a job was tried.
enum Next {
    /// It has started; the next one stands in its place.
    Started,
    /// The next job.
    Job,
    /// No further job.
    End,
}
