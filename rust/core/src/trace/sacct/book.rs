//! Rows of a dump, collected for joining to jobs: steps, lists of tasks, attempts.

use std::collections::BTreeMap;

use super::energy::Counted;
use super::hosts::Hosts;
use super::index::{Index, Texts};
use super::kept::{Entry, Kept, flag};
use super::name::{Name, Part, Step, Tasks, Written, WrittenPart};
use super::report::Report;
use super::row::Row;
use super::settle::{Misfit, end_of, has_run, is_waiting, settled, state_of};
use super::state::State;
use super::times::Times;
use super::zone::Instant;

const A_LIST: &str = "a list of at most 4,000,001 tasks, such as 1,3-5,8-20:4%2";

/// Contents of a dump, as far as they are kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    pub(super) rows: Kept,
    pub(super) texts: Texts,
    pub(super) hosts: Hosts,
    pub(super) report: Report,
    /// Names of columns, of all header lines.
    pub(super) columns: Vec<String>,
    /// Maximum number of tasks that run at once, by array.
    pub(super) limits: BTreeMap<i64, u32>,
    /// The largest number in a name.
    pub(super) largest: i64,
    /// The last instant in the dump.
    pub(super) last_s: f64,
    /// Energy of steps that started outside all rows of their job.
    pub(super) loose: BTreeMap<u32, Counted>,
    /// The row of the same name before a row, where there is one.
    pub(super) before: BTreeMap<u32, u32>,
    lists: Texts,
    last_rows: Index,
    /// Steps that come before their jobs.
    early: BTreeMap<Name, Vec<StepEnergy>>,
}

/// Energy that a step counted, and its start, by which it belongs to an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepEnergy {
    pub(super) start: Instant,
    pub(super) counted: Counted,
}

impl StepEnergy {
    /// The energy of a row of a step, if it has any that counts.
    fn of(row: &Row<'_>, step: Step) -> Option<Self> {
        let energy_j = if row.energy_j.is_nan() { row.allocated.energy_j } else { row.energy_j };
        if energy_j.is_nan() {
            return None;
        }
        let (times, _) = Times::of(row);
        let nodes = [row.n_nodes, row.alloc_nodes].into_iter().find(|nodes| *nodes > 0);
        let span_s = times.end - times.start;
        let full_s = row.elapsed_s + row.suspended_s;
        let seconds = [full_s, span_s, row.elapsed_s].into_iter().find(|seconds| !seconds.is_nan());
        let counted_s = nodes.zip(seconds).map_or(f64::NAN, |(nodes, seconds)| nodes as f64 * seconds);
        Some(Self { start: row.start, counted: Counted::by(step, energy_j, counted_s)? })
    }
}

impl Book {
    /// Adds a row.
    pub(super) fn add(&mut self, row: &Row<'_>) -> Result<(), Misfit> {
        let written = row.name.expect("rows have names");
        if let Some(step) = written.step {
            self.note(&written, row.raw, None);
            self.report.steps += 1;
            if let Some(energy) = StepEnergy::of(row, step)
                && let Some(name) = Self::name_of(&written)
            {
                self.add_step(name, energy);
            }
            return Ok(());
        }
        let tasks = match written.part {
            WrittenPart::Tasks(list) => {
                let told = || (format!("`{}`", String::from_utf8_lossy(list)), A_LIST);
                Some((list, Tasks::read(list).ok_or_else(told)?))
            }
            _ => None,
        };
        let (times, is_ambiguous) = Times::of(row);
        let (_, state) = state_of(row);
        if state == State::Revoked || times.submit.is_nan() {
            self.note(&written, row.raw, tasks.as_ref().map(|(_, tasks)| tasks));
            self.report.ambiguous_times += u64::from(is_ambiguous);
            let count = if state == State::Revoked {
                &mut self.report.dropped_revoked
            } else {
                &mut self.report.dropped_no_submit
            };
            *count += 1;
            return Ok(());
        }
        let entry = settled(row, times, &mut self.texts, &mut self.hosts)?;
        self.note(&written, row.raw, tasks.as_ref().map(|(_, tasks)| tasks));
        self.report.ambiguous_times += u64::from(is_ambiguous);
        for instant in [times.submit, times.start, times.end] {
            self.last_s = self.last_s.max(instant);
        }
        if row.array_limit > 0 {
            self.limits.insert(written.number, row.array_limit);
        }
        match tasks {
            None => {
                let name = Self::name_of(&written).expect("no list");
                self.push(Entry { name, ..entry });
            }
            Some((list, tasks)) => {
                let waits = is_waiting(state, has_run(row, &times), end_of(row, &times, state));
                self.push_tasks(entry, written.number, list, &tasks, waits);
            }
        }
        Ok(())
    }

    fn push_tasks(&mut self, entry: Entry, number: i64, list: &[u8], tasks: &Tasks, waits: bool) {
        self.report.array_cut += u64::from(tasks.is_cut);
        if let Some(limit) = tasks.limit {
            self.limits.insert(number, limit);
        }
        if waits {
            let part = Part::Waiting(self.lists.code(list));
            self.push(Entry { name: Name { number, part }, ..entry });
            return;
        }
        self.report.expanded += tasks.count() - 1;
        for task in tasks.numbers() {
            let name = Name { number, part: Part::Task(task) };
            self.push(Entry { name, flags: entry.flags | flag::EXPANDED, ..entry });
        }
    }

    /// Remembers the largest number of a name.
    fn note(&mut self, written: &Written<'_>, raw: i64, tasks: Option<&Tasks>) {
        let part = match written.part {
            WrittenPart::Whole => 0,
            WrittenPart::Task(part) | WrittenPart::Component(part) => i64::from(part),
            WrittenPart::Tasks(_) => tasks.and_then(|tasks| tasks.numbers().last()).map_or(0, i64::from),
        };
        self.largest = self.largest.max(written.number).max(raw).max(part);
    }

    /// The name of a job or of a step's job; None for a list of tasks.
    fn name_of(written: &Written<'_>) -> Option<Name> {
        let part = match written.part {
            WrittenPart::Whole => Part::Whole,
            WrittenPart::Task(task) => Part::Task(task),
            WrittenPart::Component(component) => Part::Component(component),
            WrittenPart::Tasks(_) => return None,
        };
        Some(Name { number: written.number, part })
    }

    fn push(&mut self, entry: Entry) {
        let row = u32::try_from(self.rows.len()).expect("fewer than 2^32 rows");
        let names = &self.rows.name;
        let is_same = |other: u32| names[other as usize] == entry.name;
        let before = self.last_rows.put(entry.name.hash(), row, is_same, |other| names[other as usize].hash());
        if let Some(before) = before {
            self.rows.flags[before as usize] |= flag::SUPERSEDED;
            self.before.insert(row, before);
        }
        self.rows.push(entry);
        if !self.early.is_empty()
            && let Some(steps) = self.early.remove(&entry.name)
        {
            let (own, others): (Vec<_>, Vec<_>) = steps.into_iter().partition(|step| self.has_within(row, step.start));
            for step in own {
                self.charge(row, step.counted);
            }
            if !others.is_empty() {
                self.early.insert(entry.name, others);
            }
        }
    }

    /// Adds the energy of a step to the last row of its job within whose time it started.
    pub(super) fn add_step(&mut self, name: Name, step: StepEnergy) {
        let names = &self.rows.name;
        let Some(last) = self.last_rows.find(name.hash(), |other| names[other as usize] == name) else {
            self.early.entry(name).or_default().push(step);
            return;
        };
        let rows = std::iter::successors(Some(last), |row| self.before.get(row).copied());
        if let Some(row) = rows.into_iter().find(|row| self.has_within(*row, step.start)) {
            self.charge(row, step.counted);
            return;
        }
        let loose = self.loose.entry(last).or_insert(Counted::NONE);
        *loose = loose.with(step.counted);
    }

    /// True if an instant, or one of its two readings, is within the time of a row.
    fn has_within(&self, row: u32, instant: Instant) -> bool {
        let (start_s, end_s) = (self.rows.start_s[row as usize], self.rows.end_s[row as usize]);
        instant.candidates().any(|at_s| start_s <= at_s && (end_s.is_nan() || at_s <= end_s))
    }

    fn charge(&mut self, row: u32, counted: Counted) {
        let steps = self.rows.steps(row).with(counted);
        self.rows.set_steps(row, steps);
    }

    /// Places the steps that came before the row within whose time they started.
    pub(super) fn place_early(&mut self) {
        for (name, steps) in std::mem::take(&mut self.early) {
            let names = &self.rows.name;
            if self.last_rows.find(name.hash(), |other| names[other as usize] == name).is_some() {
                for step in steps {
                    self.add_step(name, step);
                }
            }
        }
        self.last_rows = Index::default();
    }
}
