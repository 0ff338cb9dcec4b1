//! Jobs that have nodes, and the test of when a job would run: the will-run test (rules 20 to 26).

use std::ops::Range;

use crate::algo::fit_list::Waiting;
use crate::algo::node_set::NodeSet;
use crate::policy::backfill::slurm::nodes::Nodes;
use crate::policy::backfill::slurm::settings::SlurmRelease;
use crate::units::SimTime;

/// Progress of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its script runs.
    Running,
    /// Its script starts at that instant.
    Starts(SimTime),
    /// It waits for nodes to boot.
    Boots,
}

/// A job that has nodes.
#[derive(Clone, Debug)]
pub(super) struct Allocation {
    pub(super) waiting: Waiting,
    /// Planned end, in seconds.
    pub(super) end: i64,
    /// Limit, in seconds.
    pub(super) limit: i64,
    /// Its nodes, in the order in which they were chosen.
    pub(super) nodes: Vec<u32>,
    pub(super) set: NodeSet,
    /// Words of the set in which its nodes are.
    places: Range<usize>,
    pub(super) stage: Stage,
    pub(super) licences: Vec<(u16, i64)>,
    /// Number of allocations before it.
    pub(super) number: u64,
}

impl Allocation {
    fn key(&self) -> (i64, u32) {
        (self.end, self.waiting.key.row)
    }
}

/// All jobs that have nodes, by planned end, then by row.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    list: Vec<Allocation>,
    made: u64,
}

/// Question for the will-run test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    /// Nodes that may be used.
    pub(super) usable: &'a NodeSet,
    /// Number of nodes that are needed.
    pub(super) need: u32,
    /// Present second.
    pub(super) now: i64,
    /// Next edge of the table, after which another try is made.
    pub(super) later: Option<i64>,
    /// True if only a start now is of interest.
    pub(super) only_now: bool,
    /// True if the nodes of a start after `later` are of no interest.
    pub(super) is_silent: bool,
}

/// Constants of the test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) window_linear: i64,
    pub(super) kill_wait: i64,
    pub(super) release: SlurmRelease,
}

/// Answer of the will-run test.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    /// Second of the start.
    pub(super) start: i64,
    pub(super) nodes: Vec<u32>,
    /// True if a job over its limit decided the start, which then moves with the present.
    pub(super) is_guess: bool,
}

/// Chooses so many nodes of a set for the job; none if it gets none of them.
pub(super) type Choose<'a> = dyn FnMut(&NodeSet, u32) -> Option<Vec<u32>> + 'a;

/// First window behind the barrier, and the barrier's grid, in seconds.
const WINDOW: i64 = 30;
/// Number of jobs taken away in one group beyond which no test is made.
const GROUP: u32 = 200;

impl Running {
    /// The jobs, by planned end.
    pub(super) fn list(&self) -> &[Allocation] {
        &self.list
    }

    /// Adds a job on its nodes.
    pub(super) fn add(
        &mut self,
        (waiting, nodes, stage): (Waiting, Vec<u32>, Stage),
        (end, limit): (i64, i64),
        licences: Vec<(u16, i64)>,
        all: u32,
    ) {
        let mut set = NodeSet::empty(all);
        set.insert_all(&nodes);
        self.made += 1;
        let made =
            Allocation { waiting, end, limit, nodes, places: set.places(), set, stage, licences, number: self.made };
        let place = self.list.partition_point(|other| other.key() < made.key());
        self.list.insert(place, made);
    }

    /// Notes that the script of the job in a place starts. If its nodes had to boot, its limit counts from now.
    pub(super) fn begin(&mut self, place: usize, now: i64) {
        let mut moved = self.list.remove(place);
        if moved.stage == Stage::Boots {
            moved.end = now + moved.limit;
        }
        moved.stage = Stage::Running;
        let place = self.list.partition_point(|other| other.key() < moved.key());
        self.list.insert(place, moved);
    }

    /// The job in a place.
    pub(super) fn at(&mut self, place: usize) -> &mut Allocation {
        &mut self.list[place]
    }

    /// Removes the job in a place.
    pub(super) fn remove(&mut self, place: usize) -> Allocation {
        self.list.remove(place)
    }

    /// The least planned end after a second.
    pub(super) fn next_end(&self, now: i64) -> Option<i64> {
        self.list.get(self.list.partition_point(|job| job.end <= now)).map(|job| job.end)
    }

    /// Tests when and where a job would run: now on free nodes, else once jobs are taken away group by group, the
    /// earliest planned end first. Groups end at a barrier, the next multiple of 30 s after the first end, and windows
    /// behind it that double.
    pub(super) fn will_run(
        &self,
        nodes: &Nodes,
        ask: Question<'_>,
        rules: Rules,
        choose: &mut Choose<'_>,
    ) -> Option<Answer> {
        let mut free = ask.usable.clone();
        free.keep(|word| nodes.free.words()[word]);
        if free.len() >= ask.need
            && let Some(chosen) = choose(&free, ask.need)
        {
            return Some(Answer { start: ask.now, nodes: chosen, is_guess: false });
        }
        if ask.only_now || ask.usable.len() < ask.need {
            return None;
        }
        let mut groups = Groups { running: self, at: 0, barrier: None, window: WINDOW };
        loop {
            let (last, more) = groups.next_group(&mut free, ask, rules)?;
            if let Some(last) = last
                && free.len() >= ask.need
            {
                let end = self.list[last].end;
                if ask.is_silent && rules.release < SlurmRelease::R2505 && ask.later.is_some_and(|later| end > later) {
                    return Some(Answer { start: end, nodes: Vec::new(), is_guess: false });
                }
                return self.answer(choose(&free, ask.need)?, last, (ask, rules));
            }
            if !more {
                return None;
            }
        }
    }

    /// The answer once enough nodes are free, after the job in place `last` was taken away.
    #[expect(clippy::unnecessary_wraps, reason = "it is the answer of the whole test")]
    fn answer(&self, chosen: Vec<u32>, last: usize, (ask, rules): (Question<'_>, Rules)) -> Option<Answer> {
        let uses = |job: &Allocation| chosen.iter().any(|&node| job.set.contains(node));
        let mut end = self.list[last].end;
        if rules.release >= SlurmRelease::R2505 {
            end = self.list[..=last].iter().rev().find(|job| uses(job)).map_or(end, |job| job.end);
        }
        let is_guess = end <= ask.now;
        let start = if is_guess { (end + rules.kill_wait).max(ask.now + 1) } else { end };
        Some(Answer { start, nodes: chosen, is_guess })
    }
}

/// The running jobs, taken away group by group.
struct Groups<'a> {
    running: &'a Running,
    /// Place of the next job.
    at: usize,
    barrier: Option<i64>,
    window: i64,
}

impl Groups<'_> {
    /// Takes the next group away: adds its nodes to `free`. Returns the place of its last job, none where no test is
    /// made, and whether jobs may be left; none if no job was taken away.
    fn next_group(&mut self, free: &mut NodeSet, ask: Question<'_>, rules: Rules) -> Option<(Option<usize>, bool)> {
        let jobs = &self.running.list;
        let (mut last, mut following, mut removed, mut more) = (None, None, 0, true);
        loop {
            let Some(job) = jobs.get(self.at) else {
                more = false;
                break;
            };
            if rules.release >= SlurmRelease::R2411 && ask.later.is_some_and(|later| job.end > later) {
                more = false;
                break;
            }
            self.at += 1;
            if free.insert_common(ask.usable, (&job.set, job.places.clone())) == 0 {
                continue;
            }
            let barrier = *self.barrier.get_or_insert(job.end - job.end.rem_euclid(WINDOW) + WINDOW);
            last = Some(self.at - 1);
            following = jobs.get(self.at).map(|next| next.end);
            match following {
                None => {
                    more = false;
                    break;
                }
                // Only the next job is looked at here, whether it has usable nodes or not (rule 24).
                Some(end) if end > barrier + self.window => break,
                Some(_) => {}
            }
            if removed > GROUP {
                return Some((None, true));
            }
            removed += 1;
        }
        let (_, barrier) = (last?, self.barrier?);
        loop {
            self.window = if rules.window_linear > 0 { self.window + rules.window_linear } else { self.window * 2 };
            if following.is_none_or(|end| end <= barrier + self.window) {
                break;
            }
        }
        Some((last, more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::fit_list::{ClassId, QueueKey};
    use crate::platform::PlatformColumns;
    use crate::units::SimDuration;

    const RULES: Rules = Rules { window_linear: 0, kill_wait: 2, release: SlurmRelease::R2205 };

    fn nodes(count: usize) -> Nodes {
        let alike = |value: f64| vec![value; count];
        let columns = PlatformColumns {
            idle_w: alike(1.0),
            busy_w: alike(1.0),
            tdp_w: alike(1.0),
            off_w: alike(0.0),
            down_w: alike(0.0),
            boot_w: alike(1.0),
            boot_s: alike(0.0),
            shutdown_w: alike(1.0),
            shutdown_s: alike(0.0),
            slots: vec![1; count],
            exclusive: true,
        };
        Nodes::new(&columns.into_platform().unwrap(), &[], 0)
    }

    /// A machine on which a job ends on each node, at these seconds.
    fn busy(ends: &[i64]) -> (Nodes, Running) {
        let (mut nodes, mut running) = (nodes(ends.len()), Running::default());
        for (node, &end) in (0..).zip(ends) {
            nodes.take(&[node]);
            let key = QueueKey { tier: 0, rank: 0, submit: SimTime::default(), row: node };
            let waiting = Waiting { key, units: 1, length: SimDuration::ZERO, watts: 0, class: ClassId::OTHER };
            let all = nodes.len();
            running.add((waiting, vec![node], Stage::Running), (end, end), vec![], all);
        }
        (nodes, running)
    }

    fn start(ends: &[i64], need: u32) -> i64 {
        let (nodes, running) = busy(ends);
        let usable = NodeSet::full(nodes.len());
        let ask = Question { usable: &usable, need, now: 0, later: None, only_now: false, is_silent: false };
        running.will_run(&nodes, ask, RULES, &mut |free, need| nodes.choose(free, need)).unwrap().start
    }

    #[test]
    fn jobs_are_taken_away_in_groups_behind_a_barrier() {
        let ends = [100, 130, 149, 151, 260, 400];
        assert_eq!([1, 2, 3, 4, 5, 6].map(|need| start(&ends, need)), [149, 149, 149, 151, 260, 400]);
        assert_eq!(start(&[100, 151, 160], 1), 100);
    }

    #[test]
    fn a_job_without_usable_nodes_inside_the_bound_lets_the_one_after_it_pass_unseen() {
        let (nodes, running) = busy(&[100, 140, 500]);
        let mut usable = NodeSet::full(3);
        usable.remove(1);
        let ask = Question { usable: &usable, need: 1, now: 0, later: None, only_now: false, is_silent: false };
        assert_eq!(
            running.will_run(&nodes, ask, RULES, &mut |free, need| nodes.choose(free, need)).unwrap().start,
            500
        );
    }

    #[test]
    fn a_job_over_its_limit_is_expected_to_end_soon() {
        let (nodes, running) = busy(&[10]);
        let usable = NodeSet::full(1);
        let ask = Question { usable: &usable, need: 1, now: 10, later: None, only_now: false, is_silent: false };
        let answer = running.will_run(&nodes, ask, RULES, &mut |free, need| nodes.choose(free, need)).unwrap();
        assert_eq!((answer.start, answer.is_guess), (12, true));
    }
}
