//! A backfill cycle (rules 29 to 39).

use crate::algo::fit_list::FitList;
use crate::algo::node_set::NodeSet;
use crate::error::Result;
use crate::policy::backfill::slurm::ahead::Ahead;
use crate::policy::backfill::slurm::pending::Pending;
use crate::policy::backfill::slurm::quiet::Fruitless;
use crate::policy::backfill::slurm::running::{Answer, Question, Rules};
use crate::policy::backfill::slurm::state::State;
use crate::policy::backfill::slurm::table::{Table, Window};
use crate::policy::desk::Desk;
use crate::units::SimDuration;

/// Microseconds of a cycle, and of each test in it, where its length is not given.
const CYCLE: i64 = 400;
const TEST: i64 = 60;

/// Progress of a cycle.
struct Cycle {
    table: Table,
    now: i64,
    /// Jobs for which the will-run test was made.
    tested: u32,
    /// Will-run tests made.
    tests: i64,
    starts: u32,
    has_planned: bool,
    /// Jobs of each partition looked at, and plans made for them.
    looked_at: Vec<u32>,
    plans: Vec<u32>,
    /// Jobs of all partitions looked at.
    all: u32,
    /// Nodes that running jobs give back; none after a start.
    ahead: Option<Ahead>,
    /// True if an outcome depended on more than comparisons with the present.
    is_fleeting: bool,
}

/// A job that is being planned.
struct Ask {
    place: usize,
    job: Pending,
    /// True if it gets no plan, only a start now.
    only_now: bool,
}

/// Way on after a job was planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The next job, which stands in the same place as this one has started.
    Same,
    /// The next job.
    Job,
    /// No further job.
    End,
}

impl State {
    /// Plans the pending jobs one after the other, and starts those whose plan is for now. Returns the length of the
    /// cycle.
    pub(super) fn cycle(&mut self, desk: &mut Desk<'_>, queue: &mut FitList) -> Result<SimDuration> {
        self.sort_starving(desk.view.now);
        let mut cycle = self.begin_cycle(desk);
        let rules = self.settings.backfill.clone();
        let mut place = 0;
        while place < self.pending.list().len() && cycle.tested < rules.max_test {
            desk.examine()?;
            if self.is_held(desk, place) {
                place += 1;
                continue;
            }
            let next = match self.question(place, &mut cycle) {
                Some(ask) => self.plan(desk, queue, &ask, &mut cycle)?,
                None => Next::Job,
            };
            match next {
                Next::Same => {}
                Next::Job => place += 1,
                Next::End => break,
            }
        }
        let length = self.settings.timing.cycle;
        let length = length.unwrap_or_else(|| SimDuration::from_micros(CYCLE + TEST * cycle.tests));
        self.end_cycle(desk, &cycle, length);
        Ok(length)
    }

    fn begin_cycle(&self, desk: &Desk<'_>) -> Cycle {
        let (rules, now) = (&self.settings.backfill, self.clock.second(desk.view.now));
        let licences = match desk.view.shares {
            Some(shares) if rules.licences && rules.reserve_running => shares.cells().licences().to_vec(),
            Some(_) | None => self.free_licences().to_vec(),
        };
        let span = (now, now.saturating_add(rules.window));
        let mut table = Table::new(span, rules.resolution, self.nodes.available.clone(), licences);
        if rules.reserve_running {
            let mut jobs: Vec<_> = self.running.list().iter().collect();
            jobs.sort_by_key(|job| job.waiting.key.row);
            for job in jobs {
                if table.made < rules.records {
                    table.reserve((None, job.end), &job.nodes, &job.licences);
                    table.note(if job.end > now { job.end - rules.resolution } else { now + 1 });
                }
            }
        }
        if let Some(end) = self.running.next_end(now) {
            table.note(end);
        }
        let parts = self.partitions.len();
        Cycle {
            table,
            now,
            tested: 0,
            tests: 0,
            starts: 0,
            has_planned: false,
            looked_at: vec![0; parts],
            plans: vec![0; parts],
            all: 0,
            ahead: None,
            is_fleeting: false,
        }
    }

    /// The job in a place, unless it is not looked at in this cycle.
    fn question(&self, place: usize, cycle: &mut Cycle) -> Option<Ask> {
        let (rules, job) = (&self.settings.backfill, self.pending.list()[place].clone());
        let part = usize::from(job.partition);
        let is_young = job.age(cycle.now) < rules.min_age;
        if is_young {
            cycle.table.note(cycle.now + rules.min_age - job.age(cycle.now));
        }
        let has_plans = rules.part_plans > 0 && cycle.plans[part] >= rules.part_plans;
        let only_now = job.priority < rules.min_priority || is_young || has_plans;
        cycle.looked_at[part] += 1;
        let is_beyond_part = rules.max_part > 0 && cycle.looked_at[part] > rules.max_part;
        cycle.all += u32::from(!is_beyond_part);
        let is_beyond = is_beyond_part || (rules.max_user > 0 && cycle.all > rules.max_user);
        let is_short = !rules.licences && self.lacks_licences(&job);
        (!is_beyond && !is_short).then_some(Ask { place, job, only_now })
    }

    /// Plans a job: tries it now, and at each later second at which nodes come back, until a start is found that no
    /// reservation is in the way of.
    fn plan(&mut self, desk: &mut Desk<'_>, queue: &mut FitList, ask: &Ask, cycle: &mut Cycle) -> Result<Next> {
        let (mut from, mut is_counted) = (cycle.now, false);
        loop {
            desk.examine()?;
            if let Some(at) = self.put_off(from, ask, cycle) {
                cycle.tested += u32::from(!std::mem::replace(&mut is_counted, true));
                cycle.tests += 1;
                from = at;
                continue;
            }
            let times = (from, ask.job.limit, cycle.now);
            let Window { nodes, mut later, is_short } =
                cycle.table.window(times, &self.usable[ask.job.usable], self.bound(&ask.job));
            cycle.table.note(if from > cycle.now { from } else { i64::MAX });
            later = later.filter(|_| !ask.only_now);
            let found = if is_short || nodes.len() < ask.job.need {
                None
            } else {
                cycle.tested += u32::from(!std::mem::replace(&mut is_counted, true));
                cycle.tests += 1;
                if let Some(at) = later.filter(|&at| self.is_silent(ask) && self.is_after(at, &nodes, ask, cycle)) {
                    from = at;
                    continue;
                }
                self.will_run(desk, &nodes, ask, (cycle.now, later))?
            };
            let Some(Answer { start, nodes: chosen, is_guess }) = found else {
                let Some(at) = later else { return Ok(Next::Job) };
                from = at;
                continue;
            };
            cycle.is_fleeting |= is_guess;
            if !self.is_silent(ask) {
                let cpus = self.nodes.cpus_of(&chosen);
                self.pending.at(ask.place).note_tested(cpus);
            }
            let mut start = start.max(from);
            if start <= cycle.now && chosen.iter().any(|&node| self.nodes.completing.contains(node)) {
                (start, later, cycle.is_fleeting) = (cycle.now + 1, None, true);
            }
            if start <= cycle.now {
                self.weigh(usize::from(ask.job.partition));
                if self.start(desk, queue, ask.place, &nodes)? {
                    return Ok(self.note_start(ask, cycle));
                }
                (later, cycle.is_fleeting) = (None, true);
            }
            match self.promise((start, later), &chosen, ask, cycle) {
                Promise::Later(at) => from = at,
                Promise::Done(next) => return Ok(next),
            }
        }
    }

    /// True if a test for the job leaves no trace but its answer: its priority does not go by the nodes that it finds,
    /// and no placement draws them.
    fn is_silent(&self, ask: &Ask) -> bool {
        let knows_cpus = || self.nodes.cpus_of_any(ask.job.need) == Some(self.pending.list()[ask.place].cpus());
        !self.manner.lets_place && (self.settings.priority.is_none() || knows_cpus())
    }

    /// True if the will-run test on these nodes answers with a start after a second, or with none.
    fn is_after(&self, second: i64, nodes: &NodeSet, ask: &Ask, cycle: &mut Cycle) -> bool {
        let ahead = cycle.ahead.get_or_insert_with(|| Ahead::new(&self.running, &self.nodes.free));
        ahead.by(second).common(nodes) < ask.job.need
    }

    /// The second of the next try, where it is known that the will-run test would be made from `from` on and answer with
    /// a start after the next try, or with none.
    fn put_off(&self, from: i64, ask: &Ask, cycle: &mut Cycle) -> Option<i64> {
        if from <= cycle.now || ask.only_now || !self.bound(&ask.job).is_empty() || !self.is_silent(ask) {
            return None;
        }
        let ahead = cycle.ahead.get_or_insert_with(|| Ahead::new(&self.running, &self.nodes.free));
        let needs = (&self.usable[ask.job.usable], ask.job.need);
        cycle.table.put_off((from, ask.job.limit), needs, |second| ahead.by(second))
    }

    /// Enters a job that has just started into the table: up to its planned end it blocks there, too (rule 35).
    fn note_start(&self, ask: &Ask, cycle: &mut Cycle) -> Next {
        let rules = &self.settings.backfill;
        let started = self.running.list().iter().find(|job| job.waiting.key.row == ask.job.row());
        if let Some(job) = started.filter(|_| cycle.table.made < rules.records) {
            let licences = if rules.licences { &job.licences[..] } else { &[] };
            cycle.table.reserve((None, job.end), &job.nodes, licences);
        }
        cycle.starts += 1;
        cycle.ahead = None;
        if rules.max_start > 0 && cycle.starts >= rules.max_start { Next::End } else { Next::Same }
    }

    /// Reserves nodes for a start to come, unless another try is due before (rules 36 and 37).
    fn promise(&self, (start, later): (i64, Option<i64>), nodes: &[u32], ask: &Ask, cycle: &mut Cycle) -> Promise {
        let rules = &self.settings.backfill;
        if start > cycle.now {
            cycle.table.note(start);
        }
        if start > cycle.now && ask.only_now {
            return Promise::Done(Next::Job);
        }
        if let Some(later) = later.filter(|&later| start > later) {
            return Promise::Later(later);
        }
        if start > cycle.now + rules.window {
            cycle.table.note(start - rules.window);
            return Promise::Done(Next::Job);
        }
        let end = start + ask.job.limit;
        let licences = self.bound(&ask.job);
        if start > cycle.now && cycle.table.is_taken((start, end), nodes, licences) {
            return Promise::Later(start);
        }
        let part = usize::from(ask.job.partition);
        cycle.plans[part] += 1;
        if cycle.table.made >= rules.records {
            return Promise::Done(Next::End);
        }
        cycle.table.note_cut((start, end), cycle.now);
        cycle.table.reserve((Some(start), end), nodes, licences);
        cycle.has_planned = true;
        Promise::Done(Next::Job)
    }

    /// Licences of a job that the table counts.
    fn bound<'a>(&self, job: &'a Pending) -> &'a [(u16, i64)] {
        if self.settings.backfill.licences { &job.licences } else { &[] }
    }

    /// The will-run test for a job on these nodes.
    fn will_run(
        &self,
        desk: &mut Desk<'_>,
        usable: &NodeSet,
        ask: &Ask,
        (now, later): (i64, Option<i64>),
    ) -> Result<Option<Answer>> {
        let question =
            Question { usable, need: ask.job.need, now, later, only_now: ask.only_now, is_silent: self.is_silent(ask) };
        let rules = Rules {
            window_linear: self.settings.backfill.window_linear,
            kill_wait: self.settings.kill_wait,
            release: self.settings.release,
        };
        let mut fault = None;
        let answer = self.running.will_run(&self.nodes, question, rules, &mut |free, need| {
            self.choose(desk, &ask.job, free, need).unwrap_or_else(|error| {
                fault = Some(error);
                None
            })
        });
        fault.map_or(Ok(answer), Err)
    }

    fn end_cycle(&mut self, desk: &Desk<'_>, cycle: &Cycle, length: SimDuration) {
        let now = desk.view.now;
        if cycle.starts > 0 {
            self.stir(now);
            return;
        }
        if cycle.has_planned {
            self.note_change(now.saturating_add(length));
        }
        let until = self.pending.next_begin(cycle.now).map_or(cycle.table.until, |begin| begin.min(cycle.table.until));
        let outcome = Fruitless { until, length, has_planned: cycle.has_planned };
        self.quiet.cycle = (!cycle.is_fleeting).then_some(outcome);
    }
}

/// Outcome of an attempt to reserve nodes.
enum Promise {
    /// Another try is due, at that second.
    Later(i64),
    /// The job is done with.
    Done(Next),
}
